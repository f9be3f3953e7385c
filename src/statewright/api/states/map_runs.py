"""Operations on Map Runs: show, list, change."""

from __future__ import annotations

from statewright.api.operations import App, Call, operation
from statewright.arn import EXECUTION, MAP_RUN, parse_arn
from statewright.engine.list_tokens import page_size
from statewright.errors import ApiError
from statewright.payload import Json

CHANGES = ("maxConcurrency", "toleratedFailurePercentage", "toleratedFailureCount")


@operation("states", "DescribeMapRun")
async def describe_map_run(app: App, _call: Call, request: Json) -> Json:
    """Show a Map Run with its counts."""
    arn = request["mapRunArn"]
    parse_arn(arn, MAP_RUN)
    return await app.engine.map_runs.describe(arn)


@operation("states", "ListMapRuns")
async def list_map_runs(app: App, _call: Call, request: Json) -> Json:
    """List the Map Runs of an execution."""
    arn = request["executionArn"]
    parse_arn(arn, EXECUTION)
    runs, token = await app.engine.map_runs.list(
        arn, token=request.get("nextToken"), limit=page_size(request.get("maxResults"))
    )
    return {"mapRuns": runs, "nextToken": token}


@operation("states", "UpdateMapRun")
async def update_map_run(app: App, _call: Call, request: Json) -> None:
    """Change the concurrency and the tolerated failures of a running Map Run."""
    arn = request["mapRunArn"]
    parse_arn(arn, MAP_RUN)
    if all(request.get(name) is None for name in CHANGES):
        raise ApiError("ValidationException", f"At least one of {', '.join(CHANGES)} must be specified")
    await app.engine.map_runs.update(
        arn,
        max_concurrency=request.get("maxConcurrency"),
        tolerated_failure_percentage=request.get("toleratedFailurePercentage"),
        tolerated_failure_count=request.get("toleratedFailureCount"),
    )
