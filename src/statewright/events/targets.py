"""Targets: from a target's ARN and its parameters to the call that reaches it.

Owns the kinds of ARNs that can be targets, and the requests to their services. Calls are named as universal targets
name them (`sqs`, `sendMessage`) with the members of the services' APIs; the server injects the `CallService`.

Source: EventBridge Scheduler user guide, "Using templated targets", "Using universal targets"; EventBridge user guide,
"Targets".
"""

from __future__ import annotations

import re
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

import orjson

from statewright.errors import ApiError
from statewright.payload import Json, JsonMapping, JsonObject, dump_json

UNIVERSAL: Final = re.compile(r"arn:aws[a-z-]*:scheduler:::aws-sdk:([A-Za-z0-9-]+):([A-Za-z0-9]+)", re.ASCII)
_ARN: Final = re.compile(r"arn:aws[a-z-]*:([a-z0-9-]+):([a-z0-9-]*):([0-9]*):(.+)", re.ASCII | re.DOTALL)

DESTINATION: Final = "api-destination"
"""The service of calls that send a request to an API destination."""
ARCHIVE: Final = "archive"
"""The service of calls that keep an event in an archive."""
LOG_STREAM: Final = "events"
"""The stream of a log group that gets the lines of rules. Ours."""

READ_ONLY: Final = (
    "get", "describe", "list", "poll", "receive", "search", "scan", "query", "select", "read", "lookup", "discover",
    "validate", "batchGet", "batchDescribe", "batchRead", "transactGet", "adminGet", "adminList", "testMigration",
    "retrieve", "testConnection", "translateDocument", "isAuthorized", "invokeModel",
)  # fmt: skip
"""Beginnings of actions that no universal target may have. Source: user guide, "Unsupported actions"."""


class CallService(Protocol):
    """Carries out operations of this server's services, named as universal targets name them."""

    def knows(self, service: str, action: str) -> bool:
        """True if this server has the operation."""

    def __call__(self, service: str, action: str, request: JsonMapping, *, request_id: str) -> Awaitable[JsonMapping]:
        """The answer; `request_id` is the same in every repeat. Raises: ApiError with a status; StoreError."""


@dataclass(frozen=True, slots=True)
class TargetCall:
    """A call that reaches a target."""

    service: str
    action: str
    request: JsonObject
    first: TargetCall | None = None
    """Creates a missing resource: made if the call does not find it, before the call is repeated."""

    @property
    def arn(self) -> str:
        """The call as the ARN of a universal target."""
        return f"arn:aws:scheduler:::aws-sdk:{self.service}:{self.action}"


TRACE_HEADER: Final = "AWSTraceHeader"
"""The member of a target with a trace header for a queue; notifications of buckets add it."""
INVALID_INPUT: Final = "InvalidInput"
"""The member of a target that says why it has no input; rules add it."""


class Unsupported(Exception):
    """This server cannot reach the target; the message says why."""

    code = "UnsupportedTarget"


class NoInput(Unsupported):
    """The event has no input for the target; the message says why."""

    code = "InvalidRequestContentException"


def call_of(target: JsonMapping, payload: str, call_id: str) -> TargetCall:
    """The call for a target as a schedule or a rule has it, with the payload that it gets.

    `call_id` names the invocation, the same in every attempt; it becomes the name of an execution.

    Raises: Unsupported, NoInput.
    """
    arn: str = target["Arn"]
    if INVALID_INPUT in target:
        raise NoInput(target[INVALID_INPUT])
    if "Http" in target:
        return TargetCall("http", "post", {"Url": arn, "Headers": target["Http"], "Body": payload})
    universal = UNIVERSAL.fullmatch(arn)
    if universal is not None:
        return TargetCall(universal[1], universal[2], _parameters(payload))
    found = _ARN.fullmatch(arn)
    if found is None:
        raise Unsupported(f"{arn} is not an ARN")
    service, region, account, resource = found.groups()
    if service == "sqs":
        sent = _message(region, account, resource, target.get("SqsParameters") or {}, payload)
        if TRACE_HEADER in target:
            traced = {"DataType": "String", "StringValue": target[TRACE_HEADER]}
            sent.request["MessageSystemAttributes"] = {TRACE_HEADER: traced}
        return sent
    if service == "lambda" and resource.startswith("function:"):
        return TargetCall("lambda", "invoke", {"FunctionName": arn, "InvocationType": "Event", "Payload": payload})
    if service == "states" and resource.startswith("stateMachine:"):
        return TargetCall("sfn", "startExecution", {"StateMachineArn": arn, "Name": call_id, "Input": payload})
    if service == "sns":
        subject = {"Subject": target["Subject"]} if "Subject" in target else {}
        return TargetCall("sns", "publish", {"TopicArn": arn, "Message": payload, **subject})
    if service == "events" and resource.startswith("event-bus/"):
        given = target.get("EventBridgeParameters") or {}
        entry = {"EventBusName": arn, "DetailType": given.get("DetailType"), "Source": given.get("Source")}
        return TargetCall("eventbridge", "putEvents", {"Entries": [{**entry, "Detail": payload}]})
    if service == "events" and resource.startswith("api-destination/"):
        given = target.get("HttpParameters") or {}
        return TargetCall(DESTINATION, "send", {"Arn": arn, "Body": payload, "Http": given})
    if service == "events" and resource.startswith("archive/"):
        return TargetCall(ARCHIVE, "keep", {"Arn": arn, "Event": payload})
    if service == "ecs" and resource.startswith("cluster/"):
        return _container(arn, target.get("EcsParameters") or {}, payload)
    if service == "batch" and resource.startswith("job-queue/") and target.get("BatchParameters"):
        return _job(arn, target["BatchParameters"], payload)
    if service == "logs" and resource.startswith("log-group:"):
        return _log_line(resource.removeprefix("log-group:").removesuffix(":*"), payload)
    raise Unsupported(f"this version of Statewright does not reach targets of {service}")


