"""Operations on the stages and deployments of HTTP APIs."""

from __future__ import annotations

import re
from typing import Final

from statewright.api.apigatewayv2.changes import change
from statewright.api.apigatewayv2.http_apis import page
from statewright.api.operations import App, Call, operation
from statewright.apis.access_logs import check_settings
from statewright.apis.apis import Held
from statewright.apis.errors import bad_request, conflict, not_found
from statewright.apis.http_apis import DEFAULT_STAGE
from statewright.apis.records import DEPLOYMENT, HTTP_API, ROUTE, STAGE, Member
from statewright.apis.throttling import check_throttle
from statewright.payload import Json, JsonMapping, JsonObject

_STAGE: Final = ("AccessLogSettings", "AutoDeploy", "DefaultRouteSettings", "Description", "RouteSettings", "StageName")
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
_INNER: Final = frozenset({"deployment", "variables", "auto"})
"""Members of a stage's settings that all kinds of APIs have, under names of our own."""


def _api(app: App, request: JsonMapping) -> Held:
    return app.services.apis.get(request["ApiId"], HTTP_API)


def stage_of(held: Held, name: str) -> Member:
    """A stage of an API. Raises: ApiError (`NotFoundException`)."""
    found = held.of(STAGE).get(name)
    if found is None:
        raise not_found(f"Unable to find Stage with name {name}")
    return found


def _shown(one: Member) -> JsonObject:
    kept = {name: value for name, value in one.settings.items() if name not in _INNER}
    return {
        "CreatedDate": one.created_ms, "LastUpdatedDate": one.updated_ms, "RouteSettings": {}, "Tags": {}, **kept,
        "DefaultRouteSettings": {"DetailedMetricsEnabled": False, **(kept.get("DefaultRouteSettings") or {})},
        "DeploymentId": one.settings.get("deployment"), "StageVariables": one.settings.get("variables") or {},
    }  # fmt: skip


def _settings(app: App, held: Held, request: JsonMapping, before: JsonMapping) -> tuple[JsonObject, list[Member]]:
    """The settings of a stage after a request, and the deployment that a stage with automatic ones needs."""
    settings = {**before, **{name: request[name] for name in _STAGE if request.get(name) is not None}}
    for one in (request.get("DefaultRouteSettings") or {}, *(request.get("RouteSettings") or {}).values()):
        check_throttle(one.get("ThrottlingRateLimit"), one.get("ThrottlingBurstLimit"))
    log = request.get("AccessLogSettings") or {}
    check_settings(log.get("DestinationArn"), log.get("Format"), needs_id=False)
    if request.get("RouteSettings") is not None:
        # Each route's settings are replaced by themselves; those of other routes stay.
        settings["RouteSettings"] = {**(before.get("RouteSettings") or {}), **request["RouteSettings"]}
    if request.get("StageVariables") is not None:
        settings["variables"] = request["StageVariables"]
    if request.get("DeploymentId"):
        if settings.get("AutoDeploy"):
            raise bad_request("Deployment ID cannot be set on a stage with AutoDeploy enabled")
        if request["DeploymentId"] not in held.of(DEPLOYMENT):
            raise not_found(f"Unable to find Deployment with ID {request['DeploymentId']}")
        settings["deployment"] = request["DeploymentId"]
    also: list[Member] = []
    if settings.get("AutoDeploy") and not before.get("auto"):
        also = [app.services.apis.new(DEPLOYMENT, {"AutoDeployed": True})]
        settings["deployment"] = also[0].id
    elif before.get("auto") and not settings.get("AutoDeploy"):
        # What was served until now stays.
        also = [app.services.apis.deployment(held, {"AutoDeployed": False})]
        settings["deployment"] = also[0].id
    settings["auto"] = bool(settings.get("AutoDeploy"))
    return settings, also


@change("apigatewayv2", "CreateStage")
async def create_stage(app: App, _call: Call, request: Json) -> Json:
    """Create a stage."""
    held, name = _api(app, request), request["StageName"]
    if name != DEFAULT_STAGE and _NAME.fullmatch(name) is None:
        raise bad_request("Stage name only allows a-zA-Z0-9_- characters, or $default")
    if name in held.of(STAGE):
        raise conflict(f"Stage already exists: {name}")
    settings, also = _settings(app, held, request, {"AutoDeploy": False, "Tags": request.get("Tags") or {}})
    [written, *_] = await app.services.apis.write(held, app.services.apis.new(STAGE, settings, name), *also)
    return _shown(written)


