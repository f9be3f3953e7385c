"""Shared parts of the integration patterns: following jobs to their end, and the texts of failures.

A `.sync` request is submitted first; a `Follower` then polls the job, in memory, and answers the task by its token.
After a restart the engine sends the call again with the submitted answer, and following starts again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, Protocol

from statewright.clock import Clock
from statewright.engine.concurrency.semaphores import Semaphores
from statewright.engine.dispatch import Failed, FailedHow, ScheduledCall, Submitted, Succeeded, TaskResult
from statewright.engine.heavy.steps import HeavySteps
from statewright.errors import DATA_LIMIT, TASK_FAILED, ApiError, ExecutionFailure, StoreError
from statewright.payload import Json, dump_json

log = logging.getLogger("statewright.integrations")

NOT_CONFIGURED: Final = "Statewright.ServiceNotConfigured"
"""The error of a task whose service is neither Statewright's own nor configured."""

Poll = Callable[[], Awaitable[Succeeded | Failed | None]]
"""Asks for a job's state; `None` while it runs."""
Stop = Callable[[], Awaitable[None]]
"""Ends a job, best effort."""


class Answers(Protocol):
    """Accepts the results of tasks, by token. Raises: ApiError when the task is over; StoreError."""

    async def task_succeeded(self, token: str, output: str) -> None:
        """The result, as JSON text."""

    async def task_failed(self, token: str, error: str | None, cause: str | None) -> None:
        """The failure."""


class Settles(Protocol):
    """The engine's semaphores and heavy workers, and its way to accept the results of calls that are answered later."""

    @property
    def semaphores(self) -> Semaphores:
        """The semaphores."""

    @property
    def heavy(self) -> HeavySteps:
        """The worker processes for what would hold the event loop."""

    def settle(self, call: ScheduledCall, result: TaskResult) -> bool:
        """Answer a call."""


def named_uuid(*names: str) -> str:
    """A version 4 UUID that is the same for the same names, so that a repeated call creates nothing twice."""
    text = blake2b("\0".join(names).encode(), digest_size=16).hexdigest()
    variant = "89ab"[int(text[16], 16) & 3]
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:]}"


def refused_how(task: ScheduledCall) -> FailedHow:
    """The kind of history event for a refused request: one that would be answered later was never submitted."""
    return "failed" if task.resource.pattern == "request" else "submit failed"


def answered(task: ScheduledCall, output: Json) -> TaskResult:
    """The outcome of an accepted request: its result, or its submission if the result comes later."""
    return Succeeded(output) if task.resource.pattern == "request" else Submitted(output)


def bad_parameters(task: ScheduledCall, *reasons: str) -> Failed:
    """The failure of a task whose parameters are not those of its API; it ends the execution (observed)."""
    shown = dump_json(task.parameters)
    return Failed(
        "States.Runtime",
        f"The Parameters '{shown}' could not be used to start the Task: [{', '.join(reasons)}]",
        "refused",
    )


@dataclass(slots=True)
class _Job:
    task: ScheduledCall
    poll: Poll
    stop: Stop | None
    wake: asyncio.Event
    runner: asyncio.Task[None] | None = None


