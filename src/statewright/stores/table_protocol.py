"""The store as tables need it: items in the order of their keys, and changes decided by the only writer.

A *space* is the number of a table, of one of its indexes, or of something that tables remember; within it, items stand
by (part, sort), which are bytes that compare as the keys they stand for. Leaves the meaning of keys, sizes and bodies
to `tables`. Every store passes `tests/contract/test_table_contract.py`.

A `Change` names the items it looks at, and its `decide` says what to write once it sees them. Decisions are made one
after the other, each seeing the writes of those before it, so a condition holds when its write happens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

from statewright.stores.completion import Completion

BEHIND_ALL: Final = b"\xff"
"""Behind every sort key; those of `tables` begin with a lower byte."""


class ItemKey(NamedTuple):
    """The place of an item."""

    space: int
    part: bytes
    sort: bytes


class StoredItem(NamedTuple):
    """An item as it stands. `body` is JSON text; `size` is what the service counts, in bytes."""

    size: int
    body: str


class Counted(NamedTuple):
    """A difference, or a sum: items, and their bytes."""

    items: int
    bytes: int


@dataclass(slots=True)
class Decision:
    """The writes of a change, and the answer to its caller. A key is either put or dropped, not both."""

    answer: object = None
    puts: dict[ItemKey, StoredItem] = field(default_factory=dict)
    drops: set[ItemKey] = field(default_factory=set)
    counts: dict[int, Counted] = field(default_factory=dict)
    """Differences by space."""


@dataclass(frozen=True, slots=True)
class Change:
    """One transaction. `decide` sees the items in the order of `keys`, `None` for those that do not exist.

    It may be called again after a failure and from another thread, so it only reads its arguments. An exception is the
    answer; nothing is written then.
    """

    keys: Sequence[ItemKey]
    decide: Callable[[Sequence[StoredItem | None]], Decision]
    completion: Completion[Any] | None = None
    """Completed with the decision's answer."""


class Span(NamedTuple):
    """A stretch of one part: from `low` on, below `high`."""

    space: int
    part: bytes
    low: bytes = b""
    high: bytes = BEHIND_ALL


class TableStore(Protocol):
    """Items of tables.

    Raises (all methods): Unavailable when the database does not answer; OwnershipLost.
    """

    async def change(self, change: Change) -> Any:
        """Execute a change; its answer, once it is durable. Raises: any exception of `decide`."""

    async def get(self, keys: Sequence[ItemKey]) -> list[StoredItem | None]:
        """Items as they stand at one moment, in the order of their keys."""

    async def span(self, span: Span, *, limit: int, backward: bool = False) -> list[StoredItem]:
        """Items of a part in the order of their sort keys, from either end on."""

    async def scan(self, space: int, *, after: tuple[bytes, bytes], below: bytes, limit: int) -> list[StoredItem]:
        """Items by (part, sort), behind a place, of parts below one."""

    async def counts(self, spaces: Sequence[int]) -> dict[int, Counted]:
        """How many items spaces have, and their bytes: kept as counters, never counted by a scan."""

    async def clear(self, space: int, limit: int) -> int:
        """Delete some items of an unused space, and its counter; returns how many."""
