"""AWS integrations of REST APIs: a request becomes a request to a service, its answer the response.

Owns what the ARN of such an integration names, and the protocol of the request. Services are those of this server,
called in the process on their own wires, so that forms, AWS JSON and paths mean what they mean from outside. A function
is invoked without a wire.

Source: API Gateway API reference, `Integration.uri`; recorded answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import unquote, urlencode

from statewright.apis.calls import CallContext, Integration, IntegrationFailed, Request, Response
from statewright.apis.integrations.lambda_proxy import LambdaProxy, with_variables
from statewright.apis.integrations.mapping import CONFIGURATION, FORBIDDEN, JSON_TYPE, Mappings, placed
from statewright.errors import ApiError
from statewright.payload import JsonTextError, parse_json

_URI: Final = re.compile(
    r"arn:[^:]*:apigateway:(?P<region>[^:]*):(?:(?P<host>[^:]+)\.)?(?P<service>[^:.]+):(?P<kind>path|action)/(?P<rest>.*)",
    re.DOTALL,
)
_FUNCTION: Final = re.compile(r"/?[^/]+/functions/(?P<name>.+)/invocations")
_ASYNCHRONOUS: Final = "x-amz-invocation-type"


@dataclass(frozen=True, slots=True)
class WireRequest:
    """A request to one of this server's services. `action` is empty where the path or the form names it.

    `path` is escaped; names of `headers` are in lower case. `host` is what stands before the service's name.
    """

    service: str
    region: str
    method: str
    action: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    request_id: str
    host: str = ""


class CallWire(Protocol):
    """Calls a service of this server as a request from outside would."""

    async def __call__(self, sent: WireRequest, timeout_ms: int, /) -> Response:
        """The service's answer, also a refusal. Raises: ApiError for a service that is not here; IntegrationFailed."""

    async def stop(self) -> None:
        """End calls that no client waits for."""


class AwsIntegration:
    """Calls services for requests."""

    def __init__(self, mappings: Mappings, wire: CallWire, functions: LambdaProxy) -> None:
        self._mappings = mappings
        self._wire = wire
        self._functions = functions

    async def call(self, integration: Integration, request: Request, context: CallContext) -> Response:
        """See `CallIntegration`."""
        sent = await self._mappings.outgoing(integration, request, context, FORBIDDEN)
        found = _URI.fullmatch(with_variables(integration.uri, context))
        if found is None:
            raise IntegrationFailed(CONFIGURATION, "AWS ARN for integration must contain path or action")
        headers = {name.lower(): value for name, value in sent.headers.items()}
        rest = placed(found["rest"], sent.path)
        if found["service"] == "lambda" and headers.get(_ASYNCHRONOUS, "RequestResponse") == "RequestResponse":
            named = _FUNCTION.fullmatch(unquote(rest))
            if named is not None:
                return await self._invoked(named["name"], sent.body or b"{}", integration, request, context)
        headers.setdefault("content-type", request.header("content-type") or JSON_TYPE)
        path, _, query = rest.partition("?") if found["kind"] == "path" else ("", "", "")
        wired = WireRequest(
            found["service"], found["region"], integration.http_method or request.method,
            rest if found["kind"] == "action" else "", "/" + path.lstrip("/"),
            "&".join(part for part in (query, urlencode(sent.query)) if part),
            headers, sent.body, context.request_id, found["host"] or "",
        )  # fmt: skip
        try:
            answer = await self._wire(wired, integration.timeout_ms)
        except ApiError as error:
            raise IntegrationFailed(CONFIGURATION, f"{error.code}: {error.message}") from None
        return await self._mappings.response(integration, request, context, answer, str(answer.status))

    async def _invoked(
        self, name: str, payload: bytes, integration: Integration, request: Request, context: CallContext
    ) -> Response:
        done = await self._functions.invoke(name, payload, integration.timeout_ms)
        answer = Response(done.status, [("Content-Type", JSON_TYPE)], done.payload)
        matched = _error_message(done.payload) if done.function_error is not None else None
        return await self._mappings.response(integration, request, context, answer, matched)


def _error_message(payload: bytes) -> str | None:
    """The message of a function's error: selection patterns are compared with it, and not with a status (recorded)."""
    try:
        value = parse_json(payload)
    except JsonTextError:
        return None
    message = value.get("errorMessage") if isinstance(value, dict) else None
    return message if isinstance(message, str) else None
