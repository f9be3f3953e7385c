"""Tasks of a worker: some run there, all others at the home.

`HomeTasks` is at every worker. `TasksAtHome` makes the calls that workers send to the home, whether from its own
process or from another node. The home's integrations complete the worker's outbox row in the transaction of the call's
effect, so a call whose answer was lost is found in that row (`engine.dispatch`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from statewright.api.nodes.apps import Apps
from statewright.api.nodes.client import NodeClient
from statewright.api.nodes.home_calls import ask_home
from statewright.api.nodes.peers import NO_OWNER, Directory
from statewright.api.operations import App
from statewright.engine.dispatch import (
    Failed,
    Integrations,
    Later,
    ScheduledCall,
    TaskResult,
    answer_in,
    decode_call,
    encode_call,
    followed_up,
    payload_of,
)
from statewright.errors import ApiError, StoreError, Unavailable

TASK: Final = "/_statewright/node/task"
CANCEL: Final = "/_statewright/node/cancel"
TASK_SECONDS: Final = 3_600.0
"""After which a call is sent again; it joins the first one, if that still runs. A task's own timeout comes earlier."""
CANCEL_SECONDS: Final = 30.0

_HERE: Final = frozenset({"states", "aws-sdk:sfn", "http", "apigateway"})
_OWN: Final = "statewright"
_SEMAPHORES: Final = frozenset({"acquire", "release"})
_MISPLACED: Final = "Statewright.InvalidParameters"

HasReservation = Callable[[str], Awaitable[bool]]

Key = tuple[int, str, int, str]

log = logging.getLogger("statewright.nodes")


def runs_here(task: ScheduledCall) -> bool:
    """True if a task's call is made by its worker: it writes to no service that only the home has."""
    resource = task.resource
    if resource.kind == "lambda" or resource.resource_type in _HERE:
        return True
    if resource.resource_type == _OWN:
        return resource.action not in _SEMAPHORES
    if resource.resource_type not in ("lambda", "aws-sdk:lambda") or resource.action.partition(".")[0] != "invoke":
        return False
    parameters = task.parameters
    return isinstance(parameters, dict) and parameters.get("InvocationType") in (None, "RequestResponse")


def function_of(task: ScheduledCall) -> str | None:
    """The name or ARN of the function that a task invokes, `None` for other tasks."""
    if task.resource.kind == "lambda":
        return task.resource.arn
    if task.resource.resource_type not in ("lambda", "aws-sdk:lambda") or not isinstance(task.parameters, dict):
        return None
    name = task.parameters.get("FunctionName")
    return name if isinstance(name, str) else None


class TasksAtHome:
    """Makes the calls of workers' tasks at the home of this process."""

    def __init__(self, apps: Apps, directory: Directory) -> None:
        self._apps = apps
        self._directory = directory
        self._running: dict[Key, asyncio.Task[TaskResult]] = {}

    @property
    def is_here(self) -> bool:
        """True if this process has the home."""
        return self._apps.at_home(self._directory) is not None

    async def call(self, task: ScheduledCall) -> TaskResult:
        """Make a call; one that is under way is joined, not made again. It goes on if its caller leaves.

        Raises: Unavailable, also if the home loses its lease: the worker's cell is another's business.
        """
        key = _key(task)
        running = self._running.get(key)
        if running is None:
            running = self._running[key] = asyncio.create_task(self._made(task))
            running.add_done_callback(lambda done: self._ended(key, done))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            if running.cancelled() and not _is_cancelling():
                raise Unavailable("the call was cancelled at the home") from None
            raise

    async def _made(self, task: ScheduledCall) -> TaskResult:
        if task.resource.resource_type == _OWN and task.resource.action == "acquire":
            # The permit would be given to an execution of this process, and there is none.
            return Failed(
                _MISPLACED,
                f"{task.resource.arn}: this execution began before its machine used semaphores; start it again.",
            )
        try:
            # A call that came before it, of this or an earlier home, may have happened by now: it would be made twice.
            answer = await answer_in(self._app().engine.store.executions, task)
            if answer is not None and followed_up(task, answer) is None:
                return answer
            result = await self._app().integrations.call(task)
        except StoreError as problem:
            raise problem if isinstance(problem, Unavailable) else Unavailable(str(problem)) from problem
        assert not isinstance(result, Later), "only Statewright's own tasks are answered later"
        return result

    def _ended(self, key: Key, done: asyncio.Task[TaskResult]) -> None:
        if self._running.get(key) is done:
            del self._running[key]
        # Retrieved, because a caller that has left does not.
        if not done.cancelled():
            done.exception()

    async def cancel(self, task: ScheduledCall) -> None:
        """Stop a call, or the job that it has begun. Raises: Unavailable."""
        running = self._running.pop(_key(task), None)
        if running is not None:
            running.cancel()
            await asyncio.wait([running])
        await self._app().integrations.cancel(task)

    def _app(self) -> App:
        app = self._apps.at_home(self._directory)
        if app is None:
            raise Unavailable(NO_OWNER)
        return app

    def stop(self) -> None:
        """Drop what is under way: the home has left this process, and workers send their calls to the next one."""
        for running in self._running.values():
            running.cancel()
        self._running.clear()


