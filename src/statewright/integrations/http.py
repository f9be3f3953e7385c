"""`http:invoke` and `apigateway:invoke`: sends a request and makes a result or a failure of the response.

The request is made by `http_requests` and sent by `http_client`. Redirects are not followed: any status other than 2xx
fails the task.

Source: developer guide, "Call HTTPS APIs in Step Functions workflows", for errors and limits; causes are our own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from urllib.parse import quote, urlsplit

from statewright.config import Config, Connection
from statewright.engine.dispatch import Failed, ScheduledCall, Succeeded, TaskResult
from statewright.errors import RUNTIME, ApiError, ExecutionFailure
from statewright.events.connections import name_in
from statewright.integrations.blocking import BlockingCalls
from statewright.integrations.http_requests import (
    Client,
    NoAnswer,
    Parameters,
    Request,
    Response,
    build_request,
    gateway_request,
    read_parameters,
    with_authorisation,
    with_key,
    without_secrets,
)
from statewright.integrations.link_local import Addresses
from statewright.integrations.oauth import REFUSED, NoToken, Tokens
from statewright.integrations.patterns import (
    NOT_CONFIGURED,
    answered,
    bad_parameters,
    named_uuid,
    refused_how,
    too_large,
)
from statewright.integrations.stored_connections import StoredConnections
from statewright.payload import JsonMapping, JsonObject, json_or_text

OPEN_BODY_BYTES: Final = 64 * 1024 * 1024
"""The most that is read of a response when the payload limit is lifted. Statewright's own limit."""

TOKEN_BYTES: Final = 1024 * 1024
"""The most that is read of an authorisation endpoint's answer. Statewright's own limit."""

