"""Operations on models, request validators and gateway responses."""

from __future__ import annotations

from statewright.api.apigateway.rest_apis import api_of, page
from statewright.api.apigatewayv2.changes import change
from statewright.api.operations import App, Call, operation
from statewright.apis.apis import Held
from statewright.apis.body_models import check_schema
from statewright.apis.errors import conflict, not_found
from statewright.apis.gateway_responses import STATUSES, TEMPLATE
from statewright.apis.records import GATEWAY_RESPONSE, MODEL, VALIDATOR, Member
from statewright.payload import Json, JsonObject


@change("apigateway", "CreateModel")
async def create_model(app: App, _call: Call, request: Json) -> Json:
    """Create a model of bodies."""
    held, name = api_of(app, request), request["name"]
    if name in held.of(MODEL):
        raise conflict("Model name already exists for this REST API")
    schema = request.get("schema") or "{}"
    check_schema(schema)
    settings: JsonObject = {
        "id": app.services.apis.new_id(6), "name": name, "contentType": request["contentType"], "schema": schema,
    }  # fmt: skip
    if request.get("description"):
        settings["description"] = request["description"]
    [written] = await app.services.apis.write(held, app.services.apis.new(MODEL, settings, name))
    return written.settings


def _model(held: Held, name: str) -> Member:
    found = held.of(MODEL).get(name)
    if found is None:
        raise not_found(f"Invalid model name specified: {name}")
    return found


@operation("apigateway", "GetModel")
async def get_model(app: App, _call: Call, request: Json) -> Json:
    """Show a model."""
    return _model(api_of(app, request), request["modelName"]).settings


@operation("apigateway", "GetModels")
async def get_models(app: App, _call: Call, request: Json) -> Json:
    """List models."""
    of = api_of(app, request).of(MODEL)
    return page(request, [dict(of[key].settings) for key in sorted(of)], "name")


@change("apigateway", "DeleteModel")
async def delete_model(app: App, _call: Call, request: Json) -> Json:
    """Delete a model."""
    held = api_of(app, request)
    await app.services.apis.write(held, delete=[_model(held, request["modelName"])])
    return {}


# ------------------------------------------------------------------ request validators


@change("apigateway", "CreateRequestValidator")
async def create_request_validator(app: App, _call: Call, request: Json) -> Json:
    """Create a request validator."""
    settings = {
        "name": request.get("name"), "validateRequestBody": bool(request.get("validateRequestBody")),
        "validateRequestParameters": bool(request.get("validateRequestParameters")),
    }  # fmt: skip
    made = app.services.apis.new(VALIDATOR, settings, app.services.apis.new_id(6))
    [written] = await app.services.apis.write(api_of(app, request), made)
    return {"id": written.id, **written.settings}


def _validator(held: Held, validator_id: str) -> Member:
    found = held.of(VALIDATOR).get(validator_id)
    if found is None:
        raise not_found("Invalid Request Validator identifier specified")
    return found


@operation("apigateway", "GetRequestValidator")
async def get_request_validator(app: App, _call: Call, request: Json) -> Json:
    """Show a request validator."""
    found = _validator(api_of(app, request), request["requestValidatorId"])
    return {"id": found.id, **found.settings}


@operation("apigateway", "GetRequestValidators")
async def get_request_validators(app: App, _call: Call, request: Json) -> Json:
    """List request validators."""
    of = api_of(app, request).of(VALIDATOR)
    return page(request, [{"id": key, **of[key].settings} for key in sorted(of)], "id")


@change("apigateway", "DeleteRequestValidator")
async def delete_request_validator(app: App, _call: Call, request: Json) -> Json:
    """Delete a request validator."""
    held = api_of(app, request)
    await app.services.apis.write(held, delete=[_validator(held, request["requestValidatorId"])])
    return {}


# ------------------------------------------------------------------ gateway responses


def _shown(kind: str, given: Json) -> JsonObject:
    status = STATUSES[kind]
    usual: JsonObject = {
        "responseType": kind, "responseParameters": {}, "responseTemplates": {"application/json": TEMPLATE},
        "defaultResponse": given is None,
    }  # fmt: skip
    if status is not None:
        usual["statusCode"] = str(status)
    return {**usual, **(given or {})}


@change("apigateway", "PutGatewayResponse")
async def put_gateway_response(app: App, _call: Call, request: Json) -> Json:
    """Set an answer of the gateway itself."""
    held, kind = api_of(app, request), request["responseType"]
    given = {
        name: request[name]
        for name in ("statusCode", "responseParameters", "responseTemplates")
        if request.get(name) is not None
    }
    before = held.of(GATEWAY_RESPONSE).get(kind)
    apis = app.services.apis
    made = apis.changed(before, given) if before is not None else apis.new(GATEWAY_RESPONSE, given, kind)
    await apis.write(held, made)
    return _shown(kind, given)


@operation("apigateway", "GetGatewayResponse")
async def get_gateway_response(app: App, _call: Call, request: Json) -> Json:
    """Show an answer of the gateway itself."""
    kind = request["responseType"]
    found = api_of(app, request).of(GATEWAY_RESPONSE).get(kind)
    return _shown(kind, found.settings if found is not None else None)


@operation("apigateway", "GetGatewayResponses")
async def get_gateway_responses(app: App, _call: Call, request: Json) -> Json:
    """List the answers of the gateway itself."""
    of = api_of(app, request).of(GATEWAY_RESPONSE)
    return {"items": [_shown(kind, of[kind].settings if kind in of else None) for kind in sorted(STATUSES)]}


@change("apigateway", "DeleteGatewayResponse")
async def delete_gateway_response(app: App, _call: Call, request: Json) -> Json:
    """Take back what was set for an answer of the gateway itself."""
    held = api_of(app, request)
    found = held.of(GATEWAY_RESPONSE).get(request["responseType"])
    if found is None:
        raise not_found("Gateway response type not defined on api")
    await app.services.apis.write(held, delete=[found])
    return {}
