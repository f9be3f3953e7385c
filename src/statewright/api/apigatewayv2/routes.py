"""Operations on the routes and integrations of HTTP APIs."""

from __future__ import annotations

from typing import Final

from statewright.api.apigatewayv2.changes import change
from statewright.api.apigatewayv2.http_apis import page
from statewright.api.operations import App, Call, operation
from statewright.apis.apis import Held
from statewright.apis.authorizers.checks import check_route_authorization
from statewright.apis.errors import conflict, not_found
from statewright.apis.http_apis import TIMEOUT_MS
from statewright.apis.records import AUTHORIZER, HTTP_API, INTEGRATION, ROUTE, Member
from statewright.apis.route_checks import check_integration, check_key, without_names
from statewright.payload import Json, JsonMapping, JsonObject

_ROUTE: Final = (
    "ApiKeyRequired", "AuthorizationScopes", "AuthorizationType", "AuthorizerId", "OperationName", "RequestParameters",
    "RouteKey", "Target",
)  # fmt: skip
_INTEGRATION: Final = (
    "ConnectionId", "ConnectionType", "CredentialsArn", "Description", "IntegrationMethod", "IntegrationSubtype",
    "IntegrationType", "IntegrationUri", "PayloadFormatVersion", "RequestParameters", "ResponseParameters",
    "TimeoutInMillis", "TlsConfig",
)  # fmt: skip
_NOUNS: Final = {ROUTE: "Route", INTEGRATION: "Integration", AUTHORIZER: "Authorizer"}


def api_of(app: App, request: JsonMapping) -> Held:
    """The API of a request. Raises: ApiError (`NotFoundException`)."""
    return app.services.apis.get(request["ApiId"], HTTP_API)


def member(held: Held, kind: str, id: str) -> Member:
    """A member of an API. Raises: ApiError (`NotFoundException`)."""
    found = held.of(kind).get(id)
    if found is None:
        raise not_found(f"Unable to find {_NOUNS[kind]} with ID {id}")
    return found


def given(request: JsonMapping, names: tuple[str, ...]) -> JsonObject:
    """The members of a request that have a value."""
    return {name: request[name] for name in names if request.get(name) is not None}


def shown(one: Member) -> JsonObject:
    """A route, an integration or an authorizer as its operations show it."""
    return {f"{_NOUNS[one.kind]}Id": one.id, **one.settings}


async def put(app: App, held: Held, one: Member) -> Json:
    """Write a member, and show it."""
    [written] = await app.services.apis.write(held, one)
    return shown(written)


# ------------------------------------------------------------------ routes


def _check_route(held: Held, settings: JsonMapping, own: str = "") -> None:
    key = settings["RouteKey"]
    check_key(key)
    shape = without_names(key)
    if any(one.id != own and without_names(one.settings["RouteKey"]) == shape for one in held.of(ROUTE).values()):
        raise conflict(f"Route with key {key} already exists for this API")
    target = settings.get("Target")
    if target is not None:
        named = target.removeprefix("integrations/")
        if named == target or named not in held.of(INTEGRATION):
            raise not_found(f"Unable to find Integration with ID {named}")
    authorizer = settings.get("AuthorizerId")
    if authorizer is not None and authorizer not in held.of(AUTHORIZER):
        raise not_found(f"Unable to find Authorizer with ID {authorizer}")
    check_route_authorization(settings, {one.id: one.settings for one in held.of(AUTHORIZER).values()})


@change("apigatewayv2", "CreateRoute")
async def create_route(app: App, _call: Call, request: Json) -> Json:
    """Create a route."""
    held = api_of(app, request)
    settings = {"ApiKeyRequired": False, "AuthorizationType": "NONE", **given(request, _ROUTE)}
    _check_route(held, settings)
    return await put(app, held, app.services.apis.new(ROUTE, settings))


