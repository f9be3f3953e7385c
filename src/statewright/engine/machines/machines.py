"""State machines: creating, changing, describing, deleting them, and finding what an ARN stands for.

Owns machines and their revisions, and the programs compiled from them. Versions, aliases, tags and activities have
modules of their own, reached through `Machines`; how all of it is written down is in `records.py`.

A revision never changes. It outlives its machine, because executions go on with the revision that they began with.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from statewright import chance
from statewright.arn import MACHINE, StatesArn, machine_arn, parse_arn
from statewright.asl.program import Program
from statewright.clock import Clock
from statewright.config import Config
from statewright.engine.executions.logs import LogSettings
from statewright.engine.list_tokens import page_size, read_token, write_token
from statewright.engine.machines import records
from statewright.engine.machines.activities import ActivityRecords
from statewright.engine.machines.aliases import Aliases
from statewright.engine.machines.definitions import check_definition, compiled
from statewright.engine.machines.limits import Limit, limit_of
from statewright.engine.machines.map_labels import processor_of
from statewright.engine.machines.records import (
    INITIAL,
    Activity,
    Alias,
    Machine,
    Records,
    Revision,
    TagSet,
    Version,
    again_on_conflict,
    does_not_exist,
    is_deleting,
    revision_key,
)
from statewright.engine.machines.settings import (
    check_name,
    check_role,
    encryption_of,
    logging_of,
    tags_with,
    tracing_of,
)
from statewright.engine.machines.tags import Tags
from statewright.engine.machines.versions import Versions, next_version
from statewright.engine.machines.views import Changed, MachineChange, MachineView, NewMachine, RevisionView
from statewright.errors import ApiError, Conflict
from statewright.limits import AWS, EXPRESS, Limits
from statewright.payload import Json
from statewright.query.scope import Entropy
from statewright.stores.protocol import Record
from statewright.stores.store import Store

if TYPE_CHECKING:
    from statewright.asl.validate import MachineType

OPEN: Final = "open"
GONE: Final = "gone"
"""Parents of the notes on machines that are in DELETING, and on those that are gone but for their revisions."""
PROGRAMS_KEPT: Final = 1_000
"""Compiled revisions held in memory; the one longest unused goes first."""


@dataclass(frozen=True, slots=True)
class Target:
    """What an execution is started from: one revision of one machine, and by which name it was found.

    `machine_arn` is always unqualified. `version_arn` and `alias_arn` are set when the caller named them.
    """

    machine_id: int
    machine_arn: str
    machine_name: str
    revision_id: str
    type: MachineType
    program: Program
    role_arn: str
    version_arn: str | None
    alias_arn: str | None
    limits: Limits
    logging: Json
    tracing: Json


class Machines:
    """The catalogue of state machines of one store.

    `entropy` picks versions behind aliases and makes revision ids. `limits` are those of STANDARD executions.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        config: Config | None = None,
        *,
        entropy: Entropy | None = None,
        limits: Limits = AWS,
    ) -> None:
        self.store = store
        self.clock = clock
        self.config = config or Config()
        self.entropy = entropy or Entropy(chance.random_bytes(32))
        self.records = Records(store.catalog, clock.now_ms)
        self.versions = Versions(self)
        self.aliases = Aliases(self)
        self.tags = Tags(self)
        self.activities = ActivityRecords(self)
        self.on_limit: Callable[[int, str, Limit | None], Awaitable[None]] = _no_limits
        """Told of the limit that a machine's tags give it."""
        self.refine: Callable[[int, Program], Program] = _as_it_is
        """What is done to a compiled program before it runs, by the machine's id: a test counts what is taken."""
        self.deleting: set[int] = set()
        """Ids of the machines in DELETING: their executions end at the next transition."""
        self._limits: dict[MachineType, Limits] = {"STANDARD": limits, "EXPRESS": _express(limits)}
        self._programs: OrderedDict[tuple[int, str], tuple[Revision, Program]] = OrderedDict()

    # -------------------------------------------------------------- from an ARN to what runs

    async def resolve(self, arn: str) -> Target:
        """What to start for the ARN of a machine, a version or an alias; an alias draws lots by weight.

        Raises: ApiError (`InvalidArn`, `StateMachineDoesNotExist`, `StateMachineDeleting`, `ValidationException`).
        """
        parsed = machine_of(arn)
        machine = await self.records.recent(Machine, parsed.machine)
        if machine is None or machine.deleting:
            machine = await self.load(parsed.machine)
        if machine is None:
            raise does_not_exist(arn)
        if machine.deleting:
            raise is_deleting(arn)
        if parsed.rest is None:
            return await self._target(machine, machine.revision, None, None)
        if parsed.is_version:
            version = await self.versions.recent(machine, arn)
            return await self._target(machine, version.revision, version.arn, None)
        alias = await self.records.recent(Alias, arn)
        if alias is None:
            raise does_not_exist(arn)
        version = await self.versions.recent(machine, self._drawn(alias))
        return await self._target(machine, version.revision, version.arn, alias.arn)

    def _drawn(self, alias: Alias) -> str:
        """A version of an alias, each as likely as its weight out of 100."""
        if len(alias.routes) == 1:
            return alias.routes[0][0]
        (first, weight), (second, _) = alias.routes
        return first if self.entropy.uniform() * 100 < weight else second

    async def _target(
        self, machine: Machine, revision_id: str, version_arn: str | None, alias_arn: str | None
    ) -> Target:
        revision, program = await self._prepared(machine.id, revision_id)
        return Target(
            machine.id,
            machine.arn,
            machine.name,
            revision.id,
            machine.type,
            program,
            revision.role_arn,
            version_arn,
            alias_arn,
            self._limits[machine.type],
            revision.logging,
            revision.tracing,
        )

    async def revision_target(self, arn: str, revision_id: str) -> Target:
        """What to start of a machine as it was: a revision of it. Raises: ApiError (`StateMachineDoesNotExist`)."""
        machine = await self.load(arn)
        if machine is None or machine.deleting:
            raise does_not_exist(arn)
        try:
            return await self._target(machine, revision_id, None, None)
        except KeyError:
            # The machine of that name is another one by now.
            raise does_not_exist(arn) from None

    async def program_of(self, machine_id: int, revision_id: str) -> Program:
        """The program of a revision, compiled once. Raises: KeyError."""
        return (await self._prepared(machine_id, revision_id))[1]

    async def revision_of(self, machine_id: int, revision_id: str) -> Revision:
        """A revision, also of a machine that is gone. Raises: KeyError."""
        return (await self._prepared(machine_id, revision_id))[0]

    async def _prepared(self, machine_id: int, revision_id: str) -> tuple[Revision, Program]:
        key = (machine_id, revision_id)
        found = self._programs.get(key)
        if found is None:
            revision = await self.records.get(Revision, revision_key(machine_id, revision_id))
            if revision is None:
                raise KeyError(f"machine {machine_id} has no revision {revision_id}")
            found = self._programs[key] = (revision, self.refine(machine_id, compiled(revision.definition)))
            if len(self._programs) > PROGRAMS_KEPT:
                self._programs.popitem(last=False)
        else:
            self._programs.move_to_end(key)
        return found

    def log_settings(self, machine_id: int, revision_id: str) -> LogSettings | None:
        """Where the history of a revision's executions is logged; for one whose program is in use."""
        found = self._programs.get((machine_id, revision_id))
        return LogSettings.of(found[0].logging) if found is not None else None

    async def definition_of(self, machine_id: int, revision_id: str) -> str:
        """The text of a revision. Raises: KeyError."""
        return (await self._prepared(machine_id, revision_id))[0].definition

    async def gone_activities(self, program: Program) -> frozenset[str]:
        """The activities that a program names and that do not exist."""
        return frozenset([arn for arn in program.activities if await self.records.get(Activity, arn) is None])

    async def load(self, arn: str) -> Machine | None:
        """The machine of an unqualified ARN. One in DELETING whose last execution has ended goes away here."""
        machine = await self.records.get(Machine, arn)
        while machine is not None and machine.deleting and not await self._open_executions(machine):
            await self._remove(machine)
            machine = await self.records.get(Machine, arn)
        return machine

    async def existing(self, arn: str, *, shown: str | None = None) -> Machine:
        """The machine of an unqualified ARN. Raises: ApiError (`StateMachineDoesNotExist`), naming `shown`."""
        machine = await self.load(arn)
        if machine is None:
            raise does_not_exist(shown or arn)
        return machine

    async def changeable(self, arn: str) -> Machine:
        """A machine that may be changed, by its own ARN: an ARN with more to it names none (observed).

        Raises: ApiError (`InvalidArn`, `StateMachineDoesNotExist`, `StateMachineDeleting`, `ValidationException`).
        """
        parsed = machine_of(arn)
        if parsed.rest is not None:
            raise does_not_exist(arn)
        machine = await self.existing(arn)
        if machine.deleting:
            raise is_deleting(arn)
        return machine

    # -------------------------------------------------------------- create and update

    @again_on_conflict
    async def create(self, new: NewMachine) -> Changed:
        """Create a machine; the same request again gives the same answer.

        Raises: ApiError (`InvalidName`, `InvalidArn`, `InvalidDefinition`, `InvalidLoggingConfiguration`,
            `InvalidEncryptionConfiguration`, `TooManyTags`, `ValidationException`, `StateMachineAlreadyExists`,
            `StateMachineDeleting`).
        """
        check_name(new.name)
        check_role(new.role_arn)
        _check_version_description(new.version_description, publish=new.publish)
        arn = machine_arn(self.config.region, self.config.account, new.name)
        now_ms = self.clock.now_ms()
        revision = Revision(
            0,
            INITIAL,
            new.definition,
            new.role_arn,
            logging_of(new.logging),
            tracing_of(new.tracing),
            encryption_of(new.encryption),
            now_ms,
        )
        tags = tags_with({}, new.tags, arn)
        check_definition(new.definition, new.type)
        present = await self.load(arn)
        if present is not None:
            return await self._repeated(present, new, revision)
        number = await self.store.catalog.next_number("machine")
        revision = replace(revision, machine=number)
        machine = Machine(
            number, arn, new.name, new.type, now_ms, publish=new.publish, description=new.version_description
        )
        more: list[Version | TagSet] = []
        if tags:
            more.append(TagSet(arn, tags))
        if new.publish:
            machine, version = next_version(machine, new.version_description, now_ms)
            more.append(version)
        limit = limit_of(tags) if new.type == "STANDARD" else None
        await self.records.write(machine, revision, *more)
        if limit is not None:
            await self.on_limit(number, arn, limit)
        return Changed(machine, now_ms, f"{arn}:1" if new.publish else None)

    async def _repeated(self, machine: Machine, new: NewMachine, revision: Revision) -> Changed:
        """The answer to a create whose name is taken. A different role or different tags are ignored (reference)."""
        if machine.deleting:
            raise is_deleting(machine.arn)
        current = await self.revision_of(machine.id, machine.revision)
        same = (
            _same_settings(current, replace(revision, role_arn=current.role_arn))
            and machine.type == new.type
            and machine.publish == new.publish
            and machine.description == new.version_description
        )
        if not same:
            raise ApiError("StateMachineAlreadyExists", f"State Machine Already Exists: '{machine.arn}'")
        return Changed(machine, machine.created_ms, f"{machine.arn}:1" if machine.publish else None)

    @again_on_conflict
    async def update(self, arn: str, change: MachineChange) -> Changed:
        """Change a machine; only a real difference makes a new revision. Running executions keep theirs.

        Raises: ApiError (`MissingRequiredParameter`, `StateMachineDoesNotExist`, `StateMachineDeleting`, and those of
            `create` for the parts given).
        """
        machine_of(arn)
        given = (change.definition, change.role_arn, change.logging, change.tracing, change.encryption)
        if all(part is None for part in given):
            raise ApiError(
                "MissingRequiredParameter",
                "Either the definition, the role ARN, the LoggingConfiguration, or the TracingConfiguration "
                "must be specified",
            )
        _check_version_description(change.version_description, publish=change.publish)
        machine = await self.changeable(arn)
        current = await self.revision_of(machine.id, machine.revision)
        revision = replace(current, **self._settings(change, machine.type))
        now_ms = self.clock.now_ms()
        written: list[Revision | Version] = []
        if not _same_settings(current, revision):
            revision = replace(revision, id=self.entropy.uuid4(), updated_ms=now_ms, stored=0)
            machine = replace(machine, revision=revision.id, published=None)
            written.append(revision)
        version_arn = None
        if change.publish:
            machine, published = self.versions.published(machine, change.version_description, now_ms)
            written += published
            version_arn = f"{arn}:{machine.published}"
        if written:
            await self.records.write(machine, *written)
        return Changed(machine, now_ms, version_arn)

    def _settings(self, change: MachineChange, machine_type: MachineType) -> dict[str, Any]:
        """The parts of a revision that a change gives, checked."""
        settings: dict[str, Any] = {}
        if change.role_arn is not None:
            check_role(change.role_arn)
            settings["role_arn"] = change.role_arn
        if change.logging is not None:
            settings["logging"] = logging_of(change.logging)
        if change.tracing is not None:
            settings["tracing"] = tracing_of(change.tracing)
        if change.encryption is not None:
            settings["encryption"] = encryption_of(change.encryption)
        if change.definition is not None:
            check_definition(change.definition, machine_type)
            settings["definition"] = change.definition
        return settings

    # -------------------------------------------------------------- describe and list

    async def describe(self, arn: str) -> MachineView:
        """What a machine, a version or a labelled ARN stands for; an alias has an operation of its own.

        Raises: ApiError (`InvalidArn`, `StateMachineDoesNotExist`).
        """
        parsed = parse_arn(arn, MACHINE)
        machine = await self.existing(parsed.machine, shown=arn)
        version = None
        if parsed.is_version:
            version = await self.versions.get(machine, arn)
        elif parsed.rest is not None:
            raise does_not_exist(arn)
        revision, program = await self._prepared(machine.id, version.revision if version else machine.revision)
        definition = revision.definition
        if parsed.label is not None:
            found = processor_of(definition, parsed.label)
            if found is None:
                raise does_not_exist(arn)
            definition, program = found, compiled(found)
        return MachineView(
            arn, machine, revision, definition, program.variable_references, version=version, label=parsed.label
        )

    async def describe_revision(self, machine_id: int, revision_id: str, label: str | None = None) -> RevisionView:
        """What an execution runs; with a label, the child machine of a distributed Map. Raises: KeyError."""
        revision, program = await self._prepared(machine_id, revision_id)
        definition = revision.definition
        if label is not None:
            definition = processor_of(definition, label, made_up=True) or definition
            program = compiled(definition)
        return RevisionView(revision, definition, program.variable_references)

    async def list_machines(self, token: str | None, max_results: int | None) -> tuple[list[Machine], str | None]:
        """One page of the machines, newest first, and the token of the next. Raises: ApiError (`InvalidToken`)."""
        now_ms = self.clock.now_ms()
        place = read_token("machines", token, now_ms)
        found, place = await self.records.page(
            Machine, "", after=place, limit=page_size(max_results), newest_first=True
        )
        shown = [machine for machine in found if not machine.deleting or await self.load(machine.arn)]
        return shown, write_token("machines", place, now_ms)

    # -------------------------------------------------------------- delete

    @again_on_conflict
    async def delete(self, arn: str) -> None:
        """Delete a machine with its versions, aliases and tags; harmless when there is none.

        While executions run the machine stays in DELETING; when they have ended its name is free.

        Raises: ApiError (`InvalidArn`, `ValidationException`).
        """
        parsed = machine_of(arn)
        machine = await self.load(arn) if parsed.rest is None else None
        if machine is None or machine.deleting:
            return
        # Marked first: from here on nobody adds to the machine, so what is below it can be listed and taken away.
        machine = replace(machine, deleting=True)
        await self.records.write(machine, more=[_note(machine, OPEN, self.clock.now_ms())])
        self.deleting.add(machine.id)
        # Whoever is queued gets its next step, and ends with it.
        await self.on_limit(machine.id, machine.arn, None)
        if await self._open_executions(machine):
            below = await self._entries_below(machine)
            await self.records.write(replace(machine, stored=machine.stored + 1), delete=below)
        else:
            await self._remove(machine)

    async def recover(self) -> None:
        """Learn, after a start, which machines are in DELETING."""
        after: tuple[int, str] | None = None
        while notes := await self.store.catalog.list_entries(
            records.DELETING, OPEN, after=after, limit=1_000, newest_first=False
        ):
            self.deleting.update(note.sort for note in notes)
            after = (notes[-1].sort, notes[-1].key)

    async def recover_limits(self) -> None:
        """Learn, after a start, which machines have a limit."""
        for kept in await self.records.all(TagSet, records.LIMITED):
            machine = await self.load(kept.arn)
            if machine is not None and machine.type == "STANDARD" and not machine.deleting:
                await self.on_limit(machine.id, machine.arn, limit_of(kept.tags))

    async def forget_deleted(self, before_ms: int, limit: int) -> int:
        """Delete the revisions of up to `limit` machines that went before an instant and have no executions left.

        The answer is how many. For retention, after executions: an execution that is kept needs its revision.
        """
        after: tuple[int, str] | None = None
        forgotten = 0
        while forgotten < limit:
            notes = await self.store.catalog.list_entries(
                records.DELETING, GONE, after=after, limit=limit, newest_first=False
            )
            for note in notes[: limit - forgotten]:
                counts = await self.store.executions.count_by_status(note.sort)
                if orjson.loads(note.body) < before_ms and not any(counts.values()):
                    revisions = await self.records.all(Revision, str(note.sort))
                    keys = [(records.REVISION, revision_key(one.machine, one.id)) for one in revisions]
                    await self.store.catalog.write([], [*keys, (records.DELETING, note.key)])
                    forgotten += 1
            if len(notes) < limit:
                break
            after = (notes[-1].sort, notes[-1].key)
        return forgotten

    async def _open_executions(self, machine: Machine) -> int:
        return (await self.store.executions.count_by_status(machine.id)).get("RUNNING", 0)

    async def _entries_below(self, machine: Machine) -> list[tuple[str, str]]:
        parent = str(machine.id)
        versions = [(records.VERSION, one.arn) for one in await self.records.all(Version, parent)]
        aliases = [(records.ALIAS, one.arn) for one in await self.records.all(Alias, parent)]
        return [*versions, *aliases, (records.TAGS, machine.arn)]

    async def _remove(self, machine: Machine) -> None:
        """Take a machine out of the catalogue; its revisions stay for the executions that ran them."""
        # Only one caller moves the note on. A late second one would take away a new machine of the same name.
        gone = [(records.MACHINE, machine.arn), *await self._entries_below(machine)]
        with suppress(Conflict):
            await self.records.write(delete=gone, more=[_note(machine, GONE, self.clock.now_ms())])
        self.deleting.discard(machine.id)


