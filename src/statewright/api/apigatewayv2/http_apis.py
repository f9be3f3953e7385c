"""Operations on HTTP APIs themselves, and on their tags."""

from __future__ import annotations

from typing import Final

from statewright.api.apigatewayv2.changes import change
from statewright.api.operations import App, Call, operation
from statewright.apis.apis import Held
from statewright.apis.errors import bad_request, not_found
from statewright.apis.http_apis import DEFAULT_ROUTE, DEFAULT_STAGE
from statewright.apis.records import DEPLOYMENT, HTTP_API, INTEGRATION, ROUTE, STAGE, Member
from statewright.pages import PageTokens
from statewright.payload import Json, JsonMapping, JsonObject
from statewright.tags import retagged

TOKENS: Final = PageTokens[str]("apigatewayv2", lambda _: bad_request("Invalid NextToken."))
_OWN: Final = ("Name", "Description", "Version", "CorsConfiguration", "DisableExecuteApiEndpoint", "IpAddressType")


def page(request: JsonMapping, items: list[JsonObject], id: str) -> Json:
    """One page of a list that is in the order of its ids."""
    after = TOKENS.read(request.get("NextToken"))
    left = [one for one in items if after is None or one[id] > after]
    text = request.get("MaxResults")
    if text is not None and not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise bad_request(f"Invalid MaxResults: {text[:20]}")
    limit = int(text) if text else max(1, len(left))
    more = left[limit - 1][id] if len(left) > limit else None
    return {"Items": left[:limit], "NextToken": TOKENS.write(more)}


def shown(app: App, held: Held) -> JsonObject:
    """An API as its operations show it."""
    api = held.api
    return {
        "ApiEndpoint": app.services.apis.address(api.id), "ApiId": api.id,
        "ApiKeySelectionExpression": "$request.header.x-api-key", "CreatedDate": api.created_ms,
        "DisableExecuteApiEndpoint": False, "IpAddressType": "ipv4", "ProtocolType": HTTP_API,
        "RouteSelectionExpression": "$request.method $request.path", "Tags": dict(api.tags), **api.settings,
    }  # fmt: skip


def _checked(request: JsonMapping) -> None:
    if request.get("ProtocolType") == "WEBSOCKET":
        raise bad_request(
            "This version of Statewright has no WebSocket APIs. Use an HTTP API (ProtocolType HTTP), and let clients "
            "ask for the result."
        )
    cors = request.get("CorsConfiguration") or {}
    if cors.get("AllowCredentials") and "*" in (cors.get("AllowOrigins") or ()):
        raise bad_request("Invalid CORS configuration: AllowCredentials cannot be true if AllowOrigins is *")


@change("apigatewayv2", "CreateApi")
async def create_api(app: App, _call: Call, request: Json) -> Json:
    """Create an API; with a target, also its default route and stage."""
    _checked(request)
    apis = app.services.apis
    members: list[Member] = []
    if request.get("Target"):
        uri = request["Target"]
        is_lambda = uri.startswith("arn:")
        integration = apis.new(INTEGRATION, {
            "IntegrationType": "AWS_PROXY" if is_lambda else "HTTP_PROXY", "IntegrationUri": uri,
            "IntegrationMethod": "POST" if is_lambda else "ANY", "PayloadFormatVersion": "2.0" if is_lambda else "1.0",
            "ConnectionType": "INTERNET", "TimeoutInMillis": 30_000, "ApiGatewayManaged": True,
        })  # fmt: skip
        key = request.get("RouteKey") or DEFAULT_ROUTE
        route = apis.new(ROUTE, {
            "RouteKey": key, "Target": f"integrations/{integration.id}", "AuthorizationType": "NONE",
            "ApiKeyRequired": False, "ApiGatewayManaged": True,
        })  # fmt: skip
        deployment = apis.new(DEPLOYMENT, {"AutoDeployed": True})
        stage = apis.new(STAGE, {
            "StageName": DEFAULT_STAGE, "AutoDeploy": True, "ApiGatewayManaged": True, "deployment": deployment.id,
            "auto": True,
        }, DEFAULT_STAGE)  # fmt: skip
        members = [integration, route, deployment, stage]
    settings = {name: request[name] for name in _OWN if request.get(name) is not None}
    return shown(app, await apis.create(HTTP_API, settings, request.get("Tags") or {}, members))


@operation("apigatewayv2", "GetApi")
async def get_api(app: App, _call: Call, request: Json) -> Json:
    """Show an API."""
    return shown(app, app.services.apis.get(request["ApiId"], HTTP_API))


@operation("apigatewayv2", "GetApis")
async def get_apis(app: App, _call: Call, request: Json) -> Json:
    """List APIs."""
    return page(request, [shown(app, one) for one in app.services.apis.all(HTTP_API)], "ApiId")


@change("apigatewayv2", "UpdateApi")
async def update_api(app: App, _call: Call, request: Json) -> Json:
    """Change an API."""
    _checked(request)
    held = app.services.apis.get(request["ApiId"], HTTP_API)
    changes = {name: request[name] for name in _OWN if request.get(name) is not None}
    await app.services.apis.change(held, {**held.api.settings, **changes})
    return shown(app, held)


@change("apigatewayv2", "DeleteApi")
async def delete_api(app: App, _call: Call, request: Json) -> Json:
    """Delete an API with everything in it."""
    await app.services.apis.delete(app.services.apis.get(request["ApiId"], HTTP_API))
    return {}


@change("apigatewayv2", "DeleteCorsConfiguration")
async def delete_cors_configuration(app: App, _call: Call, request: Json) -> Json:
    """Take the CORS configuration off an API."""
    held = app.services.apis.get(request["ApiId"], HTTP_API)
    kept = {name: value for name, value in held.api.settings.items() if name != "CorsConfiguration"}
    await app.services.apis.change(held, kept)
    return {}


def _tagged(app: App, arn: str) -> Held:
    """The API that an ARN of tags names: `arn:aws:apigateway:REGION::/apis/ID`. Raises: ApiError."""
    api_id = arn.partition("/apis/")[2].partition("/")[0]
    held = app.services.apis.found(api_id)
    if held is None:
        raise not_found(f"Invalid API identifier specified {app.config.account}:{api_id}")
    return held


@operation("apigatewayv2", "GetTags")
async def get_tags(app: App, _call: Call, request: Json) -> Json:
    """Show the tags of an API."""
    return {"Tags": dict(_tagged(app, request["ResourceArn"]).api.tags)}


@change("apigatewayv2", "TagResource")
async def tag_resource(app: App, _call: Call, request: Json) -> Json:
    """Add tags to an API."""
    held = _tagged(app, request["ResourceArn"])
    tags = retagged(held.api.tags, request.get("Tags") or {}, ())
    await app.services.apis.change(held, held.api.settings, tags)
    return {}


@change("apigatewayv2", "UntagResource")
async def untag_resource(app: App, _call: Call, request: Json) -> Json:
    """Remove tags of an API."""
    held = _tagged(app, request["ResourceArn"])
    await app.services.apis.change(held, held.api.settings, retagged(held.api.tags, {}, request["TagKeys"]))
    return {}
