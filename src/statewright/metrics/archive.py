"""The minutes of all metrics that are kept: fifteen days of them, or as many as a bound on bytes allows.

Once a minute a block of points is added; blocks are never changed. `Minutes` is where they lie: files of the data
folder (`minute_files`), or rows of a store whose data is elsewhere (`minute_rows`). Nothing waits for a disk: a killed
process loses the points that it has not written, a machine that loses power may lose some seconds more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from statewright.metrics.blocks import Name, block_of, blocks_in
from statewright.metrics.points import Point

KEPT_SECONDS: Final = 15 * 86_400
"""Source: CloudWatch user guide, "Metrics retention": points of a minute."""
MOST_BYTES: Final = 1 << 30
HOUR: Final = 3_600


class Known(NamedTuple):
    """The metrics of an archive."""

    names: list[Name]
    newest: int
    """The greatest number that a metric ever got, or 0."""


class Minutes(Protocol):
    """The place that keeps the blocks of an archive. Used from the event loop, but for `contents`."""

    async def open(self, now: int) -> Known:
        """The known metrics. Raises: StoreError; OSError."""

    def has_name(self, number: int, now: int) -> bool:
        """True if a metric need not be named with its next point."""

    def add(self, minute: int, block: bytes, names: Sequence[Name]) -> None:
        """Keep a block, and names of metrics in it. Never waits, and drops the block if it cannot be kept."""

    async def settle(self) -> None:
        """Have everything that was added in `contents`, if that is possible now."""

    def contents(self, start: int, end: int) -> Iterator[bytes]:
        """Blocks, one after another, with all those of minutes from a second on, before another one.

        Blocks: call it from a thread. Raises: Unavailable.
        """

    async def close(self) -> None:
        """Write what waits, if that is possible now, and end all work."""


class Archive:
    """The minutes of one process; the numbers of metrics are its own."""

    def __init__(self, minutes: Minutes) -> None:
        self.minutes: Final = minutes

    def write(self, minute: int, points: dict[int, Point], names: Iterable[Name] = ()) -> None:
        """Keep points of one minute, by the numbers of their metrics, of which some are named for the first time."""
        if points:
            self.minutes.add(minute, block_of(minute, points), tuple(names))

    def read(self, number: int, start: int, end: int) -> list[Point]:
        """The points of one metric from second `start` on, before `end`, by time; several may be of one minute.

        Blocks, as the others that read. Raises: Unavailable.
        """
        found: list[Point] = []
        for content in self.minutes.contents(start, end):
            for block in blocks_in(content, start, end):
                point = block.point(number)
                if point is not None:
                    found.append(point)
        return sorted(found, key=lambda point: point.at)

    def read_several(self, numbers: Sequence[int], start: int, end: int) -> dict[int, list[Point]]:
        """The points of several metrics, as `read` returns those of one, in one pass."""
        found: dict[int, list[Point]] = {}
        for content in self.minutes.contents(start, end):
            for block in blocks_in(content, start, end):
                # Most metrics have no point in most minutes.
                there = set(block.numbers())
                for number in numbers:
                    if number in there:
                        point = block.point(number)
                        assert point is not None
                        found.setdefault(number, []).append(point)
        return found
