"""One execution in virtual time: drives `advance` with a queue of instants and a script of task results.

Nothing here waits or talks: a task is answered from the script, a timer by moving the clock. Whoever wants real time
passes `pace`, which is called before each instant. Child executions of a distributed Map run on the same clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

from statewright.asl.program import Program
from statewright.clock import VIRTUAL_START_MS, TimerQueue
from statewright.interpreter import commands, events
from statewright.interpreter.advance import advance, new_execution
from statewright.interpreter.history import HistoryEvent
from statewright.interpreter.map_run.messages import RunStarted, RunStopped
from statewright.interpreter.state import ExecutionState, Identity
from statewright.limits import AWS, BURST_TRANSITIONS, Limits
from statewright.payload import Payload
from statewright.query.scope import Json
from statewright.simulator.map_runs import RunningMapRun
from statewright.simulator.mocks import Answer, Hung, Returned, Script, ScriptRun, TaskCall, Threw

ACCOUNT: Final = "000000000000"
REGION: Final = "us-east-1"
ACQUIRE: Final = "arn:aws:states:::statewright:acquire"
RELEASE: Final = "arn:aws:states:::statewright:release"
ROLE_ARN: Final = f"arn:aws:iam::{ACCOUNT}:role/statewright"
EXPRESS_RUN: Final = "00000000-0000-4000-8000-000000000000"
"""What makes the ARN of an express execution unique; the same for every run, as all else is."""
DEFAULT_SEED: Final = b"statewright-simulator"


def built_in_answer(resource: str, parameters: Json) -> Answer | None:
    """What a task answers that needs no mock: a permit is always free where there is one execution alone."""
    action = {ACQUIRE: "acquire", RELEASE: "release"}.get(resource)
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


class Stalled(Exception):
    """Nothing can happen any more although the execution still runs: a task never answers and has no timeout."""


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
    """What came of a simulation. `children` are the child executions of its distributed Maps, as they started;
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


class Simulation:
    """Executions on one virtual clock. `on_history` is told every history event as it happens."""

    def __init__(
        self,
        script: Script | None = None,
        *,
        start_ms: int = VIRTUAL_START_MS,
        limits: Limits = AWS,
        seed: bytes = DEFAULT_SEED,
        budget: int = BURST_TRANSITIONS,
        on_history: Callable[[ExecutionState, HistoryEvent], None] | None = None,
        pace: Callable[[int], None] | None = None,
    ) -> None:
        self.now_ms = start_ms
        self.limits = limits
        self.seed = seed
        self.budget = budget
        self.script = (script or Script(())).start()
        self.queue: TimerQueue[Callable[[], None]] = TimerQueue()
        self.on_history = on_history
        self.pace = pace

    def run(self, program: Program, input: Json, *, identity: Identity | None = None) -> Run:
        """Run one execution to its end.

        Raises: UnmockedTask, Stalled, DefinitionError when a mock itself is wrong, ExecutionFailure for an input that
        JSON cannot carry.
        """
        running = Running(self, program, identity or make_identity(), Payload(input), self.seed)
        running.deliver(events.ExecutionStarted())
        self.drain(running)
        return running.result

    def drain(self, running: Running) -> None:
        """Move time forward until the execution is closed."""
        queue = self.queue
        while running.result.state.status == "RUNNING":
            due_ms = queue.next_due_ms()
            if due_ms is None:
                raise Stalled(running.waiting_for())
            if due_ms > self.now_ms:
                if self.pace is not None:
                    self.pace(due_ms)
                self.now_ms = due_ms
            _, happen = queue.pop_next()
            happen()

    def at(self, due_ms: int, happen: Callable[[], None]) -> int:
        """Let something happen at an instant; returns an id for `queue.cancel`."""
        return self.queue.push(max(due_ms, self.now_ms), happen)


