"""The operation Invoke."""

from __future__ import annotations

import base64
from typing import Final

from statewright.api.operations import App, Call, operation
from statewright.api.protocols.bounds import MOST_COST, apart, is_dense_json, refuse_dense_json
from statewright.functions.functions import Kind
from statewright.functions.invoke import check_size, json_fault, no_json
from statewright.payload import Json, JsonObject

DENSE_COST: Final = MOST_COST // 4
"""A payload that may cost more is parsed in another process."""
PAYLOAD_COST: Final = 3 * MOST_COST
"""A payload of six megabytes may hold many small values, most of them members whose names repeat."""


@operation("lambda", "Invoke")
async def invoke(app: App, call: Call, request: Json) -> Json:
    """Run a function and return its result, or queue an event for it."""
    kind: Kind = request.get("InvocationType") or "RequestResponse"
    payload = request.get("Payload") or b""
    payload = await _checked(app, payload, kind)
    done = await app.services.functions.invoke(
        request["FunctionName"], payload, qualifier=request.get("Qualifier"), kind=kind,
        client_context=request.get("ClientContext"), log_tail=request.get("LogType") == "Tail",
        request_id=call.request_id, trace_header=call.trace_header,
    )  # fmt: skip
    answer: JsonObject = {
        "StatusCode": done.status, "ExecutedVersion": done.executed_version, "Payload": done.payload,
    }  # fmt: skip
    if done.function_error is not None:
        answer["FunctionError"] = done.function_error
    if done.log_tail is not None:
        answer["LogResult"] = base64.b64encode(done.log_tail).decode()
    return answer


async def _checked(app: App, payload: bytes, kind: Kind) -> bytes:
    """A payload for a handler: JSON that was checked beside the loop; an empty one means an empty object.

    Raises: ApiError.
    """
    check_size(payload, kind)
    if not payload.strip():
        return b"{}"
    if await apart(len(payload), _is_dense, payload):
        # A thread would hold the interpreter until the parser is done.
        fault = await app.engine.heavy.run_elsewhere(json_fault, payload)
    else:
        fault = json_fault(payload)
    if fault is not None:
        raise no_json(fault)
    return payload


def _is_dense(payload: bytes) -> bool:
    """True if a payload takes long to parse. Raises: ApiError if it would take too long."""
    if not is_dense_json(payload, DENSE_COST):
        return False
    refuse_dense_json(payload, PAYLOAD_COST)
    return True
