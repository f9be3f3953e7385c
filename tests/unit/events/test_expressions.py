"""Schedule expressions against instants computed by hand."""

from __future__ import annotations

from datetime import datetime

import pytest

from statewright.events.expressions import ExpressionError, parse, read_given, upcoming, zone_named
from tests.unit.events.running import ms


def following(text: str, after: str, count: int, zone: str = "UTC") -> list[str]:
    """The next instants, as local times with their distance from UTC."""
    at = zone_named(zone)
    found = upcoming(parse(text, at), ms(after), ms(after), count)
    return [datetime.fromtimestamp(one / 1000, at).isoformat(timespec="minutes") for one in found]


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("cron(0 12 * * ? *)", "2026-01-01T12:00", ["2026-01-02T12:00", "2026-01-03T12:00"]),
        ("cron(0 12 * * ?)", "2026-01-01T11:59", ["2026-01-01T12:00", "2026-01-02T12:00"]),
        ("cron(15 10 ? * 6L 2022-2023)", "2022-01-01T00:00", ["2022-01-28T10:15", "2022-02-25T10:15"]),
        ("cron(15 10 ? * FRIL 2023)", "2023-12-01T00:00", ["2023-12-29T10:15"]),
        ("cron(0/10 * ? * MON-FRI *)", "2026-01-02T23:45", ["2026-01-02T23:50", "2026-01-05T00:00"]),
        ("cron(1/10 0 1 1 ? *)", "2025-12-31T00:00", ["2026-01-01T00:01", "2026-01-01T00:11"]),
        ("cron(0 0 1 1/3 ? *)", "2026-01-01T00:00", ["2026-04-01T00:00", "2026-07-01T00:00", "2026-10-01T00:00"]),
        ("cron(0 8-10/2,20 * * ? *)", "2026-01-01T00:00", ["2026-01-01T08:00", "2026-01-01T10:00", "2026-01-01T20:00"]),
        # The third of January 2026 is a Saturday; the first of August 2026 is one, too, and the month is not left.
        ("cron(0 0 3W * ? *)", "2026-01-01T00:00", ["2026-01-02T00:00", "2026-02-03T00:00"]),
        ("cron(0 0 1W 8 ? *)", "2026-01-01T00:00", ["2026-08-03T00:00"]),
        # The 31st of May 2026 is a Sunday and the month's last day.
        ("cron(0 0 31W 5 ? *)", "2026-01-01T00:00", ["2026-05-29T00:00"]),
        ("cron(0 8 LW * ? *)", "2026-01-01T00:00", ["2026-01-30T08:00", "2026-02-27T08:00", "2026-03-31T08:00"]),
        ("cron(0 8 L * ? *)", "2028-02-01T00:00", ["2028-02-29T08:00", "2028-03-31T08:00"]),
        ("cron(0 0 ? * 3#2 *)", "2026-01-01T00:00", ["2026-01-13T00:00", "2026-02-10T00:00"]),
        ("cron(0 0 ? * SUN#5 *)", "2026-01-01T00:00", ["2026-03-29T00:00", "2026-05-31T00:00"]),
        ("cron(0 0 ? * L *)", "2026-01-01T00:00", ["2026-01-03T00:00", "2026-01-10T00:00"]),
        ("cron(0 0 29 2 ? *)", "2026-01-01T00:00", ["2028-02-29T00:00", "2032-02-29T00:00"]),
        ("cron(0 0 29 FEB ? 2100)", "2026-01-01T00:00", []),
        ("cron(0 0 31 4 ? *)", "2026-01-01T00:00", []),
        ("cron(59 23 31 12 ? 2199)", "2026-01-01T00:00", ["2199-12-31T23:59"]),
        ("at(2026-03-04T05:06:07)", "2026-01-01T00:00", ["2026-03-04T05:06"]),
        ("rate(1 minute)", "2026-01-01T00:00", ["2026-01-01T00:01", "2026-01-01T00:02"]),
        ("rate(1 days)", "2026-01-01T00:00", ["2026-01-02T00:00", "2026-01-03T00:00"]),
    ],
)
def test_instants(text: str, after: str, expected: list[str]) -> None:
    count = len(expected) or 1
    assert following(text, after, count) == [f"{one}+00:00" for one in expected]


