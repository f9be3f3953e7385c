"""The points of one metric at one resolution, oldest first, in little memory.

Figures are in one array of doubles, six for each point; spreads, which few points have, are kept as bytes.
"""

from __future__ import annotations

from array import array
from typing import Final

from statewright.metrics.points import Point, merged

WIDTH: Final = 6
POINT_BYTES: Final = 8 * WIDTH
SPREAD_BYTES: Final = 150
"""The overhead of an entry in the dict of spreads, in bytes."""


class Column:
    """Points of one metric. `size_bytes` is their approximate size in memory."""

    __slots__ = ("_figures", "_spreads", "size_bytes")

    def __init__(self) -> None:
        self._figures = array("d")
        self._spreads: dict[int, bytes] = {}
        self.size_bytes = 0

    def __len__(self) -> int:
        return len(self._figures) // WIDTH

    def put(self, point: Point, *, replaces: bool = False) -> None:
        """Add a point, merged with an existing one of the same instant; a gauge's `replaces` its level."""
        figures = self._figures
        if not figures or figures[-WIDTH] < point.at:
            self._insert(len(figures), point)
            return
        place = self._place(point.at)
        if place < len(self) and figures[place * WIDTH] == point.at:
            there = self._at(place)
            both = merged(point.at, (there, point))
            assert both is not None
            if replaces:
                both = Point(point.at, 1, point.total, both.low, both.high, point.last)
            self._remove(place)
            point = both
        self._insert(place * WIDTH, point)

    def between(self, start: int, end: int) -> list[Point]:
        """Points from second `start` on, before `end`."""
        first = self._place(start)
        found = []
        for place in range(first, len(self)):
            point = self._at(place)
            if point.at >= end:
                break
            found.append(point)
        return found

    def last_before(self, instant: int) -> Point | None:
        """The last point before an instant."""
        place = self._place(instant)
        return self._at(place - 1) if place else None

    def last_at(self) -> int | None:
        """The instant of the last point."""
        return int(self._figures[-WIDTH]) if self._figures else None

    def drop_before(self, instant: int, *, but_last: bool = False) -> None:
        """Drop points before an instant; `but_last` keeps the last of all."""
        gone = self._place(instant)
        if but_last:
            gone = min(gone, len(self) - 1)
        if gone <= 0:
            return
        if self._spreads:
            for place in range(gone):
                self._forget(int(self._figures[place * WIDTH]))
        del self._figures[: gone * WIDTH]
        self.size_bytes -= gone * POINT_BYTES

    # ------------------------------------------------------------------ places

    def _place(self, instant: int) -> int:
        """How many points are before an instant."""
        figures = self._figures
        low, high = 0, len(figures) // WIDTH
        while low < high:
            middle = (low + high) // 2
            if figures[middle * WIDTH] < instant:
                low = middle + 1
            else:
                high = middle
        return low

    def _at(self, place: int) -> Point:
        at, count, total, low, high, last = self._figures[place * WIDTH : (place + 1) * WIDTH]
        packed = self._spreads.get(int(at))
        return Point(int(at), count, total, low, high, last, unpack_spread(packed) if packed is not None else None)

    def _insert(self, offset: int, point: Point) -> None:
        self._figures[offset:offset] = array("d", point[:WIDTH])
        self.size_bytes += POINT_BYTES
        if point.spread is not None:
            packed = self._spreads[point.at] = pack_spread(point.spread)
            self.size_bytes += len(packed) + SPREAD_BYTES

    def _remove(self, place: int) -> None:
        self._forget(int(self._figures[place * WIDTH]))
        del self._figures[place * WIDTH : (place + 1) * WIDTH]
        self.size_bytes -= POINT_BYTES

    def _forget(self, at: int) -> None:
        packed = self._spreads.pop(at, None)
        if packed is not None:
            self.size_bytes -= len(packed) + SPREAD_BYTES


def pack_spread(spread: dict[float, float]) -> bytes:
    """A spread as doubles: its values, then how often each occurred."""
    return array("d", (*spread, *spread.values())).tobytes()


def unpack_spread(packed: bytes) -> dict[float, float]:
    """The inverse of `pack_spread`."""
    numbers = array("d")
    numbers.frombytes(packed)
    half = len(numbers) // 2
    return dict(zip(numbers[:half], numbers[half:], strict=True))
