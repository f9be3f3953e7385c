"""The state of an alarm from the data points of its evaluation range: M of N, and the treatment of missing data.

1. The range is longer than the N evaluation periods. If it has N data points or more, the newest N decide.
2. Otherwise all of them decide, with as many missing ones as N lacks, treated as the alarm says.
3. `missing` and `ignore` never count a missing data point: fewer than M breaching ones and nothing else leave the state
   unchanged, except that with `missing` the oldest of them may be M periods old, which is an alarm.

Pure: data points in, verdict out.

Source: CloudWatch user guide, "Configuring how CloudWatch alarms treat missing data".
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from statewright.alarms.records import ALARM, INSUFFICIENT, OK

EXTRA_POINTS: Final = 2
"""How many data points the evaluation range has besides N. Source: user guide, 5 points for 3 periods."""

MISSING: Final = "missing"
IGNORE: Final = "ignore"
BREACHING: Final = "breaching"
NOT_BREACHING: Final = "notBreaching"
TREATMENTS: Final = (BREACHING, NOT_BREACHING, IGNORE, MISSING)

COMPARISONS: Final[Mapping[str, tuple[Callable[[float, float], bool], str]]] = {
    "GreaterThanOrEqualToThreshold": (operator.ge, "greater than or equal to"),
    "GreaterThanThreshold": (operator.gt, "greater than"),
    "LessThanThreshold": (operator.lt, "less than"),
    "LessThanOrEqualToThreshold": (operator.le, "less than or equal to"),
}
"""The operators by name, with their words."""


class Datapoint(NamedTuple):
    """A period that begins at second `at`; `value` is None if it is missing."""

    at: int
    value: float | None
    samples: float = 0


@dataclass(frozen=True, slots=True)
class Condition:
    """When an alarm is in alarm: `needed` of `periods` data points breach the threshold."""

    comparison: str
    threshold: float
    periods: int
    needed: int
    missing: str = MISSING

    @property
    def range(self) -> int:
        """The number of data points that an evaluation looks at."""
        return self.periods + EXTRA_POINTS

    def breaches(self, value: float) -> bool:
        """True if a value breaches the threshold."""
        return COMPARISONS[self.comparison][0](value, self.threshold)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The state that data points mean; `evaluated` are those that decided, newest first, `filled` the missing ones."""

    state: str
    evaluated: Sequence[Datapoint]
    filled: int


def judged(condition: Condition, points: Sequence[Datapoint], present: str) -> Verdict:
    """The state after data points, oldest first, of the whole range. `present` is the state so far."""
    newest_first = list(reversed(points))
    known = [one for one in newest_first if one.value is not None][: condition.periods]
    filled = condition.periods - len(known)
    if not filled:
        return Verdict(_state(_breaching(condition, known) >= condition.needed), known, 0)
    state = _with_missing(condition, newest_first, known, filled, present)
    if state == INSUFFICIENT:
        known = newest_first[: condition.periods]
    return Verdict(state, known, filled)


def _with_missing(
    condition: Condition, newest_first: Sequence[Datapoint], known: Sequence[Datapoint], filled: int, present: str
) -> str:
    breaching = _breaching(condition, known)
    if condition.missing == BREACHING:
        return _state(breaching + filled >= condition.needed)
    if condition.missing == NOT_BREACHING or breaching >= condition.needed:
        return _state(breaching >= condition.needed)
    if not known:
        return INSUFFICIENT if condition.missing == MISSING else present
    if breaching < len(known):
        return OK
    # Only breaching data points, fewer than M: in alarm once the oldest is M periods old.
    age = 1 + max(place for place, one in enumerate(newest_first) if one.value is not None)
    return ALARM if condition.missing == MISSING and age >= condition.needed else present


def _breaching(condition: Condition, known: Sequence[Datapoint]) -> int:
    return sum(one.value is not None and condition.breaches(one.value) for one in known)


def _state(in_alarm: bool) -> str:
    return ALARM if in_alarm else OK
