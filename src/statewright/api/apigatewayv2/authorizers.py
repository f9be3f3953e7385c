"""Operations on the authorizers of HTTP APIs."""

from __future__ import annotations

from typing import Final

from statewright.api.apigatewayv2.changes import change
from statewright.api.apigatewayv2.routes import api_of, given, listed, member, put, shown
from statewright.api.apigatewayv2.stages import stage_of
from statewright.api.operations import App, Call, operation
from statewright.apis.apis import Held
from statewright.apis.authorizers.checks import check_http_authorizer
from statewright.apis.errors import conflict
from statewright.apis.records import AUTHORIZER, ROUTE
from statewright.payload import Json, JsonMapping

_AUTHORIZER: Final = (
    "AuthorizerCredentialsArn", "AuthorizerPayloadFormatVersion", "AuthorizerResultTtlInSeconds", "AuthorizerType",
    "AuthorizerUri", "EnableSimpleResponses", "IdentitySource", "IdentityValidationExpression", "JwtConfiguration",
    "Name",
)  # fmt: skip


def _check(held: Held, settings: JsonMapping, own: str = "") -> None:
    check_http_authorizer(settings)
    if any(one.id != own and one.settings["Name"] == settings["Name"] for one in held.of(AUTHORIZER).values()):
        raise conflict(f"Authorizer with name {settings['Name']} already exists for this API")


@change("apigatewayv2", "CreateAuthorizer")
async def create_authorizer(app: App, _call: Call, request: Json) -> Json:
    """Create an authorizer."""
    held, settings = api_of(app, request), given(request, _AUTHORIZER)
    _check(held, settings)
    return await put(app, held, app.services.apis.new(AUTHORIZER, settings))


@operation("apigatewayv2", "GetAuthorizer")
async def get_authorizer(app: App, _call: Call, request: Json) -> Json:
    """Show an authorizer."""
    return shown(member(api_of(app, request), AUTHORIZER, request["AuthorizerId"]))


@operation("apigatewayv2", "GetAuthorizers")
async def get_authorizers(app: App, _call: Call, request: Json) -> Json:
    """List authorizers."""
    return listed(app, request, AUTHORIZER)


@change("apigatewayv2", "UpdateAuthorizer")
async def update_authorizer(app: App, _call: Call, request: Json) -> Json:
    """Change an authorizer."""
    held = api_of(app, request)
    found = member(held, AUTHORIZER, request["AuthorizerId"])
    settings = {**found.settings, **given(request, _AUTHORIZER)}
    _check(held, settings, found.id)
    return await put(app, held, app.services.apis.changed(found, settings))


@change("apigatewayv2", "DeleteAuthorizer")
async def delete_authorizer(app: App, _call: Call, request: Json) -> Json:
    """Delete an authorizer that no route has."""
    held = api_of(app, request)
    found = member(held, AUTHORIZER, request["AuthorizerId"])
    if any(one.settings.get("AuthorizerId") == found.id for one in held.of(ROUTE).values()):
        raise conflict(f"Cannot delete Authorizer '{found.id}': it is referenced by a Route")
    await app.services.apis.write(held, delete=[found])
    return {}


@operation("apigatewayv2", "ResetAuthorizersCache")
async def reset_authorizers_cache(app: App, _call: Call, request: Json) -> Json:
    """Forget the results of a stage's authorizers."""
    held = api_of(app, request)
    app.services.data_plane.guards.results.flush(held.api.id, stage_of(held, request["StageName"]).id)
    return {}
