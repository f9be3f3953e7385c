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
from statewright.console.services.call_answers import redacted, with_start_key
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject

log = logging.getLogger("statewright.console")

READING: Final[dict[str, frozenset[str]]] = {
    "apigateway": frozenset({
        "GetResources",
    }),
    "apigatewayv2": frozenset({
        "GetIntegrations", "GetRoutes",
    }),
    "cloudformation": frozenset({
        "DescribeStackEvents", "DescribeStacks", "ListStackResources",
    }),
    "dynamodb": frozenset({
        "DescribeTable", "DescribeTimeToLive", "GetItem", "Query", "Scan",
    }),
    "events": frozenset({
        "ListArchives", "ListReplays", "ListTargetsByRule",
    }),
    "lambda": frozenset({
        "GetPolicy", "ListAliases", "ListEventSourceMappings",
    }),
    "logs": frozenset({
        "DescribeLogGroups", "DescribeLogStreams", "FilterLogEvents", "GetLogEvents",
    }),
    "monitoring": frozenset({
        "GetMetricData",
    }),
    "scheduler": frozenset({
        "GetSchedule",
    }),
    "sqs": frozenset({
        "ListMessageMoveTasks",
    }),
    "states": frozenset({
        "DescribeExecution", "DescribeStateMachine", "DescribeStateMachineAlias",
        "DescribeStateMachineForExecution", "ListStateMachineAliases", "ListStateMachineVersions",
        "ListStateMachines", "ListTagsForResource",
    }),
    "statewright": frozenset({
        "ListLimits",
    }),
}  # fmt: skip
"""Operations that change nothing, by the signing names of their services."""
WRITING: Final[dict[str, frozenset[str]]] = {
    "batch": frozenset({
        "TerminateJob",
    }),
    "dynamodb": frozenset({
        "DeleteItem", "PutItem",
    }),
    "ecs": frozenset({
        "StopTask",
    }),
    "events": frozenset({
        "DeleteRule", "DisableRule", "EnableRule", "PutEvents", "RemoveTargets",
    }),
    "lambda": frozenset({
        "DeleteFunctionConcurrency", "Invoke", "PutFunctionConcurrency", "UpdateEventSourceMapping",
    }),
    "s3": frozenset({
        "DeleteObject",
    }),
    "scheduler": frozenset({
        "CreateSchedule", "DeleteSchedule", "UpdateSchedule",
    }),
    "sns": frozenset({
        "Publish", "SetSubscriptionAttributes", "Subscribe", "Unsubscribe",
    }),
    "sqs": frozenset({
        "CancelMessageMoveTask", "CreateQueue", "DeleteQueue", "PurgeQueue", "SendMessage", "SetQueueAttributes",
        "StartMessageMoveTask",
    }),
    "states": frozenset({
        "CreateStateMachine", "CreateStateMachineAlias", "DeleteStateMachineAlias", "DeleteStateMachineVersion",
        "PublishStateMachineVersion", "RedriveExecution", "SendTaskFailure", "SendTaskHeartbeat", "SendTaskSuccess",
        "StartExecution", "StartSyncExecution", "StopExecution", "TagResource", "TestState", "UntagResource",
        "UpdateMapRun", "UpdateStateMachine", "UpdateStateMachineAlias",
    }),
    "statewright": frozenset({
        "ForkExecution", "ReleasePermit",
    }),
}  # fmt: skip
"""Operations that change something. Every call of them is logged."""
_CONDITIONS: Final = frozenset({"FilterExpression", "ScanFilter", "QueryFilter"})
"""Members of reads of items that tell something of attributes which are not shown."""
_NAMING: Final = (
    "executionArn", "stateMachineArn", "stateMachineVersionArn", "stateMachineAliasArn", "mapRunArn", "resourceArn",
    "name", "stateName", "jobId", "cluster", "task", "TableName", "EventBusName", "Rule", "Name", "GroupName",
    "FunctionName", "UUID", "Bucket", "Key", "TopicArn", "SubscriptionArn", "QueueName", "QueueUrl", "SourceArn",
)  # fmt: skip
"""Members of requests that say what an operation acts on, for the log; tokens and payloads stay out of it."""


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
        log.info("%s by %s in the console, request %s: %s", operation, asked.caller.name, asked.request_id,
                 _named(body.get("request")))  # fmt: skip
    elif operation not in READING.get(service, ()):
        raise ApiError("AccessDenied", f"The console does not call {operation[:60]} of {service[:40]}.", status=403)
    app = console.app_in(text_of(body, "region", ""))
    request = body.get("request", {})
    if service == "dynamodb" and isinstance(request, dict):
        if _CONDITIONS & request.keys():
            refuse_conditions(console, asked)
        request = with_start_key(console.places, request)
    by = Call(service, operation, asked.request_id, access_key=asked.caller.access_key or None)
    answer = shown(await perform(app, by, request))
    found: JsonObject = redacted(console.redactor, console.places, service, operation, answer)
    if operation == "DescribeExecution":
        found = await console.hide(request["executionArn"], found)
    if operation == "FilterLogEvents" and request.get("filterPattern"):
        # The pattern may have met what is hidden.
        pairs = zip(found["events"], answer["events"], strict=True)
        found = {**found, "events": [new for new, old in pairs if new == old]}
    return found


def refuse_conditions(console: Console, asked: Asked) -> None:
    """Refuse a condition on items to a caller that would learn from it what the settings hide. Raises: ApiError."""
    if (console.app.config.console.redact or console.redactor.is_hidden) and not asked.caller.may_write:
        text = "With hidden values, a sign-in that may only read reads items without a condition."
        raise ApiError("AccessDenied", text, status=403)


def _named(request: Json) -> str:
    """The resource that a request names, in one line."""
    if not isinstance(request, dict):
        return "?"
    found = {name: request[name] for name in _NAMING if isinstance(request.get(name), str)}
    if not found:
        return "by its token" if "taskToken" in request else "no resource is named"
    return ", ".join(f"{name} {value[:200]!r}" for name, value in found.items())


def shown(value: Json) -> Json:
    """A value of an answer as JSON: bytes as base64."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {name: shown(member) for name, member in value.items()}
    if isinstance(value, list):
        return [shown(member) for member in value]
    return value


ACTIONS: Final = {"call": call}
