"""Operations on the tags of state machines and activities. The rules are in `engine.tags`."""

from __future__ import annotations

from statewright.api.operations import App, Call, operation
from statewright.payload import Json


@operation("states", "TagResource")
async def tag_resource(app: App, _call: Call, request: Json) -> None:
    """Add tags to a machine or activity."""
    await app.engine.machines.tags.put(request["resourceArn"], request["tags"])


@operation("states", "UntagResource")
async def untag_resource(app: App, _call: Call, request: Json) -> None:
    """Remove tags from a machine or activity."""
    await app.engine.machines.tags.take(request["resourceArn"], request["tagKeys"])


@operation("states", "ListTagsForResource")
async def list_tags_for_resource(app: App, _call: Call, request: Json) -> Json:
    """List the tags of a machine or activity."""
    tags = await app.engine.machines.tags.of(request["resourceArn"])
    return {"tags": [{"key": key, "value": value} for key, value in tags.items()]}
