"""`statewright metrics`: the small curve, and what is chosen where nobody says."""

from __future__ import annotations

import pytest

from statewright.cli.inspection.metrics import _period, _usual, curve

MINUTE = 60_000


def test_a_curve_has_a_bar_a_period_and_gaps() -> None:
    points = [(0, 0.0), (MINUTE, 4.0), (3 * MINUTE, 8.0)]
    one = {"points": points, "period": 60, "start": 0, "end": 4 * MINUTE}
    assert curve(one, True, 80) == "▁▅ █"
    assert curve(one, False, 80) == "_= #"
    assert curve(one, True, 2) == " █"
    assert curve({"points": [], "period": 60, "start": 0, "end": 0}, True, 80) == ""


@pytest.mark.parametrize(
    ("since_ms", "seconds"),
    [(60_000, 1), (300_000, 5), (900_000, 30), (3_600_000, 60), (86_400_000, 3_600), (15 * 86_400_000, 86_400)],
)
def test_a_period_that_suits(since_ms: int, seconds: int) -> None:
    assert _period(since_ms) == seconds * 1000


@pytest.mark.parametrize(
    ("name", "statistic"),
    [("ApproximateNumberOfMessagesVisible", "Maximum"), ("ExecutionTime", "Average"), ("Duration", "Average"),
     ("Invocations", "Sum"), ("SentMessageSize", "Average"), ("ConcurrentExecutions", "Maximum")],
)  # fmt: skip
def test_a_statistic_that_suits(name: str, statistic: str) -> None:
    assert _usual(name) == statistic
