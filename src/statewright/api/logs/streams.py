"""Operations on log streams and events."""

from __future__ import annotations

from typing import Final

from statewright.api.logs.groups import LISTED, TOKENS, invalid, invalid_token, name_of
from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.pages import PageTokens
from statewright.payload import Json, JsonObject
from statewright.records import log_reading
from statewright.records.log_files import Lane, LogEvent, Place
from statewright.records.log_patterns import compile_pattern
from statewright.records.log_reading import Extent, Window

STREAM: Final = PageTokens[Place | tuple[()]]("logs stream", invalid_token)
"""Tokens of a stream's pages; an empty position is the beginning or the end."""
SEARCHES: Final = PageTokens[dict[str, Place]]("logs search", invalid_token)
MOST_EVENTS: Final = 10_000


@operation("logs", "CreateLogStream")
async def create_log_stream(app: App, _call: Call, request: Json) -> None:
    """Create a stream."""
    await app.services.log_groups.create_stream(request["logGroupName"], request["logStreamName"])


@operation("logs", "DeleteLogStream")
async def delete_log_stream(app: App, _call: Call, request: Json) -> None:
    """Delete a stream."""
    await app.services.log_groups.delete_stream(request["logGroupName"], request["logStreamName"])


@operation("logs", "PutLogEvents")
async def put_log_events(app: App, _call: Call, request: Json) -> Json:
    """Store events."""
    events = [(one["timestamp"], one["message"]) for one in request["logEvents"]]
    rejected = await app.services.log_groups.put(request["logGroupName"], request["logStreamName"], events)
    # The token has no meaning any more, but older callers send it back.
    return {"nextSequenceToken": "0", "rejectedLogEventsInfo": rejected or None}


@operation("logs", "DescribeLogStreams")
async def describe_log_streams(app: App, _call: Call, request: Json) -> Json:
    """List streams of a group, by name or by their last event."""
    group = name_of(app, request)
    await app.services.log_groups.get(group)
    by_time = request.get("orderBy") == "LastEventTime"
    prefix = request.get("logStreamNamePrefix", "")
    if by_time and prefix:
        raise invalid("Cannot order by LastEventTime with a logStreamNamePrefix.")
    extents: dict[str, Extent | None] = dict.fromkeys(await app.services.log_groups.streams(group))
    for found in await app.services.log_groups.work(_extents, app, await app.services.log_groups.lanes(group)):
        extents.update(found)
    made = await app.services.log_groups.streams(group)

    def sort_key(name: str) -> tuple[int, str]:
        extent = extents[name]
        return (extent.last_ms if by_time and extent is not None else 0, name)

    names = sorted((name for name in extents if name.startswith(prefix)), key=sort_key)
    if request.get("descending"):
        names.reverse()
    after, limit = TOKENS.read(request.get("nextToken")), request.get("limit", LISTED)
    start = after[0] if after is not None else 0
    place = (start + limit, "") if start + limit < len(names) else None
    arn = app.services.log_groups.arn(group)
    shown = [_shown(arn, name, extents[name], made.get(name)) for name in names[start : start + limit]]
    return {"logStreams": shown, "nextToken": TOKENS.write(place)}


def _extents(app: App, lanes: list[Lane]) -> list[dict[str, Extent]]:
    return [app.services.log_extents.of(lane) for lane in lanes]


def _shown(arn: str, name: str, extent: Extent | None, made_ms: int | None) -> JsonObject:
    view: JsonObject = {
        "logStreamName": name, "creationTime": made_ms, "arn": f"{arn}:log-stream:{name}",
        "storedBytes": 0, "uploadSequenceToken": "0",
    }  # fmt: skip
    if extent is not None:
        view["creationTime"] = made_ms if made_ms is not None else extent.first_ms
        view["firstEventTimestamp"], view["lastEventTimestamp"] = extent.first_ms, extent.last_ms
        view["lastIngestionTime"], view["storedBytes"] = extent.ingested_ms, extent.size_bytes
    return view


