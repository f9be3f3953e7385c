"""The description of a service: one value, `SERVICE`, in the module `service` of its folder.

Owns the form. `services.py` lists the values; routing, limits on bodies, wires, the names that tasks and targets use
and `docs/services.md` are derived from that list. A value names its modules instead of importing them: operations are
loaded when a server starts, otherwise with their first call; wires with their first request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

JSON: Final = "json"
QUERY: Final = "query"
REST: Final = "rest"
CBOR: Final = "cbor"

APART: Final = "apart"
"""Each region has resources of its own."""
GLOBAL: Final = "global"
"""All regions have the same resources."""
ONE: Final = "one"
"""Only the default region has the service."""

BODY_BYTES: Final = 2 * 1024 * 1024
"""Longest body of a request for JSON services. Source: service quotas, 1 MB a request; this leaves room for escapes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Service:
    """One service, as everything outside its folder needs to know it."""

    name: str
    """The name that requests are signed for and operations are registered under: `monitoring`."""
    title: str
    """The name in documents: `CloudWatch`."""
    document: str
    """The file in `docs/` that describes it."""
    package: str
    """Its folder, as a dotted name."""
    operations: tuple[str, ...]
    """Modules of `package` that register operations, those of most use first; each registers or imports the refusal of
    invalid requests, if the service has one of its own."""
    protocols: tuple[str, ...]
    """The protocols that it speaks; the last one is that of requests without X-Amz-Target."""
    wires: str | None = None
    """A module with `wire(service, protocol) -> Wire`, as a dotted name; `None` for the plain protocols."""
    precedence: str | None = None
    """A module with `first_error(app, incoming, error) -> ApiError`, as a dotted name: what a service that finds other
    errors before those of a body says in place of a refused one."""
    json_version: str = "1.0"
    """The version of AWS JSON. Source: `jsonVersion` of the service model."""
    target: str | None = None
    """Prefix of its X-Amz-Target. Source: `targetPrefix` of the service model."""
    version: str | None = None
    """The version that its forms in the query protocol name: only this distinguishes unsigned forms."""
    signed_for: str | None = None
    """The service whose signing name its requests are signed for, if that is another's: only the target, or the start
    of the path, tells them apart."""
    paths: str | None = None
    """The start of its paths, if these tell its requests from those of the service that it is signed for."""
    client: str | None = None
    """botocore's name for it, if that is not `name`: `cloudwatch`."""
    body_bytes: int = BODY_BYTES
    """Longest body taken into memory: what its quotas allow, with room for escapes and base64."""
    regions: str = ONE
    """How the service tells regions apart: `APART`, `GLOBAL` or `ONE`."""
    streams: bool = False
    """True if operations read bodies piece by piece, and compare the signed hash themselves."""
    id_headers: tuple[bytes, ...] = (b"x-amzn-requestid",)
    """The headers of an answer that carry the id of its request."""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    """Further headers of every answer."""
    open_operations: frozenset[str] = frozenset()
    """Operations that need no signature: links in messages lead to them."""
    statuses: Mapping[str, int] = field(default_factory=dict)
    """HTTP status by error code, for codes that have none in the service model."""
    task_names: tuple[str, ...] = ()
    """Names in the ARNs of task resources: `events` in `arn:aws:states:::events:putEvents`."""
    sdk_names: tuple[str, ...] = ()
    """The names that SDKs use, in `aws-sdk:` resources and in universal targets of schedules: `eventbridge`."""

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules that register its operations, as dotted names."""
        return tuple(f"{self.package}.{module}" for module in self.operations)
