"""Conversions of service calls, however they are sent: parameters to request, answer to result, refusal to failure.

Both dialects, optimised and `aws-sdk:*`. Single values are converted in `members.py`, names in `service_names.py`.
Nothing here sends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from statewright.arn import parse_arn
from statewright.engine.dispatch import Failed, ScheduledCall, Succeeded, TaskResult
from statewright.errors import ApiError, StoreError
from statewright.integrations.api_values import ApiMapping, ApiObject
from statewright.integrations.members import ForeignMembers, from_api, sdk_members, to_api
from statewright.integrations.patterns import NOT_CONFIGURED, answered, bad_parameters, not_here_yet, refused_how
from statewright.integrations.service_names import Api, UnknownApi, api_of, optimised_api
from statewright.payload import Json, JsonObject, JsonTextError, dump_json, json_or_text, parse_json

NOT_IMPLEMENTED: Final = 501
"""The status of errors that no repetition cures, unlike other failures of a service."""
_BUSY: Final = frozenset(
    {"Throttling", "ThrottlingException", "ThrottledException", "RequestLimitExceeded", "TooManyRequestsException"}
)
"""Codes of an overloaded service. Source: botocore's table of retries."""


_WITHOUT_METADATA: Final = frozenset({("events", "PutEvents")})
"""Operations of optimised integrations whose results say nothing about the call (observed)."""

_SUMMED: Final = frozenset({"PutObject", "UploadPart"})
"""Operations of S3 that the SDK sends a checksum with."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request in the names of the API's model. `is_bare` calls a function by its ARN: its payload is the result."""

    api: Api
    request: ApiObject
    is_bare: bool = False


def prepare(task: ScheduledCall) -> Prepared | TaskResult:
    """The request of a task, or the task's failure if it has none. Loads models: slow at first use."""
    if task.resource.kind == "lambda":
        # The input is the payload, the payload the result.
        payload = dump_json(task.parameters).encode()
        request = {"FunctionName": task.resource.arn, "Payload": payload}
        return Prepared(optimised_api("lambda", "invoke"), request, is_bare=True)
    try:
        api = api_of(task.resource)
    except UnknownApi as unknown:
        if task.resource.resource_type.startswith("aws-sdk:"):
            return bad_parameters(task, str(unknown))
        return not_here_yet(task)
    if not isinstance(task.parameters, dict):
        return bad_parameters(task, "the parameters must be an object")
    try:
        request = to_api(api.operation.input_shape, task.parameters, api.dialect)
    except ForeignMembers as foreign:
        return bad_parameters(
            task, *(f'The field "{name}" is not supported by Step Functions' for name in foreign.names)
        )
    if api.dialect == "optimised":
        unreachable = _unreachable(task, request)
        if unreachable is not None:
            return unreachable
        _complete(task, request)
    elif api.service == "s3" and api.operation.name in _SUMMED:
        # The defaults of the SDK: a checksum, and a type for bodies, all texts (observed).
        request.setdefault("ChecksumAlgorithm", "CRC32")
        if api.operation.name == "PutObject":
            request.setdefault("ContentType", "text/plain; charset=UTF-8")
    return Prepared(api, request)


def finished(task: ScheduledCall, prepared: Prepared, answer: ApiMapping) -> TaskResult:
    """The task's result from an answer. `ResponseMetadata` in it is botocore's. Bodies are read: may block."""
    api = prepared.api
    result = from_api(api.operation.output_shape, answer, api.dialect)
    if prepared.is_bare:
        payload = str(result.get("Payload", ""))
        if "FunctionError" in result:
            return function_failed(payload)
        return Succeeded(json_or_text(payload) if payload else None)
    finish = _FINISH.get((api.service, api.operation.name)) if api.dialect == "optimised" else None
    if finish is not None:
        failed = finish(result)
        if failed is not None:
            return failed
    if api.dialect == "optimised" and (api.service, api.operation.name) not in _WITHOUT_METADATA:
        result.update(sdk_members(answer.get("ResponseMetadata", {})))
        result = dict(sorted(result.items()))
    return answered(task, result)


class Refusal(Exception):
    """A call without an answer, as the task's error and cause."""

    def __init__(self, error: str, cause: str, *, may_pass: bool = False) -> None:
        super().__init__(error, cause)
        self.error = error
        self.cause = cause
        self.may_pass = may_pass
        """True if a repeat may succeed: there was no answer, or the service is overloaded."""


