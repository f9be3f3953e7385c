"""Posts to HTTP endpoints, for deliveries of topics: on threads of their own, so that slow endpoints delay no tasks.

Source: SNS developer guide, "Message delivery retries": 5xx and 429 are retried, other refusals are not. The
time limit of an endpoint is Statewright's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Final

from statewright.clock import Clock
from statewright.errors import ApiError
from statewright.integrations.blocking import BlockingCalls
from statewright.integrations.http_requests import Client, NoAnswer, Request
from statewright.integrations.link_local import Addresses, RefusedAddress

THREADS: Final = 16
SECONDS: Final = 15.0
ANSWER_BYTES: Final = 65_536
"""The most that is read of an answer. Statewright's own limit."""


class Posts:
    """Posts texts to HTTP endpoints."""

    def __init__(self, clock: Clock, allow: Iterable[str] = ()) -> None:
        """`allow` are link-local networks that may be reached."""
        self._allow = allow
        self._blocking = BlockingCalls(clock, THREADS)

    async def __call__(self, url: str, headers: Mapping[str, str], body: str) -> None:
        """Post a text; any answer of 2xx is a success. Raises: ApiError, with 503 if there is no answer."""
        request = Request("POST", url, headers, body.encode())
        try:
            response = await self._blocking.run(self._client.send, request, ANSWER_BYTES, SECONDS)
        except NoAnswer as problem:
            if isinstance(problem.cause, RefusedAddress):
                # It would be refused again at each retry.
                raise ApiError("EndpointRefused", str(problem.cause), status=403) from None
            raise ApiError("EndpointUnreachable", str(problem), status=503) from None
        except ValueError as problem:
            raise ApiError("EndpointUnreachable", f"{type(problem).__name__}: {problem}", status=503) from None
        if not 200 <= response.status < 300:
            raise ApiError(
                "EndpointRefused", f"{url} answered {response.status} {response.reason}", status=response.status
            )

    @cached_property
    def _client(self) -> Client:
        # The HTTP library is slow to load.
        from statewright.integrations.http_client import HttpClient

        return HttpClient(Addresses(self._allow))

    def close(self) -> None:
        """Let the threads end."""
        self._blocking.close()
