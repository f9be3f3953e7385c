"""Operations that read OpenAPI documents into REST APIs."""

from __future__ import annotations

from typing import Final, cast

from statewright.api.apigateway.rest_apis import api_of, first_models, shown
from statewright.api.apigatewayv2.changes import change
from statewright.api.operations import App, Call
from statewright.api.protocols.bounds import apart
from statewright.apis.apis import API_ID
from statewright.apis.errors import bad_request
from statewright.apis.openapi.documents import BasePath, Home, read_openapi
from statewright.apis.openapi.rest import RestDefinition, rest_definition
from statewright.apis.openapi.rest_members import RestMembers
from statewright.apis.records import MODEL, REST_API
from statewright.payload import Json, JsonMapping, JsonObject

_BASE_PATHS: Final = ("ignore", "prepend", "split")


async def _definition(app: App, request: JsonMapping, api_id: str) -> RestDefinition:
    """The definition in a request. Raises: ApiError."""
    base_path = (request.get("parameters") or {}).get("basepath", "ignore").lower()
    if base_path not in _BASE_PATHS:
        raise bad_request(f"Invalid value for basepath: {base_path[:50]}. Valid values are ignore, prepend, split")
    mode = cast(BasePath, base_path)
    body, home = request.get("body") or b"", Home(app.config.account, app.config.region)

    def read() -> RestDefinition:
        return rest_definition(read_openapi(body, home), api_id, mode)

    found = await apart(len(body), read)
    if found.warnings and request.get("failOnWarnings"):
        raise bad_request("Warnings found during import:\n\t" + "\n\t".join(found.warnings))
    return found


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
    definition = await _definition(app, request, api_of(app, request).api.id)
    held = api_of(app, request)
    members = RestMembers(apis.new, held, overwrites=request.get("mode") == "overwrite")
    members.apply(definition)
    await apis.redefine(held, members.settings(definition), held.api.tags, members.written, members.deleted)
    return {**shown(held), "warnings": definition.warnings or None}
