"""Runs of the Workbench, and cases made from runs: the work of a process of its own (`trial_worker`).

A run is in virtual time, with mocks for its tasks, and bounded in history events; time and memory are bounded by the
process. Everything here takes and returns JSON values, since it goes from process to process.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from statewright.asl.loading import check_text, compile_checked
from statewright.asl.program import Program
from statewright.asl.reader import read_document
from statewright.asl.text.document import ReadError
from statewright.console.recorded import Recorded
from statewright.console.runs import ReadRun, run_document
from statewright.engine.executions.views import ExecutionView
from statewright.errors import DefinitionError, Diagnostic, ExecutionFailure
from statewright.interpreter.history import HistoryEvent
from statewright.interpreter.state import ExecutionState
from statewright.payload import Json, JsonObject, JsonTextError, dump_json, parse_json
from statewright.simulator.case_writing import WrittenCase, pinned_case, simulated_case, write_case
from statewright.simulator.mocks import Script
from statewright.simulator.recorded import read_history
from statewright.simulator.running import Run, UnmockedTask
from statewright.simulator.script import load_script
from statewright.simulator.simulate import Simulation, Stalled, make_identity

MOST_EVENTS: Final = 10_000
"""History events of a run with all its children. Ours: what a page can show, and some seconds of work."""
MOST_SHOWN: Final = 2_000
LONGEST_PAYLOAD: Final = 20_000
MOST_CHARACTERS: Final = 2_000_000
"""Of all payloads that an answer carries; those of later events are cut."""


class _TooLong(Exception):
    """The run has more history events than are shown."""


@dataclass(slots=True)
class _Watch:
    """The history of a run while it goes on; its children only count."""

    root: str
    events: list[HistoryEvent] = field(default_factory=list)
    count: int = 0

    def note(self, state: ExecutionState, event: HistoryEvent) -> None:
        """Take in a history event."""
        self.count += 1
        if state.identity.execution_arn == self.root:
            self.events.append(event)
        if self.count >= MOST_EVENTS:
            raise _TooLong


def trial_run(request: JsonObject) -> JsonObject:
    """Run a definition: `{definition, input, mocks, startMs}`, the first three as texts.

    Returns `{status, output, error, cause, problem, state, mockFindings, run, payloads, durationMs, transitions,
    unused, case}`. `run` is the document of a run as `Runs.view` returns it, `payloads` the details of its first
    events, `problem` says why it has no end, with the state that it is about.
    """
    text: str = request["definition"]
    document, findings = check_text(text, "definition", lints=False)
    try:
        program = compile_checked(document, findings).program
    except DefinitionError as problem:
        return _unable(f"The definition cannot run: {_words(problem)}")
    assert document is not None
    try:
        script = load_script(request["mocks"], name="mocks") if request["mocks"].strip() else Script(())
    except DefinitionError as problem:
        return {**_unable("The mocks have mistakes."), "mockFindings": [found_json(one) for one in problem.diagnostics]}
    try:
        given = parse_json(request["input"] or "{}")
    except JsonTextError as problem:
        return _unable(f"The input is not JSON: {problem.message}")
    identity = make_identity("workbench", "trial")
    watch = _Watch(identity.execution_arn)
    start_ms: int = request["startMs"]
    simulation = Simulation(script, start_ms=start_ms, on_history=watch.note)
    run: Run | None = None
    stopped: str | None = None
    state: str | None = None
    try:
        run = simulation.run(program, given, identity=identity)
    except UnmockedTask as unmocked:
        stopped, state = unmocked.hint, unmocked.state
    except _TooLong:
        stopped = f"It was ended after {MOST_EVENTS:,} history events, which is as many as are shown here."
    except DefinitionError as problem:
        stopped = _words(problem)
    except (Stalled, ExecutionFailure) as problem:
        stopped = str(problem)
    unused = [rule.target for rule in simulation.timeline.script.unused()] if run is not None else []
    answer: JsonObject = {
        **_shown(watch.events, run, program, document.value, start_ms),
        "problem": stopped, "state": state, "mockFindings": [], "unused": unused, "case": None,
    }  # fmt: skip
    if run is not None:
        answer["case"] = _case(document.value, run, given, request, start_ms)
    return answer


def pin(request: JsonObject) -> JsonObject:
    """The case of a recorded execution: `{definition, events, name, file, comment}` to a case as `trial_run` has it.

    `events` are those of its history as GetExecutionHistory shows them.
    """
    try:
        recorded = read_history({"events": request["events"]})
        written = pinned_case(request["definition"], request["file"], request["name"], recorded, request["comment"])
    except ValueError as problem:
        return {"text": None, "ending": ".cases.yaml", "leftOut": [], "problem": str(problem)}
    return _case_json(written)


def found_json(found: Diagnostic) -> JsonObject:
    """A finding as the page shows it."""
    return {
        "severity": found.severity, "code": found.code, "message": found.message, "hint": found.hint,
        "line": found.line, "column": found.column, "pointer": found.pointer if found.path is not None else None,
    }  # fmt: skip


def _case(definition: Json, run: Run, given: Json, request: JsonObject, start_ms: int) -> JsonObject:
    try:
        mocks = read_document(request["mocks"], name="mocks", placeholders=False).value["mocks"]
    except (ReadError, KeyError, TypeError):
        mocks = None
    try:
        case = simulated_case(run, given, mocks, start_ms)
        written = write_case(dump_json(definition), request["file"], request["name"], case)
    except ValueError as problem:
        return {"text": None, "ending": ".cases.yaml", "leftOut": [], "problem": str(problem)}
    return _case_json(written)


def _case_json(written: WrittenCase) -> JsonObject:
    return {
        "text": written.text, "ending": written.ending, "leftOut": list(written.left_out), "problem": written.problem
    }  # fmt: skip


def _unable(problem: str) -> JsonObject:
    return {
        "status": None, "output": None, "error": None, "cause": None, "problem": problem, "state": None,
        "mockFindings": [], "run": None, "payloads": [], "durationMs": 0, "transitions": 0, "unused": [], "case": None,
    }  # fmt: skip


def _words(problem: DefinitionError) -> str:
    first = problem.diagnostics[0]
    more = f", and {len(problem.diagnostics) - 1} more" if len(problem.diagnostics) > 1 else ""
    return f"{first.message}{more}"


def _shown(
    events: list[HistoryEvent], run: Run | None, program: Program, definition: Json, start_ms: int
) -> JsonObject:
    """A run as the page shows it; while it has no end, as it was when it stopped."""
    now_ms = events[-1].at_ms if events else start_ms
    status = run.status if run is not None else "RUNNING"
    identity = make_identity("workbench", "trial")
    output = dump_json(run.output) if run is not None and run.status == "SUCCEEDED" else None
    error = run.state.error if run is not None else None
    cause = run.state.cause if run is not None else None
    view = ExecutionView(
        id=0, execution_arn=identity.execution_arn, machine_arn=identity.state_machine_arn, machine_id=0,
        name=identity.name, type="STANDARD", status=status, started_ms=start_ms,
        stopped_ms=now_ms if run is not None else None,
        input="{}", output=None, error=error, cause=cause, revision_id="", role_arn="", version_arn=None,
        alias_arn=None, trace_header=None, map_run_arn=None, item_count=None, redrive_count=0, redriven_ms=None,
        redrive_status="", redrive_reason=None, quarantine=None,
    )  # fmt: skip
    recorded = Recorded(view, program)
    recorded.note(events)
    return {
        "status": status, "output": _cut(output), "error": error, "cause": _cut(cause),
        "run": run_document(ReadRun(view, recorded, program, definition), now_ms),
        "payloads": _payloads(recorded.shown),
        "durationMs": now_ms - start_ms, "transitions": run.transitions if run is not None else 0,
    }  # fmt: skip


def _payloads(events: list[HistoryEvent]) -> list[Json]:
    """The details of the first events, with long texts cut: `[id, details]`."""
    left = MOST_CHARACTERS
    found: list[Json] = []
    for event in events[:MOST_SHOWN]:
        details = {}
        for name, value in (event.details or {}).items():
            shown = _cut(value, max(0, min(left, LONGEST_PAYLOAD))) if isinstance(value, str) else value
            left -= len(shown) if isinstance(shown, str) else 0
            details[name] = shown
        found.append([event.id, details])
    return found


def _cut(text: str | None, most: int = LONGEST_PAYLOAD) -> str | None:
    return text if text is None or len(text) <= most else text[:most] + "…"
