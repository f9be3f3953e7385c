"""Tasks of services at endpoints, seen from the event loop: calls go to threads, jobs are followed to their end.

botocore is slow to load, so `calls`, which needs it, is imported on the thread of the first call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from statewright.clock import Clock
from statewright.config import Config
from statewright.engine.dispatch import Failed, ScheduledCall, Submitted, Succeeded, TaskResult
from statewright.integrations.blocking import BlockingCalls
from statewright.integrations.endpoints.volatile import VolatileServices
from statewright.integrations.patterns import Answers, Follower
from statewright.payload import Json


class Calls(Protocol):
    """The calls that run on threads: `calls.ServiceCalls`."""

    def call(self, task: ScheduledCall) -> TaskResult:
        """Make the call of a service integration. Blocks."""

    def poll(self, task: ScheduledCall, submitted: Json) -> Succeeded | Failed | None:
        """Ask for the state of a `.sync` task's job; `None` while it runs. Blocks."""

    def stop(self, task: ScheduledCall, submitted: Json) -> None:
        """Stop the job of a `.sync` task, best effort. Blocks."""


class AwsServices:
    """Executes tasks of services that Statewright does not have."""

    def __init__(
        self,
        config: Config,
        clock: Clock,
        blocking: BlockingCalls,
        answers: Callable[[], Answers],
        volatile: VolatileServices | None = None,
    ) -> None:
        self._config = config
        self._volatile = volatile
        self._blocking = blocking
        self._follower = Follower(clock, answers)
        self._calls: Calls | None = None
        self._lock = threading.Lock()

    async def call(self, task: ScheduledCall) -> TaskResult:
        """Make the call of a task; a `.sync` task's job is followed from then on."""
        if task.submitted is not None:
            self._follow(task, task.submitted.value)
            return Submitted(task.submitted)
        result = await self._blocking.run(self._call, task)
        if isinstance(result, Submitted) and task.resource.pattern == "sync":
            self._follow(task, result.output)
        return result

    async def cancel(self, task: ScheduledCall) -> None:
        """Stop the job that a `.sync` task waits for."""
        await self._follower.cancel(task)

    async def close(self) -> None:
        """Stop following jobs."""
        await self._follower.close()

    def _follow(self, task: ScheduledCall, submitted: Json) -> None:
        async def poll() -> Succeeded | Failed | None:
            return await self._blocking.run(self._poll, task, submitted)

        async def stop() -> None:
            await self._blocking.run(self._stop, task, submitted)

        self._follower.follow(task, poll, stop)

    # -------------------------------------------------------------- on threads

    def _loaded(self) -> Calls:
        with self._lock:
            if self._calls is None:
                from statewright.integrations.endpoints.calls import ServiceCalls

                self._calls = ServiceCalls(self._config, self._volatile)
        return self._calls

    def _call(self, task: ScheduledCall) -> TaskResult:
        return self._loaded().call(task)

    def _poll(self, task: ScheduledCall, submitted: Json) -> Succeeded | Failed | None:
        return self._loaded().poll(task, submitted)

    def _stop(self, task: ScheduledCall, submitted: Json) -> None:
        self._loaded().stop(task, submitted)
