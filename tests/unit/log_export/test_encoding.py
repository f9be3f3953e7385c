"""Requests of OTLP, and the severity of messages."""

from __future__ import annotations

import gzip
import json

import pytest

from statewright.log_export.encoding import Written, level_of, request_body
from statewright.records.log_files import Line, LogEvent


@pytest.mark.parametrize(
    ("message", "level"),
    [
        ("START RequestId: 1", None),
        ("[WARNING]\t2026-01-01T00:00:00.000Z\tid\ttext", "WARNING"),
        ("[NOTICE]\ttext", None),
        ("2026-01-01T00:00:00.000Z\tid\tWARN\ttext", "WARN"),
        ('{"level": "error", "message": "x"}', "ERROR"),
        ('{"level": 30}', None),
        ('{"level": "error"', None),
        ('["level"]', None),
        ('{"id":"3","type":"TaskTimedOut","details":{}}', "ERROR"),
        ('{"id":"3","type":"TaskSucceeded","details":{"output":"\\"level\\""}}', "INFO"),
        ('{"level": ' + "[" * 12_000, None),
    ],
)
def test_the_severity_is_known_where_a_message_says_so(message: str, level: str | None) -> None:
    assert level_of(message) == level


def test_text_that_is_no_unicode_is_sent_replaced() -> None:
    line = Line(LogEvent(1, 2, "one", "a\ud800b"), (1, 0), (1, 9))
    (stream,) = json.loads(gzip.decompress(request_body({"service.name": "s"}, [Written("g", [line])])))["resourceLogs"]
    (record,) = stream["scopeLogs"][0]["logRecords"]
    assert record["body"]["stringValue"] == "a?b"
    assert (record["timeUnixNano"], record["observedTimeUnixNano"]) == ("1000000", "2000000")
