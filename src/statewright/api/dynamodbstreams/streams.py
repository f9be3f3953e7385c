"""Operations on streams of tables: list, describe, iterators, records.

Source: DynamoDB Streams API reference; shapes of records recorded.
"""

from __future__ import annotations

from typing import Final

from statewright.api import shapes
from statewright.api.dynamodb.descriptions import key_schema
from statewright.api.dynamodb.shown import shown_item
from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject
from statewright.tables.streams.iterators import Iterator, read_iterator
from statewright.tables.streams.records import PER_MS, StreamRecord, event_id, number_of
from statewright.tables.streams.stream import Stream
from statewright.tables.streams.streams import MOST_READ, Streams, trimmed
from statewright.tables.values import invalid

MOST_LISTED: Final = 100
"""Source: Streams API reference, ListStreams."""

shapes.keep_as_is("dynamodbstreams", frozenset({"AttributeValue"}))


def _streams(app: App) -> Streams:
    streams: Streams = app.services.tables.streams
    return streams


@operation("dynamodbstreams", "ListStreams")
async def list_streams(app: App, _call: Call, request: Json) -> Json:
    """List streams, those of closed ones too, as long as they can be read."""
    streams = _streams(app)
    name, after = request.get("TableName"), request.get("ExclusiveStartStreamArn")
    found = [
        one
        for one in streams.readable()
        if (name is None or one.entry.table == name) and (not after or one.arn > after)
    ]
    limit = min(request.get("Limit") or MOST_LISTED, MOST_LISTED)
    answer: JsonObject = {
        "Streams": [
            {"StreamArn": one.arn, "TableName": one.entry.table, "StreamLabel": one.entry.label}
            for one in found[:limit]
        ]
    }
    return {**answer, "LastEvaluatedStreamArn": found[limit - 1].arn} if len(found) > limit else answer


@operation("dynamodbstreams", "DescribeStream")
async def describe_stream(app: App, _call: Call, request: Json) -> Json:
    """Describe a stream with its only shard."""
    streams = _streams(app)
    stream = streams.find(request["StreamArn"])
    entry = stream.entry
    numbers: JsonObject = {"StartingSequenceNumber": streams.horizon(stream)}
    if entry.ending is not None:
        numbers["EndingSequenceNumber"] = entry.ending
    shards: list[Json] = [{"ShardId": entry.shard, "SequenceNumberRange": numbers}]
    # A filter asks for the children of a shard, and it has none.
    if request.get("ExclusiveStartShardId") == entry.shard or request.get("ShardFilter"):
        shards = []
    return {
        "StreamDescription": {
            "StreamArn": stream.arn,
            "StreamLabel": entry.label,
            "StreamStatus": "ENABLED" if entry.closed_ms is None else "DISABLED",
            "StreamViewType": entry.view,
            "CreationRequestDateTime": entry.created_ms,
            "TableName": entry.table,
            "KeySchema": key_schema((entry.hash,), () if entry.range is None else (entry.range,)),
            "Shards": shards,
        }
    }


@operation("dynamodbstreams", "GetShardIterator")
async def get_shard_iterator(app: App, _call: Call, request: Json) -> Json:
    """Return an iterator for a place in a shard."""
    streams = _streams(app)
    stream = streams.find(request["StreamArn"])
    if request["ShardId"] != stream.entry.shard:
        raise ApiError(
            "ResourceNotFoundException",
            f"Requested resource not found: Shard: {request['ShardId']} in stream {stream.arn} not found",
        )
    after = _place(streams, stream, request)
    return {"ShardIterator": Iterator(stream.arn, after, app.clock.now_ms()).text()}


def _place(streams: Streams, stream: Stream, request: Json) -> str:
    kind, given = request["ShardIteratorType"], request.get("SequenceNumber")
    by_number = kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER")
    if by_number != (given is not None):
        raise invalid(f"A SequenceNumber {'is required' if by_number else 'cannot be given'} for the type {kind}")
    if kind == "TRIM_HORIZON":
        return ""
    if kind == "LATEST":
        return number_of(stream.newest)
    if kind == "AT_TIMESTAMP":
        if request.get("Timestamp") is None:
            raise invalid(f"A Timestamp is required for the type {kind}")
        return number_of(max(0, request["Timestamp"] * PER_MS - 1))
    if not given.isdecimal() or not given.isascii() or int(given) > max(stream.newest, int(streams.horizon(stream))):
        raise invalid(f"Invalid SequenceNumber: {given} is no sequence number of the shard {stream.entry.shard}")
    if int(given) < int(streams.horizon(stream)):
        raise trimmed()
    return number_of(int(given) - (kind == "AT_SEQUENCE_NUMBER"))


@operation("dynamodbstreams", "GetRecords")
async def get_records(app: App, call: Call, request: Json) -> Json:
    """Return records from an iterator on, and the next iterator, unless the shard is closed and all were read."""
    streams = _streams(app)
    now_ms = app.clock.now_ms()
    place = read_iterator(request["ShardIterator"], now_ms)
    stream = streams.find(place.stream)
    limit = request.get("Limit") or MOST_READ
    if limit > MOST_READ:
        raise invalid(
            f"1 validation error detected: Value '{limit}' at 'limit' failed to satisfy constraint: "
            f"Member must have value less than or equal to {MOST_READ}"
        )
    is_closed = stream.entry.closed_ms is not None
    found = await streams.read(stream, place.after, limit)
    shown = [_shown(app, call, stream, record, size) for record, size in found]
    answer: JsonObject = {"Records": shown}
    if found or not is_closed:
        after = found[-1][0].number if found else place.after
        answer["NextShardIterator"] = Iterator(stream.arn, after, now_ms).text()
    return answer


def _shown(app: App, call: Call, stream: Stream, record: StreamRecord, size: int) -> JsonObject:
    change: JsonObject = {
        # The service has whole seconds here.
        "ApproximateCreationDateTime": record.at_ms // 1000 * 1000,
        "Keys": shown_item(call, dict(record.keys)),
        "SequenceNumber": record.number,
        "SizeBytes": size,
        "StreamViewType": stream.entry.view,
    }
    if record.new is not None:
        change["NewImage"] = shown_item(call, dict(record.new))
    if record.old is not None:
        change["OldImage"] = shown_item(call, dict(record.old))
    shown: JsonObject = {
        "eventID": event_id(stream.arn, record),
        "eventName": record.kind,
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": app.config.region,
        "dynamodb": change,
    }
    if record.by_expiry:
        shown["userIdentity"] = {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}
    return shown
