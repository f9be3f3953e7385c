"""Reads of functions: the list with the figures of a day, and one function without the values of its secrets."""

from __future__ import annotations

import asyncio
from typing import Final

from statewright.api.operations import App
from statewright.console.asked import Asked, needed
from statewright.console.context import Console
from statewright.console.services.service_figures import day
from statewright.console.services.shown_data import is_secret, named
from statewright.functions.meter import NAMESPACE
from statewright.functions.records import Function
from statewright.payload import JsonObject

PAGE_ROWS: Final = 50
MOST_VERSIONS: Final = 100
_AT_ONCE: Final = 200


async def functions(console: Console, asked: Asked) -> JsonObject:
    """`{functions, next}` by name; `q` is a part of a name."""
    app = console.app_of(asked)
    wanted = asked.given.get("q", "").casefold()
    after = asked.given.get("cursor") or ""
    place: tuple[int, str] | None = (0, after) if after else None
    definitions = app.services.functions.definitions
    found: list[Function] = []
    while True:
        page, place = await definitions.page(place, _AT_ONCE)
        # Reads of the catalogue do not let the loop go on by themselves.
        await asyncio.sleep(0)
        found += [one for one in page if wanted in one.name.casefold()]
        if len(found) > PAGE_ROWS or place is None:
            break
    shown = found[:PAGE_ROWS]
    concurrency = app.services.functions.invoker.concurrency
    return {
        "functions": [await _listed(app, one) for one in shown],
        "next": shown[-1].name if len(found) > PAGE_ROWS else None,
        "account": {"limit": concurrency.account, "running": concurrency.total_running},
        "nowMs": app.clock.now_ms(),
    }


async def _listed(app: App, function: Function) -> JsonObject:
    latest = function.latest
    of = {"FunctionName": function.name}
    return {
        "name": function.name,
        "runtime": latest.runtime,
        "memory": latest.memory,
        "timeout": latest.timeout,
        "modifiedMs": latest.modified_ms,
        "reserved": function.reserved,
        "running": app.services.functions.invoker.concurrency.running.get(function.name, 0),
        "invocations": await day(app, NAMESPACE, "Invocations", of, "Sum"),
        "errors": await day(app, NAMESPACE, "Errors", of, "Sum"),
        "throttles": await day(app, NAMESPACE, "Throttles", of, "Sum"),
        "p95Ms": await day(app, NAMESPACE, "Duration", of, "p95"),
    }


async def function(console: Console, asked: Asked) -> JsonObject:
    """One function of the list, by name, with its settings. Raises: ApiError (`ResourceNotFoundException`).

    Values of variables that are secrets are left out: `value` is `null`.
    """
    from statewright.api.lambda_.views import configuration

    app = console.app_of(asked)
    view = await app.services.functions.definitions.view(needed(asked.given, "name"))
    shown = configuration(app, view)
    environment = shown.pop("Environment", None) or {}
    variables: dict[str, str] = environment.get("Variables") or {}
    versions = await app.services.functions.definitions.records.versions.all(view.function.name)
    newest = sorted(versions, key=lambda one: -one.number)[:MOST_VERSIONS]
    return {
        **await _listed(app, view.function),
        "versions": [
            {
                "number": one.number,
                "modifiedMs": one.configuration.modified_ms,
                "description": one.configuration.description,
                "runtime": one.configuration.runtime,
            }
            for one in newest
        ],
        "versionCount": len(versions),
        "configuration": shown,
        "environment": [
            {"name": name, "value": None if is_secret(name, value) else named(console.redactor, name, value)}
            for name, value in variables.items()
        ],
        "account": app.services.functions.invoker.concurrency.account,
        "nowMs": app.clock.now_ms(),
    }


READS: Final = {"functions": functions, "function": function}
