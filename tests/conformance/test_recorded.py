"""Recorded executions of the real service, through the simulator, where `STATEWRIGHT_CASES` points at recordings."""

from __future__ import annotations

import pytest

from tests.conformance.recorded import KNOWN_MISSES, Score, comparison, folder, load_cases, percent, play

ROOT = folder()
pytestmark = pytest.mark.skipif(
    ROOT is None, reason="no recordings on this machine: STATEWRIGHT_CASES does not point at a folder with cases/"
)


@pytest.fixture(scope="module")
def scores() -> list[Score]:
    assert ROOT is not None
    rules = comparison(ROOT)
    return [play(case, rules) for case in load_cases(ROOT)]


@pytest.mark.parametrize(("name", "least"), [("outcome", 98.0), ("types", 97.0), ("history", 90.0)])
def test_scores(scores: list[Score], name: str, least: float) -> None:
    right, known = percent(scores, name, without="choice_operators")
    assert known > 100
    assert 100 * right / known >= least


def test_every_choice_operator_case_is_right(scores: list[Score]) -> None:
    right, known = percent([s for s in scores if s.category == "choice_operators"], "outcome")
    assert right == known > 100


def test_every_miss_is_listed_with_its_reason(scores: list[Score]) -> None:
    missed = {s.case for s in scores if not (s.outcome and s.types is not False and s.history is not False)}
    assert missed == {s.case for s in scores if any(part in s.case for part in KNOWN_MISSES)}
