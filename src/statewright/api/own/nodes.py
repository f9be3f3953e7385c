"""The operation that shows the nodes of a cluster."""

from __future__ import annotations

from statewright.api.operations import App, Call, operation
from statewright.payload import Json, JsonObject
from statewright.stores.ids import shard_of_id


@operation("statewright", "ListNodes")
async def list_nodes(app: App, _call: Call, request: Json) -> Json:
    """List the living nodes, or the one that has an execution, and say in which format they write.

    No nodes and no format for a server that is alone.
    """
    arn = request.get("executionArn")
    name = await node_of(app, arn) if arn is not None else None
    shown = await app.nodes.shown() if app.nodes is not None else []
    found: JsonObject = {"nodes": [one for one in shown if arn is None or one["name"] == name]}
    if app.nodes is not None:
        found["format"] = app.nodes.format
    return found


async def node_of(app: App, execution_arn: str) -> str | None:
    """The name of the node that has an execution; None for a server that is alone, and while no node has it.

    Raises: ApiError (`InvalidArn`, `ExecutionDoesNotExist`); StoreError.
    """
    execution = await app.engine.names.id_of(execution_arn)
    return app.nodes.node_of(shard_of_id(execution)) if app.nodes is not None else None
