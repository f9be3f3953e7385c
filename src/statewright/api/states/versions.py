"""Operations on versions of state machines. The rules are in `engine.versions`."""

from __future__ import annotations

from statewright.api.operations import App, Call, operation
from statewright.payload import Json


@operation("states", "PublishStateMachineVersion")
async def publish_state_machine_version(app: App, _call: Call, request: Json) -> Json:
    """Publish a machine's current revision as a version."""
    version = await app.engine.machines.versions.publish(
        request["stateMachineArn"], request.get("revisionId"), request.get("description")
    )
    return {"stateMachineVersionArn": version.arn, "creationDate": version.created_ms}


@operation("states", "ListStateMachineVersions")
async def list_state_machine_versions(app: App, _call: Call, request: Json) -> Json:
    """List a machine's versions, newest first."""
    versions, token = await app.engine.machines.versions.list_versions(
        request["stateMachineArn"], request.get("nextToken"), request.get("maxResults")
    )
    listed = [{"stateMachineVersionArn": one.arn, "creationDate": one.created_ms} for one in versions]
    return {"stateMachineVersions": listed, "nextToken": token}


@operation("states", "DeleteStateMachineVersion")
async def delete_state_machine_version(app: App, _call: Call, request: Json) -> None:
    """Delete a version that no alias routes to."""
    await app.engine.machines.versions.delete(request["stateMachineVersionArn"])
