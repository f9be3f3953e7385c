"""Operations on state machines: create, update, describe, list, delete.

Owns the shapes of requests and answers. The rules are in `engine.state_machines`.
"""

from __future__ import annotations

from typing import Final

from statewright.api.operations import App, Call, operation
from statewright.arn import EXECUTION, parse_arn
from statewright.engine.machines.records import Revision
from statewright.engine.machines.views import MachineChange, NewMachine
from statewright.payload import Json, JsonObject

DELIVERY_STREAM: Final = "log_stream_created_by_aws_to_validate_log_delivery_subscriptions"


@operation("states", "CreateStateMachine")
async def create_state_machine(app: App, _call: Call, request: Json) -> Json:
    """Create a machine, and publish a version of it if requested."""
    changed = await app.engine.machines.create(
        NewMachine(
            name=request["name"],
            definition=request["definition"],
            role_arn=request["roleArn"],
            type=request.get("type", "STANDARD"),
            logging=request.get("loggingConfiguration"),
            tracing=request.get("tracingConfiguration"),
            encryption=request.get("encryptionConfiguration"),
            tags=tuple(request.get("tags", ())),
            publish=request.get("publish", False),
            version_description=request.get("versionDescription"),
        )
    )
    await _try_delivery(app, request.get("loggingConfiguration") or {})
    return {
        "stateMachineArn": changed.machine.arn,
        "creationDate": changed.machine.created_ms,
        "stateMachineVersionArn": changed.version_arn,
    }


async def _try_delivery(app: App, logging: Json) -> None:
    """Create the empty stream that the service creates in a log group when it checks that it can write there.

    Groups that do not exist yet are created by the first write. Source: observed; updates do not do so.
    """
    if logging.get("level", "OFF") == "OFF":
        return
    groups = app.services.log_groups
    for destination in logging["destinations"]:
        name = destination["cloudWatchLogsLogGroup"]["logGroupArn"].split(":")[6]
        if await groups.find(name) is not None and DELIVERY_STREAM not in await groups.streams(name):
            await groups.create_stream(name, DELIVERY_STREAM)


@operation("states", "UpdateStateMachine")
async def update_state_machine(app: App, _call: Call, request: Json) -> Json:
    """Change a machine, and publish the new revision if requested."""
    changed = await app.engine.machines.update(
        request["stateMachineArn"],
        MachineChange(
            definition=request.get("definition"),
            role_arn=request.get("roleArn"),
            logging=request.get("loggingConfiguration"),
            tracing=request.get("tracingConfiguration"),
            encryption=request.get("encryptionConfiguration"),
            publish=request.get("publish", False),
            version_description=request.get("versionDescription"),
        ),
    )
    return {
        "updateDate": changed.at_ms,
        "revisionId": changed.revision_id,
        "stateMachineVersionArn": changed.version_arn,
    }


@operation("states", "DescribeStateMachine")
async def describe_state_machine(app: App, _call: Call, request: Json) -> Json:
    """Show a machine, a version, or the child machine of a distributed Map."""
    view = await app.engine.machines.describe(request["stateMachineArn"])
    version = view.version
    return {
        "stateMachineArn": view.arn,
        "name": view.machine.name,
        "status": "DELETING" if view.machine.deleting else "ACTIVE",
        "type": view.machine.type,
        "creationDate": version.created_ms if version else view.machine.created_ms,
        "description": version.description if version else None,
        "label": view.label,
        **_configuration(view.revision),
        **_definition(request, view.definition, view.variable_references),
    }


@operation("states", "DescribeStateMachineForExecution")
async def describe_state_machine_for_execution(app: App, _call: Call, request: Json) -> Json:
    """Show the definition that an execution runs, even if its machine has changed since."""
    parse_arn(request["executionArn"], EXECUTION)
    execution = await app.engine.describe(request["executionArn"])
    arn = parse_arn(execution.machine_arn)
    label = parse_arn(execution.map_run_arn).label if execution.map_run_arn else None
    view = await app.engine.machines.describe_revision(execution.machine_id, execution.revision_id, label)
    return {
        "stateMachineArn": execution.machine_arn,
        "name": arn.name,
        "updateDate": view.revision.updated_ms,
        "mapRunArn": execution.map_run_arn,
        "label": label,
        **_configuration(view.revision),
        **_definition(request, view.definition, view.variable_references),
    }


@operation("states", "ListStateMachines")
async def list_state_machines(app: App, _call: Call, request: Json) -> Json:
    """List the machines by name."""
    machines, token = await app.engine.machines.list_machines(request.get("nextToken"), request.get("maxResults"))
    listed = [
        {"stateMachineArn": one.arn, "name": one.name, "type": one.type, "creationDate": one.created_ms}
        for one in machines
    ]
    return {"stateMachines": listed, "nextToken": token}


@operation("states", "DeleteStateMachine")
async def delete_state_machine(app: App, _call: Call, request: Json) -> None:
    """Delete a machine, once its executions have ended."""
    await app.engine.machines.delete(request["stateMachineArn"])


def _configuration(revision: Revision) -> JsonObject:
    return {
        "roleArn": revision.role_arn,
        "loggingConfiguration": revision.logging,
        "tracingConfiguration": revision.tracing,
        "encryptionConfiguration": revision.encryption,
        "revisionId": revision.shown_id,
    }


def _definition(request: Json, definition: str, references: Json) -> JsonObject:
    """The definition and the variables that it references, unless only metadata is requested."""
    if request.get("includedData") == "METADATA_ONLY":
        return {}
    return {"definition": definition, "variableReferences": references or None}
