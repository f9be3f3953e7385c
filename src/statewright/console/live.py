"""The stream of a page: what changes in the executions, lists and services that it watches, a JSON document a line.

`live?watch=run:ARN@34,list` goes on until the page goes away or the server stops. A page reads first, and then watches
a run from the last event that it has: the stream begins with what came since, so that nothing is lost between the two.
What can be watched stands in `SUBJECTS` and `POLLED`; other parts of the console add to them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from statewright.api.operations import App
from statewright.arn import EXECUTION, parse_arn
from statewright.clock import Clock
from statewright.console.asked import Asked, Lines, needed
from statewright.console.context import Console
from statewright.console.hidden_values import HiddenValues
from statewright.console.hub import LIST_PAUSE_MS, PAUSE_MS, Hub, ListWatch, RunWatch
from statewright.console.lists.executions import row_of
from statewright.console.project import ProjectBoard
from statewright.console.runs import Runs
from statewright.console.subjects import NEVER_MS, Fingerprint, PolledSubject, Subject
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject

BEAT_MS: Final = 15_000
"""A line at least so often: a page that hears nothing for longer connects anew."""
ELSEWHERE_MS: Final = 1_000
"""Between two reads of an execution that runs at another node: this process hears nothing of its commits."""
BUSY_LIST_PAUSE_MS: Final = 2_000
"""After a line that has pages read their lists again."""
PROJECT_PAUSE_MS: Final = 500
MOST_SUBJECTS: Final = 20


@dataclass(slots=True)
class RunSubject:
    """One execution from an event on: `{subject, ...}` with what `Runs.since` returns, or `gone` with the reason.

    It is read with every beat, too: that finds executions that were deleted, or are held back.
    """

    name: str
    arn: str
    event: int
    runs: Runs
    hub: Hub
    watch: RunWatch
    pause_ms: int = PAUSE_MS
    _read_ms: int | None = None
    _kept: int | None = None
    _facts: tuple[Json, ...] = ()
    _is_gone: bool = False
    _is_over: bool = False

    @property
    def wanted_ms(self) -> int:
        """See `Subject`."""
        if self._is_gone:
            return NEVER_MS
        if self._read_ms is None or self.watch.last_event > self.event:
            return 0
        is_elsewhere = self._kept is not None and not self.hub.engine.cells.has(self._kept)
        return self._read_ms + (ELSEWHERE_MS if is_elsewhere and not self._is_over else BEAT_MS)

    async def read(self) -> list[JsonObject]:
        """See `Subject`."""
        self._read_ms = self.hub.engine.clock.now_ms()
        try:
            if self._kept is None:
                self._kept = await self.runs.follow(self.arn)
            found = await self.runs.since(self.arn, self.event)
        except ApiError as refusal:
            self._is_gone = True
            return [{"subject": self.name, "gone": refusal.message}]
        if "reset" in found:
            # The page reads the run, and watches it anew.
            self._is_gone = True
            return [{"subject": self.name, **found}]
        self._is_over = found["head"]["status"] != "RUNNING"
        facts = (found["head"]["quarantine"], found["head"]["redriveCount"])
        is_new = found["to"] > self.event or (self._facts != facts and bool(self._facts))
        self._facts = facts
        self.event = found["to"]
        return [{"subject": self.name, **found}] if is_new else []

    def close(self) -> None:
        """See `Subject`."""
        self.hub.leave(self.watch)
        if self._kept is not None:
            self.runs.leave(self._kept)


@dataclass(slots=True)
class ListSubject:
    """Executions whose status has changed: `{subject, rows}`, or `{subject, resync: true}` if there are too many.

    Children of Map Runs are not in it, because lists do not have them.
    """

    name: str
    app: App
    hub: Hub
    watch: ListWatch
    hidden: HiddenValues
    pause_ms: int = 0
    _told_ms: int = 0
    _is_busy: bool = False

    @property
    def wanted_ms(self) -> int:
        """See `Subject`: the next instant at which all lists are read together."""
        if self.watch.seen == self.hub.changes:
            return NEVER_MS
        pause_ms = BUSY_LIST_PAUSE_MS if self._is_busy else LIST_PAUSE_MS
        return self._told_ms + pause_ms - self._told_ms % LIST_PAUSE_MS

    async def read(self) -> list[JsonObject]:
        """See `Subject`."""
        self._told_ms = self.hub.engine.clock.now_ms()
        batch = self.hub.taken(self.watch)
        self._is_busy = batch.arns is None
        if batch.arns is None:
            return [{"subject": self.name, "resync": True}]
        async with batch.lock:
            if batch.rows is None:
                arns = [arn for arn in batch.arns if parse_arn(arn).label is None]
                batch.rows = [row for arn in arns if (row := await self._row(arn)) is not None]
        return [{"subject": self.name, "rows": batch.rows}] if batch.rows else []

    async def _row(self, arn: str) -> JsonObject | None:
        engine = self.app.engine
        try:
            if parse_arn(arn).kind == EXECUTION:
                row = await engine.names.row_of(arn)
            else:
                row = await engine.names.express_row_of(arn)
        except ApiError:
            return None
        return await row_of(self.hidden, engine.listing.view(row))

    def close(self) -> None:
        """See `Subject`."""
        self.hub.leave(self.watch)


@dataclass(slots=True)
class ProjectSubject:
    """The problems of the project of `statewright dev`: `{subject, problems}`, at first and whenever they change.

    Without `dev` there are none.
    """

    name: str
    board: ProjectBoard | None
    pause_ms: int = PROJECT_PAUSE_MS
    wanted_ms: int = 0
    _seen: int = -1

    async def read(self) -> list[JsonObject]:
        """See `Subject`."""
        if self.board is None:
            self.wanted_ms = NEVER_MS
            return [{"subject": self.name, "problems": []}]
        if self.board.version == self._seen:
            return []
        self._seen = self.board.version
        return [{"subject": self.name, "problems": [one.document() for one in self.board.problems]}]

    def close(self) -> None:
        """See `Subject`."""


async def _machines(app: App) -> object:
    """The state machines of a region, and its executions in each status."""
    engine = app.engine
    found, _ = await engine.machines.list_machines(None, 1_000)
    counts = await engine.store.executions.count_by_status(None)
    return [(one.arn, one.type) for one in found], sorted(counts.items())


POLLED: Final[dict[str, Fingerprint]] = {
    "machines": _machines,
}
"""Subjects that are polled once a second while they are watched, by name."""


def _run(console: Console, name: str, _asked: Asked, wake: asyncio.Event) -> Subject:
    arn, _, event = name.removeprefix("run:").rpartition("@")
    if not (event.isascii() and event.isdigit() and len(event) < 10):
        raise ApiError("BadRequest", "A run is watched as run:ARN@EVENT, where EVENT is the last one that is known.")
    runs = console.runs_of(arn)
    hub = console.hub_of(console.app_in(parse_arn(arn).region))
    return RunSubject(f"run:{arn}", arn, int(event), runs, hub, hub.watch_run(arn, wake))


def _list(console: Console, name: str, asked: Asked, wake: asyncio.Event) -> Subject:
    app = console.app_of(asked)
    hub = console.hub_of(app)
    return ListSubject(name, app, hub, hub.watch_list(wake), console.hidden_of(app))


def _project(console: Console, name: str, _asked: Asked, _wake: asyncio.Event) -> Subject:
    return ProjectSubject(name, console.project)


Begin = Callable[[Console, str, Asked, asyncio.Event], Subject]
SUBJECTS: Final[Mapping[str, Begin]] = {"run": _run, "list": _list, "project": _project}
"""Subjects with events of their own, by the part of a subject's name before the first colon."""


