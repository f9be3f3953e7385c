"""Tasks of a system under test: answered by mocks or by the system itself; one without an answer fails the test.

Stands between the engine and its integrations. Owns delays, heartbeats and answers by token, which survive a restart,
and what a call without a mock means: its execution stops, and the call that runs it raises `UnmockedTask`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from statewright.background import Background
from statewright.engine.dispatch import Failed, Integrations, Later, ScheduledCall, Submitted, Succeeded, TaskResult
from statewright.errors import ApiError, DefinitionError, StoreError
from statewright.payload import Json, dump_json
from statewright.simulator.mocks import Answer, Hung, Returned, TaskCall, Threw
from statewright.testing.mocking import Mock, MockBook, Real
from statewright.testing.recordings import Recorder, Recording

if TYPE_CHECKING:
    from statewright.assembly import System


_OWN: Final = "statewright"
_WAITS: Final = Answer(0, Hung())


class UnmockedTask(AssertionError):
    """A task was called that no mock answers; the text says how to write one."""


class Books(Protocol):
    """The part that knows the machines under test."""

    def book_of(self, machine: str) -> tuple[MockBook, bool]:
        """The mocks of a machine, and whether the system carries out what has none."""

    def knows(self, machine: str) -> bool:
        """True if there is such a machine."""


@dataclass(eq=False, slots=True)
class _Due:
    """The answer that is still to be given to a task by its token."""

    due_ms: int
    token: str
    outcome: Returned | Threw | None
    """None for a heartbeat."""


@dataclass(frozen=True, slots=True)
class OpenToken:
    """A task that waits for an answer by token, as far as known."""

    execution_arn: str
    state: str
    token: str
    parameters: Json
    activity: str | None = None


class Tasks:
    """The tasks of a system, over its restarts."""

    def __init__(self, books: Books, recorder: Recorder) -> None:
        self._books = books
        self._recorder = recorder
        self._system: System | None = None
        self._real: Integrations | None = None
        self._answers: dict[tuple[str, int, int], tuple[Answer | None, int]] = {}
        self._counts: dict[str, Counter[Mock]] = {}
        self._visits: dict[str, Counter[tuple[str, tuple[int, ...]]]] = {}
        self._due: dict[_Due, None] = {}
        self._background = Background("telling the end of a task")
        self.calls: dict[str, list[TaskCall]] = {}
        """Every call by the ARN of the execution at the root."""
        self.tokens: list[OpenToken] = []
        self.problems: dict[str, BaseException] = {}
        """Why an execution cannot go on, by the ARN of the one at the root."""

    def stand_between(self, real: Integrations) -> Integrations:
        """Stand between the engine of a system that is being assembled and its integrations."""
        self._real = real
        return self

    def take_over(self, system: System) -> None:
        """Answer the tasks of a system that has been assembled, before it starts."""
        self._system = system
        for due in list(self._due):
            self._arm(due)

    # ------------------------------------------------------------------ the engine's side

    async def call(self, task: ScheduledCall) -> TaskResult | Later:
        """Answer a call."""
        if task.submitted is not None and task.resource.pattern == "sync" and self._known(task) is not None:
            return Submitted(task.submitted)
        answer, began_ms = await self._answer(task)
        if answer is None:
            assert self._real is not None
            return await self._real.call(task)
        clock = self._engine.clock
        if task.resource.pattern != "request":
            self._promise(task.token, answer, began_ms)
            return Submitted(answer.submitted if answer.submitted is not None else {})
        if isinstance(answer.outcome, Hung):
            await asyncio.get_running_loop().create_future()
        if answer.delay_ms:
            await clock.sleep_until(began_ms + answer.delay_ms)
        outcome = answer.outcome
        return Succeeded(outcome.value) if isinstance(outcome, Returned) else Failed(*_failure(outcome))

    async def cancel(self, task: ScheduledCall) -> None:
        """The task has been cancelled: forget what was still to be answered."""
        known = self._known(task)
        if known is None or known[0] is None:
            assert self._real is not None
            await self._real.cancel(task)
        for due in [due for due in self._due if due.token == task.token]:
            del self._due[due]

    def __getattr__(self, name: str) -> Any:
        # Every other method is the system's own.
        return getattr(self._real, name)

    def answers_due_ms(self, arn: str) -> list[int]:
        """When the calls of an execution are or were answered by their mocks, those that hang left out."""
        return [
            began_ms + answer.delay_ms
            for (execution, _, _), (answer, began_ms) in self._answers.items()
            if execution == arn and answer is not None and not isinstance(answer.outcome, Hung)
        ]

    def _known(self, task: ScheduledCall) -> tuple[Answer | None, int] | None:
        return self._answers.get((task.execution_arn, task.task_id, task.attempt))

    async def _answer(self, task: ScheduledCall) -> tuple[Answer | None, int]:
        """The answer to a call and since when it is given; a call that is made again after a restart keeps its own."""
        known = self._known(task)
        if known is None:
            root, around = self._recorder.root_of(task.execution_arn)
            known = await self._decide(task, root, around), self._engine.clock.now_ms()
            self._answers[task.execution_arn, task.task_id, task.attempt] = known
        return known

    async def _decide(self, task: ScheduledCall, root: Recording | None, around: tuple[int, ...]) -> Answer | None:
        """The outcome of a call; None leaves it to the system."""
        if root is None:
            return None
        book, runs_unmocked = self._books.book_of(root.head.machine_name)
        call = self._described(task, root.arn, around)
        if task.token is not None:
            self.tokens.append(OpenToken(root.arn, task.state, task.token, task.parameters))
        counts = self._counts.setdefault(root.arn, Counter())
        try:
            mock = book.find(call)
            result = mock.rule.result(counts[mock]) if mock is not None and mock.rule is not None else None
            if mock is not None and result is not None and result.outcome is not None:
                counts[mock] += 1
                mock.calls_made.append(call)
                return None if isinstance(result.outcome, Real) else result.answer(call)
        except DefinitionError as wrong:
            problem: BaseException = UnmockedTask("; ".join(found.message for found in wrong.diagnostics))
        except Exception as raised:
            problem = raised
        else:
            if mock is None and (runs_unmocked or await self._is_there(task)):
                return None
            if mock is None and task.resource.waits_for_token:
                return _WAITS
            problem = UnmockedTask(book.hint(call, counts))
        self.problems.setdefault(root.arn, problem)
        return _WAITS

    def _described(self, task: ScheduledCall, arn: str, around: tuple[int, ...]) -> TaskCall:
        iteration = around + task.iterations
        visits = self._visits.setdefault(arn, Counter())
        key = (task.state, iteration)
        if task.attempt == 0:
            visits[key] += 1
        call = TaskCall(
            task.state, task.resource.arn, task.parameters, iteration, task.attempt, max(visits[key] - 1, 0),
            self._engine.clock.now_ms(),
        )  # fmt: skip
        self.calls.setdefault(arn, []).append(call)
        return call

    async def _is_there(self, task: ScheduledCall) -> bool:
        """True if the system has what a task calls, because the test has put it there."""
        resource = task.resource
        given = task.parameters if isinstance(task.parameters, dict) else {}
        if resource.resource_type == _OWN:
            return True
        if resource.resource_type in ("states", "aws-sdk:sfn"):
            arn = given.get("StateMachineArn")
            return not isinstance(arn, str) or self._books.knows(arn.rpartition(":stateMachine:")[2].partition(":")[0])
        name = resource.arn if resource.kind == "lambda" else given.get("FunctionName")
        if (resource.kind != "lambda" and resource.resource_type != "lambda") or not isinstance(name, str):
            return False
        from statewright.api.lambda_.service import SERVICE as LAMBDA

        assert self._system is not None
        try:
            await self._system.calls.service(LAMBDA)("GetFunction", {"FunctionName": name}, request_id="test")
        except ApiError:
            return False
        return True

    # ------------------------------------------------------------------ answers by token

    def offered(self, task: ScheduledCall) -> None:
        """A task of an activity waits for a worker: a mock takes it, and answers."""
        self._background.spawn(self._work(task))

    async def _work(self, task: ScheduledCall) -> None:
        root, around = self._recorder.root_of(task.execution_arn)
        if root is None or self._known(task) is not None:
            return
        call = self._described(task, root.arn, around)
        book, _ = self._books.book_of(root.head.machine_name)
        mock = book.find(call)
        if mock is None:
            assert task.token is not None
            self.tokens.append(OpenToken(root.arn, task.state, task.token, task.parameters, task.resource.arn))
            return
        self.calls[root.arn].pop()
        if task.attempt == 0:
            self._visits[root.arn][task.state, call.iteration] -= 1
        answer, began_ms = await self._answer(task)
        taken = await self._engine.activities.poll(task.resource.arn, "mock")
        if taken is not None and answer is not None:
            self._promise(taken[0], answer, began_ms)

    def _promise(self, token: str | None, answer: Answer, began_ms: int) -> None:
        if token is None:
            return
        for beat_ms in answer.heartbeats:
            self._arm(_Due(began_ms + beat_ms, token, None))
        if not isinstance(answer.outcome, Hung):
            self._arm(_Due(began_ms + answer.delay_ms, token, answer.outcome))

    def _arm(self, due: _Due) -> None:
        self._due[due] = None
        self._engine.clock.call_at(due.due_ms, lambda: self._background.spawn(self._tell(due)))

    async def _tell(self, due: _Due) -> None:
        if due not in self._due:
            return
        engine = self._engine
        try:
            if due.outcome is None:
                await engine.task_heartbeat(due.token)
            elif isinstance(due.outcome, Returned):
                await engine.task_succeeded(due.token, dump_json(due.outcome.value))
            else:
                await engine.task_failed(due.token, due.outcome.error, due.outcome.cause)
        except StoreError:
            # The system dies: the answer is given after the restart.
            return
        except ApiError:
            # Normal: the task has timed out, or its execution was stopped.
            pass
        self._due.pop(due, None)

    @property
    def _engine(self) -> Any:
        assert self._system is not None
        return self._system.engine


def _failure(outcome: Any) -> tuple[str | None, str | None]:
    assert isinstance(outcome, Threw)
    return outcome.error, outcome.cause
