"""Scripted test cases beside a definition: `order.cases.yaml` says how `order.asl.json` must behave.

Owns the format of case files, where they are looked for, and running a case. What can be expected and how it is
compared is in `expectations.py`; the format is described for users in `docs/cases.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from statewright.asl.findings import closest
from statewright.asl.loading import Loaded, check_definition, compile_checked, files_below
from statewright.asl.outline import outline, states_of
from statewright.clock import RealClock
from statewright.errors import DefinitionError, Diagnostic, Step
from statewright.instants import parse_duration_ms
from statewright.limits import AWS, PROFILES, Limits
from statewright.payload import Json, JsonObject, JsonTextError, dump_json
from statewright.simulator.expectations import (
    STATUSES,
    Bounds,
    Expectation,
    Matches,
    Mismatch,
    Refusal,
    compare_findings,
    compare_run,
)
from statewright.simulator.mocks import Rule, Script, mockable_names
from statewright.simulator.running import Run, UnmockedTask
from statewright.simulator.script import MockFile, is_sound, read_mocks
from statewright.simulator.simulate import Simulation, Stalled
from statewright.virtual_clock import VIRTUAL_START_MS

At = tuple[Step, ...]

INVALID_VALUE: Final = "CASE_INVALID_VALUE"
UNKNOWN_NAME: Final = "CASE_UNKNOWN_NAME"
NO_DEFINITION: Final = "CASE_WITHOUT_DEFINITION"

CASE_ENDINGS: Final = (".cases.yaml", ".cases.yml", ".cases.json")
_BESIDE: Final = (".asl.json", ".asl.yaml", ".asl.yml", ".json", ".yaml", ".yml")

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_MS: Final = 32_503_680_000_000
"""The year 3000. Ours: a run that begins later could leave the calendar."""

_FILE_FIELDS: Final = ("definition", "comment", "input", "mocks", "limits", "cases")
_CASE_FIELDS: Final = ("comment", "input", "start", "mocks", "limits", "expect")
_EXPECT_FIELDS: Final = (
    "status", "output", "output_contains", "output_matches", "error", "cause", "cause_contains", "path",
    "path_contains", "visits", "attempts", "duration", "transitions", "events", "diagnostics", "refused",
)  # fmt: skip
_BOUND_FIELDS: Final = ("at_least", "at_most")
_REFUSAL_FIELDS: Final = ("code", "pointer", "hint")
_SYNONYMS: Final = {
    "expected": "expect", "expects": "expect", "expectation": "expect", "assert": "expect", "then": "expect",
    "machine": "definition", "file": "definition", "description": "comment", "name": "comment", "given": "input",
    "mock": "mocks", "at": "start", "result": "output", "returns": "output", "states": "path", "calls": "attempts",
    "retries": "attempts", "time": "duration", "min": "at_least", "max": "at_most", "tests": "cases",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Subject:
    """The definition that cases are about. `loaded` is None where it cannot run; `findings` then hold ERRORs."""

    path: Path
    findings: list[Diagnostic]
    loaded: Loaded | None
    states: frozenset[str]


@dataclass(frozen=True, slots=True)
class Case:
    """One case, ready to run. The first `own_rules` rules of its script are its own, the rest common to the file."""

    name: str
    comment: str | None
    input: Json
    start_ms: int
    script: Script
    own_rules: int
    limits: Limits
    expect: Expectation
    subject: Subject
    file: Path
    place: tuple[int, int]


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A file of cases in its order. `warnings` are about its mocks."""

    path: Path
    subject: Subject
    cases: tuple[Case, ...]
    common: tuple[Rule, ...]
    warnings: list[Diagnostic]

    def case(self, name: str) -> Case:
        """The case of that name. Raises: DefinitionError, with the nearest name."""
        for case in self.cases:
            if case.name == name:
                return case
        names = [case.name for case in self.cases]
        hint = _did_you_mean(name, names) or "there are " + ", ".join(f"'{one}'" for one in names)
        raise DefinitionError([Diagnostic(UNKNOWN_NAME, f"there is no case '{name}' in {self.path}", hint=hint)])


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How a case went. `problem` says why there is nothing to compare: an unmocked task, a wait without end.

    `unused` are the case's own mocks that answered no call.
    """

    case: Case
    mismatches: list[Mismatch]
    run: Run | None
    real_ms: int
    problem: str | None = None
    unused: tuple[Rule, ...] = ()
    used_common: frozenset[int] = field(default_factory=frozenset)
    """Indexes of the file's common mocks that answered a call."""

    @property
    def passed(self) -> bool:
        """True if everything was as expected."""
        return not self.mismatches and self.problem is None


