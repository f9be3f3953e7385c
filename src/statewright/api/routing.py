"""Routing: the service that a request is for, and its protocol.

A request names its service, in this order, by the SigV4 credential scope (header or presigned query), X-Amz-Target,
Action, or path. The Host header does not identify it: SDKs put prefixes such as `sync-` in front of it. The name of the
operation is read by the protocol.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs

from statewright.api.service import CBOR, JSON, QUERY, REST, Service
from statewright.api.services import BY_NAME, SERVICES
from statewright.config import DEFAULT_SCOPE
from statewright.errors import ApiError

FOREIGN: Final = "foreign"
"""The protocol of services that are not served here: their requests are forwarded in any protocol."""

RPC_CBOR: Final = "rpc-v2-cbor"
CBOR_PATH: Final = re.compile(r".*/service/(?P<service>[^/]+)/operation/(?P<operation>[^/?]+)")
"""Source: smithy.protocols#rpcv2Cbor: the path may follow others."""

_VERSION: Final = re.compile(r"(?:^|&)Version=([0-9-]{10})(?:&|$)")
_DATED_PATH: Final = re.compile(r"/20[0-9]{2}-[01][0-9]-[0-3][0-9]/")
"""The paths of Lambda's API begin with the date of the operation's version."""
_BUCKET_PATH: Final = re.compile(r"/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/?")
_OURS: Final = re.compile(r"/(health|metrics|console|favicon\.ico|robots\.txt)?(/.*)?")

_BY_TARGET: Final = {one.target: one for one in SERVICES if one.target is not None}
_BY_VERSION: Final = {one.version: one for one in SERVICES if one.version is not None}
_BY_PATH: Final = {one.signed_for: (one.paths, one) for one in SERVICES if one.paths and one.signed_for}
_BY_LINK: Final = {operation: one for one in SERVICES if QUERY in one.protocols for operation in one.open_operations}


@dataclass(frozen=True, slots=True)
class Route:
    """The destination of a request: a service by signing name, and a protocol."""

    service: str
    protocol: str
    region: str = ""
    """The region that it is signed for; empty for the default one."""


UNSIGNED_FORM: Final = Route("sqs", QUERY)
"""The route of unsigned forms, until they are read."""


def route(method: str, path: str, query: str, headers: Mapping[str, str]) -> Route:
    """The service and protocol of a request.

    Raises: ApiError (`UnknownOperationException`, `NotFound`) for one that names no service.
    """
    prefix = headers.get("x-amz-target", "").rpartition(".")[0]
    region, signed_for = signing_scope(query, headers)
    in_cbor = headers.get("smithy-protocol") == RPC_CBOR
    if in_cbor and not prefix:
        # The path names the service as targets do.
        found = CBOR_PATH.fullmatch(path)
        prefix = found["service"] if found else ""
    service = BY_NAME.get(signed_for) if signed_for is not None else _BY_TARGET.get(prefix)
    if signed_for in _BY_PATH and path.startswith(_BY_PATH[signed_for][0]):
        service = _BY_PATH[signed_for][1]
    if service is None:
        if signed_for is not None:
            return Route(signed_for, FOREIGN, region)
        if prefix:
            raise ApiError("UnknownOperationException", f"No service here has the target {prefix[:100]}.")
        return _unsigned(method, path, query, headers)
    if prefix:
        if service.target != prefix:
            service = _other_of(service, prefix)
        if service.target != prefix:
            raise ApiError("UnknownOperationException", f"The service '{service.name}' has no target {prefix[:100]}.")
        return Route(service.name, CBOR if in_cbor and CBOR in service.protocols else JSON, region)
    return Route(service.name, service.protocols[-1], region)


def _other_of(service: Service, prefix: str) -> Service:
    """The service of a target whose requests are signed for `service`; itself, if there is none."""
    found = _BY_TARGET.get(prefix)
    return found if found is not None and found.signed_for == service.name else service


