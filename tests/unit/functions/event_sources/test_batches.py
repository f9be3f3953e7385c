from __future__ import annotations

import base64
from hashlib import md5
from typing import Any

import pytest

from statewright.functions.event_sources.batches import (
    compile_filters,
    encode_record,
    event_of,
    failed_items,
    record_of,
)
from statewright.query.event_pattern import PatternError
from statewright.query.matching import Matching
from statewright.queues.message_attributes import encoded
from statewright.queues.messages import Received

ARN = "arn:aws:sqs:us-east-1:000000000000:jobs"


def message(body: str = "{}", attributes: Any = None, **more: Any) -> Received:
    values: dict[str, Any] = {
        "message_id": "m1", "handle": "h", "body": body, "attributes": attributes, "sent_ms": 5, "receives": 2,
        "first_received_ms": 7, "group": None, "dedup": None, "sequence_number": None, "trace_header": None,
        "sender": None, "source_arn": None, **more,
    }  # fmt: skip
    return Received(**values)


def test_a_record_is_what_functions_are_used_to():
    record = record_of(message("héllo"), ARN, "us-east-1")
    assert record == {
        "messageId": "m1",
        "receiptHandle": "h",
        "body": "héllo",
        "attributes": {
            "ApproximateReceiveCount": "2", "SentTimestamp": "5", "SenderId": record["attributes"]["SenderId"],
            "ApproximateFirstReceiveTimestamp": "7",
        },
        "messageAttributes": {},
        "md5OfBody": md5("héllo".encode()).hexdigest(),
        "md5OfMessageAttributes": None,
        "eventSource": "aws:sqs",
        "eventSourceARN": ARN,
        "awsRegion": "us-east-1",
    }  # fmt: skip


def test_attributes_of_all_types_and_of_fifo_queues():
    given: dict[str, dict[str, Any]] = {
        "n": {"DataType": "Number", "StringValue": "1"},
        "b": {"DataType": "Binary.x", "BinaryValue": b"\x00"},
    }
    stored = encoded(given)
    fifo: dict[str, Any] = {
        "group": "g", "dedup": "d", "sequence_number": "1" * 20, "trace_header": "Root=1", "source_arn": "dlq",
    }  # fmt: skip
    record = record_of(message(attributes=stored.value, **fifo), ARN, "us-east-1")
    assert record["messageAttributes"] == {
        "n": {"dataType": "Number", "stringValue": "1", "stringListValues": [], "binaryListValues": []},
        "b": {
            "dataType": "Binary.x", "binaryValue": base64.b64encode(b"\x00").decode(), "stringListValues": [],
            "binaryListValues": [],
        },
    }  # fmt: skip
    assert record["md5OfMessageAttributes"] == stored.md5
    assert {"SequenceNumber", "MessageGroupId", "MessageDeduplicationId", "AWSTraceHeader"} < set(record["attributes"])
    assert event_of([encode_record({"a": 1}), b"2"]) == b'{"Records":[{"a":1},2]}'


@pytest.mark.parametrize(
    ("patterns", "body", "passes"),
    [
        (['{"body": {"kind": ["a"]}}'], '{"kind": "a"}', True),
        (['{"body": {"kind": ["a"]}}'], '{"kind": "b"}', False),
        (['{"body": {"kind": ["a"]}}'], "kind a", False),
        (['{"body": ["text"]}'], "text", True),
        (['{"body": ["text"]}'], '{"a": 1}', False),
        (['{"body": {"kind": ["a"]}}', '{"body": {"kind": ["b"]}}'], '{"kind": "b"}', True),
        (['{"attributes": {"ApproximateReceiveCount": ["2"]}}'], "x", True),
        (["{}"], "x", True),
    ],
)
def test_filters(patterns, body, passes):
    chosen = compile_filters(patterns)
    assert chosen is not None
    assert chosen(record_of(message(body), ARN, "us-east-1"), Matching()) is passes


def test_no_filters_and_broken_ones():
    assert compile_filters([]) is None
    for text in ("{", "[]", '{"body": "x"}'):
        with pytest.raises(PatternError):
            compile_filters([text])


EVERYTHING = {"a", "b", "c"}


@pytest.mark.parametrize(
    ("answer", "failed"),
    [
        (b"", set()),
        (b"null", set()),
        (b"{}", set()),
        (b"[]", set()),
        (b'{"batchItemFailures": []}', set()),
        (b'{"batchItemFailures": null}', set()),
        (b'{"batchItemFailures": [{"itemIdentifier": "b"}]}', {"b"}),
        (b'{"batchItemFailures": [{"itemIdentifier": ""}]}', EVERYTHING),
        (b'{"batchItemFailures": [{"itemIdentifier": null}]}', EVERYTHING),
        (b'{"batchItemFailures": [{"wrongKey": "b"}]}', EVERYTHING),
        (b'{"batchItemFailures": [{"itemIdentifier": "x"}]}', EVERYTHING),
        (b'{"batchItemFailures": "b"}', EVERYTHING),
        (b'{"other": 1}', EVERYTHING),
        (b"not json", EVERYTHING),
        (b'"text"', EVERYTHING),
    ],
)
def test_reports_of_failures(answer, failed):
    assert failed_items(answer, ["a", "b", "c"], is_fifo=False) == failed


def test_of_a_fifo_batch_everything_after_the_first_failure_has_failed():
    answer = b'{"batchItemFailures": [{"itemIdentifier": "c"}, {"itemIdentifier": "b"}]}'
    assert failed_items(answer, ["a", "b", "c", "d"], is_fifo=True) == {"b", "c", "d"}
