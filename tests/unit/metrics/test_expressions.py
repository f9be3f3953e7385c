"""Metric math: the grammar, and what expressions are worth."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.metrics.evaluation import Surroundings, Timeline, Value, evaluate
from statewright.metrics.expressions import ExpressionError, parse

A = Timeline({0: 30.0, 60: 20.0, 120: 0.0, 180: 0.0}, 60, "A", "errors")
B = Timeline({0: 20.0, 120: 20.0}, 60, "B", "requests")
AROUND = Surroundings({"a": A, "b": B, "n": 4.0}, [A, B], 0, 240, 60, {})


def worth(text: str) -> Any:
    value: Value = evaluate(parse(text), AROUND)
    if isinstance(value, Timeline):
        return list(value.points.values())
    if isinstance(value, list):
        return [list(line.points.values()) for line in value]
    return value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The guide's own examples of operators: a missing point counts as nothing.
        ("a < b", [0, 0, 1, 0]),
        ("a >= 30", [1, 0, 0, 0]),
        ("a > 15 AND b > 15", [1, 0, 0, 0]),
        ("a + b", [50, 20, 20, 0]),
        ("a - b * 2", [-10, 20, -40, 0]),
        ("b / a", [20 / 30, 0]),
        ("2 ^ 3 ^ 2", 512),
        ("-2 ^ 2", -4),
        ("1 + 2 * 3 == 7 || 0", 1),
        ("-(a)", [-30, -20, 0, 0]),
        ("METRICS() / 10", [[3, 2, 0, 0], [2, 2]]),
        ('METRICS("err")', [[30, 20, 0, 0]]),
        ("SUM([a, b])", [50, 20, 20, 0]),
        ("SUM(a)", 50),
        ("AVG([a, b])", [25, 10, 10, 0]),
        ("MAX(METRICS())", [30, 20, 20, 0]),
        ("MIN(a) + MAX(b) + AVG(a)", 32.5),
        ("DATAPOINT_COUNT(b)", 2),
        ("METRIC_COUNT(METRICS())", 2),
        ("STDDEV(b)", 0),
        ("FILL(b, 7)", [20, 7, 20, 7]),
        ("FILL(b, REPEAT)", [20, 20, 20, 20]),
        ("FILL(b - 10, LINEAR)", [10, 10, 10]),
        ("FILL(b, a)", [20, 20, 20, 0]),
        ("FILL(METRICS(), MIN(a))", [[30, 20, 0, 0], [20, 0, 20, 0]]),
        ("IF(a > 10, b)", [20, 0]),
        ("IF(a > 10, 1, 2)", [1, 1, 2, 2]),
        ("IF(n, a, b)", [30, 20, 0, 0]),
        ("RATE(a)", [-10 / 60, -20 / 60, 0]),
        ("DIFF(a)", [-10, -20, 0]),
        ("DIFF_TIME(b)", [120]),
        ("RUNNING_SUM(a)", [30, 50, 50, 50]),
        ("ABS(a - 25)", [5, 5, 25, 25]),
        ("CEIL(a / 25)", [2, 1, 0, 0]),
        ("FLOOR(a / 25)", [1, 0, 0, 0]),
        ("LOG10(b * 5)", [2, 2]),
        ("PERIOD(a)", 60),
        ("MINUTE(a)", [0, 1, 2, 3]),
        ("EPOCH(b)", [0, 120]),
        ("FIRST(SORT(METRICS(), MAX, DESC))", [30, 20, 0, 0]),
        ("SORT(METRICS(), SUM, ASC, 1)", [[20, 20]]),
        ("SLICE(METRICS(), 1)", [[20, 20]]),
        ("REMOVE_EMPTY([b, IF(0, a)])", [[20, 20]]),
        ("TIME_SERIES(n)", [4, 4, 4, 4]),
    ],
)  # fmt: skip
def test_an_expression_is_worth(text: str, expected: Any) -> None:
    assert worth(text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "unexpected the end"),
        ("a +", "unexpected the end"),
        ("a b", "unexpected b"),
        ("(a", ") is missing"),
        ("SUM(a", ") is missing"),
        ("a ? b", "unexpected character"),
        ("c", "not the id of a query"),
        ("NOPE(a)", "no function NOPE"),
        ("METRICS() / METRICS()", "two arrays"),
        ("1 / 0", "division by zero"),
        ("SUM(a, b)", "one argument"),
        ("SORT(a, b)", "SORT takes"),
        ("IF(METRICS(), 1)", "IF takes"),
        ("'x' + 1", "texts"),
        ("[1]", "time series only"),
        ("(" * 60 + "a" + ")" * 60, "levels deep"),
        ("+".join("a" * 400), "operators"),
        ("a" * 3_000, "characters"),
    ],
)
def test_an_expression_that_is_none_says_why(text: str, said: str) -> None:
    with pytest.raises(ExpressionError, match=said.replace("(", r"\(").replace(")", r"\)")):
        worth(text)
