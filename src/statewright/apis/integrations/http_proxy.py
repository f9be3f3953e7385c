"""HTTP integrations: a request is sent to another server, and its answer is the response.

Owns which headers pass. What reaches the backend is written anew from parsed values: framing is never copied, so a
request cannot smuggle a second one.

Source: API Gateway developer guide, "HTTP integrations"; recorded requests of REST APIs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Final
from urllib.parse import urlencode, urlsplit

from statewright.apis.calls import CallContext, Integration, IntegrationFailed, Request, Response
from statewright.apis.integrations.in_time import in_time
from statewright.apis.integrations.lambda_events import forwarded, trace_id
from statewright.apis.integrations.lambda_proxy import with_variables
from statewright.apis.integrations.mapping import mapped_parameters, placed
from statewright.background import Background
from statewright.clock import Clock
from statewright.integrations.blocking import BlockingCalls
from statewright.integrations.http_requests import Client, NoAnswer
from statewright.integrations.http_requests import Request as Sent
from statewright.integrations.http_requests import Response as Answer
from statewright.integrations.link_local import Addresses

ANSWER_BYTES: Final = 10 * 1024 * 1024
"""Longest body of a response. Source: quotas, payload size."""
HOPS: Final = "X-Amzn-Apigateway-Api-Id"
"""The header with the id of the API that sends a request (recorded for REST APIs); ids before it are ours."""
_HELD_BACK: Final = frozenset({
    "connection", "content-length", "expect", "host", "keep-alive", "max-forwards", "proxy-authenticate",
    "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "via",
})  # fmt: skip


class HttpProxy:
    """Sends requests to other servers."""

    def __init__(self, clock: Clock, allow: Iterable[str]) -> None:
        """`allow` are link-local networks that may be reached."""
        self._clock = clock
        self._late = Background("a request of an API to another server whose client was answered")
        self._allow = tuple(allow)
        self._blocking = BlockingCalls(clock)

    async def call_http(self, integration: Integration, request: Request, context: CallContext) -> Response:
        """See `CallIntegration`: HTTP_PROXY of an HTTP API."""
        method = request.method if integration.http_method == "ANY" else integration.http_method
        url = url_of(integration.uri, request, context)
        headers = passed_headers(request)
        headers["forwarded"] = f"by=127.0.0.1;for={request.source_ip};host={request.host};proto=http"
        headers["via"] = "1.1 APIGW"
        headers[HOPS.lower()] = _hops(request, context)
        return await self.send(Sent(method, url, headers, request.body or None), integration.timeout_ms)

    async def call_rest(self, integration: Integration, request: Request, context: CallContext) -> Response:
        """See `CallIntegration`: HTTP_PROXY of a REST API. The integration decides the method.

        Mapped parameters replace those of the client.
        """
        mapped = mapped_parameters(integration, request, context)
        joined = {name: ",".join(reversed(values)) for name, values in request.query.items()} | mapped["querystring"]
        url = url_of(integration.uri, request, context, mapped["path"], urlencode(joined))
        method = request.method if integration.http_method == "ANY" else integration.http_method
        headers = replaced(replaced(passed_headers(request), gateway_headers(request, context)), mapped["header"])
        return await self.send(Sent(method, url, headers, request.body or None), integration.timeout_ms)

    async def send(self, sent: Sent, timeout_ms: int) -> Response:
        """Send a request. Raises: IntegrationFailed."""
        # The request may wait for a thread: the client's time limit counts from here.
        answered = threading.Event()
        sending = self._sent(sent, timeout_ms, answered)
        try:
            return await in_time(self._late, self._clock, sending, timeout_ms, "the other server")
        finally:
            answered.set()

    async def _sent(self, sent: Sent, timeout_ms: int, answered: threading.Event) -> Response:
        deadline = time.monotonic() + timeout_ms / 1000
        try:
            found = await self._blocking.run(self._send, self._client, sent, deadline, answered)
        except NoAnswer as problem:
            late = "imed out" in str(problem) or isinstance(problem.cause, TimeoutError)
            raise IntegrationFailed("INTEGRATION_TIMEOUT" if late else "INTEGRATION_FAILURE", str(problem)) from None
        except ValueError as problem:
            raise IntegrationFailed("INTEGRATION_FAILURE", str(problem)) from None
        if len(found.body) > ANSWER_BYTES:
            raise IntegrationFailed("INTEGRATION_FAILURE", f"the response is longer than {ANSWER_BYTES} bytes")
        if not 200 <= found.status <= 599:
            raise IntegrationFailed("INTEGRATION_FAILURE", f"{found.status} is no status of a response")
        headers = [(name, value) for name, values in found.headers.items() for value in values]
        named = _named(headers)
        return Response(found.status, [one for one in headers if one[0].lower() not in named], found.body)

    def _send(self, client: Client, sent: Sent, deadline: float, answered: threading.Event) -> Answer:
        """Send a request from a thread, unless its client was answered while it waited for one. Raises: NoAnswer."""
        left_seconds = deadline - time.monotonic()
        # The clock of the client's time limit may be a moment ahead of this one.
        if left_seconds <= 0 or answered.is_set():
            raise NoAnswer(TimeoutError("all threads were busy until its time limit"))
        return client.send(sent, ANSWER_BYTES, left_seconds)

    @cached_property
    def _client(self) -> Client:
        # The HTTP library is slow to load.
        from statewright.integrations.http_client import HttpClient

        return HttpClient(Addresses(self._allow))

    async def stop(self) -> None:
        """End requests that no client waits for, and let the threads end."""
        await self._late.stop()
        self._blocking.close()


def url_of(
    uri: str, request: Request, context: CallContext, mapped: Mapping[str, str] | None = None, query: str | None = None
) -> str:
    """The URL of an integration for a request. Raises: IntegrationFailed.

    `mapped` are values of the path; without them, those of the request's path count. `query` replaces the request's.

    Values in the path are escaped, but for what they bring escaped themselves; dots that would leave the path of the
    integration are refused.
    """
    text = with_variables(uri, context)

    url = placed(text, context.path_parameters if mapped is None else mapped)
    if not url.startswith(("http://", "https://")) or urlsplit(url).netloc != urlsplit(text).netloc:
        raise IntegrationFailed("API_CONFIGURATION_ERROR", "the address is no URL of HTTP")
    query = request.query_string if query is None else query
    if query:
        url += ("&" if "?" in url else "?") + query
    return url


def passed_headers(request: Request) -> dict[str, str]:
    """The headers of a request that another server gets, by names in lower case; repeated ones are joined.

    Those that the Connection header names belong to the client's connection, and do not pass.
    """
    named = _named(request.headers)
    headers: dict[str, str] = {}
    for name, value in request.headers:
        lower = name.lower()
        if lower not in _HELD_BACK and lower not in named:
            headers[lower] = f"{headers[lower]},{value}" if lower in headers else value
    return headers


def replaced(headers: Mapping[str, str], by: Mapping[str, str]) -> dict[str, str]:
    """Headers with others in the place of those of the same name, however that is written."""
    names = {name.lower() for name in by}
    return {**{name: value for name, value in headers.items() if name.lower() not in names}, **by}


def _named(headers: Iterable[tuple[str, str]]) -> set[str]:
    """The names of headers that belong to one connection, but for `Connection` itself, which may be repeated."""
    found = {one.strip().lower() for name, value in headers if name.lower() == "connection" for one in value.split(",")}
    return found - {"connection"}


def gateway_headers(request: Request, context: CallContext) -> dict[str, str]:
    """The headers that REST APIs add."""
    trace = request.header("x-amzn-trace-id") or trace_id(context)
    return {HOPS: _hops(request, context), **dict(forwarded(request, trace)[:1])}


def _hops(request: Request, context: CallContext) -> str:
    """The APIs that a request has passed, this one last. Raises: IntegrationFailed for one that would go in a circle.

    Each turn of a circle would hold a thread until all are taken.
    """
    before = request.header(HOPS.lower())
    if before is None:
        return context.api_id
    if context.api_id in before.split(","):
        raise IntegrationFailed(
            "INTEGRATION_FAILURE", "the request has passed this API before: it would go in a circle"
        )
    return f"{before},{context.api_id}"
