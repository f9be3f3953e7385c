"""The operation Invoke."""

from __future__ import annotations

import base64
from typing import Final

from statewright.api.operations import App, Call, operation
from statewright.api.protocols.bounds import MOST_COST, apart, refuse_dense_json
from statewright.functions.functions import Kind
from statewright.functions.invoke import check_payload
from statewright.payload import Json, JsonObject

PAYLOAD_COST: Final = 3 * MOST_COST
"""A payload of six megabytes may hold many small values, most of them members whose names repeat."""


@operation("lambda", "Invoke")
async def invoke(app: App, call: Call, request: Json) -> Json:
    """Run a function and return its result, or queue an event for it."""
    kind: Kind = request.get("InvocationType") or "RequestResponse"
    payload = request.get("Payload") or b""
    refuse_dense_json(payload, PAYLOAD_COST)
    payload = await apart(len(payload), check_payload, payload, kind)
    done = await app.services.functions.invoke(
        request["FunctionName"], payload, qualifier=request.get("Qualifier"), kind=kind,
        client_context=request.get("ClientContext"), log_tail=request.get("LogType") == "Tail",
        request_id=call.request_id, trace_header=call.headers.get("x-amzn-trace-id"),
    )  # fmt: skip
    answer: JsonObject = {
        "StatusCode": done.status, "ExecutedVersion": done.executed_version, "Payload": done.payload,
    }  # fmt: skip
    if done.function_error is not None:
        answer["FunctionError"] = done.function_error
    if done.log_tail is not None:
        answer["LogResult"] = base64.b64encode(done.log_tail).decode()
    return answer
