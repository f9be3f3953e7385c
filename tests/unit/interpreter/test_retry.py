from __future__ import annotations

from types import SimpleNamespace

import pytest

from statewright.asl.program import Catcher, Retrier
from statewright.interpreter.retry import catcher_of, delay_ms, first_match


def retrier(*names: str, **fields: object) -> Retrier:
    settings = {"interval_seconds": 1, "max_attempts": 3, "backoff_rate": 2.0, "max_delay_seconds": None}
    return Retrier(frozenset(names), **{**settings, "full_jitter": False, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "names", "matches"),
    [
        ("A", ["A"], True),
        ("A", ["B", "A"], True),
        ("A", ["a"], False),
        ("A", ["States.ALL"], True),
        ("A", ["States.TaskFailed"], True),
        (None, ["A"], False),
        (None, ["States.ALL"], True),
        (None, ["States.TaskFailed"], True),
        ("States.TaskFailed", ["States.TaskFailed"], True),
        ("States.Timeout", ["States.Timeout"], True),
        ("States.Timeout", ["States.TaskFailed"], False),
        ("States.Timeout", ["States.ALL"], True),
        ("States.Timeout", ["States.HeartbeatTimeout"], False),
        ("States.QueryEvaluationError", ["States.ALL"], True),
        ("States.Runtime", ["States.Runtime"], False),
        ("States.Runtime", ["States.ALL"], False),
        ("States.Runtime", ["States.TaskFailed"], False),
        ("States.DataLimitExceeded", ["States.ALL"], False),
        ("States.DataLimitExceeded", ["States.DataLimitExceeded"], True),
        ("States.ALL", ["A"], False),
    ],
)
def test_matching(error: str | None, names: list[str], matches: bool) -> None:
    assert (first_match([retrier(*names)], error) is not None) == matches


@pytest.mark.parametrize(
    ("type", "error", "matches"),
    [
        ("Task", "States.DataLimitExceeded", True),
        ("Parallel", "States.DataLimitExceeded", False),
        ("Task", "States.Runtime", False),
    ],
)
def test_a_catcher_of_a_task_takes_more(type: str, error: str, matches: bool) -> None:
    catcher = Catcher(frozenset({"States.ALL"}), "N", None, None, None)
    definition = SimpleNamespace(type=type, catch=[catcher])
    assert (catcher_of(definition, error) is not None) == matches  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("names", "matches"),
    [
        (["States.HeartbeatTimeout"], True),
        (["States.Timeout"], True),
        (["States.ALL"], True),
        (["States.TaskFailed"], False),
        (["A"], False),
    ],
)
def test_a_missed_heartbeat_has_two_names(names: list[str], matches: bool) -> None:
    assert (first_match([retrier(*names)], "States.Timeout", heartbeat=True) is not None) == matches


def test_the_first_that_matches() -> None:
    rules = [retrier("A"), retrier("B", "C"), retrier("States.ALL")]
    found = [first_match(rules, error) for error in ("A", "B", "C", "D")]
    assert [match and match[0] for match in found] == [0, 1, 1, 2]
    assert first_match([], "A") is None


@pytest.mark.parametrize(
    ("fields", "delays"),
    [
        ({}, [1_000, 2_000, 4_000, 8_000]),
        ({"interval_seconds": 3, "backoff_rate": 1.5}, [3_000, 4_500, 6_750]),
        ({"interval_seconds": 3, "backoff_rate": 1.0}, [3_000, 3_000]),
        ({"max_delay_seconds": 3}, [1_000, 2_000, 3_000, 3_000]),
        ({"interval_seconds": 10, "max_delay_seconds": 3}, [3_000]),
    ],
)
def test_delays(fields: dict[str, object], delays: list[int]) -> None:
    rule = retrier("A", **fields)
    assert [delay_ms(rule, earlier, 0.25) for earlier in range(len(delays))] == delays


@pytest.mark.parametrize(("chance", "delay"), [(0.0, 0), (0.5, 4_000), (0.999, 7_992)])
def test_jitter_spreads_the_delay(chance: float, delay: int) -> None:
    assert delay_ms(retrier("A", full_jitter=True), 3, chance) == delay


def test_delays_never_exceed_a_year() -> None:
    rule = retrier("A", interval_seconds=99_999_999, backoff_rate=1e300)
    assert [delay_ms(rule, earlier, 1.0) for earlier in (0, 1, 2, 10**6)] == [31_622_400_000] * 4
