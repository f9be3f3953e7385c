"""A recorded execution run again on a definition, in virtual time: its tasks answer as they did, after as long.

Nothing is called and nothing is stored. A call finds its answer by its place (`recorded.Place`); one that has none
stops the replay there, unless a mock answers it. What the record does not hold is never made up: a task that had no
answer when it timed out, or when the execution ended, has none here either; the answer of one integration is none for
another; and a distributed Map answers as a whole only if its definition, its input and its items are what they were.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from statewright.asl.program import Program
from statewright.interpreter import commands, events
from statewright.interpreter.history import HistoryEvent
from statewright.interpreter.state import ExecutionState, Frame, Identity
from statewright.limits import AWS, BURST_TRANSITIONS, Limits
from statewright.payload import Json, Payload
from statewright.simulator.differences import Difference, differences
from statewright.simulator.mocks import Outcome, Returned, Script, Threw
from statewright.simulator.recorded import Call, MapRun, Place, Reading, RecordedExecution
from statewright.simulator.running import COMMANDS, Handler, Running, Timeline, built_in_answer

SEED: Final = b"statewright-replay"
EVENTS_BEYOND: Final = 25_000
"""How many more events than the record a replay may have before it is given up."""
_MOST_HEARTBEATS: Final = 20_000
_SLACK_MS: Final = 1_000
"""How much longer than the record a call may stay open: in virtual time the work of others takes no time at all."""
_FAILED: Final[Mapping[str, Callable[[int, str | None, str | None], events.Event]]] = {
    "ScheduleFailed": events.TaskScheduleFailed,
    "StartFailed": events.TaskStartFailed,
    "SubmitFailed": events.TaskSubmitFailed,
    "Failed": events.TaskFailed,
}


@dataclass(frozen=True, slots=True)
class Mock:
    """The answer to a call that was not recorded. Without an iteration, visit or number: to every such call of the
    state. One that names its place exactly goes before the record.
    """

    state: str
    outcome: Returned | Threw
    iteration: tuple[int, ...] | None = None
    visit: int | None = None
    number: int | None = None
    delay_ms: int = 0

    @property
    def is_exact(self) -> bool:
        """True if it is for one call alone."""
        return self.iteration is not None and self.visit is not None and self.number is not None

    def covers(self, place: Place) -> bool:
        """True if it is for the call at a place."""
        return (
            self.state == place.state
            and self.iteration in (None, place.iteration)
            and self.visit in (None, place.visit)
            and self.number in (None, place.number)
        )


@dataclass(frozen=True, slots=True)
class Missing:
    """A call that the record has no answer for. `why` is a sentence."""

    place: Place
    resource: str
    parameters: Json
    why: str
    is_map_run: bool = False


@dataclass(frozen=True, slots=True)
class OtherArguments:
    """A call that was answered from the record although its arguments are others."""

    place: Place
    event: int
    found: list[Difference]


@dataclass(frozen=True, slots=True)
class OtherTarget:
    """A call that was answered from the record although it calls another function or activity, or with another role."""

    place: Place
    event: int
    words: str


@dataclass(frozen=True, slots=True)
class Chance:
    """The source of what a replay draws, and how much later than the record its clock starts."""

    seed: bytes = SEED
    later_ms: int = 0


@dataclass(frozen=True, slots=True)
class SameMaps:
    """The distributed Maps whose definition is the recorded one: its text by the Map's name.

    `given` is what these Maps were given in a replay that is known to be right, by their places; None if this is it.
    """

    texts: Mapping[str, str]
    given: Mapping[Place, Json] | None = None


_NO_MAPS: Final = SameMaps({})


@dataclass(slots=True)
class Replay:
    """The result of a replay. Its status is RUNNING if an answer is missing, or if it was given up (`problem`)."""

    history: list[HistoryEvent]
    recorded: RecordedExecution
    missing: Missing | None = None
    problem: str | None = None
    other_arguments: list[OtherArguments] = field(default_factory=list)
    other_targets: list[OtherTarget] = field(default_factory=list)
    given_to_maps: dict[Place, Json] = field(default_factory=dict)
    """The items and settings of distributed Maps, after evaluation."""
    mocked: list[Place] = field(default_factory=list)
    unused: list[Place] = field(default_factory=list)
    """Recorded calls that were not made again."""


class _Stopped(Exception):
    """The replay cannot go on."""

    def __init__(self, missing: Missing | None = None, problem: str | None = None) -> None:
        super().__init__(problem)
        self.missing = missing
        self.problem = problem


def replay(
    recorded: RecordedExecution,
    program: Program,
    identity: Identity,
    *,
    mocks: Sequence[Mock] = (),
    same_maps: SameMaps = _NO_MAPS,
    limits: Limits = AWS,
    most_events: int = EVENTS_BEYOND,
    chance: Chance = Chance(),
) -> Replay:
    """Run a recorded execution again. Raises: ExecutionFailure for an input that JSON cannot carry."""
    return _Replaying(recorded, program, identity, mocks, same_maps, limits, most_events, chance).run()


class _Replaying:
    def __init__(
        self, recorded: RecordedExecution, program: Program, identity: Identity, mocks: Sequence[Mock],
        same_maps: SameMaps, limits: Limits, most_events: int, chance: Chance,
    ) -> None:  # fmt: skip
        handlers: dict[type, Handler] = {
            **COMMANDS,
            commands.ScheduleTask: self._schedule,
            commands.StartMapRun: self._start_map_run,
            commands.StopMapRun: self._stop_map_run,
        }
        self.recorded = recorded
        self.mocks = mocks
        self.same_maps = same_maps
        self.most_events = most_events
        self.answers = {call.place: call for call in recorded.calls}
        self.map_runs = {run.place: run for run in recorded.map_runs}
        self.reading = Reading()
        self.latest: dict[tuple[str, tuple[int, ...]], Call] = {}
        self.done = Replay([], self.reading.recorded)
        self.timeline = Timeline(
            recorded.started_ms + chance.later_ms, limits, chance.seed, BURST_TRANSITIONS, Script(()).start(),
            handlers, self._note,
        )  # fmt: skip
        self.stopped_ms = recorded.ended_ms + chance.later_ms
        self.running = Running(self.timeline, program, identity, Payload(recorded.input), chance.seed)

    def run(self) -> Replay:
        running, timeline, recorded = self.running, self.timeline, self.recorded
        if recorded.status == "ABORTED":
            stop = events.ExecutionStopped(recorded.error, recorded.cause)
            timeline.at(self.stopped_ms, lambda: running.deliver(stop))
        try:
            running.deliver(events.ExecutionStarted())
            while running.result.state.status == "RUNNING":
                due_ms = timeline.queue.next_due_ms()
                if due_ms is None:
                    raise _Stopped(problem="nothing can happen any more")
                timeline.now_ms = max(timeline.now_ms, due_ms)
                _, happen = timeline.queue.pop_next()
                happen()
        except _Stopped as stopped:
            self.done.missing, self.done.problem = stopped.missing, stopped.problem
        made = {call.place for call in self.reading.recorded.calls}
        self.done.unused = [call.place for call in recorded.calls if call.place not in made]
        return self.done

    def _note(self, _state: ExecutionState, event: HistoryEvent) -> None:
        self.done.history.append(event)
        calls = self.reading.recorded.calls
        before = len(calls)
        self.reading.note(event)
        if len(calls) > before:
            self.latest[calls[-1].place[:2]] = calls[-1]
        if len(self.done.history) > self.most_events:
            raise _Stopped(problem=f"it has more than {self.most_events:,} events")

    # ------------------------------------------------------------------ tasks

    def _mock_for(self, place: Place, *, exact: bool) -> Mock | None:
        found = (mock for mock in self.mocks if mock.is_exact == exact and mock.covers(place))
        return next(found, None)

    def _schedule(self, _running: Running, command: commands.ScheduleTask) -> None:
        """Answer a task: by a mock for this very call, from the record, by itself, or by a mock for its state."""
        # The event that it was scheduled was noted before.
        call = self.latest[command.state, command.iterations]
        place = call.place
        known = self.answers.get(place)
        if known is not None and known.integration != call.integration:
            known = None
        mock = self._mock_for(place, exact=True) or (self._mock_for(place, exact=False) if known is None else None)
        if mock is not None:
            self.done.mocked.append(place)
            self._play(command, call, _recorded_by(mock, call, command))
            return
        if known is None:
            answer = built_in_answer(command.resource.arn, command.parameters.value)
            if answer is None or not isinstance(answer.outcome, Returned):
                raise _Stopped(Missing(place, command.resource.short_name, call.parameters, _why_unknown(self, call)))
            self._play(command, call, _recorded_by(Mock(place.state, answer.outcome), call, command))
            return
        found = differences(known.parameters, call.parameters)
        if found:
            self.done.other_arguments.append(OtherArguments(place, call.event, found))
        words = _other_target(known, call)
        if words is not None:
            self.done.other_targets.append(OtherTarget(place, call.event, words))
        self._play(command, call, known)

    def _play(self, command: commands.ScheduleTask, call: Call, known: Call) -> None:
        """Queue what happened to the call."""
        task_id, running = command.task_id, self.running
        script: list[tuple[int, events.Event]] = []
        if command.resource.kind == "activity" and known.started_after_ms is not None:
            script.append((known.started_after_ms, events.TaskStarted(task_id, "replay")))
        if known.is_submitted:
            script.append((0, events.TaskSubmitted(task_id, Payload(known.submitted))))
        script += [(beat, events.HeartbeatReceived(task_id)) for beat in _heartbeats(known)]
        outcome = known.outcome
        if isinstance(outcome, Returned):
            script.append((known.took_ms, events.TaskSucceeded(task_id, Payload(outcome.value))))
        elif isinstance(outcome, Threw):
            how = (known.ended_by or "Failed").removeprefix(known.family)
            script.append((known.took_ms, _FAILED[how](task_id, outcome.error, outcome.cause)))
        start_ms = self.timeline.now_ms
        entries = [self._deliver_at(start_ms + after_ms, task_id, event) for after_ms, event in script]
        if outcome is None:
            due_ms = start_ms + self._known_ms(known) + 1
            entries.append(self.timeline.at(due_ms, lambda: self._check_open(call, command, known)))
        running.tasks[task_id] = entries

    def _known_ms(self, known: Call) -> int:
        """How long the record says that a call without an answer was open."""
        if known.timed_out:
            return known.took_ms
        return max(0, self.recorded.ended_ms - known.at_ms) + _SLACK_MS

    def _check_open(self, call: Call, command: commands.ScheduleTask, known: Call) -> None:
        if not self._is_open(command.task_id):
            return
        how = "timed out" if known.timed_out else "was still open when the execution went on without it"
        why = f"When it was recorded, this call {how}; now it is waited for longer, and its answer was never recorded."
        raise _Stopped(Missing(call.place, command.resource.short_name, call.parameters, why))

    def _is_open(self, task_id: int) -> bool:
        frames = self.running.result.state.frames.values()
        return any(isinstance(one, Frame) and one.task is not None and one.task.id == task_id for one in frames)

    def _deliver_at(self, due_ms: int, task_id: int, event: events.Event) -> int:
        def happen() -> None:
            if not isinstance(event, (events.TaskStarted, events.TaskSubmitted, events.HeartbeatReceived)):
                self.running.tasks.pop(task_id, None)
            self.running.deliver(event)

        return self.timeline.at(due_ms, happen)

    # ------------------------------------------------------------------ distributed Maps

    def _start_map_run(self, _running: Running, command: commands.StartMapRun) -> None:
        """Answer a distributed Map as a whole."""
        made = next(
            run for run in reversed(self.reading.recorded.map_runs)
            if run.place[:2] == (command.state, command.iterations)
        )  # fmt: skip
        place = made.place
        mock = self._mock_for(place, exact=True) or self._mock_for(place, exact=False)
        if mock is not None:
            self.done.mocked.append(place)
            self._end_map_run(command.task_id, mock.outcome, mock.delay_ms)
            return
        known = self.map_runs.get(place)
        text = self.same_maps.texts.get(command.state)
        given = self.done.given_to_maps[place] = _given(command, text or "")
        before = self.same_maps.given
        is_given_same = before is None or not differences(before.get(place), given)
        why = _why_no_map_run(known, made, is_same=text is not None, is_given_same=is_given_same)
        if known is None or why is not None:
            raise _Stopped(Missing(place, "a distributed Map", made.input, why or "", is_map_run=True))
        if known.ended_by is None:
            self._leave_open(command.task_id, made, known)
            return
        outcome: Outcome = Returned(known.output)
        if known.ended_by == "MapRunFailed":
            outcome = Threw(known.error, known.cause)
        self._end_map_run(command.task_id, outcome, known.took_ms)

    def _end_map_run(self, task_id: int, outcome: Outcome, after_ms: int) -> None:
        event: events.Event
        if isinstance(outcome, Threw):
            event = events.MapRunFailed(task_id, outcome.error, outcome.cause)
        else:
            assert isinstance(outcome, Returned)
            event = events.MapRunSucceeded(task_id, Payload(outcome.value))
        self.running.tasks[task_id] = [self._deliver_at(self.timeline.now_ms + after_ms, task_id, event)]

    def _leave_open(self, task_id: int, made: MapRun, known: MapRun) -> None:
        """It had not ended when the recorded execution went on without it."""

        def check() -> None:
            if self._is_open(task_id):
                why = "It had not ended when it was recorded, and now it is waited for longer."
                raise _Stopped(Missing(made.place, "a distributed Map", made.input, why, is_map_run=True))

        known_ms = max(0, self.recorded.ended_ms - known.at_ms) + _SLACK_MS
        self.running.tasks[task_id] = [self.timeline.at(self.timeline.now_ms + known_ms, check)]

    def _stop_map_run(self, running: Running, command: commands.StopMapRun) -> None:
        """Forget what was still to happen to a distributed Map."""
        for entry in running.tasks.pop(command.task_id, ()):
            self.timeline.queue.cancel(entry)


def _recorded_by(mock: Mock, call: Call, command: commands.ScheduleTask) -> Call:
    """A mock as if it had been recorded."""
    waits = command.resource.kind == "task" and command.resource.pattern != "request"
    return Call(
        call.place, call.event, call.at_ms, call.family, call.resource,
        started_after_ms=0, submitted={}, is_submitted=waits, outcome=mock.outcome,
        took_ms=mock.delay_ms, heartbeat_ms=command.heartbeat_ms,
    )  # fmt: skip


def _heartbeats(known: Call) -> list[int]:
    """When heartbeats must have come, so that the recorded heartbeat timeout did not end the call any earlier."""
    step_ms = known.heartbeat_ms
    if not step_ms:
        return []
    last_ms = known.took_ms
    if known.timed_out:
        by_timeout = known.timeout_ms and known.took_ms >= known.timeout_ms
        last_ms = known.took_ms if by_timeout else known.took_ms - step_ms
    if last_ms // step_ms > _MOST_HEARTBEATS:
        raise _Stopped(problem=f"{known.place.words} has more than {_MOST_HEARTBEATS:,} heartbeats")
    return [beat for beat in range(step_ms - 1, last_ms, max(1, step_ms - 1)) if beat < last_ms]


def _other_target(known: Call, call: Call) -> str | None:
    if known.resource != call.resource:
        return f"{call.place.words} calls {call.resource}; recorded: {known.resource}."
    if known.role_arn != call.role_arn:
        now, before = call.role_arn or "that of the machine", known.role_arn or "that of the machine"
        return f"The role of {call.place.words} is {now}; recorded: {before}."
    return None


def _given(command: commands.StartMapRun, text: str) -> Json:
    """The items and settings of a distributed Map, and the variables that its definition names."""
    variables = command.variables.value if command.variables is not None else {}
    return {
        "items": command.items.value if command.items is not None else None,
        "reader": [command.reader, command.reader_config, command.max_items],
        "batcher": [command.batch_items, command.batch_bytes, command.batch_input],
        "tolerated": [command.tolerated_count, command.tolerated_percentage],
        "writer": command.writer,
        "variables": {name: value for name, value in variables.items() if f"${name}" in text},
    }


def _why_unknown(replaying: _Replaying, call: Call) -> str:
    place = call.place
    known = replaying.answers.get(place)
    if known is not None:
        return f"The recorded execution called {known.integration} here, and now this is {call.integration}."
    recorded = [call.place for call in replaying.recorded.calls if call.place.state == place.state]
    if not recorded:
        return f"The recorded execution never called {place.state}."
    visits = {one.visit for one in recorded if one.iteration == place.iteration}
    if place.visit in visits:
        return f"The recorded execution made {place.number} of these calls in this visit, and this is one more."
    if not visits:
        return "The recorded execution did not call it for this item."
    return f"The recorded execution called it in {len(visits)} visits, and this is another one."


def _why_no_map_run(known: MapRun | None, made: MapRun, *, is_same: bool, is_given_same: bool) -> str | None:
    """Why the result of a distributed Map is not known; None if it is."""
    apart = "Its items ran in child executions, which are not replayed"
    if known is None:
        return f"{apart}, and the recorded execution did not run it here."
    if not is_same:
        return f"{apart}, and the definition of this Map has changed or shapes its result."
    if differences(known.input, made.input):
        return f"{apart}, and this Map has another input now."
    if not is_given_same:
        return f"{apart}, and this Map has other items or settings now."
    return None
