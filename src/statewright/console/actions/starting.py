"""Reads for forms that begin executions: recent inputs of a machine, and the moment at which a fork begins, with the
tasks that it repeats.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from statewright.arn import EXECUTION, MACHINE, parse_arn
from statewright.console.asked import Asked, needed, number
from statewright.console.context import Console
from statewright.engine.executions.forks import Wish
from statewright.interpreter.history import HistoryEvent
from statewright.payload import Json, JsonObject, JsonTextError, dump_json, parse_json

MOST_INPUTS: Final = 10
READ_ROWS: Final = 200
"""Executions that are looked at for different inputs."""
_SLICE: Final = 50
LONGEST_INPUT: Final = 64 * 1024
"""In characters; longer inputs are offered by name alone."""
MOST_REPEATS: Final = 100
_TARGETS: Final = (
    "FunctionName", "QueueUrl", "TopicArn", "StateMachineArn", "TableName", "Bucket", "JobName", "TaskDefinition",
    "EventBusName", "SecretId", "ApiEndpoint", "Name",
)  # fmt: skip
"""Arguments of tasks that name what they act on."""
_READING: Final = re.compile(r"(batchGet|describe|get|head|list|query|scan|select)[A-Z]|query$|scan$|getItem$")
_SCHEDULED: Final = frozenset({"TaskScheduled", "LambdaFunctionScheduled", "ActivityScheduled"})


async def machine_inputs(console: Console, asked: Asked) -> JsonObject:
    """`{inputs: [{text, length, name, arn, status, startedMs}]}`: the last different inputs of a machine, newest first.

    The text is null where it is long; its execution has it.
    """
    arn = needed(asked.given, "arn")
    parsed = parse_arn(arn, MACHINE)
    engine = console.app_in(parsed.region).engine
    machine = await engine.catalogue.existing(parsed.machine, shown=arn)
    after = None
    found: dict[str, JsonObject] = {}
    for _ in range(READ_ROWS // _SLICE):
        taken = await engine.listing.newest(machine.id, _SLICE, after=after)
        for row in taken:
            view = engine.listing.view(row)
            if view.input not in found and len(found) < MOST_INPUTS:
                is_short = len(view.input) <= LONGEST_INPUT
                found[view.input] = {
                    "text": await _shown(console, view.execution_arn, view.input) if is_short else None,
                    "length": len(view.input), "name": view.name, "arn": view.execution_arn, "status": view.status,
                    "startedMs": view.started_ms,
                }  # fmt: skip
        if len(taken) < _SLICE or len(found) == MOST_INPUTS:
            break
        after = taken[-1].started_ms, taken[-1].id
    return {"inputs": list(found.values())}


async def run_input(console: Console, asked: Asked) -> JsonObject:
    """`{input, machineArn, type}` of an execution, whole, for one like it."""
    arn = needed(asked.given, "arn")
    engine = console.app_of_run(arn).engine
    view = engine.listing.view(await engine.names.row_of(arn))
    return {"input": await _shown(console, arn, view.input), "machineArn": view.machine_arn, "type": view.type}


async def _shown(console: Console, arn: str, payload: str) -> str:
    """A payload of an execution as it may be shown; those of Express executions have no history."""
    shown = console.redactor.text(payload)
    if parse_arn(arn).kind == EXECUTION:
        shown = str(await console.hide(arn, shown))
    return shown


async def fork_moment(console: Console, asked: Asked) -> JsonObject:
    """`{input, variables, repeats, more}`: what a fork at a visit of a state begins with, as JSON texts, and the tasks
    that ran from there on: `[{resource, target, count, states, reads}]`. `more` counts the kinds of tasks left out.

    Raises: ApiError (`ExecutionDoesNotExist`, `StateNotReached`, `ValidationException`).
    """
    given = asked.given
    arn, state = needed(given, "arn"), needed(given, "state")
    visit = number(given, "visit", 0) or None
    engine = console.app_of_run(arn).engine
    moment = await engine.forks.moment(Wish(arn, state, visit=visit))
    events = await console.runs_of(arn).events(arn)
    repeats = repeated(_from(events, state, visit))
    return {
        "input": await _shown(console, arn, moment.input.text),
        "variables": await _shown(console, arn, dump_json(moment.variables)),
        "repeats": repeats[:MOST_REPEATS],
        "more": max(0, len(repeats) - MOST_REPEATS),
    }


def _from(events: Iterable[HistoryEvent], state: str, visit: int | None) -> list[HistoryEvent]:
    """The events from a visit of a state of the machine itself on; from the last visit for None."""
    kept: list[HistoryEvent] = []
    begun = 0
    for event in events:
        is_entry = event.type.endswith("StateEntered") and (event.details or {}).get("name") == state
        if is_entry and (visit is None or begun < visit):
            begun += 1
            kept = []
        if begun:
            kept.append(event)
    return kept


def repeated(events: Iterable[HistoryEvent]) -> list[JsonObject]:
    """The tasks of some events by what they call and on what: those that change something first, most frequent first.

    Attempts count, since each may have had its effect. `reads` marks calls that only read, by the name of the action.
    """
    found: dict[tuple[str, str], JsonObject] = {}
    names: dict[int, str] = {}
    for event in events:
        details = event.details or {}
        if event.type.endswith("StateEntered"):
            names[event.id] = str(details.get("name"))
        elif event.previous_id in names:
            names[event.id] = names[event.previous_id]
        for resource, target, reads in _effects(event, details, names.get(event.id, "")):
            one = found.setdefault(
                (resource, target), {"resource": resource, "target": target, "count": 0, "states": [], "reads": reads}
            )
            one["count"] += 1
            name = names.get(event.id)
            if name is not None and name not in one["states"]:
                one["states"].append(name)
    return sorted(found.values(), key=lambda one: (one["reads"], -one["count"], one["resource"], one["target"]))


def _effects(event: HistoryEvent, details: JsonObject, state: str) -> Iterator[tuple[str, str, bool]]:
    if event.type == "MapRunStarted":
        yield "Map Run", state or str(details.get("mapRunArn", "")), False
    if event.type not in _SCHEDULED:
        return
    resource = str(details.get("resource", ""))
    if event.type == "LambdaFunctionScheduled":
        yield "lambda:invoke", resource.rpartition(":function:")[2], False
    elif event.type == "ActivityScheduled":
        yield "activity", resource.rpartition(":activity:")[2], False
    else:
        action = resource.partition(".")[0]
        reads = _READING.match(action) is not None
        yield f"{details.get('resourceType')}:{resource}", _target(details.get("parameters")), reads


def _target(parameters: Json) -> str:
    try:
        given = parse_json(parameters) if isinstance(parameters, str) else parameters
    except JsonTextError:
        return ""
    if not isinstance(given, dict):
        return ""
    for name in _TARGETS:
        value = given.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


READS: Final = {"machine/inputs": machine_inputs, "run/input": run_input, "fork": fork_moment}
