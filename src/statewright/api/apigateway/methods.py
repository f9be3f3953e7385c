"""Operations on the methods of resources, their integrations and their responses."""

from __future__ import annotations

import re
from typing import Final

from statewright.api.apigateway.patches import patched
from statewright.api.apigateway.rest_apis import api_of, resource_of
from statewright.api.apigatewayv2.changes import change
from statewright.api.operations import App, Call, operation
from statewright.apis.apis import Held
from statewright.apis.authorizers.checks import check_method_authorization
from statewright.apis.errors import bad_request, not_found
from statewright.apis.integration_checks import (
    checked_integration,
    checked_response,
    compile_long_templates,
)
from statewright.apis.records import AUTHORIZER, Member
from statewright.payload import Json, JsonMapping, JsonObject

_METHODS: Final = ("GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "HEAD", "ANY")
_METHOD: Final = (
    "authorizationType", "authorizerId", "apiKeyRequired", "requestValidatorId", "operationName", "requestParameters",
    "requestModels", "authorizationScopes",
)  # fmt: skip
_INTEGRATION: Final = (
    "type", "uri", "connectionType", "connectionId", "credentials", "requestParameters", "requestTemplates",
    "passthroughBehavior", "contentHandling", "timeoutInMillis", "cacheNamespace", "cacheKeyParameters", "tlsConfig",
)  # fmt: skip
_PARAMETER: Final = re.compile(r"method\.request\.(header|path|querystring|multivalueheader|multivaluequerystring)\..+")
_RESPONSE: Final = ("selectionPattern", "responseParameters", "responseTemplates", "contentHandling")


def _method(resource: Member, http_method: str) -> JsonMapping:
    found: JsonMapping | None = (resource.settings.get("methods") or {}).get(http_method)
    if found is None:
        raise not_found("Invalid Method identifier specified")
    return found


def _integration(method: JsonMapping) -> JsonMapping:
    found: JsonMapping | None = method.get("methodIntegration")
    if found is None:
        raise not_found("Invalid Integration identifier specified")
    return found


def _place(app: App, request: JsonMapping) -> tuple[Held, Member, str]:
    held = api_of(app, request)
    return held, resource_of(held, request["resourceId"]), request["httpMethod"]


def _check_parameters(method: JsonMapping) -> None:
    """Refuse a method whose parameters are at no place of a request, or share a name. Raises: ApiError."""
    given = method.get("requestParameters") or ()
    wrong = [name for name in given if _PARAMETER.fullmatch(name) is None]
    if wrong:
        raise bad_request(
            "Invalid mapping expression specified: Validation Result: warnings : [], errors : [Invalid mapping "
            f"expression parameter specified: {wrong[0][:200]}]"
        )
    names = [name.split(".", 3)[-1] for name in given]
    if len(set(names)) < len(names):
        raise bad_request("Parameter names must be unique across querystring, header and path")


async def _put(app: App, held: Held, resource: Member, http_method: str, method: JsonMapping | None) -> None:
    """Write a method of a resource; `None` deletes it."""
    methods = {**(resource.settings.get("methods") or {})}
    if method is None:
        methods.pop(http_method, None)
    else:
        methods[http_method] = method
    await app.services.apis.write(held, app.services.apis.changed(resource, {**resource.settings, "methods": methods}))


@change("apigateway", "PutMethod")
async def put_method(app: App, _call: Call, request: Json) -> Json:
    """Put a method on a resource."""
    held, resource, http_method = _place(app, request)
    if http_method not in _METHODS:
        raise bad_request(f"Invalid HttpMethod specified. Valid options are {','.join(_METHODS)}")
    before = (resource.settings.get("methods") or {}).get(http_method, {})
    kept = {name: before[name] for name in ("methodIntegration", "methodResponses") if name in before}
    method = {
        "httpMethod": http_method, "apiKeyRequired": False,
        **{name: request[name] for name in _METHOD if request.get(name) is not None}, **kept,
    }  # fmt: skip
    _check_parameters(method)
    _check_authorization(held, method)
    await _put(app, held, resource, http_method, method)
    return method


def _check_authorization(held: Held, method: JsonMapping) -> None:
    check_method_authorization(method, {one.id: one.settings for one in held.of(AUTHORIZER).values()})


@operation("apigateway", "GetMethod")
async def get_method(app: App, _call: Call, request: Json) -> Json:
    """Show a method with its integration."""
    _, resource, http_method = _place(app, request)
    return _method(resource, http_method)


@change("apigateway", "UpdateMethod")
async def update_method(app: App, _call: Call, request: Json) -> Json:
    """Change a method."""
    held, resource, http_method = _place(app, request)
    method = patched(_method(resource, http_method), request.get("patchOperations") or (), _METHOD, "Method")
    _check_authorization(held, method)
    _check_parameters(method)
    await _put(app, held, resource, http_method, method)
    return method


@change("apigateway", "DeleteMethod")
async def delete_method(app: App, _call: Call, request: Json) -> Json:
    """Delete a method."""
    held, resource, http_method = _place(app, request)
    _method(resource, http_method)
    await _put(app, held, resource, http_method, None)
    return {}


@change("apigateway", "PutMethodResponse")
async def put_method_response(app: App, _call: Call, request: Json) -> Json:
    """Declare a response of a method."""
    held, resource, http_method = _place(app, request)
    method, status = _method(resource, http_method), request["statusCode"]
    made = {"statusCode": status, **{name: request[name] for name in ("responseParameters", "responseModels")
                                     if request.get(name) is not None}}  # fmt: skip
    responses = {**(method.get("methodResponses") or {}), status: made}
    await _put(app, held, resource, http_method, {**method, "methodResponses": responses})
    return made


@operation("apigateway", "GetMethodResponse")
async def get_method_response(app: App, _call: Call, request: Json) -> Json:
    """Show a declared response."""
    _, resource, http_method = _place(app, request)
    return _response(_method(resource, http_method).get("methodResponses"), request["statusCode"])


@change("apigateway", "DeleteMethodResponse")
async def delete_method_response(app: App, _call: Call, request: Json) -> Json:
    """Delete a declared response."""
    held, resource, http_method = _place(app, request)
    method = _method(resource, http_method)
    _response(method.get("methodResponses"), request["statusCode"])
    left = {name: one for name, one in method["methodResponses"].items() if name != request["statusCode"]}
    await _put(app, held, resource, http_method, {**method, "methodResponses": left})
    return {}


def _response(of: Json, status: str) -> JsonMapping:
    found: JsonMapping | None = (of or {}).get(status)
    if found is None:
        raise not_found("Invalid Response status code specified")
    return found


# ------------------------------------------------------------------ integrations


@change("apigateway", "PutIntegration")
async def put_integration(app: App, _call: Call, request: Json) -> Json:
    """Put an integration on a method."""
    await compile_long_templates(request)
    held, resource, http_method = _place(app, request)
    method = _method(resource, http_method)
    given: JsonObject = {name: request[name] for name in _INTEGRATION if request.get(name) is not None}
    if request.get("integrationHttpMethod"):
        given["httpMethod"] = request["integrationHttpMethod"]
    made = checked_integration(given, resource.id)
    before = method.get("methodIntegration") or {}
    if before.get("integrationResponses"):
        made["integrationResponses"] = before["integrationResponses"]
    await _put(app, held, resource, http_method, {**method, "methodIntegration": made})
    return made


@operation("apigateway", "GetIntegration")
async def get_integration(app: App, _call: Call, request: Json) -> Json:
    """Show an integration."""
    _, resource, http_method = _place(app, request)
    return _integration(_method(resource, http_method))


@change("apigateway", "UpdateIntegration")
async def update_integration(app: App, _call: Call, request: Json) -> Json:
    """Change an integration."""
    _, resource, http_method = _place(app, request)
    await compile_long_templates(request, _integration(_method(resource, http_method)))
    held, resource, http_method = _place(app, request)
    method = _method(resource, http_method)
    changed = patched(
        _integration(method), request.get("patchOperations") or (), (*_INTEGRATION, "httpMethod"), "Integration"
    )
    made = checked_integration(changed, resource.id)
    await _put(app, held, resource, http_method, {**method, "methodIntegration": made})
    return made


@change("apigateway", "DeleteIntegration")
async def delete_integration(app: App, _call: Call, request: Json) -> Json:
    """Take the integration off a method."""
    held, resource, http_method = _place(app, request)
    method = _method(resource, http_method)
    _integration(method)
    left = {name: one for name, one in method.items() if name != "methodIntegration"}
    await _put(app, held, resource, http_method, left)
    return {}


@change("apigateway", "PutIntegrationResponse")
async def put_integration_response(app: App, _call: Call, request: Json) -> Json:
    """Put a response on an integration."""
    await compile_long_templates(request)
    held, resource, http_method = _place(app, request)
    method, status = _method(resource, http_method), request["statusCode"]
    integration = _integration(method)
    given = {name: request[name] for name in _RESPONSE if request.get(name) is not None}
    made = checked_response({"statusCode": status, **given}, method)
    responses = {**(integration.get("integrationResponses") or {}), status: made}
    changed = {**method, "methodIntegration": {**integration, "integrationResponses": responses}}
    await _put(app, held, resource, http_method, changed)
    return made


@operation("apigateway", "GetIntegrationResponse")
async def get_integration_response(app: App, _call: Call, request: Json) -> Json:
    """Show a response of an integration."""
    _, resource, http_method = _place(app, request)
    integration = _integration(_method(resource, http_method))
    return _response(integration.get("integrationResponses"), request["statusCode"])


@change("apigateway", "DeleteIntegrationResponse")
async def delete_integration_response(app: App, _call: Call, request: Json) -> Json:
    """Delete a response of an integration."""
    held, resource, http_method = _place(app, request)
    method, status = _method(resource, http_method), request["statusCode"]
    integration = _integration(method)
    _response(integration.get("integrationResponses"), status)
    left = {name: one for name, one in integration["integrationResponses"].items() if name != status}
    changed = {**method, "methodIntegration": {**integration, "integrationResponses": left}}
    await _put(app, held, resource, http_method, changed)
    return {}