def _subject(console: Console, name: str, asked: Asked, wake: asyncio.Event) -> Subject:
    """Begin to watch. Raises: ApiError."""
    fingerprint = POLLED.get(name)
    if fingerprint is not None:
        return PolledSubject(name, console.app_of(asked), console.polls, fingerprint)
    begin = SUBJECTS.get(name.partition(":")[0])
    if begin is None:
        raise ApiError("BadRequest", f"The console cannot watch {name[:60]}.")
    return begin(console, name, asked, wake)


@dataclass(slots=True)
class _Watch:
    """A subject in a stream, and when it may be read next."""

    subject: Subject
    rested_ms: int = 0

    @property
    def due_ms(self) -> int:
        return max(self.subject.wanted_ms, self.rested_ms)


class Stream:
    """Documents about several subjects: those that are due, and a beat when there were none for a while."""

    def __init__(self, clock: Clock, wake: asyncio.Event, subjects: list[Subject], server: str) -> None:
        self._clock = clock
        self._wake = wake
        self._subjects = subjects
        self._documents = self._all(server)

    def __aiter__(self) -> AsyncIterator[Json]:
        return self._documents

    async def aclose(self) -> None:
        """Watch no longer, whether or not the stream has begun."""
        await self._documents.aclose()
        subjects, self._subjects = self._subjects, []
        for subject in subjects:
            subject.close()

    async def _all(self, server: str) -> AsyncGenerator[Json]:
        """`{hello}`, then lines of the subjects, and `{beat}` after each `BEAT_MS` of silence, without end."""
        clock = self._clock
        yield {"hello": {"server": server, "nowMs": clock.now_ms()}}
        watches = [_Watch(subject) for subject in self._subjects]
        beat_ms = clock.now_ms() + BEAT_MS
        while True:
            self._wake.clear()
            for watch in watches:
                now_ms = clock.now_ms()
                if watch.due_ms > now_ms:
                    continue
                lines = await watch.subject.read()
                watch.rested_ms = now_ms + watch.subject.pause_ms
                for line in lines:
                    yield line
                    beat_ms = clock.now_ms() + BEAT_MS
            if clock.now_ms() >= beat_ms:
                yield {"beat": clock.now_ms()}
                beat_ms = clock.now_ms() + BEAT_MS
            await self._until(min(beat_ms, *(watch.due_ms for watch in watches)))

    async def _until(self, due_ms: int) -> None:
        """Return at an instant, or when a subject is woken."""
        timer = self._clock.call_at(due_ms, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()


async def live(console: Console, asked: Asked) -> Lines:
    """Watch the subjects of `watch`, which commas separate, in the region of the query or of an ARN.

    Raises: ApiError (`BadRequest` for what cannot be watched).
    """
    names = list(dict.fromkeys(needed(asked.given, "watch").split(",")))
    if len(names) > MOST_SUBJECTS:
        raise ApiError("BadRequest", f"A page watches at most {MOST_SUBJECTS} things at once.")
    wake = asyncio.Event()
    subjects: list[Subject] = []
    try:
        subjects.extend(_subject(console, name, asked, wake) for name in names)
    except BaseException:
        for subject in subjects:
            subject.close()
        raise
    return Lines(Stream(console.app.clock, wake, subjects, console.instance))


READS: Final = {"live": live}
