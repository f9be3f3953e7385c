"""Batches of messages for functions: filters, the function's event, and partial failures in its answer.

Pure: nothing here receives, invokes or deletes.

Source: Lambda developer guide, "Using Lambda with Amazon SQS", "Event filtering", "Reporting batch item failures".
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Final

import orjson

from statewright.payload import Json, JsonObject, JsonTextError, parse_json
from statewright.query.event_pattern import PatternError, compile_pattern
from statewright.query.matching import Matching
from statewright.queues.message_attributes import attributes_md5, body_md5, decoded
from statewright.queues.messages import Received

REPORT: Final = "ReportBatchItemFailures"
EVENT_BYTES: Final = 6 * 1024 * 1024
"""The largest event of a batch. Source: Lambda quotas."""
ENVELOPE_BYTES: Final = 16
"""The bytes of an event around its records."""

_PARSED: Final = 4
"""Characters of JSON that are parsed in the time of one comparison, at least."""

Filter = Callable[[dict[str, Json], Matching], bool]
"""Predicate of a record; true if it passes. Raises: TooMuchWork."""


def record_of(message: Received, queue_arn: str, region: str) -> dict[str, Json]:
    """The record of a message in a function's event."""
    attributes = {
        "ApproximateReceiveCount": str(message.receives),
        "SentTimestamp": str(message.sent_ms),
        "SenderId": message.sender or "AIDAIENQZJOLO23YVJ4VO",
        "ApproximateFirstReceiveTimestamp": str(message.first_received_ms),
    }
    if message.sequence_number is not None:
        attributes["SequenceNumber"] = message.sequence_number
    if message.group is not None:
        attributes["MessageGroupId"] = message.group
    if message.dedup is not None:
        attributes["MessageDeduplicationId"] = message.dedup
    if message.trace_header is not None:
        attributes["AWSTraceHeader"] = message.trace_header
    if message.source_arn is not None:
        attributes["DeadLetterQueueSourceArn"] = message.source_arn
    record: dict[str, Json] = {
        "messageId": message.message_id,
        "receiptHandle": message.handle,
        "body": message.body,
        "attributes": attributes,
        "messageAttributes": {},
        "md5OfBody": body_md5(message.body.encode()),
        "md5OfMessageAttributes": None,
        "eventSource": "aws:sqs",
        "eventSourceARN": queue_arn,
        "awsRegion": region,
    }
    if message.attributes:
        given = decoded(message.attributes)
        record["messageAttributes"] = {name: _attribute(value) for name, value in given.items()}
        record["md5OfMessageAttributes"] = attributes_md5(given)
    return record


def _attribute(value: Json) -> JsonObject:
    shown: dict[str, Json] = {"stringListValues": [], "binaryListValues": [], "dataType": value["DataType"]}
    if "BinaryValue" in value:
        shown["binaryValue"] = base64.b64encode(value["BinaryValue"]).decode()
    else:
        shown["stringValue"] = value["StringValue"]
    return shown


def event_of(records: Sequence[bytes], more: JsonObject | None = None) -> bytes:
    """The event of a batch, from its records as JSON texts and its other members."""
    rest = b"," + orjson.dumps(more)[1:] if more else b"}"
    return b'{"Records":[' + b",".join(records) + b"]" + rest


def encode_record(record: dict[str, Json]) -> bytes:
    """A record as JSON text. Messages contain no lone surrogates."""
    return orjson.dumps(record)


# ------------------------------------------------------------------ filters


def compile_filters(patterns: Sequence[str]) -> Filter | None:
    """A predicate for records; `None` if every record passes. A record passes if any pattern matches.

    Raises: PatternError.
    """
    filters = [_compile(pattern) for pattern in patterns]
    if not filters:
        return None
    return lambda record, matching: any(one(record, matching) for one in filters)


def _compile(text: str) -> Filter:
    try:
        pattern = parse_json(text or "{}")
    except JsonTextError as problem:
        raise PatternError(f"The pattern is not JSON: {problem.message}") from None
    matches = compile_pattern(pattern)
    wanted = pattern.get("body")
    if wanted is None:
        return matches
    wants_json = isinstance(wanted, dict)

    def passes(record: dict[str, Json], matching: Matching) -> bool:
        body = record.get("body")
        if not isinstance(body, str):
            # Records of streams have none.
            return matches(record, matching)
        matching.spend(len(body) // _PARSED)
        parsed: Json = None
        try:
            parsed = parse_json(body)
            is_json = isinstance(parsed, dict)
        except JsonTextError:
            is_json = False
        # A pattern with an object for the body matches bodies that are JSON objects, one with texts all others.
        if is_json != wants_json:
            return False
        return matches({**record, "body": parsed} if wants_json else record, matching)

    return passes


# ------------------------------------------------------------------ answers


def reported(answer: bytes) -> list[Json] | None:
    """The failures that a function reports, none for a success; `None` if its answer is no such report."""
    try:
        report = parse_json(answer) if answer.strip() else None
    except JsonTextError:
        return None
    if report in (None, {}, []):
        return []
    if not isinstance(report, dict) or "batchItemFailures" not in report:
        return None
    failures = report["batchItemFailures"]
    return failures if isinstance(failures, list) else [] if failures is None else None


def failed_items(answer: bytes, message_ids: Sequence[str], *, is_fifo: bool) -> set[str]:
    """Message ids of a batch that a function reports as failed; all of them if its answer is no such report.

    In a FIFO batch every message from the first failure on has failed.
    """
    everything = set(message_ids)
    failures = reported(answer)
    if failures is None:
        return everything
    failed = set()
    for failure in failures:
        name = failure.get("itemIdentifier") if isinstance(failure, dict) else None
        if not isinstance(name, str) or name not in everything:
            return everything
        failed.add(name)
    if is_fifo and failed:
        first = min(message_ids.index(name) for name in failed)
        return set(message_ids[first:])
    return failed
