"""Expected and actual values of a failed case, as lines for the terminal and for reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from statewright.cli.output import Line, json_text

if TYPE_CHECKING:
    from statewright.simulator.cases import CaseResult
    from statewright.simulator.expectations import Mismatch
    from statewright.simulator.running import Run

LONGEST_VALUE: Final = 200
SHORT_PAIR: Final = 60
MOST_STEPS: Final = 30


def failure_words(result: CaseResult) -> str | None:
    """How the execution of a failed case has failed, if it has, and that was not wanted."""
    if result.passed or result.run is None:
        return None
    state = result.run.state
    if state.status == "TIMED_OUT" and result.case.expect.status != "TIMED_OUT":
        return f"the execution timed out in {', '.join(_never_left(result.run))}"
    if state.error is None or result.case.expect.error == state.error:
        return None
    cause = f": {state.cause}" if state.cause else ""
    return f"the execution failed with {state.error}{cause}"[:1000]


def _never_left(run: Run) -> list[str]:
    """The states that an execution was in when it ended."""
    inside: Counter[str] = Counter()
    for event in run.history:
        if event.type.endswith(("StateEntered", "StateExited")):
            inside[str((event.details or {})["name"])] += 1 if event.type.endswith("Entered") else -1
    return [name for name, count in inside.items() if count > 0]


def mismatch_lines(mismatch: Mismatch) -> Iterator[Line]:
    """The expected and the actual value; of JSON values only the places at which they differ."""
    what = mismatch.what
    if mismatch.differences and mismatch.differences[0].place:
        yield [f"      {what}"]
        for one in mismatch.differences:
            yield from _pair([("        at ", "idle"), (one.where, "accent")], _value(one.wanted), _value(one.got))
    elif isinstance(mismatch.wanted, list) and isinstance(mismatch.got, list):
        yield [f"      {what}", ("   - expected, + actual", "idle")]
        yield from _sequence_lines(mismatch.wanted, mismatch.got)
    else:
        # Names and numbers stand as the case file writes them.
        plain = what not in ("output", "cause", "cause_contains", "output_contains", "output_matches")
        yield from _pair([f"      {what}"], _value(mismatch.wanted, plain=plain), _value(mismatch.got, plain=plain))


def _pair(lead: Line, wanted: str, got: str) -> Iterator[Line]:
    """Both values behind `lead` if they are short, else below it."""
    if len(wanted) + len(got) <= SHORT_PAIR:
        yield [*lead, ("  expected ", "idle"), (wanted, "ok"), ("  got ", "idle"), (got, "fail")]
        return
    yield lead
    yield [("          expected  ", "idle"), (wanted, "ok")]
    yield [("          got       ", "idle"), (got, "fail")]


def _sequence_lines(wanted: Sequence[object], got: Sequence[object]) -> Iterator[Line]:
    from statewright.simulator.differences import sequence_changes

    changes = sequence_changes([str(name) for name in wanted], [str(name) for name in got])
    first = next((index for index, (kind, _) in enumerate(changes) if kind != "same"), 0)
    start = max(first - 3, 0)
    if start:
        yield [(f"          … {start:,} as expected", "idle")]
    for kind, name in changes[start : start + MOST_STEPS]:
        if kind == "same":
            yield [(f"          {name}", "idle")]
        elif kind == "missing":
            yield [(f"        - {name}", "ok")]
        else:
            yield [(f"        + {name}", "fail")]
    left = len(changes) - start - MOST_STEPS
    if left > 0:
        yield [(f"          … {left:,} more", "idle")]


def _value(value: object, *, plain: bool = False) -> str:
    from statewright.simulator.differences import Absent

    if isinstance(value, Absent):
        return "nothing"
    if plain and isinstance(value, str):
        return value
    text = json_text(value, compact=True)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"
