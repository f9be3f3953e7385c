"""Effects: what leaves the process once its commit is durable, and how its result comes back.

An outbox row names an effect until the execution has taken its result, so a new owner dispatches it again under the
same idempotency key. The transaction of an effect on one of Statewright's own services completes the row with the
answer (`stores.completion`); then the answer is taken and the effect not repeated. `Integrations` is all the engine
knows of functions, queues and services.

A failure of Statewright's own store is never a task's result. While the store is unavailable a call waits, and is
repeated under its key unless its row has an answer by then, until the task's own timeout cancels it. A call that finds
another owner decides nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol

from statewright.asl.resources import Resource, parse_resource
from statewright.background import Background
from statewright.engine.retrying import Retry
from statewright.errors import OwnershipLost, Unavailable
from statewright.formats import array_in, damaged
from statewright.interpreter import events
from statewright.interpreter.commands import ScheduleTask
from statewright.payload import Json, Payload, dump_row, embedded, parse_json
from statewright.stores import fail_points
from statewright.stores.protocol import ExecutionStore

CALL_VERSION: Final = 2
UNANSWERED_VERSION: Final = 1
"""The format of rows without an answer, which an older program reads, too."""
_WHAT: Final = "the call of a task"

logger = logging.getLogger(__name__)

FailedHow = Literal["failed", "schedule failed", "start failed", "submit failed", "refused"]


@dataclass(frozen=True, slots=True)
class ScheduledCall:
    """A call that a Task makes. `idempotency_key` is the same at every repeat of one attempt.

    `token` is set where the answer may come by token. `deadline_ms` is the instant of the task's timeout, `None`
    without one. `submitted` is the answer to a `.sync` request that was already accepted before a restart: such a
    call must be followed up, not sent again. `outbox` is the id of its outbox row, 0 for the call of an EXPRESS
    execution, which has none. `answer` is the result of a call that has happened and whose row is completed.
    """

    execution_arn: str
    state: str
    resource: Resource
    parameters: Json
    token: str | None
    attempt: int
    idempotency_key: str
    role_arn: str
    deadline_ms: int | None = None
    heartbeat_ms: int = 0
    iterations: tuple[int, ...] = ()
    task_id: int = 0
    region: str = "us-east-1"
    trace_header: str | None = None
    submitted: Payload | None = None
    outbox: int = 0
    answer: TaskResult | None = None


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The task's result."""

    output: Json


@dataclass(frozen=True, slots=True)
class Failed:
    """The task failed. `how` chooses the history event; "refused" ends the execution with `States.Runtime`."""

    error: str | None
    cause: str | None
    how: FailedHow = "failed"


@dataclass(frozen=True, slots=True)
class Submitted:
    """A `.sync` or `.waitForTaskToken` request was accepted; the end comes later, by token."""

    output: Json


TaskResult = Succeeded | Failed | Submitted


@dataclass(frozen=True, slots=True)
class Later:
    """The answer comes by `Dispatcher.settle`, however long that takes; until then only the call itself is held."""


class Integrations(Protocol):
    """Executes tasks; implemented by `integrations.Registry`."""

    async def call(self, task: ScheduledCall) -> TaskResult | Later:
        """Make the call and answer with its result; the same call may come again.

        Raises: Unavailable, OwnershipLost, of Statewright's own store, and nothing else.
        """

    async def cancel(self, task: ScheduledCall) -> None:
        """Stop a call whose execution no longer waits for it, best effort. Raises nothing."""


Tell = Callable[[ScheduledCall, events.Event], None]
"""How a result goes back to the execution it belongs to."""
Broke = Callable[[ScheduledCall, BaseException], None]
"""Called when nothing is decided: another process owns the store, or an integration broke, a bug in Statewright."""


Key = tuple[str, int]
"""ARN of the execution and id of the task."""