def find_case_files(folder: Path) -> list[Path]:
    """Every case file below a folder."""
    return files_below(folder, CASE_ENDINGS)


def cases_beside(definition: Path) -> Path | None:
    """The case file of a definition, if there is one: the same name with `.cases.yaml`, `.yml` or `.json`."""
    for ending in _BESIDE:
        if definition.name.endswith(ending):
            stem = definition.name.removesuffix(ending)
            beside = (definition.with_name(stem + case_ending) for case_ending in CASE_ENDINGS)
            return next((path for path in beside if path.is_file()), None)
    return None


def load_cases(path: Path) -> CaseFile:
    """Read a case file, and the definition that it is about.

    Raises:
        DefinitionError: everything that is wrong with the case file, each with line and column. What is wrong with
            the definition is a matter for its cases, which may expect it.
        OSError: the file cannot be read.
    """
    file = MockFile(path, str(path), kind="CASE", synonyms=_SYNONYMS)
    case_file = _Reading(file, path).read()
    file.check()
    assert case_file is not None
    return case_file


def read_instant_ms(text: str) -> int:
    """Read an instant as people write it: `2026-01-01T00:00:00Z`, `2026-01-01T09:30+02:00`, `2026-01-01` (UTC).

    Raises: ValueError, with a sentence for the author.
    """
    try:
        instant = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"'{text}' is no instant: write it like 2026-01-01T00:00:00Z") from None
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    instant_ms = (instant - _EPOCH) // timedelta(milliseconds=1)
    if not 0 <= instant_ms < _LATEST_MS:
        raise ValueError(f"'{text}' is not between the years 1970 and 3000")
    return instant_ms


def run_case(case: Case) -> CaseResult:
    """Run a case in virtual time and compare."""
    clock = RealClock()
    began_ms = clock.now_ms()
    subject = case.subject
    mismatches = compare_findings(case.expect, subject.findings)
    if case.expect.refused is not None:
        return CaseResult(case, mismatches, None, clock.now_ms() - began_ms)
    if subject.loaded is None:
        return CaseResult(case, mismatches, None, 0, _not_runnable(subject))
    simulation = Simulation(case.script, start_ms=case.start_ms, limits=case.limits)
    run: Run | None = None
    problem: str | None = None
    try:
        run = simulation.run(subject.loaded.program, case.input)
        mismatches += compare_run(case.expect, run)
    except UnmockedTask as unmocked:
        problem = unmocked.hint
    except DefinitionError as wrong_mock:
        problem = "; ".join(found.message for found in wrong_mock.diagnostics)
    except (Stalled, JsonTextError) as other:
        problem = str(other)
    rules, unused = case.script.rules, {id(rule) for rule in simulation.timeline.script.unused()}
    own = tuple(rule for rule in rules[: case.own_rules] if id(rule) in unused)
    common = frozenset(index for index, rule in enumerate(rules[case.own_rules :]) if id(rule) not in unused)
    return CaseResult(case, mismatches, run, clock.now_ms() - began_ms, problem, own, common)


def _not_runnable(subject: Subject) -> str:
    errors = [found for found in subject.findings if found.severity == "ERROR"]
    first = errors[0]
    more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
    return f"{subject.path}:{first.line}:{first.column} {first.code} {first.message}{more}"


