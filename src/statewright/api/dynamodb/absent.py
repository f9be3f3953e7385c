"""Features that tables never have here, answered as the service does for a table without them: tools ask for them.

Source: DynamoDB API reference, the errors of each operation.
"""

from __future__ import annotations

from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.payload import Json
from statewright.tables.table import Table


@operation("dynamodb", "DescribeContributorInsights")
async def describe_contributor_insights(app: App, _call: Call, request: Json) -> Json:
    """Answer that contributor insights are disabled."""
    table = _table(app, request["TableName"])
    return {"TableName": table.definition.name, "ContributorInsightsStatus": "DISABLED"}


@operation("dynamodb", "DescribeKinesisStreamingDestination")
async def describe_kinesis_streaming_destination(app: App, _call: Call, request: Json) -> Json:
    """Answer that a table has no streaming destinations."""
    return {"TableName": _table(app, request["TableName"]).definition.name, "KinesisDataStreamDestinations": []}


@operation("dynamodb", "GetResourcePolicy")
async def get_resource_policy(app: App, _call: Call, request: Json) -> Json:
    """Refuse: a table has no policy."""
    _table(app, request["ResourceArn"])
    raise ApiError(
        "PolicyNotFoundException", f"Resource-based policy not found for the resource: {request['ResourceArn']}"
    )


def _table(app: App, reference: str) -> Table:
    table: Table | None = app.services.tables.catalogue.find(reference)
    if table is None:
        raise ApiError("ResourceNotFoundException", f"Requested resource not found: Table: {reference} not found")
    return table