class Dispatcher:
    """The calls under way, and the jobs that were submitted."""

    def __init__(self, integrations: Integrations, store: ExecutionStore, retry: Retry) -> None:
        self._integrations = integrations
        self._store = store
        self._retry = retry
        self._tasks: dict[Key, asyncio.Task[None]] = {}
        self._open: dict[Key, ScheduledCall] = {}
        self._later: dict[Key, Tell] = {}
        """Receives the answers that come by `settle`."""
        self._cancelling = Background("cancelling a task")

    def dispatch(self, call: ScheduledCall, tell: Tell, broke: Broke, *, is_repeated: bool = False) -> None:
        """Make a call; one that is under way is left alone. `is_repeated`: a former owner may have made it as well."""
        key = (call.execution_arn, call.task_id)
        if key in self._tasks or key in self._later:
            return
        self._open[key] = call
        self._tasks[key] = asyncio.create_task(self._run(call, tell, broke, is_repeated))

    async def _run(self, call: ScheduledCall, tell: Tell, broke: Broke, is_repeated: bool) -> None:
        key = (call.execution_arn, call.task_id)
        try:
            fail_points.passed(fail_points.DISPATCHED)
            try:
                result = await self._integrations.call(call)
            except Unavailable:
                result = await self._retry(self._answer_or_repeat, call)
            else:
                if is_repeated and isinstance(result, Failed):
                    # As in `_answer_or_repeat`: the call of the former owner may have been under way elsewhere.
                    result = await self._retry(self._answer, call) or result
            if isinstance(result, Later):
                self._later[key] = tell
                return
            fail_points.passed(fail_points.RESULT)
            event = event_of(call, result)
        except asyncio.CancelledError:
            self._open.pop(key, None)
            raise
        except Exception as problem:
            self._open.pop(key, None)
            if not isinstance(problem, OwnershipLost):
                logger.error("a task of %s broke its integration", call.execution_arn, exc_info=problem)
            broke(call, problem)
            return
        finally:
            self._tasks.pop(key, None)
        # A job continues after its request was accepted, and may still have to be stopped.
        if not (isinstance(result, Submitted) and call.resource.pattern == "sync"):
            self._open.pop(key, None)
        tell(call, event)

    async def _answer_or_repeat(self, call: ScheduledCall) -> TaskResult | Later:
        """Take the answer of a call that has happened although its commit stayed unanswered, or make it again."""
        answer = await self._answer(call)
        if answer is not None:
            return answer
        result = await self._integrations.call(call)
        # It may be refused because of what the first call has done, whose commit was written only meanwhile.
        return (await self._answer(call) or result) if isinstance(result, Failed) else result

    async def _answer(self, call: ScheduledCall) -> TaskResult | Later | None:
        """The answer of a call that has happened, as its row has it; a job that was submitted is followed up."""
        answer = await answer_in(self._store, call)
        following = followed_up(call, answer) if answer is not None else None
        return await self._integrations.call(following) if following is not None else answer

    def settle(self, call: ScheduledCall, result: TaskResult) -> bool:
        """Answer a call that was to be answered later; whether its execution still waited for it.

        The call stays open until its execution has taken the answer: if it does not want it any more, it is cancelled.
        """
        tell = self._later.pop((call.execution_arn, call.task_id), None)
        if tell is None:
            return False
        fail_points.passed(fail_points.RESULT)
        tell(call, event_of(call, result))
        return True

    def forget(self, execution_arn: str, task_id: int) -> None:
        """The execution has the end of the task, wherever it came from."""
        self._open.pop((execution_arn, task_id), None)
        self._later.pop((execution_arn, task_id), None)

    def cancel(self, execution_arn: str, task_id: int) -> None:
        """Stop a call that is under way, or a job that was submitted."""
        key = (execution_arn, task_id)
        call = self._open.pop(key, None)
        self._later.pop(key, None)
        task = self._tasks.pop(key, None)
        if task is not None:
            task.cancel()
        if call is not None:
            self._cancelling.spawn(self._cancel(call))

    async def _cancel(self, call: ScheduledCall) -> None:
        try:
            await self._integrations.cancel(call)
        except Exception:
            logger.exception("cancelling a task of %s failed", call.execution_arn)

    def kill(self) -> None:
        """Drop every call, as a process that dies would."""
        for task in self._tasks.values():
            task.cancel()
        self._cancelling.cancel()
        self._tasks.clear()
        self._open.clear()
        self._later.clear()

    @property
    def under_way(self) -> int:
        """How many calls are in flight."""
        return len(self._tasks)


_ENDS: Final[dict[FailedHow, Callable[[int, str | None, str | None], events.TaskEnd]]] = {
    "failed": events.TaskFailed,
    "schedule failed": events.TaskScheduleFailed,
    "start failed": events.TaskStartFailed,
    "submit failed": events.TaskSubmitFailed,
}


def event_of(call: ScheduledCall, result: TaskResult) -> events.Event:
    """The interpreter's event for a result."""
    if isinstance(result, Succeeded):
        return events.TaskSucceeded(call.task_id, payload_of(result.output))
    if isinstance(result, Submitted):
        return events.TaskSubmitted(call.task_id, payload_of(result.output))
    if result.how == "refused":
        return events.TaskRefused(call.task_id, result.cause or "")
    return _ENDS[result.how](call.task_id, result.error, result.cause)


