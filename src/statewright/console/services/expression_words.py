"""Schedule expressions in words: `cron(30 2 ? * MON-FRI *)` is "at 02:30, Monday to Friday"."""

from __future__ import annotations

import calendar
from collections.abc import Sequence
from typing import Final

from statewright.events.expressions import At, Cron, Expression, Rate

_UNITS: Final = (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000))
_WEEK: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth")
_MOST_TIMES: Final = 6
"""Times of day that are listed one by one."""


def in_words(expression: Expression) -> str:
    """An expression as a phrase, without its zone."""
    if isinstance(expression, Rate):
        return f"every {_lasting(expression.every_ms)}"
    if isinstance(expression, At):
        return f"once, on {expression.local:%Y-%m-%d} at {expression.local:%H:%M:%S}"
    return ", ".join(part for part in (_times(expression), _days(expression), _months(expression), _years(expression))
                     if part)  # fmt: skip


def _lasting(span_ms: int) -> str:
    for name, unit_ms in _UNITS:
        if span_ms % unit_ms == 0:
            count = span_ms // unit_ms
            return name if count == 1 else f"{count} {name}s"
    return f"{span_ms} ms"


def _times(cron: Cron) -> str:
    minutes, hours = cron.minutes, cron.hours
    if len(minutes) * len(hours) <= _MOST_TIMES:
        return "at " + _listed([f"{hour:02}:{minute:02}" for hour in hours for minute in minutes])
    within = "" if len(hours) == 24 else f" in the hours {_ranges(hours)}"
    every = _step(minutes, 60)
    if every == 1:
        return f"every minute{within}"
    if every:
        return f"every {every} minutes{within}"
    past = _listed([f"{minute:02}" for minute in minutes])
    hourly = _step(hours, 24)
    if hourly and hourly > 1:
        return f"every {hourly} hours, {past} minutes past the hour" if minutes != (0,) else f"every {hourly} hours"
    if minutes == (0,):
        return f"every hour on the hour{within}"
    return f"every hour, {past} minutes past{within}"


def _step(values: Sequence[int], whole: int) -> int:
    """The step of values that go evenly round a whole from 0; 0 for others."""
    step = values[1] - values[0] if len(values) > 1 else 0
    return step if step and whole % step == 0 and list(values) == list(range(0, whole, step)) else 0


def _days(cron: Cron) -> str:
    if cron.month_days is not None:
        if set(cron.month_days) >= set(range(1, 32)):
            return "every day"
        return f"on {_listed([_month_day(one) for one in cron.month_days])} of the month"
    terms = cron.week_days or ()
    numbers = sorted({one for one in terms if isinstance(one, int)})
    if len(numbers) == 7:
        return "every day"
    if numbers and len(numbers) == len(set(terms)):
        if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
            return f"{_WEEK[numbers[0] - 1]} to {_WEEK[numbers[-1] - 1]}"
        return f"on {_listed([_WEEK[one - 1] for one in numbers])}"
    return f"on {_listed([_week_day(one) for one in terms])}"


def _month_day(term: str | int) -> str:
    if term == "L":
        return "the last day"
    if term == "LW":
        return "the last working day"
    if isinstance(term, str):
        return f"the working day nearest to day {term.removesuffix('W')}"
    return f"day {term}"


def _week_day(term: str | int) -> str:
    if isinstance(term, int):
        return _WEEK[term - 1]
    name = _WEEK[int(term[0]) - 1]
    if term[1:] == "L":
        return f"the last {name} of the month"
    return f"the {_ORDINALS[int(term[2:]) - 1]} {name} of the month"


def _months(cron: Cron) -> str:
    if len(cron.months) == 12:
        return ""
    return f"in {_listed([calendar.month_name[one] for one in sorted(cron.months)])}"


def _years(cron: Cron) -> str:
    return f"in {_ranges(sorted(cron.years))}" if cron.years is not None else ""


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers with runs of three and more as ranges: 1, 3 to 6."""
    runs: list[list[int]] = []
    for one in numbers:
        if runs and one == runs[-1][-1] + 1:
            runs[-1].append(one)
        else:
            runs.append([one])
    parts = [f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return _listed(parts)


def _listed(parts: Sequence[str]) -> str:
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
