"""Bounds that a driver sets around the evaluation of expressions and paths: trials, and the allowance of a loop.

**A trial** is for a driver that must survive any expression: the library bounds time and memory between its steps, not
inside one, so the trial runs the work in a process that can be killed, and reports the outcome. Evaluation is
deterministic, so a trial that succeeds proves the evaluation safe.

**An allowance** is for a driver that shares its thread with others: an event loop. What would take more than the
allowance is not evaluated (or not further); `LeavesTheLoop` is raised instead, and the driver has the whole step
computed in another process, without an allowance and with the same result.

Without either nothing is tried or bounded beyond the limits of the languages, and nothing here forks or waits.
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
LOOP_VISITS: Final = 40_000
"""Values that the JSONPaths of a step may visit on an event loop, at about a microsecond each. Ours."""


class LeavesTheLoop(BaseException):
    """The work is too heavy for the event loop. Not an Exception: no handler on the way may take it for a failure."""


class Allowance:
    """The work that the expressions of one step may do before the step leaves the loop.

    `visits` are the values that JSONPaths may still visit. Once `clock()` is past `until` and `is_spent()` agrees, no
    further evaluation by the JSONata library begins. The clock is cheap to read; `is_spent` may look more closely.
    """

    __slots__ = ("clock", "is_spent", "until", "visits")

    def __init__(self, visits: int, clock: Callable[[], float], until: float, is_spent: Callable[[], bool]) -> None:
        self.visits = visits
        self.clock = clock
        self.until = until
        self.is_spent = is_spent


class Fence:
    """The bounds in force, and the work done. Read by the evaluators; set through the functions below."""

    __slots__ = ("allowance", "trial", "visited")

    def __init__(self) -> None:
        self.trial: Trial | None = None
        self.visited = 0
        """Values that JSONPaths have visited; never counted down."""
        self.allowance: Allowance | None = None


FENCE: Final = Fence()


def charge(visits: int) -> None:
    """Count work that is no path's, in values visited. Raises: LeavesTheLoop above the allowance."""
    FENCE.visited += visits
    allowance = FENCE.allowance
    if allowance is not None:
        allowance.visits -= visits
        if allowance.visits < 0:
            raise LeavesTheLoop


def set_trial(trial: Trial | None) -> Trial | None:
    """Try large amplifying evaluations with `trial` from now on; returns what was set before."""
    before, FENCE.trial = FENCE.trial, trial
    return before


def set_allowance(allowance: Allowance | None) -> Allowance | None:
    """Bound evaluations by an allowance from now on; returns what was set before."""
    before, FENCE.allowance = FENCE.allowance, allowance
    return before


def verdict(work: Callable[[], object], is_suspect: bool) -> Verdict:
    """The outcome of the work in the trial; success without a trial, or if the work is not suspect."""
    trial = FENCE.trial
    if trial is None or not is_suspect:
        return "fine"
    return trial(work)


def is_large(scope: Scope, characters: int = LARGE_CHARACTERS) -> bool:
    """True if the data that an expression can read has more characters of JSON text; the context is not counted."""
    parts: list[Json] = [scope.input, scope.result, scope.error_output, dict(scope.variables)]
    size = 0
    for part in parts:
        if part is not UNDEFINED:
            size += len(dump_json(part))
            if size > characters:
                return True
    return False
