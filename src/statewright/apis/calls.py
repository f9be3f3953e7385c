"""The values between the data plane and its integrations: a request, its context, an integration, a response.

Owns their form only. The port makes the first from HTTP, `data_plane.py` the second, the compilers of APIs
(`http_apis.py`, `rest_apis.py`) the third, and each integration returns a response or raises `IntegrationFailed`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Protocol
from urllib.parse import parse_qsl

from statewright.payload import JsonObject
from statewright.query.linear_regex import LinearRegex

Headers = tuple[tuple[str, str], ...]

LAMBDA_PROXY: Final = "AWS_PROXY"
AWS: Final = "AWS"
HTTP_PROXY: Final = "HTTP_PROXY"
HTTP: Final = "HTTP"
MOCK: Final = "MOCK"


@dataclass(slots=True)
class Request:
    """A request to an API. `path` begins after the stage, still escaped; `raw_path` is the path as sent.

    `headers` keep the order and the spelling of the client. `source_ip` is the client's address.
    """

    method: str
    path: str
    raw_path: str
    query_string: str
    headers: Headers
    body: bytes
    source_ip: str
    host: str
    protocol: str = "HTTP/1.1"
    _query: dict[str, list[str]] | None = None
    _single: dict[str, str] | None = None

    @property
    def query(self) -> dict[str, list[str]]:
        """All values of each query parameter, decoded once."""
        if self._query is None:
            found: dict[str, list[str]] = {}
            for name, value in parse_qsl(self.query_string, keep_blank_values=True):
                found.setdefault(name, []).append(value)
            self._query = found
        return self._query

    def header(self, name: str) -> str | None:
        """The last value of a header, by its name in lower case."""
        if self._single is None:
            self._single = {one.lower(): value for one, value in self.headers}
        return self._single.get(name)


@dataclass(slots=True)
class Response:
    """A response to a client. Repeated names of `headers` stay apart."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class Traced(Protocol):
    """Notes the course of a request; implemented by `access_logs.Trace`."""

    async def call(
        self, call: CallIntegration, integration: Integration, request: Request, context: CallContext
    ) -> Response:
        """Call an integration and note its answer. Raises: IntegrationFailed."""

    def refused(self, kind: str, message: str) -> None:
        """Note an answer of the gateway itself."""


@dataclass(slots=True)
class CallContext:
    """The circumstances of one request: what `$context` and `requestContext` are made of.

    `path` is that of the client with the stage. `identity` has what is known of the caller. The overrides are written
    by mapping templates.
    """

    account: str
    region: str
    api_id: str
    stage: str
    deployment_id: str
    request_id: str
    time_ms: int
    domain_name: str
    path: str
    protocol: str = "HTTP/1.1"
    resource_id: str = ""
    resource_path: str = ""
    """The path of the resource, or the key of the route."""
    http_method: str = ""
    extended_request_id: str = ""
    path_parameters: Mapping[str, str] = field(default_factory=dict)
    stage_variables: Mapping[str, str] = field(default_factory=dict)
    identity: JsonObject = field(default_factory=dict)
    trace: Traced | None = None
    """Notes the course of the request, if the stage writes an access log."""
    authorizer: JsonObject | None = None
    authorizer_2: JsonObject | None = None
    """The authorizer as format 2.0 of events shows it: `lambda`, `jwt` or `iam`."""
    usage_key: str | None = None
    """The API key that an authorizer named."""
    request_override: JsonObject = field(default_factory=dict)
    response_override: JsonObject = field(default_factory=dict)
    binary_types: tuple[str, ...] = ()
    """The API's binary media types."""

    @property
    def request_time(self) -> str:
        """The time of the request in the form of log files: `22/Nov/2026:20:51:42 +0000`."""
        return datetime.fromtimestamp(self.time_ms / 1000, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")

    def shown(self) -> JsonObject:
        """`$context`, as mapping templates and access logs see it. Source: `$context` variables, observed order."""
        found: JsonObject = {
            "resourceId": self.resource_id, "resourcePath": self.resource_path, "httpMethod": self.http_method,
            "extendedRequestId": self.extended_request_id, "requestTime": self.request_time, "path": self.path,
            "accountId": self.account, "protocol": self.protocol, "requestOverride": self.request_override,
            "stage": self.stage, "domainPrefix": self.api_id, "requestTimeEpoch": self.time_ms,
            "requestId": self.request_id, "identity": self.identity, "domainName": self.domain_name,
            "deploymentId": self.deployment_id, "responseOverride": self.response_override, "apiId": self.api_id,
        }  # fmt: skip
        if self.authorizer is not None:
            found["authorizer"] = self.authorizer
        return found


@dataclass(frozen=True, slots=True)
class IntegrationResponse:
    """One response of an integration that is no proxy: chosen where `pattern` matches, the default one without."""

    status: int
    pattern: LinearRegex | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    templates: Mapping[str, str] = field(default_factory=dict)
    content_handling: str | None = None


@dataclass(frozen=True, slots=True)
class Integration:
    """The settings of an integration, compiled when its API is deployed.

    `type` is one of the five above; `subtype` that of HTTP APIs (`StepFunctions-StartExecution`). `parameters` maps
    `integration.request.header.X` and the like (REST), or the parameters of the subtype (HTTP APIs).
    """

    type: str
    uri: str = ""
    http_method: str = "POST"
    subtype: str = ""
    payload_version: str = "1.0"
    timeout_ms: int = 29_000
    parameters: Mapping[str, str] = field(default_factory=dict)
    templates: Mapping[str, str] = field(default_factory=dict)
    passthrough: str = "WHEN_NO_MATCH"
    content_handling: str | None = None
    responses: tuple[IntegrationResponse, ...] = ()
    response_parameters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """HTTP APIs: mapped parameters of the response by status."""


class IntegrationFailed(Exception):
    """An integration that gives no response: the gateway answers by its own rule for `kind`.

    `kind` is the type of a gateway response (`INTEGRATION_FAILURE`, `INTEGRATION_TIMEOUT`, `API_CONFIGURATION_ERROR`),
    or `MALFORMED` for an answer of a function that is no response.
    """

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(f"{kind}: {why}")
        self.kind = kind
        self.why = why


CallIntegration = Callable[[Integration, Request, CallContext], Awaitable[Response]]
"""Calls an integration of one type. Raises: IntegrationFailed."""
