"""Operations on the authorizers of REST APIs."""

from __future__ import annotations

from typing import Final

from statewright.api.apigateway.patches import patched
from statewright.api.apigateway.rest_apis import api_of, page
from statewright.api.apigateway.stages import stage_of
from statewright.api.apigatewayv2.changes import change
from statewright.api.operations import App, Call, operation
from statewright.apis.apis import Held
from statewright.apis.authorizers.checks import check_rest_authorizer
from statewright.apis.authorizers.guards import REST_TTL_SECONDS
from statewright.apis.errors import conflict, not_found
from statewright.apis.records import AUTHORIZER, RESOURCE, Member
from statewright.payload import Json, JsonMapping, JsonObject

_AUTHORIZER: Final = (
    "name", "type", "providerARNs", "authType", "authorizerUri", "authorizerCredentials", "identitySource",
    "identityValidationExpression", "authorizerResultTtlInSeconds",
)  # fmt: skip
_AUTH_TYPES: Final = {"COGNITO_USER_POOLS": "cognito_user_pools"}


def _shown(one: Member) -> JsonObject:
    return {"id": one.id, **one.settings}


def _found(held: Held, authorizer_id: str) -> Member:
    found = held.of(AUTHORIZER).get(authorizer_id)
    if found is None:
        raise not_found("Invalid Authorizer identifier specified")
    return found


def _check(held: Held, settings: JsonObject, own: str = "") -> None:
    check_rest_authorizer(settings)
    if any(one.id != own and one.settings["name"] == settings["name"] for one in held.of(AUTHORIZER).values()):
        raise conflict(f"Authorizer name must be unique. Authorizer {settings['name']} already exists in this RestApi.")


@change("apigateway", "CreateAuthorizer")
async def create_authorizer(app: App, _call: Call, request: Json) -> Json:
    """Create an authorizer."""
    held = api_of(app, request)
    settings: JsonObject = {
        "authType": _AUTH_TYPES.get(request["type"], "custom"), "authorizerResultTtlInSeconds": REST_TTL_SECONDS,
        **{name: request[name] for name in _AUTHORIZER if request.get(name) is not None},
    }  # fmt: skip
    _check(held, settings)
    [written] = await app.services.apis.write(
        held, app.services.apis.new(AUTHORIZER, settings, app.services.apis.new_id(6))
    )
    return _shown(written)


@operation("apigateway", "GetAuthorizer")
async def get_authorizer(app: App, _call: Call, request: Json) -> Json:
    """Show an authorizer."""
    return _shown(_found(api_of(app, request), request["authorizerId"]))


@operation("apigateway", "GetAuthorizers")
async def get_authorizers(app: App, _call: Call, request: Json) -> Json:
    """List authorizers."""
    of = api_of(app, request).of(AUTHORIZER)
    return page(request, [_shown(of[key]) for key in sorted(of)], "id")


@change("apigateway", "UpdateAuthorizer")
async def update_authorizer(app: App, _call: Call, request: Json) -> Json:
    """Change an authorizer."""
    held = api_of(app, request)
    found = _found(held, request["authorizerId"])
    settings = patched(found.settings, request.get("patchOperations") or (), _AUTHORIZER, "Authorizer")
    _check(held, settings, found.id)
    [written] = await app.services.apis.write(held, app.services.apis.changed(found, settings))
    return _shown(written)


@change("apigateway", "DeleteAuthorizer")
async def delete_authorizer(app: App, _call: Call, request: Json) -> Json:
    """Delete an authorizer that no method has."""
    held = api_of(app, request)
    found = _found(held, request["authorizerId"])
    user = next((where for where, method in _methods(held) if method.get("authorizerId") == found.id), None)
    if user is not None:
        raise conflict(f"Cannot delete authorizer '{found.settings['name']}', is referenced in method: {user}")
    await app.services.apis.write(held, delete=[found])
    return {}


def _methods(held: Held) -> list[tuple[str, JsonMapping]]:
    return [
        (f"{one.settings['path']}/{name}", method)
        for one in held.of(RESOURCE).values()
        for name, method in (one.settings.get("methods") or {}).items()
    ]


@operation("apigateway", "FlushStageAuthorizersCache")
async def flush_stage_authorizers_cache(app: App, _call: Call, request: Json) -> Json:
    """Forget the results of a stage's authorizers."""
    held = api_of(app, request)
    app.services.data_plane.guards.results.flush(held.api.id, stage_of(held, request["stageName"]).id)
    return {}
