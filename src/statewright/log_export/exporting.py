"""The export of the events of all log groups of one system: a reader that follows what is written to their files.

Where they go is the receiver's: a collector, or the home of a cluster, to which a worker sends its own.

1. Writers of a group announce that it has new events, as they do for filters. The group is noted, and a moment later
   the events behind its place are read from its files and sent, together with those of other groups.
2. Places move once the receiver has accepted or refused a batch, and are kept in files then. So a server that was
   killed repeats at most its last batch. What was written meanwhile is in the log files, and is read after the start.
3. While the receiver is away nothing is read. What rotation deletes until it is back is lost, and counted.

Where the export has never run, it begins with what is written from then on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from statewright.background import Background
from statewright.clock import Clock, Timer
from statewright.errors import StoreError, shortage
from statewright.log_export.encoding import Written
from statewright.log_export.places import PlaceFiles
from statewright.records.log_files import Lane
from statewright.records.log_following import News, Places, announcement, ends, is_read, marked, new_lines, usable
from statewright.records.log_groups import LogGroups

DELAY_MS: Final = 1_000
"""How long events wait for others, and for the next try after a failure.
Source: OpenTelemetry specification, batch log record processor: 1 s."""
MOST_RECORDS: Final = 1_000
MOST_BYTES: Final = 1024 * 1024
"""Of messages in one batch, before they are encoded; one message may be longer."""
LAST_MS: Final = 2_000
"""Longest time that a stop waits for the last batches."""

log = logging.getLogger("statewright.logs")


class Receiver(Protocol):
    """Takes the batches. `is_too_slow` is set if a stop could not wait for an answer."""

    is_too_slow: bool

    @property
    def is_away(self) -> bool:
        """True while it has not answered for a while: a stop does not try."""

    async def send(self, encode: Callable[[], bytes], count: int) -> None:
        """Send a batch of so many events, which `encode` makes; returns once it was accepted or refused."""

    def note_gap(self, group: str, count: int) -> None:
        """Take note of files of a group that were deleted before they were sent."""


@dataclass(slots=True)
class _Batch:
    """Events to send, and the places behind them by group."""

    written: list[Written]
    places: dict[str, Places]
    count: int = 0
    is_full: bool = False


class LogExport:
    """Exports the events of the log groups of one system."""

    def __init__(
        self,
        groups: LogGroups,
        clock: Clock,
        receiver: Receiver,
        encode: Callable[[Sequence[Written]], bytes],
        files: PlaceFiles,
    ) -> None:
        """`encode` makes the bytes of a batch."""
        self._groups = groups
        self._clock = clock
        self._receiver = receiver
        self._encode = encode
        self._files = files
        self._places: dict[str, Places] = {}
        self._noted: dict[str, None] = {}
        self._timer: Timer | None = None
        self._exporting: asyncio.Task[None] | None = None
        self._is_running = False
        self._background = Background("exporting log events")
        groups.subscribe(self.written)

    async def start(self) -> None:
        """Find the places, and note all groups: they may have events that were not exported. Raises: StoreError."""
        try:
            known = await self._groups.work(self._files.load)
            if known is None:
                known = await self._begun()
        except OSError as problem:
            raise StoreError(f"the places of exported logs cannot be read or written: {problem}") from None
        self._places = known
        self._is_running = True
        await self._note_all()

    async def _begun(self) -> dict[str, Places]:
        """The ends of all groups, which are kept: the export has never run here."""
        found: dict[str, Places] = {}
        for group in await self._groups.groups():
            places = await self._groups.work(_ends, await self._groups.lanes(group.name))
            if places:
                found[group.name] = places
                await self._groups.work(self._files.keep, group.name, places)
        await self._groups.work(self._files.begin)
        return found

    async def _note_all(self) -> None:
        for name in {**self._places, **{group.name: () for group in await self._groups.groups()}}:
            self.written(name)

    async def stop(self) -> None:
        """Send what is left if the receiver answers, within a bound; the next process continues with the rest."""
        self._cancel_timer()
        if self._is_running and not self._receiver.is_away and not self._receiver.is_too_slow:
            over = asyncio.Event()
            bound = self._clock.call_at(self._clock.now_ms() + LAST_MS, over.set)
            last = self._background.spawn(self._export_last())
            last.add_done_callback(lambda _: over.set())
            await over.wait()
            bound.cancel()
            # The systems of other regions, which stop one after the other, do not wait as well.
            self._receiver.is_too_slow = not last.done()
        self._is_running = False
        self._cancel_timer()
        await self._background.stop()

    async def flush(self) -> None:
        """Send what has been announced until now; returns once the receiver has it, or a try has failed."""
        if self._exporting is not None:
            await asyncio.wait([self._exporting])
        if self._is_running and self._noted and self._exporting is None:
            self._cancel_timer()
            self._begin()
        if self._exporting is not None:
            # Begun after what was announced until now, by this call or by another one.
            await asyncio.wait([self._exporting])

    # ------------------------------------------------------------------ announcements

    def written(self, group: str) -> None:
        """Take note that a group may have new events."""
        self._noted[group] = None
        self._begin_later()

    def writing(self, group: str) -> Callable[[], None]:
        """Announce that a thread will write to a group; it calls the result when it has."""
        return announcement(self._clock, lambda: self.written(group))

    def _begin_later(self) -> None:
        if self._is_running and self._timer is None and self._exporting is None:
            self._timer = self._clock.call_at(self._clock.now_ms() + DELAY_MS, self._begin)

    def _begin(self) -> None:
        self._timer = None
        self._exporting = self._background.spawn(self._export())

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # ------------------------------------------------------------------ events

    async def _export(self) -> None:
        """Send what the noted groups have; groups that are noted meanwhile wait for the next time."""
        try:
            while await self._export_batch():
                pass
        except (StoreError, OSError) as problem:
            log.warning("log events are exported later: %s", problem)
        finally:
            self._exporting = None
        if self._noted:
            self._begin_later()

    async def _export_last(self) -> None:
        if self._exporting is not None:
            await asyncio.wait([self._exporting])
        self._cancel_timer()
        await self._note_all()
        self._cancel_timer()
        await self._export()

    async def _export_batch(self) -> bool:
        """Send one batch. True if there is more. Raises: StoreError, OSError, and then all of it is noted again."""
        noted = list(self._noted)
        batch = _Batch([], {})
        try:
            await self._fill(batch, noted)
            if batch.count:
                await self._receiver.send(partial(self._encode, batch.written), batch.count)
            for group, places in batch.places.items():
                before, self._places[group] = self._places.get(group), places
                if places != before:
                    await self._groups.work(self._files.keep, group, places)
                if not places:
                    del self._places[group]
        except Exception as problem:
            self._noted.update(dict.fromkeys(noted))
            lacking = shortage(problem)
            if lacking is None:
                raise
            raise lacking from problem
        return batch.is_full

    async def _fill(self, batch: _Batch, noted: list[str]) -> None:
        left_bytes = MOST_BYTES
        for group in noted:
            del self._noted[group]
            lanes = await self._groups.lanes(group)
            places = self._places.get(group, {})
            news, lost = await self._groups.work(_read, lanes, places, left_bytes, MOST_RECORDS - batch.count)
            if lost:
                self._receiver.note_gap(group, lost)
                # Counted once, also if these events have to be read again.
                self._places[group] = await self._groups.work(lambda: usable(lanes, places)[0])  # noqa: B023
            if news.lines:
                batch.written.append(Written(group, news.lines))
                batch.count += len(news.lines)
                left_bytes -= sum(len(line.event.message) for line in news.lines)
            batch.places[group] = news.places
            if news.has_more:
                self._noted[group] = None
                batch.is_full = True
                return


def _read(lanes: list[Lane], places: Places, most_bytes: int, most_lines: int) -> tuple[News, int]:
    """Events behind places, with marked places behind them, and how many files were lost before they were read."""
    found, lost = usable(lanes, places)
    # A group may have thousands of streams, of which few were written to.
    unread = [lane for lane in lanes if not is_read(lane, found)]
    news = new_lines(unread, found, most_bytes, most_lines)
    news.places = {**found, **marked(unread, news.places)}
    return news, lost


def _ends(lanes: list[Lane]) -> Places:
    return marked(lanes, ends(lanes))
