"""A stage of a REST API (API Gateway v1), compiled: its methods in a router, with their checks and integrations.

Owns what the rows of REST APIs mean for requests: the order of checks (key, parameters, body), gateway responses, and
the names of headers that a response may not have.

Source: API Gateway developer guide, "REST APIs"; routing, errors and headers are recorded.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from statewright.apis.authorizers.guards import Guards
from statewright.apis.authorizers.verdicts import Guard
from statewright.apis.body_models import LONG_BODY, fits
from statewright.apis.calls import (
    AWS,
    HTTP,
    LAMBDA_PROXY,
    CallContext,
    CallIntegration,
    Integration,
    IntegrationFailed,
    IntegrationResponse,
    Request,
    Response,
)
from statewright.apis.cors import Shared
from statewright.apis.gateway_responses import GatewayResponses, method_request
from statewright.apis.integrations.mapping import selection_pattern
from statewright.apis.records import GATEWAY_RESPONSE, MODEL, RESOURCE, VALIDATOR, Snapshot
from statewright.apis.routing import Router
from statewright.apis.throttling import Bucket
from statewright.apis.usage_plans import INVALID, Admission
from statewright.payload import JsonMapping, JsonTextError, parse_json

log = logging.getLogger("statewright.apis")

TIMEOUT_MS: Final = 29_000
_REMAPPED: Final = frozenset({
    "authorization", "connection", "content-md5", "date", "expect", "host", "max-forwards", "proxy-authenticate",
    "server", "trailer", "upgrade", "user-agent", "www-authenticate", "x-amzn-requestid",
})  # fmt: skip
_DROPPED: Final = frozenset({"transfer-encoding", "keep-alive", "te", "proxy-authorization"})
_TRACED: Final = frozenset({LAMBDA_PROXY, AWS, HTTP})
"""Integrations whose responses have a trace header (recorded)."""
_OF_THE_CLIENT: Final = frozenset({"BAD_REQUEST_BODY", "UNSUPPORTED_MEDIA_TYPE"})
"""Failures of integrations that are mistakes of the request."""
_SLASHES: Final = re.compile("^/+")

AdmitKey = Callable[[str, str, str, str], Admission]
"""Lets the value of an API key in to an API, a stage and a method; implemented by `UsagePlans.admit`."""


@dataclass(frozen=True, slots=True)
class RestMethod:
    """A method of a resource."""

    resource_id: str
    path: str
    http_method: str
    integration: Integration | None
    key_required: bool = False
    required: tuple[str, ...] = ()
    """Parameters that a request must have, in the order in which a refusal names them."""
    schemas: Mapping[str, JsonMapping] | None = None
    """Schemas of bodies by content type, where bodies are checked."""
    guard: Guard | None = None
    bucket: Bucket | None = None
    """Throttles the method."""


class RestStage:
    """Answers the requests to one stage of a REST API."""

    def __init__(
        self,
        settings: JsonMapping,
        snapshot: Snapshot,
        calls: Mapping[str, CallIntegration],
        admit_key: AdmitKey,
        bucket_of: Callable[[str], Bucket | None],
        guards: Guards,
    ) -> None:
        """`settings` are those of the API; `calls` call integrations by their type; `bucket_of` is asked by method."""
        self._calls = calls
        self._admit_key = admit_key
        self._key_of_authorizer = settings.get("apiKeySource") == "AUTHORIZER"
        self._binary = tuple(settings.get("binaryMediaTypes") or ())
        self._responses = GatewayResponses(snapshot.get(GATEWAY_RESPONSE, {}))
        self._models = {name: _schema(one.get("schema") or "{}") for name, one in snapshot.get(MODEL, {}).items()}
        self._router: Router[RestMethod] = Router()
        for resource_id, one in snapshot.get(RESOURCE, {}).items():
            for http_method, method in (one.get("methods") or {}).items():
                made = _method(resource_id, one["path"], http_method, method, snapshot, self._models)
                bucket = bucket_of(f"{one['path']}/{http_method}")
                guard = guards.of_method(method, snapshot)
                self._router.add(http_method, one["path"], replace(made, guard=guard, bucket=bucket))

    def shares_with(self, path: str, _origin: str) -> Shared:
        """How far pages of an origin may call a path: a REST API with CORS has a method OPTIONS there."""
        return "everyone" if self._router.find("OPTIONS", _matched(path)) is not None else "no"

    async def answer(self, request: Request, context: CallContext) -> Response:
        """Answer a request."""
        response = await self._answered(request, context)
        response.headers += [
            ("x-amzn-RequestId", context.request_id), ("x-amz-apigw-id", context.extended_request_id)
        ]  # fmt: skip
        return response

    async def _answered(self, request: Request, context: CallContext) -> Response:
        context.binary_types = self._binary
        request.path = _SLASHES.sub("/", request.path)
        context.http_method = request.method
        found = self._router.find(request.method, _matched(request.path))
        if found is None or found.target.integration is None:
            kind = "MISSING_AUTHENTICATION_TOKEN" if found is None else "API_CONFIGURATION_ERROR"
            return self._responses.response(kind, request, context)
        method = found.target
        context.resource_path, context.resource_id = method.path, method.resource_id
        context.path_parameters = found.parameters
        if method.bucket is not None and not method.bucket.take():
            return self._responses.response("THROTTLED", request, context)
        if method.guard is not None:
            asked = await method.guard(request, context)
            if asked is not None:
                return self._responses.refused(asked, request, context)
        refused = await self._checked(method, request, context)
        if refused is not None:
            return refused
        assert method.integration is not None
        call = self._calls.get(method.integration.type)
        try:
            if call is None:
                raise IntegrationFailed("API_CONFIGURATION_ERROR", f"no integrations {method.integration.type}")
            response = await (
                call(method.integration, request, context)
                if context.trace is None
                else context.trace.call(call, method.integration, request, context)
            )
        except IntegrationFailed as problem:
            if problem.kind not in _OF_THE_CLIENT:
                log.warning("%s %s of the API %s: %s", request.method, method.path, context.api_id, problem)
            text = problem.why if problem.kind == "BAD_REQUEST_BODY" else None
            return self._responses.response(problem.kind, request, context, text)
        response.headers = _allowed(response.headers)
        if method.integration.type in _TRACED:
            response.headers.append(("X-Amzn-Trace-Id", f"Root=1-{context.time_ms // 1000:08x}"))
        return response

    async def _checked(self, method: RestMethod, request: Request, context: CallContext) -> Response | None:
        """The refusal of a request that may not pass; `None` for all others."""
        if method.key_required:
            value = context.usage_key if self._key_of_authorizer else request.header("x-api-key")
            name = f"{method.path}/{method.http_method}"
            key = self._admit_key(value, context.api_id, context.stage, name) if value else INVALID
            if key.refusal:
                return self._responses.response(key.refusal, request, context)
            context.identity.update(apiKey=value, apiKeyId=key.key_id)
        missing = [source for source in method.required if not method_request(source, request, context)]
        if missing:
            names = ", ".join(one.split(".", 3)[3] for one in missing)
            text = f"Missing required request parameters: [{names}]"
            return self._responses.response("BAD_REQUEST_PARAMETERS", request, context, text)
        if method.schemas is not None:
            kind = (request.header("content-type") or "application/json").partition(";")[0].strip()
            schema = method.schemas.get(kind) or method.schemas.get("$default")
            if schema is not None and not await _fits(schema, request.body, self._models):
                return self._responses.response("BAD_REQUEST_BODY", request, context)
        return None


async def _fits(schema: JsonMapping, body: bytes, models: Mapping[str, JsonMapping]) -> bool:
    if len(body) > LONG_BODY:
        return await asyncio.to_thread(fits, schema, body, models)
    return fits(schema, body, models)


def _matched(path: str) -> str:
    return "/" + path.strip("/") if len(path) > 1 else path


def _allowed(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The headers of a response: those of the connection have other names, or none."""
    found = []
    for name, value in headers:
        lower = name.lower()
        if lower in _REMAPPED:
            found.append((f"x-amzn-Remapped-{name}", value))
        elif lower == "content-length":
            found.append(("x-amzn-Remapped-Content-Length", value))
        elif lower not in _DROPPED:
            found.append((name, value))
    return found


