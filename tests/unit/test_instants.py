from __future__ import annotations

from email.utils import formatdate

import pytest

from statewright.instants import http_date, iso_ms, iso_seconds, parse_duration_ms


def test_instants_to_the_second_and_the_millisecond() -> None:
    assert iso_seconds(1_714_557_600_999) == "2024-05-01T10:00:00Z"
    assert iso_ms(1_714_557_600_000) == "2024-05-01T10:00:00.000Z"
    assert iso_ms(1_714_557_600_007, "+0000") == "2024-05-01T10:00:00.007+0000"
    assert iso_ms(0) == "1970-01-01T00:00:00.000Z"
    assert iso_seconds(-1) == "1969-12-31T23:59:59Z"


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("250ms", 250),
        ("1.5s", 1500),
        ("2m", 120_000),
        ("1h", 3_600_000),
        ("1h30m", 5_400_000),
        (" 7d ", 604_800_000),
        ("0s", 0),
        (3, 3000),
        (0.25, 250),
        ("0.1s", 100),
        (0, 0),
    ],
)
def test_lengths_of_time(text, milliseconds):
    assert parse_duration_ms(text) == milliseconds


def test_true_is_no_number_of_seconds():
    with pytest.raises(ValueError, match="length of time"):
        parse_duration_ms(True)


@pytest.mark.parametrize(
    "text",
    ["", "5", "soon", "1 s", "-1s", "1.5", "1y", "1s garbage", "999999999999999d", -1, float("nan"), 1e308, 10**400],
)
def test_what_is_no_length_of_time(text):
    with pytest.raises(ValueError, match="length of time"):
        parse_duration_ms(text)


@pytest.mark.parametrize("at_ms", [0, 1_714_557_600_999, 1_709_208_000_000, 951_782_399_000, 4_102_444_799_999, -1])
def test_dates_as_http_writes_them(at_ms: int) -> None:
    assert http_date(at_ms) == formatdate(at_ms // 1000, usegmt=True)
