"""Which service and operation a request is for.

In this order: the service in the SigV4 credential scope (header or presigned query), X-Amz-Target, Action, path. The
Host header plays no part: SDKs put prefixes such as `sync-` in front of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs

from statewright.errors import ApiError

TARGETS: Final = {"AWSStepFunctions": "states"}
"""Services by the prefix of their X-Amz-Target. Source: `targetPrefix` of the service models."""

SERVICES: Final = frozenset(TARGETS.values())
"""Services that answer here, by signing name."""


@dataclass(frozen=True, slots=True)
class Route:
    """Where a request goes. `operation` is empty when the request names none."""

    service: str
    operation: str


def route(path: str, query: str, headers: Mapping[str, str]) -> Route:
    """The service and operation of a request.

    Raises: ApiError (`UnknownService`, `UnknownOperationException`) for a request that is for none of ours.
    """
    prefix, _, operation = headers.get("x-amz-target", "").rpartition(".")
    signed_for = signing_service(query, headers)
    service = signed_for or TARGETS.get(prefix)
    if service is None:
        if prefix:
            raise ApiError("UnknownOperationException", f"No service here has the target {prefix[:100]}.")
        raise ApiError(
            "NotFound", f"There is nothing at {path[:200]}. Point an AWS SDK or the AWS CLI at this address."
        )
    if service not in SERVICES:
        raise ApiError("UnknownService", f"This version of Statewright does not have the service '{service[:100]}'.")
    if prefix and TARGETS.get(prefix) != service:
        raise ApiError("UnknownOperationException", f"The service '{service}' has no target {prefix[:100]}.")
    return Route(service, operation)


def signing_service(query: str, headers: Mapping[str, str]) -> str | None:
    """The service that a request is signed for, `None` when it is not signed or its scope is broken."""
    authorization = headers.get("authorization")
    if authorization is not None:
        start = authorization.find("Credential=")
        scope = authorization[start + 11 :].partition(",")[0] if start >= 0 else ""
    elif "X-Amz-Credential=" in query:
        scope = parse_qs(query).get("X-Amz-Credential", [""])[0]
    else:
        return None
    parts = scope.strip().split("/")
    return parts[-2] if len(parts) >= 5 and parts[-2] else None
