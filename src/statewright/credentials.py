"""Temporary credentials of a role, and the server's address, as the processes of functions and jobs get them.

Owns the values, their environment variables, and renewing credentials before the end of their life.
`records/sessions.py` issues them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from statewright.clock import Clock

FUNCTION_SECONDS: Final = 12 * 3600
"""Life of the credentials of a worker. The longest session of a role. Source: STS API reference, AssumeRole."""
JOB_SECONDS: Final = 36 * 3600
"""Life of the credentials of a job, which gets no others: the longest session that there is. Source: STS API reference,
GetSessionToken."""
LEFT_MS: Final = 30 * 60_000
"""Least remaining life with which an invocation starts: more than the longest invocation."""
_REUSED_MS: Final = 3_600_000
"""Time for which new workers of a function share credentials."""


def endpoint_variables(endpoint: str) -> dict[str, str]:
    """Environment variables that make AWS SDKs send their requests to an endpoint, without changing its host.

    AWS_ALLOW_HTTP is read by clients on Rust's `object_store`, such as delta-rs, which otherwise refuse http.
    """
    variables = {"AWS_ENDPOINT_URL": endpoint, "AWS_DISABLE_HOST_PREFIX_INJECTION": "true"}
    if endpoint.lower().startswith("http://"):
        variables["AWS_ALLOW_HTTP"] = "true"
    return variables


@dataclass(frozen=True, slots=True)
class Credentials:
    """Credentials of a session of a role, valid until `expires_ms`."""

    access_key: str
    secret: str
    token: str
    expires_ms: int

    def variables(self) -> dict[str, str]:
        """Environment variables in which SDKs look for them."""
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_SESSION_TOKEN": self.token,
        }


Issue = Callable[[str, str, int], Awaitable[Credentials]]
"""Issues credentials: for the ARN of a role, the name of the session, and a life in seconds."""


async def dummies(_role: str, _name: str, _seconds: int) -> Credentials:
    """Credentials for systems that verify none."""
    return Credentials("test", "test", "", 1 << 62)


class RoleCredentials:
    """Credentials of one role and session name, issued again before they are too old for a new process."""

    def __init__(self, issue: Issue, clock: Clock, role: str, name: str) -> None:
        self._issue = issue
        self._clock = clock
        self._role = role
        self._name = name
        self._last: Credentials | None = None

    async def fresh(self) -> Credentials:
        """Credentials with nearly all of their life before them."""
        youngest_ms = self._clock.now_ms() + FUNCTION_SECONDS * 1000 - _REUSED_MS
        if self._last is None or self._last.expires_ms < youngest_ms:
            self._last = await self._issue(self._role, self._name, FUNCTION_SECONDS)
        return self._last
