"""Quotas of usage plans: how many requests each API key has left in its period, and how many it made on each day.

Counts are in memory and are written together, at most once a second: a killed server forgets the last second's. Owns
periods, counts and their rows. Which plan a request comes under is left to `usage_plans.py`. A plan without a quota
counts nothing.

Source: API reference, QuotaSettings and Usage. Periods begin at midnight UTC, weeks on Sunday (not documented).
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Final

from statewright.apis.apis import Apis
from statewright.apis.records import PLAN_KEY, USAGE, Loose
from statewright.background import Background
from statewright.clock import Clock, Timer
from statewright.errors import StoreError
from statewright.payload import Json, JsonMapping

PERIODS: Final = ("DAY", "WEEK", "MONTH")
DAYS_KEPT: Final = 90
"""Days of which a key's usage is shown. Source: observed, of the console."""
WRITE_AFTER_MS: Final = 1_000

log = logging.getLogger("statewright.apis")


@dataclass(slots=True)
class _Count:
    """The requests that a key has left in the period of `period`, and the made and remaining ones of each day.

    `limit` is the limit for which `left` was reckoned. Days are written as `2026-11-23`.
    """

    period: str
    limit: int
    left: int
    days: dict[str, list[int]] = field(default_factory=dict)


def period_of(kind: str, day: date) -> date:
    """The first day of the period that a day is in."""
    if kind == "MONTH":
        return day.replace(day=1)
    return day - timedelta(days=(day.weekday() + 1) % 7) if kind == "WEEK" else day


class Quotas:
    """The counts of all keys under all plans of one region."""

    def __init__(self, apis: Apis, clock: Clock) -> None:
        self._apis = apis
        self._clock = clock
        self._counts: dict[str, _Count] = {}
        self._changed: set[str] = set()
        self._timer: Timer | None = None
        self._background = Background("counts of usage plans")

    async def stop(self) -> None:
        """Write the counts that are not written yet."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        await self._write()
        await self._background.stop()

    def take(self, plan: Loose, link: Loose) -> bool:
        """Count a request of a key under a plan with a quota; false if none is left."""
        count = self._current(plan, link)
        if count.left <= 0:
            return False
        count.left -= 1
        today = count.days.setdefault(self.today().isoformat(), [0, 0])
        today[0] += 1
        today[1] = count.left
        self._mark(link.id)
        return True

    def grant(self, plan: Loose, link: Loose, left: int) -> None:
        """Give a key another number of requests for the rest of its period."""
        count = self._current(plan, link)
        count.left = left
        count.days.setdefault(self.today().isoformat(), [0, 0])[1] = left
        self._mark(link.id)

    def usage(self, plan: Loose, link: Loose, first: date, last: date) -> list[list[int]]:
        """For each day from the first to the last, the requests that a key made and those that it had left."""
        count, kind = self._current(plan, link), plan.settings["quota"]["period"]
        found: list[list[int]] = []
        day, left, period = first, count.limit, None
        while day <= last:
            if period_of(kind, day) != period:
                period = period_of(kind, day)
                is_current = period.isoformat() == count.period
                left = count.limit - (self._offset(plan, link, period) if is_current else 0)
            known = count.days.get(day.isoformat())
            if known is not None:
                left = known[1]
            found.append([known[0] if known is not None else 0, left])
            day += timedelta(days=1)
        return found

    def forget(self, links: Collection[str]) -> None:
        """Drop the counts of all keys but those with these links from memory; their rows stay with the plan."""
        for key in self._counts.keys() - links - self._changed:
            del self._counts[key]

    def _current(self, plan: Loose, link: Loose) -> _Count:
        quota, today = plan.settings["quota"], self.today()
        period, limit = period_of(quota["period"], today), int(quota["limit"])
        count = self._counts.get(link.id)
        if count is None:
            row = self._apis.entries(USAGE).get(link.id)
            count = _Count("", limit, 0) if row is None else _Count(**_copied(row.settings))
            self._counts[link.id] = count
        if count.period != period.isoformat():
            count.period, count.limit = period.isoformat(), limit
            count.left = max(0, limit - self._offset(plan, link, period))
            oldest = (today - timedelta(days=DAYS_KEPT)).isoformat()
            count.days = {day: one for day, one in count.days.items() if day > oldest}
        elif count.limit != limit:
            count.left, count.limit = max(0, count.left + limit - count.limit), limit
        return count

    def _offset(self, plan: Loose, link: Loose, period: date) -> int:
        """The quota's offset, which is taken off the period in which the key came to the plan; 0 in all others."""
        quota = plan.settings["quota"]
        began = period_of(quota["period"], _day(link.created_ms))
        return int(quota.get("offset") or 0) if began == period else 0

    def today(self) -> date:
        """The present day, UTC."""
        return _day(self._clock.now_ms())

    def _mark(self, key: str) -> None:
        self._changed.add(key)
        if self._timer is None:
            due_ms = self._clock.now_ms() + WRITE_AFTER_MS
            self._timer = self._clock.call_at(due_ms, lambda: self._background.spawn(self._write()))

    async def _write(self) -> None:
        # Operations on plans and keys hold the same lock: a row that one of them deletes is not written again.
        async with self._apis.changing(""):
            self._timer = None
            changed, self._changed = self._changed, set()
            links = self._apis.entries(PLAN_KEY)
            rows = {key: asdict(self._counts[key]) for key in changed if key in links}
            try:
                await self._apis.put_all(USAGE, rows)
            except StoreError as problem:
                log.warning("counts of usage plans are kept in memory until they can be written: %s", problem)
                for key in changed:
                    self._mark(key)


def _day(at_ms: int) -> date:
    return datetime.fromtimestamp(at_ms / 1000, UTC).date()


def _copied(row: JsonMapping) -> dict[str, Json]:
    return {**row, "days": {day: [*one] for day, one in row["days"].items()}}
