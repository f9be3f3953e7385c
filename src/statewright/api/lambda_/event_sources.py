"""Operations on event source mappings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from statewright.api.operations import App, Call, operation
from statewright.functions.event_sources.batches import REPORT
from statewright.functions.event_sources.records import MappingRecord
from statewright.functions.event_sources.streams.position import NOTHING_YET
from statewright.functions.event_sources.streams.settings import USER_ACTION
from statewright.functions.names import invalid
from statewright.payload import Json, JsonObject

if TYPE_CHECKING:
    from statewright.functions.event_sources.mappings import EventSources

MOST_LISTED: Final = 100
"""Mappings on a page. Source: Lambda API reference, ListEventSourceMappings."""


def _sources(app: App) -> EventSources:
    return app.services.event_sources


def shown(app: App, mapping: MappingRecord, state: str | None = None) -> Json:
    """A mapping as answers show it; `state` overrides its state, for one that is changing."""
    config = app.config
    view: JsonObject = {
        "UUID": mapping.uuid,
        "BatchSize": mapping.batch_size,
        "MaximumBatchingWindowInSeconds": mapping.window_seconds,
        "EventSourceArn": mapping.source_arn,
        "FunctionArn": mapping.function_arn,
        "LastModified": mapping.modified_ms,
        "State": state or ("Enabled" if mapping.enabled else "Disabled"),
        "StateTransitionReason": "USER_INITIATED" if mapping.stream is None else USER_ACTION,
        "FunctionResponseTypes": [REPORT] if mapping.reports_failures else [],
        "EventSourceMappingArn": config.arn("lambda", f"event-source-mapping:{mapping.uuid}"),
        **mapping.shown,
    }
    if mapping.maximum is not None:
        view["ScalingConfig"] = {"MaximumConcurrency": mapping.maximum}
    if mapping.pollers is not None:
        view["ProvisionedPollerConfig"] = {
            "MinimumPollers": mapping.pollers[0], "MaximumPollers": mapping.pollers[1],
        }  # fmt: skip
    if mapping.stream is not None:
        position = _sources(app).position(mapping.uuid)
        view |= {**mapping.stream.shown(), "LastProcessingResult": position.result if position else NOTHING_YET}
    if (problem := _sources(app).problem(mapping.uuid)) is not None:
        view["LastProcessingResult"] = f"PROBLEM: {problem}"
    if mapping.filters:
        view["FilterCriteria"] = {"Filters": [{"Pattern": pattern} for pattern in mapping.filters]}
    return view


@operation("lambda", "CreateEventSourceMapping")
async def create_event_source_mapping(app: App, _call: Call, request: Json) -> Json:
    """Let a queue or a stream of a table invoke a function."""
    mapping = await _sources(app).create(request)
    # One that polls nothing has nothing to create (observed).
    return shown(app, mapping, "Creating" if mapping.enabled else "Disabled")


@operation("lambda", "GetEventSourceMapping")
async def get_event_source_mapping(app: App, _call: Call, request: Json) -> Json:
    """Show one mapping."""
    return shown(app, _sources(app).get(request["UUID"]))


@operation("lambda", "UpdateEventSourceMapping")
async def update_event_source_mapping(app: App, _call: Call, request: Json) -> Json:
    """Change a mapping."""
    sources = _sources(app)
    was_enabled = sources.get(request["UUID"]).enabled
    mapping = await sources.update(request)
    if mapping.enabled != was_enabled:
        return shown(app, mapping, "Enabling" if mapping.enabled else "Disabling")
    return shown(app, mapping, "Updating")


@operation("lambda", "DeleteEventSourceMapping")
async def delete_event_source_mapping(app: App, _call: Call, request: Json) -> Json:
    """Delete a mapping."""
    return shown(app, await _sources(app).delete(request["UUID"]), "Deleting")


@operation("lambda", "ListEventSourceMappings")
async def list_event_source_mappings(app: App, _call: Call, request: Json) -> Json:
    """List mappings, only those of a queue or of a function if requested."""
    marker = request.get("Marker")
    if marker is not None and len(marker) != 36:
        raise invalid("The marker is invalid.")
    limit = min(request.get("MaxItems") or MOST_LISTED, MOST_LISTED)
    found, after = _sources(app).list_mappings(
        request.get("EventSourceArn"), request.get("FunctionName"), marker, limit
    )
    return {"EventSourceMappings": [shown(app, mapping) for mapping in found], "NextMarker": after}