def _is_cancelling() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _key(task: ScheduledCall) -> Key:
    # The call of an EXPRESS execution has no row.
    return (task.outbox, task.execution_arn, task.task_id, task.idempotency_key)


class HomeTasks:
    """The `Integrations` of a worker's engine: `inner` are those of the worker, `at_home` those of this process."""

    def __init__(
        self,
        inner: Integrations,
        at_home: TasksAtHome,
        directory: Directory,
        client: NodeClient,
        has_reservation: HasReservation | None = None,
    ) -> None:
        """`has_reservation` tells of a function whether it has concurrency of its own, which the home counts."""
        self._has_reservation = has_reservation
        self._inner = inner
        self._at_home = at_home
        self._directory = directory
        self._client = client

    async def call(self, task: ScheduledCall) -> TaskResult | Later:
        """Make a call here or at the home.

        Raises: Unavailable while the home does not answer: the engine then looks into the call's row, and repeats it.
        """
        if runs_here(task) and not await self._is_counted(task):
            return await self._inner.call(task)
        if self._at_home.is_here:
            return await self._at_home.call(task)
        answer = decode_call(await self._asked(TASK, task, TASK_SECONDS), task.outbox).answer
        if answer is None:
            raise Unavailable("the home answered a task's call without a result")
        return answer

    async def _is_counted(self, task: ScheduledCall) -> bool:
        """True for an invocation of a function with a reservation. Raises: Unavailable."""
        name = function_of(task) if self._has_reservation is not None else None
        if name is None or self._has_reservation is None:
            return False
        try:
            return await self._has_reservation(name)
        except ApiError:
            # The call itself says what is wrong.
            return False

    async def cancel(self, task: ScheduledCall) -> None:
        """Stop a call whose execution no longer waits for it, best effort. Raises nothing."""
        if runs_here(task):
            await self._inner.cancel(task)
            return
        try:
            if self._at_home.is_here:
                await self._at_home.cancel(task)
            else:
                await self._asked(CANCEL, task, CANCEL_SECONDS)
        except Unavailable as problem:
            log.warning("stopping what a task of %s waits for failed: %s", task.execution_arn, problem)

    async def follow_again(self, calls: Iterable[ScheduledCall]) -> None:
        """Have a new home follow the jobs that tasks of this worker wait for.

        `calls` are those of the outbox rows of the worker's cells (`engine.effects.calls_of`). To be called whenever
        the home has changed, and again if it fails: a job is followed once, however often it is asked for.

        Raises: Unavailable.
        """
        for task in calls:
            if task.submitted is not None and task.answer is None and not runs_here(task):
                await self.call(task)

    async def _asked(self, path: str, task: ScheduledCall, timeout_seconds: float) -> bytes:
        """The home's answer. Raises: Unavailable."""
        body = encode_call(task, payload_of(task.parameters))
        return await ask_home(self._directory, self._client, f"{path}?outbox={task.outbox}", body, timeout_seconds)
