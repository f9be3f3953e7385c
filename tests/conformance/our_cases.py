"""Our own cases: definition, input and mocks, with the exact history. Loads them and runs them.

A case stands in `cases/*.yaml` under its name:

    definition, input, mocks   the machine, what it is given (default {}), what its tasks answer (see `docs/mocks.md`)
    do                         what happens from outside: a list of {at: 5s, stop: {error, cause}}, {at, redrive: true}
                               or {at, task: State, event: TaskStartFailed, ...}
    status, output, error, cause
    history                    a line for each history event: `5<4 TaskFailed`, with the state's name for Entered and
                               Exited, the Map's name and the index for iterations, and `@2s` where its time matters
    details                    history event id to members of its details; JSON texts stand there as JSON values
    type, limits, seed, start  EXPRESS; single limits of `Limits`; the seed's text; the instant of the start
    unchecked                  true where the validator would refuse the definition

A driver turns a case into an `Outcome`. `Simulator` is one; whoever drives another writes a second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import patch

from statewright.asl.compile import compile_definition
from statewright.asl.program import Program
from statewright.asl.reader import read_document
from statewright.asl.timestamps import parse_timestamp
from statewright.asl.validate import validate_value
from statewright.instants import parse_duration_ms
from statewright.interpreter import events
from statewright.interpreter.phases import TASK
from statewright.interpreter.state import ExecutionState, Frame
from statewright.limits import AWS, BURST_TRANSITIONS, EXPRESS
from statewright.payload import Payload, dump_json, parse_json
from statewright.simulator import running as running_module
from statewright.simulator.running import Running
from statewright.simulator.script import load_script
from statewright.simulator.simulate import Simulation, make_identity
from statewright.virtual_clock import VIRTUAL_START_MS
from tests.conformance.watch import Hit, Watches, unchanged

FOLDER = Path(__file__).parent / "cases"
FIELDS = {
    "definition", "input", "mocks", "do", "status", "output", "error", "cause", "history", "details", "type", "limits",
    "seed", "start", "unchecked", "comment",
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One case as its file has it."""

    name: str
    fields: dict[str, Any]

    def __getitem__(self, field_name: str) -> Any:
        return self.fields[field_name]

    def get(self, field_name: str, default: Any = None) -> Any:
        return self.fields.get(field_name, default)

    @property
    def start_ms(self) -> int:
        """The instant at which the execution starts."""
        return parse_timestamp(self["start"]) // 1_000_000 if "start" in self.fields else VIRTUAL_START_MS  # type: ignore[operator]


@dataclass(frozen=True)
class Outcome:
    """What came of a case. `history` is as the API shows it; times are epoch milliseconds."""

    status: str
    output: Any
    error: str | None
    cause: str | None
    history: list[dict[str, Any]] = field(default_factory=list)


class Driver(Protocol):
    """Runs a case to its end."""

    def __call__(self, case: Case) -> Outcome: ...


@cache
def load_cases() -> dict[str, Case]:
    """Every case by `file: name`."""
    cases: dict[str, Case] = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        document = read_document(path.read_text(), name=str(path), placeholders=False)
        for name, fields in document.value.items():
            unknown = fields.keys() - FIELDS
            assert not unknown, f"{path.name}: {name}: unknown fields {unknown}"
            cases[f"{path.stem}: {name}"] = Case(name, fields)
    return cases


@cache
def compiled(name: str) -> Program:
    """The program of a case; its definition must be valid."""
    case = load_cases()[name]
    if not case.get("unchecked"):
        found = validate_value(case["definition"], machine_type=case.get("type", "STANDARD"), lints=False)
        errors = [f"{one.code}: {one.message} at {one.location}" for one in found if one.severity == "ERROR"]
        assert not errors, errors
    return compile_definition(case["definition"])


# ------------------------------------------------------------------ the simulator as a driver


