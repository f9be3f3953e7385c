"""Operations on aliases of state machines. The rules are in `engine.aliases`."""

from __future__ import annotations

from statewright.api.operations import App, Call, operation
from statewright.payload import Json


@operation("states", "CreateStateMachineAlias")
async def create_state_machine_alias(app: App, _call: Call, request: Json) -> Json:
    """Create an alias for one or two versions."""
    alias = await app.engine.machines.aliases.create(
        request["name"], request["routingConfiguration"], request.get("description")
    )
    return {"stateMachineAliasArn": alias.arn, "creationDate": alias.created_ms}


@operation("states", "UpdateStateMachineAlias")
async def update_state_machine_alias(app: App, _call: Call, request: Json) -> Json:
    """Change an alias's routes, its description, or both."""
    updated_ms = await app.engine.machines.aliases.update(
        request["stateMachineAliasArn"], request.get("routingConfiguration"), request.get("description")
    )
    return {"updateDate": updated_ms}


@operation("states", "DescribeStateMachineAlias")
async def describe_state_machine_alias(app: App, _call: Call, request: Json) -> Json:
    """Show an alias."""
    alias = await app.engine.machines.aliases.get(request["stateMachineAliasArn"])
    return {
        "stateMachineAliasArn": alias.arn,
        "name": alias.name,
        "description": alias.description,
        "routingConfiguration": [{"stateMachineVersionArn": arn, "weight": weight} for arn, weight in alias.routes],
        "creationDate": alias.created_ms,
        "updateDate": alias.updated_ms,
    }


@operation("states", "ListStateMachineAliases")
async def list_state_machine_aliases(app: App, _call: Call, request: Json) -> Json:
    """List the aliases of a machine, or those that route to one version."""
    aliases, token = await app.engine.machines.aliases.list_aliases(
        request["stateMachineArn"], request.get("nextToken"), request.get("maxResults")
    )
    listed = [{"stateMachineAliasArn": one.arn, "creationDate": one.created_ms} for one in aliases]
    return {"stateMachineAliases": listed, "nextToken": token}


@operation("states", "DeleteStateMachineAlias")
async def delete_state_machine_alias(app: App, _call: Call, request: Json) -> None:
    """Delete an alias."""
    await app.engine.machines.aliases.delete(request["stateMachineAliasArn"])
