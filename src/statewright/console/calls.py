"""Calls of the services' own operations by the page: one action, with a list of the operations that it may call.

What an operation of a service can do, the console does by that operation, with its validation and its errors; it has
reads of its own only for what no operation shows.
"""

from __future__ import annotations

import base64
import logging
from typing import Final

from statewright.api.operations import Call, perform
from statewright.console.asked import Asked, document, text_of
from statewright.console.context import Console
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject

log = logging.getLogger("statewright.console")

READING: Final[dict[str, frozenset[str]]] = {
    "states": frozenset(
        {
            "DescribeStateMachine",
            "ListStateMachineVersions",
            "ListStateMachineAliases",
            "DescribeStateMachineAlias",
            "ListTagsForResource",
            "ListStateMachines",
        }
    ),
    "lambda": frozenset({"GetPolicy", "ListAliases", "ListEventSourceMappings"}),
    "logs": frozenset({"DescribeLogGroups", "DescribeLogStreams", "FilterLogEvents", "GetLogEvents"}),
    "monitoring": frozenset({"GetMetricData"}),
    "sqs": frozenset({"ListMessageMoveTasks"}),
    "statewright": frozenset({"ListLimits"}),
}
"""Operations that change nothing, by the signing names of their services."""
WRITING: Final[dict[str, frozenset[str]]] = {
    "states": frozenset(
        {
            "StartExecution",
            "StopExecution",
            "RedriveExecution",
            "UpdateMapRun",
            "CreateStateMachine",
            "UpdateStateMachine",
            "PublishStateMachineVersion",
            "DeleteStateMachineVersion",
            "CreateStateMachineAlias",
            "UpdateStateMachineAlias",
            "DeleteStateMachineAlias",
            "TagResource",
            "UntagResource",
            "TestState",
        }
    ),
    "lambda": frozenset(
        {
            "Invoke",
            "PutFunctionConcurrency",
            "DeleteFunctionConcurrency",
            "UpdateEventSourceMapping",
        }
    ),
    "sqs": frozenset(
        {
            "CreateQueue",
            "DeleteQueue",
            "PurgeQueue",
            "SendMessage",
            "SetQueueAttributes",
            "StartMessageMoveTask",
            "CancelMessageMoveTask",
        }
    ),
    "statewright": frozenset({"ReleasePermit"}),
}
"""Operations that change something. Every call of them is logged."""


async def call(console: Console, asked: Asked) -> JsonObject:
    """Call an operation: `{service, operation, request, region}` to its answer, with instants in epoch milliseconds and
    bytes as base64.

    Raises: ApiError, the operation's own or `AccessDenied`.
    """
    body = document(asked)
    service, operation = text_of(body, "service"), text_of(body, "operation")
    if operation in WRITING.get(service, ()):
        if not asked.caller.may_write:
            text = f"This sign-in may only read, and {operation} changes something."
            raise ApiError("AccessDenied", text, status=403)
        who = asked.caller.access_key or "a user of this machine"
        log.info("%s by %s in the console, request %s", operation, who, asked.request_id)
    elif operation not in READING.get(service, ()):
        raise ApiError("AccessDenied", f"The console does not call {operation[:60]} of {service[:40]}.", status=403)
    app = console.app_in(text_of(body, "region", ""))
    request = Call(service, operation, asked.request_id, access_key=asked.caller.access_key or None)
    answer = await perform(app, request, body.get("request", {}))
    shown: JsonObject = console.redactor.answer(_shown(answer))
    return shown


def _shown(value: Json) -> Json:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {name: _shown(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_shown(member) for member in value]
    return value


ACTIONS: Final = {"call": call}