def _unsigned(method: str, path: str, query: str, headers: Mapping[str, str]) -> Route:
    """The route of an unsigned request that names no target."""
    if _DATED_PATH.match(path):
        return Route("lambda", REST)
    linked = linked_service(query, headers)
    if linked is not None:
        return Route(linked, QUERY, _linked_region(query))
    form = headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
    if form and method == "POST" and _BUCKET_PATH.fullmatch(path) and not _OURS.fullmatch(path):
        return Route("s3", REST)
    if (method == "POST" and form) or (method in ("GET", "POST") and "Action=" in query):
        return UNSIGNED_FORM
    if not _OURS.fullmatch(path) or (path == "/" and bucket_in_host(headers.get("host", "")) is not None):
        return Route("s3", REST)
    raise ApiError("NotFound", f"There is nothing at {path[:200]}. Point an AWS SDK or the AWS CLI at this address.")


def linked_service(query: str, headers: Mapping[str, str]) -> str | None:
    """The service whose message contained the link of an unsigned request; `None` for every other request."""
    if "Action=" not in query or signing_service(query, headers) is not None:
        return None
    service = _BY_LINK.get(parse_qs(query, keep_blank_values=True).get("Action", [""])[0])
    return service.name if service is not None else None


def _linked_region(query: str) -> str:
    """The region of the resource that a link names by its ARN; empty if there is none."""
    return _linked_place(query)[0]


def linked_account(query: str) -> str:
    """The account of the resource that a link names by its ARN; empty if there is none."""
    return _linked_place(query)[1]


def _linked_place(query: str) -> tuple[str, str]:
    named = next((values[0] for name, values in parse_qs(query).items() if name.endswith("Arn")), "")
    parts = named.split(":", 5)
    return (parts[3], parts[4]) if len(parts) == 6 else ("", "")


def form_route(where: Route, query: str, body: bytes) -> Route:
    """The route of an unsigned form, once it has been read: its version names the service."""
    found = _VERSION.search(query) or _VERSION.search(body[-4_096:].decode("latin-1"))
    found = found or _VERSION.search(body[:4_096].decode("latin-1"))
    service = _BY_VERSION.get(found[1]) if found else None
    return where if service is None else Route(service.name, QUERY)


def bucket_in_host(host: str) -> str | None:
    """The bucket that a Host header names in front of the service's own name; `None` for path style.

    Source: S3 user guide, "Virtual hosting of buckets"; SDKs turn a local endpoint into `BUCKET.localhost`.
    """
    name = host.rpartition(":")[0] if re.search(r":[0-9]+$", host) else host
    found = _BUCKET_HOST.fullmatch(name)
    return found["bucket"] if found else None


_BUCKET_HOST: Final = re.compile(
    r"(?P<bucket>[a-z0-9][a-z0-9.\-]{1,61}?[a-z0-9])\.(?:s3[.-](?:[a-z0-9.\-]+\.)?amazonaws\.com|(?:s3\.)?localhost)",
    re.IGNORECASE,
)


def signing_service(query: str, headers: Mapping[str, str]) -> str | None:
    """The service that a request is signed for; `None` if it is unsigned or its scope is malformed."""
    return signing_scope(query, headers)[1]


def signing_scope(query: str, headers: Mapping[str, str]) -> tuple[str, str | None]:
    """The region and the service that a request is signed for; `None` if it is unsigned or its scope is malformed."""
    authorization = headers.get("authorization")
    if authorization is not None:
        start = authorization.find("Credential=")
        scope = authorization[start + 11 :].partition(",")[0] if start >= 0 else ""
    elif "X-Amz-Credential=" in query:
        scope = parse_qs(query).get("X-Amz-Credential", [""])[0]
    else:
        return "", None
    parts = scope.strip().split("/")
    if len(parts) < 5 or not parts[-2]:
        return "", None
    return "" if parts[-3] == DEFAULT_SCOPE else parts[-3], parts[-2]
