"""The expectations of a test case, and the ways in which a run fails them.

Owns the comparison. How expectations are written in a file is `cases.py`'s business.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from statewright.errors import Diagnostic, ExecutionFailure
from statewright.payload import Json
from statewright.query.scope import Scope
from statewright.simulator.differences import ABSENT, Absent, Difference, differences, is_subsequence
from statewright.simulator.running import Run

STATUSES: Final = ("SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED")

Matches = Callable[[Scope], Json]
"""A JSONata condition on the output. Raises: ExecutionFailure."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """A number that is expected exactly, or between two bounds of which either may be open. `text`: as written."""

    at_least: int | None
    at_most: int | None
    text: str

    def __contains__(self, number: int) -> bool:
        above = self.at_least is None or number >= self.at_least
        return above and (self.at_most is None or number <= self.at_most)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An ERROR that the definition must have. `pointer` and `hint` are compared only where given."""

    code: str
    pointer: str | None = None
    hint: str | None = None

    def fits(self, found: Diagnostic) -> bool:
        """True if this is the error that was expected; a hint need only contain the expected words."""
        same_place = self.pointer is None or self.pointer == found.pointer
        return self.code == found.code and same_place and (self.hint is None or self.hint in (found.hint or ""))

    @property
    def text(self) -> str:
        """The refusal on one line."""
        return _finding_text(self.code, self.pointer, self.hint)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One expectation that was not met. `what` names it as the file does; `differences` say where values part."""

    what: str
    wanted: Json | Absent
    got: Json | Absent
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Expectation:
    """All that a case expects. `ABSENT`, `None` and empty mean: anything will do."""

    status: str = "SUCCEEDED"
    output: Json | Absent = ABSENT
    output_contains: Json | Absent = ABSENT
    output_matches: tuple[str, Matches] | None = None
    error: str | None = None
    cause: str | None = None
    cause_contains: str | None = None
    path: tuple[str, ...] | None = None
    path_contains: tuple[str, ...] | None = None
    visits: Mapping[str, Bounds] = field(default_factory=dict)
    attempts: Mapping[str, Bounds] = field(default_factory=dict)
    duration: Bounds | None = None
    transitions: Bounds | None = None
    events: Bounds | None = None
    diagnostics: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] | None = None


def compare_run(expected: Expectation, run: Run) -> list[Mismatch]:
    """Everything in which a run is not what was expected."""
    return [*_end(expected, run), *_output(expected, run), *_way(expected, run), *_numbers(expected, run)]


def compare_findings(expected: Expectation, found: list[Diagnostic]) -> list[Mismatch]:
    """Everything in which the findings of `validate` are not what was expected."""
    missing = [code for code in expected.diagnostics if code not in {finding.code for finding in found}]
    mismatches = []
    if missing:
        mismatches.append(Mismatch("diagnostics", missing, sorted({finding.code for finding in found})))
    if expected.refused is None:
        return mismatches
    errors = [finding for finding in found if finding.severity == "ERROR"]
    unexpected = list(errors)
    unmet = []
    # The most exact first, so that a bare code does not take the finding that another entry describes.
    for refusal in sorted(expected.refused, key=lambda one: (one.pointer is None, one.hint is None)):
        fitting = next((finding for finding in unexpected if refusal.fits(finding)), None)
        if fitting is None:
            unmet.append(refusal)
        else:
            unexpected.remove(fitting)
    if unmet or unexpected:
        wanted = [refusal.text for refusal in expected.refused]
        got = [_finding_text(finding.code, finding.pointer, finding.hint) for finding in errors]
        mismatches.append(Mismatch("refused", wanted, got))
    return mismatches


def _finding_text(code: str, pointer: str | None, hint: str | None) -> str:
    return code + (f" at {pointer or '/'}" if pointer is not None else "") + (f" ({hint})" if hint else "")


def _end(expected: Expectation, run: Run) -> Iterator[Mismatch]:
    if run.status != expected.status:
        yield Mismatch("status", expected.status, run.status)
    if expected.error is not None and run.state.error != expected.error:
        yield Mismatch("error", expected.error, _text_or_absent(run.state.error))
    cause = run.state.cause
    if expected.cause is not None and cause != expected.cause:
        yield Mismatch("cause", expected.cause, _text_or_absent(cause))
    if expected.cause_contains is not None and expected.cause_contains not in (cause or ""):
        yield Mismatch("cause_contains", expected.cause_contains, _text_or_absent(cause))


def _text_or_absent(text: str | None) -> str | Absent:
    return ABSENT if text is None else text


def _output(expected: Expectation, run: Run) -> Iterator[Mismatch]:
    asked = (expected.output, expected.output_contains, expected.output_matches)
    if asked == (ABSENT, ABSENT, None):
        return
    if run.state.output is None:
        # An execution without an output has been reported by its status, unless that was expected.
        if run.status == expected.status:
            yield Mismatch("output", "an output", ABSENT)
        return
    got = run.output
    for what, wanted in (("output", expected.output), ("output_contains", expected.output_contains)):
        if wanted is not ABSENT:
            found = differences(wanted, got, subset=what == "output_contains")
            if found:
                yield Mismatch(what, wanted, got, tuple(found))
    if expected.output_matches is not None:
        text, matches = expected.output_matches
        try:
            answer = matches(Scope(got))
        except ExecutionFailure as failure:
            yield Mismatch("output_matches", text, failure.cause)
            return
        if answer is not True:
            yield Mismatch("output_matches", text, answer)


def _way(expected: Expectation, run: Run) -> Iterator[Mismatch]:
    if expected.path is not None and list(expected.path) != run.path:
        yield Mismatch("path", list(expected.path), run.path)
    if expected.path_contains is not None and not is_subsequence(expected.path_contains, run.path):
        yield Mismatch("path_contains", list(expected.path_contains), run.path)


def _numbers(expected: Expectation, run: Run) -> Iterator[Mismatch]:
    visits = count_visits(run) if expected.visits else Counter()
    attempts = count_attempts(run) if expected.attempts else Counter()
    for what, wanted, counted in (("visits", expected.visits, visits), ("attempts", expected.attempts, attempts)):
        for state, bounds in wanted.items():
            if counted[state] not in bounds:
                yield Mismatch(f"{what} of {state}", bounds.text, counted[state])
    if expected.duration is not None and run.duration_ms not in expected.duration:
        yield Mismatch("duration", expected.duration.text, write_duration(run.duration_ms))
    if expected.transitions is not None and run.transitions not in expected.transitions:
        yield Mismatch("transitions", expected.transitions.text, run.transitions)
    if expected.events is not None and len(run.history) not in expected.events:
        yield Mismatch("events", expected.events.text, len(run.history))


def count_visits(run: Run) -> Counter[str]:
    """How often each state was entered, child executions included."""
    visits = Counter(run.visits)
    for child in run.children:
        visits += child.visits
    return visits


def count_attempts(run: Run) -> Counter[str]:
    """How many calls each task has made, retries and child executions included."""
    attempts: Counter[str] = Counter()
    for one in (run, *run.children):
        attempts.update(record.state for record in one.tasks)
    return attempts


_UNITS: Final = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000))


def write_duration(duration_ms: int) -> str:
    """A length of time as case and mock files write it: `1h30m`, `9m59.5s`, `0s`."""
    parts = []
    rest = duration_ms
    for unit, size in _UNITS:
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    if rest or not parts:
        parts.append(f"{rest}ms" if 0 < rest < 1000 else f"{rest / 1000:g}s")
    return "".join(parts)
