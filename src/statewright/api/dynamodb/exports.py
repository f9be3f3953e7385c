"""ExportTableToPointInTime, DescribeExport, ListExports."""

from __future__ import annotations

from statewright.api.operations import App, Call, operation
from statewright.pages import page_behind
from statewright.payload import Json, JsonObject
from statewright.tables.exports import Export

MOST_LISTED = 25


@operation("dynamodb", "ExportTableToPointInTime")
async def export_table(app: App, _call: Call, request: Json) -> Json:
    """Start to write a table's items into a bucket."""
    return {"ExportDescription": _shown(await app.services.tables.exports.begin(request))}


@operation("dynamodb", "DescribeExport")
async def describe_export(app: App, _call: Call, request: Json) -> Json:
    """Show an export and its progress."""
    return {"ExportDescription": _shown(await app.services.tables.exports.find(request["ExportArn"]))}


@operation("dynamodb", "ListExports")
async def list_exports(app: App, _call: Call, request: Json) -> Json:
    """List exports of a table, or of all tables, newest first."""
    found = await app.services.tables.exports.all(request.get("TableArn"))
    try:
        page, token = page_behind(
            found, lambda one: one.arn, request.get("NextToken"), request.get("MaxResults", MOST_LISTED)
        )
    except ValueError:
        page, token = [], None
    shown = [{"ExportArn": export.arn, "ExportStatus": export.status, "ExportType": "FULL_EXPORT"} for export in page]
    answer: JsonObject = {"ExportSummaries": shown}
    return {**answer, "NextToken": token} if token is not None else answer


def _shown(export: Export) -> JsonObject:
    shown: JsonObject = {
        "ExportArn": export.arn,
        "ExportStatus": export.status,
        "StartTime": export.started_ms,
        "TableArn": export.table_arn,
        "TableId": export.table_id,
        "ExportTime": export.export_ms,
        "ClientToken": export.token,
        "S3Bucket": export.bucket,
        "S3SseAlgorithm": export.encryption,
        "ExportFormat": "DYNAMODB_JSON",
        "ExportType": "FULL_EXPORT",
    }
    if export.prefix is not None:
        shown["S3Prefix"] = export.prefix
    if export.owner is not None:
        shown["S3BucketOwner"] = export.owner
    if export.ended_ms is not None:
        shown["EndTime"] = export.ended_ms
    if export.status == "COMPLETED":
        shown |= {
            "ExportManifest": export.manifest_key,
            "BilledSizeBytes": export.bytes,
            "ItemCount": export.items,
        }
    if export.failure is not None:
        shown |= {"FailureCode": export.failure[0], "FailureMessage": export.failure[1]}
    return shown
