"""Distributed Maps in virtual time: a Map Run, its items from a mock, its child executions on the same clock.

A child execution is a `Running` like its parent. What the ItemReader reads is the answer of a mock for the Map state
itself (by name, or by the reader's resource); what a ResultWriter writes is kept on the parent's `Run`. When the run
starts children and how it ends is decided in `interpreter.map_run`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from statewright.asl.program import Program
from statewright.interpreter import events
from statewright.interpreter.commands import RedriveMapRun, StartMapRun, StopMapRun
from statewright.interpreter.map_run import messages
from statewright.interpreter.map_run.advance import advance_map_run
from statewright.interpreter.map_run.messages import MapRunEvent
from statewright.interpreter.map_run.results import manifest_of, result_files
from statewright.interpreter.map_run.state import (
    MapRunState,
    child_execution_arn,
    child_machine_arn,
    child_seed,
    labelled_machine,
    new_map_run,
)
from statewright.interpreter.state import Identity
from statewright.limits import EXPRESS, Limits
from statewright.payload import Json, dump_json
from statewright.simulator.mocks import Returned, Threw
from statewright.simulator.running import Handler, Running

NOT_ITERABLE: Final = "Attempting to map over non-iterable node."
"""Observed: the cause when the data is neither a list nor an object."""

WRITER_RESOURCE: Final = "arn:aws:states:::s3:putObject"


class RunningMapRun:
    """One Map Run under way."""

    def __init__(self, parent: Running, command: StartMapRun) -> None:
        self.parent = parent
        self.command = command
        self.definition = command.definition
        self.state: MapRunState = new_map_run(command, parent.result.state.identity.execution_arn)
        self.program: Program = parent.program.child_program(command.scope)
        self.limits = _child_limits(self.definition.distributed, parent.limits)
        self.children: dict[int, Running] = {}
        """Those that run, and those that a redrive may need."""
        self.read: tuple[Sequence[Json], Sequence[str] | None] | None = None
        self._events: deque[MapRunEvent] = deque()
        self._busy = False

    def deliver(self, event: MapRunEvent) -> None:
        """Tell the run what happened, and do what it asks for.

        Events that occur meanwhile are applied afterwards: a child that ends at once must not start the next inside it.
        """
        self._events.append(event)
        if self._busy:
            return
        self._busy = True
        try:
            while self._events:
                timeline = self.parent.timeline
                step = advance_map_run(
                    self.definition, self.state, self._events.popleft(), timeline.now_ms, limits=self.parent.limits
                )
                for command in step.commands:
                    _DO[type(command)](self, command)
        finally:
            self._busy = False

    def deliver_soon(self, event: MapRunEvent, after_ms: int = 0) -> None:
        """Deliver a message to the run, after the current event at the soonest."""
        timeline = self.parent.timeline
        timeline.at(timeline.now_ms + after_ms, lambda: self.deliver(event))

    def redrive(self, command: RedriveMapRun) -> None:
        """Run the unsuccessful children again."""
        self.deliver_soon(messages.RunRedriven(command.task_id, command.redrive_count))

    # ------------------------------------------------------------------ items

    def read_items(self, command: messages.ReadItems) -> None:
        """Hand out a slice of what the reader's mock returned; asks the mock the first time."""
        if self.read is None:
            self._ask_reader(command)
            return
        values, keys = self.read
        end = command.first + command.count
        slice_keys = keys[command.first : end] if keys is not None else None
        last = end >= len(values)
        self.deliver(messages.ItemsRead(command.first, values[command.first : end], last, slice_keys, len(values)))

    def _ask_reader(self, command: messages.ReadItems) -> None:
        distributed = self.definition.distributed
        assert distributed is not None
        assert distributed.reader is not None
        answer = self.parent.ask(
            self.command.state,
            distributed.reader.resource.arn,
            self.command.reader,
            self.command.iterations,
            self.command.attempt,
            hint=f"An ItemReader's mock returns its items, for example `{self.command.state}: {{returns: [1, 2]}}`.",
        )
        assert answer is not None
        outcome = answer.outcome
        if isinstance(outcome, Returned):
            value = outcome.value
            if isinstance(value, dict):
                self.read = (list(value.values()), list(value))
            elif isinstance(value, list):
                self.read = (value, None)
            else:
                self.deliver_soon(messages.ReadFailed(NOT_ITERABLE), answer.delay_ms)
                return
            timeline = self.parent.timeline
            timeline.at(timeline.now_ms + answer.delay_ms, lambda: self.read_items(command))
        elif isinstance(outcome, Threw):
            self.deliver_soon(messages.ReadFailed(outcome.cause or outcome.error or ""), answer.delay_ms)

    # ------------------------------------------------------------------ children

    def start_child(self, command: messages.StartChild) -> None:
        """Start a child execution; it may end at once."""
        arn = self.command.map_run_arn
        own = self.parent.result.state.identity
        distributed = self.definition.distributed
        assert distributed is not None
        identity = Identity(
            child_execution_arn(arn, command.name),
            command.name,
            child_machine_arn(arn),
            labelled_machine(arn),
            own.role_arn,
            own.region,
            distributed.execution_type,
            map_run_arn=arn,
        )
        child = self.parent.start_child(
            self.program,
            identity,
            command.input,
            child_seed(self.state, command.index),
            self.limits,
            (*self.command.iterations, command.index),
        )
        self._run(child, command.index, command.attempt, events.ExecutionStarted())

    def redrive_child(self, command: messages.RedriveChild) -> None:
        """Go on with a child execution that failed."""
        child = self.children[command.index]
        self._run(child, command.index, command.attempt, events.ExecutionRedriven())

    def _run(self, child: Running, index: int, attempt: int, event: events.Event) -> None:
        self.children[index] = child
        child.on_end = partial(self._child_ended, child, index, attempt)
        child.deliver(event)

    def _child_ended(self, child: Running, index: int, attempt: int) -> None:
        state = child.result.state
        if state.status == "SUCCEEDED" or state.identity.execution_type == "EXPRESS":
            del self.children[index]
        most = child.limits.history_events
        redrivable = most is None or state.last_event_id < most - 1
        status: Any = state.status
        self.deliver(messages.ChildEnded(index, attempt, status, state.output, state.error, state.cause, redrivable))

    def stop_children(self, _command: messages.StopChildren) -> None:
        """Stop all that run."""
        for child in list(self.children.values()):
            child.deliver(events.ExecutionStopped())

    # ------------------------------------------------------------------ results

    def write_results(self, command: messages.WriteResults) -> None:
        """Keep the files on the parent's `Run`; a mock for the writer may refuse them."""
        answer = self.parent.ask(
            f"{self.command.state}/ResultWriter", WRITER_RESOURCE, command.arguments, self.command.iterations, 0
        )
        outcome = answer.outcome if answer is not None else None
        if isinstance(outcome, Threw):
            self.deliver(messages.WriteFailed(outcome.cause or outcome.error or ""))
            return
        parts: dict[tuple[str, str], list[bytes]] = {}
        for chunk in result_files(self.state, self.definition):
            parts.setdefault((chunk.kind, chunk.file), []).append(chunk.data)
        files = {key: b"".join(chunks) for key, chunks in parts.items()}
        folder = f"s3://{command.bucket}/{command.folder}"
        written = self.parent.result.written
        for (_kind, file), data in files.items():
            written[f"{folder}/{file}"] = data.decode()
        manifest = manifest_of(self.state, {key: len(data) for key, data in files.items()})
        written[f"{folder}/manifest.json"] = dump_json(manifest)
        self.deliver(messages.ResultsWritten())

    def succeed(self, command: messages.SucceedRun) -> None:
        """Answer the parent after the current event."""
        self.parent.deliver_soon(events.MapRunSucceeded(command.task_id, command.output))

    def fail(self, command: messages.FailRun) -> None:
        """Answer the parent after the current event."""
        self.parent.deliver_soon(events.MapRunFailed(command.task_id, command.error, command.cause))

    def go_on(self, _command: messages.ContinueRun) -> None:
        """Go on at this same instant."""
        self.deliver(messages.RunContinued())


