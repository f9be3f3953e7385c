"""Operations that read OpenAPI documents into HTTP APIs."""

from __future__ import annotations

from typing import Final, cast

from statewright.api.apigatewayv2.changes import change
from statewright.api.apigatewayv2.http_apis import shown
from statewright.api.operations import App, Call
from statewright.api.protocols.bounds import apart
from statewright.apis.apis import Apis, Held
from statewright.apis.errors import bad_request
from statewright.apis.openapi.documents import BasePath, Home, read_openapi
from statewright.apis.openapi.http import HttpDefinition, http_definition
from statewright.apis.records import AUTHORIZER, HTTP_API, INTEGRATION, ROUTE, Member
from statewright.payload import Json, JsonMapping, JsonObject

_BASE_PATHS: Final = ("ignore", "prepend", "split")
_DEFINED: Final = (ROUTE, INTEGRATION, AUTHORIZER)
"""The kinds of members that a definition has."""
_KEPT: Final = ("IpAddressType",)
"""Settings that a definition does not have."""


async def _definition(app: App, request: JsonMapping) -> HttpDefinition:
    """The definition in a request. Raises: ApiError."""
    base_path = (request.get("Basepath") or "ignore").lower()
    if base_path not in _BASE_PATHS:
        raise bad_request(f"Invalid value for basepath: {base_path[:50]}. Valid values are ignore, prepend, split")
    mode = cast(BasePath, base_path)
    body, home = request["Body"].encode(), Home(app.config.account, app.config.region)
    found = await apart(len(body), lambda: http_definition(read_openapi(body, home), mode))
    if found.warnings and request.get("FailOnWarnings"):
        raise bad_request("Warnings found during import:\n\t" + "\n\t".join(found.warnings))
    return found


def _members(apis: Apis, definition: HttpDefinition) -> list[Member]:
    """The members of a definition."""
    integrations = {name: apis.new(INTEGRATION, settings) for name, settings in definition.integrations.items()}
    authorizers = {name: apis.new(AUTHORIZER, settings) for name, settings in definition.authorizers.items()}
    routes = []
    for one in definition.routes:
        settings: JsonObject = {
            "ApiKeyRequired": False, "AuthorizationType": one.guard.authorization, "RouteKey": one.key,
        }  # fmt: skip
        if one.guard.authorizer:
            settings["AuthorizerId"] = authorizers[one.guard.authorizer].id
        if one.guard.scopes:
            settings["AuthorizationScopes"] = list(one.guard.scopes)
        if one.integration:
            settings["Target"] = f"integrations/{integrations[one.integration].id}"
        if one.operation_name:
            settings["OperationName"] = one.operation_name
        routes.append(apis.new(ROUTE, settings))
    return [*integrations.values(), *authorizers.values(), *routes]


def _answer(app: App, held: Held, definition: HttpDefinition) -> Json:
    return {**shown(app, held), "Warnings": definition.warnings or None, "ImportInfo": definition.info or None}


@change("apigatewayv2", "ImportApi")
async def import_api(app: App, _call: Call, request: Json) -> Json:
    """Create an API from a document."""
    definition = await _definition(app, request)
    apis = app.services.apis
    held = await apis.create(HTTP_API, definition.settings, definition.tags, _members(apis, definition))
    return _answer(app, held, definition)


@change("apigatewayv2", "ReimportApi")
async def reimport_api(app: App, _call: Call, request: Json) -> Json:
    """Put a document in the place of an API's routes, integrations, authorizers and settings; its stages stay."""
    apis = app.services.apis
    apis.get(request["ApiId"], HTTP_API)
    definition = await _definition(app, request)
    held = apis.get(request["ApiId"], HTTP_API)
    gone = [one for kind in _DEFINED for one in held.of(kind).values()]
    kept = {name: held.api.settings[name] for name in _KEPT if name in held.api.settings}
    tags = {**held.api.tags, **definition.tags}
    await apis.redefine(held, {**kept, **definition.settings}, tags, _members(apis, definition), gone)
    return _answer(app, held, definition)
