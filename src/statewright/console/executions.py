"""The list of executions, newest first, of all machines or one."""

from __future__ import annotations

from typing import Final

from statewright.arn import parse_arn
from statewright.console.asked import Asked, Given, number
from statewright.console.context import Console
from statewright.engine.executions.views import ExecutionView
from statewright.errors import ApiError
from statewright.payload import JsonObject
from statewright.stores.protocol import STATUSES

PAGE_ROWS: Final = 50
MOST_ROWS: Final = 200


async def executions(console: Console, asked: Asked) -> JsonObject:
    """`{executions, next}` of all machines or one, newest first; `status` and `cursor` as the last page gave it."""
    given = asked.given
    engine = console.app_of(asked).engine
    status = given.get("status") or None
    if status is not None and status not in STATUSES:
        raise ApiError("BadRequest", f"There is no status {status[:40]}. Statuses: {', '.join(STATUSES)}.")
    if given.get("machine"):
        machine = await engine.catalogue.existing(parse_arn(given["machine"]).machine, shown=given["machine"])
        numbers = [machine.id]
    else:
        numbers = []
        token: str | None = None
        while True:
            found, token = await engine.machines.list_machines(token, 1000)
            numbers += [one.id for one in found]
            if token is None:
                break
    limit = max(1, min(number(given, "limit", PAGE_ROWS), MOST_ROWS))
    rows = await engine.listing.newest(numbers, status=status, after=_cursor(given)).take(limit + 1)
    views = [engine.listing.view(row) for row in rows[:limit]]
    last = rows[limit - 1] if len(rows) > limit else None
    following = None if last is None else f"{last.started_ms}.{last.id}"
    return {"executions": [listed(view) for view in views], "next": following}


def listed(view: ExecutionView) -> JsonObject:
    """An execution as a row of a list."""
    return {
        "arn": view.execution_arn,
        "name": view.name,
        "type": view.type,
        "machine": parse_arn(view.machine_arn).name,
        "status": view.status,
        "startedMs": view.started_ms,
        "stoppedMs": view.stopped_ms,
        "error": view.error,
        "redriveCount": view.redrive_count,
    }


def _cursor(given: Given) -> tuple[int, int] | None:
    value = given.get("cursor")
    if not value:
        return None
    parts = value.split(".")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and len(part) < 20 for part in parts):
        raise ApiError("BadRequest", "The cursor is not one that the console gave.")
    return int(parts[0]), int(parts[1])


READS: Final = {"executions": executions}