def payload_of(value: Json) -> Payload:
    """A value as a payload; a payload stays as it is."""
    return value if isinstance(value, Payload) else Payload(value)


# ------------------------------------------------------------------ outbox rows


def call_of(
    command: ScheduleTask,
    arn: str,
    role_arn: str,
    region: str,
    key: int | str,
    now_ms: int,
    trace_header: str | None = None,
) -> ScheduledCall:
    """The call that a command asks for; `key` is the id of its outbox row, or a text where there is none."""
    return ScheduledCall(
        execution_arn=arn,
        state=command.state,
        resource=command.resource,
        parameters=command.parameters.value,
        token=command.token,
        attempt=command.attempt,
        idempotency_key=str(key),
        role_arn=command.role_arn or role_arn,
        deadline_ms=now_ms + command.timeout_ms if command.timeout_ms else None,
        heartbeat_ms=command.heartbeat_ms,
        iterations=command.iterations,
        task_id=command.task_id,
        region=region,
        trace_header=trace_header,
        outbox=key if isinstance(key, int) else 0,
    )


def encode_call(call: ScheduledCall, parameters: Payload) -> bytes:
    """An outbox row's body, without an answer."""
    return dump_row(_fields(UNANSWERED_VERSION, call, parameters))


def encode_answer(call: ScheduledCall, result: TaskResult) -> bytes:
    """The body of a call's outbox row once the call has happened: without its parameters, with its result.

    An output that is a `Payload` is not encoded again when the execution takes it.
    """
    outcome: list[object]
    if isinstance(result, Failed):
        outcome = ["failed", result.error, result.cause, result.how]
    else:
        kind = "succeeded" if isinstance(result, Succeeded) else "submitted"
        outcome = [kind, embedded(payload_of(result.output).text)]
    return dump_row([*_fields(CALL_VERSION, call, _DROPPED), outcome])


_DROPPED: Final = Payload(None)


def _fields(version: int, call: ScheduledCall, parameters: Payload) -> list[object]:
    return [
        version,
        call.execution_arn,
        call.state,
        call.resource.arn,
        embedded(parameters.text),
        call.token,
        call.attempt,
        call.idempotency_key,
        call.role_arn,
        call.deadline_ms,
        call.heartbeat_ms,
        list(call.iterations),
        call.task_id,
        call.region,
        call.trace_header,
        embedded(call.submitted.text) if call.submitted is not None else None,
        call.submitted is not None,
    ]


def decode_call(body: bytes, outbox: int = 0) -> ScheduledCall:
    """Read the body of an outbox row of this id back. Raises: Unreadable."""
    try:
        fields = array_in(parse_json(body), _WHAT, CALL_VERSION)
        resource, iterations = parse_resource(fields[3]), tuple(fields[11])
        submitted = Payload(fields[15]) if fields[16] else None
        answer = _result_of(fields[17]) if fields[0] > UNANSWERED_VERSION else None
        return ScheduledCall(
            fields[1], fields[2], resource, fields[4], fields[5], fields[6], fields[7], fields[8], fields[9],
            fields[10], iterations, fields[12], fields[13], fields[14], submitted, outbox, answer,
        )  # fmt: skip
    except (IndexError, TypeError, ValueError) as problem:
        raise damaged(_WHAT, problem) from None


def _result_of(fields: list[Json]) -> TaskResult:
    kind = fields[0]
    if kind == "failed":
        return Failed(fields[1], fields[2], fields[3])
    return (Succeeded if kind == "succeeded" else Submitted)(Payload(fields[1]))


def followed_up(call: ScheduledCall, answer: TaskResult) -> ScheduledCall | None:
    """The call that follows a job whose request was accepted; `None` if the answer says everything."""
    if call.resource.pattern != "sync" or not isinstance(answer, Submitted):
        return None
    return replace(call, submitted=payload_of(answer.output), answer=None)


async def answer_in(store: ExecutionStore, call: ScheduledCall) -> TaskResult | None:
    """The result of a call that has happened, as its outbox row has it; `None` if the row has none.

    For a call that is about to be repeated because its answer was lost. Raises: Unavailable, OwnershipLost.
    """
    row = await store.sent(call.outbox) if call.outbox else None
    return decode_call(row.body).answer if row is not None else None
