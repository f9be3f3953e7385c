"""RFC 3339 timestamps: what is one, which instant it is, and how instants are written."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.asl.timestamps import format_timestamp, parse_timestamp

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:01Z", SECOND),
        ("1970-01-01T00:00:00.5Z", SECOND // 2),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1970-01-01T00:00:00.123456789+00:00", 123_456_789),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T18:30:00-05:30", 0),
        ("1970-01-01T00:00:00-00:00", 0),
        ("1969-12-31T23:59:59.999Z", -1_000_000),
        ("2016-03-14T01:59:00Z", 1_457_920_740 * SECOND),
        ("2000-02-29T00:00:00Z", 951_782_400 * SECOND),
        ("0001-01-01T00:00:00Z", -62_135_596_800 * SECOND),
        ("9999-12-31T23:59:59Z", 253_402_300_799 * SECOND),
    ],
)
def test_timestamps(text, nanoseconds):
    assert parse_timestamp(text) == nanoseconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2023-02-24",
        "2012-10-09T19:00:55",
        "2012-10-09t19:00:55Z",
        "2012-10-09T19:00:55z",
        "2012-10-09 19:00:55Z",
        "2012-10-09T19:00Z",
        "2012-10-09T19:00:55.Z",
        "2012-10-09T19:00:55.1234567890Z",
        "2012-10-09T19:00:55,5Z",
        "2012-10-09T19:00:55+0100",
        "2012-10-09T19:00:55+01",
        "2012-10-09T19:00:55+24:00",
        "2012-10-09T19:00:55+01:60",
        "2016-12-31T23:59:60Z",
        "2012-10-09T24:00:00Z",
        "2012-10-09T19:60:55Z",
        "2012-13-09T19:00:55Z",
        "2012-00-09T19:00:55Z",
        "2012-04-31T19:00:55Z",
        "2011-02-29T19:00:55Z",
        "0000-01-01T00:00:00Z",
        "12-10-09T19:00:55Z",
        " 2012-10-09T19:00:55Z",
        "2012-10-09T19:00:55Z\n",
        "\u0662012-10-09T19:00:55Z",
        "tomorrow",
    ],
)
def test_what_is_no_timestamp(text):
    assert parse_timestamp(text) is None


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1, "1970-01-01T00:00:00.001Z"),
        (120, "1970-01-01T00:00:00.120Z"),
        (1_000, "1970-01-01T00:00:01Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (1_457_920_740_000, "2016-03-14T01:59:00Z"),
        (-62_135_596_800_000, "0001-01-01T00:00:00Z"),
    ],
)
def test_formatting(ms, text):
    assert format_timestamp(ms) == text
    assert parse_timestamp(text) == ms * 1_000_000


@settings(max_examples=100, deadline=None)
@given(st.datetimes(timezones=st.just(UTC)))
def test_agrees_with_datetime(moment: datetime):
    text = moment.isoformat().replace("+00:00", "Z")
    elapsed = moment - datetime(1970, 1, 1, tzinfo=UTC)
    micros = (elapsed.days * 86_400 + elapsed.seconds) * 1_000_000 + elapsed.microseconds
    assert parse_timestamp(text) == micros * 1_000
    ms = micros // 1_000
    assert parse_timestamp(format_timestamp(ms)) == ms * 1_000_000
