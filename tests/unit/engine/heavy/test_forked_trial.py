"""Expressions that would take the machine's memory end with the service's error instead."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from statewright.engine.heavy import forked_trial
from statewright.engine.heavy.forked_trial import try_in_fork
from statewright.query.fence import set_trial
from statewright.query.jsonata import JsonataError, JsonataMemory, JsonataTimeout, compile_expression
from statewright.query.scope import Scope

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


@pytest.fixture(autouse=True)
def soon_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forked_trial, "CPU_SECONDS", 1)


@pytest.fixture
def fenced() -> Iterator[None]:
    before = set_trial(try_in_fork)
    yield
    set_trial(before)


def test_a_product_of_large_lists_is_refused(fenced: None) -> None:
    scope = Scope({"big": list(range(12_000))})
    with pytest.raises((JsonataMemory, JsonataTimeout)):
        compile_expression("$states.input.big.($states.input.big)").evaluate(scope)


def test_a_sound_expression_over_large_data_answers(fenced: None) -> None:
    scope = Scope({"big": list(range(12_000)), "limit": 3})
    expression = compile_expression("$states.input.big[$ < $states.input.limit]")
    assert expression.amplifies
    assert expression.evaluate(scope) == [0, 1, 2]


def test_an_error_is_the_same_behind_the_fence(fenced: None) -> None:
    scope = Scope({"big": list(range(12_000))})
    with pytest.raises(JsonataError) as caught:
        compile_expression("$states.input.big.($states.input.big[0] + 'x')").evaluate(scope)
    assert caught.value.code == "T2002"


def test_small_data_is_not_tried() -> None:
    tried = []
    before = set_trial(lambda work: tried.append(work) or "fine")  # type: ignore[func-returns-value]
    try:
        assert compile_expression("$states.input.a.($states.input.b)").evaluate(Scope({"a": [1, 2], "b": 3})) == [3, 3]
    finally:
        set_trial(before)
    assert not tried


def test_time_runs_out() -> None:
    def for_ever() -> None:
        while True:
            pass

    assert try_in_fork(for_ever) == "time"


def test_memory_runs_out() -> None:
    assert try_in_fork(lambda: bytearray(2 << 30)) == "memory"


def test_work_that_raises_is_left_to_the_real_run() -> None:
    assert try_in_fork(lambda: 1 / 0) == "fine"
