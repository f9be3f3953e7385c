"""Requests to the URLs of functions: who may call, the event, and the response.

Owns what a URL adds to an invocation: its policy, CORS, and its own refusals. The event and the reading of answers are
those of HTTP APIs with payload 2.0. HTTP itself, and the signatures of callers, are left to the port.

Source: Lambda developer guide, "Invoking Lambda function URLs"; recorded answers.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

import orjson

from statewright.apis.authorizers.signatures import SignatureGuard, Verify
from statewright.apis.calls import CallContext, IntegrationFailed, Request, Response
from statewright.apis.cors import Cors, Shared
from statewright.apis.http_apis import DEFAULT_ROUTE, DEFAULT_STAGE, without_connection
from statewright.apis.integrations.lambda_answers import answer_of_http
from statewright.apis.integrations.lambda_events import event_2
from statewright.clock import Clock
from statewright.errors import ApiError
from statewright.functions.access.urls import NONE, OpenedUrl
from statewright.functions.functions import Functions
from statewright.limits import FUNCTION_REQUEST_BYTES

log = logging.getLogger("statewright.apis")

_FORBIDDEN: Final = orjson.dumps({
    "Message": "Forbidden. For troubleshooting Function URL authorization issues, see: "
    "https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html"
})  # fmt: skip
_JSON: Final = ("content-type", "application/json")
_ANONYMOUS: Final = "anonymous"
"""The account in events of URLs that ask for no signature (observed)."""


def refused(status: int, code: str, message: str) -> Response:
    """A refusal in the form of Lambda."""
    body = orjson.dumps({"message": message})
    return Response(status, [_JSON, ("x-amzn-ErrorType", code)], body)


def forbidden() -> Response:
    """The answer to callers that a URL does not let in, and to calls of a URL that does not exist."""
    return Response(403, [_JSON, ("x-amzn-ErrorType", "AccessDeniedException")], _FORBIDDEN)


@dataclass(frozen=True, slots=True)
class OpenUrl:
    """A URL that answers requests."""

    found: OpenedUrl
    cors: Cors | None
    plane: FunctionUrls

    def shares_with(self, _request: Request, origin: str) -> Shared:
        """How far pages of an origin may call the URL, by its CORS configuration."""
        return "no" if self.cors is None else self.cors.shares_with(origin)

    async def answer(self, request: Request, request_id: str) -> Response:
        """Answer a request."""
        if self.cors is None:
            return await self.plane.called(self.found, request, request_id)
        preflight = self.cors.preflight(request, status=200)
        if preflight is not None:
            return preflight
        response = await self.plane.called(self.found, request, request_id)
        # What the function itself says about CORS stays. Source: "Cross-origin resource sharing (CORS)".
        self.cors.add(response, request.header("origin"))
        return response


class FunctionUrls:
    """Answers requests to the URLs of one region's functions."""

    def __init__(self, functions: Functions, clock: Clock, verify: Verify) -> None:
        """`verify` finds the signers of requests to URLs that ask for a signature."""
        self._functions = functions
        self._clock = clock
        self._signed = SignatureGuard(verify)

    async def find(self, id: str) -> OpenUrl | None:
        """The URL with an id. Raises: StoreError."""
        found = await self._functions.urls.opened(id)
        return None if found is None else OpenUrl(found, Cors.of(found.url.cors), self)

    async def called(self, found: OpenedUrl, request: Request, request_id: str) -> Response:
        """The response to a request that is no preflight."""
        url = found.url
        if url.auth_type == NONE and not found.is_public:
            return forbidden()
        config, host = self._functions.config, self._functions.urls.host(url)
        context = CallContext(
            _ANONYMOUS, config.region, url.id, DEFAULT_STAGE, "", request_id, self._clock.now_ms(),
            host, request.path, request.protocol, resource_path=DEFAULT_ROUTE,
        )  # fmt: skip
        if url.auth_type != NONE:
            refusal = await self._signed(request, context)
            if refusal is not None:
                is_unsigned = refusal.name == "MissingAuthenticationTokenException"
                return forbidden() if is_unsigned else refused(403, refusal.name or "", refusal.message or "")
            context.account = config.account
        payload = orjson.dumps(event_2(request, context))
        if len(payload) > FUNCTION_REQUEST_BYTES:
            return refused(413, "RequestEntityTooLargeException", "Request Entity Too Large")
        try:
            done = await self._functions.invoke(found.target, payload, request_id=request_id)
        except ApiError as error:
            if error.status == 429:
                return refused(429, error.code, error.message)
            log.warning("the URL of %s was answered with 502: %s: %s", found.target, error.code, error.message)
            return _failed()
        if done.function_error is not None:
            return _failed()
        try:
            response = answer_of_http(done.payload, "2.0")
        except IntegrationFailed:
            return _failed()
        without_connection(response)
        return response


def _failed() -> Response:
    """The answer for a function that fails, or whose answer is no response (observed)."""
    return Response(502, [_JSON], b"Internal Server Error")
