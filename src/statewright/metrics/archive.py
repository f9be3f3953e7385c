"""The minutes of all metrics in files of the data folder: fifteen days of them, or as many as a bound on bytes allows.

Once a minute a block is appended to the file of its hour; blocks are never changed. A block begins with the numbers of
its metrics, sorted, so that reading one metric skips all others. `series.jsonl` maps the numbers to metrics. A block
that a dying process left unfinished is cut off at the next start. Nothing is synced: a killed process loses the points
that it has not written, a machine that loses power may lose some seconds more.
"""

from __future__ import annotations

import logging
import struct
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import orjson

from statewright.files.whole import write_bytes
from statewright.metrics.columns import pack_spread, unpack_spread
from statewright.metrics.points import Point

KEPT_SECONDS: Final = 15 * 86_400
"""Source: CloudWatch user guide, "Metrics retention": points of a minute."""
MOST_BYTES: Final = 1 << 30
HOUR: Final = 3_600
COMPACT_ABOVE: Final = 5_000
"""With more names, those without points are dropped at start."""

_MAGIC: Final = b"SWM1"
_HEAD: Final = struct.Struct("<4sIIII")
"""Mark, minute in epoch seconds, how many metrics, length and checksum of what follows."""
_FIGURES: Final = struct.Struct("<dddddI")

log = logging.getLogger("statewright.metrics")


class Name(NamedTuple):
    """A metric's entry in `series.jsonl`."""

    number: int
    namespace: str
    name: str
    dimensions: tuple[tuple[str, str], ...]
    unit: str
    is_gauge: bool
    is_lasting: bool
    grows: bool


class Archive:
    """The files of one folder; used by one process at a time."""

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self._folder = folder
        self._names = folder / "series.jsonl"
        self._most_bytes = most_bytes
        self._pruned = 0
        self._is_broken = False

    def open(self, now: int) -> list[Name]:
        """The known metrics; cuts off half-written blocks of a dying process."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for path in self._hours()[-2:]:
            whole = sum(_HEAD.size + length for _, _, length, _ in _blocks(path.read_bytes()))
            if whole < path.stat().st_size:
                with path.open("r+b") as file:
                    file.truncate(whole)
        self.prune(now)
        names = list(self._read_names())
        if len(names) <= COMPACT_ABOVE:
            return names
        used = {number for path in self._hours() for number in _numbers_in(path.read_bytes())}
        names = [name for name in names if name.number in used]
        write_bytes(self._names, _lines(names))
        return names

    def name(self, names: Iterable[Name]) -> None:
        """Store the numbers of metrics."""
        lines = _lines(names)
        if lines:
            self._append(self._names, lines)

    def write(self, minute: int, points: dict[int, Point]) -> None:
        """Append points of one minute, by the numbers of their metrics."""
        if not points:
            return
        numbers = sorted(points)
        rows = [_packed(points[number]) for number in numbers]
        offsets, offset = array("I"), 8 * len(rows)
        for row in rows:
            offsets.append(offset)
            offset += len(row)
        body = array("I", numbers).tobytes() + offsets.tobytes() + b"".join(rows)
        head = _HEAD.pack(_MAGIC, minute, len(rows), len(body), zlib.crc32(body))
        self._append(self._path(minute), head + body)
        hour = minute // HOUR
        if hour != self._pruned:
            self.prune(minute)

    def read(self, number: int, start: int, end: int) -> list[Point]:
        """The points of one metric from second `start` on, before `end`, by time; several may be of one minute."""
        found: list[Point] = []
        for path in self._between(start, end):
            body = _content(path)
            for place, minute, length, count in _blocks(body):
                if start <= minute < end:
                    row = _row_of(body[place : place + length], count, number)
                    if row is not None:
                        found.append(_unpacked(minute, row))
        return sorted(found, key=lambda point: point.at)

    def read_several(self, numbers: Sequence[int], start: int, end: int) -> dict[int, list[Point]]:
        """The points of several metrics, as `read` returns those of one, in one pass through the files."""
        found: dict[int, list[Point]] = {}
        for path in self._between(start, end):
            body = _content(path)
            for place, minute, length, count in _blocks(body):
                if start <= minute < end:
                    block = body[place : place + length]
                    # Most metrics have no point in most minutes.
                    there = set(_numbers(block, count))
                    for number in numbers:
                        if number in there:
                            row = _row_of(block, count, number)
                            assert row is not None
                            found.setdefault(number, []).append(_unpacked(minute, row))
        return found

    def read_all(self, start: int, end: int) -> Iterator[tuple[int, Point]]:
        """Every point of a stretch of time, with its metric's number, in the order in which they were written."""
        for path in self._between(start, end):
            body = _content(path)
            for place, minute, length, count in _blocks(body):
                if start <= minute < end:
                    block = body[place : place + length]
                    for number in _numbers(block, count):
                        row = _row_of(block, count, number)
                        if row is not None:
                            yield number, _unpacked(minute, row)

    def prune(self, now: int) -> None:
        """Delete the files of hours that are too old, and the oldest ones above the bound on bytes."""
        self._pruned = now // HOUR
        oldest = self._path(now - KEPT_SECONDS).name
        kept = 0
        for path in reversed(self._hours()):
            kept += path.stat().st_size
            if path.name < oldest or kept > self._most_bytes:
                path.unlink(missing_ok=True)

    # ------------------------------------------------------------------ files

    def _hours(self) -> list[Path]:
        return sorted(self._folder.glob("*.minutes"))

    def _path(self, second: int) -> Path:
        return self._folder / f"{second // HOUR:08d}.minutes"

    def _between(self, start: int, end: int) -> list[Path]:
        first, last = self._path(start).name, self._path(max(end - 1, 0)).name
        return [path for path in self._hours() if first <= path.name <= last]

    def _append(self, path: Path, content: bytes) -> None:
        """Log a failed write, once: a full disk must not stop the server."""
        try:
            with path.open("ab") as file:
                file.write(content)
            self._is_broken = False
        except OSError as problem:
            if not self._is_broken:
                log.warning("metrics of this minute are not kept: %s", problem)
            self._is_broken = True

    def _read_names(self) -> Iterator[Name]:
        for line in _content(self._names).splitlines():
            try:
                number, namespace, name, dimensions, *rest = orjson.loads(line)
            except ValueError:
                # The unfinished last line of a process that died; its number was never used.
                continue
            yield Name(number, namespace, name, tuple((key, value) for key, value in dimensions), *rest)


