"""Writes case files: a run, recorded or simulated, as a case that `statewright test` passes.

Owns the form of the text, and which expectations stay: a case is run as `statewright test` runs it before it is
returned, and an expectation that this run does not meet is left out and named, since chance, clocks and names differ
from run to run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from statewright.asl.reader import read_document
from statewright.asl.text.document import ReadError
from statewright.errors import DefinitionError
from statewright.payload import Json, JsonObject, dump_json
from statewright.simulator.cases import CaseResult, load_cases, run_case
from statewright.simulator.mocks import Returned, Threw
from statewright.simulator.recorded import Call, RecordedExecution
from statewright.simulator.running import Run

MOST_TRIES: Final = 4
WRITTEN_STATUSES: Final = ("SUCCEEDED", "FAILED", "TIMED_OUT")
_OF_FUNCTIONS: Final = frozenset({"ExecutedVersion", "Payload", "StatusCode"})
"""Members of what lambda:invoke answers."""


@dataclass(frozen=True, slots=True)
class WrittenCase:
    """A case file. `left_out` are the names of expectations that a run in virtual time does not meet, each with the
    reason if one is known; `problem` says why the case does not run at all.
    """

    text: str
    ending: str
    left_out: tuple[str, ...]
    problem: str | None


def pinned_case(definition: str, file: str, name: str, recorded: RecordedExecution, comment: str = "") -> WrittenCase:
    """The case file of a recorded execution that is over, with short answers of functions where these suffice.

    Raises: ValueError with a sentence, for an execution that no case can describe.
    """
    short = write_case(definition, file, name, recorded_case(recorded, shorten=True), comment)
    if short.problem is None and not short.left_out:
        return short
    return write_case(definition, file, name, recorded_case(recorded), comment)


def recorded_case(recorded: RecordedExecution, *, shorten: bool = False) -> JsonObject:
    """The case of a recorded execution that is over. `shorten` writes only what a function returned of its answer.

    Raises: ValueError with a sentence, for one that no case can describe.
    """
    if recorded.status not in WRITTEN_STATUSES:
        words = {"RUNNING": "still runs", "ABORTED": "was aborted from outside"}
        raise ValueError(f"This execution {words.get(recorded.status, 'has no end')}; a case describes one that ended.")
    case: JsonObject = {"start": instant_text(recorded.started_ms), "input": recorded.input}
    mocks = recorded_mocks(recorded.calls, shorten=shorten)
    if mocks:
        case["mocks"] = mocks
    attempts: dict[str, int] = {}
    for call in recorded.calls:
        attempts[call.place.state] = attempts.get(call.place.state, 0) + 1
    expect: JsonObject = {"status": recorded.status}
    if recorded.status == "SUCCEEDED":
        expect["output"] = recorded.output
    else:
        expect.update({"error": recorded.error, "cause": recorded.cause})
    case["expect"] = _expectations(expect, recorded.path, attempts)
    return case


def simulated_case(run: Run, input: Json, mocks: Json, start_ms: int) -> JsonObject:
    """The case of a simulation that is over, with the mocks that it was given, as a mock file has them.

    Raises: ValueError with a sentence, for one that no case can describe.
    """
    if run.status not in WRITTEN_STATUSES:
        raise ValueError("This run has no end; a case describes one that ended.")
    case: JsonObject = {"start": instant_text(start_ms), "input": input}
    if mocks:
        case["mocks"] = mocks
    attempts: dict[str, int] = {}
    for one in (run, *run.children):
        for task in one.tasks:
            attempts[task.state] = attempts.get(task.state, 0) + 1
    expect: JsonObject = {"status": run.status}
    if run.status == "SUCCEEDED":
        expect["output"] = run.output
    else:
        expect.update({"error": run.state.error, "cause": run.state.cause})
    case["expect"] = _expectations(expect, run.path, attempts)
    return case


def _expectations(expect: JsonObject, path: Sequence[str], attempts: dict[str, int]) -> JsonObject:
    kept = {name: value for name, value in expect.items() if value is not None or name == "output"}
    kept["path"] = list(path)
    if attempts:
        kept["attempts"] = dict(attempts)
    return kept


def recorded_mocks(calls: Iterable[Call], *, shorten: bool = False) -> JsonObject:
    """Mocks that answer as recorded calls did, as a mock file has them."""
    by_state: dict[str, dict[tuple[int, ...], list[JsonObject]]] = {}
    for call in calls:
        by_state.setdefault(call.place.state, {}).setdefault(call.place.iteration, []).append(_result(call, shorten))
    mocks: JsonObject = {}
    for state, places in by_state.items():
        key = f"state:{state}" if state.startswith(("resource:", "state:")) else state
        if set(places) == {()}:
            mocks[key] = _sequence(places[()])
        else:
            mocks[key] = {
                "iterations": {"/".join(map(str, place)): _sequence(results) for place, results in places.items()}
            }
    return mocks


def _result(call: Call, shorten: bool) -> JsonObject:
    outcome = call.outcome
    if isinstance(outcome, Returned):
        value = outcome.value
        is_function = isinstance(value, dict) and value.keys() >= _OF_FUNCTIONS
        result: JsonObject = {"returns_payload": value["Payload"]} if shorten and is_function else {"returns": value}
    elif isinstance(outcome, Threw):
        thrown = {"error": outcome.error, "cause": outcome.cause}
        result = {"throws": {name: value for name, value in thrown.items() if value is not None} or {"error": ""}}
    else:
        return {"hangs": True}
    if call.took_ms > 0:
        result["delay"] = f"{call.took_ms}ms"
    if call.is_submitted:
        result["submitted"] = call.submitted
    return result


def _sequence(results: Sequence[JsonObject]) -> list[JsonObject]:
    """The results, each once with the number of times that it came in a row; a call beyond them has no answer."""
    found: list[JsonObject] = []
    for result in results:
        # As texts: true is not 1.
        if found and dump_json({**found[-1], "times": 1}) == dump_json({**result, "times": 1}):
            found[-1]["times"] = found[-1].get("times", 1) + 1
        else:
            found.append(dict(result))
    found[-1]["then"] = "stop"
    return found


def write_case(definition: str, file: str, name: str, case: JsonObject, comment: str = "") -> WrittenCase:
    """A case file with one case about a definition, given as JSON text, which will lie beside it as `file`.

    Raises: ValueError with a sentence, if the case cannot be written.
    """
    left_out: list[str] = []
    problem: str | None = None
    for _ in range(MOST_TRIES):
        result = _tried(definition, _file_value(file, name, case))
        problem = result.problem
        if result.passed or not result.mismatches:
            break
        expect: JsonObject = case["expect"]
        missed = {one.what.partition(" ")[0].partition(".")[0] for one in result.mismatches} & expect.keys()
        if not missed:
            problem = f"the run differs from what was recorded in {result.mismatches[0].what}"
            break
        if "status" in missed:
            problem = f"with these answers it ends {result.run.status if result.run else 'otherwise'}"
            break
        left_out += sorted(missed)
        case = {**case, "expect": {key: value for key, value in expect.items() if key not in missed}}
    value = _file_value(file, name, case)
    lines = [f"# {line}" for line in comment.splitlines()]
    if left_out:
        lines.append(f"# Not expected, because it differs from run to run: {', '.join(left_out)}.")
    text = "\n".join([*lines, *_yaml(file, name, case)]) + "\n"
    ending = ".cases.yaml"
    if not _reads_as(text, value):
        text, ending = json.dumps(value, indent=2, ensure_ascii=False) + "\n", ".cases.json"
    return WrittenCase(text, ending, tuple(left_out), problem)


def _file_value(file: str, name: str, case: JsonObject) -> JsonObject:
    return {"definition": file, "cases": {name: case}}


def _tried(definition: str, value: JsonObject) -> CaseResult:
    """The case as `statewright test` runs it. Raises: ValueError."""
    with TemporaryDirectory(prefix="statewright-case-") as folder:
        Path(folder, "machine.asl.json").write_text(definition, "utf-8")
        path = Path(folder, "machine.cases.json")
        path.write_text(dump_json({**value, "definition": "machine.asl.json"}), "utf-8")
        try:
            (case,) = load_cases(path).cases
        except DefinitionError as problem:
            raise ValueError("; ".join(found.message for found in problem.diagnostics[:3])) from None
        return run_case(case)


def _reads_as(text: str, value: Json) -> bool:
    try:
        return bool(read_document(text, name="x.yaml", max_characters=len(text) + 1, placeholders=False).value == value)
    except ReadError:
        return False


def _yaml(file: str, name: str, case: JsonObject) -> Iterator[str]:
    """The file as YAML: its own members a line each, and values as JSON, which YAML reads as it is."""
    yield f"definition: {dump_json(file)}"
    yield "cases:"
    yield f"  {dump_json(name)}:"
    for member, value in case.items():
        if member not in ("mocks", "expect"):
            yield f"    {member}: {dump_json(value)}"
            continue
        yield f"    {member}:"
        for key, inner in value.items():
            said = f"      {dump_json(key) if member == 'mocks' else key}:"
            if member == "mocks" and isinstance(inner, list) and len(inner) > 1:
                yield said
                yield from (f"        - {dump_json(item)}" for item in inner)
            elif member == "mocks" and isinstance(inner, dict) and isinstance(inner.get("iterations"), dict):
                yield said
                yield "        iterations:"
                yield from (f"          {dump_json(at)}: {dump_json(item)}" for at, item in inner["iterations"].items())
            else:
                yield f"{said} {dump_json(inner)}"


def instant_text(instant_ms: int) -> str:
    """An instant as case files write it."""
    return datetime.fromtimestamp(instant_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
