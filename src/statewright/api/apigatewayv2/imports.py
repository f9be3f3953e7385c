"""Operations that read OpenAPI documents into HTTP APIs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from statewright.api.apigatewayv2.changes import change
from statewright.api.apigatewayv2.http_apis import shown
from statewright.api.operations import App, Call
from statewright.api.protocols.bounds import MOST_COST, apart, is_dense_json
from statewright.apis.apis import Apis, Held
from statewright.apis.errors import bad_request
from statewright.apis.openapi.documents import Home, OpenApi, base_path_mode, read_openapi
from statewright.apis.openapi.http import HttpDefinition, http_definition
from statewright.apis.records import AUTHORIZER, HTTP_API, INTEGRATION, ROUTE, Member
from statewright.payload import Json, JsonMapping, JsonObject

T = TypeVar("T")
_DEFINED: Final = (ROUTE, INTEGRATION, AUTHORIZER)
"""The kinds of members that a definition has."""
_KEPT: Final = ("IpAddressType",)
"""Settings that a definition does not have."""


async def defined(app: App, body: bytes, define: Callable[[OpenApi], T], *, fails_on_warnings: bool) -> T:
    """The definition that a function makes of the document in a request. Raises: ApiError."""
    home = Home(app.config.account, app.config.region)

    def read() -> tuple[T, list[str]]:
        if is_dense_json(body, MOST_COST):
            raise bad_request("The document has more values than Statewright reads in one request.")
        document = read_openapi(body, home)
        return define(document), document.warnings

    found, warnings = await apart(len(body), read)
    if warnings and fails_on_warnings:
        raise bad_request("Warnings found during import:\n\t" + "\n\t".join(warnings))
    return found


async def _definition(app: App, request: JsonMapping) -> HttpDefinition:
    """The definition in a request. Raises: ApiError."""
    mode = base_path_mode(request.get("Basepath"))
    fails = bool(request.get("FailOnWarnings"))
    return await defined(
        app, request["Body"].encode(), lambda document: http_definition(document, mode), fails_on_warnings=fails
    )


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
    held = apis.get(request["ApiId"], HTTP_API)
    definition = await _definition(app, request)
    gone = [one for kind in _DEFINED for one in held.of(kind).values()]
    kept = {name: held.api.settings[name] for name in _KEPT if name in held.api.settings}
    tags = {**held.api.tags, **definition.tags}
    await apis.redefine(held, {**kept, **definition.settings}, tags, _members(apis, definition), gone)
    return _answer(app, held, definition)
