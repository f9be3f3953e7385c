"""Operations on REST APIs themselves, on their resources and on tags."""

from __future__ import annotations

from typing import Final

from statewright.api.apigateway.patches import patched
from statewright.api.apigatewayv2.changes import change
from statewright.api.operations import App, Call, operation
from statewright.apis.apis import Apis, Held
from statewright.apis.errors import bad_request, not_found
from statewright.apis.records import MODEL, RESOURCE, REST_API, Member
from statewright.apis.resource_paths import check_part
from statewright.pages import PageTokens
from statewright.payload import Json, JsonMapping, JsonObject
from statewright.tags import retagged

TOKENS: Final = PageTokens[str]("apigateway", lambda _: bad_request("Invalid position parameter."))
MOST_LISTED: Final = 25
_OWN: Final = (
    "name", "description", "version", "binaryMediaTypes", "minimumCompressionSize", "apiKeySource",
    "endpointConfiguration", "policy", "disableExecuteApiEndpoint",
)  # fmt: skip
_SCHEMA: Final = '{"$schema": "http://json-schema.org/draft-04/schema#", "title": "%s Schema", "type": "object"%s}'
_ERROR: Final = ', "properties": {"message": {"type": "string"}}'


def page(request: JsonMapping, items: list[JsonObject], name: str) -> Json:
    """One page of a list in the order of a member of its items."""
    after = TOKENS.read(request.get("position"))
    left = [one for one in items if after is None or one[name] > after]
    limit = request.get("limit") or MOST_LISTED
    if limit < 0:
        raise bad_request(f"Invalid limit: {limit}")
    return {"items": left[:limit], "position": TOKENS.write(left[limit - 1][name] if len(left) > limit else None)}


def api_of(app: App, request: JsonMapping) -> Held:
    """The API of a request. Raises: ApiError."""
    return app.services.apis.get(request["restApiId"], REST_API)


def shown(held: Held) -> JsonObject:
    """An API as its operations show it."""
    api = held.api
    root = next(one.id for one in held.of(RESOURCE).values() if one.settings["path"] == "/")
    return {
        "id": api.id, "createdDate": api.created_ms, "apiKeySource": "HEADER",
        "endpointConfiguration": {"types": ["EDGE"], "ipAddressType": "ipv4"}, "disableExecuteApiEndpoint": False,
        "rootResourceId": root, "tags": dict(api.tags), **api.settings,
    }  # fmt: skip


def first_models(apis: Apis) -> list[Member]:
    """The models that every API has from the start."""
    return [
        apis.new(MODEL, {
            "id": apis.new_id(6), "name": name, "contentType": "application/json",
            "description": f"This is a default {name.lower()} schema model", "schema": _SCHEMA % (name, more),
        }, name)
        for name, more in (("Empty", ""), ("Error", _ERROR))
    ]  # fmt: skip


@change("apigateway", "CreateRestApi")
async def create_rest_api(app: App, _call: Call, request: Json) -> Json:
    """Create an API with its root resource and two models."""
    if request.get("cloneFrom"):
        raise bad_request("This version of Statewright does not clone APIs (cloneFrom): deploy its template again.")
    if not request["name"].strip():
        raise bad_request("Invalid API name specified")
    settings = {name: request[name] for name in _OWN if request.get(name) is not None}
    given = settings.get("endpointConfiguration")
    if given is not None:
        settings["endpointConfiguration"] = {"ipAddressType": "ipv4", **given}
    apis = app.services.apis
    members = [apis.new(RESOURCE, {"path": "/"}, apis.new_id(10)), *first_models(apis)]
    return shown(await apis.create(REST_API, settings, request.get("tags") or {}, members))


@operation("apigateway", "GetRestApi")
async def get_rest_api(app: App, _call: Call, request: Json) -> Json:
    """Show an API."""
    return shown(api_of(app, request))


@operation("apigateway", "GetRestApis")
async def get_rest_apis(app: App, _call: Call, request: Json) -> Json:
    """List APIs."""
    return page(request, [shown(one) for one in app.services.apis.all(REST_API)], "id")


