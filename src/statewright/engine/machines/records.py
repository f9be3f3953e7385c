"""The catalogue's entries of state machines and activities, and their encoding.

Owns the entries (machine, revision, version, alias, activity, tags), their keys and bodies, and the rule that makes
several of them one aggregate: a change of any part of a machine also writes the machine's entry, so of two concurrent
changes one fails. The changes themselves are in `machines.py`, `versions.py`, `aliases.py`, `tags.py` and
`activities.py`.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, ParamSpec, TypeVar

from statewright.asl.program import MachineType
from statewright.engine.machines.limits import LIMIT_TAGS
from statewright.errors import ApiError, Conflict
from statewright.payload import Json
from statewright.stores.entries import Entries, EntryKind
from statewright.stores.protocol import CatalogueStore, EntryRow

INITIAL: Final = "INITIAL"
"""Id of a machine's first revision. Callers see no revision id until the first update (observed)."""

LIMITED: Final = "limited"
"""Parent of the tag sets that limit executions."""
DELETING: Final = "deleting"

RECENT_MS: Final = 1_000
"""How old an entry may be that another node has changed meanwhile."""
MOST_RECENT: Final = 1_000
_ATTEMPTS: Final = 20

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Machine:
    """A state machine: the entry that guards everything below it.

    `published` is the version made from the current revision, if there is one. `publish` and `description` are those
    of the call that created the machine, for its repetition. `stored` is the entry's version, 0 before the first
    write.
    """

    id: int
    arn: str
    name: str
    type: MachineType
    created_ms: int
    revision: str = INITIAL
    deleting: bool = False
    last_version: int = 0
    published: int | None = None
    versions: int = 0
    aliases: int = 0
    publish: bool = False
    description: str | None = None
    stored: int = 0


@dataclass(frozen=True, slots=True)
class Revision:
    """A definition with its configuration, never changed and kept as long as executions may need it.

    `logging`, `tracing` and `encryption` are complete: what the service would answer.
    """

    machine: int
    id: str
    definition: str
    role_arn: str
    logging: Json
    tracing: Json
    encryption: Json
    updated_ms: int
    stored: int = 0

    @property
    def shown_id(self) -> str | None:
        """The id as callers see it; none for the first revision."""
        return None if self.id == INITIAL else self.id


@dataclass(frozen=True, slots=True)
class Version:
    """A published revision."""

    arn: str
    machine: int
    number: int
    revision: str
    created_ms: int
    description: str | None = None
    stored: int = 0


@dataclass(frozen=True, slots=True)
class Alias:
    """A name for one or two versions. `routes` are (version ARN, weight); the weights add up to 100."""

    arn: str
    machine: int
    name: str
    routes: tuple[tuple[str, int], ...]
    created_ms: int
    updated_ms: int
    description: str | None = None
    stored: int = 0


@dataclass(frozen=True, slots=True)
class Activity:
    """A name that workers poll. `number` counts activities by creation."""

    arn: str
    name: str
    number: int
    created_ms: int
    encryption: Json
    stored: int = 0


@dataclass(frozen=True, slots=True)
class TagSet:
    """The tags of a machine or activity, in the order in which their keys came."""

    arn: str
    tags: dict[str, str] = field(default_factory=dict)
    stored: int = 0


def revision_key(machine: int, revision: str) -> str:
    """Key of a revision."""
    return f"{machine}:{revision}"


def _parent_of_tags(tags: TagSet) -> str:
    # Those that say how many executions may run are found after a start without looking at all others.
    return LIMITED if any(key in LIMIT_TAGS for key in tags.tags) else ""


MACHINE: Final = EntryKind("machine", Machine, lambda machine: machine.arn)
"""Ordered by ARN, that is by name in the order of bytes, as the service lists machines (observed)."""
REVISION: Final = EntryKind(
    "revision",
    Revision,
    lambda revision: revision_key(revision.machine, revision.id),
    parent=lambda revision: str(revision.machine),
    sort=lambda revision: revision.updated_ms,
)
VERSION: Final = EntryKind(
    "version",
    Version,
    lambda version: version.arn,
    parent=lambda version: str(version.machine),
    sort=lambda version: version.number,
)
ALIAS: Final = EntryKind(
    "alias",
    Alias,
    lambda alias: alias.arn,
    parent=lambda alias: str(alias.machine),
    sort=lambda alias: alias.created_ms,
)
ACTIVITY: Final = EntryKind("activity", Activity, lambda activity: activity.arn)
"""Ordered as machines."""
TAGS: Final = EntryKind("tags", TagSet, lambda tags: tags.arn, parent=_parent_of_tags)
_KINDS: Final[dict[type, EntryKind[Any]]] = {
    kind.of: kind for kind in (MACHINE, REVISION, VERSION, ALIAS, ACTIVITY, TAGS)
}

