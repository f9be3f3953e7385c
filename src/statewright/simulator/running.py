"""One execution under way in virtual time: what it waits for, and how its tasks and timers are answered.

The leaf below `map_runs.py`, whose child executions are executions under way, too, and `simulate.py`, which moves time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from statewright.asl.program import Program
from statewright.asl.resources import parse_resource
from statewright.clock import TimerQueue
from statewright.interpreter import commands, events
from statewright.interpreter.advance import advance, new_execution
from statewright.interpreter.history import HistoryEvent
from statewright.interpreter.state import ExecutionState, Identity
from statewright.limits import Limits
from statewright.payload import Json, Payload
from statewright.simulator.mocks import Answer, Hung, Returned, ScriptRun, TaskCall, Threw

_ACTIONS: Final = {"statewright:acquire": "acquire", "statewright:release": "release"}


def built_in_answer(resource: str, parameters: Json) -> Answer | None:
    """The answer of a task that needs no mock: a permit is always free where there is one execution alone."""
    action = _ACTIONS.get(parse_resource(resource).short_name)
    if action is None:
        return None
    given = parameters if isinstance(parameters, dict) else {}
    named = {member: given[member] for member in ("Name", "Key") if member in given}
    granted = {"Permit": "1", "Limit": given.get("Limit", 1), "WaitedSeconds": 0}
    return Answer(0, Returned({**named, **(granted if action == "acquire" else {"Released": True})}))


class UnmockedTask(Exception):
    """A task was called that no mock answers. `state` names it, the message says what to add."""

    def __init__(self, state: str, hint: str) -> None:
        super().__init__(hint)
        self.state = state
        self.hint = hint


@dataclass(slots=True)
class TaskRecord:
    """A call that a task made, as a report shows it. Times are epoch milliseconds."""

    state: str
    resource: str
    attempt: int
    iteration: tuple[int, ...]
    at_ms: int
    parameters: Json


@dataclass(slots=True)
class Run:
    """The result of a simulation. `children` are the child executions of its distributed Maps, as they started;
    `written` what ResultWriters wrote: the text of each file by its `s3://` address.
    """

    state: ExecutionState
    history: list[HistoryEvent]
    tasks: list[TaskRecord]
    script: ScriptRun
    children: list[Run] = field(default_factory=list)
    written: dict[str, str] = field(default_factory=dict)

    @property
    def status(self) -> str:
        """SUCCEEDED, FAILED, TIMED_OUT or ABORTED."""
        return self.state.status

    @property
    def output(self) -> Json:
        """The execution's output; None unless it succeeded."""
        return self.state.output.value if self.state.output is not None else None

    @property
    def duration_ms(self) -> int:
        """Virtual time from start to end."""
        return (self.state.stopped_ms or self.state.started_ms) - self.state.started_ms

    @property
    def transitions(self) -> int:
        """State transitions of the execution and of its children, as the service bills them."""
        return self.state.transitions + sum(child.transitions for child in self.children)

    @property
    def path(self) -> list[str]:
        """The names of the states entered, in order."""
        return [str((e.details or {})["name"]) for e in self.history if e.type.endswith("StateEntered")]

    @property
    def visits(self) -> Counter[str]:
        """How often each state was entered."""
        return Counter(self.path)


Handler = Callable[["Running", Any], None]
"""Does what a command of an execution asks for."""


@dataclass(eq=False, slots=True)
class Timeline:
    """The state that executions on one virtual clock share: the present instant, what is due, the script of answers.

    `handlers` do what commands ask for, by their types. `on_history` is called with every history event as it happens,
    `pace` before each instant, with that instant.
    """

    now_ms: int
    limits: Limits
    seed: bytes
    budget: int
    script: ScriptRun
    handlers: Mapping[type, Handler]
    on_history: Callable[[ExecutionState, HistoryEvent], None] | None = None
    pace: Callable[[int], None] | None = None
    queue: TimerQueue[Callable[[], None]] = field(default_factory=TimerQueue)

    def at(self, due_ms: int, happen: Callable[[], None]) -> int:
        """Let something happen at an instant; returns an id for `queue.cancel`."""
        return self.queue.push(max(due_ms, self.now_ms), happen)


