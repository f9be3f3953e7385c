"""Minutes of metrics beside the rows of a store, for stores whose data is not on this machine.

`metrics` owns what is in a block and in a name. These rules make both safe without a transaction around them:

1. Blocks are never changed. A minute may have several: those of two owners, and points that came late.
2. A block has its minute, the epoch under which it was decided and a number of its own under that epoch. So a write
   whose answer was lost may be repeated: nothing counts twice.
3. Only the owner of the store writes and deletes: each statement holds the fence.
4. Nothing waits for a disk: a database that crashes may lose the last second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

NODE: Final = "0"
"""The name of the process that writes, as rows have it. One process has a store at a time, so its successor goes on
with the numbers of its metrics."""
IMPORTED: Final = 0
"""The epoch of blocks that come from files of an older version; leases count from 1."""


STATEMENT_BYTES: Final = 4 << 20
"""Written by one statement."""
STATEMENT_BLOCKS: Final = 500


class MinuteBlock(NamedTuple):
    """Points of one minute, given in epoch seconds, of several metrics."""

    at: int
    n: int
    """Given once under one epoch."""
    body: bytes


def batches(blocks: Iterable[MinuteBlock]) -> Iterator[list[MinuteBlock]]:
    """Blocks in their order, as many at once as one statement takes."""
    batch: list[MinuteBlock] = []
    size = 0
    for block in blocks:
        if batch and (size + len(block.body) > STATEMENT_BYTES or len(batch) == STATEMENT_BLOCKS):
            yield batch
            batch, size = [], 0
        batch.append(block)
        size += len(block.body)
    if batch:
        yield batch


class MinuteStore(Protocol):
    """The minutes of a region of a store. All methods block: call them from a thread.

    Raises (all methods): Unavailable when the database does not answer; those that write: OwnershipLost.
    """

    def of(self, place: str) -> MinuteStore:
        """Those of another region: see `stores.regional`."""

    def names(self, most: int) -> list[tuple[int, bytes]]:
        """The numbers and names of metrics, those first that were named last."""

    def newest(self) -> int:
        """The greatest number that a metric has, or 0."""

    def write(
        self, blocks: Sequence[MinuteBlock], names: Sequence[tuple[int, bytes]], now: int, *, imported: bool = False
    ) -> None:
        """Write blocks, and names, which replace those of the same numbers and date from `now`, in epoch seconds.

        Blocks that are `imported` come from files: they are of no lease, and have the epoch `IMPORTED`.
        """

    def read(self, start: int, end: int) -> Iterator[bytes]:
        """The blocks of minutes from a second on, before another one, by time."""

    def sizes(self) -> Iterator[tuple[int, int]]:
        """The minute and the bytes of each block, the newest first."""

    def drop(self, before: int, names_before: int) -> None:
        """Delete blocks of minutes before a second, and names that were written before another one."""
