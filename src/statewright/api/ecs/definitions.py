"""Operations on task definitions."""

from __future__ import annotations

from statewright.api.ecs.paging import page
from statewright.api.operations import App, Call, operation
from statewright.jobs.ecs_definitions import Definition, Definitions, client_error
from statewright.payload import Json, JsonObject


def _definitions(app: App) -> Definitions:
    return app.services.jobs.tasks.definitions


def shown(definition: Definition) -> Json:
    """A task definition as answers show it."""
    given: JsonObject = {name: value for name, value in definition.given.items() if name != "tags"}
    given["containerDefinitions"] = [_container(one) for one in given["containerDefinitions"]]
    compatible = ["EC2", "FARGATE"] if given.get("networkMode") == "awsvpc" else ["EXTERNAL", "EC2"]
    return {
        "volumes": [],
        "placementConstraints": [],
        **given,
        "taskDefinitionArn": definition.arn,
        "revision": definition.revision,
        "status": "ACTIVE" if definition.is_active else "INACTIVE",
        "compatibilities": given.get("requiresCompatibilities") or compatible,
        "registeredAt": definition.registered_ms,
        "deregisteredAt": definition.deregistered_ms,
    }


def _container(one: Json) -> Json:
    lists = ("portMappings", "environment", "mountPoints", "volumesFrom", "systemControls")
    return {"cpu": 0, "essential": True, **{name: [] for name in lists}, **one}


@operation("ecs", "RegisterTaskDefinition")
async def register_task_definition(app: App, _call: Call, request: Json) -> Json:
    """Register the next revision of a family."""
    made = await _definitions(app).register(request)
    return {"taskDefinition": shown(made), "tags": request.get("tags") or []}


@operation("ecs", "DescribeTaskDefinition")
async def describe_task_definition(app: App, _call: Call, request: Json) -> Json:
    """Show one revision, the newest active one of a family if none is named."""
    found = _definitions(app).find(request["taskDefinition"])
    if found is None:
        raise client_error("Unable to describe task definition.")
    tags = (found.given.get("tags") or []) if "TAGS" in (request.get("include") or ()) else None
    return {"taskDefinition": shown(found), "tags": tags}


@operation("ecs", "DeregisterTaskDefinition")
async def deregister_task_definition(app: App, _call: Call, request: Json) -> Json:
    """Deactivate a revision: no further task can be run from it."""
    return {"taskDefinition": shown(await _definitions(app).deregister(request["taskDefinition"]))}


@operation("ecs", "ListTaskDefinitions")
async def list_task_definitions(app: App, _call: Call, request: Json) -> Json:
    """List revisions by ARN."""
    status, descending = request.get("status") or "ACTIVE", request.get("sort") == "DESC"
    arns = _definitions(app).arns(request.get("familyPrefix"), status, descending=descending)
    return page("taskDefinitionArns", arns, request)
