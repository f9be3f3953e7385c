"""Requests to this server's services from inside the process, in the form of the wire: integrations of APIs.

A request is read, carried out and answered by the same code as one from outside, but for its signature: what an API
calls, it calls with the rights of this server. The port and its sockets are not involved.

Source: forms whose answers are JSON have the form of the query protocol's JSON rendering (`Accept: application/json`,
which API Gateway sends).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Final

from statewright.api.calls.inner import InnerCalls
from statewright.api.errors import status_of
from statewright.api.models import load_model
from statewright.api.operations import App, Call, perform, waits_for_events
from statewright.api.protocols.query import FORM_TYPE
from statewright.api.protocols.wire import Answer, Disconnected, Incoming, Message, Receive
from statewright.api.service import APART, BODY_BYTES, JSON, QUERY, Service
from statewright.api.services import BY_NAME
from statewright.api.sqs.errors import legacy
from statewright.api.wires import wire_of
from statewright.apis.calls import IntegrationFailed, Response
from statewright.apis.integrations.aws import WireRequest
from statewright.apis.integrations.in_time import in_time
from statewright.background import Background
from statewright.errors import ApiError, StoreError
from statewright.payload import Json, JsonMapping, dump_json

ANSWER_BYTES: Final = 10 * 1024 * 1024
"""Longest answer of a service. Source: quota "Payload size" of REST APIs."""
_WAITING: Final = frozenset({("states", "StartSyncExecution"), ("lambda", "Invoke")})
"""Operations that may take longer than an integration, besides long polls."""


class WireCalls:
    """Implements `CallWire`."""

    def __init__(self, calls: InnerCalls) -> None:
        self._calls = calls
        self._late = Background("a call by an API whose client was answered")

    async def stop(self) -> None:
        """End calls that no client waits for."""
        await self._late.stop()

    async def __call__(self, sent: WireRequest, timeout_ms: int) -> Response:
        """Call a service. Raises: ApiError for a service that is not here; IntegrationFailed."""
        service = BY_NAME.get(sent.service)
        if service is None:
            raise ApiError("UnknownService", f"the service {sent.service[:100]} is not here")
        protocol, headers, body = _framed(service, sent)
        query = f"Action={sent.action}&{sent.query}" if sent.action and protocol == QUERY else sent.query
        path = f"/{sent.host}{sent.path}" if sent.host and service.name == "s3" else sent.path
        incoming = Incoming(sent.method, path, query, headers, _pieces(body), service.body_bytes or BODY_BYTES)
        wire = wire_of(service, protocol)
        app = await self._app_of(service, sent.region)
        as_json = protocol == QUERY and "xml" not in headers.get("accept", "")
        try:
            operation, request = await wire.read(incoming)
            machine = request.get("stateMachineArn") if isinstance(request, dict) else None
            call = Call(
                service.name, operation, sent.request_id, headers, None, path, query, size=incoming.size,
                runs_anywhere=isinstance(machine, str) and not app.config.is_elsewhere(machine),
            )  # fmt: skip
            running = perform(app, call, request)
            if (service.name, operation) in _WAITING or waits_for_events(service.name, operation):
                result = await in_time(self._late, app.clock, running, timeout_ms, operation)
            else:
                result = await running
        except ApiError as error:
            if as_json:
                return _refused(service, error, sent.request_id)
            return await _response(wire.refusal(error, sent.request_id, path), service, sent.request_id)
        except StoreError as problem:
            raise IntegrationFailed("INTEGRATION_FAILURE", f"the store does not answer: {problem}") from None
        if as_json:
            return _answered(service, operation, result, sent.request_id)
        return await _response(wire.answer(operation, result, sent.request_id), service, sent.request_id)

    async def _app_of(self, service: Service, region: str) -> App:
        """The application of a region. Raises: ApiError for one that this server has not."""
        app = self._calls.app
        if service.regions != APART or region in ("", app.config.region):
            return app
        if app.regions is None:
            raise ApiError("UnknownRegion", f"this server has one region: {app.config.region}")
        return await app.regions.app_of(region)


def _framed(service: Service, sent: WireRequest) -> tuple[str, Mapping[str, str], bytes]:
    """The protocol of a request, with the headers that it needs, and its body. Raises: ApiError."""
    headers = dict(sent.headers)
    protocol = service.protocols[-1]
    if "x-amz-target" in headers:
        if headers["x-amz-target"].rpartition(".")[0] != service.target or JSON not in service.protocols:
            raise ApiError("UnknownOperationException", f"{service.title} has no such target")
        protocol = JSON
    elif protocol == JSON:
        if not sent.action:
            raise ApiError("UnknownOperationException", f"{service.title} is called by an action, not by a path")
        headers["x-amz-target"] = f"{service.target}.{sent.action}"
        headers["content-type"] = f"application/x-amz-json-{service.json_version}"
    body = sent.body
    if protocol == QUERY and not headers.get("content-type", "").startswith(FORM_TYPE):
        # The members are in the query; a body of another type names none.
        headers["content-type"], body = "", b""
    headers["content-length"] = str(len(body))
    return protocol, headers, body


def _pieces(body: bytes) -> Receive:
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else {"type": "http.disconnect"}

    return receive


async def _response(answer: Answer, service: Service, request_id: str) -> Response:
    body = answer.body
    if not isinstance(body, bytes):
        body = await _whole(body)
    headers = [("Content-Type", answer.content_type.decode("latin-1"))]
    headers += [(name.decode("latin-1"), request_id) for name in service.id_headers]
    headers += [
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in (*service.headers, *answer.headers)
    ]
    return Response(answer.status, headers, body)


async def _whole(body: AsyncIterator[bytes]) -> bytes:
    pieces, size = [], 0
    try:
        async for piece in body:
            size += len(piece)
            if size > ANSWER_BYTES:
                raise IntegrationFailed("INTEGRATION_FAILURE", f"the answer is longer than {ANSWER_BYTES} bytes")
            pieces.append(piece)
    except Disconnected:
        raise IntegrationFailed("INTEGRATION_FAILURE", "the answer ended before its length") from None
    return b"".join(pieces)


# ------------------------------------------------------------------ answers to forms, as JSON


def _answered(service: Service, operation: str, result: Json, request_id: str) -> Response:
    document: dict[str, Json] = {}
    members = _members(service.name, operation)
    if members:
        given: JsonMapping = result or {}
        document[f"{operation}Result"] = {name: _json(given.get(name)) for name in sorted(members)}
    document["ResponseMetadata"] = {"RequestId": request_id}
    return _json_response(200, {f"{operation}Response": dict(sorted(document.items()))}, request_id)


def _refused(service: Service, error: ApiError, request_id: str) -> Response:
    said = legacy(error) if service.name == "sqs" else error
    status = said.status or status_of(error, service.name)
    kind = "Sender" if status < 500 else "Receiver"
    document = {"Error": {"Code": said.code, "Message": said.message, "Type": kind}, "RequestId": request_id}
    return _json_response(status, document, request_id)


def _json_response(status: int, document: Json, request_id: str) -> Response:
    headers = [("Content-Type", "application/json"), ("x-amzn-RequestId", request_id)]
    return Response(status, headers, dump_json(document).encode())


def _members(service: str, operation: str) -> list[str]:
    model = load_model(service)
    trait = model["operations"].get(operation, {}) if model is not None else {}
    if model is None or "output" not in trait:
        return []
    return list(model["shapes"][trait["output"]["shape"]]["members"])


def _json(value: Json) -> Json:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
