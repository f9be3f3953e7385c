"""An execution of a server, followed: its history as it grows, shown like the run of a file.

Owns polling, and turning what the API says into a `Story` and an `Outcome`. The tree is drawn in `live_tree.py`, the
result worded in `run_report.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from statewright.cli.client import Answer, Server, Unreachable, machine_of, short_name
from statewright.cli.live_tree import LiveTree, TreeView
from statewright.cli.output import INTERRUPTED, Printer, Span, count_words, json_text, stderr, stdout
from statewright.cli.run_report import GivenUp, Outcome
from statewright.cli.table import dated, length_words, local_time, print_facts, status_span

if TYPE_CHECKING:
    from statewright.asl.program import Program
    from statewright.interpreter.history import HistoryEvent
    from statewright.interpreter.state import ExecutionState
    from statewright.simulator.story import Attempt, Visit

FIRST_NAP_MS: Final = 50
LONGEST_NAP_MS: Final = 500
PATIENCE_MS: Final = 15_000
"""A restarted server continues its executions, so following them outlives a short absence."""
OPEN: Final = ("RUNNING", "PENDING_REDRIVE")
PAGE: Final = 1000


class Following:
    """One execution of a server and its display. `arn` is a STANDARD execution's.

    `quiet` shows nothing on the way; `stream_events` prints history events on the standard output as they come.
    """

    def __init__(self, server: Server, arn: str, *, quiet: bool = False, stream_events: bool = False) -> None:
        from statewright.cli.live_tree import LiveTree, PlainSteps, TreeView
        from statewright.clock import RealClock
        from statewright.simulator.story import Story

        self.server = server
        self.arn = arn
        self.clock = RealClock()
        self.notes = stderr()
        self.stream: Printer | None = stdout() if stream_events else None
        self.description = server.call("describe_execution", executionArn=arn)
        self.state = _state_of(self.description)
        program, states = definition_of(server, arn)
        self.history: list[HistoryEvent] = []
        self.tree: LiveTree | None = None
        self.view: TreeView | None = None
        self._away_ms = 0
        self._plain = PlainSteps(self.notes)
        listens = not quiet and not self.notes.is_terminal
        self.story = Story(program, self._print_step if listens else None)
        if not quiet and self.notes.is_terminal:
            self.view = TreeView(self.story, states)
            self.tree = LiveTree(self.notes, self.view, self.clock.now_ms)

    # ------------------------------------------------------------------ following

    def poll(self) -> bool:
        """Add the new history events; returns True if the execution has ended."""
        # Described first: the history read afterwards then holds its last event, if it has ended.
        self.description = self.server.call("describe_execution", executionArn=self.arn)
        for event in self._new_events():
            self.note(event)
        self.state = _state_of(self.description)
        return self.description["status"] not in OPEN

    def to_the_end(self) -> Outcome:
        """Poll until the execution ends or the user interrupts."""
        from statewright.cli.run_report import GivenUp

        given_up = None
        nap_ms = FIRST_NAP_MS
        try:
            with asyncio.Runner() as runner:
                while not self._looked():
                    known = len(self.history)
                    if self.tree is not None:
                        self.tree.tick(self.clock.now_ms())
                    if self.stream is not None:
                        self.stream.flush()
                    self.notes.flush()
                    runner.run(self.clock.sleep_until(self.clock.now_ms() + nap_ms))
                    nap_ms = min(nap_ms * 2, LONGEST_NAP_MS) if known == len(self.history) else FIRST_NAP_MS
        except KeyboardInterrupt:
            name = f"{machine_of(self.arn)}:{self.description['name']}"
            hint = f"to stop it: {self.server.words(f'execution stop {name}')}"
            given_up = GivenUp("INTERRUPTED", "The execution continues on the server.", hint=hint)
        finally:
            if self.tree is not None:
                self.tree.stop()
        return self.outcome(given_up)

    def note(self, event: HistoryEvent) -> None:
        """Add a history event."""
        self.history.append(event)
        self.story.note(self.state, event)
        if self.stream is not None:
            from statewright.cli.run_report import history_document

            self.stream.json(history_document(event), compact=True)

    def outcome(self, given_up: GivenUp | None = None) -> Outcome:
        """The run up to the latest event."""
        from statewright.cli.run_report import Outcome
        from statewright.cost.execution_usage import transitions_of
        from statewright.limits import AWS

        self.state.transitions = transitions_of(self.history)
        now_ms = self.clock.now_ms()
        return Outcome(self.story, self.state, self.history, self.state.transitions, now_ms, AWS, given_up)

    def _looked(self) -> bool:
        try:
            over = self.poll()
        except Unreachable:
            now_ms = self.clock.now_ms()
            if not self._away_ms:
                self._away_ms = now_ms
                self.notes.line(("The server does not answer; waiting for it.", "wait"))
            if now_ms - self._away_ms > PATIENCE_MS:
                raise
            return False
        self._away_ms = 0
        return over

    def _new_events(self) -> list[HistoryEvent]:
        """The new history events, read from the end because a history may be long; the first call reads all of them."""
        if not self.history:
            pages = self.server.pages("get_execution_history", "events", executionArn=self.arn)
            return [_event_of(shown) for shown in pages]
        last = self.history[-1].id
        new = []
        for shown in self.server.pages("get_execution_history", "events", executionArn=self.arn, reverseOrder=True):
            if shown["id"] <= last:
                break
            new.append(_event_of(shown))
        return new[::-1]

    def _print_step(self, visit: Visit, attempt: Attempt | None) -> None:
        self._plain.told(visit, attempt)


def show_outcome(following: Following, outcome: Outcome, form: str, *, quiet: bool = False) -> int:
    """Print how it ended, and its output; returns the exit code."""
    from statewright.cli.run_report import print_outcome, summary

    notes, results = following.notes, stdout()
    if following.view is not None:
        notes.cropped(following.view.lines(outcome.now_ms))
    if not quiet or outcome.exit_code:
        print_outcome(notes, outcome, virtual=False)
    if following.view is not None:
        notes.line()
    notes.flush()
    if form == "table":
        if outcome.state.output is not None and outcome.exit_code != INTERRUPTED:
            results.json(outcome.state.output.value)
    else:
        results.json({**named(following.description), **summary(outcome)}, compact=form == "jsonl")
    return outcome.exit_code


def named(description: Answer) -> dict[str, Any]:
    """The members of a document that identify the execution."""
    members = (
        "executionArn", "name", "stateMachineArn", "stateMachineVersionArn", "stateMachineAliasArn", "mapRunArn",
        "redriveCount", "redriveDate", "redriveStatus", "redriveStatusReason",
    )  # fmt: skip
    shown: dict[str, Any] = dated({name: description[name] for name in members if name in description})
    return shown


def definition_of(server: Server, arn: str) -> tuple[Program, Mapping[str, Any]]:
    """The program that an execution runs, and its states as written, by name."""
    from statewright.asl.compile import compile_definition
    from statewright.asl.outline import nodes_by_name
    from statewright.payload import parse_json

    found = server.call("describe_state_machine_for_execution", executionArn=arn)
    definition = parse_json(found["definition"])
    states = nodes_by_name(definition)
    return compile_definition(definition), states


def _event_of(shown: Answer) -> HistoryEvent:
    from statewright.interpreter.history import HistoryEvent

    details = next((value for name, value in shown.items() if name.endswith("EventDetails")), None)
    if details is not None:
        # `to_api` adds these again.
        details = {name: value for name, value in details.items() if not _is_truncation(value)}
    return HistoryEvent(shown["id"], shown.get("previousEventId", 0), shown["timestamp"], shown["type"], details)


def _is_truncation(value: object) -> bool:
    return isinstance(value, dict) and value.keys() <= {"truncated", "included"}


def _state_of(description: Answer) -> ExecutionState:
    from statewright.interpreter.state import ExecutionState, Identity
    from statewright.payload import Payload

    machine = description["stateMachineArn"]
    identity = Identity(
        description["executionArn"], description["name"], machine, machine_of(machine), "",
        map_run_arn=description.get("mapRunArn"),
    )  # fmt: skip
    state = ExecutionState(identity, Payload.from_text(description.get("input", "{}")), b"")
    state.status = description["status"]
    state.started_ms = description["startDate"]
    state.stopped_ms = description.get("stopDate")
    state.error, state.cause = description.get("error"), description.get("cause")
    state.redrive_count = description.get("redriveCount", 0)
    if description.get("output") is not None:
        state.output = Payload.from_text(description["output"])
    return state


def follow_to_the_end(server: Server, arn: str, form: str, *, quiet: bool = False) -> int:
    """Follow an execution and print how it ended; returns the exit code."""
    following = Following(server, arn, quiet=quiet, stream_events=form == "jsonl")
    if following.notes.is_terminal and not quiet:
        following.notes.line((short_name(arn), "strong"), (f" · {server.endpoint}", "idle"))
        following.notes.line()
    return show_outcome(following, following.to_the_end(), form, quiet=quiet)


def print_execution(following: Following) -> None:
    """Show an execution: facts, and its tree."""
    printer = stdout()
    shown = following.description
    now_ms = following.clock.now_ms()
    state = following.state
    outcome = following.outcome()
    length = length_words(shown["startDate"], shown.get("stopDate"), now_ms)
    short = short_name(shown["executionArn"])
    words = (length, count_words(outcome.transitions, "transition"), count_words(len(outcome.history), "event"))
    facts: list[tuple[str, Span | None]] = [
        ("execution", (short, "strong")),
        ("arn", shown["executionArn"]),
        ("version", _last(shown.get("stateMachineVersionArn"))),
        ("alias", _last(shown.get("stateMachineAliasArn"))),
        ("map run", shown.get("mapRunArn")),
        ("status", status_span(shown["status"])),
        ("started", local_time(shown["startDate"]) + " UTC"),
        ("took" if shown.get("stopDate") else "runs for", " · ".join(words)),
        ("redrives", str(shown["redriveCount"]) if shown.get("redriveCount") else None),
        ("input", json_text(state.input.value, compact=True)),
        ("output", json_text(state.output.value, compact=True) if state.output is not None else None),
        ("error", shown.get("error")),
        ("cause", shown.get("cause")),
        ("redrive", following.server.words(f"execution redrive {short}") if _redrivable(shown) else None),
    ]
    print_facts(printer, facts)
    printer.line()
    states = definition_of(following.server, following.arn)[1]
    printer.cropped(TreeView(following.story, states).lines(now_ms))


def _last(arn: str | None) -> str | None:
    return arn.rpartition(":")[2] if arn else None


def _redrivable(shown: Answer) -> bool:
    return shown.get("redriveStatus") == "REDRIVABLE"
