"""Which histories stay in memory: those read last, and those that pages follow while they are not too long together."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from statewright.console import runs
from statewright.console.runs import Runs

engine: Any = None


def kept(lengths: list[int], followed: set[int], newest: int) -> list[int]:
    """The executions whose histories are kept, of those with so many characters of payloads."""
    made = Runs(engine)
    for number, length in enumerate(lengths):
        one: Any = SimpleNamespace(recorded=SimpleNamespace(characters=length))
        made._kept[number] = one
    made._followed.update(followed)
    made._make_room(newest)
    return list(made._kept)


@pytest.mark.parametrize(
    ("lengths", "followed", "expected"),
    [
        ([1] * 10, set(), list(range(2, 10))),
        ([1] * 10, {0, 1}, [0, 1, *range(4, 10)]),
        ([60, 60, 60], set(), [2]),
        ([60, 60, 60], {0, 1}, [0, 1, 2]),
        ([200, 60, 60, 200], {0, 1, 2}, [1, 2, 3]),
        ([900], set(), [0]),
    ],
)
def test_room_is_made(monkeypatch: pytest.MonkeyPatch, lengths, followed, expected):
    monkeypatch.setattr(runs, "KEPT_CHARACTERS", 100)
    monkeypatch.setattr(runs, "FOLLOWED_CHARACTERS", 400)
    assert kept(lengths, followed, len(lengths) - 1) == expected
