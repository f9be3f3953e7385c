"""Express executions recorded while a page watches: their histories, in memory and bounded.

Express executions keep no history. While a page watches a machine, the engine's history is followed and what belongs
to that machine is kept; with the last page the recorder leaves the engine, and an execution costs nothing again.
Recordings stay for `KEPT_MS` after that, since a page is loaded anew or a link is followed.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from statewright.arn import EXPRESS, parse_arn
from statewright.clock import Clock
from statewright.console.recorded import ENDS, Recorded
from statewright.console.redaction import Redactor
from statewright.console.runs import ReadRun, run_document
from statewright.engine.engine import Engine
from statewright.engine.executions.views import ExecutionView, Head
from statewright.errors import ApiError
from statewright.interpreter.history import HistoryEvent
from statewright.payload import JsonObject, parse_json

MOST_RUNS: Final = 200
MOST_CHARACTERS: Final = 64 * 1024 * 1024
"""Of payloads of all recordings."""
MOST_OF_ONE: Final = 16 * 1024 * 1024
KEPT_MS: Final = 2 * 3_600_000


@dataclass(slots=True)
class Recording:
    """One execution. `is_whole`: all that happened was recorded."""

    head: Head
    events: list[HistoryEvent] = field(default_factory=list)
    characters: int = 0
    is_whole: bool = True
    version: int = 0
    """Grows with each change of any recording, so that a page can ask for what changed."""

    @property
    def status(self) -> str:
        """RUNNING until its history ends."""
        return ENDS.get(self.events[-1].type, "RUNNING") if self.events else "RUNNING"


@dataclass(eq=False, slots=True)
class Watcher:
    """A page that watches one machine; `wake` is called after each change."""

    machine_id: int
    wake: Callable[[], None]


class ExpressRecorder:
    """Recordings of one region, those that changed last at the end."""

    def __init__(self, engine: Engine, redactor: Redactor) -> None:
        self._engine = engine
        self._redactor = redactor
        self._clock: Clock = engine.clock
        self._runs: OrderedDict[str, Recording] = OrderedDict()
        self._watchers: dict[Watcher, None] = {}
        self._watched: Counter[int] = Counter()
        self._leave: Callable[[], None] | None = None
        self._left_ms = 0
        self._version = 0
        self._characters = 0

    @property
    def is_recording(self) -> bool:
        """True while the recorder follows the engine."""
        return self._leave is not None

    def watch(self, machine_id: int, wake: Callable[[], None]) -> Watcher:
        """Record a machine until `leave`."""
        self._forget()
        watcher = Watcher(machine_id, wake)
        self._watchers[watcher] = None
        self._watched[machine_id] += 1
        if self._leave is None:
            self._leave = self._engine.history_log.follow(self._note)
        return watcher

    def leave(self, watcher: Watcher) -> None:
        """End one `watch`; the last one ends the recording."""
        del self._watchers[watcher]
        self._watched[watcher.machine_id] -= 1
        if not self._watched[watcher.machine_id]:
            del self._watched[watcher.machine_id]
            for one in self._runs.values():
                if one.head.machine_id == watcher.machine_id and one.status == "RUNNING":
                    one.is_whole = False
        if not self._watchers and self._leave is not None:
            self._leave()
            self._leave = None
            self._left_ms = self._clock.now_ms()

    def _note(self, head: Head, history: list[HistoryEvent]) -> None:
        if head.machine_id not in self._watched or f":{EXPRESS}:" not in head.execution_arn:
            return
        one = self._runs.get(head.execution_arn)
        if one is None:
            if history[0].id != 1:
                # It had begun before the page came.
                return
            one = self._runs[head.execution_arn] = Recording(head)
        if one.is_whole:
            size = sum(_length(event) for event in history)
            if one.characters + size > MOST_OF_ONE:
                one.is_whole = False
            else:
                one.events += history
                one.characters += size
                self._characters += size
        self._version += 1
        one.version = self._version
        self._runs.move_to_end(head.execution_arn)
        while len(self._runs) > MOST_RUNS or self._characters > MOST_CHARACTERS:
            _, gone = self._runs.popitem(last=False)
            self._characters -= gone.characters
        for watcher in self._watchers:
            if watcher.machine_id == head.machine_id:
                watcher.wake()

    def _forget(self) -> None:
        if self._leave is None and self._clock.now_ms() - self._left_ms > KEPT_MS:
            self._runs.clear()
            self._characters = 0

    # ------------------------------------------------------------------ what is shown

    def rows(self, machine_id: int, since: int = 0) -> tuple[list[JsonObject], int]:
        """The executions of a machine that changed after a version, newest last, and the version now."""
        self._forget()
        found = [one for one in self._runs.values() if one.head.machine_id == machine_id and one.version > since]
        return [self._row(one) for one in found if one.events], self._version

    def _row(self, one: Recording) -> JsonObject:
        first, last = one.events[0], one.events[-1]
        error = (last.details or {}).get("error") if one.status != "RUNNING" else None
        return {
            "arn": one.head.execution_arn,
            "name": parse_arn(one.head.execution_arn).rest,
            "status": one.status,
            "startedMs": first.at_ms,
            "tookMs": last.at_ms - first.at_ms,
            "events": len(one.events),
            "isWhole": one.is_whole,
            "error": None if error is None else self._redactor.text(str(error)),
        }

    async def view(self, arn: str) -> JsonObject:
        """As `Runs.view`. Raises: ApiError (`NoHistory`)."""
        async with self.reading(arn) as one:
            return await asyncio.to_thread(run_document, one, self._clock.now_ms())

    async def events(self, arn: str) -> list[HistoryEvent]:
        """The history of a recording as it may be shown. Raises: ApiError (`NoHistory`)."""
        async with self.reading(arn) as one:
            return one.recorded.shown

    @asynccontextmanager
    async def reading(self, arn: str) -> AsyncIterator[ReadRun]:
        """A recording as it is now. Raises: ApiError (`NoHistory`)."""
        self._forget()
        one = self._runs.get(arn)
        if one is None or not one.events:
            raise no_recording()
        head = one.head
        revision, program = await self._engine.machines.programs.prepared(head.machine_id, head.revision_id)
        view = _view(one)
        recorded = Recorded(view, program, self._redactor)
        await asyncio.to_thread(recorded.note, list(one.events))
        yield ReadRun(view, recorded, program, self._redactor.value(parse_json(revision.definition)))


def _length(event: HistoryEvent) -> int:
    return sum(len(value) for value in (event.details or {}).values() if isinstance(value, str))


def no_recording() -> ApiError:
    """The refusal of an Express execution that was not recorded."""
    text = (
        "Express executions keep no history, and this one was not recorded. The page Express of its state machine "
        "records executions while it is open; what a machine logs is in its log group."
    )
    return ApiError("NoHistory", text)


def _view(one: Recording) -> ExecutionView:
    head, first, last = one.head, one.events[0], one.events[-1]
    return ExecutionView(
        id=0, execution_arn=head.execution_arn, machine_arn=head.machine_arn, machine_id=head.machine_id,
        name=parse_arn(head.execution_arn).rest or "", type="EXPRESS", status=one.status, started_ms=first.at_ms,
        stopped_ms=last.at_ms if one.status != "RUNNING" else None, input=head.input, output=None, error=None,
        cause=None, revision_id=head.revision_id, role_arn="", version_arn=head.version_arn, alias_arn=head.alias_arn,
        trace_header=None, map_run_arn=None, item_count=None, redrive_count=0, redriven_ms=None, redrive_status="",
        redrive_reason=None, quarantine=None,
    )  # fmt: skip
