"""The store as executions and the catalogue need it. Every store passes `tests/contract`; changes start there.

A `Commit` is everything that one step of one aggregate changes: one transaction, all or nothing, gated by the
aggregate's version. A store may group commits in any way; each commit gets its own answer. Bodies are opaque here:
bytes of `interpreter.codec` and similar codecs.

Instants are integer epoch milliseconds. Ids are 63-bit integers (`stores.ids`) whose top ten bits are the shard.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from statewright.stores.completion import Completion

STATUSES: Final = ("RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED", "PENDING_REDRIVE")
"""Statuses of executions and Map Runs; a store keeps the index."""

MAP_RUNS: Final = -2
"""Stands for all Map Runs where executions are counted by machine."""

CLOSED: Final = ("SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED")
"""The statuses that retention may delete."""


@dataclass(frozen=True, slots=True)
class Row:
    """The indexed part of an execution. A transition changes no indexed column but at its ends.

    `machine` is the id of the state machine, or of the Map Run that a child execution belongs to; of a Map Run itself,
    its parent execution's id, negative, so that it is counted apart. (machine, name) is unique. `head` is written at
    the start and never again; `tail` is small and changes with the status.
    """

    id: int
    shard: int
    machine: int
    name: str
    status: str
    started_ms: int
    stopped_ms: int | None
    head: bytes
    tail: bytes


class Thin(NamedTuple):
    """A row without its bodies, whose inputs and outputs may be long."""

    id: int
    machine: int
    name: str
    status: str
    started_ms: int
    stopped_ms: int | None


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """The history events of one commit: `count` events from id `first`, as one encoded body."""

    first: int
    count: int
    at_ms: int
    body: bytes


@dataclass(frozen=True, slots=True)
class TimerRow:
    """A timer of an execution."""

    execution: int
    timer: int
    due_ms: int


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """An effect that is committed and still to be dispatched, or under way. The id is its idempotency key."""

    id: int
    execution: int
    kind: str
    body: bytes


@dataclass(frozen=True, slots=True)
class InboxRow:
    """An input that waits for its execution's owner: a stop, a task's answer, `continue`."""

    id: int
    execution: int
    kind: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Commit:
    """One step of one execution. `expected` is the version that the step was computed from; 0 starts it.

    `state` is the encoded execution without frames; `None` once it succeeded, which also deletes every frame and
    large value. `frames` are upserted by frame id, `dropped` deleted. `texts` are large values by hash, inserted
    where they are not there yet. Of the row, a step after the start writes status, stopped_ms and tail. What one
    commit both adds and deletes is gone. Timers are deleted by (due, timer) pairs. `completed` are outbox rows of
    other executions whose tasks asked for this step, by id, with their bodies.
    """

    row: Row
    expected: int
    state: bytes | None
    frames: dict[int, bytes] = field(default_factory=dict)
    dropped: Sequence[int] = ()
    texts: dict[bytes, bytes] = field(default_factory=dict)
    history: HistoryPage | None = None
    timers: Sequence[TimerRow] = ()
    timers_done: Sequence[TimerRow] = ()
    outbox: Sequence[OutboxRow] = ()
    outbox_done: Sequence[int] = ()
    inbox: Sequence[InboxRow] = ()
    inbox_done: Sequence[int] = ()
    completed: Sequence[tuple[int, bytes]] = ()


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit that went through."""

    version: int


@dataclass(frozen=True, slots=True)
class Existing:
    """A start whose (machine, name) is taken: the row that has it."""

    row: Row


@dataclass(frozen=True, slots=True)
class Stale:
    """A commit with an outdated version: another writer was first, and the copy in memory is stale."""


Outcome = Committed | Existing | Stale


@dataclass(frozen=True, slots=True)
class Stored:
    """An execution read back in full, for `Decoder`."""

    row: Row
    version: int
    state: bytes | None
    frames: dict[int, bytes]
    texts: dict[bytes, bytes]


Started = tuple[int, int]
"""When an execution started, and its id: its place in a list by start."""
BEHIND_EVERY_START: Final = (2**63 - 1, 2**63 - 1)
BEFORE_EVERY_START: Final = (-1, -1)
BEFORE_EVERY_TIMER: Final = (-(2**63), 0, 0)
"""A place in the timers by (due, execution, timer)."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list, and where the next one starts (`None`: the end)."""

    rows: list[Row]
    next: Started | None

    @classmethod
    def of(cls, found: list[Row], limit: int) -> Page:
        """The page of rows that were read with a limit of one more: the additional row shows that another page
        follows."""
        rows = found[:limit]
        return cls(rows, (rows[-1].started_ms, rows[-1].id) if rows and len(found) > limit else None)


