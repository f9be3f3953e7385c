"""Pools of warm workers: choosing the worker of an invocation, starting more, and ending idle ones.

A pool belongs to one function version in its present form; a change of code or configuration retires it. An invocation
that finds no idle worker waits for the first that is free, old or new: only a few workers start at a time, so that
fifty short concurrent invocations do not become fifty processes.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import deque
from collections.abc import Iterable
from typing import Final

from statewright import chance
from statewright.background import Background
from statewright.clock import Clock, Timer
from statewright.functions.outcomes import Outcome
from statewright.functions.workers import processes
from statewright.functions.workers.plans import WorkerPlan, ahead
from statewright.functions.workers.worker import Worker
from statewright.virtual_clock import VirtualClock

STARTING_AT_ONCE: Final = 4
"""Workers of one pool that may be starting at the same time."""
START_AFTER_MS: Final = (10, 60)
"""Wait of an invocation after which another worker starts; the second if invocations take `SHORT_MS` or less.

More processes than cores are no faster, unless handlers wait for something.
"""
SHORT_MS: Final = 5.0
IDLE_MS: Final = 5 * 60_000
"""Time after which an idle worker ends. Statewright's choice; the service says only "some time"."""
CHECK_MS: Final = 1_000
"""Interval between checks of the memory of busy workers and the idle time of others."""
MOST_WORKERS: Final = 1_200
"""Number of processes from which the longest idle worker ends before another starts."""
LEAST_IDLE_MS: Final = 1_000
"""Idle time of a remote worker after which it makes room for one that waits for a place."""

START_FAILED: Final = "FUNCTION_ERROR_INIT_FAILURE"
"""The reason of provisioned concurrency for a handler that cannot be loaded. Source: observed by users."""
FREEZE_MS: Final = 500
"""Idle time after which the processes of a worker are stopped."""

log = logging.getLogger("statewright.functions")