Body = TypeVar("Body", bound=Machine | Revision | Version | Alias | Activity | TagSet)


class Records:
    """Reads and writes the entries above."""

    def __init__(self, catalogue: CatalogueStore, now_ms: Callable[[], int]) -> None:
        self.catalogue = catalogue
        self._now_ms = now_ms
        self._recent: OrderedDict[tuple[type, str], tuple[int, Any]] = OrderedDict()
        """Records that starts have asked for, with the instant of their reading."""
        self.changes = 0
        """How often entries have changed, as far as is known here."""
        self._subscribers: list[Callable[[], None]] = []

    def subscribe(self, on_change: Callable[[], None]) -> None:
        """Call `on_change` after every change of entries."""
        self._subscribers.append(on_change)

    def forget(self) -> None:
        """Read everything again from now on, for it may have changed; what is being read is not kept."""
        self.changes += 1
        self._recent.clear()
        for on_change in self._subscribers:
            on_change()

    def _of(self, body_type: type[Body]) -> Entries[Body]:
        return Entries(self.catalogue, _KINDS[body_type])

    async def get(self, body_type: type[Body], key: str) -> Body | None:
        """One entry by its key. Raises: Unreadable."""
        return await self._of(body_type).get(key)

    async def recent(self, body_type: type[Body], key: str) -> Body | None:
        """As `get`, for the many starts of one machine.

        Changes made through these entries are visible immediately: `write` drops what was read before it, and a read
        that is under way is not kept. Another process has `forget` called after its changes; where that fails, they are
        seen within `RECENT_MS`. The service itself promises no more than that starts use a change within a few seconds
        (API reference, UpdateStateMachine). An entry that does not exist is looked up every time.
        """
        place = (body_type, key)
        now_ms = self._now_ms()
        known = self._recent.get(place)
        if known is not None and now_ms - known[0] < RECENT_MS:
            body: Body = known[1]
            return body
        before = self.changes
        found = await self.get(body_type, key)
        if found is not None and before == self.changes:
            self._recent[place] = (now_ms, found)
            self._recent.move_to_end(place)
            if len(self._recent) > MOST_RECENT:
                self._recent.popitem(last=False)
        return found

    async def page(
        self,
        body_type: type[Body],
        parent: str,
        *,
        after: tuple[int, str] | None,
        limit: int,
        newest_first: bool = False,
    ) -> tuple[list[Body], tuple[int, str] | None]:
        """Up to `limit` entries below a parent, and the place where the next page starts, if there is one."""
        return await self._of(body_type).page(parent, after, limit, newest_first=newest_first)

    async def all(self, body_type: type[Body], parent: str) -> list[Body]:
        """Every entry below a parent, oldest first; for the few that one machine can have."""
        return await self._of(body_type).all(parent)

    async def write(self, *kept: Body, delete: Sequence[tuple[str, str]] = (), more: Sequence[EntryRow] = ()) -> None:
        """Write and delete, all or nothing. Raises: Conflict, when any entry has changed since it was read."""
        try:
            written = await self.catalogue.write([*(_KINDS[type(one)].row(one) for one in kept), *more], delete)
        finally:
            # Also when it is unknown whether it was written.
            self.forget()
        if not written:
            raise Conflict("a catalogue entry was changed by another writer")


def again_on_conflict(change: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """Run a change again, from its reads on, when another writer was faster.

    Raises: ApiError (`ConflictException`) when that happens over and over.
    """

    @functools.wraps(change)
    async def repeated(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(_ATTEMPTS):
            try:
                return await change(*args, **kwargs)
            except Conflict:
                continue
        raise ApiError("ConflictException", "The resource is being changed by other requests. Try again.")

    return repeated


def does_not_exist(arn: str) -> ApiError:
    """The error for a machine that is not there (observed)."""
    return ApiError("StateMachineDoesNotExist", f"State Machine Does Not Exist: '{arn}'")


def no_such_resource() -> ApiError:
    """The error for a version or alias that is not there (observed)."""
    return ApiError("ResourceNotFound", "Request references a resource that does not exist.")


def is_deleting(arn: str) -> ApiError:
    """The error for a machine that is being deleted."""
    return ApiError("StateMachineDeleting", f"State Machine is being deleted: '{arn}'")
