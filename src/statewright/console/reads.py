"""The reads of the console: one function for each address below `/console/api/`, from its query to a JSON document.

Instants are epoch milliseconds. Every read refuses what it does not know in one sentence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from statewright import __version__
from statewright.api.operations import App
from statewright.arn import EXECUTION, EXPRESS, parse_arn
from statewright.console import payloads
from statewright.console.drawings import icons
from statewright.console.runs import Runs
from statewright.engine.executions.views import ExecutionView
from statewright.errors import ApiError
from statewright.payload import JsonObject
from statewright.stores.protocol import STATUSES

PAGE_ROWS: Final = 50
MOST_ROWS: Final = 200
_MEMBERS: Final = frozenset({
    "input", "output", "parameters", "cause", "error", "assignedVariables", "arguments", "evaluationFailed",
})  # fmt: skip

Given = Mapping[str, str]
"""Members of a query; of one that is given twice, the last."""


@dataclass(slots=True)
class Console:
    """The server behind the reads: its default region, and the runs of each region."""

    app: App
    _runs: dict[str, Runs] = field(default_factory=dict)

    def runs_of(self, arn: str) -> Runs:
        """The runs of the region of an execution's ARN.

        Raises: ApiError (`InvalidArn`, `ExecutionDoesNotExist`, `NoHistory` for an Express one).
        """
        parsed = parse_arn(arn, EXECUTION, EXPRESS)
        if parsed.kind == EXPRESS:
            text = "Express executions keep no history. What they log is in the log group of their state machine."
            raise ApiError("NoHistory", text)
        region = parsed.region
        app = self.app if self.app.regions is None else self.app.regions.running(region)
        if app is None:
            raise ApiError("ExecutionDoesNotExist", f"Execution Does Not Exist: '{arn}'")
        runs = self._runs.get(region)
        if runs is None:
            runs = self._runs[region] = Runs(app.engine)
        return runs


async def me(console: Console, _given: Given) -> JsonObject:
    """The server: `{version, region, account, regions, icons}`."""
    app = console.app
    return {
        "version": __version__,
        "region": app.config.region,
        "account": app.config.account,
        "regions": app.regions.names() if app.regions is not None else [app.config.region],
        "icons": icons(),
    }


async def machines(console: Console, given: Given) -> JsonObject:
    """`{machines: [{arn, name, type, createdMs, counts}], next}`, by name."""
    engine = console.app.engine
    found, token = await engine.machines.list_machines(given.get("cursor") or None, MOST_ROWS)
    rows = [
        {
            "arn": one.arn, "name": one.name, "type": one.type, "createdMs": one.created_ms,
            "counts": dict(await engine.shard.store.executions.count_by_status(one.id)),
        }
        for one in found
    ]  # fmt: skip
    return {"machines": rows, "next": token}


async def executions(console: Console, given: Given) -> JsonObject:
    """`{executions, next}` of all machines or one, newest first; `status` and `cursor` as the last page gave it."""
    engine = console.app.engine
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
    return {"executions": [_listed(view) for view in views], "next": following}


async def run(console: Console, given: Given) -> JsonObject:
    """One execution, as `Runs.view` returns it."""
    arn = needed(given, "arn")
    return await console.runs_of(arn).view(arn)


async def run_payload(console: Console, given: Given) -> JsonObject:
    """One page of a payload, as `payloads.payload` returns it."""
    arn, member = needed(given, "arn"), needed(given, "member")
    if member not in _MEMBERS:
        raise ApiError("BadRequest", f"Events have no payload {member[:40]}.")
    events = await console.runs_of(arn).events(arn)
    offset = number(given, "offset", 0)
    return payloads.payload(events, number(given, "event", 0), member, given.get("pointer", ""), offset)


async def run_events(console: Console, given: Given) -> JsonObject:
    """Events of a run, as `payloads.rows` returns them."""
    arn = needed(given, "arn")
    events = await console.runs_of(arn).events(arn)
    first, text = number(given, "from", 1), given.get("text", "")
    if not text:
        return payloads.rows(events, first, "")
    # A search goes through all payloads.
    return await asyncio.to_thread(payloads.rows, events, first, text)


Read = Callable[[Console, Given], Awaitable[JsonObject]]
READS: Final[dict[str, Read]] = {
    "me": me,
    "machines": machines,
    "executions": executions,
    "run": run,
    "run/payload": run_payload,
    "run/events": run_events,
}


def reader(app: App) -> Callable[[str, Given], Awaitable[JsonObject]]:
    """The reads of a server, by name and query. They raise ApiError, and StoreError."""
    console = Console(app)

    async def read(name: str, given: Given) -> JsonObject:
        found = READS.get(name)
        if found is None:
            raise ApiError("NotFound", f"The console has no read {name[:200]}.", status=404)
        return await found(console, given)

    return read


def needed(given: Given, name: str) -> str:
    """A member of a query. Raises: ApiError (`BadRequest`) if it is missing."""
    value = given.get(name)
    if not value:
        raise ApiError("BadRequest", f"The address lacks {name}.")
    return value


def number(given: Given, name: str, default: int) -> int:
    """A whole number of a query that is not negative. Raises: ApiError (`BadRequest`)."""
    value = given.get(name)
    if value is None or value == "":
        return default
    if not value.isascii() or not value.isdigit() or len(value) > 15:
        raise ApiError("BadRequest", f"{name} must be a whole number: {value[:40]}")
    return int(value)


def _cursor(given: Given) -> tuple[int, int] | None:
    value = given.get("cursor")
    if not value:
        return None
    parts = value.split(".")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and len(part) < 20 for part in parts):
        raise ApiError("BadRequest", "The cursor is not one that the console gave.")
    return int(parts[0]), int(parts[1])


def _listed(view: ExecutionView) -> JsonObject:
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