def _child_limits(distributed: Any, limits: Limits) -> Limits:
    if distributed.execution_type == "STANDARD":
        return limits
    longest = EXPRESS.execution_ms if limits.execution_ms is not None else None
    return replace(limits, history_events=None, execution_ms=longest)


_DO: Final[dict[type, Callable[[RunningMapRun, Any], None]]] = {
    messages.ReadItems: RunningMapRun.read_items,
    messages.StartChild: RunningMapRun.start_child,
    messages.RedriveChild: RunningMapRun.redrive_child,
    messages.StopChildren: RunningMapRun.stop_children,
    messages.WriteResults: RunningMapRun.write_results,
    messages.SucceedRun: RunningMapRun.succeed,
    messages.FailRun: RunningMapRun.fail,
    messages.ContinueRun: RunningMapRun.go_on,
}


class MapRuns:
    """The Map Runs of all executions on one clock, by ARN."""

    def __init__(self) -> None:
        self.runs: dict[str, RunningMapRun] = {}

    def handlers(self) -> dict[type, Handler]:
        """The handlers of an execution's commands that concern Map Runs."""
        return {StartMapRun: self._start, StopMapRun: self._stop, RedriveMapRun: self._redrive}

    def _start(self, parent: Running, command: StartMapRun) -> None:
        """Begin a Map Run, once the current event is handled."""
        run = self.runs[command.map_run_arn] = RunningMapRun(parent, command)
        run.deliver_soon(messages.RunStarted())

    def _stop(self, parent: Running, command: StopMapRun) -> None:
        """Stop a Map Run and its child executions."""
        for run in self.runs.values():
            if run.parent is parent and run.state.task_id == command.task_id:
                run.deliver(messages.RunStopped())

    def _redrive(self, _parent: Running, command: RedriveMapRun) -> None:
        """Run the unsuccessful child executions again."""
        self.runs[command.map_run_arn].redrive(command)
