"""Operations on usage plans, their keys, and the usage of these."""

from __future__ import annotations

from datetime import MAXYEAR, date, timedelta
from typing import Final

from statewright.api.apigateway.keys import entry
from statewright.api.apigateway.plan_patches import check_limits, replanned
from statewright.api.apigateway.rest_apis import page
from statewright.api.apigatewayv2.changes import change
from statewright.api.operations import App, Call, operation
from statewright.apis.errors import bad_request, conflict, not_found
from statewright.apis.quotas import DAYS_KEPT
from statewright.apis.records import KEY, PLAN, PLAN_KEY, STAGE, USAGE, Loose
from statewright.apis.throttling import MOST
from statewright.payload import Json, JsonMapping, JsonObject

_PLAN: Final = ("name", "description", "apiStages", "throttle", "quota", "tags", "productCode")


def _plan_of(app: App, request: JsonMapping) -> Loose:
    return entry(app, PLAN, request["usagePlanId"], "Invalid Usage Plan ID specified")


def _link_of(app: App, plan: Loose, key: str) -> Loose:
    return entry(app, PLAN_KEY, f"{plan.id}/{key}", "Invalid Usage Plan Key ID specified")


def _shown(one: Loose) -> JsonObject:
    return {"id": one.id, "apiStages": [], **one.settings}


def _check(app: App, settings: JsonMapping) -> None:
    """Check the stages and limits of a plan. Raises: ApiError."""
    for one in settings.get("apiStages") or ():
        held = app.services.apis.found(one.get("apiId") or "")
        if held is None or one.get("stage") not in held.of(STAGE):
            raise not_found(f"API Stage not found: {one.get('apiId')}:{one.get('stage')}")
    check_limits(settings)


@change("apigateway", "CreateUsagePlan")
async def create_usage_plan(app: App, _call: Call, request: Json) -> Json:
    """Create a usage plan."""
    apis = app.services.apis
    settings = {name: request[name] for name in _PLAN if request.get(name) is not None}
    _check(app, settings)
    return _shown(await apis.put(PLAN, apis.new_id(6), settings))


@operation("apigateway", "GetUsagePlan")
async def get_usage_plan(app: App, _call: Call, request: Json) -> Json:
    """Show a usage plan."""
    return _shown(_plan_of(app, request))


@operation("apigateway", "GetUsagePlans")
async def get_usage_plans(app: App, _call: Call, request: Json) -> Json:
    """List usage plans, or those of a key."""
    of, links = app.services.apis.entries(PLAN), app.services.apis.entries(PLAN_KEY)
    key = request.get("keyId")
    return page(request, [_shown(of[one]) for one in sorted(of) if key is None or f"{one}/{key}" in links], "id")


@change("apigateway", "UpdateUsagePlan")
async def update_usage_plan(app: App, _call: Call, request: Json) -> Json:
    """Change a usage plan."""
    plan = _plan_of(app, request)
    settings = replanned(plan.settings, request.get("patchOperations") or ())
    added = [one for one in settings.get("apiStages") or () if one not in (plan.settings.get("apiStages") or ())]
    _check(app, {**settings, "apiStages": added})
    return _shown(await app.services.apis.put(PLAN, plan.id, settings))


@change("apigateway", "DeleteUsagePlan")
async def delete_usage_plan(app: App, _call: Call, request: Json) -> Json:
    """Delete a usage plan; its keys stay."""
    apis, plan = app.services.apis, _plan_of(app, request)
    # Usage outlives the link of its key.
    links = [(kind, one) for kind in (PLAN_KEY, USAGE) for one in apis.entries(kind) if one.startswith(f"{plan.id}/")]
    await apis.drop((PLAN, plan.id), *links)
    return {}


# ------------------------------------------------------------------ keys of a plan


def _key(app: App, link: Loose) -> JsonObject:
    key = app.services.apis.entries(KEY)[link.settings["keyId"]]
    return {"id": key.id, "type": "API_KEY", "value": key.settings["value"], "name": key.settings.get("name")}


