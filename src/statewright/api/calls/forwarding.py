"""Forwarding of calls to services that Statewright does not serve: to a configured endpoint, else to moto.

Handlers and scripts can use one address for everything. Requests are forwarded unchanged after their signature was
verified; it goes with the request, and the receiver decides whether to accept it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from statewright.api.guard import HARMLESS
from statewright.api.protocols.wire import Answer, Incoming
from statewright.config import Config, Endpoint
from statewright.errors import ApiError
from statewright.integrations.blocking import BlockingCalls
from statewright.integrations.endpoints.unplayed import refusal_text
from statewright.integrations.endpoints.volatile import VolatileServices
from statewright.integrations.http_requests import NoAnswer, Request, Response
from statewright.integrations.patterns import no_endpoint_text

if TYPE_CHECKING:
    from statewright.integrations.http_client import HttpClient

SECONDS: Final = 70.0
ANSWER_BYTES: Final = 256 * 1024 * 1024

_HOP: Final = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "expect", "content-length", "host"}
)
"""Headers of one connection, which are not forwarded."""


class Forwarding:
    """Forwards requests to other services."""

    def __init__(self, config: Config, blocking: BlockingCalls, volatile: VolatileServices) -> None:
        self._config = config
        self._blocking = blocking
        self._volatile = volatile

    async def call(self, service: str, incoming: Incoming) -> Answer:
        """Forward a request and return the answer. Raises: ApiError if no endpoint has the service, or none answers."""
        body = await incoming.body()
        return await self._blocking.run(self._send, service, incoming, body)

    def _send(self, service: str, incoming: Incoming, body: bytes) -> Answer:
        endpoints = self._config.endpoints
        endpoint = endpoints.get(service) or endpoints.get("default")
        if endpoint is None and (refusal := refusal_text(service)) is not None:
            raise ApiError("UnknownService", refusal)
        try:
            endpoint = endpoint or self._volatile.endpoint(service)
            if endpoint is None:
                raise ApiError("UnknownService", no_endpoint_text(service))
            response = self._client.send(_request_at(endpoint, incoming, body), ANSWER_BYTES, SECONDS)
        except (OSError, NoAnswer) as problem:
            why = problem.cause if isinstance(problem, NoAnswer) else problem
            raise ApiError(
                "ServiceUnavailable", f"The service '{service[:100]}' does not answer: {why}", status=503
            ) from None
        if len(response.body) > ANSWER_BYTES:
            raise ApiError("ServiceUnavailable", f"The answer is longer than {ANSWER_BYTES} bytes.", status=502)
        return _answer_of(response)

    @cached_property
    def _client(self) -> HttpClient:
        # The HTTP client takes a while to load.
        from statewright.integrations.http_client import HttpClient

        return HttpClient()


def _request_at(endpoint: Endpoint, incoming: Incoming, body: bytes) -> Request:
    place = urlsplit(endpoint.url)
    path = incoming.raw_path + (f"?{incoming.query}" if incoming.query else "")
    headers = _passed_on(incoming.headers, len(body))
    return Request(incoming.method, f"{place.scheme}://{place.netloc}{path}", headers, body or None)


def _answer_of(response: Response) -> Answer:
    kind = b"application/octet-stream"
    # What another service stores may be a page; it must not have the origin of this server.
    headers = list(HARMLESS)
    for name, values in response.headers.items():
        if name.lower() == "content-type":
            kind = values[0].encode("latin-1") or kind
        elif name.lower() not in _HOP:
            headers += [(name.lower().encode("latin-1"), value.encode("latin-1")) for value in values]
    return Answer(response.status, response.body, kind, headers)


def _passed_on(headers: Mapping[str, str], length: int) -> dict[str, str]:
    passed = {name: value for name, value in headers.items() if name not in _HOP}
    # The signature covers the caller's Host, and services look at it.
    passed["host"] = headers.get("host", "")
    passed["content-length"] = str(length)
    return passed
