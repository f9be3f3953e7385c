"""Operations that read OpenAPI documents into REST APIs."""

from __future__ import annotations

from statewright.api.apigateway.rest_apis import api_of, first_models, shown
from statewright.api.apigatewayv2.changes import change
from statewright.api.apigatewayv2.imports import defined
from statewright.api.operations import App, Call
from statewright.apis.apis import API_ID
from statewright.apis.openapi.documents import base_path_mode
from statewright.apis.openapi.rest import RestDefinition, rest_definition
from statewright.apis.openapi.rest_members import RestMembers
from statewright.apis.records import MODEL, REST_API
from statewright.payload import Json, JsonMapping, JsonObject


async def _definition(app: App, request: JsonMapping, api_id: str) -> RestDefinition:
    """The definition in a request. Raises: ApiError."""
    mode = base_path_mode((request.get("parameters") or {}).get("basepath"))
    fails = bool(request.get("failOnWarnings"))
    return await defined(
        app, request.get("body") or b"", lambda document: rest_definition(document, api_id, mode),
        fails_on_warnings=fails,
    )  # fmt: skip


def _endpoint(request: JsonMapping) -> JsonObject:
    """The kind of endpoint that the parameters of an import ask for."""
    types = (request.get("parameters") or {}).get("endpointConfigurationTypes")
    return {"endpointConfiguration": {"types": types.split(","), "ipAddressType": "ipv4"}} if types else {}


@change("apigateway", "ImportRestApi")
async def import_rest_api(app: App, _call: Call, request: Json) -> Json:
    """Create an API from a document."""
    apis = app.services.apis
    api_id = apis.new_id(API_ID)
    definition = await _definition(app, request, api_id)
    members = RestMembers(apis.new, None, overwrites=True)
    members.apply(definition)
    named = {one.id for one in members.written if one.kind == MODEL}
    first = [one for one in first_models(apis) if one.id not in named]
    settings = {**_endpoint(request), **members.settings(definition)}
    made = await apis.create(REST_API, settings, {}, [*first, *members.written], api_id)
    return {**shown(made), "warnings": definition.warnings or None}


@change("apigateway", "PutRestApi")
async def put_rest_api(app: App, _call: Call, request: Json) -> Json:
    """Change an API by a document: merged with what is there, or in its place."""
    apis = app.services.apis
    held = api_of(app, request)
    definition = await _definition(app, request, held.api.id)
    members = RestMembers(apis.new, held, overwrites=request.get("mode") == "overwrite")
    members.apply(definition)
    await apis.redefine(held, members.settings(definition), held.api.tags, members.written, members.deleted)
    return {**shown(held), "warnings": definition.warnings or None}
