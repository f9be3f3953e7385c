"""A store that is asked until it answers: for work that no caller waits for.

Owns the pauses between two attempts, and the rule for a commit without an answer, which may have been written or not.
An operation that a caller waits for asks the store itself: its `Unavailable` is the caller's answer.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, ParamSpec, TypeVar

from statewright.clock import Clock
from statewright.engine.counters import Counters
from statewright.errors import Unavailable
from statewright.stores.protocol import (
    CatalogueStore,
    Commit,
    Committed,
    EntryRow,
    ExecutionStore,
    Existing,
    Outcome,
    Page,
    Row,
    Stale,
    Started,
    Stored,
    TimerRow,
)
from statewright.stores.store import Store

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE: Final = 5
"""Attempts at a commit after which its callers are answered that the store does not answer."""
_FIRST_PAUSE_MS: Final = 20
_LONGEST_PAUSE_MS: Final = 1_000


class Retry:
    """Calls an operation again while it raises `Unavailable`, after 20 ms at first and a second at last.

    Logs the beginning and the end of an outage once, however many calls wait.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._late = 0
        """Calls under way that have failed `PATIENCE` times."""

    async def __call__(self, ask: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """The answer, however long the store takes to give it."""
        pause_ms = _FIRST_PAUSE_MS
        attempts = 0
        try:
            while True:
                try:
                    return await ask(*args, **kwargs)
                except Unavailable as problem:
                    attempts += 1
                    if attempts == PATIENCE:
                        self.begin(problem)
                    await self._clock.sleep_until(self._clock.now_ms() + pause_ms)
                    pause_ms = min(2 * pause_ms, _LONGEST_PAUSE_MS)
        finally:
            if attempts >= PATIENCE:
                self.end()

    def begin(self, problem: Unavailable) -> None:
        """Count a call that has failed `PATIENCE` times; the first one marks an outage."""
        self._late += 1
        if self._late == 1:
            logger.warning("the store does not answer (%s); work waits for it", problem)

    def end(self) -> None:
        """The counterpart of `begin`, once that call has an answer or is given up; the last one ends the outage."""
        self._late -= 1
        if not self._late:
            logger.info("no work waits for the store any more")


class RetryingStore:
    """A store whose methods answer once the store is available; they raise as `Store`'s do, but for `Unavailable`."""

    def __init__(self, store: Store, clock: Clock, counters: Counters) -> None:
        self.retry = Retry(clock)
        self.executions = RetryingExecutions(store.executions, clock, counters, self.retry)
        self.catalogue = RetryingCatalogue(store.catalogue, self.retry)


class RetryingExecutions:
    """The executions of a `RetryingStore`; each method as in `ExecutionStore`."""

    def __init__(self, store: ExecutionStore, clock: Clock, counters: Counters, retry: Retry) -> None:
        self._store = store
        self._clock = clock
        self._counters = counters
        self._retry = retry
        self.unwritten = 0
        """Commits under way that the store has not taken within `PATIENCE` attempts."""

    async def commit(
        self,
        commit: Commit,
        when_late: Callable[[Unavailable], None] | None = None,
        is_wanted: Callable[[], bool] | None = None,
    ) -> Outcome:
        """Write, however long the store takes to answer; `when_late` is called once, after `PATIENCE` attempts. The
        commit is not repeated once `is_wanted` says no. Raises then: Unavailable.

        A commit without an answer may have been written or not. No other process writes this execution, so if it has
        the next version when asked again, it was.
        """
        began = time.perf_counter_ns()
        pause_ms = _FIRST_PAUSE_MS
        attempts = 0
        counters = self._counters
        try:
            while True:
                try:
                    outcome = await self._store.commit(commit)
                    if attempts:
                        outcome = await self._what_happened(commit, outcome)
                    break
                except Unavailable as problem:
                    if is_wanted is not None and not is_wanted():
                        raise
                    attempts += 1
                    counters.retried_commits += 1
                    if attempts == PATIENCE:
                        self._retry.begin(problem)
                        self.unwritten += 1
                        if when_late is not None:
                            when_late(problem)
                    await self._clock.sleep_until(self._clock.now_ms() + pause_ms)
                    pause_ms = min(2 * pause_ms, _LONGEST_PAUSE_MS)
                    if is_wanted is not None and not is_wanted():
                        raise
        finally:
            if attempts >= PATIENCE:
                self._retry.end()
                self.unwritten -= 1
        took_us = (time.perf_counter_ns() - began) // 1000
        counters.commit_us_total += took_us
        counters.commit_us_most = max(counters.commit_us_most, took_us)
        return outcome

    async def _what_happened(self, commit: Commit, outcome: Outcome) -> Outcome:
        if isinstance(outcome, Existing) and outcome.row.id == commit.row.id:
            return Committed(1)
        if isinstance(outcome, Stale):
            stored = await self._store.load(commit.row.id)
            if stored is not None and stored.version == commit.expected + 1:
                return Committed(stored.version)
        return outcome

    async def load(self, execution: int) -> Stored | None:
        """An execution in full, or `None`."""
        return await self._retry(self._store.load, execution)

    async def row(self, execution: int) -> Row | None:
        """The row alone."""
        return await self._retry(self._store.row, execution)

    async def find(self, machine: int, name: str) -> Row | None:
        """The execution of that name."""
        return await self._retry(self._store.find, machine, name)

    async def list_rows(self, machine: int, *, status: str | None, after: Started | None, limit: int) -> Page:
        """Executions of a machine or Map Run, newest first."""
        return await self._retry(self._store.list_rows, machine, status=status, after=after, limit=limit)

    async def discard(self, timers: Sequence[TimerRow], outbox: Sequence[int], inbox: Sequence[int]) -> None:
        """Delete timers, effects and inputs whose execution is closed or gone."""
        await self._retry(self._store.discard, timers, outbox, inbox)


class RetryingCatalogue:
    """The catalogue of a `RetryingStore`; each method as in `CatalogueStore`."""

    def __init__(self, store: CatalogueStore, retry: Retry) -> None:
        self._store = store
        self._retry = retry

    async def write(self, put: Sequence[EntryRow], delete: Sequence[tuple[str, str]] = ()) -> bool:
        """Insert or replace, and delete, all or nothing."""
        return await self._retry(self._store.write, put, delete)