@pytest.mark.parametrize(
    ("text", "zone", "after", "expected"),
    [
        # Clocks go from 2:00 to 3:00: what does not exist is left out.
        ("cron(30 2 * * ? *)", "America/Los_Angeles", "2026-03-07T12:00",
         ["2026-03-09T02:30-07:00", "2026-03-10T02:30-07:00"]),
        ("cron(0/30 1-3 8 3 ? 2026)", "America/Los_Angeles", "2026-03-01T00:00",
         ["2026-03-08T01:00-08:00", "2026-03-08T01:30-08:00", "2026-03-08T03:00-07:00", "2026-03-08T03:30-07:00"]),
        # Clocks go from 2:00 to 1:00: what comes twice runs at the first time.
        ("cron(30 1 * * ? *)", "America/Los_Angeles", "2026-10-31T12:00",
         ["2026-11-01T01:30-07:00", "2026-11-02T01:30-08:00"]),
        ("cron(0/30 1-2 1 11 ? 2026)", "America/Los_Angeles", "2026-10-30T00:00",
         ["2026-11-01T01:00-07:00", "2026-11-01T01:30-07:00", "2026-11-01T02:00-08:00", "2026-11-01T02:30-08:00"]),
        ("cron(0 9 * * ? *)", "Europe/Berlin", "2026-03-28T00:00",
         ["2026-03-28T09:00+01:00", "2026-03-29T09:00+02:00"]),
        ("cron(30 2 ? * SUN *)", "Europe/Berlin", "2026-03-28T00:00",
         ["2026-04-05T02:30+02:00", "2026-04-12T02:30+02:00"]),
        ("cron(15 0 * * ? *)", "Asia/Kathmandu", "2026-01-01T00:00", ["2026-01-02T00:15+05:45"]),
        # A shift of half an hour: 1:45 does not come twice as 2:15 does not vanish.
        ("cron(45 1 * * ? *)", "Australia/Lord_Howe", "2026-04-03T20:00",
         ["2026-04-05T01:45+11:00", "2026-04-06T01:45+10:30"]),
        # The zone has no such change.
        ("cron(30 2 * * ? *)", "America/Phoenix", "2026-03-08T00:00", ["2026-03-08T02:30-07:00"]),
        # One time, in an hour that does not exist, and in one that comes twice.
        ("at(2026-03-08T02:30:00)", "America/New_York", "2026-01-01T00:00", ["2026-03-08T03:30-04:00"]),
        ("at(2026-11-01T01:30:00)", "America/New_York", "2026-01-01T00:00", ["2026-11-01T01:30-04:00"]),
        # A day of a rate has 24 hours.
        ("rate(1 day)", "America/Los_Angeles", "2026-03-07T20:00",
         ["2026-03-08T13:00-07:00", "2026-03-09T13:00-07:00"]),
    ],
)  # fmt: skip
def test_time_zones(text: str, zone: str, after: str, expected: list[str]) -> None:
    assert following(text, after, len(expected), zone) == expected


def test_a_search_from_within_the_repeated_hour_continues_after_it() -> None:
    second = ms("2026-11-01T09:10")
    found = upcoming(parse("cron(0/20 * * * ? *)", zone_named("America/Los_Angeles")), second, 0, 2)
    assert found == [ms("2026-11-01T10:00"), ms("2026-11-01T10:20")]


@pytest.mark.parametrize(
    "text",
    [
        "rate(1 foo)", "rate(0 minutes)", "rate(-1 minutes)", "rate(1.5 hours)", "rate(5)", "rate(5 seconds)",
        "Rate(1 day)",
        "cron(0 12 * * * *)", "cron(0 12 ? * ? *)", "cron(0 12 1 * MON *)", "cron(* * * *)", "cron(60 * * * ? *)",
        "cron(0 24 * * ? *)", "cron(0 0 0 * ? *)", "cron(0 0 32 * ? *)", "cron(0 0 * 13 ? *)", "cron(0 0 ? * 8 *)",
        "cron(0 0 ? * 3#6 *)", "cron(0 0 ? * 3#1,6#3 *)", "cron(0 0 * * ? 1969)", "cron(0 0 * * ? 2200)",
        "cron(5-1 * * * ? *)", "cron(*/0 * * * ? *)", "cron(0 0 L-3 * ? *)", "cron(0 0 * * ? *) ", "cron(a * * * ? *)",
        "cron(0 ? * * ? *)", "at(2026-02-30T00:00:00)", "at(2026-01-01)", "at(2026-01-01T24:00:00)", "", "soon",
        "cron(0,,5 * * * ? *)", "cron(٣ * * * ? *)",
    ],
)  # fmt: skip
def test_what_is_no_expression(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ("rate(1 minute)", True), ("rate(5 minutes)", True), ("rate(1 minutes)", False), ("rate(5 minute)", False),
        ("cron(0 12 * * ? *)", True), ("cron(0 12 * * ?)", False), ("at(2026-01-01T00:00:00)", False),
    ],
)  # fmt: skip
def test_expressions_of_rules_are_stricter(text: str, fine: bool) -> None:
    if fine:
        parse(text, rules=True)
    else:
        with pytest.raises(ExpressionError):
            parse(text, rules=True)


def test_the_lists_and_ranges_of_a_cron() -> None:
    assert following("cron(10-14/2 6-6 ? * 2,4,6 *)", "2026-01-01T00:00", 4) == [
        f"2026-01-{at}+00:00" for at in ("02T06:10", "02T06:12", "02T06:14", "05T06:10")
    ]
    assert following("cron(*/20 0-23/12 ? * * *)", "2026-01-01T00:30", 3) == [
        f"2026-01-01T{at}+00:00" for at in ("00:40", "12:00", "12:20")
    ]


@pytest.mark.parametrize(
    "text", ["rate( 5 minutes)", "rate(5 minutes )", "at( 2030-01-01T00:00:00)", " rate(5 minutes)"]
)
def test_requests_have_no_blanks_in_parentheses(text: str) -> None:
    with pytest.raises(ExpressionError):
        read_given(text)
    read_given(text.replace("( ", "(").replace(" )", ")").strip())


def test_unknown_time_zones() -> None:
    for name in ("Mars/Olympus", "", "../etc/passwd", "America"):
        with pytest.raises(ExpressionError):
            zone_named(name)
