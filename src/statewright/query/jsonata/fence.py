"""Trials of expressions that can produce much data from little, before they are evaluated.

The library bounds time and memory between its steps, not inside one. A driver that must survive any expression sets a
trial: it runs the work in a process that can be killed, and reports the outcome. Evaluation is deterministic, so a
trial that succeeds proves the evaluation safe. Without a trial nothing is tried, and nothing here forks or waits by
itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from statewright.payload import Json, dump_json
from statewright.query.scope import UNDEFINED, Scope

Verdict = Literal["fine", "time", "memory"]
Trial = Callable[[Callable[[], object]], Verdict]

LARGE_CHARACTERS: Final = 4_096
"""Data of fewer characters cannot be multiplied beyond a few million values, which the library can handle. Ours."""


class _Fence:
    trial: Trial | None = None


_FENCE: Final = _Fence()


def set_trial(trial: Trial | None) -> Trial | None:
    """Try large amplifying evaluations with `trial` from now on; returns what was set before."""
    before, _FENCE.trial = _FENCE.trial, trial
    return before


def verdict(work: Callable[[], object], scope: Scope, *, is_slow: bool = False) -> Verdict:
    """The outcome of the work in the trial; success without a trial, or with too little data to matter.

    `is_slow`: the expression has run out of time before, so that the amount of data does not matter.
    """
    trial = _FENCE.trial
    if trial is None or not (is_slow or _is_large(scope)):
        return "fine"
    return trial(work)


def _is_large(scope: Scope) -> bool:
    parts: list[Json] = [scope.input, scope.result, scope.error_output, dict(scope.variables)]
    size = 0
    for part in parts:
        if part is not UNDEFINED:
            size += len(dump_json(part))
            if size > LARGE_CHARACTERS:
                return True
    return False
