from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from statewright.stores import fail_points


@pytest.fixture
def kills(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The signals that the process would have got."""
    sent: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append(number) if pid == os.getpid() else None)
    yield sent
    fail_points.arm(os.environ.get(fail_points.VARIABLE))


def test_nothing_is_armed_by_itself(kills):
    fail_points.arm(None)
    for point in fail_points.POINTS:
        fail_points.passed(point)
    assert kills == []


def test_an_armed_point_kills_at_its_passing(kills):
    fail_points.arm("after-commit:3")
    for _ in range(2):
        fail_points.passed(fail_points.AFTER_COMMIT)
        fail_points.passed(fail_points.BEFORE_COMMIT)
    assert kills == []
    fail_points.passed(fail_points.AFTER_COMMIT)
    assert kills == [9]


def test_the_first_passing_is_meant_without_a_number(kills):
    fail_points.arm("before-commit")
    fail_points.passed(fail_points.BEFORE_COMMIT)
    assert kills == [9]


@pytest.mark.parametrize("setting", ["commit", "before-commit:x", "before-commit:-1", ":1"])
def test_what_is_no_point_is_refused(setting):
    with pytest.raises(ValueError, match="names no fail point"):
        fail_points.arm(setting)