async def _window(app: App, group: str, request: Json) -> Window:
    hidden_ms = app.services.log_groups.hidden_before(await app.services.log_groups.get(group))
    from_ms, to_ms = request.get("startTime"), request.get("endTime")
    # The end of a window is exclusive with GetLogEvents, inclusive with FilterLogEvents.
    return Window(max(from_ms or 0, hidden_ms) or None, to_ms)


@operation("logs", "GetLogEvents")
async def get_log_events(app: App, _call: Call, request: Json) -> Json:
    """Read a page of a stream: the last one, unless a token or `startFromHead` names another."""
    group, stream = name_of(app, request), request["logStreamName"]
    window = await _window(app, group, request)
    token = request.get("nextToken")
    forward, place = bool(request.get("startFromHead")), None
    if token is not None:
        way, _, text = token.partition("/")
        if way not in ("f", "b"):
            raise invalid_token(token)
        forward, place = way == "f", STREAM.read(text) or None
    lane = await _lane_of(app, group, stream)
    limit = request.get("limit", MOST_EVENTS)
    page = (
        await app.services.log_groups.work(log_reading.stream_page, lane, stream, window, limit, place, forward=forward)
        if lane is not None else log_reading.StreamPage([], place, place)
    )  # fmt: skip
    return {
        "events": [_event(one) for one in page.events],
        "nextForwardToken": f"f/{STREAM.write(page.behind or ())}",
        "nextBackwardToken": f"b/{STREAM.write(page.before or ())}",
    }


async def _lane_of(app: App, group: str, stream: str) -> Lane | None:
    """The lane with a stream's events; None for a stream that was created but has none. Raises: ApiError."""
    lanes = await app.services.log_groups.lanes(group)
    named = next((lane for lane in lanes if lane.stream == stream), None)
    if named is not None:
        return named
    shared = next((lane for lane in lanes if not lane.stream), None)
    if shared is not None and stream in await app.services.log_groups.work(app.services.log_extents.of, shared):
        return shared
    raise ApiError("ResourceNotFoundException", "The specified log stream does not exist.")


@operation("logs", "FilterLogEvents")
async def filter_log_events(app: App, _call: Call, request: Json) -> Json:
    """Read events of a group by time, with a filter pattern."""
    group = name_of(app, request)
    names, prefix = set(request.get("logStreamNames", ())), request.get("logStreamNamePrefix", "")
    if names and prefix:
        raise invalid("logStreamNames and logStreamNamePrefix cannot both be given.")
    matches = compile_pattern(request.get("filterPattern", ""))
    window = await _window(app, group, request)
    if window.to_ms is not None:
        window = Window(window.from_ms, window.to_ms + 1)
    given = SEARCHES.read(request.get("nextToken")) or {}
    places = {name: (file, offset) for name, (file, offset) in given.items()}
    lanes = await app.services.log_groups.lanes(group)
    await _check_named(app, lanes, names)

    def wanted(event: LogEvent) -> bool:
        return event.stream.startswith(prefix) and (not names or event.stream in names) and matches(event.message)

    chosen = [
        one for one in lanes
        if not one.stream or (one.stream.startswith(prefix) and (not names or one.stream in names))
    ]  # fmt: skip
    limit = request.get("limit", MOST_EVENTS)
    page = await app.services.log_groups.work(log_reading.search, chosen, window, wanted, limit, places)
    events = [{"logStreamName": one.stream, **_event(one), "eventId": event_id} for one, event_id in page.events]
    return {"events": events, "searchedLogStreams": [], "nextToken": SEARCHES.write(page.places)}


async def _check_named(app: App, lanes: list[Lane], names: set[str]) -> None:
    """Refuse streams that do not exist. Raises: ApiError."""
    missing = names - {lane.stream for lane in lanes}
    if missing:
        for lane in lanes:
            missing -= (
                set() if lane.stream else set(await app.services.log_groups.work(app.services.log_extents.of, lane))
            )
    if missing:
        raise ApiError("ResourceNotFoundException", "The specified log stream does not exist.")


def _event(event: LogEvent) -> JsonObject:
    return {"timestamp": event.at_ms, "message": event.message, "ingestionTime": event.ingested_ms}
