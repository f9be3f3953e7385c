"""Operations on the deployments and stages of REST APIs."""

from __future__ import annotations

import re
from typing import Final

from statewright.api.apigateway.rest_apis import api_of, page
from statewright.api.apigateway.stage_patches import DEFAULTS, staged
from statewright.api.apigatewayv2.changes import change
from statewright.api.operations import App, Call, operation
from statewright.apis.apis import Held
from statewright.apis.errors import bad_request, conflict, not_found
from statewright.apis.records import DEPLOYMENT, RESOURCE, STAGE, Member
from statewright.payload import Json, JsonMapping, JsonObject

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
_STAGE: Final = (
    "description", "cacheClusterEnabled", "cacheClusterSize", "variables", "documentationVersion", "canarySettings",
    "tracingEnabled", "tags",
)  # fmt: skip
_INNER: Final = frozenset({"deployment", "auto"})


def stage_of(held: Held, name: str) -> Member:
    """A stage of an API. Raises: ApiError (`NotFoundException`)."""
    found = held.of(STAGE).get(name)
    if found is None:
        raise not_found("Invalid stage identifier specified")
    return found


def _shown(one: Member) -> JsonObject:
    return {
        "stageName": one.id, "deploymentId": one.settings.get("deployment"), "cacheClusterEnabled": False,
        "cacheClusterStatus": "NOT_AVAILABLE", "tracingEnabled": False,
        "createdDate": one.created_ms, "lastUpdatedDate": one.updated_ms,
        **{name: value for name, value in one.settings.items() if name not in _INNER},
        "methodSettings": {
            key: {**DEFAULTS, **own} for key, own in (one.settings.get("methodSettings") or {}).items()
        },
    }  # fmt: skip


def _new_stage(app: App, held: Held, request: JsonMapping, deployment: str) -> Member:
    name = request["stageName"]
    if _NAME.fullmatch(name) is None:
        raise bad_request("Stage name only allows a-zA-Z0-9_")
    if name in held.of(STAGE):
        raise conflict("Stage already exists")
    given = {one: request[one] for one in _STAGE if request.get(one) is not None}
    if request.get("stageDescription"):
        given["description"] = request["stageDescription"]
    return app.services.apis.new(STAGE, {**given, "deployment": deployment}, name)


def _shown_deployment(one: Member) -> JsonObject:
    shown: JsonObject = {"id": one.id, "createdDate": one.created_ms}
    if one.settings.get("description"):
        shown["description"] = one.settings["description"]
    return shown


@change("apigateway", "CreateDeployment")
async def create_deployment(app: App, _call: Call, request: Json) -> Json:
    """Deploy an API as it is now; to a stage, if one is named."""
    held = api_of(app, request)
    methods = [one for of in held.of(RESOURCE).values() for one in (of.settings.get("methods") or {}).values()]
    if not methods:
        raise bad_request("The REST API doesn't contain any methods")
    if any("methodIntegration" not in one for one in methods):
        raise bad_request("No integration defined for method")
    given = {"description": request["description"]} if request.get("description") else {}
    made = app.services.apis.deployment(held, given)
    stages: list[Member] = []
    name = request.get("stageName")
    if name:
        stage = held.of(STAGE).get(name)
        if stage is None:
            stages = [_new_stage(app, held, {**request, "description": None}, made.id)]
        else:
            changed = {**stage.settings, "deployment": made.id}
            if request.get("variables") is not None:
                changed["variables"] = request["variables"]
            stages = [app.services.apis.changed(stage, changed)]
    [written, *_] = await app.services.apis.write(held, made, *stages)
    return _shown_deployment(written)


def _deployment(held: Held, deployment_id: str) -> Member:
    found = held.of(DEPLOYMENT).get(deployment_id)
    if found is None:
        raise not_found("Invalid Deployment identifier specified")
    return found


@operation("apigateway", "GetDeployment")
async def get_deployment(app: App, _call: Call, request: Json) -> Json:
    """Show a deployment."""
    return _shown_deployment(_deployment(api_of(app, request), request["deploymentId"]))


@operation("apigateway", "GetDeployments")
async def get_deployments(app: App, _call: Call, request: Json) -> Json:
    """List deployments."""
    of = api_of(app, request).of(DEPLOYMENT)
    return page(request, [_shown_deployment(of[key]) for key in sorted(of)], "id")


@change("apigateway", "DeleteDeployment")
async def delete_deployment(app: App, _call: Call, request: Json) -> Json:
    """Delete a deployment that no stage serves."""
    held = api_of(app, request)
    found = _deployment(held, request["deploymentId"])
    if any(one.settings.get("deployment") == found.id for one in held.of(STAGE).values()):
        raise bad_request("Active stages pointing to this deployment must be moved or deleted")
    await app.services.apis.write(held, delete=[found])
    return {}


@change("apigateway", "CreateStage")
async def create_stage(app: App, _call: Call, request: Json) -> Json:
    """Create a stage that serves a deployment."""
    held = api_of(app, request)
    made = _new_stage(app, held, request, _deployment(held, request["deploymentId"]).id)
    [written] = await app.services.apis.write(held, made)
    return _shown(written)


@operation("apigateway", "GetStage")
async def get_stage(app: App, _call: Call, request: Json) -> Json:
    """Show a stage."""
    return _shown(stage_of(api_of(app, request), request["stageName"]))


@operation("apigateway", "GetStages")
async def get_stages(app: App, _call: Call, request: Json) -> Json:
    """List stages, or those that serve a deployment."""
    of, wanted = api_of(app, request).of(STAGE), request.get("deploymentId")
    found = [_shown(of[key]) for key in sorted(of) if wanted in (None, of[key].settings.get("deployment"))]
    return {"item": found}


@change("apigateway", "UpdateStage")
async def update_stage(app: App, _call: Call, request: Json) -> Json:
    """Change a stage."""
    held = api_of(app, request)
    found = stage_of(held, request["stageName"])
    before = {**found.settings, "deploymentId": found.settings.get("deployment")}
    settings = staged(before, request.get("patchOperations") or ())
    settings["deployment"] = _deployment(held, settings.pop("deploymentId")).id
    [written] = await app.services.apis.write(held, app.services.apis.changed(found, settings))
    return _shown(written)


@change("apigateway", "DeleteStage")
async def delete_stage(app: App, _call: Call, request: Json) -> Json:
    """Delete a stage."""
    held = api_of(app, request)
    await app.services.apis.write(held, delete=[stage_of(held, request["stageName"])])
    return {}
