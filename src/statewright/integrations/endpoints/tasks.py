"""Tasks of services at endpoints, seen from the event loop: calls go to threads, jobs are followed to their end.

botocore takes long to load, so `clients` and `jobs`, which need it, are imported on the thread of the first call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from statewright.clock import Clock
from statewright.config import Config
from statewright.engine.dispatch import Failed, ScheduledCall, Submitted, Succeeded, TaskResult
from statewright.integrations.blocking import BlockingCalls
from statewright.integrations.endpoints.volatile import VolatileServices
from statewright.integrations.patterns import Answers, Follower
from statewright.payload import Json

if TYPE_CHECKING:
    from statewright.integrations.endpoints.clients import Clients


class AwsServices:
    """Carries out tasks of services that are not ours."""

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
        self._clients: Clients | None = None
        self._lock = threading.Lock()

    async def call(self, task: ScheduledCall) -> TaskResult:
        """Make the call of a task; a `.sync` task's job is followed from then on."""
        if task.submitted is not None:
            self._follow(task, task.submitted.value)
            return Submitted(task.submitted)
        result = await self._blocking.run(self._send, task)
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
        async def look() -> Succeeded | Failed | None:
            return await self._blocking.run(self._look, task, submitted)

        async def stop() -> None:
            await self._blocking.run(self._stop, task, submitted)

        self._follower.follow(task, look, stop)

    # -------------------------------------------------------------- on threads

    def _loaded(self) -> Clients:
        with self._lock:
            if self._clients is None:
                from statewright.integrations.endpoints.clients import Clients

                self._clients = Clients(self._config, self._volatile)
        return self._clients

    def _send(self, task: ScheduledCall) -> TaskResult:
        from statewright.integrations.endpoints.clients import call_service
        from statewright.integrations.jobs import refusal_of

        if task.resource.pattern == "sync":
            refused = refusal_of(task)
            if refused is not None:
                return refused
        return call_service(self._loaded(), task)

    def _look(self, task: ScheduledCall, submitted: Json) -> Succeeded | Failed | None:
        from statewright.integrations.jobs import look

        return look(self._loaded(), task, submitted)

    def _stop(self, task: ScheduledCall, submitted: Json) -> None:
        from statewright.integrations.jobs import stop

        stop(self._loaded(), task, submitted)