async def _no_limits(_machine: int, _arn: str, _limit: Limit | None) -> None:
    """What happens unless an engine asks to be told."""


def _note(machine: Machine, progress: str, now_ms: int) -> Record:
    """That a machine is being deleted, or that it is gone and since when."""
    version = 1 if progress == OPEN else 2
    return Record(records.DELETING, str(machine.id), progress, machine.id, version, orjson.dumps(now_ms))


def machine_of(arn: str) -> StatesArn:
    """The ARN of a machine, version or alias, taken apart.

    Raises: ApiError (`InvalidArn`; `ValidationException` for the labelled ARN of a Map's child machine).
    """
    parsed = parse_arn(arn, MACHINE)
    if parsed.label is not None:
        raise ApiError("ValidationException", f"API does not support labeled ARNs: {arn}")
    return parsed


def _same_settings(one: Revision, other: Revision) -> bool:
    """Whether two revisions say the same; definitions are compared as texts (observed)."""
    return (one.definition, one.role_arn, one.logging, one.tracing, one.encryption) == (
        other.definition,
        other.role_arn,
        other.logging,
        other.tracing,
        other.encryption,
    )


def _check_version_description(description: str | None, *, publish: bool) -> None:
    if description is not None and not publish:
        raise ApiError("ValidationException", "Version description can only be set when publish is true")


def _express(limits: Limits) -> Limits:
    """The limits of EXPRESS executions under a profile: what the profile lifts stays lifted."""
    longest = None if limits.execution_ms is None else EXPRESS.execution_ms
    return replace(limits, history_events=None, execution_ms=longest, redrivable_period_ms=0)


def _as_it_is(_machine_id: int, program: Program) -> Program:
    return program
