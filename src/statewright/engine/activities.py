"""Activities: tasks that wait for a worker, and workers that wait for a task. Both first come, first served.

A task is in the outbox until a worker has it; this module owns only the queues. Activities themselves are recorded by
`machines/activities.py`.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from statewright.clock import Clock
from statewright.errors import ApiError

POLL_MS: Final = 60_000
"""Source: API reference, GetActivityTask."""
MOST_POLLERS: Final = 1_000
"""Source: service quotas, pollers of one activity."""


@dataclass(frozen=True, slots=True)
class ActivityTask:
    """A task that waits for a worker. `input` is its JSON text."""

    execution: int
    task_id: int
    token: str
    input: str


Take = Callable[[ActivityTask, str | None], Awaitable[bool]]
"""Record that a worker has taken a task; false when its execution no longer waits for it."""


class _Queue:
    """One activity."""

    __slots__ = ("polling", "tasks", "waiting")

    def __init__(self) -> None:
        self.tasks: OrderedDict[tuple[int, int], ActivityTask] = OrderedDict()
        self.waiting: deque[asyncio.Future[ActivityTask | None]] = deque()
        self.polling = 0


class Activities:
    """The queues of every activity."""

    def __init__(self, clock: Clock, check: Callable[[str], Awaitable[object]], take: Take) -> None:
        self._clock = clock
        self._check = check
        self._take = take
        self._queues: dict[str, _Queue] = {}
        self._where: dict[tuple[int, int], str] = {}

    async def poll(self, activity_arn: str, worker_name: str | None = None) -> tuple[str, str] | None:
        """Wait up to a minute for a task; its token and input, or `None`.

        Raises: ApiError (`ActivityDoesNotExist`, `ActivityWorkerLimitExceeded`).
        """
        await self._check(activity_arn)
        queue = self._queues.setdefault(activity_arn, _Queue())
        if queue.polling >= MOST_POLLERS:
            raise ApiError(
                "ActivityWorkerLimitExceeded",
                "The maximum number of workers concurrently polling for activity tasks has been reached.",
            )
        queue.polling += 1
        try:
            return await self._poll(activity_arn, queue, worker_name)
        finally:
            queue.polling -= 1
            self._tidy(activity_arn, queue)

    async def _poll(self, arn: str, queue: _Queue, worker_name: str | None) -> tuple[str, str] | None:
        until_ms = self._clock.now_ms() + POLL_MS
        while True:
            task = self._next(queue) if queue.tasks else await self._wait(arn, queue, until_ms)
            if task is None:
                return None
            if await self._take(task, worker_name):
                return task.token, task.input

    def _next(self, queue: _Queue) -> ActivityTask:
        key, task = queue.tasks.popitem(last=False)
        self._where.pop(key, None)
        return task

    async def _wait(self, arn: str, queue: _Queue, until_ms: int) -> ActivityTask | None:
        turn: asyncio.Future[ActivityTask | None] = asyncio.get_running_loop().create_future()

        def give_up() -> None:
            if not turn.done():
                turn.set_result(None)

        queue.waiting.append(turn)
        timer = self._clock.call_at(until_ms, give_up)
        try:
            return await turn
        except asyncio.CancelledError:
            # The worker disconnected while a task was assigned to it: the next in line gets it.
            if turn.done() and not turn.cancelled() and (task := turn.result()) is not None:
                self.offer(arn, task, first=True)
            raise
        finally:
            timer.cancel()
            if turn in queue.waiting:
                queue.waiting.remove(turn)

    def offer(self, activity_arn: str, task: ActivityTask, *, first: bool = False) -> None:
        """A task waits for a worker."""
        queue = self._queues.setdefault(activity_arn, _Queue())
        while queue.waiting:
            turn = queue.waiting.popleft()
            if not turn.done():
                turn.set_result(task)
                return
        key = (task.execution, task.task_id)
        queue.tasks[key] = task
        if first:
            queue.tasks.move_to_end(key, last=False)
        self._where[key] = activity_arn

    def withdraw(self, execution: int, task_id: int) -> None:
        """Forget a task that its execution no longer waits for; harmless for one that is not here."""
        arn = self._where.pop((execution, task_id), None)
        if arn is not None:
            queue = self._queues[arn]
            queue.tasks.pop((execution, task_id), None)
            self._tidy(arn, queue)

    def _tidy(self, arn: str, queue: _Queue) -> None:
        if not queue.polling and not queue.tasks and self._queues.get(arn) is queue:
            del self._queues[arn]

    def release(self) -> None:
        """Answer every worker's poll with no task."""
        for queue in self._queues.values():
            for turn in queue.waiting:
                if not turn.done():
                    turn.set_result(None)
