"""The store as queues need it: rows of messages, claimed, hidden, moved and dropped.

The owner of a queue knows in memory what is in flight and how many messages there are; a store keeps the rows, selects
the messages to be received next, and executes its tasks in the order given. All writes of one call are one transaction,
and calls that arrive together share one. Every store passes `tests/contract/test_queue_contract.py`.

Instants are epoch milliseconds. A message's id grows with each that is sent; a queue is the number of its rows. A row
whose `visible_ms` has not come is in flight if it was ever received, else delayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from statewright.stores.completion import Completion


class MessageRow(NamedTuple):
    """A message to send. `group` orders a FIFO queue's messages; `tenant` marks a standard queue's.

    `dedup` is the key under which a second message within `dedup_until_ms` counts as this one, among those of
    `dedup_queue`. `once` is the id of the `Once` that it depends on, 0 for none.
    """

    id: int
    queue: int
    visible_ms: int
    sent_ms: int
    group: str | None
    tenant: str | None
    body: str
    extra: str | None
    dedup_queue: int = 0
    dedup: str | None = None
    dedup_until_ms: int = 0
    once: int = 0


class Once(NamedTuple):
    """A key that may be used once until an instant: rows that name its id are sent only if it was unused.

    `queue` is the queue that owns the key; a negative number belongs to no queue.
    """

    id: int
    queue: int
    key: str
    now_ms: int
    until_ms: int


class Want(NamedTuple):
    """One receive: how many messages at most, and until when they are hidden."""

    most: int
    visible_ms: int


class Claim(NamedTuple):
    """Receives of one queue, served in turn. `receipt` proves them all.

    On a FIFO queue each receive gets groups of its own. Messages of `noisy` tenants come after all others, in the
    order of that list; the others are looked for from after `after_tenant` on. Before that, messages of `overdue` that
    are visible take the places of the instants beside them.
    """

    queue: int
    now_ms: int
    receipt: int
    wants: Sequence[Want]
    is_fifo: bool = False
    noisy: Sequence[str] = ()
    after_tenant: str = ""
    overdue: Sequence[tuple[int, int]] = ()


class Claimed(NamedTuple):
    """A received message. `receives` counts this receive; `base` is the count when it came from another queue.

    `was_visible_ms` is the instant from which it could have been received.
    """

    id: int
    receives: int
    base: int
    first_received_ms: int
    sent_ms: int
    was_visible_ms: int
    group: str | None
    tenant: str | None
    source: str | None
    body: str
    extra: str | None


class GroupChange(NamedTuple):
    """A FIFO group that loses `gone` messages.

    It is free from `free_ms` on, but not before its first message is visible; `None` keeps the instant that it has.
    """

    queue: int
    group: str
    gone: int
    free_ms: int | None


class Move(NamedTuple):
    """A message that moves to another queue, maybe under a new id. `source` is the ARN of its former queue.

    The receive that found the message due for the move reached no consumer and is not counted (observed). A move back
    makes a new message: `is_fresh` forgets receives. `extra` replaces what it carries unless `None`.
    """

    id: int
    new_id: int
    from_queue: int
    queue: int
    group: str | None
    visible_ms: int
    sent_ms: int
    source: str | None
    is_fresh: bool = False
    extra: str | None = None


class Gone(NamedTuple):
    """A message that was dropped. `visible_ms` was its place in the queue."""

    id: int
    receives: int
    visible_ms: int
    group: str | None


class Held(NamedTuple):
    """A row that was received and is neither deleted nor moved."""

    id: int
    visible_ms: int
    receipt: int
    receives: int
    sent_ms: int
    group: str | None
    tenant: str | None


@dataclass(frozen=True, slots=True)
class LoadedQueue:
    """The figures that a queue's owner needs: the number of rows, those ever received, and the instants of delayed
    ones."""

    total: int
    held: Sequence[Held]
    delayed: Sequence[int]


class Note(NamedTuple):
    """An event in a message's life other than send, receive and delete."""

    id: int
    at_ms: int
    kind: str
    detail: str


class QueueStore(Protocol):
    """Messages of all queues.

    Raises (all methods): Unavailable when the database does not answer; OwnershipLost when another process has it.
    """

    async def send(
        self, rows: Sequence[MessageRow], onces: Sequence[Once] = (), completion: Completion[list[int]] | None = None
    ) -> list[int]:
        """Insert messages; the id of each, which for a duplicate is that of the message it repeats.

        Behind them the id of each of `onces`, which is that of the first for one already used; the rows that depend on
        such a one are not sent, and have 0.
        """

    async def claim(self, claim: Claim) -> list[list[Claimed]]:
        """Hide visible messages, oldest first, and return them: a list for each receive."""

    async def drop(
        self, ids: Sequence[int], groups: Sequence[GroupChange] = (), *, proofs: Sequence[tuple[int, int]] = ()
    ) -> list[Gone]:
        """Delete messages. Those of `proofs` only if the (id, receipt) is the last one; which of these are gone.

        `groups` describes the messages in `ids`; groups of the others are updated, too.
        """

    async def hide(
        self,
        changes: Sequence[tuple[int, int]],
        groups: Sequence[GroupChange] = (),
        completion: Completion[None] | None = None,
    ) -> None:
        """Give messages another (id, visible_ms)."""

    async def hide_again(self, proofs: Sequence[tuple[int, int, int]]) -> list[int]:
        """Give messages another (id, receipt, visible_ms), if the receipt is the last one; the ids of those it is."""

    async def move(self, moves: Sequence[Move], groups: Sequence[GroupChange] = ()) -> None:
        """Move messages to other queues; `groups` describes the groups that they leave."""

    async def expire(self, queue: int, before_ms: int, limit: int) -> list[Gone]:
        """Delete up to `limit` messages that were visible, or are to be, before an instant.

        A late instant clears a queue that no longer exists.
        """

    async def load(self, queue: int, now_ms: int) -> LoadedQueue:
        """The contents of a queue, as of all calls before this one."""

    async def get(self, ids: Sequence[int]) -> list[Held]:
        """Messages by id, received or not, as of all calls before this one."""

    async def peek(self, queue: int, limit: int) -> list[Claimed]:
        """The messages that are, were or will be visible first; nothing changes."""

    async def forget(self, now_ms: int, notes_before: int) -> None:
        """Delete deduplication keys past their time, and notes of messages with lesser ids of the same shard."""

    async def note(self, notes: Sequence[Note]) -> None:
        """Store notes on messages."""

    async def trail(self, message: int) -> list[Note]:
        """The notes about a message, oldest first."""
