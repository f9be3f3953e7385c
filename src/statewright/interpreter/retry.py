"""Selects the retrier or catcher that matches an error, and computes the delays of retriers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar

from statewright.asl.program import Catcher, Retrier, StateDef
from statewright.errors import ALL, DATA_LIMIT, HEARTBEAT_TIMEOUT, RUNTIME, TASK_FAILED, TIMEOUT

Rule = TypeVar("Rule", Retrier, Catcher)

_NOT_IN_ALL: Final = frozenset({RUNTIME, DATA_LIMIT})
"""`States.ALL` leaves these out. Source: open specification, "Predefined Error Codes"; developer guide.

A catcher of a task takes `States.DataLimitExceeded` all the same (observed).
"""


def first_match(
    rules: Iterable[Rule], error: str | None, *, heartbeat: bool = False, all_but: frozenset[str] = _NOT_IN_ALL
) -> tuple[int, Rule] | None:
    """The first rule that matches the error, with its index.

    No rule matches `States.Runtime`. A missed heartbeat is a `States.Timeout` that `States.HeartbeatTimeout` matches,
    too. The wildcards match a failure without an error name; `States.ALL` matches no error of `all_but`.
    """
    if error == RUNTIME:
        return None
    for index, rule in enumerate(rules):
        names = rule.error_equals
        if error in names or (heartbeat and HEARTBEAT_TIMEOUT in names):
            return index, rule
        if ALL in names and error not in all_but:
            return index, rule
        if TASK_FAILED in names and error not in _NOT_TASK_FAILED:
            return index, rule
    return None


def catcher_of(definition: StateDef, error: str | None, *, heartbeat: bool = False) -> tuple[int, Catcher] | None:
    """The first catcher of a state that matches the error, with its index."""
    all_but = _NOT_IN_ALL_OF_A_TASK if definition.type == "Task" else _NOT_IN_ALL
    return first_match(definition.catch, error, heartbeat=heartbeat, all_but=all_but)


_NOT_IN_ALL_OF_A_TASK: Final = _NOT_IN_ALL - {DATA_LIMIT}
_NOT_TASK_FAILED: Final = frozenset({TIMEOUT, HEARTBEAT_TIMEOUT, RUNTIME, DATA_LIMIT})


def delay_ms(retrier: Retrier, earlier: int, chance: float) -> int:
    """Milliseconds before the next retry, when this retrier has retried `earlier` times already.

    `chance` (0 to 1) spreads the delay if the retrier has full jitter.
    """
    longest = retrier.max_delay_seconds
    try:
        seconds = retrier.interval_seconds * retrier.backoff_rate**earlier
    except OverflowError:
        seconds = float(_LONGEST_SECONDS)
    seconds = min(seconds, longest if longest is not None else _LONGEST_SECONDS)
    if retrier.full_jitter:
        seconds *= chance
    return round(seconds * 1000)


_LONGEST_SECONDS: Final = 31_622_400
"""A delay never exceeds the longest MaxDelaySeconds (a year), which ends every execution anyway."""
