"""Operations on API keys and usage plans. Throttles and quotas of plans are kept, and not applied."""

from __future__ import annotations

from typing import Final

from statewright.api.apigateway.patches import patched
from statewright.api.apigateway.rest_apis import page
from statewright.api.apigatewayv2.changes import change
from statewright.api.operations import App, Call, operation
from statewright.apis.errors import bad_request, conflict, not_found
from statewright.apis.records import KEY, PLAN, PLAN_KEY, STAGE, Loose
from statewright.payload import Json, JsonObject

_KEY: Final = ("name", "description", "customerId", "tags", "enabled", "value")
_PLAN: Final = ("name", "description", "apiStages", "throttle", "quota", "tags", "productCode")


def _shown(one: Loose, *, with_value: bool = True) -> JsonObject:
    settings = {name: value for name, value in one.settings.items() if with_value or name != "value"}
    return {"id": one.id, "createdDate": one.created_ms, "lastUpdatedDate": one.updated_ms, "stageKeys": [], **settings}


def _entry(app: App, kind: str, entry_id: str, text: str) -> Loose:
    found = app.services.apis.entries(kind).get(entry_id)
    if found is None:
        raise not_found(text)
    return found


@change("apigateway", "CreateApiKey")
async def create_api_key(app: App, _call: Call, request: Json) -> Json:
    """Create an API key."""
    apis = app.services.apis
    value = request.get("value") or apis.new_id(40)
    if not 20 <= len(value) <= 128:
        raise bad_request("API Key value should be at least 20 characters and at most 128 characters")
    if any(one.settings["value"] == value for one in apis.entries(KEY).values()):
        raise conflict("API Key already exists")
    settings = {name: request[name] for name in _KEY if request.get(name) is not None}
    made = await apis.put(KEY, apis.new_id(10), {**settings, "enabled": bool(request.get("enabled")), "value": value})
    return _shown(made)


@operation("apigateway", "GetApiKey")
async def get_api_key(app: App, _call: Call, request: Json) -> Json:
    """Show an API key."""
    found = _entry(app, KEY, request["apiKey"], "Invalid API Key identifier specified")
    return _shown(found, with_value=bool(request.get("includeValue")))


@operation("apigateway", "GetApiKeys")
async def get_api_keys(app: App, _call: Call, request: Json) -> Json:
    """List API keys, by the start of their name."""
    of, start = app.services.apis.entries(KEY), request.get("nameQuery") or ""
    with_values = bool(request.get("includeValues"))
    found = [of[key] for key in sorted(of) if (of[key].settings.get("name") or "").startswith(start)]
    return page(request, [_shown(one, with_value=with_values) for one in found], "id")


@change("apigateway", "UpdateApiKey")
async def update_api_key(app: App, _call: Call, request: Json) -> Json:
    """Change an API key."""
    found = _entry(app, KEY, request["apiKey"], "Invalid API Key identifier specified")
    settings = patched(found.settings, request.get("patchOperations") or (), _KEY)
    return _shown(await app.services.apis.put(KEY, found.id, settings), with_value=False)


@change("apigateway", "DeleteApiKey")
async def delete_api_key(app: App, _call: Call, request: Json) -> Json:
    """Delete an API key."""
    found = _entry(app, KEY, request["apiKey"], "Invalid API Key identifier specified")
    await app.services.apis.drop(KEY, found.id)
    return {}


# ------------------------------------------------------------------ usage plans


def _plan(one: Loose) -> JsonObject:
    return {"id": one.id, "apiStages": [], **one.settings}


@change("apigateway", "CreateUsagePlan")
async def create_usage_plan(app: App, _call: Call, request: Json) -> Json:
    """Create a usage plan."""
    apis = app.services.apis
    for one in request.get("apiStages") or ():
        held = apis.found(one.get("apiId") or "")
        if held is None or one.get("stage") not in held.of(STAGE):
            raise not_found(f"API Stage not found: {one.get('apiId')}:{one.get('stage')}")
    settings = {name: request[name] for name in _PLAN if request.get(name) is not None}
    return _plan(await apis.put(PLAN, apis.new_id(6), settings))


@operation("apigateway", "GetUsagePlan")
async def get_usage_plan(app: App, _call: Call, request: Json) -> Json:
    """Show a usage plan."""
    return _plan(_entry(app, PLAN, request["usagePlanId"], "Invalid Usage Plan ID specified"))


@operation("apigateway", "GetUsagePlans")
async def get_usage_plans(app: App, _call: Call, request: Json) -> Json:
    """List usage plans."""
    of = app.services.apis.entries(PLAN)
    return page(request, [_plan(of[key]) for key in sorted(of)], "id")


@change("apigateway", "DeleteUsagePlan")
async def delete_usage_plan(app: App, _call: Call, request: Json) -> Json:
    """Delete a usage plan; its keys stay."""
    apis = app.services.apis
    found = _entry(app, PLAN, request["usagePlanId"], "Invalid Usage Plan ID specified")
    links = [key for key, one in apis.entries(PLAN_KEY).items() if one.settings["usagePlanId"] == found.id]
    await apis.drop(PLAN, found.id)
    await apis.drop(PLAN_KEY, *links)
    return {}


def _plan_key(app: App, link: Loose) -> JsonObject:
    key = app.services.apis.entries(KEY)[link.settings["keyId"]]
    return {"id": key.id, "type": "API_KEY", "value": key.settings["value"], "name": key.settings.get("name")}


@change("apigateway", "CreateUsagePlanKey")
async def create_usage_plan_key(app: App, _call: Call, request: Json) -> Json:
    """Let an API key use a plan."""
    plan = _entry(app, PLAN, request["usagePlanId"], "Invalid Usage Plan ID specified")
    key = _entry(app, KEY, request["keyId"], "Invalid API Key identifier specified")
    link = f"{plan.id}/{key.id}"
    if link in app.services.apis.entries(PLAN_KEY):
        raise conflict("Usage Plan Key already exists")
    made = await app.services.apis.put(PLAN_KEY, link, {"usagePlanId": plan.id, "keyId": key.id})
    return _plan_key(app, made)


@operation("apigateway", "GetUsagePlanKeys")
async def get_usage_plan_keys(app: App, _call: Call, request: Json) -> Json:
    """List the keys of a plan."""
    plan = _entry(app, PLAN, request["usagePlanId"], "Invalid Usage Plan ID specified")
    keys = app.services.apis.entries(KEY)
    of = app.services.apis.entries(PLAN_KEY)
    links = [of[key] for key in sorted(of) if of[key].settings["usagePlanId"] == plan.id]
    return page(request, [_plan_key(app, one) for one in links if one.settings["keyId"] in keys], "id")


@change("apigateway", "DeleteUsagePlanKey")
async def delete_usage_plan_key(app: App, _call: Call, request: Json) -> Json:
    """Take a plan from an API key."""
    link = f"{request['usagePlanId']}/{request['keyId']}"
    await app.services.apis.drop(PLAN_KEY, _entry(app, PLAN_KEY, link, "Invalid Usage Plan Key ID specified").id)
    return {}
