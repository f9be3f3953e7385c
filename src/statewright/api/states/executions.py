"""Operations on executions: start, show, list, stop, read history, redrive."""

from __future__ import annotations

from statewright.api.operations import App, Call, operation
from statewright.api.states.host_prefix import hint_at_host_prefix
from statewright.api.states.texts import worded
from statewright.arn import EXECUTION, MACHINE, MAP_RUN, StatesArn, parse_arn
from statewright.engine.executions.views import ExecutionView, Started
from statewright.engine.list_tokens import page_size
from statewright.engine.machines.settings import check_name
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject
from statewright.stores.completion import adapted

INCLUDED: Json = {"included": True}
METADATA_ONLY = "METADATA_ONLY"
TRACE_CHARACTERS = 256
"""Source: service model, `TraceHeader`; the HTTP header of the same meaning is cut to this length."""


@operation("states", "StartExecution")
async def start_execution(app: App, call: Call, request: Json) -> Json:
    """Start an execution; answers once it is durable."""
    target, name, text, trace = await _start_of(app, call, request)
    if app.throttle is not None:
        app.throttle.take_start(is_express=target.type == "EXPRESS")

    def answer(started: Started) -> Json:
        return {"executionArn": started.arn, "startDate": started.start_ms}

    completion = adapted(call.completion, answer)
    try:
        return answer(await app.engine.start_execution(target, name, text, trace, call.sent_by, completion))
    except ApiError as refused:
        raise worded(refused, text) from None


@operation("states", "StartSyncExecution")
async def start_sync_execution(app: App, call: Call, request: Json) -> Json:
    """Run an EXPRESS execution to its end, and return its result."""
    hint_at_host_prefix(call)
    target, name, text, trace = await _start_of(app, call, request)
    try:
        done = await app.engine.start_sync_execution(target, name, text, trace)
    except ApiError as refused:
        raise worded(refused, text) from None
    answer = {
        "executionArn": done.execution_arn,
        "stateMachineArn": done.machine_arn,
        "name": done.name,
        "startDate": done.started_ms,
        "stopDate": done.stopped_ms,
        "status": done.status,
        "error": done.error,
        "cause": done.cause,
        "traceHeader": done.trace_header,
        "billingDetails": {"billedDurationInMilliseconds": done.billed_ms, "billedMemoryUsedInMB": done.billed_mb},
    }
    answer = _with_data(answer, done.input, done.output, request)
    if "input" in answer:
        # Of a failed execution, too (observed).
        answer["outputDetails"] = INCLUDED
    return answer


@operation("states", "DescribeExecution")
async def describe_execution(app: App, _call: Call, request: Json) -> Json:
    """Show an execution."""
    arn = request["executionArn"]
    parse_arn(arn, EXECUTION)
    return shown(await app.engine.describe(arn), request)


@operation("states", "ListExecutions")
async def list_executions(app: App, _call: Call, request: Json) -> Json:
    """List executions of a machine, version, alias or Map Run, newest first."""
    machine, map_run = request.get("stateMachineArn"), request.get("mapRunArn")
    if (machine is None) == (map_run is None):
        raise ApiError("ValidationException", "Must provide either a state machine ARN or a map run ARN, and not both")
    status, redrive = request.get("statusFilter"), request.get("redriveFilter")
    if machine is not None:
        parse_arn(machine, MACHINE)
        if redrive is not None:
            raise ApiError("ValidationException", "redriveFilter can only be used with a map run ARN")
        if status == "PENDING_REDRIVE":
            raise ApiError("ValidationException", "statusFilter PENDING_REDRIVE can only be used with a map run ARN")
    else:
        parse_arn(map_run, MAP_RUN)
    views, token = await app.engine.list_executions(
        machine or map_run,
        status=status,
        redrive_filter=redrive,
        token=request.get("nextToken"),
        limit=page_size(request.get("maxResults")),
    )
    return {"executions": [listed(view) for view in views], "nextToken": token}


