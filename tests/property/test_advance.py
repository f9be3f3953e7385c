"""`advance` under random machines and random events: right, wrong, late, repeated, in any order and at any time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.asl.compile import compile_definition
from statewright.asl.program import Program
from statewright.asl.validate import validate_value
from statewright.interpreter import codec, commands, events
from statewright.interpreter.advance import advance, new_execution
from statewright.interpreter.codec import encode
from statewright.limits import AWS, Limits
from statewright.payload import Payload, dump_json
from statewright.simulator.simulate import make_identity
from tests.conformance.watch import Watch
from tests.property.machines import definitions, inputs, records, values
from tests.thoroughness import examples

START_MS = 1_767_225_600_000

some_limits = st.builds(
    lambda history, payload, variables, inline: replace(
        AWS, history_events=history, payload_bytes=payload, variables_bytes=variables, inline_map_concurrency=inline
    ),
    st.sampled_from([25_000, 40, 12]),
    st.sampled_from([262_144, 262_144, 400]),
    st.sampled_from([10_000_000, 60]),
    st.sampled_from([40, 2]),
)


class World:
    """What is under way outside the interpreter, as its commands say, and what has been before."""

    def __init__(self) -> None:
        self.now_ms = START_MS
        self.timers: dict[int, int] = {}
        self.tasks: dict[int, Any] = {}
        self.old: list[int] = [0, 1, 7 << 32 | 1]
        self.cut_short = False

    def follow(self, given: list[commands.Command]) -> None:
        self.cut_short = False
        for command in given:
            match command:
                case commands.StartTimer():
                    self.timers[command.timer_id] = command.due_at_ms
                    self.old.append(command.timer_id)
                case commands.CancelTimer():
                    self.timers.pop(command.timer_id, None)
                case commands.ScheduleTask() | commands.StartMapRun() | commands.RedriveMapRun():
                    self.tasks[command.task_id] = command
                    self.old.append(command.task_id)
                case commands.CancelTask() | commands.StopMapRun():
                    self.tasks.pop(command.task_id, None)
                case commands.ContinueBurst():
                    self.cut_short = True


def a_task_event(draw: Any, task_id: int, *, run: bool) -> events.Event:
    if run:
        if draw(st.booleans()):
            return events.MapRunSucceeded(task_id, Payload(draw(values)))
        return events.MapRunFailed(task_id, "States.ExceedToleratedFailureThreshold", "too many")
    kind = draw(st.integers(0, 9))
    if kind < 4:
        return events.TaskSucceeded(task_id, Payload(draw(records if kind else values)))
    if kind == 4:
        return events.TaskStarted(task_id, draw(st.sampled_from([None, "worker"])))
    if kind == 5:
        return events.TaskSubmitted(task_id, Payload(draw(values)))
    if kind == 6:
        return events.HeartbeatReceived(task_id)
    failures = [events.TaskFailed] * 3 + [events.TaskScheduleFailed, events.TaskStartFailed, events.TaskSubmitFailed]
    if kind == 7 and draw(st.booleans()):
        return events.TaskRefused(task_id, "no such thing")
    made = draw(st.sampled_from(failures))
    error = draw(st.sampled_from(["A", "B", "C", None, "States.Runtime", "E" * 300]))
    failed: events.Event = made(task_id, error, draw(st.sampled_from([None, "why"])))
    return failed


def an_event(draw: Any, world: World, status: str) -> events.Event:
    """Something that may happen now, or that should not."""
    kind = draw(st.integers(0, 19))
    if kind == 0:
        return events.ExecutionStopped(*draw(st.sampled_from([(None, None), ("E", "c")])))
    if kind == 1 or (kind < 8 and status != "RUNNING"):
        return events.ExecutionRedriven()
    if kind == 2:
        stale = draw(st.sampled_from(world.old))
        late: events.Event = draw(st.sampled_from([events.TimerFired(stale), events.TaskSucceeded(stale, Payload(1))]))
        return late
    if kind == 3:
        return a_task_event(draw, draw(st.sampled_from(world.old)), run=draw(st.booleans()))
    if kind == 4:
        again: events.Event = draw(st.sampled_from([events.ExecutionStarted(), events.BurstContinued()]))
        return again
    if world.cut_short and kind < 14:
        return events.BurstContinued()
    if world.tasks and (kind < 14 or not world.timers):
        task_id = draw(st.sampled_from(sorted(world.tasks)))
        return a_task_event(draw, task_id, run=not isinstance(world.tasks[task_id], commands.ScheduleTask))
    if world.timers:
        soonest = sorted(world.timers, key=lambda timer_id: (world.timers[timer_id], timer_id))
        timer_id = draw(st.sampled_from([soonest[0], *soonest]))
        world.now_ms = max(world.now_ms, world.timers[timer_id])
        return events.TimerFired(timer_id)
    return events.BurstContinued()


def shown(step: Any) -> tuple[Any, ...]:
    history = [(e.id, e.previous_id, e.at_ms, e.type, dump_json(e.to_api())) for e in step.history]
    return history, step.commands, step.changed, step.removed


@settings(max_examples=examples(150))
@given(st.data(), definitions(), inputs, some_limits, st.sampled_from([200, 1, 2, 5]))
def test_whatever_happens(data: st.DataObject, definition: Any, given_input: Any, limits: Limits, budget: int) -> None:
    errors = [str(found) for found in validate_value(definition, lints=False) if found.severity == "ERROR"]
    assert not errors, "the strategy makes valid machines"
    program = compile_definition(definition)
    text = dump_json(definition)

    large = data.draw(st.sampled_from([4096, 20]))
    with patch.object(codec, "LARGE_BYTES", large):
        whatever_happens(data, program, given_input, limits, budget)
    assert dump_json(definition) == text, "a value of the definition was mutated"


def whatever_happens(data: st.DataObject, program: Program, given_input: Any, limits: Limits, budget: int) -> None:
    state = new_execution(make_identity(), Payload(given_input), b"seed")
    watch, world = Watch(), World()
    happened: list[tuple[events.Event, int]] = []
    steps = []
    event: events.Event = events.ExecutionStarted()
    for _ in range(data.draw(st.integers(1, 30))):
        happened.append((event, world.now_ms))
        step = watch.advance(program, state, event, world.now_ms, limits=limits, budget=budget)
        steps.append(shown(step))
        world.follow(step.commands)
        if hasattr(event, "timer_id"):
            world.timers.pop(event.timer_id, None)
        world.now_ms += data.draw(st.sampled_from([0, 0, 1, 1_500, 100_000]))
        event = an_event(data.draw, world, state.status)

    # The same again with the same seed, through the codec before every event: the same to the byte.
    again = new_execution(make_identity(), Payload(given_input), b"seed")
    second = Watch(recode=True)
    for (event, now_ms), expected in zip(happened, steps, strict=True):
        assert shown(second.advance(program, again, event, now_ms, limits=limits, budget=budget)) == expected
    assert encode(again) == encode(state)


@settings(max_examples=examples(60))
@given(definitions(), inputs, st.lists(records, min_size=1, max_size=5))
def test_the_budget_changes_nothing(definition: Any, given_input: Any, answers: list[Any]) -> None:
    """Bursts that go on before anything else happens make the same history, however short they are."""
    program = compile_definition(definition)
    limits = replace(AWS, history_events=150)
    runs = []
    for budget in (200, 1, 3):
        state = new_execution(make_identity(), Payload(given_input), b"seed")
        world = World()
        history: list[Any] = []
        pending: list[events.Event] = [events.ExecutionStarted()]
        for number in range(12):
            while pending:
                step = advance(program, state, pending.pop(), world.now_ms, limits=limits, budget=budget)
                history += shown(step)[0]
                world.follow(step.commands)
                if world.cut_short:
                    pending.append(events.BurstContinued())
            if world.tasks:
                task_id = min(world.tasks)
                is_task = isinstance(world.tasks.pop(task_id), commands.ScheduleTask)
                value = Payload(answers[number % len(answers)])
                pending = [events.TaskSucceeded(task_id, value) if is_task else events.MapRunSucceeded(task_id, value)]
            elif world.timers:
                timer_id = min(world.timers, key=lambda timer_id: (world.timers[timer_id], timer_id))
                world.now_ms = max(world.now_ms, world.timers.pop(timer_id))
                pending = [events.TimerFired(timer_id)]
        runs.append((history, state.status))
    assert runs[0] == runs[1] == runs[2]
