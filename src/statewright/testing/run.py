"""One execution as a test sees it: time in steps, tokens, and what is asserted of its end, its way and its history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from statewright.asl.timestamps import format_timestamp
from statewright.interpreter.history import HistoryEvent
from statewright.payload import Json, JsonObject, dump_json, parse_json
from statewright.simulator.differences import ABSENT, Absent, differences, is_subsequence
from statewright.simulator.hints import payload_hint
from statewright.simulator.mocks import TaskCall
from statewright.simulator.story import Story, Visit
from statewright.testing.bench import Bench
from statewright.testing.recordings import Recording
from statewright.testing.snapshots import History
from statewright.testing.subject import Subject
from statewright.testing.tasks import OpenToken
from statewright.testing.waiting import waits_until_ms
from statewright.virtual.system import NeverHappened

FOR_EVER: Final = "364d"
"""A day less than the longest execution that the service allows."""
DAY_MS: Final = 86_400_000
_NAMES_OF_STATUS: Final = {"SUCCEEDED": "succeeded", "FAILED": "failed", "TIMED_OUT": "timed out", "ABORTED": "aborted"}


class Stalled(AssertionError):
    """An execution cannot go on, or not in time."""


@dataclass(frozen=True, slots=True)
class Visits:
    """Every stay in one state, children of Maps included."""

    state: str
    stays: list[Visit] = field(repr=False)
    calls: list[TaskCall] = field(repr=False)

    @property
    def count(self) -> int:
        """How often the state was entered."""
        return len(self.stays)

    @property
    def attempts(self) -> int:
        """How many tries were made, retries included."""
        return sum(len(stay.attempts) for stay in self.stays)

    @property
    def retries(self) -> int:
        """How many of the tries were made again."""
        return sum(attempt.retried_after_ms is not None for stay in self.stays for attempt in stay.attempts)

    @property
    def requests(self) -> list[Json]:
        """The arguments that the task has sent, try by try."""
        return [call.parameters for call in self.calls]

    def __len__(self) -> int:
        return len(self.stays)

    def __eq__(self, other: object) -> bool:
        return self.count == other if isinstance(other, int) else self is other

    __hash__ = None  # type: ignore[assignment]


class Token:
    """The task token of a task that waits."""

    def __init__(self, bench: Bench, state: str, token: str, parameters: Json) -> None:
        self._bench = bench
        self.state = state
        self.text = token
        self.request = parameters
        """The arguments that the task has sent."""

    def succeed(self, output: Json = None) -> None:
        """Answer with a result. Raises: ApiError when the task does not wait any more."""
        self._call("SendTaskSuccess", {"output": dump_json(output)})

    def fail(self, error: str | None = None, cause: str | None = None) -> None:
        """Answer with a failure. Raises: as `succeed`."""
        given = {"error": error, "cause": cause}
        self._call("SendTaskFailure", {name: value for name, value in given.items() if value is not None})

    def heartbeat(self) -> None:
        """Say that the work goes on. Raises: as `succeed`."""
        self._call("SendTaskHeartbeat", {})

    def _call(self, operation: str, request: dict[str, Json]) -> None:
        self._bench.system.call("stepfunctions", operation, {"taskToken": self.text, **request})


class Run:
    """One execution of a machine."""

    def __init__(self, bench: Bench, machine: Subject, recording: Recording) -> None:
        self.machine = machine
        self.recording = recording
        self._bench = bench
        self._used: set[str] = set()
        self._story: tuple[int, Story] | None = None

    # ------------------------------------------------------------------ what there is

    @property
    def arn(self) -> str:
        """The execution's ARN."""
        return self.recording.arn

    @property
    def name(self) -> str:
        """The execution's name."""
        return self.recording.head.execution_arn.split(":")[7]

    @property
    def status(self) -> str:
        """RUNNING, SUCCEEDED, FAILED, TIMED_OUT or ABORTED."""
        return self.recording.status

    @property
    def input(self) -> Json:
        """The execution's input."""
        return parse_json(self.recording.head.input)

    @property
    def output(self) -> Json:
        """The output; None unless it succeeded."""
        text = self._end().get("output")
        return parse_json(text) if isinstance(text, str) else None

    @property
    def error(self) -> str | None:
        """The error that it failed with."""
        return self._end().get("error")

    @property
    def cause(self) -> str | None:
        """The cause that it failed with."""
        return self._end().get("cause")

    @property
    def path(self) -> list[str]:
        """The states that were entered, in order, also in branches and items, without those of child executions."""
        return entered(self.recording.events)

    @property
    def duration(self) -> float:
        """Seconds of virtual time from the start until the end, or until now."""
        events = self.recording.events
        ended_ms = events[-1].at_ms if self.status != "RUNNING" else self._bench.system.now_ms
        return (ended_ms - events[0].at_ms) / 1000

    @property
    def story(self) -> Story:
        """The run as a tree of visits."""
        seen = len(self.recording.timeline)
        if self._story is None or self._story[0] != seen:
            self._story = seen, self.recording.story(self.machine.program)
        return self._story[1]

    @property
    def history(self) -> History:
        """The history events, which may be compared with a snapshot."""
        return History(self.recording, self._bench.snapshots, [one.token for one in self._bench.tasks.tokens])

    def visits(self, state: str) -> Visits:
        """Every stay in a state. Raises: ValueError for one that the machine does not have."""
        self.machine.check_state(state)
        calls = [call for call in self._bench.tasks.calls.get(self.arn, ()) if call.state == state]
        return Visits(state, [visit for visit in self.story.visits() if visit.name == state], calls)

    def standing(self) -> list[str]:
        """The states that it is in, inmost only."""
        inmost = [one for one in self.story.visits() if one.status == "running"]
        return list(dict.fromkeys(one.name for one in inmost if not any(strand.visits for strand in one.strands)))

    # ------------------------------------------------------------------ time

    def advance(self, duration: str | float) -> Run:
        """Let time pass. Raises: UnmockedTask."""
        __tracebackhide__ = True
        self._bench.system.advance(duration)
        return self.checked()

    def until(self, state: str, *, within: str | float = FOR_EVER) -> Run:
        """Let time pass until a state is entered, or entered anew if it has been left.

        Raises: Stalled, UnmockedTask.
        """
        __tracebackhide__ = True
        self.machine.check_state(state)
        before = self.path.count(state) if state not in self.standing() else -1
        events = self.recording.timeline
        self._wait(lambda: sum(_enters(event, state) for _, event in events) > before, within, f"entering {state}")
        return self

    def finish(self, *, within: str | float = FOR_EVER) -> Run:
        """Let time pass until it ends. Raises: Stalled, UnmockedTask."""
        __tracebackhide__ = True
        self._wait(lambda: self.status != "RUNNING", within, "its end")
        return self

    def stop(self, error: str | None = None, cause: str | None = None) -> Run:
        """Abort it."""
        given = {"executionArn": self.arn, "error": error, "cause": cause}
        self._bench.system.call("stepfunctions", "StopExecution", {k: v for k, v in given.items() if v is not None})
        return self

    def _wait(self, condition: Any, within: str | float, what: str) -> None:
        __tracebackhide__ = True
        problems = self._bench.tasks.problems
        try:
            self._bench.system.run_until(
                lambda: condition() or self.arn in problems or self.status != "RUNNING", within=within
            )
        except NeverHappened as never:
            self.checked()
            raise Stalled(self._stalled(what, within, is_late=within != FOR_EVER and "within" in str(never))) from None
        self.checked()
        if not condition():
            raise Stalled(f"{self._named()} {_NAMES_OF_STATUS[self.status]} before {what}{self._why()}")

    def checked(self) -> Run:
        """Raises: UnmockedTask, or what a mock has raised."""
        __tracebackhide__ = True
        problem = self._bench.tasks.problems.pop(self.arn, None)
        if problem is not None:
            raise problem
        return self

    def _stalled(self, what: str, within: str | float, *, is_late: bool) -> str:
        stands = ", ".join(f"'{name}'" for name in self.standing()) or "nowhere"
        if is_late:
            return f"{self._named()} did not come to {what} within {within}: it is in {stands}"
        until_ms = waits_until_ms(self._bench, self.recording)
        if until_ms is not None:
            days = -(-(until_ms - self._bench.system.now_ms) // DAY_MS)
            return (
                f"{self._named()} waits in {stands} until {format_timestamp(until_ms)}, for longer than {within}: "
                f'finish(within="{days + 1}d") goes on'
            )
        text = f"{self._named()} waits for ever in {stands}"
        state = next((one.state for one in reversed(self._open())), None)
        if state is None:
            return f"{text}: give its mock an answer, or the task a timeout"
        return (
            f"{text}: m.mock({dump_json(state)}).returns(...) answers, or m.start() and run.token({dump_json(state)})"
        )

    # ------------------------------------------------------------------ tokens

    def token(self, state: str | None = None) -> Token:
        """The token of a task that waits for one, the last of the state if there are several.

        Raises: LookupError when none does.
        """
        found = self.tokens(state)
        if not found:
            where = "no task" if state is None else f"'{state}'"
            stands = ", ".join(f"'{name}'" for name in self.standing()) or "nowhere: it has ended"
            raise LookupError(f"{where} of {self._named()} waits for a token; it is in {stands}")
        return found[-1]

    def tokens(self, state: str | None = None) -> list[Token]:
        """The tokens of all tasks that wait for one, of a state or of all, in the order of their calls."""
        return [self._taken(one) for one in self._open() if state is None or one.state == state]

    def _open(self) -> list[OpenToken]:
        standing = set(self.standing())
        return [one for one in self._bench.tasks.tokens if one.execution_arn == self.arn and one.state in standing]

    def _taken(self, one: OpenToken) -> Token:
        text = one.token
        if one.activity is not None and text not in self._used:
            # A worker has an activity's task before it answers.
            given = {"activityArn": one.activity, "workerName": "test"}
            text = self._bench.system.call("stepfunctions", "GetActivityTask", given).get("taskToken") or text
            self._used.add(text)
        return Token(self._bench, one.state, text, one.parameters)

    # ------------------------------------------------------------------ assertions

    def assert_succeeded(self, output: Json | Absent = ABSENT, *, output_contains: Json | Absent = ABSENT) -> Run:
        """It succeeded; with exactly this output, or one that has at least this."""
        __tracebackhide__ = True
        self._assert_status("SUCCEEDED")
        for wanted, subset in ((output, False), (output_contains, True)):
            found = differences(wanted, self.output, subset=subset) if wanted is not ABSENT else []
            if found:
                from statewright.testing.showing import differences_text

                raise AssertionError(f"the output of {self._named()} is another\n{differences_text(found)}")
        return self

    def assert_failed(
        self, error: str | None = None, cause: str | None = None, *, cause_contains: str | None = None
    ) -> Run:
        """It failed; with this error, this cause, these words in its cause."""
        __tracebackhide__ = True
        self._assert_status("FAILED")
        for what, wanted, got in (("error", error, self.error), ("cause", cause, self.cause)):
            if wanted is not None and wanted != got:
                raise AssertionError(
                    f"the {what} of {self._named()} is another\n    - wanted  {wanted}\n    + got     {got}"
                )
        if cause_contains is not None and cause_contains not in (self.cause or ""):
            raise AssertionError(
                f"the cause of {self._named()} does not say {cause_contains!r}\n    + got     {self.cause}"
            )
        return self

    def assert_timed_out(self) -> Run:
        """It was ended by the machine's timeout."""
        __tracebackhide__ = True
        return self._assert_status("TIMED_OUT")

    def assert_aborted(self) -> Run:
        """It was stopped."""
        __tracebackhide__ = True
        return self._assert_status("ABORTED")

    def assert_running(self, *states: str) -> Run:
        """It still runs; in these states, if any are named."""
        __tracebackhide__ = True
        self._assert_status("RUNNING")
        if states and set(states) != set(self.standing()):
            raise AssertionError(f"{self._named()} is in {self.standing()}, not in {sorted(states)}")
        return self

    def assert_path(self, *states: str) -> Run:
        """It entered exactly these states in this order."""
        __tracebackhide__ = True
        for state in states:
            self.machine.check_state(state)
        if list(states) != self.path:
            from statewright.testing.showing import path_text as shown

            raise AssertionError(
                f"{self._named()} took another path: - wanted, + came instead\n{shown(states, self.path)}"
            )
        return self

    def assert_path_contains(self, *states: str) -> Run:
        """It entered these states in this order, with any others between them."""
        __tracebackhide__ = True
        for state in states:
            self.machine.check_state(state)
        if not is_subsequence(states, self.path):
            raise AssertionError(f"{self._named()} did not pass {' → '.join(states)}: it took {' → '.join(self.path)}")
        return self

    def assert_not_visited(self, *states: str) -> Run:
        """It never entered these states."""
        __tracebackhide__ = True
        for state in states:
            if self.visits(state).count:
                raise AssertionError(f"{self._named()} entered '{state}' {self.visits(state).count} times")
        return self

    def _assert_status(self, wanted: str) -> Run:
        __tracebackhide__ = True
        self.checked()
        if self.status != wanted:
            expected = "run" if wanted == "RUNNING" else f"have {_NAMES_OF_STATUS[wanted]}"
            raise AssertionError(f"{self._named()} should {expected}, and is {self.status}{self._why()}")
        return self

    # ------------------------------------------------------------------ words

    def tree(self) -> str:
        """The way that it took, as a tree."""
        from statewright.testing.showing import tree_text

        return tree_text(self.story, self.machine.definition, self.recording.timeline[-1][1].at_ms)

    def svg(self) -> str:
        """The run on the machine's graph."""
        from statewright.testing.showing import drawing

        return drawing(self.story, self.machine.definition, f"{self.machine.name}: {self.status}")

    def __repr__(self) -> str:
        return f"<Run {self._named()}: {self.status}>"

    def _named(self) -> str:
        return f"{self.machine.name} ({self.name})"

    def _why(self) -> str:
        if self.error is None and self.cause is None:
            if self.status == "RUNNING":
                return f", in {', '.join(self.standing())}"
            return f"\n    with {dump_json(self.output)[:300]}" if self.status == "SUCCEEDED" else ""
        failed = self.story.failed_visit
        where = f" in '{failed.name}'" if failed is not None else ""
        hint = payload_hint(self.story, self.recording.events, self.cause) if self.status == "FAILED" else None
        advice = f"\n    hint   {hint}" if hint is not None else ""
        return f"{where}\n    error  {self.error}\n    cause  {self.cause}{advice}"

    def _end(self) -> JsonObject:
        return (self.recording.events[-1].details or {}) if self.status != "RUNNING" else {}


def entered(events: list[HistoryEvent]) -> list[str]:
    """The names of the states that were entered."""
    return list(_entered(events))


def _entered(events: list[HistoryEvent]) -> Iterator[str]:
    for event in events:
        if event.type.endswith("StateEntered") and event.details is not None:
            yield event.details["name"]


def _enters(event: HistoryEvent, state: str) -> bool:
    return event.type.endswith("StateEntered") and event.details is not None and event.details["name"] == state
