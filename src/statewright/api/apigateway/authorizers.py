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
from statewright.apis.authorizers.guards import COGNITO, REST_TTL_SECONDS, rest_authorizer
from statewright.apis.authorizers.lambda_authorizers import LambdaGuard
from statewright.apis.authorizers.verdicts import DENIED
from statewright.apis.calls import CallContext, Request
from statewright.apis.errors import bad_request, conflict, not_found
from statewright.apis.gateway_responses import STATUSES
from statewright.apis.records import AUTHORIZER, RESOURCE, Member
from statewright.functions.outcomes import Invoked
from statewright.payload import Json, JsonMapping, JsonObject, dump_json, parse_json

_AUTHORIZER: Final = (
    "name", "type", "providerARNs", "authType", "authorizerUri", "authorizerCredentials", "identitySource",
    "identityValidationExpression", "authorizerResultTtlInSeconds",
)  # fmt: skip
TEST_STAGE: Final = "ESTestInvoke-stage"
"""The stage in method ARNs of tests. Source: developer guide, "Use API Gateway Lambda authorizers"."""
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


@operation("apigateway", "TestInvokeAuthorizer")
async def test_invoke_authorizer(app: App, call: Call, request: Json) -> Json:
    """Ask a Lambda authorizer about a request that is not sent. A policy that denies is a good answer, too."""
    held = api_of(app, request)
    found = _found(held, request["authorizerId"])
    if found.settings["type"] == COGNITO:
        raise bad_request("This version of Statewright tests Lambda authorizers only: call the API with a token.")
    data_plane, config, began_ms = app.services.data_plane, app.config, app.clock.now_ms()
    given = _request(request)
    context = CallContext(
        config.account, config.region, held.api.id, TEST_STAGE, "", call.request_id, began_ms, given.host, given.path,
        stage_variables=request.get("stageVariables") or {}, http_method=given.method,
        identity={"sourceIp": given.source_ip},
    )  # fmt: skip
    answers: list[bytes] = []

    async def invoke(name: str, payload: bytes, timeout_ms: int) -> Invoked:
        done = await data_plane.guards.invoke(name, payload, timeout_ms)
        answers.append(done.payload)
        return done

    asked = rest_authorizer(found.id, {**found.settings, "authorizerResultTtlInSeconds": 0})
    refused = await LambdaGuard(asked, invoke, data_plane.guards.results, app.clock)(given, context)
    shown: JsonObject = {"clientStatus": 200, "latency": app.clock.now_ms() - began_ms, "log": ""}
    if refused is not None and refused.kind != DENIED:
        return {**shown, "clientStatus": STATUSES[refused.kind], "log": refused.kind}
    answer = parse_json(answers[0])
    return {**shown, "principalId": answer["principalId"], "policy": dump_json(answer["policyDocument"])}


def _request(request: JsonMapping) -> Request:
    """The request that a test describes."""
    path, _, query = (request.get("pathWithQueryString") or "/").partition("?")
    headers = [(name, value) for name, value in (request.get("headers") or {}).items()]
    headers += [(name, one) for name, values in (request.get("multiValueHeaders") or {}).items() for one in values]
    body = (request.get("body") or "").encode()
    return Request("GET", path, path, query, tuple(headers), body, "127.0.0.1", TEST_STAGE)
