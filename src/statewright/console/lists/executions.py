"""The list of executions, newest first, of all machines or one, and how many started when.

Children of Map Runs are never in it: they belong to their Map Run, not to a machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from statewright.arn import parse_arn
from statewright.console.asked import Asked, number
from statewright.console.context import Console
from statewright.console.hidden_values import HiddenValues
from statewright.console.lists.filters import FAILED, Filters, cursor_of, filters_of, place_of
from statewright.engine.engine import Engine
from statewright.engine.executions.views import ExecutionView
from statewright.errors import ApiError
from statewright.payload import JsonObject
from statewright.stores.protocol import Thin

PAGE_ROWS: Final = 50
MOST_ROWS: Final = 200
MOST_COUNTED: Final = 5_000
"""Rows that a histogram is made of."""
BUCKETS: Final = 96


async def executions(console: Console, asked: Asked) -> JsonObject:
    """`{executions, next, nowMs}` by the filters that need no look at rows; `cursor` as the last page gave it."""
    app = console.app_of(asked)
    filters = await filters_of(app, asked.given)
    if filters.needs_a_look:
        raise ApiError("BadRequest", "took, waiting and q are filters of executions/search.")
    limit = max(1, min(number(asked.given, "limit", PAGE_ROWS), MOST_ROWS))
    now_ms = app.clock.now_ms()
    after = filters.begin(place_of(asked.given), now_ms)
    thin = await newest(app.engine, filters, after, limit + 1)
    rows = await rows_of(console.hidden_of(app), await views_of(app.engine, thin[:limit]))
    last = thin[limit - 1] if len(thin) > limit else None
    following = None if last is None else cursor_of((last.started_ms, last.id))
    return {"executions": rows, "next": following, "nowMs": now_ms}


async def histogram(console: Console, asked: Asked) -> JsonObject:
    """How many executions started when, by outcome: `{fromMs, toMs, counted, isWhole, ok, failed, running}`.

    It counts the newest `MOST_COUNTED` rows of the list. If there are more, `isWhole` is false, and the range begins
    at the oldest row that was counted. The last three are lists of one number for each of equal steps of the range.
    """
    app = console.app_of(asked)
    filters = await filters_of(app, asked.given)
    now_ms = app.clock.now_ms()
    thin = await newest(app.engine, filters, filters.begin(None, now_ms), MOST_COUNTED)
    is_whole = len(thin) < MOST_COUNTED
    begin = filters.since_ms if filters.since_ms and is_whole else thin[-1].started_ms if thin else now_ms
    end = min(filters.until_ms if filters.until_ms is not None else now_ms, now_ms)
    return {"counted": len(thin), "isWhole": is_whole, **counted(thin, begin, max(begin + 1, end))}


def counted(rows: Sequence[Thin], begin_ms: int, end_ms: int) -> JsonObject:
    """Numbers of rows by the step of a range that they started in, and by outcome."""
    ok, failed, running = ([0] * BUCKETS for _ in range(3))
    width = max(1, end_ms - begin_ms)
    for row in rows:
        step = min(BUCKETS - 1, max(0, (row.started_ms - begin_ms) * BUCKETS // width))
        of = ok if row.status == "SUCCEEDED" else failed if row.status in FAILED else running
        of[step] += 1
    return {"fromMs": begin_ms, "toMs": end_ms, "ok": ok, "failed": failed, "running": running}


async def newest(engine: Engine, filters: Filters, after: tuple[int, int] | None, limit: int) -> list[Thin]:
    """The newest rows within the bounds of the indexes, from a place on."""
    return await engine.listing.thin_rows(
        filters.machines, statuses=filters.statuses, after=after, since_ms=filters.since_ms, limit=limit
    )


async def views_of(engine: Engine, rows: Sequence[Thin]) -> list[ExecutionView]:
    """The views of rows, without those that have been deleted since."""
    return [engine.listing.view(row) for row in await engine.listing.rows([row.id for row in rows])]


async def rows_of(hidden: HiddenValues, views: Sequence[ExecutionView]) -> list[JsonObject]:
    """Executions as rows of a list."""
    return [await row_of(hidden, view) for view in views]


async def row_of(hidden: HiddenValues, view: ExecutionView) -> JsonObject:
    """An execution as a row of a list."""
    *_, error, cause = hidden.redactor.texts((view.input, view.output, view.error, view.cause))
    if error or cause:
        values = await hidden.of(view.id, view.stopped_ms)
        if values is not None:
            error, cause = (None if text is None else values.text(text) for text in (error, cause))
    return {
        "arn": view.execution_arn,
        "name": view.name,
        "type": view.type,
        "machine": parse_arn(view.machine_arn).name,
        "machineArn": view.machine_arn,
        "status": view.status,
        "startedMs": view.started_ms,
        "stoppedMs": view.stopped_ms,
        "error": error,
        "cause": cause[:200] if cause else None,
        "redriveCount": view.redrive_count,
    }


READS: Final = {"executions": executions, "executions/histogram": histogram}
