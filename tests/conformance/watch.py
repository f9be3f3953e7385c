"""Looks over the interpreter's shoulder: checks what must hold after every call of `advance`, and notes what was hit.

`Watches(...).advance` stands in for `advance`. It can also send the state through its codec before every call, and send
every event twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from statewright.asl.program import Program
from statewright.interpreter import commands, events
from statewright.interpreter.advance import Step, advance
from statewright.interpreter.codec import Texts, decode, encode
from statewright.interpreter.phases import (
    ABORTED,
    AGAIN,
    BACKING_OFF,
    CHILDREN,
    FAILED,
    FRAME_PHASES,
    JOINED,
    MAP_RUN,
    PHASES,
    READY,
    RUNNABLE,
    SPAWNING,
    TASK,
    WAITING,
)
from statewright.interpreter.state import ExecutionState, Finished, Frame
from statewright.interpreter.turn import variables_bytes
from statewright.payload import Payload, dump_json

TERMINAL = {"ExecutionSucceeded", "ExecutionFailed", "ExecutionTimedOut", "ExecutionAborted"}
HOLDS_CHILDREN = {CHILDREN, SPAWNING, JOINED}
ANSWERABLE_AGAIN = (events.HeartbeatReceived, events.BurstContinued, events.ExecutionRedriven)
"""Events that may well do something the second time."""


@dataclass
class Hit:
    """What some executions came across: types of history events, and pairs of phase and event."""

    event_types: set[str] = field(default_factory=set)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    phases: set[tuple[int, int]] = field(default_factory=set)
    """Changes of phase, from and to."""


@contextmanager
def watched_phases(cls: type, table: Mapping[int, Mapping[int, str]], seen: set[tuple[int, int]]) -> Iterator[None]:
    """Compare every assignment of `phase` with the table of what may follow, and collect what was seen.

    `cls` is Frame or MapRunState. The attribute is replaced by a property for as long as the context lasts.
    """
    slot = cls.__dict__["phase"]

    def assign(owner: Any, phase: int) -> None:
        try:
            before = slot.__get__(owner)
        except AttributeError:
            assert phase == 0, "everything begins with the first phase"
        else:
            if before != phase or phase in table[before]:
                assert phase in table[before], f"{owner}: phase {before} became {phase}, which is not in the table"
                seen.add((before, phase))
        slot.__set__(owner, phase)

    cls.phase = property(slot.__get__, assign)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        cls.phase = slot  # type: ignore[attr-defined]


class Watches:
    """Executions under observation, each by its own `Watch`."""

    def __init__(self, hit: Hit | None = None, *, recode: bool = False, twice: bool = False) -> None:
        self.hit = hit if hit is not None else Hit()
        self.recode = recode
        self.twice = twice
        self._each: dict[int, tuple[ExecutionState, Watch]] = {}

    def advance(
        self, program: Program, state: ExecutionState, event: events.Event, now_ms: int, **options: Any
    ) -> Step:
        """As `advance`, with every check."""
        made = state, Watch(self.hit, recode=self.recode, twice=self.twice)
        _, watch = self._each.setdefault(id(state), made)
        return watch.advance(program, state, event, now_ms, **options)


class Watch:
    """One execution under observation. The store is what a database would hold, written from changes alone."""

    def __init__(self, hit: Hit | None = None, *, recode: bool = False, twice: bool = False) -> None:
        self.hit = hit if hit is not None else Hit()
        self.recode = recode
        self.twice = twice
        self.timers: dict[int, int] = {}
        self.scheduled: set[int] = set()
        self.open_tasks: set[int] = set()
        self.store: dict[int, bytes] = {}
        self.texts: Texts = {}
        self.last_id = 0
        self.closed = False

    def advance(
        self, program: Program, state: ExecutionState, event: events.Event, now_ms: int, **options: Any
    ) -> Step:
        """As `advance`, with every check."""
        if self.recode:
            self._recode(state)
        self._note(state, event)
        with watched_phases(Frame, FRAME_PHASES, self.hit.phases):
            step = advance(program, state, event, now_ms, **options)
        self._follow(event, step)
        self._check(state, step)
        if self.twice and not state.ready and not isinstance(event, ANSWERABLE_AGAIN):
            before = encode(state)
            again = advance(program, state, event, now_ms, **options)
            assert [*again.commands, *again.history, *again.removed] == [], f"{event} twice"
            assert encode(state) == before, f"{event} twice"
        return step

    def _recode(self, state: ExecutionState) -> None:
        body, frames, texts = encode(state)
        copy = decode(body, frames.values(), texts)
        assert encode(copy) == (body, frames, texts)
        for name in ExecutionState.__slots__:
            setattr(state, name, getattr(copy, name))

    def _note(self, state: ExecutionState, event: events.Event) -> None:
        kind = type(event).__name__
        named = getattr(event, "task_id", getattr(event, "timer_id", None))
        if named is None or named == state.timeout_timer:
            if named is not None:
                kind += " (execution)"
            frames = [frame for frame in state.frames.values() if isinstance(frame, Frame)]
            self.hit.pairs |= {(PHASES[frame.phase], kind) for frame in frames}
            if not frames:
                self.hit.pairs.add(("none", kind))
            return
        frame = state.frame_of(named)
        if not named or frame is None or state.status != "RUNNING":
            return
        task = frame.task
        if isinstance(event, events.TimerFired):
            if task is not None and named == task.timeout_timer:
                kind += " (timeout)"
            elif task is not None and named == task.heartbeat_timer:
                kind += " (heartbeat)"
            elif named != frame.timer:
                return
        elif task is None or task.id != named:
            return
        self.hit.pairs.add((PHASES[frame.phase], kind))

    def _follow(self, event: events.Event, step: Step) -> None:
        if isinstance(event, events.TimerFired):
            self.timers.pop(event.timer_id, None)
        for command in step.commands:
            match command:
                case commands.StartTimer():
                    assert command.timer_id not in self.timers
                    self.timers[command.timer_id] = command.due_at_ms
                case commands.CancelTimer():
                    assert self.timers.pop(command.timer_id, None) is not None, "cancels a timer that does not run"
                case commands.ScheduleTask() | commands.StartMapRun() | commands.RedriveMapRun():
                    assert command.task_id not in self.scheduled
                    self.scheduled.add(command.task_id)
                    self.open_tasks.add(command.task_id)
                case commands.CancelTask() | commands.StopMapRun():
                    self.open_tasks.discard(command.task_id)
                case _:
                    pass

    def _check(self, state: ExecutionState, step: Step) -> None:
        self._check_history(state, step)
        self._check_frames(state)
        self._check_clocks(state)
        self._check_ready(state, step)
        self._check_changes(state, step)
        if state.status == "RUNNING":
            live = [f for f in state.frames.values() if isinstance(f, Frame)]
            assert state.variables_bytes == sum(variables_bytes(frame.variables) for frame in live)

    def _check_history(self, state: ExecutionState, step: Step) -> None:
        for entry in step.history:
            assert not self.closed or entry.type == "ExecutionRedriven", f"{entry} after the end"
            self.closed = entry.type in TERMINAL
            self.last_id += 1
            assert entry.id == self.last_id, f"{entry}: expected the id {self.last_id}"
            assert 0 <= entry.previous_id < entry.id
            assert entry.details is None or all(value is not None for value in entry.details.values()), entry.details
            self.hit.event_types.add(entry.type)
        assert state.last_event_id == self.last_id
        assert self.closed == (state.status != "RUNNING")

    def _check_frames(self, state: ExecutionState) -> None:
        frames = state.frames
        for frame_id, frame in frames.items():
            assert frame.id == frame_id
            assert frame_id < state.next_frame_id
            assert frame.parent == -1 if frame_id == 0 else isinstance(frames.get(frame.parent), Frame)
            if isinstance(frame, Finished):
                continue
            phase = frame.phase
            assert (frame.timer != 0) == (phase in (WAITING, BACKING_OFF)), frame
            assert (frame.task is not None) == (phase in (TASK, MAP_RUN)), frame
            assert phase not in HOLDS_CHILDREN or frame.children is not None
            if state.status != "RUNNING":
                assert phase in (FAILED, ABORTED), frame
            if frame.children is None:
                continue
            assert phase in HOLDS_CHILDREN or phase in (FAILED, ABORTED), frame
            self._check_children(state, frame)

    def _check_children(self, state: ExecutionState, frame: Frame) -> None:
        children = frame.children
        assert children is not None
        ids = range(children.base, children.base + children.next_index)
        found = [state.frames[child_id] for child_id in ids]
        finished = sum(isinstance(child, Finished) for child in found)
        assert finished == children.done
        assert children.next_index <= children.length
        assert all(child.parent == frame.id and child.id == children.base + child.index for child in found)
        if frame.phase in HOLDS_CHILDREN:
            assert children.open == len(found) - finished
            running = [child for child in found if isinstance(child, Frame)]
            assert all(child.phase not in (FAILED, ABORTED) for child in running)
            assert running or frame.phase != CHILDREN, f"{frame} waits for nothing"
            assert children.open <= children.limit

    def _check_clocks(self, state: ExecutionState) -> None:
        wanted = {state.timeout_timer} if state.timeout_timer else set()
        tasks = set()
        for frame in state.frames.values():
            if not isinstance(frame, Frame):
                continue
            wanted |= {frame.timer} - {0}
            if frame.task is not None:
                wanted |= {frame.task.timeout_timer, frame.task.heartbeat_timer} - {0}
                tasks.add(frame.task.id)
        assert wanted == set(self.timers), "timers that run, and those that somebody waits for"
        assert tasks <= self.open_tasks, "tasks that frames wait for, and those that are open"
        if state.status != "RUNNING":
            assert not wanted
            assert not tasks

    def _check_ready(self, state: ExecutionState, step: Step) -> None:
        runnable = {f.id for f in state.frames.values() if isinstance(f, Frame) and f.phase in RUNNABLE}
        assert runnable <= set(state.ready), "frames that nobody would run again"
        cut_short = any(isinstance(command, commands.ContinueBurst) for command in step.commands)
        assert bool(state.ready) == cut_short
        assert all(phase <= JOINED for phase in (READY, AGAIN, SPAWNING, JOINED))

    def _check_changes(self, state: ExecutionState, step: Step) -> None:
        assert not step.changed & step.removed
        _, written, texts = encode(state, step.changed)
        for frame_id in step.removed:
            self.store.pop(frame_id, None)
        self.store.update(written)
        _, everything, all_texts = encode(state)
        assert self.store == everything, "a frame changed without being marked"
        self.texts |= texts
        assert all_texts.items() <= self.texts.items()


def unchanged(payload: Payload) -> bool:
    """Whether a value is still what its remembered text says: values are never mutated."""
    return dump_json(payload.value) == payload.text
