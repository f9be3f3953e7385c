"""Reads of functions: the list with the figures of a day, one function without its secrets; and its invocation, since
bytes have no place in the JSON of a posted call.
"""

from __future__ import annotations

import base64
import logging
import re
from typing import Final

from statewright.api.operations import App, Call, perform
from statewright.console.asked import Asked, document, needed, text_of
from statewright.console.context import Console
from statewright.console.figures import day
from statewright.errors import ApiError
from statewright.functions.meter import NAMESPACE
from statewright.functions.records import Function
from statewright.payload import Json, JsonObject

PAGE_ROWS: Final = 50
MOST_CHARACTERS: Final = 200_000
"""Characters of a result that the page shows."""
MOST_VERSIONS: Final = 100
_AT_ONCE: Final = 200
_SECRET: Final = re.compile(
    r"secret|passw|pwd|token|credential|private|api_?key|access_?key|_key$|^key$|dsn|auth", re.I
)
_DURATION: Final = re.compile(r"\tDuration: ([\d.]+) ms\tBilled Duration: (\d+) ms")
_KINDS: Final = ("RequestResponse", "Event", "DryRun")

log = logging.getLogger("statewright.console")


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

    Values of variables whose names speak of secrets are left out: `value` is `null`.
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
            {"name": name, "value": None if _SECRET.search(name) else value} for name, value in variables.items()
        ],
        "account": app.services.functions.invoker.concurrency.account,
        "nowMs": app.clock.now_ms(),
    }


async def invoke(console: Console, asked: Asked) -> JsonObject:
    """Invoke: `{name, qualifier, kind, payload, region}`, a JSON text, to `{status, error, payload, isWhole, log,
    version, durationMs, billedMs, requestId}`.

    Raises: ApiError, the operation's own, or `AccessDenied`.
    """
    body = document(asked)
    name, kind = text_of(body, "name"), text_of(body, "kind", "RequestResponse")
    if kind not in _KINDS:
        raise ApiError("BadRequest", f"kind is one of {', '.join(_KINDS)}.")
    if not asked.caller.may_write:
        raise ApiError("AccessDenied", "This sign-in may only read, and Invoke may change something.", status=403)
    who = asked.caller.access_key or "a user of this machine"
    log.info("Invoke of %s by %s in the console, request %s", name, who, asked.request_id)
    request: dict[str, Json] = {
        "FunctionName": name, "InvocationType": kind, "LogType": "Tail" if kind == "RequestResponse" else "None",
        "Payload": text_of(body, "payload", "{}").encode("utf-8", "surrogatepass"),
    }  # fmt: skip
    qualifier = text_of(body, "qualifier", "")
    if qualifier:
        request["Qualifier"] = qualifier
    app = console.app_in(text_of(body, "region", ""))
    call = Call("lambda", "Invoke", asked.request_id, access_key=asked.caller.access_key or None)
    answer = await perform(app, call, request)
    payload: str = (answer.get("Payload") or b"").decode("utf-8", "replace")
    tail = base64.b64decode(answer.get("LogResult", "")).decode("utf-8", "replace")
    took = _DURATION.search(tail)
    return {
        "status": answer["StatusCode"],
        "error": answer.get("FunctionError"),
        "payload": payload[:MOST_CHARACTERS],
        "isWhole": len(payload) <= MOST_CHARACTERS,
        "log": tail,
        "version": answer.get("ExecutedVersion"),
        "durationMs": float(took[1]) if took else None,
        "billedMs": int(took[2]) if took else None,
        "requestId": asked.request_id,
    }


READS: Final = {"functions": functions, "function": function}
ACTIONS: Final = {"function/invoke": invoke}
