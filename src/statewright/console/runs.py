"""Reads of executions for their pages: whole runs, and what came after an event that the page has.

Histories are kept as `Recorded`, which only grows: a delta decodes the pages that came, and nothing twice. Long ones
are decoded in a thread, because that takes a fraction of a second. Payloads are not part of a run; the page asks for
them one by one.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from statewright.arn import parse_arn
from statewright.asl.program import Program, TaskDef
from statewright.console.drawings import drawing
from statewright.console.hidden_values import page_may_hide
from statewright.console.recorded import Recorded
from statewright.console.redaction import Redactor
from statewright.engine.engine import Engine
from statewright.engine.executions.history_pages import decode_page
from statewright.engine.executions.views import ExecutionView
from statewright.interpreter.history import HistoryEvent
from statewright.payload import Json, JsonObject, parse_json
from statewright.stores.protocol import HistoryPage

KEPT_RUNS: Final = 8
KEPT_CHARACTERS: Final = 64 * 1024 * 1024
"""Of payloads in all kept histories. The one read last is kept at any length."""
FOLLOWED_CHARACTERS: Final = 4 * KEPT_CHARACTERS
"""As long as those that are followed have no more, they are kept, too; else they are decoded anew for each delta."""
MOST_BEHIND: Final = 5_000
"""Events of one delta; a page that is further behind reads the whole run, which is packed."""
_FEW_EVENTS: Final = 300
"""So many events are decoded without a thread."""


@dataclass(slots=True)
class _Kept:
    """A run that was read; `lock` is held while it grows or is turned into a document."""

    recorded: Recorded
    program: Program
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _numbers: dict[str, int] | None = None

    def state_index(self) -> dict[str, int]:
        """The number of each state by its name, as in the document of the run; empty until one was entered."""
        if self._numbers is None and self.recorded.visits:
            _, self._numbers = _states(self.program, self.recorded.visits[0].name)
        return self._numbers or {}


@dataclass(frozen=True, slots=True)
class ReadRun:
    """An execution with its history and its definition, as it may be shown."""

    view: ExecutionView
    recorded: Recorded
    program: Program
    definition: Json


@dataclass(slots=True)
class Runs:
    """Reads executions. Those read last are kept by id: a closed one is decoded once.

    `decoded` counts the history events that were decoded.
    """

    engine: Engine
    redactor: Redactor = field(default_factory=Redactor)
    decoded: int = 0
    _kept: OrderedDict[int, _Kept] = field(default_factory=OrderedDict)
    _followed: Counter[int] = field(default_factory=Counter)

    async def view(self, arn: str) -> JsonObject:
        """`{head, drawing, definition, nowMs, states, statuses, eventTypes, events, visits, attempts}`.

        Raises: ApiError (`InvalidArn`, `ExecutionDoesNotExist`).
        """
        async with self.reading(arn) as one:
            now_ms = self.engine.clock.now_ms()
            with self.engine.clock.busy():
                return await asyncio.to_thread(run_document, one, now_ms)

    @asynccontextmanager
    async def reading(self, arn: str) -> AsyncIterator[ReadRun]:
        """One execution as it is now, whose history does not grow while it is used.

        Raises: ApiError (`InvalidArn`, `ExecutionDoesNotExist`).
        """
        shown, kept, definition = await self._with_definition(arn)
        async with kept.lock:
            yield ReadRun(shown, kept.recorded, kept.program, definition)

    async def _with_definition(self, arn: str) -> tuple[ExecutionView, _Kept, Json]:
        engine = self.engine
        shown = await self._shown(arn)
        revision = await engine.machines.describe_revision(shown.machine_id, shown.revision_id, shown.map_label)
        kept = await self._grown(shown)
        return shown, kept, self.redactor.value(parse_json(revision.definition))

    async def since(self, arn: str, event: int) -> JsonObject:
        """Everything that came after an event: `{from, to, nowMs, head, eventTypes, events, visits, attempts}`, or
        `{"reset": true}` for a page that has to read the whole run.

        Raises: ApiError (`InvalidArn`, `ExecutionDoesNotExist`).
        """
        shown = await self._shown(arn)
        kept = await self._grown(shown)
        async with kept.lock:
            recorded = kept.recorded
            if not 0 <= len(recorded.events) - event <= MOST_BEHIND:
                # A page may even be ahead, of a server whose data are those of a backup.
                return {"reset": True}
            head = recorded.head(shown, parse_arn(shown.machine_arn).name)
            return {**recorded.since(event, kept.state_index()), "head": head, "nowMs": self.engine.clock.now_ms()}

    async def events(self, arn: str) -> list[HistoryEvent]:
        """The history of an execution as it may be shown. Raises: ApiError (`InvalidArn`, `ExecutionDoesNotExist`)."""
        return (await self._grown(await self._shown(arn))).recorded.shown

    async def follow(self, arn: str) -> int:
        """Keep a run until `leave`; returns its id. Raises: ApiError (`InvalidArn`, `ExecutionDoesNotExist`)."""
        execution = await self.engine.names.id_of(arn)
        self._followed[execution] += 1
        return execution

    def leave(self, execution: int) -> None:
        """Undo one `follow`."""
        self._followed[execution] -= 1
        if not self._followed[execution]:
            del self._followed[execution]

    async def _shown(self, arn: str) -> ExecutionView:
        return self.engine.listing.view(await self.engine.names.row_of(arn))

    async def _grown(self, shown: ExecutionView) -> _Kept:
        """The run with all events that the store has."""
        listing = self.engine.listing
        kept = self._kept.get(shown.id)
        if kept is None:
            _, program = await self.engine.machines.programs.prepared(shown.machine_id, shown.revision_id)
            kept = self._kept.setdefault(shown.id, _Kept(Recorded(shown, program, self.redactor), program))
        self._kept.move_to_end(shown.id)
        async with kept.lock:
            known = len(kept.recorded.events)
            pages = await listing.history_pages(shown.id, first=known + 1)
            pages = [page for page in pages if page.first + page.count - 1 > known]
            count = sum(page.count for page in pages)
            self.decoded += count
            # A value that must be hidden is hidden in all events before it, too, which may be very many.
            if count <= _FEW_EVENTS and (
                known <= _FEW_EVENTS or not any(page_may_hide(self.redactor, page) for page in pages)
            ):
                _note(kept.recorded, pages)
            else:
                with self.engine.clock.busy():
                    await asyncio.to_thread(_note, kept.recorded, pages)
        self._make_room(shown.id)
        return kept

    def _make_room(self, newest: int) -> None:
        others = [one for one in self._kept if one != newest]
        for one in others:
            if one not in self._followed and self._is_full():
                del self._kept[one]
        for one in others:
            if one in self._kept and self._characters > FOLLOWED_CHARACTERS:
                del self._kept[one]

    def _is_full(self) -> bool:
        return len(self._kept) > KEPT_RUNS or self._characters > KEPT_CHARACTERS

    @property
    def _characters(self) -> int:
        return sum(one.recorded.characters for one in self._kept.values())


def _note(recorded: Recorded, pages: Sequence[HistoryPage]) -> None:
    known = len(recorded.events)
    recorded.note(event for page in pages for event in decode_page(page) if event.id > known)


def run_document(one: ReadRun, now_ms: int) -> JsonObject:
    """The document of a run, as `Runs.view` returns it."""
    recorded = one.recorded
    first = recorded.visits[0].name if recorded.visits else one.definition["StartAt"]
    states, state_index = _states(one.program, first)
    return {
        "head": recorded.head(one.view, parse_arn(one.view.machine_arn).name),
        "drawing": drawing(one.definition),
        "definition": one.definition,
        "nowMs": now_ms,
        "states": states,
        **recorded.columns(state_index),
    }


def _states(program: Program, first: str) -> tuple[list[JsonObject], dict[str, int]]:
    """The states of what begins with one: the whole program, or the child machine of a distributed Map; and the number
    of each by its name.

    `owner` is the number of the state that holds theirs, or -1; `waits` marks tasks with a token, `apart` what runs in
    child executions.
    """
    found: list[JsonObject] = []
    numbers: dict[str, int] = {}
    top = next(scope for scope in program.scopes if first in scope.states)
    is_apart = {top.index: False}
    for scope in program.scopes:
        owner = -1
        if scope is not top:
            if scope.parent not in is_apart or scope.owner is None:
                continue
            is_apart[scope.index] = scope.distributed or is_apart[scope.parent]
            owner = numbers[scope.owner]
        for state in scope.states.values():
            numbers[state.name] = len(found)
            found.append(
                {
                    "name": state.name,
                    "type": state.type,
                    "owner": owner,
                    "waits": isinstance(state.body, TaskDef) and state.body.resource.pattern == "waitForTaskToken",
                    "apart": is_apart[scope.index],
                }
            )
    return found, numbers
