"""The bytes of metrics that are kept: a block has the points of one minute, a name is what a number stands for.

A block begins with the numbers of its metrics, sorted, and where each one's row begins, so that reading one metric
skips all others. A checksum tells a block that was cut short. Blocks are read one after another from any bytes.
"""

from __future__ import annotations

import struct
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import orjson

from statewright.metrics.columns import pack_spread, unpack_spread
from statewright.metrics.points import Point

_MAGIC: Final = b"SWM1"
_HEAD: Final = struct.Struct("<4sIIII")
"""Mark, minute in epoch seconds, how many metrics, length and checksum of what follows."""
_FIGURES: Final = struct.Struct("<dddddI")


class Name(NamedTuple):
    """The metric that a number stands for, and its kind."""

    number: int
    namespace: str
    name: str
    dimensions: tuple[tuple[str, str], ...]
    unit: str
    is_gauge: bool
    is_lasting: bool
    grows: bool

    @property
    def metric(self) -> tuple[str, str, tuple[tuple[str, str], ...]]:
        """The identity of the metric."""
        return self.namespace, self.name, self.dimensions


class Block(NamedTuple):
    """A block of some bytes."""

    minute: int
    """Epoch seconds."""
    place: int
    """Its offset in the bytes, its head included."""
    many: int
    """The number of its metrics."""
    body: bytes
    """The bytes behind the head."""

    @property
    def end(self) -> int:
        """The offset of the next one."""
        return self.place + _HEAD.size + len(self.body)

    def numbers(self) -> array[int]:
        """The numbers of its metrics, sorted."""
        numbers = array("I")
        numbers.frombytes(self.body[: 4 * self.many])
        return numbers

    def point(self, number: int) -> Point | None:
        """The point of a metric."""
        row = self._row(number)
        return None if row is None else _unpacked(self.minute, row)

    def _row(self, number: int) -> bytes | None:
        numbers, count = self.numbers(), self.many
        place = bisect_left(numbers, number)
        if place == count or numbers[place] != number:
            return None
        offsets = array("I")
        offsets.frombytes(self.body[4 * (count + place) : 4 * (count + min(place + 2, count))])
        return self.body[offsets[0] : offsets[1] if len(offsets) > 1 else len(self.body)]

    def renumbered(self, numbers: Mapping[int, int]) -> bytes:
        """The block with other numbers for its metrics; those without one are left out."""
        rows = {}
        for number in self.numbers():
            row = self._row(number)
            if number in numbers and row is not None:
                rows[numbers[number]] = row
        return _block(self.minute, rows)


def block_of(minute: int, points: Mapping[int, Point]) -> bytes:
    """A block with the points of some metrics by their numbers."""
    return _block(minute, {number: _packed(point) for number, point in points.items()})


def _block(minute: int, rows: Mapping[int, bytes]) -> bytes:
    numbers = sorted(rows)
    offsets, offset = array("I"), 8 * len(rows)
    for number in numbers:
        offsets.append(offset)
        offset += len(rows[number])
    body = array("I", numbers).tobytes() + offsets.tobytes() + b"".join(rows[number] for number in numbers)
    return _HEAD.pack(_MAGIC, minute, len(rows), len(body), zlib.crc32(body)) + body


def blocks_in(content: bytes, start: int = 0, end: int = 1 << 32) -> Iterator[Block]:
    """The intact blocks of some bytes, of minutes from `start` on, before `end`; a damaged one is the last."""
    place = 0
    while place + _HEAD.size <= len(content):
        magic, minute, count, length, checksum = _HEAD.unpack_from(content, place)
        first = place + _HEAD.size
        body = memoryview(content)[first : first + length]
        if magic != _MAGIC or len(body) < length or zlib.crc32(body) != checksum:
            return
        if start <= minute < end:
            yield Block(minute, place, count, bytes(body))
        place = first + length


def whole_bytes(content: bytes) -> int:
    """How many bytes the intact blocks have."""
    return max((block.end for block in blocks_in(content)), default=0)


def line_of(name: Name) -> bytes:
    """A name as bytes, without a line break in them."""
    return orjson.dumps(list(name))


def names_in(lines: Iterable[bytes]) -> Iterator[Name]:
    """The names of some lines; one that was cut short is left out: its number was never used."""
    for line in lines:
        try:
            number, namespace, name, dimensions, *rest = orjson.loads(line)
        except ValueError:
            continue
        yield Name(number, namespace, name, tuple((key, value) for key, value in dimensions), *rest)


def _packed(point: Point) -> bytes:
    spread = pack_spread(point.spread) if point.spread is not None else b""
    return _FIGURES.pack(point.samples, point.total, point.low, point.high, point.last, len(spread)) + spread


def _unpacked(minute: int, row: bytes) -> Point:
    count, total, low, high, last, length = _FIGURES.unpack_from(row)
    spread = unpack_spread(row[_FIGURES.size : _FIGURES.size + length]) if length else None
    return Point(minute, count, total, low, high, last, spread)
