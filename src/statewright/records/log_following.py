"""Following the files of a log group: what was written behind the places up to which a reader has come.

Places are by lane, as inode and offset, so that a file that was renamed because it had grown is found again. All that
reads files here does so in a thread; `announcement` is for the threads that write them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from statewright.clock import Clock
from statewright.records.log_files import Lane, Line, Place, backwards, forwards, history_line

Places = Mapping[str, Sequence[int]]
"""Inode and offset by the stream of a lane; marked ones have a third number."""
MARKED_BYTES: Final = 256
NO_MARK: Final = 0


@dataclass(slots=True)
class News:
    """Events behind places, and the places behind these events; `has_more` if reading ended at its bound."""

    lines: list[Line] = field(default_factory=list)
    places: Places = field(default_factory=dict)
    has_more: bool = False


def ends(lanes: Sequence[Lane]) -> dict[str, Sequence[int]]:
    """The places behind the last events of lanes."""
    found: dict[str, Sequence[int]] = {}
    for lane in lanes:
        last = next(backwards(lane, None), None)
        if last is not None:
            found[lane.stream] = last.end
    return found


def new_lines(lanes: Sequence[Lane], places: Places, most_bytes: int, most_lines: int | None = None) -> News:
    """Events behind places, up to the first that reaches a bound: bytes of messages, or a number of lines."""
    found: list[Line] = []
    reached: dict[str, Sequence[int]] = {lane.stream: places[lane.stream] for lane in lanes if lane.stream in places}
    size = 0
    for lane in lanes:
        for line in forwards(lane, _place(lane, places.get(lane.stream)), None):
            found.append(line)
            reached[lane.stream] = line.end
            size += len(line.event.message)
            if size >= most_bytes or len(found) == most_lines:
                return News(found, {**places, **reached}, has_more=True)
    return News(found, reached)


def marked(lanes: Sequence[Lane], places: Places) -> dict[str, Sequence[int]]:
    """Places with a third number, by which a place is recognized although inodes are used again: see `usable`."""
    by_stream = {lane.stream: lane for lane in lanes}
    found = dict(places)
    for stream, place in places.items():
        lane = by_stream.get(stream)
        if lane is not None and len(place) == 2:
            found[stream] = (*place, _mark(lane, place) or NO_MARK)
    return found


def usable(lanes: Sequence[Lane], places: Places) -> tuple[dict[str, Sequence[int]], int]:
    """Those of some marked places that are still in the files, and how many others were lost by rotation.

    A lane of two files loses the one that is being read only when a third begins, and has an older one, `.log.1`, then.
    A lane of one file, which is one of many of executions, was read to its end if a later one had been begun; such
    lanes are named by their day and number. Files without such successors were deleted, or emptied, by a caller.
    """
    by_stream = {lane.stream: lane for lane in lanes}
    found: dict[str, Sequence[int]] = {}
    lost = 0
    for stream, place in places.items():
        lane = by_stream.get(stream)
        if lane is not None and _is_marked(lane, place):
            found[stream] = place
        elif lane is not None:
            lost += any(path.suffix == ".1" and path.exists() for path in lane.paths)
    histories = [lane.stream for lane in lanes if lane.form is history_line]
    if histories:
        prefix = histories[0].partition("/")[0] + "/"
        last = max((stream for stream in places if stream.startswith(prefix)), default=None)
        lost += last is not None and last not in by_stream
    return found, lost


def is_read(lane: Lane, places: Places) -> bool:
    """True if a usable place is at the end of a lane's newest file, which is not opened for that."""
    place = places.get(lane.stream)
    for path in reversed(lane.paths if place is not None else ()):
        with contextlib.suppress(OSError):
            status = path.stat()
            return place is not None and (status.st_ino, status.st_size) == (place[0], place[1])
    return False


def _is_marked(lane: Lane, place: Sequence[int]) -> bool:
    mark = _mark(lane, place)
    # A file that was renamed while its place was marked has none.
    return mark is not None and place[2] in (mark, NO_MARK)


def _mark(lane: Lane, place: Sequence[int]) -> int | None:
    """A check sum of the bytes before a place, of which the instant is a part; None if its file has no such place."""
    for path in lane.paths:
        with contextlib.suppress(OSError), path.open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_ino == place[0] and status.st_size >= place[1]:
                file.seek(max(place[1] - MARKED_BYTES, 0))
                return zlib.crc32(file.read(min(MARKED_BYTES, place[1])))
    return None


def _place(lane: Lane, place: Sequence[int] | None) -> Place | None:
    """The place to read a lane from; None if its file was emptied, or replaced by one that got the same inode."""
    if place is None:
        return None
    for path in lane.paths:
        with contextlib.suppress(OSError):
            status = path.stat()
            if status.st_ino == place[0] and status.st_size < place[1]:
                return None
    return place[0], place[1]


def announcement(clock: Clock, written: Callable[[], None]) -> Callable[[], None]:
    """A function for a thread to call once it has written, after which `written` runs on the event loop.

    Virtual time stands still until then.
    """
    busy, loop = clock.busy(), asyncio.get_running_loop()
    busy.__enter__()

    def arrived() -> None:
        written()
        busy.__exit__(None, None, None)

    def announce() -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(arrived)

    return announce