class Follower:
    """Polls submitted jobs at growing intervals, and answers the tasks that wait for them."""

    def __init__(self, clock: Clock, answers: Callable[[], Answers]) -> None:
        self._clock = clock
        self._answers = answers
        self._jobs: dict[str, _Job] = {}
        self._by_name: dict[str, str] = {}

    def follow(
        self,
        task: ScheduledCall,
        poll: Poll,
        stop: Stop | None = None,
        *,
        name: str | None = None,
        first_ms: int = 1_000,
        longest_ms: int = 30_000,
    ) -> None:
        """Poll a job until it ends; does nothing for a call that is followed already.

        `name` is the name of the job for `hint`. The job is polled immediately, then after `first_ms`, and at growing
        intervals up to `longest_ms`.
        """
        key = task.idempotency_key
        if key in self._jobs:
            return
        job = self._jobs[key] = _Job(task, poll, stop, asyncio.Event())
        if name is not None:
            self._by_name[name] = key
        job.runner = asyncio.get_running_loop().create_task(self._run(job, first_ms, longest_ms))
        job.runner.add_done_callback(lambda _: self._forget(job, name))

    def _forget(self, job: _Job, name: str | None) -> None:
        key = job.task.idempotency_key
        if self._jobs.get(key) is job:
            del self._jobs[key]
        if name is not None and key not in self._jobs:
            self._by_name.pop(name, None)

    def hint(self, name: str) -> None:
        """Poll a job now, because it has ended. A name that is not followed is normal."""
        job = self._jobs.get(self._by_name.get(name, ""))
        if job is not None:
            job.wake.set()

    async def cancel(self, task: ScheduledCall) -> None:
        """Stop a job for which no task waits any more."""
        job = self._jobs.pop(task.idempotency_key, None)
        if job is None:
            return
        if job.runner is not None:
            job.runner.cancel()
        if job.stop is not None:
            await job.stop()

    async def close(self) -> None:
        """Stop following; the jobs continue, and are followed again after the next start."""
        runners = [job.runner for job in self._jobs.values() if job.runner is not None]
        for runner in runners:
            runner.cancel()
        await asyncio.gather(*runners, return_exceptions=True)

    @property
    def following(self) -> int:
        """The number of jobs that are followed."""
        return len(self._jobs)

    async def _run(self, job: _Job, first_ms: int, longest_ms: int) -> None:
        wait_ms = first_ms
        while True:
            job.wake.clear()
            try:
                result = await job.poll()
                if result is not None:
                    await self._answer(job.task, result)
                    return
            except StoreError as problem:
                log.warning("a job of %s will be polled again: %s", job.task.execution_arn, problem)
                # Its end may have been announced already.
                wait_ms = first_ms
            except Exception:
                log.exception("polling a job of %s failed", job.task.execution_arn)
            timer = self._clock.call_at(self._clock.now_ms() + wait_ms, job.wake.set)
            try:
                await job.wake.wait()
            finally:
                timer.cancel()
            wait_ms = min(2 * wait_ms, longest_ms)

    async def _answer(self, task: ScheduledCall, result: Succeeded | Failed) -> None:
        assert task.token is not None
        answers = self._answers()
        try:
            if isinstance(result, Succeeded):
                await answers.task_succeeded(task.token, dump_json(result.output))
            else:
                await answers.task_failed(task.token, result.error, result.cause)
        except ExecutionFailure as failure:
            await answers.task_failed(task.token, failure.error, failure.cause)
        except ApiError as refusal:
            # Normal: the task timed out, was stopped, or had its end by SendTaskSuccess.
            log.debug("no task waits for a job of %s any more: %s", task.execution_arn, refusal)


def job_failed(description: Json) -> Failed:
    """The failure of a job: its description is the cause (observed)."""
    return Failed(TASK_FAILED, dump_json(description))


def too_large(task: ScheduledCall) -> Failed:
    """The failure of a task whose answer is too long to be read."""
    name = task.resource.resource_type
    cause = (
        f"The state/task '{name}' returned a result with a size exceeding the maximum number of bytes service limit."
    )
    return Failed(DATA_LIMIT, cause)


def not_here_yet(task: ScheduledCall) -> Failed:
    """The failure of a task that this version cannot execute, wherever its service is."""
    return Failed(NOT_CONFIGURED, f"This version of Statewright does not have {task.resource.short_name} yet.")


def no_endpoint_text(service: str) -> str:
    """How to configure a service that has no endpoint."""
    return (
        f"Statewright has no {service} of its own and no endpoint is configured for it. "
        f'Add to statewright.toml: [endpoints] {service} = "http://127.0.0.1:8000"; or, for tests, have it played by '
        "moto: pip install 'statewright[aws]'"
    )
