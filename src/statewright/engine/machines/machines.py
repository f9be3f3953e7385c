"""State machines: creating, changing, describing, deleting them, and finding what an ARN stands for.

Owns what may be asked of machines and their revisions. Versions, aliases, tags and activities have modules of their
own, reached through `Machines`; all of them stand on `catalogue.py`, and how it is written down is in `records.py`.

A revision never changes. It outlives its machine, because executions continue with the revision that they began with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import orjson

from statewright import chance
from statewright.arn import MACHINE, machine_arn, parse_arn
from statewright.asl.program import MachineType, Program
from statewright.engine.list_tokens import page_size, read_token, write_token
from statewright.engine.machines import records
from statewright.engine.machines.activities import ActivityRecords
from statewright.engine.machines.aliases import Aliases
from statewright.engine.machines.catalogue import GONE, OPEN, MachineCatalogue, deletion_note, machine_of
from statewright.engine.machines.definitions import check_definition, compiled
from statewright.engine.machines.limits import OnLimit, limit_of, no_limits
from statewright.engine.machines.long_definitions import worked_on
from statewright.engine.machines.map_labels import processor_of
from statewright.engine.machines.records import (
    INITIAL,
    Alias,
    Machine,
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
from statewright.errors import ApiError
from statewright.limits import AWS, Limits, express_limits
from statewright.payload import Json, JsonObject
from statewright.query.scope import Entropy


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a start: one revision of one machine, and the name by which it was found.

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
    `on_limit` is called with the limit that a machine's tags give it.
    """

    def __init__(
        self,
        catalogue: MachineCatalogue,
        *,
        entropy: Entropy | None = None,
        limits: Limits = AWS,
        on_limit: OnLimit = no_limits,
    ) -> None:
        self.catalogue = catalogue
        self.clock = catalogue.clock
        self.config = catalogue.config
        self.records = catalogue.records
        self.programs = catalogue.programs
        self.entropy = entropy or Entropy(chance.random_bytes(32))
        self.versions = Versions(catalogue)
        self.aliases = Aliases(catalogue, self.versions)
        self.tags = Tags(catalogue, on_limit)
        self.activities = ActivityRecords(catalogue)
        self._on_limit = on_limit
        self._limits: dict[MachineType, Limits] = {"STANDARD": limits, "EXPRESS": express_limits(limits)}

    # -------------------------------------------------------------- from an ARN to what runs

    async def resolve(self, arn: str) -> Target:
        """The target of a start by the ARN of a machine, a version or an alias; an alias draws lots by weight.

        Raises: ApiError (`InvalidArn`, `StateMachineDoesNotExist`, `StateMachineDeleting`, `ValidationException`).
        """
        parsed = machine_of(arn)
        machine = await self.records.recent(Machine, parsed.machine)
        if machine is None or machine.deleting:
            machine = await self.catalogue.load(parsed.machine)
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
        revision, program = await self.programs.prepared(machine.id, revision_id)
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
        """The target of a start of an old revision of a machine. Raises: ApiError (`StateMachineDoesNotExist`)."""
        machine = await self.catalogue.load(arn)
        if machine is None or machine.deleting:
            raise does_not_exist(arn)
        try:
            return await self._target(machine, revision_id, None, None)
        except KeyError:
            # The machine of that name is another one by now.
            raise does_not_exist(arn) from None

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
        await worked_on(self.clock, new.definition, check_definition, new.definition, new.type)
        present = await self.catalogue.load(arn)
        if present is not None:
            return await self._repeated(present, new, revision)
        number = await self.catalogue.store.catalogue.next_number("machine")
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
            await self._on_limit(number, arn, limit)
        return Changed(machine, now_ms, f"{arn}:1" if new.publish else None)

    async def _repeated(self, machine: Machine, new: NewMachine, revision: Revision) -> Changed:
        """The answer to a create whose name is taken. A different role or different tags are ignored (reference)."""
        if machine.deleting:
            raise is_deleting(machine.arn)
        current = await self.programs.revision_of(machine.id, machine.revision)
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
        machine = await self.catalogue.changeable(arn)
        current = await self.programs.revision_of(machine.id, machine.revision)
        settings = self._settings(change)
        if change.definition is not None:
            await worked_on(self.clock, change.definition, check_definition, change.definition, machine.type)
        revision = replace(current, **settings)
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
            if not published:
                written += await self.versions.described(machine, version_arn, change.version_description)
        if written:
            await self.records.write(machine, *written)
        return Changed(machine, now_ms, version_arn)

    def _settings(self, change: MachineChange) -> JsonObject:
        """The parts of a revision that a change gives, checked, but for the definition."""
        settings: JsonObject = {}
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
            settings["definition"] = change.definition
        return settings

    # -------------------------------------------------------------- describe and list

    async def describe(self, arn: str) -> MachineView:
        """The view of a machine, a version or a labelled ARN; an alias has an operation of its own.

        Raises: ApiError (`InvalidArn`, `StateMachineDoesNotExist`).
        """
        parsed = parse_arn(arn, MACHINE)
        machine = await self.catalogue.existing(parsed.machine, shown=arn)
        version = None
        if parsed.is_version:
            version = await self.versions.get(machine, arn)
        elif parsed.rest is not None:
            raise does_not_exist(arn)
        revision, program = await self.programs.prepared(machine.id, version.revision if version else machine.revision)
        definition = revision.definition
        if parsed.label is not None:
            found = processor_of(definition, parsed.label)
            if found is None:
                raise does_not_exist(arn)
            definition, program = found, await worked_on(self.clock, found, compiled, found)
        return MachineView(
            arn, machine, revision, definition, program.variable_references, version=version, label=parsed.label
        )

    async def describe_revision(self, machine_id: int, revision_id: str, label: str | None = None) -> RevisionView:
        """The view of an execution's definition; with a label, of the child machine of a Map. Raises: KeyError."""
        revision, program = await self.programs.prepared(machine_id, revision_id)
        definition = revision.definition
        if label is not None:
            definition = processor_of(definition, label, made_up=True) or definition
            program = await worked_on(self.clock, definition, compiled, definition)
        return RevisionView(revision, definition, program.variable_references)

    async def list_machines(self, token: str | None, max_results: int | None) -> tuple[list[Machine], str | None]:
        """One page of the machines by name, and the token of the next. Raises: ApiError (`InvalidToken`)."""
        now_ms = self.clock.now_ms()
        place = read_token("machines", token, now_ms)
        found, place = await self.records.page(Machine, "", after=place, limit=page_size(max_results))
        shown = [machine for machine in found if not machine.deleting or await self.catalogue.load(machine.arn)]
        return shown, write_token("machines", place, now_ms)

    # -------------------------------------------------------------- delete

    @again_on_conflict
    async def delete(self, arn: str) -> None:
        """Delete a machine with its versions, aliases and tags; harmless if it does not exist.

        While executions run the machine stays in DELETING; when they have ended its name is free.

        Raises: ApiError (`InvalidArn`, `ValidationException`).
        """
        parsed = machine_of(arn)
        machine = await self.catalogue.load(arn) if parsed.rest is None else None
        if machine is None or machine.deleting:
            return
        # Marked first: from here on nothing is added to the machine, so what is below it can be listed and deleted.
        machine = replace(machine, deleting=True)
        await self.records.write(machine, more=[deletion_note(machine, OPEN, self.clock.now_ms())])
        self.catalogue.deleting.add(machine.id)
        # A queued execution gets its next step, and ends with it.
        await self._on_limit(machine.id, machine.arn, None)
        if await self.catalogue.open_executions(machine):
            below = await self.catalogue.entries_below(machine)
            await self.records.write(replace(machine, stored=machine.stored + 1), delete=below)
        else:
            await self.catalogue.remove(machine)

    async def recover_limits(self) -> None:
        """Learn, after a start, which machines have a limit."""
        for kept in await self.records.all(TagSet, records.LIMITED):
            machine = await self.catalogue.load(kept.arn)
            if machine is not None and machine.type == "STANDARD" and not machine.deleting:
                await self._on_limit(machine.id, machine.arn, limit_of(kept.tags))

    async def forget_deleted(self, before_ms: int, limit: int) -> int:
        """Delete the revisions of up to `limit` machines that went before an instant and have no executions left.

        The answer is how many. For retention, after executions: an execution that is kept needs its revision.
        """
        after: tuple[int, str] | None = None
        forgotten = 0
        while forgotten < limit:
            notes = await self.catalogue.store.catalogue.list_entries(
                records.DELETING, GONE, after=after, limit=limit, newest_first=False
            )
            for note in notes[: limit - forgotten]:
                counts = await self.catalogue.store.executions.count_by_status(note.sort)
                if orjson.loads(note.body) < before_ms and not any(counts.values()):
                    revisions = await self.records.all(Revision, str(note.sort))
                    keys = [(records.REVISION.name, revision_key(one.machine, one.id)) for one in revisions]
                    await self.catalogue.store.catalogue.write([], [*keys, (records.DELETING, note.key)])
                    forgotten += 1
            if len(notes) < limit:
                break
            after = (notes[-1].sort, notes[-1].key)
        return forgotten


def _same_settings(one: Revision, other: Revision) -> bool:
    """True if two revisions are equal; definitions are compared as texts (observed)."""
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