def _lines(names: Iterable[Name]) -> bytes:
    return b"".join(orjson.dumps(list(one)) + b"\n" for one in names)


def _numbers_in(content: bytes) -> set[int]:
    """The metrics that a file has points of."""
    found: set[int] = set()
    for place, _, length, count in _blocks(content):
        found.update(_numbers(content[place : place + length], count))
    return found


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _blocks(content: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Intact blocks of a file, each as the offset of its body, its minute, its length and its number of metrics."""
    place = 0
    while place + _HEAD.size <= len(content):
        magic, minute, count, length, checksum = _HEAD.unpack_from(content, place)
        place += _HEAD.size
        body = memoryview(content)[place : place + length]
        if magic != _MAGIC or len(body) < length or zlib.crc32(body) != checksum:
            return
        yield place, minute, length, count
        place += length


def _numbers(block: bytes, count: int) -> array[int]:
    numbers = array("I")
    numbers.frombytes(block[: 4 * count])
    return numbers


def _row_of(block: bytes, count: int, number: int) -> bytes | None:
    numbers = _numbers(block, count)
    place = bisect_left(numbers, number)
    if place == count or numbers[place] != number:
        return None
    offsets = array("I")
    offsets.frombytes(block[4 * (count + place) : 4 * (count + min(place + 2, count))])
    return block[offsets[0] : offsets[1] if len(offsets) > 1 else len(block)]


def _packed(point: Point) -> bytes:
    spread = pack_spread(point.spread) if point.spread is not None else b""
    return _FIGURES.pack(point.samples, point.total, point.low, point.high, point.last, len(spread)) + spread


def _unpacked(minute: int, row: bytes) -> Point:
    count, total, low, high, last, length = _FIGURES.unpack_from(row)
    spread = unpack_spread(row[_FIGURES.size : _FIGURES.size + length]) if length else None
    return Point(minute, count, total, low, high, last, spread)
