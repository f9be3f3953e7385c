"""Ids that sort by shard and then by time, and the shard of a name.

    id = shard (10 bits) | milliseconds since 2015 (41 bits) | counter (12 bits)

A process makes them by itself, without coordination. Sixty-three bits last until 2084.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

FIRST_MS: Final = 1_420_070_400_000
"""2015-01-01T00:00:00Z, the first instant an id can carry; no execution is older."""

SHARD_BITS: Final = 10
MS_BITS: Final = 41
COUNTER_BITS: Final = 12
MOST_SHARDS: Final = 1 << SHARD_BITS
SHARD: Final = 0
"""The shard of the default region; every other region of a store has one of its own (`stores.regional`)."""

_TICK_BITS: Final = MS_BITS + COUNTER_BITS
_TICK_MASK: Final = (1 << _TICK_BITS) - 1


MOST_CELLS: Final = 512
"""Of the default region: their shards are the last ones, and those of other regions the first."""


def cell_shard(number: int) -> int:
    """The shard of a cell of the default region: the first cell has that of the region, the others those at the end."""
    return SHARD if number == 0 else MOST_SHARDS - number


def shard_of_id(number: int) -> int:
    """The shard that an id carries."""
    return number >> _TICK_BITS


def made_ms(number: int) -> int:
    """When an id was made: an epoch instant in milliseconds, later than the truth where a full counter borrowed."""
    return ((number & _TICK_MASK) >> COUNTER_BITS) + FIRST_MS


def first_id(shard: int) -> int:
    """The least id of a shard."""
    return shard << _TICK_BITS


def last_id(shard: int) -> int:
    """The greatest id of a shard."""
    return (shard << _TICK_BITS) | _TICK_MASK


class IdSource:
    """Makes ids, each greater than the one before it, even if the clock goes back.

    4,096 ids fit into a millisecond. A full counter borrows from the next one rather than wait, because virtual time
    may stand still, and a clock set back continues to count where it was. `above` is an id that all must pass: what the
    store has already (`Store.newest_id`), for a virtual clock begins every run at the same instant.
    """

    __slots__ = ("_first", "_now_ms", "_tick")

    def __init__(self, now_ms: Callable[[], int], above: int = 0, shard: int = SHARD) -> None:
        self._now_ms = now_ms
        self._tick = above & _TICK_MASK
        self._first = first_id(shard)

    def next(self) -> int:
        """A new id."""
        now = (self._now_ms() - FIRST_MS) << COUNTER_BITS
        self._tick = tick = max(self._tick + 1, now)
        return self._first | tick

    def pass_by(self, number: int) -> None:
        """Make no id up to a number, of any shard."""
        self._tick = max(self._tick, number & _TICK_MASK)

    def pass_instant(self, at_ms: int) -> None:
        """Make no id of an instant up to this one."""
        self._tick = max(self._tick, (at_ms - FIRST_MS) << COUNTER_BITS)

    def pass_now(self, ahead_ms: int) -> None:
        """Make no id of an instant up to so far ahead of the clock."""
        self.pass_instant(self._now_ms() + ahead_ms)

    def several(self, many: int) -> range:
        """As many new ids, at least one, each the next number after the one before it."""
        first = self.next()
        self._tick += many - 1
        return range(first, first + many)