SOCKET: Final = "States.Http.Socket"
_BODILESS: Final = ("GET", "HEAD")
_RETRIED: Final = frozenset({401, 407, 409})
"""Statuses of API destinations that are retried although they are refusals. Source: EventBridge user guide."""
_BINARY: Final = ("image/", "video/", "audio/", "application/octet-stream", "binary/")
_NO_GATEWAY: Final = (
    "apigateway:invoke ignores its ApiEndpoint and calls the one address in statewright.toml. For an API of this "
    'server, add: [endpoints] apigateway = "http://127.0.0.1:4566/_apis/ID", with the id of the API'
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its response; `shown` is the request without secrets."""

    request: Request
    shown: Request
    response: Response


class HttpTasks:
    """Executes HTTP Tasks, with the connections of the configuration, and calls of `apigateway:invoke`."""

    def __init__(
        self,
        config: Config,
        blocking: BlockingCalls,
        now_ms: Callable[[], int],
        connections: StoredConnections | None = None,
    ) -> None:
        self._config = config
        self._connections = connections or StoredConnections(config)
        self._blocking = blocking
        self._body_bytes = config.limits.payload_bytes or OPEN_BODY_BYTES
        self._tokens = Tokens(lambda request: self._client.send(request, TOKEN_BYTES), now_ms)

    @cached_property
    def _client(self) -> Client:
        # The HTTP library is slow to load.
        from statewright.integrations.http_client import HttpClient

        return HttpClient(Addresses(self._config.http.allow))

    async def call(self, task: ScheduledCall) -> TaskResult:
        """Make the call of an HTTP Task."""
        return (await self.exchange(task))[0]

    async def exchange(self, task: ScheduledCall) -> tuple[TaskResult, Exchange | None]:
        """Make the call; returns also the exchange, if there was an answer."""
        try:
            parameters = read_parameters(task.parameters)
            connection = await self._connection(parameters.connection)
            if isinstance(connection, Failed):
                return connection, None
            request = _repeatable(task, build_request(parameters, connection, task.region))
            shown = without_secrets(parameters, task.region)
        except ExecutionFailure as failure:
            return bad_parameters(task, failure.cause), None
        try:
            response = await self._blocking.run(self._sent, request, connection)
        except NoToken as problem:
            return Failed("Events.ConnectionResource.InvalidConnectionState", str(problem)), None
        except NoAnswer as problem:
            return Failed(SOCKET, str(problem)), None
        except ValueError as problem:
            # A value that cannot be part of a request's head.
            return bad_parameters(task, str(problem)), None
        return result_of(task, response, self._body_bytes), Exchange(request, shown, response)

    def _sent(self, request: Request, connection: Connection | None) -> Response:
        """Send a request, under OAuth with a token; a token that is refused is replaced once. Blocks."""
        if connection is None or connection.auth != "oauth":
            return self._client.send(request, self._body_bytes)
        header = self._tokens.header(connection)
        response = self._client.send(with_authorisation(request, header), self._body_bytes)
        if response.status in REFUSED:
            self._tokens.forget(connection, header)
            header = self._tokens.header(connection)
            response = self._client.send(with_authorisation(request, header), self._body_bytes)
        return response

    async def call_gateway(self, task: ScheduledCall) -> TaskResult:
        """Make a call of `apigateway:invoke`; the configured endpoint replaces the one that it names."""
        endpoints = self._config.endpoints
        endpoint = endpoints.get("apigateway") or endpoints.get("default")
        if endpoint is None:
            return Failed(NOT_CONFIGURED, _NO_GATEWAY)
        try:
            request = _repeatable(task, gateway_request(task.parameters, endpoint.url, task.region))
        except ExecutionFailure as failure:
            return bad_parameters(task, failure.cause)
        try:
            response = await self._blocking.run(self._client.send, request, self._body_bytes)
        except NoAnswer as problem:
            return Failed("ApiGateway.SdkClientException", str(problem), refused_how(task))
        except ValueError as problem:
            return bad_parameters(task, str(problem))
        result = result_of(task, response, self._body_bytes)
        if isinstance(result, Failed) and not 200 <= response.status <= 299:
            return Failed(f"ApiGateway.{response.status}", response.body.decode(errors="replace"), refused_how(task))
        return answered(task, result.output) if isinstance(result, Succeeded) else result

    async def deliver(self, arn: str, payload: str, given: JsonMapping) -> None:
        """Send an event to an API destination; `given` has the members of a target's `HttpParameters`.

        Raises: ApiError, with a status that says whether a retry may help; Unavailable.
        """
        destination = await self._connections.destination(arn)
        connection = await self._connections.connection(destination.connection_arn)
        if connection is None:
            raise ApiError("ResourceNotFoundException", f"{destination.connection_arn} does not exist.", status=404)
        url = destination.endpoint
        for value in given.get("PathParameterValues") or ():
            url = url.replace("*", quote(str(value), safe=""), 1)
        headers = {"User-Agent": "Amazon/EventBridge/ApiDestinations", **(given.get("HeaderParameters") or {})}
        query = tuple((given.get("QueryStringParameters") or {}).items())
        body = json_or_text(payload) if destination.method not in _BODILESS else None
        parameters = Parameters(destination.method, url, destination.connection_arn, headers, query, body)
        try:
            request = build_request(parameters, connection, self._config.region)
            response = await self._blocking.run(self._sent, request, connection)
        except (NoToken, NoAnswer, ValueError) as problem:
            raise ApiError("SDK_CLIENT_ERROR", str(problem), status=503) from None
        except ExecutionFailure as failure:
            raise ApiError("ValidationException", failure.cause or "", status=400) from None
        if not 200 <= response.status <= 299:
            text = f"{url} answered {response.status} {response.reason}"
            raise ApiError("EndpointRefused", text, status=503 if response.status in _RETRIED else response.status)

    async def _connection(self, arn: str | None) -> Connection | Failed | None:
        """A connection by its ARN (`...:connection/<name>/<id>`) or name."""
        if arn is None:
            return None
        connection = await self._connections.connection(arn)
        if connection is None:
            name = name_in(arn, self._config)
            cause = (
                f"There is no connection {name}. Create it with events:CreateConnection, or in statewright.toml: "
                f'[connections.{name}] auth = "basic", user = "...", password = "..."'
            )
            return Failed("Events.ConnectionResource.ResourceNotFound", cause)
        return connection


def _repeatable(task: ScheduledCall, request: Request) -> Request:
    """The request of a task that a restart may repeat, with the key by which its receiver can tell."""
    return (
        with_key(request, named_uuid(task.execution_arn, task.idempotency_key, "request")) if task.outbox else request
    )


def result_of(task: ScheduledCall, response: Response, body_bytes: int) -> TaskResult:
    """The task's result from a response."""
    if len(response.body) > body_bytes:
        return too_large(task)
    content_type = next((values[0] for name, values in response.headers.items() if name.lower() == "content-type"), "")
    if response.body and content_type.lower().startswith(_BINARY):
        return Failed(RUNTIME, f"The response has the content type {content_type}, which is not supported", "refused")
    try:
        text = response.body.decode(_charset(content_type))
    except (UnicodeDecodeError, LookupError) as problem:
        return Failed(RUNTIME, f"The response body cannot be read as text: {problem}", "refused")
    if not 200 <= response.status <= 299:
        return Failed(f"States.Http.StatusCode.{response.status}", text)
    result = {
        "Headers": dict(response.headers),
        "ResponseBody": json_or_text(text),
        "StatusCode": response.status,
        "StatusText": response.reason,
    }
    return Succeeded(result)


def _charset(content_type: str) -> str:
    # Imported here: it brings much, for few answers.
    from email.message import Message

    message = Message()
    message["Content-Type"] = content_type
    charset = message.get_content_charset()
    return charset or "utf-8"


def traced(exchange: Exchange, *, reveal_secrets: bool) -> JsonObject:
    """`request` and `response` as TestState shows them. Source: service model; how headers are written is ours."""
    request = exchange.request if reveal_secrets else exchange.shown
    response = exchange.response
    protocol = urlsplit(request.url).scheme
    shown: JsonObject = {
        "request": {
            "protocol": protocol,
            "method": request.method,
            "url": request.url,
            "headers": _listed([(name, value) for name, value in request.headers.items()]),
        },
        "response": {
            "protocol": protocol,
            "statusCode": str(response.status),
            "statusMessage": response.reason,
            "headers": _listed([(name, value) for name, values in response.headers.items() for value in values]),
            "body": response.body.decode(errors="replace"),
        },
    }
    if request.body is not None:
        shown["request"]["body"] = request.body.decode(errors="replace")
    return shown


def _listed(headers: list[tuple[str, str]]) -> str:
    return "[" + ", ".join(f"{name}: {value}" for name, value in headers) + "]"