class Running:
    """One execution under way: its state, its history so far, and what it waits for.

    `around` are the indexes of the Map items that a child execution is in, outermost first.
    """

    def __init__(
        self,
        timeline: Timeline,
        program: Program,
        identity: Identity,
        input: Payload,
        seed: bytes,
        limits: Limits | None = None,
        around: tuple[int, ...] = (),
    ) -> None:
        self.timeline = timeline
        self.program = program
        self.limits = limits if limits is not None else timeline.limits
        self.around = around
        self.on_end: Callable[[], None] | None = None
        self.timers: dict[int, int] = {}
        self.tasks: dict[int, list[int]] = {}
        self.visits: Counter[tuple[str, tuple[int, ...]]] = Counter()
        state = new_execution(identity, input, seed)
        self.result = Run(state, [], [], timeline.script)

    def deliver(self, event: events.Event) -> None:
        """Tell the interpreter what happened, and do what it asks for.

        A burst that was cut short goes on at once, so the history does not depend on the budget.
        """
        timeline = self.timeline
        state = self.result.state
        following: events.Event | None = event
        while following is not None:
            step = advance(self.program, state, following, timeline.now_ms, limits=self.limits, budget=timeline.budget)
            following = None
            self.result.history.extend(step.history)
            if timeline.on_history is not None:
                for entry in step.history:
                    timeline.on_history(state, entry)
            for command in step.commands:
                if isinstance(command, commands.ContinueBurst):
                    following = events.BurstContinued()
                else:
                    timeline.handlers[type(command)](self, command)
        on_end = self.on_end
        if on_end is not None and state.status != "RUNNING":
            self.on_end = None
            on_end()

    def deliver_soon(self, event: events.Event) -> None:
        """Deliver an event to the interpreter at this same instant, after the current one."""
        self.timeline.at(self.timeline.now_ms, lambda: self.deliver(event))

    def waiting_for(self) -> str:
        """In words, what an execution that cannot go on waits for."""
        runs = [self.result, *self.result.children[-20:]]
        names = sorted({f"'{record.state}'" for run in runs for record in run.tasks[-20:]}) or ["nothing"]
        return (
            f"the execution waits for ever, last for {', '.join(names)}: give the mock an answer or the task a timeout"
        )

    # ------------------------------------------------------------------ one method a command

    def start_timer(self, command: commands.StartTimer) -> None:
        """Fire the timer when it is due."""
        timer_id = command.timer_id

        def fire() -> None:
            self.timers.pop(timer_id, None)
            self.deliver(events.TimerFired(timer_id))

        self.timers[timer_id] = self.timeline.at(command.due_at_ms, fire)

    def cancel_timer(self, command: commands.CancelTimer) -> None:
        """Take the timer out of the queue."""
        entry = self.timers.pop(command.timer_id, None)
        if entry is not None:
            self.timeline.queue.cancel(entry)

    def schedule_task(self, command: commands.ScheduleTask) -> None:
        """Answer the task from the script."""
        answer = self.ask(
            command.state, command.resource.arn, command.parameters.value, command.iterations, command.attempt, ""
        )
        assert answer is not None
        self.tasks[command.task_id] = self._play(command, answer)

    def ask(
        self,
        state: str,
        resource: str,
        parameters: Json,
        iterations: tuple[int, ...],
        attempt: int,
        hint: str | None = None,
    ) -> Answer | None:
        """The script's answer to a call, which is recorded. `hint`, unless None, goes to the user if there is none.

        Raises: UnmockedTask for a call that has a hint and no answer.
        """
        timeline = self.timeline
        key = (state, iterations)
        if attempt == 0:
            self.visits[key] += 1
        call = TaskCall(
            state=state,
            resource=resource,
            parameters=parameters,
            iteration=self.around + iterations,
            attempt=attempt,
            visit=self.visits[key] - 1,
            now_ms=timeline.now_ms,
        )
        answer = timeline.script.answer(call) or built_in_answer(resource, parameters)
        if answer is not None or hint is not None:
            self.result.tasks.append(TaskRecord(state, resource, attempt, call.iteration, timeline.now_ms, parameters))
        if answer is None and hint is not None:
            raise UnmockedTask(state, f"{timeline.script.hint(call)} {hint}".rstrip())
        return answer

    def _play(self, command: commands.ScheduleTask, answer: Answer) -> list[int]:
        """Queue what happens to a task: taken, submitted, heartbeats, and its end."""
        task_id = command.task_id
        start_ms = self.timeline.now_ms
        script: list[tuple[int, events.Event]] = []
        if command.resource.kind == "activity":
            script.append((0, events.TaskStarted(task_id, "simulator")))
        elif command.resource.pattern != "request":
            submitted = answer.submitted if answer.submitted is not None else {}
            script.append((0, events.TaskSubmitted(task_id, Payload(submitted))))
        script.extend((beat, events.HeartbeatReceived(task_id)) for beat in answer.heartbeats)
        outcome = answer.outcome
        if isinstance(outcome, Returned):
            script.append((answer.delay_ms, events.TaskSucceeded(task_id, Payload(outcome.value))))
        elif isinstance(outcome, Threw):
            script.append((answer.delay_ms, events.TaskFailed(task_id, outcome.error, outcome.cause)))
        else:
            assert isinstance(outcome, Hung)
        return [self._deliver_at(start_ms + after_ms, task_id, event) for after_ms, event in script]

    def _deliver_at(self, due_ms: int, task_id: int, event: events.Event) -> int:
        def happen() -> None:
            if isinstance(event, (events.TaskSucceeded, events.TaskFailed)):
                self.tasks.pop(task_id, None)
            self.deliver(event)

        return self.timeline.at(due_ms, happen)

    def cancel_task(self, command: commands.CancelTask) -> None:
        """Forget what was still to happen to the task."""
        for entry in self.tasks.pop(command.task_id, ()):
            self.timeline.queue.cancel(entry)

    def start_child(
        self,
        program: Program,
        identity: Identity,
        input: Payload,
        seed: bytes,
        limits: Limits,
        around: tuple[int, ...],
    ) -> Running:
        """A child execution on the same clock and script, not yet started. `around`: see the class."""
        child = Running(self.timeline, program, identity, input, seed, limits, self.around + around)
        self.result.children.append(child.result)
        return child


COMMANDS: Final[Mapping[type, Handler]] = {
    commands.StartTimer: Running.start_timer,
    commands.CancelTimer: Running.cancel_timer,
    commands.ScheduleTask: Running.schedule_task,
    commands.CancelTask: Running.cancel_task,
}
"""The commands of any execution; those of Map Runs are `map_runs.py`'s."""
