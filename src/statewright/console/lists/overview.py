"""The first page: what runs, what failed, and what to look at.

It costs a seek and a counter for each machine and three looks at metrics, however many executions there are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from statewright.api.operations import App
from statewright.console.asked import Asked
from statewright.console.context import Console
from statewright.console.hidden_values import HiddenValues
from statewright.console.lists.curves import curves_of, deepest_queues
from statewright.console.lists.executions import rows_of, views_of
from statewright.console.lists.filters import FAILED, all_machines
from statewright.console.lists.machines import counted
from statewright.payload import Json, JsonObject

SHOWN: Final = 6
HOUR_MS: Final = 3_600_000
MOST_LOOKED_AT: Final = 100
"""Running executions whose last event is looked at."""


async def overview(console: Console, asked: Asked) -> JsonObject:
    """`{counts, machines, waiting, chart, oldest, failures, queues, throttled, quarantined, nowMs}`.

    `waiting` is `{atLeast, looked, isWhole}`: of the oldest running executions that were looked at, those that have had
    no event for an hour. `oldest` and `failures` are rows as in the list, `chart` is as `Curves.of_all` returns it.
    """
    app = console.app_of(asked)
    now_ms = app.clock.now_ms()
    machines = await all_machines(app)
    ids = [one.id for one in machines]
    listing, hidden = app.engine.listing, console.hidden_of(app)
    oldest = await listing.thin_rows(ids, statuses=["RUNNING"], limit=MOST_LOOKED_AT, oldest_first=True)
    failures = await listing.thin_rows(ids, statuses=FAILED, limit=SHOWN)
    recorder = app.services.metrics
    curves = curves_of(recorder)
    return {
        "counts": await counted(app, machines),
        "machines": len(machines),
        "waiting": await _waiting(app, [row.id for row in oldest if row.started_ms <= now_ms - HOUR_MS], len(oldest)),
        "chart": await curves.of_all(),
        "oldest": await rows_of(hidden, await views_of(app.engine, oldest[:SHOWN])),
        "failures": await rows_of(hidden, await views_of(app.engine, failures)),
        "queues": deepest_queues(recorder, SHOWN),
        "throttled": await curves.throttled(SHOWN),
        "quarantined": await _quarantined(app, hidden),
        "nowMs": now_ms,
    }


async def _waiting(app: App, old: Sequence[int], looked: int) -> JsonObject:
    until_ms = app.clock.now_ms() - HOUR_MS
    count = 0
    for execution in old:
        last_ms = await app.engine.listing.last_event_ms(execution)
        count += last_ms is not None and last_ms <= until_ms
        # A point read of SQLite does not let the loop go on by itself.
        await asyncio.sleep(0)
    return {"atLeast": count, "looked": looked, "isWhole": looked < MOST_LOOKED_AT}


async def _quarantined(app: App, hidden: HiddenValues) -> JsonObject:
    """`{count, executions}`: how many executions a bug in Statewright holds back, and some of them with the reason."""
    held = app.engine.cells.quarantined
    rows = await app.engine.listing.rows(list(held)[:SHOWN])
    listed = await rows_of(hidden, [app.engine.listing.view(row) for row in rows])
    shown: list[Json] = [{**one, "reason": held.get(row.id, "")} for one, row in zip(listed, rows, strict=True)]
    return {"count": len(held), "executions": shown}


READS: Final = {"overview": overview}
