"""Posts to HTTP endpoints, for topics and whoever else delivers there: on threads of their own, so that endpoints that
are slow keep nobody's task waiting.

Source: SNS developer guide, "Message delivery retries": 5xx and 429 are tried again, other refusals are not. How
long an endpoint has to answer is ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final

from statewright.clock import Clock
from statewright.errors import ApiError
from statewright.integrations.blocking import BlockingCalls
from statewright.integrations.http_requests import Client, NoAnswer, Request

THREADS: Final = 16
SECONDS: Final = 15.0
ANSWER_BYTES: Final = 65_536
"""What is read of an answer at most. Ours."""


class Posts:
    """Posts texts."""

    def __init__(self, clock: Clock) -> None:
        self._blocking = BlockingCalls(clock, THREADS)

    async def __call__(self, url: str, headers: Mapping[str, str], body: str) -> None:
        """Post, and be content with any answer of 2xx. Raises: ApiError, with 503 where nobody answers."""
        request = Request("POST", url, headers, body.encode())
        try:
            response = await self._blocking.run(self._client.send, request, ANSWER_BYTES, SECONDS)
        except NoAnswer as problem:
            raise ApiError("EndpointUnreachable", str(problem), status=503) from None
        except ValueError as problem:
            raise ApiError("EndpointUnreachable", f"{type(problem).__name__}: {problem}", status=503) from None
        if not 200 <= response.status < 300:
            raise ApiError(
                "EndpointRefused", f"{url} answered {response.status} {response.reason}", status=response.status
            )

    @cached_property
    def _client(self) -> Client:
        # What speaks HTTP takes a while to load.
        from statewright.integrations.http_client import HttpClient

        return HttpClient()

    def close(self) -> None:
        """Let the threads end."""
        self._blocking.close()
