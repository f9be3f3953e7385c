"""The outcome of a run: as one JSON document, and in words on the terminal.

Owns the shape of `-o json`, `-o jsonl` and `--history`, and the sentences about failures and limits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from statewright.cli.output import FAILED, INTERRUPTED, OK, TIMED_OUT, Printer, Tone, count_words, duration_words
from statewright.errors import DATA_LIMIT, RUNTIME
from statewright.graph.lettering import printable
from statewright.limits import Limits

if TYPE_CHECKING:
    from statewright.interpreter.history import HistoryEvent
    from statewright.interpreter.state import ExecutionState
    from statewright.payload import Json
    from statewright.simulator.story import Story

Reason = Literal["UNMOCKED_TASK", "WAITS_FOR_EVER", "OUT_OF_TIME", "INTERRUPTED"]
"""Why an execution was given up before its end."""

_EXIT_CODES: Final[dict[str, int]] = {
    "SUCCEEDED": OK, "FAILED": FAILED, "ABORTED": FAILED, "TIMED_OUT": TIMED_OUT,
    "UNMOCKED_TASK": FAILED, "WAITS_FOR_EVER": TIMED_OUT, "OUT_OF_TIME": TIMED_OUT, "INTERRUPTED": INTERRUPTED,
}  # fmt: skip

_HEADLINES: Final[dict[str, tuple[str, str, Tone]]] = {
    "SUCCEEDED": ("✓", "Succeeded", "ok"),
    "FAILED": ("✗", "Failed", "fail"),
    "TIMED_OUT": ("✗", "Timed out", "fail"),
    "ABORTED": ("○", "Aborted", "idle"),
    "UNMOCKED_TASK": ("✗", "Stopped at a task without a mock", "fail"),
    "WAITS_FOR_EVER": ("✗", "Waits forever", "fail"),
    "OUT_OF_TIME": ("✗", "Not finished in time", "fail"),
    "INTERRUPTED": ("○", "Interrupted", "idle"),
}


@dataclass(frozen=True, slots=True)
class GivenUp:
    """The reason why an execution was not run to its end, with the `state` that is the cause, if any."""

    reason: Reason
    message: str
    state: str | None = None
    hint: str | None = None


@dataclass(slots=True)
class Outcome:
    """A run up to its last event. `history` is that of the execution itself, without its children's."""

    story: Story
    state: ExecutionState
    history: list[HistoryEvent]
    transitions: int
    now_ms: int
    limits: Limits
    given_up: GivenUp | None = None
    written: dict[str, str] | None = None

    @property
    def key(self) -> str:
        """The status, or the reason for giving up."""
        return self.given_up.reason if self.given_up is not None else self.state.status

    @property
    def exit_code(self) -> int:
        """The command's exit code."""
        return _EXIT_CODES[self.key]

    @property
    def duration_ms(self) -> int:
        """From the start to the end, or to where the run was given up."""
        stopped_ms = self.state.stopped_ms if self.state.stopped_ms is not None else self.now_ms
        return max(stopped_ms - self.state.started_ms, 0)


# ------------------------------------------------------------------ JSON


def history_document(event: HistoryEvent) -> dict[str, Json]:
    """A history event as `aws stepfunctions get-execution-history` prints it: epoch seconds with a fraction."""
    return {**event.to_api(), "timestamp": event.at_ms / 1000}


def summary(outcome: Outcome) -> dict[str, Json]:
    """The run as one JSON document."""
    from statewright.asl.timestamps import format_timestamp

    state = outcome.state
    document: dict[str, Json] = {"status": state.status}
    if state.status == "SUCCEEDED":
        document["output"] = state.output.value if state.output is not None else None
    elif state.status != "RUNNING":
        document["error"] = state.error
        document["cause"] = state.cause
        failed = outcome.story.failed_visit
        if failed is not None:
            document["failedState"] = failed.name
    given_up = outcome.given_up
    if given_up is not None:
        document["stopped"] = {
            "reason": given_up.reason, "state": given_up.state, "message": given_up.message, "hint": given_up.hint,
        }  # fmt: skip
    hint = failure_hint(outcome)
    if hint is not None:
        document["hint"] = hint
    path = [str((event.details or {})["name"]) for event in outcome.history if event.type.endswith("StateEntered")]
    stopped = format_timestamp(state.stopped_ms) if state.stopped_ms is not None else None
    document |= {
        "input": state.input.value,
        "startDate": format_timestamp(state.started_ms),
        "stopDate": stopped,
        "durationMs": outcome.duration_ms,
        "transitions": outcome.transitions,
        "events": len(outcome.history),
        "path": path,
        "visits": dict(Counter(path)),
        "states": _states(outcome.story),
    }
    if outcome.written:
        document["written"] = sorted(outcome.written)
    return document


