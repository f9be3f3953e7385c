"""Reads and actions of the page of simulations."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from statewright.console.asked import Answer, Asked, File, document, needed, number, text_of
from statewright.console.context import Console
from statewright.console.simulations.scenarios import check, fitted
from statewright.errors import ApiError
from statewright.payload import JsonObject, parse_json

MOST_PER_MINUTE: Final = 60_000
LONGEST_MINUTES: Final = 7 * 24 * 60


async def simulations(console: Console, _asked: Asked) -> JsonObject:
    """`{simulations: [{id, name, status, startedMs, endedMs, message, progress}], nowMs}`, newest first."""
    return {
        "simulations": await asyncio.to_thread(console.simulations.list),
        "nowMs": console.app.clock.now_ms(),
    }


async def simulation(console: Console, asked: Asked) -> JsonObject:
    """One of them, with `scenario`, `files` and the document of its `result`."""
    found = await asyncio.to_thread(console.simulations.one, needed(asked.given, "id"))
    return {**found, "nowMs": console.app.clock.now_ms()}


async def page(console: Console, asked: Asked) -> File:
    """The page of a result, as `statewright simulate --html` writes it, to be saved."""
    body = await asyncio.to_thread(console.simulations.page, needed(asked.given, "id"))
    return File("application/octet-stream", body)


async def scenario(console: Console, asked: Asked) -> JsonObject:
    """`{scenario, files, notes}`: a load on a machine, with latencies of its last executions.

    `perMinute` executions begin for `minutes`.
    """
    given = asked.given
    arn = needed(given, "arn")
    per_minute = max(1, min(number(given, "perMinute", 60), MOST_PER_MINUTE))
    minutes = max(1, min(number(given, "minutes", 10), LONGEST_MINUTES))
    app = console.app_of_arn(arn)
    survey = await console.surveys_of(app).of(arn)
    machine = await app.engine.machines.describe(arn)
    definition = console.redactor.value(parse_json(machine.revision.definition))
    made = await asyncio.to_thread(fitted, machine.machine.name, definition, survey, per_minute, minutes)
    return made.document()


async def start(console: Console, asked: Asked) -> JsonObject:
    """Start `{name, scenario, files}`; `{id}`."""
    _may_write(asked, "starts a process")
    body = document(asked)
    text, files = text_of(body, "scenario"), body.get("files") or {}
    if not isinstance(files, dict):
        raise ApiError("BadRequest", "files must be an object of texts by name.")
    await asyncio.to_thread(check, text, files)
    name = text_of(body, "name", "") or "scenario"
    return {"id": await console.simulations.start(name[:200], text, files)}


async def stop(console: Console, asked: Asked) -> JsonObject:
    """End the simulation `{id}`."""
    _may_write(asked, "ends a process")
    console.simulations.stop(text_of(document(asked), "id"))
    return {}


async def delete(console: Console, asked: Asked) -> JsonObject:
    """Delete the result of `{id}`."""
    _may_write(asked, "deletes a result")
    await asyncio.to_thread(console.simulations.delete, text_of(document(asked), "id"))
    return {}


def _may_write(asked: Asked, what: str) -> None:
    if not asked.caller.may_write:
        raise ApiError("AccessDenied", f"This sign-in may only read, and this {what}.", status=403)


READS: Final[dict[str, Callable[[Console, Asked], Awaitable[Answer]]]] = {
    "simulations": simulations, "simulations/one": simulation, "simulations/page": page,
    "simulations/scenario": scenario,
}  # fmt: skip
ACTIONS: Final = {"simulations/start": start, "simulations/stop": stop, "simulations/delete": delete}