def refused(task: ScheduledCall, refusal: Refusal) -> Failed:
    """The failure of a task whose request was refused."""
    how = "failed" if refusal.error == NOT_CONFIGURED or task.resource.kind == "lambda" else refused_how(task)
    return Failed(refusal.error, refusal.cause, how)


def refusal_of(api: Api, response: ApiMapping) -> Refusal:
    """The refusal in an error response of botocore."""
    error, metadata = response.get("Error", {}), response.get("ResponseMetadata", {})
    code = str(error.get("Code", "Unknown"))
    cause = api.cause(
        code,
        str(error.get("Message", "")),
        metadata.get("HTTPStatusCode", 400),
        metadata.get("RequestId", ""),
        metadata.get("HostId"),
    )
    status = metadata.get("HTTPStatusCode", 400)
    may_pass = (status >= 500 and status != NOT_IMPLEMENTED) or status == 429 or code in _BUSY
    return Refusal(api.error_name(code), cause, may_pass=may_pass)


# ------------------------------------------------------------------ peculiarities of single integrations


def refusal_by(api: Api, problem: ApiError | StoreError, request_id: str, extended: str | None = None) -> Refusal:
    """The refusal of one of Statewright's own services, or of a row by its store; `extended` is a second id, of S3."""
    if isinstance(problem, StoreError):
        cause = api.cause("ServiceUnavailable", f"The store refused the call: {problem}", 503, request_id)
        return Refusal(api.error_name("ServiceUnavailable"), cause)
    cause = api.cause(problem.code, problem.message, problem.status or 400, request_id, extended)
    return Refusal(api.error_name(problem.code), cause)


def _unreachable(task: ScheduledCall, request: ApiMapping) -> Failed | None:
    """The failure of a message to a text that is a host's name alone: SQS is called at its QueueUrl (observed)."""
    url = request.get("QueueUrl")
    if task.resource.resource_type != "sqs" or not isinstance(url, str) or not url or "/" in url:
        return None
    cause = f"Unable to execute HTTP request: {url}: Name or service not known"
    return Failed("SQS.SdkClientException", cause, refused_how(task))


def _complete(task: ScheduledCall, request: ApiObject) -> None:
    """Add to a request what optimised integrations add to the parameters."""
    name = (task.resource.resource_type, task.resource.action.partition(".")[0])
    if name == ("lambda", "invoke"):
        request.pop("Payload", None)
        if task.parameters.get("Payload") is not None:
            request["Payload"] = _payload(task.parameters["Payload"])
    elif name == ("events", "putEvents"):
        machine = parse_arn(task.execution_arn).machine
        for entry in request.get("Entries", ()):
            if isinstance(entry, dict):
                entry["Resources"] = [*entry.get("Resources", ()), task.execution_arn, machine]
    elif name == ("ecs", "runTask"):
        request.setdefault("startedBy", "AWS Step Functions")


def _payload(value: Json) -> bytes:
    """Json JSON value is a payload; a text that is JSON itself is sent as it is (observed).

    Without a payload nothing is sent (observed: the function sees {}).
    """
    if isinstance(value, str):
        try:
            parse_json(value)
        except JsonTextError:
            return dump_json(value).encode()
        return value.encode("utf-8", "surrogatepass")
    return dump_json(value).encode()


def _finish_function(result: JsonObject) -> Failed | None:
    payload = result.get("Payload")
    if "FunctionError" in result:
        return function_failed(str(payload))
    if isinstance(payload, str):
        result["Payload"] = json_or_text(payload)
    return None


def function_failed(payload: str) -> Failed:
    """The failure of a task whose function answered with an error document."""
    value = json_or_text(payload)
    kind = value.get("errorType") if isinstance(value, dict) else None
    return Failed(kind if isinstance(kind, str) and kind else "Lambda.Unknown", payload)


def _finish_events(result: JsonObject) -> Failed | None:
    if result.get("FailedEntryCount"):
        return Failed("EventBridge.FailedEntry", dump_json(result))
    return None


_FINISH: Final[dict[tuple[str, str], Callable[[JsonObject], Failed | None]]] = {
    ("lambda", "Invoke"): _finish_function,
    ("events", "PutEvents"): _finish_events,
}