def _message(region: str, account: str, name: str, given: JsonMapping, payload: str) -> TargetCall:
    request: JsonObject = {
        "MessageBody": payload,
        "QueueUrl": f"https://sqs.{region}.amazonaws.com/{account}/{name}",
    }
    if given.get("MessageGroupId"):
        request["MessageGroupId"] = given["MessageGroupId"]
    return TargetCall("sqs", "sendMessage", request)


def _container(arn: str, given: JsonMapping, payload: str) -> TargetCall:
    names = {"TaskCount": "Count", "TaskDefinitionArn": "TaskDefinition"}
    request = {names.get(name, name): value for name, value in given.items()}
    overrides = _parameters(payload) if payload.lstrip().startswith("{") else {}
    return TargetCall("ecs", "runTask", {**request, "Cluster": arn, **({"Overrides": overrides} if overrides else {})})


_FROM_PAYLOAD: Final = ("ContainerOverrides", "DependsOn", "Parameters")


def _job(queue: str, given: JsonMapping, payload: str) -> TargetCall:
    """A job of Batch; the payload may have members of SubmitJob. Source: user guide, "AWS Batch job queues"."""
    said = _parameters(payload) if payload.lstrip().startswith("{") else {}
    more: JsonObject = {name: said[name] for name in _FROM_PAYLOAD if name in said}
    return TargetCall("batch", "submitJob", {**given, **more, "JobQueue": queue})


def _log_line(group: str, payload: str) -> TargetCall:
    """A line of a log: the whole event, or the `message` of a transformer. Source: user guide, "CloudWatch Logs"."""
    said = _parameters(payload)
    at, message = said.get("time"), payload
    if set(said) == {"timestamp", "message"}:
        at, message = said["timestamp"], said["message"]
    stream = {"LogGroupName": group, "LogStreamName": LOG_STREAM}
    line = {"timestamp": _instant_ms(at), "message": message if isinstance(message, str) else dump_json(message)}
    return TargetCall(
        "cloudwatchlogs", "putLogEvents", {**stream, "LogEvents": [line]},
        TargetCall("cloudwatchlogs", "createLogStream", {**stream}),
    )  # fmt: skip


def _instant_ms(at: Json) -> int:
    if isinstance(at, (int, float)):
        return int(at)
    try:
        return round(datetime.fromisoformat(str(at)).timestamp() * 1000)
    except ValueError:
        return 0


def _parameters(payload: str) -> JsonObject:
    """The request in a universal target's input; one that is not an object makes a request that is refused."""
    try:
        found = orjson.loads(payload) if payload else {}
    except orjson.JSONDecodeError:
        return {"": payload}
    return found if isinstance(found, dict) else {"": payload}


async def carry_out(calls: CallService, call: TargetCall, request_id: str) -> None:
    """Make a call, and raise the failures that an answer reports. Raises: ApiError, StoreError."""
    if "" in call.request:
        raise ApiError("ValidationException", "The Input of the target is not a JSON object.", status=400)
    try:
        answer = await calls(call.service, call.action, call.request, request_id=request_id)
    except ApiError as problem:
        if call.first is None or problem.code != "ResourceNotFoundException":
            raise
        await _create_missing(calls, call.first, request_id)
        answer = await calls(call.service, call.action, call.request, request_id=request_id)
    for entry in answer.get("Entries") or () if call.action == "putEvents" else ():
        if entry.get("ErrorCode"):
            raise ApiError(entry["ErrorCode"], entry.get("ErrorMessage") or "", status=400)
    for failure in answer.get("failures") or () if call.action == "runTask" else ():
        raise ApiError("ResourceInitializationError", failure.get("reason") or "", status=400)


async def _create_missing(calls: CallService, call: TargetCall, request_id: str) -> None:
    try:
        await carry_out(calls, call, request_id)
    except ApiError as problem:
        # Another delivery has created it meanwhile.
        if "AlreadyExists" not in problem.code:
            raise


def is_permanent(problem: ApiError) -> bool:
    """True if a retry cannot help: the caller's error, except for throttling.

    Source: EventBridge user guide, "Retrying event delivery".
    """
    return (problem.status or 400) < 500 and not is_throttled(problem)


def is_throttled(problem: ApiError) -> bool:
    """True if a target refused a call because there were too many."""
    return problem.status == 429 or "Throttl" in problem.code or problem.code == "TooManyRequestsException"


def rule_error_code(problem: ApiError) -> str:
    """The code of a refusal in a rule's dead letter. Source: EventBridge user guide, "Using dead-letter queues"."""
    status = problem.status or 400
    code = problem.code
    if code in ("UnsupportedTarget", "ValidationException") or "Invalid" in code:
        return (
            "INVALID_JSON"
            if code in ("InvalidExecutionInput", "InvalidRequestContentException")
            else "INVALID_PARAMETER"
        )
    if status == 404 or any(word in code for word in ("NotFound", "NonExistent", "DoesNotExist")):
        return "NO_RESOURCE"
    if is_throttled(problem):
        return "THROTTLING"
    if status == 403 or "AccessDenied" in code:
        return "NO_PERMISSIONS"
    if "LimitExceeded" in code:
        return "RESOURCE_LIMIT_EXCEEDED"
    return "RESOURCE_ALREADY_EXISTS" if "AlreadyExists" in code else "ERROR_FROM_TARGET"
