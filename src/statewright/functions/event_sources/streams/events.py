"""Records of streams for functions: their form in an event, failures in an answer, reports on discarded records.

Pure. Source: Lambda developer guide, "Using AWS Lambda with Amazon DynamoDB", "Retain discarded records for a DynamoDB
event source"; shapes recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import orjson

from statewright.functions.event_sources.batches import reported
from statewright.functions.outcomes import Invoked
from statewright.instants import iso_seconds
from statewright.payload import Json, JsonObject
from statewright.tables.streams.records import StreamRecord, change_of, event_id
from statewright.tables.streams.stream import Stream

EXHAUSTED: Final = "RetryAttemptsExhausted"
TOO_OLD: Final = "RecordAgeExceeded"
_NO_TEXT: Final = b'""'


def record_for_function(stream: Stream, record: StreamRecord, size: int, region: str) -> dict[str, Json]:
    """A record in a function's event."""
    change = change_of(stream.entry, record, size)
    shown: dict[str, Json] = {
        "eventID": event_id(stream.arn, record),
        "eventName": record.kind,
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": region,
        "dynamodb": {"ApproximateCreationDateTime": record.at_ms // 1000, **change},
        "eventSourceARN": stream.arn,
    }
    if record.by_expiry:
        shown["userIdentity"] = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
    return shown


def first_failed(answer: bytes, numbers: Sequence[str]) -> str | None:
    """The lowest sequence number that a function reports as failed, the first one of the batch if its answer is no such
    report; `None` for a success."""
    failures = [] if answer.strip() == _NO_TEXT else reported(answer)
    if not failures:
        return None if failures is not None else numbers[0]
    names: list[str] = [str(one.get("itemIdentifier")) if isinstance(one, dict) else "" for one in failures]
    return min(names) if all(name in numbers for name in names) else numbers[0]


@dataclass(frozen=True, slots=True)
class Discarded:
    """Records that are given up, with their JSON texts. `answer` is that of the last invocation, if there was one."""

    stream: Stream
    records: Sequence[StreamRecord]
    texts: Sequence[bytes]
    condition: str
    attempts: int
    answer: Invoked | None


def report_on(given: Discarded, function_arn: str, now_ms: int, request_id: str) -> JsonObject:
    """The report of a mapping on discarded records, for a queue or a topic."""
    report: JsonObject = {
        "requestContext": {
            "requestId": given.answer.request_id if given.answer is not None else request_id,
            "functionArn": function_arn,
            "condition": given.condition,
            "approximateInvokeCount": given.attempts,
        }
    }
    if given.answer is not None:
        report["responseContext"] = {
            "statusCode": given.answer.status,
            "executedVersion": given.answer.executed_version,
            "functionError": given.answer.function_error,
        }
    return {**report, **about_records(given, now_ms)}


def about_records(given: Discarded, now_ms: int) -> JsonObject:
    """The members of a report that say which records were discarded, and when."""
    first, last = given.records[0], given.records[-1]
    return {
        "version": "1.0",
        # Whole seconds, as recorded.
        "timestamp": iso_seconds(now_ms).removesuffix("Z") + ".000Z",
        "DDBStreamBatchInfo": {
            "shardId": given.stream.entry.shard,
            "startSequenceNumber": first.number,
            "endSequenceNumber": last.number,
            "approximateArrivalOfFirstRecord": iso_seconds(first.at_ms),
            "approximateArrivalOfLastRecord": iso_seconds(last.at_ms),
            "batchSize": len(given.records),
            "streamArn": given.stream.arn,
        },
    }


def report_for_bucket(report: JsonObject, event: bytes) -> bytes:
    """The report as an object of a bucket, which has the event as well."""
    return orjson.dumps({**report, "payload": orjson.Fragment(event)})


def report_key(given: Discarded, mapping: str, now_ms: int, name: str) -> str:
    """The key of a report in a bucket. `name` makes it unique."""
    at = datetime.fromtimestamp(now_ms / 1000, UTC)
    shard = given.stream.entry.shard
    return f"aws/lambda/{mapping}/{shard}/{at:%Y/%m/%d}/{at:%Y-%m-%dT%H.%M.%S}-{name}"