def _states(story: Story) -> dict[str, Json]:
    """By state: how often it was entered, how many attempts were made and failed, how its visits ended, how long."""
    states: dict[str, dict[str, Json]] = {}
    for visit in story.visits():
        name = visit.name
        told = states.get(name)
        if told is None:
            told = states[name] = {
                "type": visit.definition.type, "visits": 0, "attempts": 0, "failedAttempts": 0,
                "succeeded": 0, "caught": 0, "failed": 0, "stopped": 0, "running": 0, "durationMs": 0,
            }  # fmt: skip
        told["visits"] += 1
        told["attempts"] += len(visit.attempts)
        told["failedAttempts"] += sum(attempt.failed for attempt in visit.attempts)
        told[visit.status] += 1
        told["durationMs"] += (visit.ended_ms if visit.ended_ms is not None else story.now_ms) - visit.entered_ms
    for told in states.values():
        tries = () if told["type"] in ("Task", "Parallel", "Map") else ("attempts", "failedAttempts")
        for name in ("caught", "failed", "stopped", "running", *tries):
            if not told[name]:
                del told[name]
    return states


# ------------------------------------------------------------------ words


def print_outcome(printer: Printer, outcome: Outcome, *, virtual: bool) -> None:
    """Print the outcome in one line, and the reason below it."""
    mark, words, tone = _HEADLINES[outcome.key]
    took = duration_words(outcome.duration_ms) + (" of virtual time" if virtual else "")
    numbers = " · ".join(
        (took, count_words(outcome.transitions, "transition"), count_words(len(outcome.history), "event"))
    )
    printer.line()
    printer.line((f"{mark} {words}", tone), (f" · {numbers}", "idle"))
    for name, value in _reasons(outcome):
        printer.wrapped(value, " " * 9, first=f"  {name:<5}  ")
    hint = failure_hint(outcome) or (outcome.given_up.hint if outcome.given_up is not None else None)
    if hint:
        printer.wrapped(hint, " " * 9, "idle", first="  hint   ")


def _reasons(outcome: Outcome) -> Iterator[tuple[str, str]]:
    state, given_up = outcome.state, outcome.given_up
    if given_up is not None:
        if given_up.state is not None:
            yield "state", printable(given_up.state)
        yield "why", given_up.message
        return
    if state.status == "SUCCEEDED":
        return
    failed = outcome.story.failed_visit
    if failed is not None:
        yield "state", printable(failed.name)
    elif state.status == "TIMED_OUT":
        yield "state", _still_running(outcome.story)
    if state.error is not None:
        yield "error", state.error
    elif state.status == "FAILED" and state.cause is None:
        yield "error", "none: the Fail state has neither Error nor Cause"
    if state.cause:
        yield "cause", _readable(state.cause)


def _still_running(story: Story) -> str:
    """The states that an execution was in when its time was over."""
    inmost = [visit for visit in story.visits() if visit.status == "stopped" and not visit.strands]
    names = list(dict.fromkeys(printable(visit.name) for visit in inmost))
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _readable(cause: str) -> str:
    """A cause that is JSON text, as functions' are, is indented."""
    if not cause.lstrip().startswith(("{", "[")):
        return cause
    from statewright.cli.output import json_text
    from statewright.payload import JsonTextError, parse_json

    try:
        return json_text(parse_json(cause))
    except JsonTextError:
        return cause


def failure_hint(outcome: Outcome) -> str | None:
    """Advice about a failure: the option that lifts the limit which ended the execution, or how to mend a mock."""
    if outcome.state.status != "FAILED":
        return _limit_hint(outcome)
    from statewright.simulator.hints import payload_hint

    return _limit_hint(outcome) or payload_hint(outcome.story, outcome.history, outcome.state.cause)


def _limit_hint(outcome: Outcome) -> str | None:
    state, limits = outcome.state, outcome.limits
    cause = state.cause or ""
    lifts = "--limits open lifts it"
    if limits.history_events is not None and state.error == RUNTIME and "maximum number of history events" in cause:
        return f"the service ends an execution at {limits.history_events:,} history events; {lifts}"
    if state.error == DATA_LIMIT and limits.payload_bytes is not None:
        return f"the service takes payloads of up to {limits.payload_bytes:,} bytes; {lifts}"
    longest = limits.execution_ms
    if state.status == "TIMED_OUT" and longest is not None and outcome.duration_ms >= longest:
        return f"the service ends an execution after {duration_words(longest)}; {lifts}"
    return None