@operation("states", "StopExecution")
async def stop_execution(app: App, _call: Call, request: Json) -> Json:
    """Abort an execution."""
    arn = request["executionArn"]
    parse_arn(arn, EXECUTION)
    stopped_ms = await app.engine.stop_execution(arn, request.get("error"), request.get("cause"))
    return {"stopDate": stopped_ms}


@operation("states", "GetExecutionHistory")
async def get_execution_history(app: App, _call: Call, request: Json) -> Json:
    """Read an execution's history events, oldest or newest first."""
    arn = request["executionArn"]
    parse_arn(arn, EXECUTION)
    with_data = request.get("includeExecutionData")
    events, token = await app.engine.history(
        arn,
        token=request.get("nextToken"),
        limit=page_size(request.get("maxResults")),
        reverse=bool(request.get("reverseOrder")),
        with_data=with_data is not False,
    )
    return {"events": events, "nextToken": token}


@operation("states", "RedriveExecution")
async def redrive_execution(app: App, _call: Call, request: Json) -> Json:
    """Continue a failed, aborted or timed-out execution from the states that did not succeed."""
    arn = request["executionArn"]
    parse_arn(arn, EXECUTION)
    redriven_ms = await app.engine.redrive_execution(arn, request.get("clientToken"))
    return {"redriveDate": redriven_ms}


async def _start_of(app: App, call: Call, request: Json) -> tuple[Json, str | None, str, str | None]:
    arn = request["stateMachineArn"]
    refuse_label(parse_arn(arn, MACHINE))
    name = request.get("name")
    if name is not None:
        check_name(name)
    target = await app.engine.machines.resolve(arn)
    trace = request.get("traceHeader") or (call.trace_header or "")[:TRACE_CHARACTERS] or None
    return target, name, request.get("input", "{}"), trace


def refuse_label(arn: StatesArn) -> None:
    """Refuse the ARN of a distributed Map's child machine if only whole machines are allowed.

    Raises: ApiError (`ValidationException`).
    """
    if arn.label is not None:
        raise ApiError("ValidationException", f"API does not support labeled ARNs: {arn}")


def shown(view: ExecutionView, request: Json) -> Json:
    """An execution as DescribeExecution shows it."""
    answer = {
        "executionArn": view.execution_arn,
        "stateMachineArn": view.machine_arn,
        "name": view.name,
        "status": view.status,
        "startDate": view.started_ms,
        "stopDate": view.stopped_ms,
        "error": view.error,
        "cause": view.cause,
        "mapRunArn": view.map_run_arn,
        "stateMachineVersionArn": view.version_arn,
        "stateMachineAliasArn": view.alias_arn,
        "traceHeader": view.trace_header,
        "redriveCount": view.redrive_count,
        "redriveDate": view.redriven_ms,
        "redriveStatus": view.redrive_status,
        "redriveStatusReason": view.redrive_reason,
    }
    return _with_data(answer, view.input, view.output, request)


def listed(view: ExecutionView) -> Json:
    """An execution as ListExecutions shows it."""
    return {
        "executionArn": view.execution_arn,
        "stateMachineArn": view.machine_arn,
        "name": view.name,
        "status": view.status,
        "startDate": view.started_ms,
        "stopDate": view.stopped_ms,
        "mapRunArn": view.map_run_arn,
        "itemCount": view.item_count,
        "stateMachineVersionArn": view.version_arn,
        "stateMachineAliasArn": view.alias_arn,
        "redriveCount": view.redrive_count,
        "redriveDate": view.redriven_ms,
    }


def _with_data(answer: JsonObject, input_text: str, output_text: str | None, request: Json) -> JsonObject:
    if request.get("includedData") == METADATA_ONLY:
        return answer
    answer["input"] = input_text
    answer["inputDetails"] = INCLUDED
    if output_text is not None:
        answer["output"] = output_text
        answer["outputDetails"] = INCLUDED
    return answer