@change("apigateway", "CreateUsagePlanKey")
async def create_usage_plan_key(app: App, _call: Call, request: Json) -> Json:
    """Let an API key use a plan."""
    plan = _plan_of(app, request)
    key = entry(app, KEY, request["keyId"], "Invalid API Key identifier specified")
    link = f"{plan.id}/{key.id}"
    if link in app.services.apis.entries(PLAN_KEY):
        raise conflict("Usage Plan Key already exists")
    return _key(app, await app.services.apis.put(PLAN_KEY, link, {"usagePlanId": plan.id, "keyId": key.id}))


@operation("apigateway", "GetUsagePlanKey")
async def get_usage_plan_key(app: App, _call: Call, request: Json) -> Json:
    """Show a key of a plan."""
    return _key(app, _link_of(app, _plan_of(app, request), request["keyId"]))


@operation("apigateway", "GetUsagePlanKeys")
async def get_usage_plan_keys(app: App, _call: Call, request: Json) -> Json:
    """List the keys of a plan, by the start of their name."""
    plan, of, start = _plan_of(app, request), app.services.apis.entries(PLAN_KEY), request.get("nameQuery") or ""
    keys = [_key(app, of[link]) for link in sorted(of) if of[link].settings["usagePlanId"] == plan.id]
    return page(request, [one for one in keys if (one["name"] or "").startswith(start)], "id")


@change("apigateway", "DeleteUsagePlanKey")
async def delete_usage_plan_key(app: App, _call: Call, request: Json) -> Json:
    """Take a plan from an API key. What the key has used stays counted."""
    await app.services.apis.drop((PLAN_KEY, _link_of(app, _plan_of(app, request), request["keyId"]).id))
    return {}


# ------------------------------------------------------------------ usage


def _day(text: str) -> date:
    try:
        found = date.fromisoformat(text)
    except ValueError:
        raise bad_request(f"Invalid date {text[:30]}: dates are written as 2026-11-23") from None
    if not 1970 <= found.year < MAXYEAR:
        raise bad_request(f"Invalid date {text[:30]}: years are 1970 to {MAXYEAR - 1}")
    return found


@operation("apigateway", "GetUsage")
async def get_usage(app: App, _call: Call, request: Json) -> Json:
    """Show what the keys of a plan have used and have left, for each day."""
    plan, first, last = _plan_of(app, request), _day(request["startDate"]), _day(request["endDate"])
    if not timedelta() <= last - first < timedelta(days=DAYS_KEPT):
        raise bad_request(f"Invalid dates: endDate must be up to {DAYS_KEPT - 1} days after startDate")
    links = app.services.apis.entries(PLAN_KEY)
    wanted, has_quota = request.get("keyId"), plan.settings.get("quota") is not None
    found: list[JsonObject] = [
        {"id": one.settings["keyId"], "link": key}
        for key, one in sorted(links.items())
        if has_quota and one.settings["usagePlanId"] == plan.id and wanted in (None, one.settings["keyId"])
    ]
    listed, quotas = page(request, found, "id"), app.services.data_plane.plans.quotas
    return {
        "usagePlanId": plan.id, "startDate": request["startDate"], "endDate": request["endDate"],
        "position": listed["position"],
        "items": {one["id"]: quotas.usage(plan, links[one["link"]], first, last) for one in listed["items"]},
    }  # fmt: skip


@change("apigateway", "UpdateUsage")
async def update_usage(app: App, _call: Call, request: Json) -> Json:
    """Give a key another number of requests for the rest of its period."""
    plan = _plan_of(app, request)
    link = _link_of(app, plan, request["keyId"])
    if plan.settings.get("quota") is None:
        raise bad_request("Usage Plan has no quota")
    quotas = app.services.data_plane.plans.quotas
    left: int | None = None
    for one in request.get("patchOperations") or ():
        value = str(one.get("value") or "")
        if one.get("op") != "replace" or one.get("path") != "/remaining" or not (value.isascii() and value.isdigit()):
            raise bad_request("Invalid patch: usage has only /remaining, which is replaced with a number")
        left = min(int(value[:10]), MOST)
    if left is not None:
        quotas.grant(plan, link, left)
    today = quotas.today()
    shown = today.isoformat()
    items = {request["keyId"]: quotas.usage(plan, link, today, today)}
    return {"usagePlanId": plan.id, "startDate": shown, "endDate": shown, "items": items}
