"""Calls to services that are not ours, passed on as they are: to a configured endpoint, else to moto.

Handlers and scripts have one address for everything. Signatures were verified before; the caller's own goes on with
the request, and whoever takes it decides what it is worth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

from statewright.api.protocols.wire import Answer, Incoming
from statewright.config import Config, Endpoint
from statewright.errors import ApiError
from statewright.integrations.blocking import BlockingCalls
from statewright.integrations.endpoints.volatile import VolatileServices
from statewright.integrations.patterns import no_endpoint_text

SECONDS: Final = 70.0
ANSWER_BYTES: Final = 256 * 1024 * 1024

_HOP: Final = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "expect", "content-length", "host"}
)
"""Headers of one connection, which are not passed on."""


class Forwarding:
    """Passes requests on. `refused` says that nobody would take one."""

    def __init__(self, config: Config, blocking: BlockingCalls, volatile: VolatileServices) -> None:
        self._config = config
        self._blocking = blocking
        self._volatile = volatile

    async def call(self, service: str, incoming: Incoming) -> Answer:
        """The answer of whoever has the service. Raises: ApiError, where nobody has it or nobody answers."""
        body = await incoming.body()
        return await self._blocking.run(self._send, service, incoming, body)

    def _send(self, service: str, incoming: Incoming, body: bytes) -> Answer:
        # What speaks HTTP takes a while to load.
        import http.client

        endpoints = self._config.endpoints
        endpoint = endpoints.get(service) or endpoints.get("default")
        try:
            endpoint = endpoint or self._volatile.endpoint()
            if endpoint is None:
                raise ApiError("UnknownService", no_endpoint_text(service))
            return _sent(endpoint, incoming, body)
        except (OSError, http.client.HTTPException) as problem:
            raise ApiError(
                "ServiceUnavailable", f"The service '{service[:100]}' does not answer: {problem}", status=503
            ) from None


def _sent(endpoint: Endpoint, incoming: Incoming, body: bytes) -> Answer:
    import http.client

    place = urlsplit(endpoint.url)
    make: Callable[..., http.client.HTTPConnection] = (
        http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
    )
    connection = make(place.hostname, place.port, timeout=SECONDS)
    try:
        path = incoming.raw_path + (f"?{incoming.query}" if incoming.query else "")
        connection.request(incoming.method, path, body or None, _passed_on(incoming.headers, len(body)))
        response = connection.getresponse()
        content = response.read(ANSWER_BYTES + 1)
        if len(content) > ANSWER_BYTES:
            raise ApiError("ServiceUnavailable", f"The answer is longer than {ANSWER_BYTES} bytes.", status=502)
        headers = [
            (name.lower().encode("latin-1"), value.encode("latin-1"))
            for name, value in response.getheaders()
            if name.lower() not in _HOP and name.lower() != "content-type"
        ]
        kind = (response.getheader("content-type") or "application/octet-stream").encode("latin-1")
        return Answer(response.status, content, kind, headers)
    finally:
        connection.close()


def _passed_on(headers: Mapping[str, str], length: int) -> dict[str, str]:
    passed = {name: value for name, value in headers.items() if name not in _HOP}
    # What the caller signed for names its host; SDKs of the service look at it.
    passed["host"] = headers.get("host", "")
    passed["content-length"] = str(length)
    return passed
