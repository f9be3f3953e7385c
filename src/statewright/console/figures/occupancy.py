"""Occupancy: where the running executions of a machine stand now, from the last page of each one's history.

An execution with branches or items stands where its last event was. Nothing keeps count of this: it is read on request,
of at most `MOST_RUNS` executions, newest first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from statewright.arn import MACHINE, parse_arn
from statewright.console.asked import Asked, needed
from statewright.console.context import Console
from statewright.console.drawings import drawing
from statewright.console.figures.surveys import no_history
from statewright.engine.engine import Engine
from statewright.engine.executions.history_pages import decode_page
from statewright.engine.executions.views import ExecutionView
from statewright.interpreter.history import HistoryEvent
from statewright.payload import JsonObject, parse_json

MOST_RUNS: Final = 1_000
MOST_OLDEST: Final = 5
_MOST_STEPS: Final = 20
"""Pages that are read to find the state of one execution's last event."""
_AT_ONCE: Final = 50


@dataclass(slots=True)
class Standing:
    """Executions that stand in one state, with the instants since when; `state` is None before the first state."""

    state: str | None
    runs: list[tuple[int, ExecutionView]] = field(default_factory=list)


async def occupancy(console: Console, asked: Asked) -> JsonObject:
    """`{running, looked, isCut, states: [{name, count, oldest}], drawing, nowMs}`; each of `oldest` is `{arn, name,
    startedMs, sinceMs}`, longest in the state first. `running` counts all, `looked` those that were read.
    """
    arn = needed(asked.given, "arn")
    app = console.app_of_arn(arn)
    engine = app.engine
    machine = await engine.catalogue.existing(parse_arn(arn, MACHINE).machine, shown=arn)
    if machine.type == "EXPRESS":
        raise no_history()
    rows = await engine.listing.newest(machine.id, MOST_RUNS, status="RUNNING")
    counts = await engine.store.executions.count_by_status(machine.id)
    found: dict[str | None, Standing] = {}
    for start in range(0, len(rows), _AT_ONCE):
        views = [engine.listing.view(row) for row in rows[start : start + _AT_ONCE]]
        for view, (state, since_ms) in zip(views, await _places(engine, views), strict=True):
            found.setdefault(state, Standing(state)).runs.append((since_ms, view))
    described = await engine.machines.describe(arn)
    running = counts.get("RUNNING", 0)
    return {
        "running": running,
        "looked": len(rows),
        "isCut": running > len(rows) and len(rows) == MOST_RUNS,
        "states": [_shown(one) for one in sorted(found.values(), key=lambda one: -len(one.runs))],
        "drawing": drawing(console.redactor.value(parse_json(described.revision.definition))),
        "nowMs": app.clock.now_ms(),
    }


def _shown(one: Standing) -> JsonObject:
    oldest = sorted(one.runs, key=lambda run: (run[0], run[1].id))[:MOST_OLDEST]
    return {
        "name": one.state,
        "count": len(one.runs),
        "oldest": [
            {"arn": view.execution_arn, "name": view.name, "startedMs": view.started_ms, "sinceMs": since_ms}
            for since_ms, view in oldest
        ],
    }


async def _places(engine: Engine, views: Sequence[ExecutionView]) -> list[tuple[str | None, int]]:
    """The state in which each execution stands, and since when."""
    return list(await asyncio.gather(*(_place(engine, view) for view in views)))


async def _place(engine: Engine, view: ExecutionView) -> tuple[str | None, int]:
    store = engine.store.executions
    first, reverse, wanted = 0, True, 0
    for _ in range(_MOST_STEPS):
        pages = await store.history(view.id, first=first, pages=1, reverse=reverse)
        if not pages:
            break
        events = {event.id: event for event in decode_page(pages[0])}
        event = events[wanted or max(events)]
        found = _entered(events, event)
        if not isinstance(found, int):
            return found.details["name"] if found.details else None, found.at_ms
        if not found:
            break
        first, reverse, wanted = found, False, found
    return None, view.started_ms


def _entered(events: dict[int, HistoryEvent], event: HistoryEvent) -> HistoryEvent | int:
    """The event with which the state of an event was entered, or the number of the next one to look for; 0 for none."""
    while True:
        if event.type.endswith("StateEntered"):
            return event
        if event.previous_id not in events:
            return event.previous_id
        event = events[event.previous_id]


READS: Final = {"machine/occupancy": occupancy}
