"""Posts to HTTP endpoints, for topics and whoever else delivers there: on threads of their own, so that endpoints that
are slow keep nobody's task waiting.

Source: SNS developer guide, "Message delivery retries": 5xx and 429 are tried again, other refusals are not. How
long an endpoint has to answer is ours.
"""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from typing import Final

from statewright.clock import Clock
from statewright.errors import ApiError
from statewright.integrations.blocking import BlockingCalls
from statewright.integrations.http_requests import Request, Response

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
            response = await self._blocking.run(_sent, request)
        except (OSError, http.client.HTTPException, ValueError) as problem:
            raise ApiError("EndpointUnreachable", f"{type(problem).__name__}: {problem}", status=503) from None
        if not 200 <= response.status < 300:
            raise ApiError(
                "EndpointRefused", f"{url} answered {response.status} {response.reason}", status=response.status
            )

    def close(self) -> None:
        """Let the threads end."""
        self._blocking.close()


def _sent(request: Request) -> Response:
    from statewright.integrations.http import send

    return send(request, ANSWER_BYTES, SECONDS)
