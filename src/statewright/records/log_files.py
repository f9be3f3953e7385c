"""Files of log events, read line by line from either end: no file is ever loaded as a whole.

Three forms of line: of workers of functions, of executions, and of PutLogEvents. A place in a file is its inode and
an offset, so that a file that was renamed because it had grown is found again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

EVENT_BYTES: Final = 26
"""Bytes that an event counts besides its message. Source: API reference, PutLogEvents."""
BLOCK_BYTES: Final = 64 * 1024
HISTORIES: Final = "states/"
"""The beginning of the names of streams with logs of executions."""
_STAMP: Final = b'"event_timestamp":"'


@dataclass(frozen=True, slots=True)
class LogEvent:
    """An event. Instants are epoch milliseconds."""

    at_ms: int
    ingested_ms: int
    stream: str
    message: str


Place = tuple[int, int]
"""Inode and offset."""
Form = Callable[[bytes, str], LogEvent | None]
"""Parses a line; the text is the stream's name, used if the line has none."""


def worker_line(line: bytes, _stream: str) -> LogEvent | None:
    """`epoch ms TAB stream TAB text`: the output of a function's worker."""
    at, _, rest = line.partition(b"\t")
    stream, tab, text = rest.partition(b"\t")
    if not tab or not at.isdigit():
        return None
    return LogEvent(int(at), int(at), stream.decode("utf-8", "replace"), text.decode("utf-8", "replace"))


def history_line(line: bytes, stream: str) -> LogEvent | None:
    """A history event as JSON; its instant is the last member of that name."""
    start = line.rfind(_STAMP) + len(_STAMP)
    at = line[start : line.find(b'"', start)]
    return LogEvent(int(at), int(at), stream, line.decode("utf-8", "replace")) if at.isdigit() else None


def put_line(line: bytes, stream: str) -> LogEvent | None:
    """`epoch ms TAB ingested ms TAB message as JSON`: an event of PutLogEvents."""
    at, _, rest = line.partition(b"\t")
    ingested, tab, message = rest.partition(b"\t")
    if not tab or not at.lstrip(b"-").isdigit() or not ingested.isdigit():
        return None
    try:
        return LogEvent(int(at), int(ingested), stream, json.loads(message))
    except ValueError:
        return None


def put_text(at_ms: int, ingested_ms: int, message: str) -> bytes:
    """The line of an event of PutLogEvents."""
    return b"%d\t%d\t%s\n" % (at_ms, ingested_ms, json.dumps(message).encode())


@dataclass(frozen=True, slots=True)
class Lane:
    """Consecutive files of one form, oldest first. `stream` is the stream of lines that name none."""

    paths: tuple[Path, ...]
    form: Form
    stream: str = ""
    slack_ms: int | None = 0
    """How far lines may be out of order, so that a search by time can begin in the middle; None for any amount."""


@dataclass(slots=True)
class Line:
    """An event with the places of the beginning and end of its line."""

    event: LogEvent
    begin: Place
    end: Place


def forwards(lane: Lane, place: Place | None, from_ms: int | None) -> Iterator[Line]:
    """Yield events from a place on, or from the first one that is not before an instant."""
    reached = place is None or place[0] not in _inodes(lane)
    for path in lane.paths:
        try:
            file = path.open("rb")
        except OSError:
            continue
        with file:
            inode = os.fstat(file.fileno()).st_ino
            if not reached and place is not None:
                if inode != place[0]:
                    continue
                reached = True
                file.seek(place[1])
            elif from_ms is not None and lane.slack_ms is not None:
                file.seek(_first_at(file, lane, from_ms - lane.slack_ms))
            offset = file.tell()
            for line in file:
                if not line.endswith(b"\n"):
                    # The line is being written.
                    break
                begin, offset = offset, offset + len(line)
                event = lane.form(line[:-1], lane.stream)
                if event is not None:
                    yield Line(event, (inode, begin), (inode, offset))


def backwards(lane: Lane, place: Place | None) -> Iterator[Line]:
    """Yield the events before a place, newest first; without a place, all of them."""
    reached = place is None or place[0] not in _inodes(lane)
    for path in reversed(lane.paths):
        try:
            file = path.open("rb")
        except OSError:
            continue
        with file:
            status = os.fstat(file.fileno())
            end = status.st_size
            if not reached and place is not None:
                if status.st_ino != place[0]:
                    continue
                reached, end = True, place[1]
            for begin, line in _lines_before(file, end):
                event = lane.form(line, lane.stream)
                if event is not None:
                    yield Line(event, (status.st_ino, begin), (status.st_ino, begin + len(line) + 1))


def _inodes(lane: Lane) -> set[int]:
    found = set()
    for path in lane.paths:
        try:
            found.add(path.stat().st_ino)
        except OSError:
            continue
    return found


def _lines_before(file: BinaryIO, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield the whole lines that end before an offset, last first, with the offsets of their beginnings."""
    rest, start, is_first = b"", end, True
    while start > 0:
        size = min(BLOCK_BYTES, start)
        start -= size
        file.seek(start)
        rest = file.read(size) + rest
        if is_first and not rest.endswith(b"\n"):
            # The last line is being written.
            cut = rest.rfind(b"\n") + 1
            if not cut and start:
                continue
            rest = rest[:cut]
        is_first = False
        first = 0 if start == 0 else rest.find(b"\n") + 1
        if first == 0 and start:
            continue
        lines, place = rest[first:].split(b"\n")[:-1], start + len(rest)
        for line in reversed(lines):
            place -= len(line) + 1
            yield place, line
        rest = rest[:first]


def _first_at(file: BinaryIO, lane: Lane, at_ms: int) -> int:
    """The offset of the first line that is not before an instant, as far as lines are in order."""
    low, high = 0, os.fstat(file.fileno()).st_size
    while high - low > BLOCK_BYTES:
        middle = (low + high) // 2
        file.seek(middle)
        file.readline()
        begin = file.tell()
        event = lane.form(file.readline().rstrip(b"\n"), lane.stream)
        if event is None or event.at_ms >= at_ms:
            high = middle
        else:
            low = begin
    return low