def unused_common(file: CaseFile, results: Iterable[CaseResult]) -> tuple[Rule, ...]:
    """The file's common mocks that no case has used. Tell users only when all of its cases have run."""
    used = {index for result in results for index in result.used_common}
    return tuple(rule for index, rule in enumerate(file.common) if index not in used)


class _Reading:
    """One pass over a case file."""

    def __init__(self, file: MockFile, path: Path) -> None:
        self.file = file
        self.path = path
        self.states: frozenset[str] = frozenset()

    def read(self) -> CaseFile | None:
        file = self.file
        hint = "start with `cases:` and below it a name, such as `happy: {input: {}, expect: {status: SUCCEEDED}}`"
        top = file.members((), "a case file", _FILE_FIELDS, hint)
        if top is None:
            return None
        subject = self.subject(top)
        if "cases" not in top:
            if top == file.value:
                file.problem("there are no `cases` in this file", (), hint)
            return None
        if subject is not None:
            self.states = subject.states
        common = read_mocks(file, ("mocks",)) if "mocks" in top else ()
        limits = self.limits(top, (), AWS)
        entries = file.members(("cases",), "`cases`", hint=hint)
        if entries == {}:
            file.problem("`cases` is empty", ("cases",), hint)
        cases = []
        for name in entries or {}:
            case = self.case(name, top, common, limits, subject)
            if case is not None:
                cases.append(case)
        if subject is None:
            return None
        return CaseFile(self.path, subject, tuple(cases), common, _warnings(cases, subject))

    def subject(self, top: Mapping[str, Json]) -> Subject | None:
        path = self.definition(top)
        if path is None:
            return None
        try:
            document, findings = check_definition(path)
        except OSError as problem:
            reason = problem.strerror or "it cannot be read"
            self.file.problem(f"definition {path}: {reason}", ("definition",), code=NO_DEFINITION)
            return None
        loaded = None
        try:
            loaded = compile_checked(document, findings)
        except DefinitionError as problem:
            findings = findings + [found for found in problem.diagnostics if found not in findings]
        machine = document.value if document is not None else None
        scopes = outline(machine, express=False) if isinstance(machine, dict) else []
        return Subject(path, findings, loaded, frozenset(state.name for state in states_of(scopes)))

    def definition(self, top: Mapping[str, Json]) -> Path | None:
        if "definition" in top:
            name = self.text(top, "definition", ())
            return None if name is None else self.path.parent / name
        stem = self.path.name
        for ending in CASE_ENDINGS:
            stem = stem.removesuffix(ending)
        beside = [self.path.with_name(stem + ending) for ending in _BESIDE]
        found = next((path for path in beside if path.is_file() and path != self.path), None)
        if found is None:
            hint = "name the file: `definition: order.asl.json`"
            self.file.problem(f"there is no {stem}.asl.json or .asl.yaml beside this file", (), hint, NO_DEFINITION)
        return found

    def case(
        self, name: str, top: Mapping[str, Json], common: Sequence[Rule], limits: Limits, subject: Subject | None
    ) -> Case | None:
        at: At = ("cases", name)
        fields = self.file.members(at, f"case '{name}'", _CASE_FIELDS, "write {input: ..., expect: ...}")
        if fields is None:
            return None
        own = read_mocks(self.file, (*at, "mocks")) if "mocks" in fields else ()
        expect = self.expectation((*at, "expect")) if "expect" in fields else Expectation()
        start_ms = self.start(fields, at)
        chosen = self.limits(fields, at, limits)
        comment = self.text(fields, "comment", at)
        if subject is None:
            return None
        given = fields.get("input", top.get("input", {}))
        script = Script((*own, *common))
        place = self.file.place(at)
        return Case(name, comment, given, start_ms, script, len(own), chosen, expect, subject, self.path, place)

    def limits(self, fields: Mapping[str, Json], at: At, default: Limits) -> Limits:
        if "limits" not in fields:
            return default
        name = fields["limits"]
        if isinstance(name, str) and name in PROFILES:
            return PROFILES[name]
        self.problem(f"limits: {_shown(name)} is none of {', '.join(PROFILES)}", (*at, "limits"))
        return default

    def start(self, fields: Mapping[str, Json], at: At) -> int:
        if "start" not in fields:
            return VIRTUAL_START_MS
        start = fields["start"]
        try:
            return read_instant_ms(start if isinstance(start, str) else _shown(start))
        except ValueError as problem:
            self.problem(str(problem), (*at, "start"))
            return VIRTUAL_START_MS

    # ------------------------------------------------------------------ expectations

    def expectation(self, at: At) -> Expectation:
        fields = self.file.members(at, "`expect`", _EXPECT_FIELDS, "write {status: SUCCEEDED, output: ...}")
        if fields is None:
            return Expectation()
        found: JsonObject = {name: fields[name] for name in ("output", "output_contains") if name in fields}
        for name in ("error", "cause", "cause_contains"):
            found[name] = self.text(fields, name, at)
        for name in ("path", "path_contains"):
            found[name] = self.names(fields, name, at)
        for name in ("visits", "attempts"):
            found[name] = self.counts(fields, name, at)
        for name in ("transitions", "events", "duration"):
            found[name] = self.bounds((*at, name), is_duration=name == "duration") if name in fields else None
        found["output_matches"] = self.condition(fields, at)
        found["diagnostics"] = self.codes(fields, at)
        found["refused"] = self.refusals((*at, "refused")) if "refused" in fields else None
        found["status"] = self.status(fields, at)
        if found["refused"] is not None:
            for name in fields:
                if name not in ("refused", "diagnostics"):
                    hint = "what is refused never runs"
                    self.problem(f"'{name}' cannot stand beside 'refused'", (*at, name), hint)
        return Expectation(**found)

    def status(self, fields: Mapping[str, Json], at: At) -> str:
        fails = not fields.keys().isdisjoint(("error", "cause", "cause_contains"))
        status = fields.get("status", "FAILED" if fails else "SUCCEEDED")
        if status in STATUSES:
            return str(status)
        hint = _did_you_mean(str(status), STATUSES)
        self.problem(f"status: {_shown(status)} is none of {', '.join(STATUSES)}", (*at, "status"), hint)
        return "SUCCEEDED"

    def condition(self, fields: Mapping[str, Json], at: At) -> tuple[str, Matches] | None:
        at = (*at, "output_matches")
        if "output_matches" not in fields:
            return None
        text = fields["output_matches"]
        hint = 'the output is $states.input: "{% $states.input.total > 3 %}"'
        if not is_sound(self.file, text, at, fields=("input",), where="in an expectation", hint=hint):
            return None
        from statewright.asl.templates import compile_jsonata

        return text, compile_jsonata(text, "output_matches", set())

    def names(self, fields: Mapping[str, Json], name: str, at: At) -> tuple[str, ...] | None:
        if name not in fields:
            return None
        value = fields[name]
        if not isinstance(value, list):
            self.problem(f"'{name}' must be a list of states", (*at, name), f"write {name}: [First, Second]")
            return None
        for index, state in enumerate(value):
            self.known_state(state, (*at, name, index))
        return tuple(str(state) for state in value)

    def counts(self, fields: Mapping[str, Json], name: str, at: At) -> dict[str, Bounds]:
        if name not in fields:
            return {}
        at = (*at, name)
        found = {}
        for state in self.file.members(at, f"'{name}'", hint=f"write {name}: {{Charge: 2}}") or {}:
            self.known_state(state, (*at, state))
            bounds = self.bounds((*at, state))
            if bounds is not None:
                found[state] = bounds
        return found

    def known_state(self, state: Json, at: At) -> None:
        if not isinstance(state, str):
            self.problem(f"{_shown(state)} is no name of a state", at)
        elif self.states and state not in self.states:
            hint = _did_you_mean(state, sorted(self.states))
            self.problem(f"the definition has no state '{state}'", at, hint, UNKNOWN_NAME)

    def bounds(self, at: At, *, is_duration: bool = False) -> Bounds | None:
        value = self.file.at(at)
        if not isinstance(value, dict):
            number = self.number(value, at, is_duration)
            return None if number is None else Bounds(number, number, str(value))
        fields = self.file.members(at, "an expected number", _BOUND_FIELDS) or {}
        if not fields and not value:
            self.problem("this expects nothing", at, "write a number, or {at_least: 1, at_most: 3}")
        low, high = (
            self.number(fields[name], (*at, name), is_duration) if name in fields else None for name in _BOUND_FIELDS
        )
        if low is not None and high is not None and low > high:
            self.problem("at_least is more than at_most", at)
        words = {"at_least": "at least", "at_most": "at most"}
        return Bounds(low, high, " and ".join(f"{words[name]} {value}" for name, value in fields.items()))

    def number(self, value: Json, at: At, is_duration: bool) -> int | None:
        if is_duration:
            try:
                return parse_duration_ms(value if isinstance(value, (str, int, float)) else _shown(value))
            except ValueError as problem:
                self.problem(str(problem), at)
                return None
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        self.problem(f"{_shown(value)} is not a whole number from 0", at, "for a range: {at_least: 1, at_most: 3}")
        return None

    def codes(self, fields: Mapping[str, Json], at: At) -> tuple[str, ...]:
        value = fields.get("diagnostics", [])
        if not isinstance(value, list) or not all(isinstance(code, str) for code in value):
            hint = "write diagnostics: [CHOICE_WITHOUT_DEFAULT]"
            self.problem("'diagnostics' must be a list of codes", (*at, "diagnostics"), hint)
            return ()
        return tuple(value)

    def refusals(self, at: At) -> tuple[Refusal, ...]:
        value = self.file.at(at)
        hint = "write refused: [MISSING_TRANSITION_TARGET], or {code: ..., pointer: ..., hint: ...} for each"
        if not isinstance(value, list) or not value:
            self.problem("'refused' must be a list of errors", at, hint)
            return ()
        found = []
        for index, entry in enumerate(value):
            if isinstance(entry, str):
                found.append(Refusal(entry))
                continue
            here = (*at, index)
            fields = self.file.members(here, "a refusal", _REFUSAL_FIELDS, hint) or {}
            texts = {name: self.text(fields, name, here) for name in _REFUSAL_FIELDS}
            if texts["code"] is not None:
                found.append(Refusal(texts["code"], texts["pointer"], texts["hint"]))
            elif fields == entry and "code" not in fields:
                self.problem("this refusal has no code", here, hint)
        return tuple(found)

    def text(self, fields: Mapping[str, Json], name: str, at: At) -> str | None:
        value = fields.get(name)
        if value is None and name not in fields:
            return None
        if isinstance(value, str):
            return value
        self.problem(f"'{name}' must be text", (*at, name), f"put it in quotes: {dump_json(_shown(value))}")
        return None

    def problem(self, message: str, at: At, hint: str | None = None, code: str = INVALID_VALUE) -> None:
        self.file.problem(message, at, hint, code)


def _warnings(cases: Sequence[Case], subject: Subject) -> list[Diagnostic]:
    """Mocks for states that are not there; common mocks are in every case's script, but warned about once."""
    if subject.loaded is None:
        return []
    known = mockable_names(subject.loaded.program)
    found = [warning for case in cases for warning in case.script.unknown_states(known)]
    return sorted(dict.fromkeys(found), key=lambda warning: (warning.line, warning.column))


def _did_you_mean(word: str, names: Iterable[str]) -> str | None:
    near = closest(word, names)
    return None if near is None else f"did you mean {near}?"


def _shown(value: Json) -> str:
    text = dump_json(value)
    return text if len(text) <= 60 else text[:57] + "..."
