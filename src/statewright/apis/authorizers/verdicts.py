"""The values between authorizers and the stages that ask them: refusals, guards, and what a function said of a caller.

Owns their form. The answers to refusals are left to `http_apis.py` and `gateway_responses.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from statewright.apis.authorizers.policies import Policy
from statewright.apis.calls import CallContext, Headers, Request
from statewright.payload import Json

UNAUTHORIZED: Final = "UNAUTHORIZED"
DENIED: Final = "ACCESS_DENIED"
FAILED: Final = "AUTHORIZER_FAILURE"
MISCONFIGURED: Final = "AUTHORIZER_CONFIGURATION_ERROR"
EXPLICIT_DENY: Final = "User is not authorized to access this resource with an explicit deny"
"""The text of a refusal by a statement. Source: reports of users of the service."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that may not pass. `kind` is the type of a gateway response; without `message`, its own text is sent.

    `name` is the value of `x-amzn-ErrorType` where the type of the gateway response has another one.
    """

    kind: str
    message: str | None = None
    headers: Headers = ()
    name: str | None = None


Guard = Callable[[Request, CallContext], Awaitable[Refusal | None]]
"""Checks a request to one route; puts what is known of the caller into its context."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer of an authorizer's function: allowed or not, or a policy that decides by the request."""

    is_allowed: bool = False
    policy: Policy | None = None
    context: Mapping[str, Json] = field(default_factory=dict)
    principal: str | None = None
    usage_key: str | None = None
    size_bytes: int = 0
    """The length of the function's answer, which bounds what is remembered."""
