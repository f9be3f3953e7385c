"""The operation that shows the nodes of a cluster."""

from __future__ import annotations

from statewright.api.operations import App, Call, operation
from statewright.payload import Json


@operation("statewright", "ListNodes")
async def list_nodes(app: App, _call: Call, _request: Json) -> Json:
    """List the living nodes; none for a server that is alone."""
    return {"nodes": await app.nodes.shown() if app.nodes is not None else []}
