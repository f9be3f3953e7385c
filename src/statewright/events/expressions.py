"""Schedule expressions: `rate(...)`, `cron(...)` and `at(...)`, and their instants in a time zone.

Owns parsing and the search for the next instant; nothing here waits. Where clocks are set forward, a cron instant that
does not exist is left out; where they are set back, the first of the two counts. A rate counts real time: its days
have 24 hours.

Source: EventBridge Scheduler user guide, "Schedule types"; EventBridge user guide, "Cron and rate expressions".
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

FIRST_YEAR: Final = 1970
LAST_YEAR: Final = 2199

_UNIT_MS: Final = {"minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
_RATE: Final = re.compile(r"rate\(\s*([0-9]{1,9})\s+(minute|hour|day)(s?)\s*\)", re.ASCII)
_AT: Final = re.compile(r"at\(\s*([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})\s*\)", re.ASCII)
_PADDED: Final = re.compile(r"(?:rate|at)\((?:\s|.*\s\)$)")
_CRON: Final = re.compile(r"cron\(([^()]*)\)")
_MONTHS: Final = {
    "JAN": 1, "FEB": 2, "MAR": 3, "APR": 4, "MAY": 5, "JUN": 6,
    "JUL": 7, "AUG": 8, "SEP": 9, "OCT": 10, "NOV": 11, "DEC": 12,
}  # fmt: skip
_DAYS: Final = {"SUN": 1, "MON": 2, "TUE": 3, "WED": 4, "THU": 5, "FRI": 6, "SAT": 7}
_NOT_A_DAY: Final = "a day of the month or of the week, and ? for the other"


class ExpressionError(ValueError):
    """The text is not a schedule expression; the message says why."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Every so many milliseconds."""

    every_ms: int

    def after(self, instant_ms: int, anchor_ms: int) -> int | None:
        """The first instant later than one; the anchor is the first of all."""
        if instant_ms < anchor_ms:
            return anchor_ms
        return anchor_ms + ((instant_ms - anchor_ms) // self.every_ms + 1) * self.every_ms


@dataclass(frozen=True, slots=True)
class At:
    """Once, at a local time."""

    local: datetime
    zone: tzinfo

    def after(self, instant_ms: int, _anchor_ms: int = 0) -> int | None:
        """The instant, if it is later than the given one. A time that a change of clocks skips is moved past it."""
        at_ms = _instant_ms(self.local, self.zone)
        return at_ms if at_ms > instant_ms else None


@dataclass(frozen=True, slots=True)
class Cron:
    """Every local minute that matches all fields. `month_days` and `week_days` are alternatives: one is None."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    month_days: tuple[str | int, ...] | None
    months: frozenset[int]
    week_days: tuple[str | int, ...] | None
    years: frozenset[int] | None
    zone: tzinfo

    def after(self, instant_ms: int, _anchor_ms: int = 0) -> int | None:
        """The first instant later than one; None if there is none before the year 2200."""
        start = datetime.fromtimestamp(instant_ms // 1000, self.zone).replace(tzinfo=None, second=0, microsecond=0)
        for local in self._from(start):
            at_ms = _instant_ms(local, self.zone)
            if at_ms > instant_ms and _exists(local, self.zone):
                return at_ms
        return None

    def _from(self, start: datetime) -> Iterator[datetime]:
        """Local times from one on, in order."""
        for year in range(max(start.year, FIRST_YEAR), LAST_YEAR + 1):
            if self.years is not None and year not in self.years:
                continue
            for month in range(1, 13):
                if month not in self.months or (year, month) < (start.year, start.month):
                    continue
                for day in self._days(year, month):
                    yield from self._times(datetime.combine(date(year, month, day), time()), start)

    def _times(self, day: datetime, start: datetime) -> Iterator[datetime]:
        if day.date() < start.date():
            return
        for hour in self.hours:
            for minute in self.minutes:
                at = day.replace(hour=hour, minute=minute)
                if at >= start:
                    yield at

    def _days(self, year: int, month: int) -> list[int]:
        last = calendar.monthrange(year, month)[1]
        found: set[int] = set()
        if self.month_days is not None:
            for term in self.month_days:
                found |= _month_day(term, year, month, last)
        else:
            for term in self.week_days or ():
                found |= _week_day(term, year, month, last)
        return sorted(found)


Expression = Rate | At | Cron


def parse(text: str, zone: tzinfo = UTC, *, rules: bool = False) -> Expression:
    """Read an expression. `rules` reads it as rules of event buses have it: no `at`, six fields, exact plurals.

    Raises: ExpressionError.
    """
    rate = _RATE.fullmatch(text)
    if rate is not None:
        count = int(rate[1])
        if count < 1:
            raise ExpressionError("the value of a rate is a positive number")
        if rules and (count == 1) == bool(rate[3]):
            raise ExpressionError("a rate of 1 has its unit in the singular, any other in the plural")
        return Rate(count * _UNIT_MS[rate[2]])
    at = _AT.fullmatch(text)
    if at is not None and not rules:
        try:
            local = datetime.fromisoformat(at[1])
        except ValueError as problem:
            raise ExpressionError(str(problem)) from None
        if not FIRST_YEAR <= local.year < MAXYEAR:
            raise ExpressionError(f"there is no year {local.year} to fire in")
        return At(local, zone)
    cron = _CRON.fullmatch(text)
    if cron is None:
        raise ExpressionError("an expression is rate(value unit), cron(fields) or at(yyyy-mm-ddThh:mm:ss)")
    return _cron(cron[1].split(), zone, rules)


def read_given(text: str, zone: tzinfo = UTC, *, rules: bool = False) -> Expression:
    """As `parse`, for an expression of a request: the service takes no blanks within the parentheses (observed).

    Raises: ExpressionError.
    """
    if _PADDED.match(text):
        raise ExpressionError("there are blanks after ( or before )")
    return parse(text, zone, rules=rules)


@lru_cache(maxsize=1024)
def zone_named(name: str) -> tzinfo:
    """The time zone of an IANA name. Raises: ExpressionError."""
    if name in ("UTC", "Etc/UTC"):
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ExpressionError(f"there is no time zone {name}") from None


def upcoming(expression: Expression, after_ms: int, anchor_ms: int, count: int) -> list[int]:
    """The next instants later than one."""
    found: list[int] = []
    while len(found) < count and (at_ms := expression.after(after_ms, anchor_ms)) is not None:
        found.append(at_ms)
        after_ms = at_ms
    return found


# ------------------------------------------------------------------ fields of cron


def _cron(fields: list[str], zone: tzinfo, rules: bool) -> Cron:
    if len(fields) == 5 and not rules:
        fields = [*fields, "*"]
    if len(fields) != 6:
        raise ExpressionError("cron has the fields minutes, hours, day-of-month, month, day-of-week and year")
    minutes, hours, month_days, months, week_days, years = (field.upper() for field in fields)
    if (month_days == "?") == (week_days == "?"):
        raise ExpressionError(f"cron needs {_NOT_A_DAY}")
    return Cron(
        tuple(sorted(_numbers(minutes, 0, 59))),
        tuple(sorted(_numbers(hours, 0, 23))),
        None if month_days == "?" else tuple(_month_terms(month_days)),
        frozenset(_numbers(months, 1, 12, _MONTHS)),
        None if week_days == "?" else tuple(_week_terms(week_days)),
        None if years == "*" else frozenset(_numbers(years, FIRST_YEAR, LAST_YEAR)),
        zone,
    )


def _numbers(field: str, least: int, most: int, names: Mapping[str, int] | None = None) -> Iterator[int]:
    for term in field.split(","):
        yield from _range(term, least, most, names or {})


def _range(term: str, least: int, most: int, names: Mapping[str, int]) -> range:
    body, slash, step_text = term.partition("/")
    step = _number(step_text, 1, most, {}) if slash else 1
    if body == "*":
        return range(least, most + 1, step)
    first_text, dash, last_text = body.partition("-")
    first = _number(first_text, least, most, names)
    last = _number(last_text, least, most, names) if dash else (most if slash else first)
    if last < first:
        raise ExpressionError(f"the range {body} runs backwards")
    return range(first, last + 1, step)


def _number(text: str, least: int, most: int, names: Mapping[str, int]) -> int:
    if text in names:
        return names[text]
    if not (text.isascii() and text.isdigit() and len(text) < 5 and least <= int(text) <= most):
        raise ExpressionError(f"{text or 'nothing'} is not a number from {least} to {most}")
    return int(text)


def _month_terms(field: str) -> Iterator[str | int]:
    for term in field.split(","):
        if term in ("L", "LW"):
            yield term
        elif term.endswith("W"):
            yield f"{_number(term[:-1], 1, 31, {})}W"
        else:
            yield from _range(term, 1, 31, {})


def _week_terms(field: str) -> Iterator[str | int]:
    terms = field.split(",")
    for term in terms:
        day, sharp, which = term.partition("#")
        if sharp:
            if len(terms) > 1:
                raise ExpressionError("a day of the week with # stands alone")
            yield f"{_number(day, 1, 7, _DAYS)}#{_number(which, 1, 5, {})}"
        elif term == "L":
            yield 7
        elif term.endswith("L") and term not in _DAYS:
            yield f"{_number(term[:-1], 1, 7, _DAYS)}L"
        else:
            yield from _range(term, 1, 7, _DAYS)


# ------------------------------------------------------------------ days


def _month_day(term: str | int, year: int, month: int, last: int) -> set[int]:
    if isinstance(term, int):
        return {term} if term <= last else set()
    if term == "L":
        return {last}
    wanted = last if term == "LW" else int(term[:-1])
    if wanted > last:
        return set()
    # The nearest working day, without leaving the month.
    weekday = date(year, month, wanted).weekday()
    if weekday == 5:
        return {wanted - 1 if wanted > 1 else wanted + 2}
    if weekday == 6:
        return {wanted + 1 if wanted < last else wanted - 2}
    return {wanted}


def _week_day(term: str | int, year: int, month: int, last: int) -> set[int]:
    number, mark = (term, "") if isinstance(term, int) else (int(term[0]), term[1:])
    # Sunday is 1 here and 6 in Python.
    first = 1 + ((number - 2) - date(year, month, 1).weekday()) % 7
    days = list(range(first, last + 1, 7))
    if not mark:
        return set(days)
    if mark == "L":
        return {days[-1]}
    which = int(mark[1:])
    return {days[which - 1]} if which <= len(days) else set()


# ------------------------------------------------------------------ local times


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _instant_ms(local: datetime, zone: tzinfo) -> int:
    return (local.replace(tzinfo=zone).astimezone(UTC) - _EPOCH) // timedelta(milliseconds=1)


def _exists(local: datetime, zone: tzinfo) -> bool:
    """True if clocks show a local time, which is false for one that a change of clocks skips."""
    return local.replace(tzinfo=zone).astimezone(UTC).astimezone(zone).replace(tzinfo=None) == local
