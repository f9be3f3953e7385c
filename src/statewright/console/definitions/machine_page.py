"""Reads of one state machine: its drawing, two of its definitions side by side, and an execution as a test case.

What the service's operations show of a machine, the page asks those for.
"""

from __future__ import annotations

import asyncio
import re
from typing import Final

from statewright.arn import EXECUTION, parse_arn
from statewright.console.asked import Asked, needed
from statewright.console.context import Console
from statewright.console.definitions.workbench import WORKERS, compared
from statewright.console.drawings import drawing
from statewright.console.redaction import MASK
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject, parse_json
from statewright.simulator.case_writing import instant_text

MOST_PINNED: Final = 5_000
"""History events of an execution that becomes a case."""


async def machine_graph(console: Console, asked: Asked) -> JsonObject:
    """The drawing of a machine, a version or an alias: `{drawing, definition}`."""
    definition = await _definition(console, needed(asked.given, "arn"))
    with console.app.clock.busy():
        return {"drawing": await asyncio.to_thread(drawing, definition), "definition": definition}


async def machine_difference(console: Console, asked: Asked) -> JsonObject:
    """Two definitions, `a` before `b`, as `workbench.compared` returns them: of machines, versions, aliases, or of what
    executions ran.
    """
    one, other = needed(asked.given, "a"), needed(asked.given, "b")
    before, after = await _definition(console, one), await _definition(console, other)
    with console.app.clock.busy():
        return await asyncio.to_thread(compared, before, after, _short(one), _short(other))


async def run_case(console: Console, asked: Asked) -> JsonObject:
    """An execution as a case file: `{text, file, definitionFile, leftOut, problem, hidden}`.

    `text` is null, and `problem` says why, for an execution that no case can describe; `hidden` says that values are
    hidden in it.
    """
    arn = needed(asked.given, "arn")
    events = await console.runs_of(arn).events(arn)
    for event in events:
        if event.type == "MapRunStarted":
            raise _no_case("It has a distributed Map, whose child executions are executions of their own.")
        if event.type == "ExecutionRedriven":
            raise _no_case("It was redriven, and a case is one run from start to end.")
    if len(events) > MOST_PINNED:
        raise _no_case(f"It has {len(events):,} events; at most {MOST_PINNED:,} are written.")
    app = console.app_in(parse_arn(arn).region)
    execution = await app.engine.describe(arn)
    revision = await app.engine.machines.describe_revision(execution.machine_id, execution.revision_id)
    machine = parse_arn(execution.machine_arn).name
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", machine)[:80] or "machine"
    request: JsonObject = {
        "definition": revision.definition, "events": [event.to_api() for event in events], "name": execution.name,
        "file": f"{stem}.asl.json",
        "comment": f"Recorded from {execution.name} of {machine}, started {instant_text(execution.started_ms)}.",
    }  # fmt: skip
    case = await WORKERS.ask("pin", request)
    text: str | None = case["text"]
    return {
        "text": text, "file": f"{stem}{case['ending']}", "definitionFile": f"{stem}.asl.json",
        "leftOut": case["leftOut"], "problem": case["problem"], "hidden": text is not None and MASK in text,
    }  # fmt: skip


async def _definition(console: Console, arn: str) -> Json:
    """The definition of a machine or a version as it may be shown; of an alias, that of its first version; of an
    execution, the one that it ran.
    """
    parsed = parse_arn(arn)
    if parsed.kind == EXECUTION:
        engine = console.app_of_run(arn).engine
        execution = await engine.describe(arn)
        revision = await engine.machines.describe_revision(
            execution.machine_id, execution.revision_id, execution.map_label
        )
        return console.redactor.value(parse_json(revision.definition))
    app = console.app_in(parsed.region)
    if parsed.rest is not None and not parsed.is_version:
        alias = await app.engine.machines.aliases.get(arn)
        arn = max(alias.routes, key=lambda route: route[1])[0]
    view = await app.engine.machines.describe(arn)
    return console.redactor.value(parse_json(view.definition))


def _short(arn: str) -> str:
    parsed = parse_arn(arn)
    if parsed.kind == EXECUTION:
        return f"{parsed.name}, as {parsed.rest} ran it"
    return f"{parsed.name}, as it is now" if parsed.rest is None else f"{parsed.name}:{parsed.rest}"


def _no_case(reason: str) -> ApiError:
    return ApiError("NoCase", f"This execution cannot be written as a case. {reason}")


READS: Final = {"machine/graph": machine_graph, "machine/difference": machine_difference, "run/case": run_case}
