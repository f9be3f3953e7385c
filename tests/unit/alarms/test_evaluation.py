"""The state of an alarm from its data points, and the words for it."""

from __future__ import annotations

import pytest

from statewright.alarms.evaluation import Condition, Datapoint, judged
from statewright.alarms.records import ALARM, INSUFFICIENT, OK
from statewright.alarms.wording import double_text, reason_data, reason_of

KEPT = "kept"
TREATMENTS = ("missing", "ignore", "breaching", "notBreaching")
AT = 1_900_000_020


def points(drawn: str) -> list[Datapoint]:
    """Data points, oldest first: `0` is within the threshold of 5, `X` breaches it, `-` is missing."""
    values = {"0": 1.0, "X": 9.0, "-": None}
    return [Datapoint(AT + 60 * place, values[mark], 1) for place, mark in enumerate(drawn.split())]


def condition(needed: int = 3, missing: str = "missing", periods: int = 3) -> Condition:
    return Condition("GreaterThanThreshold", 5, periods, needed, missing)


@pytest.mark.parametrize(
    ("drawn", "states"),
    [
        ("0 - X - X", [OK, OK, OK, OK]),
        ("0 - - - -", [OK, OK, OK, OK]),
        ("- - - - -", [INSUFFICIENT, KEPT, ALARM, OK]),
        ("0 X X - X", [ALARM, ALARM, ALARM, ALARM]),
        ("- - X - -", [ALARM, KEPT, ALARM, OK]),
        ("- - - - X", [KEPT, KEPT, ALARM, OK]),
        ("- - - X -", [KEPT, KEPT, ALARM, OK]),
        ("X X 0 0 X", [OK, OK, OK, OK]),
    ],
)
def test_three_of_three(drawn: str, states: list[str]) -> None:
    assert [judged(condition(missing=one), points(drawn), KEPT).state for one in TREATMENTS] == states


@pytest.mark.parametrize(
    ("drawn", "states"),
    [
        ("0 - X - X", [ALARM, ALARM, ALARM, ALARM]),
        ("0 0 X 0 X", [ALARM, ALARM, ALARM, ALARM]),
        ("0 - X - -", [OK, OK, ALARM, OK]),
        ("- - - - 0", [OK, OK, ALARM, OK]),
        ("- - - X -", [ALARM, KEPT, ALARM, OK]),
        ("- - - - X", [KEPT, KEPT, ALARM, OK]),
    ],
)
def test_two_of_three(drawn: str, states: list[str]) -> None:
    assert [judged(condition(2, one), points(drawn), KEPT).state for one in TREATMENTS] == states


@pytest.mark.parametrize(
    ("comparison", "breaching"),
    [
        ("GreaterThanThreshold", [False, False, True]),
        ("GreaterThanOrEqualToThreshold", [False, True, True]),
        ("LessThanThreshold", [True, False, False]),
        ("LessThanOrEqualToThreshold", [True, True, False]),
    ],
)
def test_comparisons(comparison: str, breaching: list[bool]) -> None:
    one = Condition(comparison, 5, 1, 1)
    assert [one.breaches(value) for value in (4, 5, 6)] == breaching


def reason(drawn: str, one: Condition, *, says_needed: bool = False) -> str:
    return reason_of(one, judged(one, points(drawn), OK), says_needed=says_needed)


def test_the_newest_data_points_are_the_reason() -> None:
    assert reason("- - X", condition(1, periods=1)) == (
        "Threshold Crossed: 1 datapoint [9.0 (17/03/30 17:49:00)] was greater than the threshold (5.0)."
    )
    assert reason("0 X X", condition(2, periods=2)) == (
        "Threshold Crossed: 2 datapoints [9.0 (17/03/30 17:49:00), 9.0 (17/03/30 17:48:00)] were greater than the "
        "threshold (5.0)."
    )
    assert reason("- - 0", condition(1, periods=1)) == (
        "Threshold Crossed: 1 datapoint [1.0 (17/03/30 17:49:00)] was not greater than the threshold (5.0)."
    )
    assert reason("X 0 X", condition(2, periods=3), says_needed=True) == (
        "Threshold Crossed: 2 out of the last 3 datapoints [9.0 (17/03/30 17:49:00), 9.0 (17/03/30 17:47:00)] were "
        "greater than the threshold (5.0) (minimum 2 datapoints for OK -> ALARM transition)."
    )
    assert reason("0 0 X", condition(2, periods=3), says_needed=True).endswith(
        "were not greater than the threshold (5.0) (minimum 2 datapoints for ALARM -> OK transition)."
    )


def test_missing_data_points_are_the_reason() -> None:
    assert reason("- - -", condition(2, "breaching", 2)) == (
        "Threshold Crossed: no datapoints were received for 2 periods and 2 missing datapoints were treated as "
        "[Breaching]."
    )
    assert reason("- - -", condition(1, "notBreaching", 1)) == (
        "Threshold Crossed: no datapoints were received for 1 period and 1 missing datapoint was treated as "
        "[NonBreaching]."
    )
    assert reason("- - -", condition(1, periods=1)) == "Insufficient Data: 1 datapoint was unknown."
    assert reason("- - - - -", condition()) == "Insufficient Data: 3 datapoints were unknown."
    assert reason("- - X", condition(2, "breaching", 2)).endswith(
        "was greater than the threshold (5.0) and 1 missing datapoint was treated as [Breaching]."
    )
    assert reason("- - X", condition(2, "notBreaching", 2)) == (
        "Threshold Crossed: 1 missing datapoint was treated as [NonBreaching]."
    )


def test_data_of_a_reason() -> None:
    one = condition(2, periods=2)
    verdict = judged(one, points("0 - X X"), OK)
    data = reason_data(one, verdict, 1_900_000_300_007, period=60, statistic="Sum", unit="Count")
    assert data == {
        "version": "1.0",
        "queryDate": "2030-03-17T17:51:40.007+0000",
        "startDate": "2030-03-17T17:49:00.000+0000",
        "unit": "Count",
        "statistic": "Sum",
        "period": 60,
        "recentDatapoints": [9.0, 9.0],
        "threshold": 5.0,
        "evaluatedDatapoints": [
            {"timestamp": "2030-03-17T17:50:00.000+0000", "sampleCount": 1.0, "value": 9.0},
            {"timestamp": "2030-03-17T17:49:00.000+0000", "sampleCount": 1.0, "value": 9.0},
        ],
    }


def test_numbers_are_written_as_the_service_writes_them() -> None:
    assert [double_text(one) for one in (21, 0.5, 0, -3.25, 1e7, 15_000_000, 0.0001, 123456789.5)] == [
        "21.0", "0.5", "0.0", "-3.25", "1.0E7", "1.5E7", "1.0E-4", "1.234567895E8",
    ]  # fmt: skip
