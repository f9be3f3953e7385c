"""Operations on single resources of stacks: reading one, and changing it past its stack, as hot swaps do."""

from __future__ import annotations

from statewright import chance
from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.payload import Json, JsonTextError, dump_json, parse_json
from statewright.stacks.swaps import found_resource, swap


@operation("cloudcontrolapi", "GetResource")
async def get_resource(app: App, _call: Call, request: Json) -> Json:
    """Return the properties of a resource, as its stack made it."""
    _, row = await found_resource(app.services.stacks, request["TypeName"], request["Identifier"])
    assert row.now is not None
    described = {"Identifier": request["Identifier"], "Properties": dump_json(row.now.resolved)}
    return {"TypeName": request["TypeName"], "ResourceDescription": described}


@operation("cloudcontrolapi", "UpdateResource")
async def update_resource(app: App, _call: Call, request: Json) -> Json:
    """Change a resource at once. Its stack knows nothing of it: the next deployment compares with the template."""
    try:
        patch = parse_json(request["PatchDocument"])
    except JsonTextError:
        patch = None
    if not isinstance(patch, list) or not all(isinstance(one, dict) for one in patch):
        raise ApiError("InvalidRequestException", "The patch document must be a JSON list of operations.")
    made = await swap(app.services.stacks, request["TypeName"], request["Identifier"], patch)
    event = {
        "TypeName": request["TypeName"], "Identifier": request["Identifier"], "RequestToken": chance.uuid4(),
        "Operation": "UPDATE", "OperationStatus": "SUCCESS", "EventTime": app.clock.now_ms(),
        "ResourceModel": dump_json(made.resolved),
    }  # fmt: skip
    return {"ProgressEvent": event}
