"""EXPRESS executions: run in memory, with timers and calls of their own.

A synchronous one leaves no trace in the store. An asynchronous one has its start committed, with an inbox row that
has it run again from the start after a crash; its end is one commit.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from statewright.asl.program import Program
from statewright.clock import Timer
from statewright.engine.dispatch import Dispatcher, ScheduledCall, call_of
from statewright.engine.heavy.steps import HeavySteps, Source, advance_on_loop
from statewright.engine.heavy.wire import StateBytes
from statewright.engine.shard import Shard
from statewright.engine.turnstile import BURST
from statewright.errors import RUNTIME, ApiError, StoreError
from statewright.interpreter import commands, events
from statewright.interpreter.advance import Step
from statewright.interpreter.codec import encode
from statewright.interpreter.history import HistoryEvent
from statewright.interpreter.state import ExecutionState
from statewright.query.fence import LeavesTheLoop

EXPRESS: Final = "express"
"""Kind of the inbox row of an asynchronous EXPRESS execution that runs."""


class ExpressRun:
    """One EXPRESS execution under way. `ended` has its state once it is closed."""

    __slots__ = (
        "_away",
        "_base",
        "_calls",
        "_clock",
        "_dispatcher",
        "_heavy",
        "_limits",
        "_on_history",
        "_program",
        "_since",
        "_source",
        "_timers",
        "_trace",
        "_turnstile",
        "_waiting",
        "ended",
        "state",
    )

    def __init__(
        self,
        shard: Shard,
        dispatcher: Dispatcher,
        heavy: HeavySteps,
        program: Program,
        state: ExecutionState,
        source: Source,
        trace_header: str | None,
        on_history: Callable[[list[HistoryEvent]], None] | None,
    ) -> None:
        self._program = program
        self._limits = shard.limits_of("EXPRESS")
        self._clock = shard.clock
        self._dispatcher = dispatcher
        self._trace = trace_header
        self._turnstile = shard.turnstile
        self._timers: dict[int, Timer] = {}
        self._calls: set[int] = set()
        self._heavy = heavy
        self._source = source
        # Nothing of it is stored. So that another process can compute a step, a state is kept that the run had, and
        # the events that it was given since.
        self._base: StateBytes | None = None
        self._since: list[tuple[events.Event, int]] = []
        self._away: asyncio.Task[None] | None = None
        self._waiting: deque[events.Event] = deque()
        self.state = state
        self._on_history = on_history
        self.ended: asyncio.Future[ExecutionState] = asyncio.get_running_loop().create_future()

    def begin(self, text: str | None = None) -> asyncio.Future[ExecutionState]:
        """Run from the first state; history shows the input as `text` if given."""
        if self._program.may_be_heavy:
            body, _, texts = encode(self.state)
            self._base = StateBytes(body, (), texts)
        self.deliver(events.ExecutionStarted(text))
        return self.ended

    def deliver(self, event: events.Event) -> None:
        """Apply an event, and do what the interpreter asks for."""
        if self.ended.done():
            return
        if self._away is not None:
            self._waiting.append(event)
            return
        now_ms = self._clock.now_ms()
        if self._base is not None:
            self._since.append((event, now_ms))
        try:
            step = advance_on_loop(self._program, self.state, event, now_ms, limits=self._limits)
        except LeavesTheLoop:
            self._away = asyncio.create_task(self._elsewhere())
        except Exception as problem:
            self.kill(problem)
        else:
            self._carry_out(step)

    def _carry_out(self, step: Step) -> None:
        try:
            if self._on_history is not None and step.history:
                self._on_history(step.history)
            for command in step.commands:
                _DO[type(command)](self, command)
        except Exception as problem:
            # A bug in Statewright ends the caller's request, never the loop.
            self.kill(problem)
            return
        if self.state.status != "RUNNING":
            self._drop()
            self.ended.set_result(self.state)

    async def _elsewhere(self) -> None:
        """Have another process compute what the last event brings."""
        assert self._base is not None
        try:
            delivery = await self._heavy.step(
                self._source, self._program, self._base, self._since, self._limits, whole=True
            )
        except Exception as problem:
            self.kill(problem)
            return
        step = delivery.adopt(self.state, whole=True)
        self._base = delivery.state
        self._since.clear()
        self._away = None
        self._carry_out(step)
        while self._waiting and self._away is None and not self.ended.done():
            self.deliver(self._waiting.popleft())

    def kill(self, problem: BaseException) -> None:
        """Give up."""
        if not self.ended.done():
            self._drop()
            self.ended.set_exception(problem)

    def _drop(self) -> None:
        if self._away is not None and self._away is not asyncio.current_task():
            self._away.cancel()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for task_id in self._calls:
            self._dispatcher.cancel(self.state.identity.execution_arn, task_id)
        self._calls.clear()

    # ------------------------------------------------------------------ one method a command

    def start_timer(self, command: commands.StartTimer) -> None:
        """Fire when due."""
        timer_id = command.timer_id

        def fire() -> None:
            self._timers.pop(timer_id, None)
            self.deliver(events.TimerFired(timer_id))

        due_ms = command.due_at_ms
        if command.is_pause:
            due_ms = self._clock.pauses.due_ms(self._clock.now_ms(), due_ms)
        self._timers[timer_id] = self._clock.call_at(due_ms, fire)

    def cancel_timer(self, command: commands.CancelTimer) -> None:
        """Forget the timer."""
        timer = self._timers.pop(command.timer_id, None)
        if timer is not None:
            timer.cancel()

    def schedule_task(self, command: commands.ScheduleTask) -> None:
        """Make the call immediately: there is no commit to wait for."""
        identity = self.state.identity
        arn = identity.execution_arn
        if command.resource.kind == "activity":
            self._soon(events.TaskRefused(command.task_id, "Express executions cannot use activities."))
            return
        key = f"{arn}/{command.task_id}"
        call = call_of(command, arn, identity.role_arn, identity.region, key, self._clock.now_ms(), self._trace)
        self._calls.add(command.task_id)
        self._dispatcher.dispatch(call, self._answered, self._broke)

    def _answered(self, call: ScheduledCall, event: events.Event) -> None:
        self._calls.discard(call.task_id)
        self._dispatcher.forget(call.execution_arn, call.task_id)
        self.deliver(event)

    def _broke(self, call: ScheduledCall, problem: BaseException) -> None:
        self._calls.discard(call.task_id)
        if isinstance(problem, StoreError | MemoryError):
            # No bug: this process cannot go on with it.
            self.kill(problem)
            return
        self.kill(ApiError("InternalServerError", f"an internal error ended the execution: {problem}"))

    def cancel_task(self, command: commands.CancelTask) -> None:
        """Call the call off."""
        if command.task_id in self._calls:
            self._calls.discard(command.task_id)
            self._dispatcher.cancel(self.state.identity.execution_arn, command.task_id)

    def start_map_run(self, command: commands.StartMapRun | commands.RedriveMapRun) -> None:
        """The service refuses such a machine when it is created."""
        self._soon(events.MapRunFailed(command.task_id, RUNTIME, "Express executions cannot run a distributed Map."))

    def stop_map_run(self, _command: commands.StopMapRun) -> None:
        """There never is one."""

    def go_on(self, _command: commands.ContinueBurst) -> None:
        """Let others have the loop first."""
        self._turnstile.pass_later(BURST, self._continue)

    def _continue(self) -> None:
        self._turnstile.make_way()
        self.deliver(events.BurstContinued())

    def _soon(self, event: events.Event) -> None:
        asyncio.get_running_loop().call_soon(self.deliver, event)


_DO: Final[dict[type, Callable[[ExpressRun, Any], None]]] = {
    commands.StartTimer: ExpressRun.start_timer,
    commands.CancelTimer: ExpressRun.cancel_timer,
    commands.ScheduleTask: ExpressRun.schedule_task,
    commands.CancelTask: ExpressRun.cancel_task,
    commands.StartMapRun: ExpressRun.start_map_run,
    commands.RedriveMapRun: ExpressRun.start_map_run,
    commands.StopMapRun: ExpressRun.stop_map_run,
    commands.ContinueBurst: ExpressRun.go_on,
}
