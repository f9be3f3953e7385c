"""Heat: a machine's graph with figures of its last executions on every state and transition."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Final

from statewright.console.asked import Asked, needed, number
from statewright.console.context import Console
from statewright.console.drawings import drawing
from statewright.console.figures.surveys import MOST_RUNS, StateFigures, Survey
from statewright.cost.bill import bill
from statewright.cost.prices import PriceTable, load
from statewright.payload import Json, JsonObject, parse_json


async def heat(console: Console, asked: Asked) -> JsonObject:
    """`{runs, running, events, isCut, sinceMs, untilMs, lasted, drawing, states, edges, prices}` of the last executions
    of a machine.

    Each of `states` has `{name, type, visits, p50, p95, totalMs, failed, caught, retries, usd, isDrawn, slowest}`:
    durations in milliseconds, `usd` the cost of all its visits. `slowest` are `{arn, visit, tookMs, atMs}`.
    """
    arn = needed(asked.given, "arn")
    app = console.app_of_arn(arn)
    survey = await console.surveys_of(app).of(arn, number(asked.given, "runs", MOST_RUNS))
    machine = await app.engine.machines.describe(arn)
    definition = console.redactor.value(parse_json(machine.revision.definition))
    return {"drawing": drawing(definition), "nowMs": app.clock.now_ms(), **figures(survey, _names(definition))}


def figures(survey: Survey, drawn: Sequence[str]) -> JsonObject:
    """A survey as the page shows it; `drawn` are the states of the graph."""
    table = load(None)
    known = set(drawn)
    order = {name: place for place, name in enumerate(drawn)}
    states = sorted(survey.states.values(), key=lambda one: (order.get(one.name, len(order)), one.name))
    return {
        "runs": survey.runs,
        "running": survey.running,
        "events": survey.events,
        "isCut": survey.is_cut,
        "sinceMs": survey.since_ms,
        "untilMs": survey.until_ms,
        "lasted": {"p50": share(survey.lasted_ms, 0.5), "p95": share(survey.lasted_ms, 0.95)},
        "states": [_state(one, table, is_drawn=one.name in known) for one in states],
        "edges": [{"source": one, "target": other, "count": count} for (one, other), count in survey.taken.items()],
        "prices": {"date": table.date, "region": table.region},
    }  # fmt: skip


def share(values: Sequence[int], part: float) -> int | None:
    """The value that so many of the values do not exceed (nearest rank); None for no values."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(1, ceil(part * len(ordered))) - 1]


def _state(one: StateFigures, table: PriceTable, *, is_drawn: bool) -> JsonObject:
    return {
        "name": one.name,
        "type": one.type,
        "visits": one.visits,
        "p50": share(one.took_ms, 0.5),
        "p95": share(one.took_ms, 0.95),
        "totalMs": sum(one.took_ms),
        "failed": one.failed,
        "caught": one.caught,
        "retries": one.retries,
        "errors": [{"error": error, "count": count} for error, count in one.errors.most_common(5)],
        "usd": bill(one.usage, table).usd,
        "isDrawn": is_drawn,
        "slowest": [
            {"arn": slow.arn, "visit": slow.visit, "tookMs": slow.took_ms, "atMs": slow.began_ms}
            for slow in sorted(one.slowest, reverse=True)
        ],
    }


def _names(definition: Json) -> list[str]:
    """The names of all states of a definition, outer before inner."""
    found: list[str] = []
    pending = [definition]
    while pending:
        scope = pending.pop()
        states = scope.get("States") if isinstance(scope, dict) else None
        for name, state in (states or {}).items():
            found.append(name)
            pending += [*state.get("Branches", ()), state.get("ItemProcessor"), state.get("Iterator")]
    return found


READS: Final = {"machine/heat": heat}
