"""A stage of an HTTP API (API Gateway v2), compiled: its routes in a router, with their integrations.

Owns what the rows of HTTP APIs mean for requests, and the gateway's own answers.

Source: API Gateway developer guide, "Routing API requests" and "Create HTTP API integrations".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from statewright.apis.authorizers.guards import Guards
from statewright.apis.authorizers.verdicts import Guard, Refusal
from statewright.apis.calls import (
    CallContext,
    CallIntegration,
    Integration,
    IntegrationFailed,
    Request,
    Response,
)
from statewright.apis.cors import Cors, Shared
from statewright.apis.gateway_responses import STATUSES
from statewright.apis.records import INTEGRATION, ROUTE, Snapshot
from statewright.apis.routing import ANY, Found, Router
from statewright.apis.throttling import Bucket
from statewright.payload import JsonMapping

DEFAULT_ROUTE: Final = "$default"
DEFAULT_STAGE: Final = "$default"
TIMEOUT_MS: Final = 30_000
"""Source: quotas of HTTP APIs, maximum integration timeout."""
SERVICE: Final = "service"
"""The type of integrations with a subtype."""
_DROPPED: Final = frozenset({
    "connection", "content-length", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer",
    "transfer-encoding", "upgrade",
})  # fmt: skip
"""Headers of one connection: an integration's are not those of the client's."""


@dataclass(frozen=True, slots=True)
class HttpRoute:
    """A route with its integration."""

    key: str
    id: str
    integration: Integration | None
    guard: Guard | None = None
    bucket: Bucket | None = None
    """Throttles the route."""


def refusal(status: int, message: str) -> Response:
    """An answer of the gateway itself."""
    return Response(status, [("content-type", "application/json")], orjson.dumps({"message": message}))


NOT_FOUND: Final = (404, "Not Found")
UNAUTHORIZED: Final = (401, "Unauthorized")
FORBIDDEN: Final = (403, "Forbidden")
FAILED: Final = (500, "Internal Server Error")
TOO_MANY: Final = (429, "Too Many Requests")
REFUSED: Final = {401: UNAUTHORIZED, 403: FORBIDDEN}
"""The answers to refusals of authorizers by their status; all others are `FAILED`."""
UNAVAILABLE: Final = (503, "Service Unavailable")
_ANSWERS: Final = {"INTEGRATION_TIMEOUT": UNAVAILABLE, "REQUEST_TOO_LARGE": (413, "Request Entity Too Large")}
"""The answers to failures of integrations by their kind; all others are `FAILED`."""


class HttpStage:
    """Answers the requests to one stage of an HTTP API."""

    def __init__(
        self,
        settings: JsonMapping,
        snapshot: Snapshot,
        calls: Mapping[str, CallIntegration],
        bucket_of: Callable[[str], Bucket | None],
        guards: Guards,
    ) -> None:
        """`settings` are those of the API; `calls` call integrations by their type; `bucket_of` is asked by route."""
        self.cors: Final = Cors.of(settings.get("CorsConfiguration"))
        self._calls = calls
        self._router: Router[HttpRoute] = Router()
        self._default: HttpRoute | None = None
        integrations = {key: integration_of(one) for key, one in snapshot.get(INTEGRATION, {}).items()}
        for route_id, one in snapshot.get(ROUTE, {}).items():
            key = one["RouteKey"]
            target = (one.get("Target") or "").removeprefix("integrations/")
            guard = guards.of_route(one, snapshot)
            route = HttpRoute(key, route_id, integrations.get(target), guard, bucket_of(key))
            if key == DEFAULT_ROUTE:
                self._default = route
            else:
                method, _, path = key.partition(" ")
                self._router.add(method, path, route)

    def route(self, method: str, path: str) -> Found[HttpRoute] | None:
        """The route of a request."""
        found = self._router.find(method, path)
        if found is None and self._default is not None:
            return Found(self._default, {})
        return found

    def shares_with(self, _path: str, origin: str) -> Shared:
        """How far pages of an origin may call the stage, by its CORS configuration."""
        return "no" if self.cors is None else self.cors.shares_with(origin)

    async def answer(self, request: Request, context: CallContext) -> Response:
        """Answer a request."""
        origin = request.header("origin")
        if self.cors is not None:
            answered = self.cors.preflight(request)
            if answered is not None:
                return answered
        response = await self._routed(request, context)
        if self.cors is not None:
            self.cors.apply(response, origin)
        return response

    async def _routed(self, request: Request, context: CallContext) -> Response:
        context.http_method = request.method
        found = self.route(request.method, request.path)
        if found is None or found.target.integration is None:
            return refusal(*NOT_FOUND)
        route = found.target
        assert route.integration is not None
        context.resource_path, context.resource_id = route.key, route.id
        if route.bucket is not None and not route.bucket.take():
            return refusal(*TOO_MANY)
        context.path_parameters = found.parameters
        if route.guard is not None:
            refused = await route.guard(request, context)
            if refused is not None:
                return refused_by(refused)
        try:
            call = self._calls[_kind(route.integration)]
            response = await (
                call(route.integration, request, context)
                if context.trace is None
                else context.trace.call(call, route.integration, request, context)
            )
        except IntegrationFailed as problem:
            return refusal(*_ANSWERS.get(problem.kind, FAILED))
        without_connection(response)
        return response


def without_connection(response: Response) -> None:
    """Take headers of an integration's connection out of its response."""
    response.headers = [one for one in response.headers if one[0].lower() not in _DROPPED]


def refused_by(given: Refusal) -> Response:
    """The answer to a request that an authorizer does not let in."""
    response = refusal(*REFUSED.get(STATUSES[given.kind] or 500, FAILED))
    response.headers += given.headers
    return response


def _kind(integration: Integration) -> str:
    return SERVICE if integration.subtype else integration.type


def integration_of(settings: JsonMapping) -> Integration:
    """The integration that a row describes."""
    return Integration(
        settings["IntegrationType"], settings.get("IntegrationUri") or "", settings.get("IntegrationMethod") or ANY,
        settings.get("IntegrationSubtype") or "", settings.get("PayloadFormatVersion") or "1.0",
        settings.get("TimeoutInMillis") or TIMEOUT_MS, settings.get("RequestParameters") or {},
        response_parameters=settings.get("ResponseParameters") or {},
    )  # fmt: skip
