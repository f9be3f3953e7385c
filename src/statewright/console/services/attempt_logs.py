"""The log lines of one visit of a state: what the function logged in an attempt, and the machine's own log.

The lines of an invocation are found by its request id where the result names it, else by the time of the visit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from statewright.api.operations import App, Call, perform
from statewright.arn import parse_arn
from statewright.console.asked import Asked, needed, number
from statewright.console.context import Console
from statewright.console.redaction import Redactor
from statewright.console.services import shown_data
from statewright.errors import ApiError
from statewright.interpreter.history import HistoryEvent
from statewright.payload import Json, JsonObject, JsonTextError, parse_json

MOST_LINES: Final = 500
_MOST_PAGES: Final = 4
_SLACK_MS: Final = 250
"""Lines are stamped when they are written, a moment after they were said."""
_ENDS: Final = ("Succeeded", "Failed", "TimedOut", "Aborted")
_REQUEST: Final = re.compile(r"RequestId: ([0-9a-fA-F-]{36})")
_STREAM: Final = "logStreamName"


async def logs(console: Console, asked: Asked) -> JsonObject:
    """`{function, group, lines, by, none, machine}` of the visit of a state that `event` to `end` are the first and
    last events of; `end` is 0 for a visit that goes on.

    `by` is requestId or time, `none` says why there are no lines of a function. `machine` is the same of the machine's
    own log group, `null` if it has none.
    """
    arn = needed(asked.given, "arn")
    first, last = number(asked.given, "event", 1), number(asked.given, "end", 0)
    events = await console.runs_of(arn).events(arn)
    visit = events[max(0, first - 1) : last or None]
    if not visit:
        raise ApiError("NotFound", f"The history has no events from {first} to {last or 'its end'}.", status=404)
    app = console.app_in(parse_arn(arn).region)
    document = await _of_function(app, visit, open_end=not last)
    if console.redactor.is_hidden and document["function"] is None:
        document["none"] = "The settings hide payloads, and with them which function this state has called, if any."
    document["machine"] = await _of_machine(app, arn, visit, open_end=not last)
    hidden: JsonObject = await console.hide(arn, _shown(document, console.redactor))
    return hidden


def _shown(document: JsonObject, redactor: Redactor) -> JsonObject:
    """The lines as they may be shown: each of them is a payload."""
    if document["machine"] is not None:
        document["machine"] = _shown({**document["machine"], "machine": None}, redactor)
    lines = [{**one, "text": shown_data.line(redactor, one["text"])} for one in document["lines"]]
    shown: JsonObject = redactor.answer({**document, "lines": lines})
    return shown


async def _of_function(app: App, visit: Sequence[HistoryEvent], *, open_end: bool) -> JsonObject:
    scheduled = next((one for one in visit if function_of(one) is not None), None)
    if scheduled is None:
        text = "This state calls no Lambda function, so there are no lines of one."
        return {"function": None, "group": None, "lines": [], "by": None, "none": text}
    name = function_of(scheduled) or ""
    found = await app.services.functions.definitions.function(name)
    if found is None:
        text = f"There is no function {name} on this server, or it ran elsewhere."
        return {"function": name, "group": None, "lines": [], "by": None, "none": text}
    settings = found.latest.shown.get("LoggingConfig") or {}
    group = settings.get("LogGroup") or f"/aws/lambda/{name}"
    from_ms = scheduled.at_ms
    to_ms = app.clock.now_ms() if open_end else visit[-1].at_ms
    try:
        lines = await _lines(app, group, "", from_ms - _SLACK_MS, to_ms + _SLACK_MS)
    except ApiError as problem:
        return {"function": name, "group": group, "lines": [], "by": None, "none": problem.message}
    ids = {one for event in visit if (one := request_of(event)) is not None}
    chosen = of_requests(lines, ids) if ids else lines
    by = "requestId" if ids and chosen else "time"
    none = None
    if not chosen and not lines:
        none = f"The log group {group} has no lines of that time. A model or a mock in its place logs nothing."
    return {"function": name, "group": group, "lines": chosen or lines, "by": by, "none": none}


async def _of_machine(
    app: App, arn: str, visit: Sequence[HistoryEvent], *, open_end: bool
) -> JsonObject | None:  # fmt: skip
    engine = app.engine
    shown = engine.listing.view(await engine.names.row_of(arn))
    # Its program is loaded first: the settings are those of programs in use.
    await engine.machines.programs.prepared(shown.machine_id, shown.revision_id)
    settings = engine.machines.programs.log_settings(shown.machine_id, shown.revision_id)
    if settings is None:
        return None
    numbers = {str(one.id) for one in visit}
    to_ms = app.clock.now_ms() if open_end else visit[-1].at_ms
    pattern = '{ $.execution_arn = "' + arn.replace("\\", "\\\\").replace('"', '\\"') + '" }'
    try:
        lines = await _lines(app, settings.group, pattern, visit[0].at_ms - _SLACK_MS, to_ms + _SLACK_MS)
    except ApiError as problem:
        return {"group": settings.group, "level": settings.level, "lines": [], "none": problem.message}
    chosen = [line for line in lines if _id_of(line["text"]) in numbers]
    none = None if chosen else f"At the level {settings.level} nothing was logged of this visit."
    return {"group": settings.group, "level": settings.level, "lines": chosen, "none": none}


async def _lines(app: App, group: str, pattern: str, from_ms: int, to_ms: int) -> list[JsonObject]:
    found: list[JsonObject] = []
    token: str | None = None
    for _ in range(_MOST_PAGES):
        request: dict[str, Json] = {
            "logGroupName": group, "startTime": max(0, from_ms), "endTime": to_ms, "limit": MOST_LINES,
        }  # fmt: skip
        if pattern:
            request["filterPattern"] = pattern
        if token:
            request["nextToken"] = token
        answer = await perform(app, Call("logs", "FilterLogEvents", "console"), request)
        found += [
            {"atMs": one["timestamp"], "stream": one[_STREAM], "text": one["message"]} for one in answer["events"]
        ]
        token = answer.get("nextToken")
        if not token or len(found) >= MOST_LINES:
            break
    return found[:MOST_LINES]


def function_of(event: HistoryEvent) -> str | None:
    """The bare name of the function that an event schedules; `None` for any other event."""
    details = event.details or {}
    named: Json = None
    if event.type == "LambdaFunctionScheduled":
        named = details.get("resource")
    elif event.type == "TaskScheduled" and details.get("resourceType") == "lambda":
        try:
            parameters = parse_json(str(details.get("parameters")))
        except JsonTextError:
            return None
        named = parameters.get("FunctionName") if isinstance(parameters, dict) else None
    if not isinstance(named, str) or not named:
        return None
    return named.rsplit(":function:", 1)[-1].partition(":")[0]


def request_of(event: HistoryEvent) -> str | None:
    """The request id that the end of a task names, in its result's metadata or in a failure's cause."""
    if not event.type.endswith(_ENDS):
        return None
    details = event.details or {}
    text = details.get("output") if "output" in details else details.get("cause")
    if not isinstance(text, str):
        return None
    try:
        value = parse_json(text)
    except JsonTextError:
        return None
    if not isinstance(value, dict):
        return None
    metadata = value.get("SdkResponseMetadata")
    found = metadata.get("RequestId") if isinstance(metadata, dict) else value.get("requestId")
    return found if isinstance(found, str) else None


def of_requests(lines: Sequence[JsonObject], ids: set[str]) -> list[JsonObject]:
    """The lines of invocations: from the line that begins each to the one that reports it, within its stream."""
    inside: dict[str, str] = {}
    chosen: list[JsonObject] = []
    for line in lines:
        stream, text = line["stream"], line["text"]
        named = _REQUEST.search(text)
        if named is not None and text.startswith("START "):
            inside[stream] = named[1]
        if inside.get(stream) in ids or (named is not None and named[1] in ids):
            chosen.append(line)
        if text.startswith("REPORT "):
            inside.pop(stream, None)
    return chosen


def _id_of(text: str) -> str | None:
    try:
        value = parse_json(text)
    except JsonTextError:
        return None
    return value.get("id") if isinstance(value, dict) else None


READS: Final = {"run/logs": logs}
