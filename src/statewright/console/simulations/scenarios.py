"""Scenarios of simulations: the check of one that was posted, and one that fits a machine's real histories."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from statewright.asl.reader import ReadError, read_document
from statewright.console.figures.heat import share
from statewright.console.figures.surveys import StateFigures, Survey
from statewright.cost.prices import names
from statewright.errors import ApiError, ExecutionFailure
from statewright.payload import Json, JsonObject, JsonTextError, dump_json, parse_json, size_of

MOST_CHARACTERS: Final = 1_000_000
MOST_FILES: Final = 20
MOST_INPUTS: Final = 5
LONGEST_ANSWER: Final = 100_000
_FILE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.(json|yaml|yml|csv|jsonl)")
_BESIDE: Final = frozenset({"file", "replay"})
"""Keys that name a file, which is posted with the scenario."""
_APART: Final = {
    "handler": "runs a program of this machine", "python": "runs a program of this machine",
    "project": "reads a folder of this machine",
}  # fmt: skip
_DATA: Final = frozenset({"answer", "input", "body", "description"})
_NAMED: Final = frozenset({"functions", "queues", "machines", "tables", "variants"})
"""Keys whose members are by name."""
_FUNCTION: Final = "arn:aws:lambda:us-east-1:000000000000:function:"
_DROPPED: Final = ("Resource", "Parameters", "Arguments", "HeartbeatSeconds", "HeartbeatSecondsPath", "Credentials")
_PARTS: Final = (5, 25, 50, 75, 95, 99)


def check(scenario: str, files: Mapping[str, Json]) -> None:
    """Refuse a scenario that would read or run anything but the files beside it. Raises: ApiError (`BadRequest`)."""
    if len(scenario) + sum(len(str(text)) for text in files.values()) > MOST_CHARACTERS or len(files) > MOST_FILES:
        raise ApiError("BadRequest", f"A scenario and its files have {MOST_CHARACTERS:,} characters at most.")
    for name, text in files.items():
        if not _FILE.fullmatch(name) or not isinstance(text, str):
            raise ApiError("BadRequest", f"{name[:80]} is no name of a file beside a scenario, such as order.asl.json.")
    try:
        value = read_document(scenario, name="scenario.yaml", placeholders=False).value
        size_of(value, 10 * MOST_CHARACTERS)
    except ReadError as problem:
        first = problem.diagnostics[0]
        where = f"line {first.line}: " if first.line else ""
        raise ApiError("BadRequest", f"The scenario cannot be read: {where}{first.message}") from None
    except ExecutionFailure:
        raise ApiError("BadRequest", "The scenario is too large.") from None
    if not isinstance(value, dict):
        raise ApiError("BadRequest", "A scenario is an object of keys, such as machines, functions and arrivals.")
    prices = value.get("prices")
    if prices is not None and prices not in names():
        raise ApiError("BadRequest", f"There is no price table {str(prices)[:60]}; there are {', '.join(names())}.")
    _check_keys(value, files)


def _check_keys(value: JsonObject, files: Mapping[str, Json]) -> None:
    pending: list[tuple[Json, bool]] = [(value, False)]
    while pending:
        one, are_names = pending.pop()
        if isinstance(one, list):
            pending += [(item, False) for item in one]
        elif isinstance(one, dict):
            for key, member in one.items():
                if are_names:
                    pending.append((member, False))
                    continue
                # Variants name keys by their paths.
                step = str(key).rpartition(".")[2]
                if step in _APART or (step == "answer" and isinstance(member, dict) and "python" in member):
                    why = _APART.get(step, _APART["python"])
                    raise ApiError("BadRequest", f"{key} {why}: run this scenario with statewright simulate.")
                if step in _BESIDE and str(member) not in files:
                    raise ApiError("BadRequest", f"There is no file {str(member)[:80]} beside the scenario.")
                # What functions answer and executions receive is data.
                if step not in _DATA:
                    pending.append((member, one is value and step in _NAMED))


# ---------------------------------------------------------------------- from histories


@dataclass(frozen=True, slots=True)
class Fitted:
    """A scenario with its files, and what it cannot say."""

    scenario: str
    files: Mapping[str, str]
    notes: Sequence[str]

    def document(self) -> JsonObject:
        """As the page receives it."""
        return {"scenario": self.scenario, "files": dict(self.files), "notes": list(self.notes)}


def fitted(name: str, definition: JsonObject, survey: Survey, per_minute: int, minutes: int) -> Fitted:
    """A scenario of one machine under load: a model stands in for each of its tasks, with the latencies, failures and
    an answer of its real attempts.
    """
    fitting = _Fitting(survey)
    machine = fitting.scope(definition)
    inputs = list(dict.fromkeys(one for one in survey.inputs if len(one) <= LONGEST_ANSWER))[:MOST_INPUTS] or ["{}"]
    if not survey.runs:
        fitting.notes["The machine has no execution yet, so that its tasks take no time and answer null."] = None
    short = re.sub(r"[^A-Za-z0-9_-]", "-", name)[:60] or "machine"
    lines = [
        f"# {survey.runs} executions of {dump_json(name)} were read. Durations are those of their attempts.",
        f"name: {dump_json(name)}",
        f"description: {dump_json(f'{name} at {per_minute} executions a minute, fitted to {survey.runs} executions')}",
        "machines:",
        f"  {dump_json(short)}: {{file: machine.json}}",
        "functions:" if fitting.functions else "functions: {}",
        *(f"  {dump_json(one)}: {dump_json(spec)}" for one, spec in fitting.functions.items()),
        "arrivals:",
        *_arrivals(short, inputs, per_minute, minutes),
    ]
    return Fitted("\n".join(lines) + "\n", {"machine.json": dump_json(machine)}, list(fitting.notes))


def _arrivals(machine: str, inputs: Sequence[str], per_minute: int, minutes: int) -> list[str]:
    """Arrivals at a rate in all, one for each input, as many as the rate allows."""
    used = inputs[: max(1, min(len(inputs), per_minute))]
    rates = [per_minute // len(used) + (place < per_minute % len(used)) for place in range(len(used))]
    return [
        "  - "
        + dump_json({
            "machine": machine, "rate": f"{rate}/min", "for": f"{minutes}m", "name": f"{place}-{{n}}",
            "input": _value(given),
        })
        for place, (given, rate) in enumerate(zip(used, rates, strict=True), 1)
    ]  # fmt: skip


class _Fitting:
    """Rewrites a definition, and gathers the functions that it then needs."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self.functions: dict[str, JsonObject] = {}
        self.notes: dict[str, None] = {}

    def scope(self, scope: JsonObject) -> JsonObject:
        """A definition, a branch or an item processor."""
        states = scope.get("States")
        if not isinstance(states, dict):
            return scope
        return {**scope, "States": {name: self._state(name, state) for name, state in states.items()}}

    def _state(self, name: str, state: JsonObject) -> JsonObject:
        kind = state.get("Type")
        if kind == "Task":
            kept = {key: value for key, value in state.items() if key not in _DROPPED}
            return {**kept, "Resource": _FUNCTION + self._function(name, str(state.get("Resource", "")))}
        if kind == "Parallel":
            return {**state, "Branches": [self.scope(one) for one in state.get("Branches", ())]}
        if kind == "Map":
            return self._map(name, state)
        return state

    def _map(self, name: str, state: JsonObject) -> JsonObject:
        key = "ItemProcessor" if "ItemProcessor" in state else "Iterator"
        inner = self.scope(state.get(key, {}))
        config = inner.get("ProcessorConfig", {})
        if isinstance(config, dict) and config.get("Mode") == "DISTRIBUTED":
            text = "is a distributed Map, which runs inline here; its items' executions keep histories of their own"
            self.notes[f"{name} {text}, so that nothing is known of their latencies."] = None
            dropped = (
                "ItemReader", "ResultWriter", "ItemBatcher", "Label", "ToleratedFailureCount",
                "ToleratedFailurePercentage", "ToleratedFailureCountPath", "ToleratedFailurePercentagePath",
            )  # fmt: skip
            if "ItemReader" in state:
                self.notes[f"{name} reads its items from elsewhere, which the simulation does not have."] = None
            state = {one: value for one, value in state.items() if one not in dropped}
            inner = {**inner, "ProcessorConfig": {"Mode": "INLINE"}}
        return {**state, key: inner}

    def _function(self, state: str, resource: str) -> str:
        base = resource.rpartition(":function:")[2].partition(":")[0] if ":function:" in resource else state
        name = short = re.sub(r"[^A-Za-z0-9_-]+", "-", base)[:50].strip("-") or "task"
        count = 1
        while name in self.functions:
            count += 1
            name = f"{short}-{count}"
        figures = self._survey.states.get(state)
        if figures is None or not figures.attempts_ms:
            self.notes[f"{state} has no attempt in these histories: it takes no time, and answers null."] = None
            self.functions[name] = {"duration": "0ms", "answer": None}
        else:
            self.functions[name] = self._model(state, figures)
        return name

    def _model(self, state: str, figures: StateFigures) -> JsonObject:
        took = figures.attempts_ms
        points = {str(part): f"{share(took, part / 100)}ms" for part in _PARTS}
        longest = ceil(max(took) / 1000)
        found: JsonObject = {"duration": {"percentiles": points}, "timeout": min(900, max(3, 2 * longest))}
        if longest > 450:
            self.notes[f"{state} took up to {longest:,} s; a modelled function ends after 900 s."] = None
        failed = sum(figures.errors.values())
        if failed:
            found["failureRate"] = round(min(1.0, failed / max(1, figures.attempts)), 4)
            found["error"] = figures.errors.most_common(1)[0][0]
        answer = figures.answer
        if answer is not None and len(answer) <= LONGEST_ANSWER:
            found["answer"] = _value(answer)
        return found


def _value(text: str) -> Json:
    try:
        return parse_json(text)
    except JsonTextError:
        return text