@change("apigateway", "UpdateRestApi")
async def update_rest_api(app: App, _call: Call, request: Json) -> Json:
    """Change an API."""
    held = api_of(app, request)
    before = {"disableExecuteApiEndpoint": False, "binaryMediaTypes": [], **held.api.settings}
    settings = patched(before, request.get("patchOperations") or (), _OWN, "RestApi")
    await app.services.apis.change(held, settings)
    return shown(held)


@change("apigateway", "DeleteRestApi")
async def delete_rest_api(app: App, _call: Call, request: Json) -> Json:
    """Delete an API with everything in it."""
    await app.services.apis.delete(api_of(app, request))
    return {}


# ------------------------------------------------------------------ resources


def resource_of(held: Held, resource_id: str) -> Member:
    """A resource of an API. Raises: ApiError (`NotFoundException`)."""
    found = held.of(RESOURCE).get(resource_id)
    if found is None:
        raise not_found("Invalid Resource identifier specified")
    return found


def _shown(one: Member, *, whole: bool = False) -> JsonObject:
    found: JsonObject = {"id": one.id, **{name: one.settings[name] for name in ("parentId", "pathPart", "path")
                                          if name in one.settings}}  # fmt: skip
    methods = one.settings.get("methods")
    if methods:
        found["resourceMethods"] = methods if whole else {name: {} for name in methods}
    return found


def _check_part(held: Held, parent: Member, part: str) -> None:
    siblings = [one.settings["pathPart"] for one in held.of(RESOURCE).values()
                if one.settings.get("parentId") == parent.id]  # fmt: skip
    check_part(part, parent.settings.get("pathPart") or "", siblings)


@change("apigateway", "CreateResource")
async def create_resource(app: App, _call: Call, request: Json) -> Json:
    """Create a resource below another."""
    held = api_of(app, request)
    parent, part = resource_of(held, request["parentId"]), request["pathPart"]
    _check_part(held, parent, part)
    path = f"{parent.settings['path'].rstrip('/')}/{part}"
    made = app.services.apis.new(RESOURCE, {"parentId": parent.id, "pathPart": part, "path": path})
    [written] = await app.services.apis.write(held, made)
    return _shown(written)


@operation("apigateway", "GetResource")
async def get_resource(app: App, _call: Call, request: Json) -> Json:
    """Show a resource."""
    whole = "methods" in (request.get("embed") or ())
    return _shown(resource_of(api_of(app, request), request["resourceId"]), whole=whole)


@operation("apigateway", "GetResources")
async def get_resources(app: App, _call: Call, request: Json) -> Json:
    """List resources."""
    of, whole = api_of(app, request).of(RESOURCE), "methods" in (request.get("embed") or ())
    return page(request, [_shown(of[key], whole=whole) for key in sorted(of)], "id")


@change("apigateway", "DeleteResource")
async def delete_resource(app: App, _call: Call, request: Json) -> Json:
    """Delete a resource with everything below it."""
    held = api_of(app, request)
    found = resource_of(held, request["resourceId"])
    if found.settings["path"] == "/":
        raise bad_request("Cannot remove the root resource of an API")
    start = found.settings["path"] + "/"
    below = [one for one in held.of(RESOURCE).values() if one.settings["path"].startswith(start)]
    await app.services.apis.write(held, delete=[found, *below])
    return {}


# ------------------------------------------------------------------ tags


def _tagged(app: App, arn: str) -> Held:
    api_id = arn.partition("/restapis/")[2].partition("/")[0]
    return app.services.apis.get(api_id, REST_API)


@operation("apigateway", "GetTags")
async def get_tags(app: App, _call: Call, request: Json) -> Json:
    """Show the tags of an API."""
    return {"tags": dict(_tagged(app, request["resourceArn"]).api.tags)}


@change("apigateway", "TagResource")
async def tag_resource(app: App, _call: Call, request: Json) -> Json:
    """Add tags to an API."""
    held = _tagged(app, request["resourceArn"])
    await app.services.apis.change(held, held.api.settings, retagged(held.api.tags, request["tags"], ()))
    return {}


@change("apigateway", "UntagResource")
async def untag_resource(app: App, _call: Call, request: Json) -> Json:
    """Remove tags of an API."""
    held = _tagged(app, request["resourceArn"])
    await app.services.apis.change(held, held.api.settings, retagged(held.api.tags, {}, request["tagKeys"]))
    return {}