class ExecutionStore(Protocol):
    """Executions with their frames, history, timers, outbox and inbox.

    Raises (all methods): Unavailable when the database does not answer; OwnershipLost when the shard's lease moved.
    """

    async def commit(self, commit: Commit) -> Outcome:
        """Write one step; returns once it is durable. Commits of one execution are written in the order given."""

    def make_way(self) -> None:
        """Give way to commits that are under way; called on the loop's thread before long work."""

    async def load(self, execution: int) -> Stored | None:
        """An execution in full, or `None`."""

    async def row(self, execution: int) -> Row | None:
        """The row alone."""

    async def find(self, machine: int, name: str) -> Row | None:
        """The execution of that name."""

    async def list_rows(self, machine: int, *, status: str | None, after: Started | None, limit: int) -> Page:
        """Executions of a machine or Map Run, newest first (by start, then id)."""

    async def thin_rows(
        self,
        machines: Sequence[int],
        *,
        statuses: Sequence[str],
        after: Started | None,
        since_ms: int,
        limit: int,
        oldest_first: bool = False,
    ) -> list[Thin]:
        """Executions of several machines as one list, newest first or oldest first (by start, then id), from a place on
        and none started before an instant; `statuses`: only these, all if empty.

        It costs a seek for each machine and status, and no read of a head or tail.
        """

    async def rows(self, executions: Sequence[int]) -> list[Row]:
        """The rows of these executions in this order, without those that are gone."""

    async def count_by_status(self, machine: int | None) -> dict[str, int]:
        """The number of executions in each status; kept as counters, never counted by a scan.

        Every status is named; `None` counts all executions, `MAP_RUNS` all Map Runs.
        """

    async def count_open(self, shard: int) -> int:
        """The number of running executions of a shard; for a start, because it may cost a scan of a region's rows."""

    async def history(self, execution: int, *, first: int, pages: int, reverse: bool) -> list[HistoryPage]:
        """Pages from the one that holds event `first` on, in id order or reversed. `first=0` and reverse: the end."""

    async def due(self, shard: int, until_ms: int, limit: int, after: TimerRow | None = None) -> list[TimerRow]:
        """Timers due up to an instant, by (due, execution, timer), after the place of `after`."""

    async def sent(self, number: int) -> OutboxRow | None:
        """One row of the outbox; waits for a transaction under way that completes it."""

    async def pending(self, shard: int) -> tuple[list[OutboxRow], list[InboxRow]]:
        """Everything in the outbox and inbox of a shard, by id, for a new owner to recover."""

    async def inbox_of(self, shards: Sequence[int], kinds: Sequence[str], limit: int) -> list[InboxRow]:
        """Inputs of these kinds that wait in any of these shards, by id, left there for its owner by other processes;
        of each shard the first `limit`.
        """

    async def put_inbox(self, row: InboxRow) -> None:
        """Leave an input for the owner of an execution."""

    async def forget(self, before_ms: int, limit: int) -> int:
        """Delete up to `limit` executions that closed before an instant, with all they have; returns how many.

        Only `CLOSED` ones, in the order of closing. A commit that closes an execution names its timers and effects as
        done; of those it left behind, rows made or due after that instant stay until `discard`.
        """

    async def discard(self, timers: Sequence[TimerRow], outbox: Sequence[int], inbox: Sequence[int]) -> None:
        """Delete timers, effects and inputs whose execution is closed or gone, so that they are not found again."""


@dataclass(frozen=True, slots=True)
class EntryRow:
    """A row of the catalogue: any stored thing that is no execution, message, object or item of a table.

    `kind` and `key` (an ARN or a composed key) name it; `parent` groups entries for lists; `sort` orders them there.
    """

    kind: str
    key: str
    parent: str
    sort: int
    version: int
    body: bytes


class CatalogueStore(Protocol):
    """Named entries that the API manages. Each write is one transaction over several rows."""

    async def get(self, kind: str, key: str) -> EntryRow | None:
        """One entry."""

    async def write(
        self,
        put: Sequence[EntryRow],
        delete: Sequence[tuple[str, str]] = (),
        completion: Completion[bool] | None = None,
    ) -> bool:
        """Insert or replace (where `version` is one more than the stored one; 1 inserts), and delete.

        All or nothing; False when any version does not fit, and then nothing is written.
        """

    async def list_entries(
        self, kind: str, parent: str, *, after: tuple[int, str] | None, limit: int, newest_first: bool
    ) -> list[EntryRow]:
        """Entries below a parent by (sort, key), after the given one."""

    async def next_number(self, name: str) -> int:
        """1, 2, 3 ...: a durable counter that never returns a number twice."""
