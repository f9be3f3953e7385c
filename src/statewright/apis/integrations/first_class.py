"""First-class integrations of HTTP APIs: a request becomes a call of a service, without a function between.

Owns the subtypes, their parameters, and the call that a subtype means.

Source: API Gateway developer guide, "Integration subtype reference".
"""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Final, Protocol

from statewright.apis.calls import CallContext, Integration, IntegrationFailed, Request, Response
from statewright.apis.errors import bad_request
from statewright.apis.integrations.in_time import in_time
from statewright.apis.integrations.mapped import mapped
from statewright.background import Background
from statewright.clock import Clock
from statewright.errors import ApiError
from statewright.payload import Json, JsonMapping, JsonObject, JsonTextError, dump_json, parse_json


class CallOperation(Protocol):
    """Calls operations of this server's services, by SDK name."""

    def __call__(
        self, service: str, action: str, request: JsonMapping, *, request_id: str
    ) -> Coroutine[None, None, JsonObject]:
        """The answer as a client would read it from the wire. Raises: ApiError with a status; StoreError."""


@dataclass(frozen=True, slots=True)
class _Subtype:
    service: str
    action: str
    required: tuple[str, ...]
    optional: tuple[str, ...]
    structured: tuple[str, ...] = ()
    """Parameters whose value is JSON text."""
    waits: bool = False
    """True if its answer may take long, so that the integration's time limit counts."""


_STATES: Final = "sfn"
_SUBTYPES: Final = {
    "EventBridge-PutEvents": _Subtype(
        "eventbridge", "putEvents", ("Detail", "DetailType", "Source"),
        ("Time", "EventBusName", "Resources", "TraceHeader"), ("Resources",),
    ),
    "SQS-SendMessage": _Subtype(
        "sqs", "sendMessage", ("QueueUrl", "MessageBody"),
        ("DelaySeconds", "MessageAttributes", "MessageDeduplicationId", "MessageGroupId", "MessageSystemAttributes"),
        ("DelaySeconds", "MessageAttributes", "MessageSystemAttributes"),
    ),
    "SQS-ReceiveMessage": _Subtype(
        "sqs", "receiveMessage", ("QueueUrl",),
        ("AttributeNames", "MaxNumberOfMessages", "MessageAttributeNames", "ReceiveRequestAttemptId",
         "VisibilityTimeout", "WaitTimeSeconds"),
        ("AttributeNames", "MaxNumberOfMessages", "MessageAttributeNames", "VisibilityTimeout", "WaitTimeSeconds"),
        waits=True,
    ),
    "SQS-DeleteMessage": _Subtype("sqs", "deleteMessage", ("ReceiptHandle", "QueueUrl"), ()),
    "SQS-PurgeQueue": _Subtype("sqs", "purgeQueue", ("QueueUrl",), ()),
    "StepFunctions-StartExecution": _Subtype(_STATES, "startExecution", ("StateMachineArn",), ("Name", "Input")),
    "StepFunctions-StartSyncExecution": _Subtype(
        _STATES, "startSyncExecution", ("StateMachineArn",), ("Name", "Input", "TraceHeader"), waits=True
    ),
    "StepFunctions-StopExecution": _Subtype(_STATES, "stopExecution", ("ExecutionArn",), ("Cause", "Error")),
}  # fmt: skip


def check_subtype(subtype: str, parameters: JsonMapping) -> None:
    """Check the parameters of a subtype. Raises: ApiError (`BadRequestException`)."""
    known = _SUBTYPES.get(subtype)
    if known is None:
        raise bad_request(
            f"The integration subtype {subtype[:100]} is not supported here: known are {', '.join(_SUBTYPES)}."
        )
    missing = [name for name in known.required if name not in parameters]
    if missing:
        raise bad_request(f"Parameters {', '.join(missing)} are required for the integration subtype {subtype}")
    unknown = [name for name in parameters if name not in (*known.required, *known.optional, "Region")]
    if unknown:
        raise bad_request(f"Parameters {', '.join(unknown)} are unknown for the integration subtype {subtype}")


class FirstClass:
    """Calls services for requests."""

    def __init__(self, call: CallOperation, clock: Clock) -> None:
        self._call = call
        self._clock = clock
        self._late = Background("a call by an API whose client was answered")

    async def stop(self) -> None:
        """End calls that no client waits for."""
        await self._late.stop()

    async def call(self, integration: Integration, request: Request, context: CallContext) -> Response:
        """See `CallIntegration`. A refusal of the service is the response, with its status."""
        subtype = _SUBTYPES.get(integration.subtype)
        if subtype is None:
            raise IntegrationFailed("API_CONFIGURATION_ERROR", f"unknown subtype {integration.subtype}")
        given: JsonObject = {}
        for name, source in integration.parameters.items():
            value = mapped(source, request, context)
            if value is not None and name != "Region":
                given[name] = _structured(name, value) if name in subtype.structured else value
        if integration.subtype == "EventBridge-PutEvents":
            given = {"Entries": [given]}
        calling = self._call(subtype.service, subtype.action, given, request_id=context.request_id)
        if subtype.waits:
            calling = in_time(self._late, self._clock, calling, integration.timeout_ms, integration.subtype)
        try:
            answer = await calling
        except ApiError as error:
            body = dump_json({"__type": error.code, "message": error.message}).encode()
            return Response(error.status or 400, [("content-type", "application/json")], body)
        return Response(200, [("content-type", "application/json")], dump_json(answer).encode())


def _structured(name: str, value: str) -> Json:
    try:
        return parse_json(value)
    except JsonTextError:
        raise IntegrationFailed("API_CONFIGURATION_ERROR", f"the parameter {name} is no JSON") from None