@operation("apigatewayv2", "GetStage")
async def get_stage(app: App, _call: Call, request: Json) -> Json:
    """Show a stage."""
    return _shown(stage_of(_api(app, request), request["StageName"]))


@operation("apigatewayv2", "GetStages")
async def get_stages(app: App, _call: Call, request: Json) -> Json:
    """List stages."""
    of = _api(app, request).of(STAGE)
    return page(request, [_shown(of[key]) for key in sorted(of)], "StageName")


@change("apigatewayv2", "UpdateStage")
async def update_stage(app: App, _call: Call, request: Json) -> Json:
    """Change a stage."""
    held = _api(app, request)
    found = stage_of(held, request["StageName"])
    settings, also = _settings(app, held, request, found.settings)
    [written, *_] = await app.services.apis.write(held, app.services.apis.changed(found, settings), *also)
    return _shown(written)


@change("apigatewayv2", "DeleteStage")
async def delete_stage(app: App, _call: Call, request: Json) -> Json:
    """Delete a stage."""
    held = _api(app, request)
    await app.services.apis.write(held, delete=[stage_of(held, request["StageName"])])
    return {}


@change("apigatewayv2", "DeleteRouteSettings")
async def delete_route_settings(app: App, _call: Call, request: Json) -> Json:
    """Give a route the default settings of its stage again."""
    held = _api(app, request)
    found, key = stage_of(held, request["StageName"]), request["RouteKey"]
    own = found.settings.get("RouteSettings") or {}
    if key not in own:
        raise not_found(f"Unable to find RouteSettings for route key {key}")
    kept = {name: value for name, value in own.items() if name != key}
    await app.services.apis.write(held, app.services.apis.changed(found, {**found.settings, "RouteSettings": kept}))
    return {}


@change("apigatewayv2", "DeleteAccessLogSettings")
async def delete_access_log_settings(app: App, _call: Call, request: Json) -> Json:
    """End the access logs of a stage."""
    held = _api(app, request)
    found = stage_of(held, request["StageName"])
    kept = {name: value for name, value in found.settings.items() if name != "AccessLogSettings"}
    await app.services.apis.write(held, app.services.apis.changed(found, kept))
    return {}


def _deployment(held: Held, id: str) -> Member:
    found = held.of(DEPLOYMENT).get(id)
    if found is None:
        raise not_found(f"Unable to find Deployment with ID {id}")
    return found


def _shown_deployment(one: Member) -> JsonObject:
    shown: JsonObject = {
        "AutoDeployed": one.settings.get("AutoDeployed", False), "CreatedDate": one.created_ms,
        "DeploymentId": one.id, "DeploymentStatus": "DEPLOYED",
    }  # fmt: skip
    if "Description" in one.settings:
        shown["Description"] = one.settings["Description"]
    return shown


@change("apigatewayv2", "CreateDeployment")
async def create_deployment(app: App, _call: Call, request: Json) -> Json:
    """Deploy an API as it is now."""
    held = _api(app, request)
    if not held.of(ROUTE):
        raise bad_request("At least one route is required before deploying the API.")
    given = {"Description": request["Description"]} if request.get("Description") else {}
    made = app.services.apis.deployment(held, {"AutoDeployed": False, **given})
    stages: list[Member] = []
    if request.get("StageName"):
        stage = stage_of(held, request["StageName"])
        if stage.settings.get("auto"):
            raise bad_request("Deployment ID cannot be set on a stage with AutoDeploy enabled")
        stages = [app.services.apis.changed(stage, {**stage.settings, "deployment": made.id})]
    [written, *_] = await app.services.apis.write(held, made, *stages)
    return _shown_deployment(written)


@operation("apigatewayv2", "GetDeployment")
async def get_deployment(app: App, _call: Call, request: Json) -> Json:
    """Show a deployment."""
    return _shown_deployment(_deployment(_api(app, request), request["DeploymentId"]))


@operation("apigatewayv2", "GetDeployments")
async def get_deployments(app: App, _call: Call, request: Json) -> Json:
    """List deployments."""
    of = _api(app, request).of(DEPLOYMENT)
    return page(request, [_shown_deployment(of[key]) for key in sorted(of)], "DeploymentId")


@change("apigatewayv2", "DeleteDeployment")
async def delete_deployment(app: App, _call: Call, request: Json) -> Json:
    """Delete a deployment that no stage serves."""
    held = _api(app, request)
    found = _deployment(held, request["DeploymentId"])
    if any(one.settings.get("deployment") == found.id for one in held.of(STAGE).values()):
        raise bad_request("Active stages pointing to this deployment must be moved or deleted")
    await app.services.apis.write(held, delete=[found])
    return {}