class Pool:
    """The workers of one function version."""

    def __init__(self, pools: Pools, plan: WorkerPlan, stream_prefix: str) -> None:
        self.pools = pools
        self.plan = plan
        self.stream_prefix = stream_prefix
        self.workers: set[Worker] = set()
        self.idle: list[Worker] = []
        self.waiting: deque[tuple[int, asyncio.Future[Worker | Outcome]]] = deque()
        """Invocations that wait for a worker, and since when."""
        self._later: Timer | None = None
        self.starting = 0
        self.retired = False
        self.kept = 0
        """Workers that do not end while they are idle, and are started ahead."""
        self.start_problem: str | None = None
        """Why the last worker did not become ready; None if it did."""
        self.mean_ms = SHORT_MS + 1
        """Recent mean duration of an invocation."""
        self._background = Background("starting a worker")

    async def run(
        self, request_id: str, header: bytes, payload: bytes, timeout_ms: int, start: bytes
    ) -> tuple[Outcome, Worker | None]:
        """Run an invocation on the first free worker; the worker is `None` if none could be started."""
        while True:
            if self.idle:
                found: Worker | Outcome = self.idle.pop()
            else:
                future: asyncio.Future[Worker | Outcome] = asyncio.get_running_loop().create_future()
                self.waiting.append((self.pools.clock.now_ms(), future))
                self._start_more()
                try:
                    found = await future
                except asyncio.CancelledError:
                    self._pass_on(future)
                    raise
            if isinstance(found, Outcome):
                return found, None
            if found.is_usable:
                outcome = await found.invoke(request_id, header, payload, timeout_ms, start)
                self.mean_ms += (outcome.duration_ns / 1e6 - self.mean_ms) / 8
                return outcome, found
            found.end(grace_seconds=0)

    @property
    def ready(self) -> int:
        """Workers that have started, idle or not."""
        return sum(worker.pid_counted for worker in self.workers)

    def keep(self, workers: int) -> None:
        """Start so many workers ahead, and keep them."""
        self.kept = workers
        self.start_problem = None
        self.fill()

    def fill(self) -> None:
        """Start workers until there are those that are kept; one that cannot start ends the attempt."""
        while (
            self.start_problem is None
            and not (self.retired or self.pools.closed)
            and self.starting < STARTING_AT_ONCE
            and self.ready + self.starting < self.kept
            and self.pools.count < MOST_WORKERS
        ):
            self.starting += 1
            self._background.spawn(self._start(ahead(self.plan)))

    def _pass_on(self, future: asyncio.Future[Worker | Outcome]) -> None:
        """Free the worker that a cancelled caller had just been assigned."""
        if future.done() and not future.cancelled():
            given = future.result()
            if isinstance(given, Worker) and given.in_hand is None:
                self.on_free(given)

    def retire(self) -> None:
        """Accept no more invocations: idle workers end now, busy ones after their current invocation."""
        self.retired = True
        for worker in self.idle:
            worker.end(grace_seconds=0)
        self.idle.clear()

    def on_free(self, worker: Worker) -> None:
        """Assign a free worker to the first waiting invocation, or add it to the idle ones."""
        if worker.doomed or worker.died:
            return
        if not worker.pid_counted:
            worker.pid_counted = True
            self.starting -= 1
            self.start_problem = None
            if self.kept:
                self.fill()
        if not worker.is_usable:
            worker.end(grace_seconds=0)
            return
        while self.waiting:
            _, future = self.waiting.popleft()
            if not future.done():
                future.set_result(worker)
                if self.waiting:
                    self._start_more()
                return
        if self.retired:
            worker.end(grace_seconds=0)
            return
        worker.idle_since_ms = self.pools.clock.now_ms()
        self.idle.append(worker)
        self.pools.check_later()

    def on_end(self, worker: Worker) -> None:
        """Remove an ended worker. If it never became ready, its outcome answers the first waiting invocation."""
        self.workers.discard(worker)
        self.pools.count -= 1
        self.pools.by_number.pop(worker.number, None)
        if worker in self.idle:
            self.idle.remove(worker)
        if not worker.pid_counted:
            worker.pid_counted = True
            self.starting -= 1
            self.start_problem = worker.problem or START_FAILED
            if worker.init_failure is not None:
                self._answer_first(Outcome("failed", worker.init_failure))
            elif worker.timed_out_starting:
                self._answer_first(Outcome("timeout"))
            else:
                self._answer_first(worker.outcome_of_end())
        self._start_more()
        if self.kept:
            # The check replaces it: a worker that ends as soon as it is ready must not be started without a pause.
            self.pools.check_later()

    def end_idle(self, now_ms: int) -> None:
        """End workers that have been idle for long, except kept ones; of these, those whose credentials end."""
        for worker in [worker for worker in self.idle[: self.kept] if not worker.is_usable]:
            self.idle.remove(worker)
            worker.end()
        while len(self.idle) > self.kept and now_ms - self.idle[0].idle_since_ms >= IDLE_MS:
            self.idle.pop(0).end()

    def _answer_first(self, outcome: Outcome) -> None:
        while self.waiting:
            _, future = self.waiting.popleft()
            if not future.done():
                future.set_result(outcome)
                return

    def _start_more(self) -> None:
        while self.starting < STARTING_AT_ONCE and self.starting < len(self.waiting):
            if self.workers and not self._waited_long():
                return
            self.starting += 1
            self._background.spawn(self._start(self.plan))

    def _waited_long(self) -> bool:
        """True if the first waiting invocation is due another worker; otherwise schedule the next check."""
        due_ms = self.waiting[0][0] + START_AFTER_MS[self.mean_ms <= SHORT_MS]
        if self.plan.virtual_time or self.pools.clock.now_ms() >= due_ms:
            return True
        if self._later is None:
            self._later = self.pools.clock.call_at(due_ms, self._start_later)
        return False

    def _start_later(self) -> None:
        self._later = None
        self._start_more()

    async def _start(self, plan: WorkerPlan) -> None:
        self.pools.make_room()
        self.pools.check_later()
        credentials = await plan.credentials.fresh()
        if self.pools.closed:
            return
        worker = Worker(
            next(self.pools.numbers), plan, credentials, self.pools.clock, self._stream(), self.pools.turns,
            self.on_free, self.on_end,
        )  # fmt: skip
        self.pools.count += 1
        self.pools.by_number[worker.number] = worker
        self.workers.add(worker)
        try:
            await worker.start()
        except OSError as problem:
            if not plan.is_remote:
                # What is wrong with a cluster is logged once, by the link to it.
                log.warning("no worker can be started: %s", problem)
            self.workers.discard(worker)
            self.pools.count -= 1
            self.pools.by_number.pop(worker.number, None)
            self.starting -= 1
            self.start_problem = str(problem)
            self._answer_first(Outcome("unstartable", str(problem).encode()))

    def _stream(self) -> str:
        return f"{self.stream_prefix}{chance.random_bytes(16).hex()}"