@dataclass(frozen=True)
class Simulator:
    """Drives cases through the simulator, under observation."""

    hit: Hit = field(default_factory=Hit)
    budget: int = BURST_TRANSITIONS
    recode: bool = False
    twice: bool = False

    def __call__(self, case: Case) -> Outcome:
        program = compile_definition(case["definition"])
        limits = EXPRESS if case.get("type") == "EXPRESS" else AWS
        simulation = Simulation(
            load_script(dump_json({"mocks": case.get("mocks", {})}), syntax="json"),
            start_ms=case.start_ms,
            limits=replace(limits, **case.get("limits", {})),
            seed=case.get("seed", "seed").encode(),
            budget=self.budget,
        )
        given = Payload(case.get("input", {}))
        before = dump_json(case.fields)
        running = Running(simulation.timeline, program, make_identity(), given, simulation.timeline.seed)
        actions = [(case.start_ms + parse_duration_ms(action["at"]), action) for action in case.get("do", [])]
        watch = Watches(self.hit, recode=self.recode, twice=self.twice)
        with patch.object(running_module, "advance", watch.advance):
            self._run(simulation, running, actions)
        assert dump_json(case.fields) == before, "a value of the case was mutated"
        state = running.result.state
        assert unchanged(given)
        history = [entry.to_api() for entry in running.result.history]
        return Outcome(running.result.status, running.result.output, state.error, state.cause, history)

    def _run(self, simulation: Simulation, running: Running, actions: list[tuple[int, dict[str, Any]]]) -> None:
        state = running.result.state
        redrives = [(due_ms, action) for due_ms, action in actions if "redrive" in action]
        for due_ms, action in actions:
            if "redrive" not in action:
                simulation.timeline.at(due_ms, _deliver(running, action))
        running.deliver(events.ExecutionStarted())
        simulation.drain(running)
        for due_ms, _ in redrives:
            assert state.status != "RUNNING"
            while (next_ms := simulation.timeline.queue.next_due_ms()) is not None and next_ms <= due_ms:
                simulation.timeline.now_ms, happen = simulation.timeline.queue.pop_next()
                happen()
            simulation.timeline.now_ms = due_ms
            running.deliver(events.ExecutionRedriven())
            simulation.drain(running)
        # What is still to come must not reach the closed execution.
        while len(simulation.timeline.queue):
            simulation.timeline.now_ms, happen = simulation.timeline.queue.pop_next()
            happen()


def _deliver(running: Running, action: dict[str, Any]) -> Callable[[], None]:
    return lambda: running.deliver(event_of(action, running.result.state, running.program))


def event_of(action: dict[str, Any], state: ExecutionState, program: Program) -> events.Event:
    """The event that an action of a case stands for."""
    if "stop" in action:
        stop = action["stop"] or {}
        return events.ExecutionStopped(stop.get("error"), stop.get("cause"))
    frames = [frame for frame in state.frames.values() if isinstance(frame, Frame) and frame.phase == TASK]
    (frame,) = [one for one in frames if one.state == action["task"]]
    assert frame.task is not None
    members = {key: value for key, value in action.items() if key not in ("at", "task", "event")}
    if "output" in members:
        members["output"] = Payload(members["output"])
    if action["event"] in ("TaskFailed", "TaskScheduleFailed", "TaskStartFailed", "TaskSubmitFailed"):
        members = {"error": None, "cause": None, **members}
    made: events.Event = getattr(events, action["event"])(frame.task.id, **members)
    return made


# ------------------------------------------------------------------ comparing


def show(outcome: Outcome, start_ms: int, expected: str) -> str:
    """A history in the notation of the cases; times stand where the expected history has them."""
    wanted = [line.split() for line in expected.splitlines() if line.strip()]
    lines = []
    for number, entry in enumerate(outcome.history):
        details = details_of(entry)
        parts = [f"{entry['id']}<{entry['previousEventId']}", entry["type"]]
        if "StateEntered" in entry["type"] or "StateExited" in entry["type"] or "Iteration" in entry["type"]:
            parts.append(details["name"])
        if "Iteration" in entry["type"]:
            parts.append(str(details["index"]))
        if number < len(wanted) and wanted[number][-1].startswith("@"):
            parts.append(f"@{(entry['timestamp'] - start_ms) / 1000:.15g}s")
        lines.append(" ".join(parts))
    return "\n".join(lines)


def tidy(history: str) -> str:
    """An expected history with single spaces and without empty lines."""
    return "\n".join(" ".join(line.split()) for line in history.splitlines() if line.strip())


def details_of(entry: dict[str, Any]) -> dict[str, Any]:
    """The details member of a history event, whatever its name; empty when it has none."""
    found = [value for key, value in entry.items() if key.endswith("EventDetails")]
    return found[0] if found else {}


def differences(expected: Any, actual: Any, at: str = "") -> list[str]:
    """Where a value differs from what a case says: members that it names, JSON texts by their value."""
    if isinstance(actual, str) and not isinstance(expected, str) and expected is not None:
        actual = parse_json(actual)
        return [] if actual == expected else [f"{at}: {dump_json(actual)}"]
    if isinstance(expected, dict) and isinstance(actual, dict):
        found = []
        for key, value in expected.items():
            if key not in actual:
                found += [] if value is None else [f"{at}/{key} is missing"]
            else:
                found += differences(value, actual[key], f"{at}/{key}")
        return found
    same = actual == expected and dump_json(actual) == dump_json(expected)
    return [] if same else [f"{at}: {dump_json(actual)}"]
