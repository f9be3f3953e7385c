"""Clients of REST APIs: API keys, usage plans and their keys; and the settings of the account."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from statewright.payload import Json, JsonObject
from statewright.projects.deploy.kinds import TO_COME, CannotApply, Kind, Known, Site, Wanted, removal, text_of

SERVICE: Final = "apigateway"


def key(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create an API key, or change it; another value makes another key."""
    value = wanted.text("Value") or None
    given = {
        "name": wanted.text("Name", wanted.name), "description": wanted.text("Description") or None,
        "enabled": text_of(wanted.truth("Enabled")), "customerId": wanted.text("CustomerId") or None,
    }  # fmt: skip
    before = wanted.before.ref if wanted.before is not None else TO_COME
    shown = site.found(SERVICE, "GetApiKey", apiKey=before, includeValue=True) if before != TO_COME else None
    if shown is not None and value not in (None, shown.get("value")):
        site.replaced = True
        site.change(SERVICE, "DeleteApiKey", apiKey=before)
        shown = None
    if shown is None:
        shown = site.create(SERVICE, "CreateApiKey", value=value, tags=wanted.tags() or None, **given)
    else:
        patches = [
            {"op": "replace", "path": f"/{name}", "value": one}
            for name, one in given.items()
            if one is not None and text_of(shown.get(name)) != one
        ]
        if patches:
            site.change(SERVICE, "UpdateApiKey", apiKey=before, patchOperations=patches)
    known = shown.get("id", TO_COME)
    return {"Ref": known, "APIKeyId": known}


def _throttle(given: Mapping[str, Json]) -> JsonObject:
    return {name: given[member] for name, member in (("rateLimit", "RateLimit"), ("burstLimit", "BurstLimit"))
            if given.get(member) is not None}  # fmt: skip


def _stages(wanted: Wanted) -> list[JsonObject]:
    found: list[JsonObject] = []
    for one in wanted.items("ApiStages"):
        if not isinstance(one, dict):
            raise CannotApply("ApiStages must be a list of objects")
        throttles = {method: _throttle(limit) for method, limit in (one.get("Throttle") or {}).items()}
        stage = {"apiId": one.get("ApiId"), "stage": one.get("Stage")}
        found.append({**stage, "throttle": throttles} if throttles else stage)
    return found


def plan(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a usage plan, or change it."""
    quota = {name.lower(): value for name, value in wanted.table("Quota").items() if value is not None}
    given: JsonObject = {
        "name": wanted.text("UsagePlanName", wanted.name), "description": wanted.text("Description") or None,
        "throttle": _throttle(wanted.table("Throttle")) or None, "quota": quota or None, "apiStages": _stages(wanted),
    }  # fmt: skip
    asked = text_of(given)
    before = wanted.before
    shown = None
    if before is not None and before.ref != TO_COME:
        shown = site.found(SERVICE, "GetUsagePlan", usagePlanId=before.ref)
    if before is None or shown is None:
        made = site.create(SERVICE, "CreateUsagePlan", tags=wanted.tags() or None, **given)
        known = made.get("id", TO_COME)
    else:
        known = before.ref
        if before.attributes.get("Asked") != asked:
            patches = _changes(given, shown)
            site.change(SERVICE, "UpdateUsagePlan", usagePlanId=known, patchOperations=patches)
    return {"Ref": known, "Id": known, "Asked": asked}


def _changes(given: JsonObject, shown: Mapping[str, Json]) -> list[JsonObject]:
    """The patch operations that make a plan as it is wanted."""
    patches: list[JsonObject] = [{"op": "replace", "path": "/name", "value": given["name"]}]
    if given["description"] is not None:
        patches.append({"op": "replace", "path": "/description", "value": given["description"]})
    for name in ("throttle", "quota"):
        if shown.get(name) is not None:
            patches.append({"op": "remove", "path": f"/{name}"})
        patches += [
            {"op": "replace", "path": f"/{name}/{member}", "value": text_of(value)}
            for member, value in (given[name] or {}).items()
        ]
    wanted = {f"{one['apiId']}:{one['stage']}": one for one in given["apiStages"]}
    there = {f"{one['apiId']}:{one['stage']}": one for one in shown.get("apiStages") or ()}
    patches += [{"op": "remove", "path": "/apiStages", "value": stage} for stage in there if stage not in wanted]
    patches += [{"op": "add", "path": "/apiStages", "value": stage} for stage in wanted if stage not in there]
    for stage, one in wanted.items():
        if one.get("throttle"):
            value = text_of(one["throttle"])
            patches.append({"op": "replace", "path": f"/apiStages/{stage}/throttle", "value": value})
        elif there.get(stage, {}).get("throttle"):
            patches.append({"op": "remove", "path": f"/apiStages/{stage}/throttle"})
    return patches


def plan_key(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Let a key use a plan."""
    there = {"usagePlanId": wanted.text("UsagePlanId"), "keyId": wanted.text("KeyId")}
    known = {"Ref": f"{there['keyId']}:{there['usagePlanId']}", "KeyId": there["keyId"], "Plan": there["usagePlanId"]}
    if wanted.before is not None and wanted.before.ref not in (TO_COME, known["Ref"]):
        # Otherwise the key that was replaced would still be let in.
        _delete_plan_key(site, wanted.before)
    if TO_COME in there.values() or site.found(SERVICE, "GetUsagePlanKey", **there) is None:
        site.create(SERVICE, "CreateUsagePlanKey", keyType=wanted.text("KeyType", "API_KEY"), **there)
    return known


def _delete_plan_key(site: Site, known: Known) -> None:
    plan_id, key_id = known.attributes.get("Plan"), known.attributes.get("KeyId")
    # Deleting its key or plan takes the link away.
    site.take_away(SERVICE, "DeleteUsagePlanKey", usagePlanId=plan_id, keyId=key_id)


def account(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Keep the role for logs in the settings of the account."""
    role = wanted.text("CloudWatchRoleArn")
    shown = site.found(SERVICE, "GetAccount") or {}
    if role and shown.get("cloudwatchRoleArn") != role:
        patch = {"op": "replace", "path": "/cloudwatchRoleArn", "value": role}
        put = site.create if wanted.before is None else site.change
        put(SERVICE, "UpdateAccount", patchOperations=[patch])
    return {"Ref": wanted.name, "Id": wanted.name}


def _keep_account(_site: Site, _known: Known) -> None:
    """The settings outlive the resource: other projects of the region may write logs with the same role."""


KINDS: Final = {
    "AWS::ApiGateway::ApiKey": Kind("API key", key, removal(SERVICE, "DeleteApiKey", "apiKey")),
    "AWS::ApiGateway::UsagePlan": Kind("usage plan", plan, removal(SERVICE, "DeleteUsagePlan", "usagePlanId")),
    "AWS::ApiGateway::UsagePlanKey": Kind("key of a usage plan", plan_key, _delete_plan_key),
    "AWS::ApiGateway::Account": Kind("settings of API Gateway", account, _keep_account),
}