@operation("apigatewayv2", "GetRoute")
async def get_route(app: App, _call: Call, request: Json) -> Json:
    """Show a route."""
    return shown(member(api_of(app, request), ROUTE, request["RouteId"]))


@operation("apigatewayv2", "GetRoutes")
async def get_routes(app: App, _call: Call, request: Json) -> Json:
    """List routes."""
    return listed(app, request, ROUTE)


@change("apigatewayv2", "UpdateRoute")
async def update_route(app: App, _call: Call, request: Json) -> Json:
    """Change a route."""
    held = api_of(app, request)
    found = member(held, ROUTE, request["RouteId"])
    changes = given(request, _ROUTE)
    kept = found.settings
    if changes.get("AuthorizationType", kept["AuthorizationType"]) != kept["AuthorizationType"]:
        # What belongs to another type of authorization does not stay.
        kept = {name: value for name, value in kept.items() if name not in ("AuthorizerId", "AuthorizationScopes")}
    settings = {**kept, **changes}
    _check_route(held, settings, found.id)
    return await put(app, held, app.services.apis.changed(found, settings))


@change("apigatewayv2", "DeleteRoute")
async def delete_route(app: App, _call: Call, request: Json) -> Json:
    """Delete a route."""
    held = api_of(app, request)
    await app.services.apis.write(held, delete=[member(held, ROUTE, request["RouteId"])])
    return {}


def listed(app: App, request: JsonMapping, kind: str) -> Json:
    """One page of the members of a kind."""
    of = api_of(app, request).of(kind)
    return page(request, [shown(of[key]) for key in sorted(of)], f"{_NOUNS[kind]}Id")


# ------------------------------------------------------------------ integrations


@change("apigatewayv2", "CreateIntegration")
async def create_integration(app: App, _call: Call, request: Json) -> Json:
    """Create an integration."""
    held = api_of(app, request)
    settings = {"ConnectionType": "INTERNET", "TimeoutInMillis": TIMEOUT_MS, **given(request, _INTEGRATION)}
    if settings["IntegrationType"] == "AWS_PROXY" and not settings.get("IntegrationSubtype"):
        settings.setdefault("IntegrationMethod", "POST")
    check_integration(settings)
    return await put(app, held, app.services.apis.new(INTEGRATION, settings))


@operation("apigatewayv2", "GetIntegration")
async def get_integration(app: App, _call: Call, request: Json) -> Json:
    """Show an integration."""
    return shown(member(api_of(app, request), INTEGRATION, request["IntegrationId"]))


@operation("apigatewayv2", "GetIntegrations")
async def get_integrations(app: App, _call: Call, request: Json) -> Json:
    """List integrations."""
    return listed(app, request, INTEGRATION)


@change("apigatewayv2", "UpdateIntegration")
async def update_integration(app: App, _call: Call, request: Json) -> Json:
    """Change an integration."""
    held = api_of(app, request)
    found = member(held, INTEGRATION, request["IntegrationId"])
    settings = {**found.settings, **given(request, _INTEGRATION)}
    if "RequestParameters" in request:
        merged = {**found.settings.get("RequestParameters", {}), **(request["RequestParameters"] or {})}
        # An empty value removes a parameter. Source: API reference, UpdateIntegration.
        settings["RequestParameters"] = {name: value for name, value in merged.items() if value != ""}
    check_integration(settings)
    return await put(app, held, app.services.apis.changed(found, settings))


@change("apigatewayv2", "DeleteIntegration")
async def delete_integration(app: App, _call: Call, request: Json) -> Json:
    """Delete an integration that no route has."""
    held = api_of(app, request)
    found = member(held, INTEGRATION, request["IntegrationId"])
    if any(one.settings.get("Target") == f"integrations/{found.id}" for one in held.of(ROUTE).values()):
        raise conflict(f"Cannot delete Integration '{found.id}': it is referenced by a Route")
    await app.services.apis.write(held, delete=[found])
    return {}