class Running:
    """One execution under way: its state, its history so far, and what it waits for.

    `around` are the indexes of the Map items that a child execution is in, outermost first.
    """

    def __init__(
        self,
        simulation: Simulation,
        program: Program,
        identity: Identity,
        input: Payload,
        seed: bytes,
        limits: Limits | None = None,
        around: tuple[int, ...] = (),
    ) -> None:
        self.simulation = simulation
        self.program = program
        self.limits = limits if limits is not None else simulation.limits
        self.around = around
        self.on_end: Callable[[], None] | None = None
        self.timers: dict[int, int] = {}
        self.tasks: dict[int, list[int]] = {}
        self.map_runs: dict[str, RunningMapRun] = {}
        self.visits: Counter[tuple[str, tuple[int, ...]]] = Counter()
        state = new_execution(identity, input, seed)
        self.result = Run(state, [], [], simulation.script)

    def deliver(self, event: events.Event) -> None:
        """Tell the interpreter what happened, and do what it asks for.

        A burst that was cut short goes on at once, so the history does not depend on the budget.
        """
        simulation = self.simulation
        state = self.result.state
        following: events.Event | None = event
        while following is not None:
            step = advance(
                self.program, state, following, simulation.now_ms, limits=self.limits, budget=simulation.budget
            )
            following = None
            self.result.history.extend(step.history)
            if simulation.on_history is not None:
                for entry in step.history:
                    simulation.on_history(state, entry)
            for command in step.commands:
                if isinstance(command, commands.ContinueBurst):
                    following = events.BurstContinued()
                else:
                    _DO[type(command)](self, command)
        on_end = self.on_end
        if on_end is not None and state.status != "RUNNING":
            self.on_end = None
            on_end()

    def deliver_soon(self, event: events.Event) -> None:
        """Tell the interpreter at this same instant, once whatever happens now is done."""
        self.simulation.at(self.simulation.now_ms, lambda: self.deliver(event))

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

        self.timers[timer_id] = self.simulation.at(command.due_at_ms, fire)

    def cancel_timer(self, command: commands.CancelTimer) -> None:
        """Take the timer out of the queue."""
        entry = self.timers.pop(command.timer_id, None)
        if entry is not None:
            self.simulation.queue.cancel(entry)

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
        simulation = self.simulation
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
            now_ms=simulation.now_ms,
        )
        answer = simulation.script.answer(call) or built_in_answer(resource, parameters)
        if answer is not None or hint is not None:
            self.result.tasks.append(
                TaskRecord(state, resource, attempt, call.iteration, simulation.now_ms, parameters)
            )
        if answer is None and hint is not None:
            raise UnmockedTask(state, f"{simulation.script.hint(call)} {hint}".rstrip())
        return answer

    def _play(self, command: commands.ScheduleTask, answer: Answer) -> list[int]:
        """Queue what happens to a task: taken, submitted, heartbeats, and its end."""
        task_id = command.task_id
        start_ms = self.simulation.now_ms
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

        return self.simulation.at(due_ms, happen)

    def cancel_task(self, command: commands.CancelTask) -> None:
        """Forget what was still to happen to the task."""
        for entry in self.tasks.pop(command.task_id, ()):
            self.simulation.queue.cancel(entry)

    def start_map_run(self, command: commands.StartMapRun) -> None:
        """Begin a Map Run, once whatever happens now is done."""
        run = self.map_runs[command.map_run_arn] = RunningMapRun(self, command)
        run.deliver_soon(RunStarted())

    def stop_map_run(self, command: commands.StopMapRun) -> None:
        """Stop a Map Run and its child executions."""
        for run in self.map_runs.values():
            if run.state.task_id == command.task_id:
                run.deliver(RunStopped())

    def redrive_map_run(self, command: commands.RedriveMapRun) -> None:
        """Run the unsuccessful child executions again."""
        self.map_runs[command.map_run_arn].redrive(command)

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
        child = Running(self.simulation, program, identity, input, seed, limits, self.around + around)
        self.result.children.append(child.result)
        return child


def make_identity(
    machine: str = "StateMachine", name: str = "run", execution_type: Literal["STANDARD", "EXPRESS"] = "STANDARD"
) -> Identity:
    """An identity for a local run, with ARNs of the default account and region."""
    prefix = f"arn:aws:states:{REGION}:{ACCOUNT}"
    arn = f"{prefix}:execution:{machine}:{name}"
    if execution_type == "EXPRESS":
        arn = f"{prefix}:express:{machine}:{name}:{EXPRESS_RUN}"
    machine_arn = f"{prefix}:stateMachine:{machine}"
    return Identity(arn, name, machine_arn, machine, ROLE_ARN, execution_type=execution_type)


def simulate(program: Program, input: Json, script: Script | None = None, **options: object) -> Run:
    """Run one execution of a program in virtual time; `options` are those of `Simulation`.

    Raises: see `Simulation.run`.
    """
    return Simulation(script, **options).run(program, input)  # type: ignore[arg-type]


_DO: Final[dict[type, Callable[..., None]]] = {
    commands.StartTimer: Running.start_timer,
    commands.CancelTimer: Running.cancel_timer,
    commands.ScheduleTask: Running.schedule_task,
    commands.CancelTask: Running.cancel_task,
    commands.StartMapRun: Running.start_map_run,
    commands.StopMapRun: Running.stop_map_run,
    commands.RedriveMapRun: Running.redrive_map_run,
}
