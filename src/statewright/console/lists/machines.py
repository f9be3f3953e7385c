"""The list of state machines: what each is, its executions by status, its last ones, and its day by the hour."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from statewright.api.operations import App
from statewright.console.asked import Asked, number
from statewright.console.context import Console
from statewright.console.lists.curves import curves_of
from statewright.console.lists.filters import all_machines
from statewright.engine.machines.records import Machine
from statewright.payload import Json, JsonObject

PAGE_ROWS: Final = 50
MOST_ROWS: Final = 200
LAST: Final = 14
"""Executions of a machine whose statuses are shown."""
_COUNTED_AT_ONCE: Final = 100


async def machines(console: Console, asked: Asked) -> JsonObject:
    """`{machines, next, total}` by name; `name` finds those whose name has it, in any case; `cursor` is the place of
    the first row. A machine has `{arn, name, type, createdMs, version, counts, last}`: its latest version's number or
    `null`, its executions by status, and the statuses of its newest executions, the newest first.
    """
    app = console.app_of(asked)
    found, first, limit = await _page(app, asked)
    rows = [await _row(app, one) for one in found[first : first + limit]]
    following = str(first + limit) if first + limit < len(found) else None
    return {"machines": rows, "next": following, "total": len(found)}


async def _page(app: App, asked: Asked) -> tuple[list[Machine], int, int]:
    """All machines of a query, and the place and length of its page."""
    wanted = asked.given.get("name", "").strip().lower()
    found = [one for one in await all_machines(app) if wanted in one.name.lower()]
    return found, number(asked.given, "cursor", 0), max(1, min(number(asked.given, "limit", PAGE_ROWS), MOST_ROWS))


async def _row(app: App, machine: Machine) -> JsonObject:
    engine = app.engine
    versions, _ = await engine.machines.versions.list_versions(machine.arn, None, 1)
    newest = await engine.listing.thin_rows([machine.id], limit=LAST)
    return {
        "arn": machine.arn,
        "name": machine.name,
        "type": machine.type,
        "createdMs": machine.created_ms,
        "isDeleting": machine.deleting,
        "version": int(versions[0].arn.rpartition(":")[2]) if versions else None,
        "counts": dict(await engine.store.executions.count_by_status(machine.id)),
        "last": [row.status for row in newest],
    }


async def days(console: Console, asked: Asked) -> JsonObject:
    """`{machines: {arn: {started, failed, p50Ms, p95Ms}}}` of the machines that `machines` lists for the same query."""
    app = console.app_of(asked)
    found, first, limit = await _page(app, asked)
    arns = [one.arn for one in found[first : first + limit]]
    return {"machines": await curves_of(app.services.metrics).of_machines(arns)}


async def counts(console: Console, asked: Asked) -> JsonObject:
    """`{machines, executions, regions}`: how many there are, from counters, without children of Map Runs; and the
    regions of the server, its own first.
    """
    app = console.app_of(asked)
    found = await all_machines(app)
    totals = await counted(app, found)
    return {"machines": len(found), "executions": sum(totals.values()), "regions": console.regions()}


async def counted(app: App, found: Sequence[Machine]) -> dict[str, int]:
    """The numbers of executions of machines by status, from their counters."""
    totals: dict[str, int] = {}
    for place, one in enumerate(found):
        for status, count in (await app.engine.store.executions.count_by_status(one.id)).items():
            totals[status] = totals.get(status, 0) + count
        if place % _COUNTED_AT_ONCE == _COUNTED_AT_ONCE - 1:
            # A point read of SQLite does not let the loop go on by itself.
            await asyncio.sleep(0)
    return totals


async def find(console: Console, asked: Asked) -> JsonObject:
    """`{executions, machines}` for the palette: the executions of exactly this `name`, and machines that have it in
    theirs.
    """
    app = console.app_of(asked)
    name = asked.given.get("name", "").strip()
    every = await all_machines(app)
    executions: list[Json] = []
    for place, one in enumerate(every):
        row = await app.engine.store.executions.find(one.id, name) if name else None
        if row is not None:
            view = app.engine.listing.view(row)
            executions.append(
                {"arn": view.execution_arn, "name": view.name, "machine": one.name, "status": view.status}
            )
        if place % _COUNTED_AT_ONCE == _COUNTED_AT_ONCE - 1:
            await asyncio.sleep(0)
    matching = [one for one in every if name.lower() in one.name.lower()]
    matching.sort(key=lambda one: (not one.name.lower().startswith(name.lower()), len(one.name), one.name))
    return {
        "executions": executions[:10],
        "machines": [{"arn": one.arn, "name": one.name, "type": one.type} for one in matching[:10]],
    }


READS: Final = {"machines": machines, "machines/days": days, "counts": counts, "find": find}