def _method(
    resource_id: str,
    path: str,
    http_method: str,
    method: JsonMapping,
    snapshot: Snapshot,
    models: Mapping[str, JsonMapping],
) -> RestMethod:
    validator = snapshot.get(VALIDATOR, {}).get(method.get("requestValidatorId") or "", {})
    required: list[str] = []
    if validator.get("validateRequestParameters"):
        given = [name for name, needed in (method.get("requestParameters") or {}).items() if needed]
        required = [name for kind in ("header", "path", "querystring") for name in given if f".{kind}." in name]
    schemas: dict[str, JsonMapping] | None = None
    if validator.get("validateRequestBody"):
        schemas = {kind: models[name] for kind, name in (method.get("requestModels") or {}).items() if name in models}
    integration = method.get("methodIntegration")
    return RestMethod(
        resource_id, path, http_method, integration_of(integration) if integration else None,
        bool(method.get("apiKeyRequired")), tuple(required), schemas,
    )  # fmt: skip


def _schema(text: str) -> JsonMapping:
    try:
        found = parse_json(text)
    except JsonTextError:
        return {}
    return found if isinstance(found, dict) else {}


def integration_of(settings: JsonMapping) -> Integration:
    """The integration that a method has."""
    responses = [_response(status, one) for status, one in (settings.get("integrationResponses") or {}).items()]
    return Integration(
        settings["type"], settings.get("uri") or "", settings.get("httpMethod") or "",
        timeout_ms=settings.get("timeoutInMillis") or TIMEOUT_MS,
        parameters=settings.get("requestParameters") or {}, templates=settings.get("requestTemplates") or {},
        passthrough=settings.get("passthroughBehavior") or "WHEN_NO_MATCH",
        content_handling=settings.get("contentHandling"), responses=tuple(responses),
    )  # fmt: skip


def _response(status: str, given: JsonMapping) -> IntegrationResponse:
    pattern = given.get("selectionPattern")
    return IntegrationResponse(
        int(status), selection_pattern(pattern) if pattern else None, given.get("responseParameters") or {},
        given.get("responseTemplates") or {}, given.get("contentHandling"),
    )  # fmt: skip