class Pools:
    """All pools, and the periodic check of all workers."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.numbers = itertools.count(1)
        self.turns = itertools.count(1)
        self.by_number: dict[int, Worker] = {}
        self.count = 0
        self.closed = False
        self._pools: dict[tuple[str, str], Pool] = {}
        self._retired: list[Pool] = []
        self._check: Timer | None = None
        self._check_every_ms = CHECK_MS
        if isinstance(clock, VirtualClock):
            # Memory needs fewer checks: handlers that sleep in virtual time do not grow.
            self._check_every_ms = IDLE_MS
            clock.on_long_wait.append(self._check_long_work)

    def worker(self, number: int) -> Worker | None:
        """The worker of that number, while it lives."""
        return self.by_number.get(number)

    def _check_long_work(self, waited_seconds: float) -> None:
        for worker in list(self.by_number.values()):
            worker.check_long_work(waited_seconds)

    def get(self, name: str, version: str) -> Pool | None:
        """The pool of a function version, if it has one."""
        return self._pools.get((name, version))

    def add(self, name: str, version: str, pool: Pool) -> None:
        """Add the pool of a function version."""
        self._pools[name, version] = pool

    def retire(self, name: str, version: str | None = None) -> None:
        """Retire the pool of a version, or all pools of a function."""
        for key in [key for key in self._pools if key[0] == name and version in (None, key[1])]:
            pool = self._pools.pop(key)
            pool.retire()
            self._retired = [old for old in self._retired if old.workers or old.waiting]
            self._retired.append(pool)

    def all(self) -> Iterable[Pool]:
        """Every pool that may still have workers."""
        return itertools.chain(self._pools.values(), self._retired)

    def make_room(self) -> None:
        """End the worker that has been idle longest if there are too many processes."""
        if self.count < MOST_WORKERS:
            return
        idle = [(pool.idle[0].idle_since_ms, number, pool) for number, pool in enumerate(self.all()) if pool.idle]
        if idle:
            min(idle)[2].idle.pop(0).end(grace_seconds=0)

    def free_place(self) -> None:
        """End the remote worker that has been idle longest: another one waits for its place in the cluster."""
        most_ms = self.clock.now_ms() - LEAST_IDLE_MS
        idle = [
            (pool.idle[0].idle_since_ms, number, pool)
            for number, pool in enumerate(self.all())
            if pool.plan.is_remote and len(pool.idle) > pool.kept and pool.idle[0].idle_since_ms <= most_ms
        ]
        if idle:
            min(idle)[2].idle.pop(0).end(grace_seconds=0)

    def check_later(self) -> None:
        """Schedule a check of the workers, unless one is scheduled."""
        if self._check is None:
            self._check = self.clock.call_at(self.clock.now_ms() + self._check_every_ms, self._check_all)

    def _check_all(self) -> None:
        self._check = None
        now_ms = self.clock.now_ms()
        for pool in self.all():
            pool.end_idle(now_ms)
            pool.fill()
            for worker in pool.workers:
                if worker.in_hand is not None:
                    _check_size(worker)
            for worker in pool.idle:
                if now_ms - worker.idle_since_ms >= FREEZE_MS:
                    worker.freeze()
        if self.count:
            self.check_later()

    def close(self) -> None:
        """Forget all pools; the fork servers end the processes."""
        self.closed = True
        if self._check is not None:
            self._check.cancel()
        for pool in self.all():
            pool.retired = True
        self._pools.clear()
        self._retired.clear()


def _check_size(worker: Worker) -> None:
    """End a worker whose processes use more than the function's memory together, or are too many."""
    family = worker.family()
    if processes.exceeds(family, worker.plan.memory_bytes):
        worker.killed_for_memory = True
        worker.end(grace_seconds=0)
    elif len(family) > processes.MOST_PROCESSES:
        log.warning("worker %d of %s is killed: it has more than %d processes", worker.number, worker.name,
                    processes.MOST_PROCESSES)  # fmt: skip
        worker.end(grace_seconds=0)
