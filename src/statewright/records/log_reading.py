"""Reads log events: pages of one stream in both directions, and searches through a group.

Everything here runs in a thread and does a bounded amount of work: a search that has read many bytes ends its page with
the places where the next one begins.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from statewright.records.log_files import EVENT_BYTES, Lane, Line, LogEvent, Place, backwards, forwards

PAGE_BYTES: Final = 1024 * 1024
"""Bytes of one answer: messages, each with `EVENT_BYTES`. Source: API reference, GetLogEvents, FilterLogEvents."""
SEARCH_BYTES: Final = 16 * 1024 * 1024
"""Bytes after which a search ends its page."""


@dataclass(frozen=True, slots=True)
class Window:
    """A range of instants: from, inclusive, and to, exclusive."""

    from_ms: int | None = None
    to_ms: int | None = None

    def includes(self, at_ms: int) -> bool:
        """True if the range includes an instant."""
        return (self.from_ms is None or at_ms >= self.from_ms) and (self.to_ms is None or at_ms < self.to_ms)


@dataclass(slots=True)
class StreamPage:
    """A page of a stream, oldest event first, and the places before and behind it."""

    events: list[LogEvent]
    before: Place | None
    behind: Place | None


def stream_page(
    lane: Lane, stream: str, window: Window, limit: int, place: Place | None, *, forward: bool
) -> StreamPage:
    """Read events of a stream from a place on, or before it. If there are none, both places are the given one."""
    lines = forwards(lane, place, window.from_ms) if forward else backwards(lane, place)
    found: list[Line] = []
    size = 0
    for line in lines:
        event = line.event
        if event.stream != stream or not window.includes(event.at_ms):
            if _is_past(lane, window, event.at_ms, forward=forward):
                break
            continue
        size += len(event.message) + EVENT_BYTES
        if found and size > PAGE_BYTES:
            break
        found.append(line)
        if len(found) == limit:
            break
    if not found:
        return StreamPage([], place, place)
    if not forward:
        found.reverse()
    return StreamPage([line.event for line in found], found[0].begin, found[-1].end)


def _is_past(lane: Lane, window: Window, at_ms: int, *, forward: bool) -> bool:
    """True if no event of the window can follow, as far as lines are in order."""
    if lane.slack_ms is None:
        return False
    if forward:
        return window.to_ms is not None and at_ms >= window.to_ms + lane.slack_ms
    return window.from_ms is not None and at_ms < window.from_ms - lane.slack_ms


@dataclass(slots=True)
class SearchPage:
    """A page of a search; the next page begins at `places`, None at the end."""

    events: list[tuple[LogEvent, str]] = field(default_factory=list)
    places: dict[str, Place] | None = None


def search(
    lanes: Sequence[Lane], window: Window, wanted: Callable[[LogEvent], bool], limit: int, places: dict[str, Place]
) -> SearchPage:
    """Read events of several lanes by time, each with an id, from the places of an earlier page on.

    As far as the lines of a lane are out of order, events are sorted within their page alone.
    """
    page = _found(lanes, window, wanted, limit, places)
    page.events.sort(key=lambda one: one[0].at_ms)
    return page


def _found(
    lanes: Sequence[Lane], window: Window, wanted: Callable[[LogEvent], bool], limit: int, places: dict[str, Place]
) -> SearchPage:
    page, reached, size, read = SearchPage(), dict(places), 0, 0
    for at, line in heapq.merge(*(_timed(one, window, places) for one in lanes), key=lambda each: each[1].event.at_ms):
        event = line.event
        read += line.end[1] - line.begin[1]
        if window.includes(event.at_ms) and wanted(event):
            size += len(event.message) + EVENT_BYTES
            if page.events and (len(page.events) == limit or size > PAGE_BYTES):
                page.places = reached
                return page
            page.events.append((event, f"{line.begin[0]:020}{line.begin[1]:020}"))
        reached[at] = line.end
        if read > SEARCH_BYTES:
            page.places = reached
            return page
    return page


def _timed(lane: Lane, window: Window, places: dict[str, Place]) -> Iterator[tuple[str, Line]]:
    for line in forwards(lane, places.get(lane.stream), window.from_ms):
        if _is_past(lane, window, line.event.at_ms, forward=True):
            return
        yield lane.stream, line


@dataclass(frozen=True, slots=True)
class Extent:
    """The extent of a stream: its first and last event, and the bytes of its lines."""

    first_ms: int
    last_ms: int
    ingested_ms: int
    size_bytes: int


class Extents:
    """Extents of streams, cached by file: only lines added since are read."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str], tuple[int, dict[str, Extent]]] = {}

    def of(self, lane: Lane) -> dict[str, Extent]:
        """The streams of a lane."""
        found: dict[str, Extent] = {}
        for path in lane.paths:
            one = Lane((path,), lane.form, lane.stream, lane.slack_ms)
            for stream, extent in self._of_file(one).items():
                found[stream] = _joined(found.get(stream), extent)
        return found

    def _of_file(self, lane: Lane) -> dict[str, Extent]:
        try:
            status = lane.paths[0].stat()
        except OSError:
            return {}
        key = (status.st_ino, lane.stream)
        end, known = self._known.get(key, (0, {}))
        if end > status.st_size:
            end, known = 0, {}
        found = dict(known)
        for line in forwards(lane, (status.st_ino, end), None):
            event, end = line.event, line.end[1]
            extent = Extent(event.at_ms, event.at_ms, event.ingested_ms, line.end[1] - line.begin[1])
            found[event.stream] = _joined(found.get(event.stream), extent)
        if len(self._known) > 10_000:
            self._known.clear()
        self._known[key] = end, found
        return found


def _joined(one: Extent | None, other: Extent) -> Extent:
    if one is None:
        return other
    return Extent(
        min(one.first_ms, other.first_ms), max(one.last_ms, other.last_ms),
        max(one.ingested_ms, other.ingested_ms), one.size_bytes + other.size_bytes,
    )  # fmt: skip
