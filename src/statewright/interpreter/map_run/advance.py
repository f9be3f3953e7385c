"""`advance_map_run`: the coordinator of a distributed Map. One event in, commands out. Pure, like `advance`.

It reads items in slices, keeps at most so many child executions running, counts how they end, decides if the run
continues, and reports to the parent. A child's end costs the same however many children there are; only a redrive and
the result read all of them. Items become inputs in `items.py`, outputs a result in `results.py`.

Source: developer guide, "Using Map state in Distributed mode" and "Redriving Map Runs".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from statewright.asl.program import MapDef
from statewright.errors import DATA_LIMIT, RUNTIME, ExecutionFailure, WordedFailure
from statewright.interpreter.map_run import messages
from statewright.interpreter.map_run.items import (
    Selected,
    close_batch,
    own_items,
    select,
    selection_of,
    take_items,
    with_keys,
)
from statewright.interpreter.map_run.messages import MapRunCommand, MapRunEvent
from statewright.interpreter.map_run.results import bucket_of, exported_result, folder_of, needs_records, result_of
from statewright.interpreter.map_run.state import (
    ABORTED,
    FAILED,
    PENDING,
    PENDING_REDRIVE,
    RUNNING,
    SUCCEEDED,
    TIMED_OUT,
    UNSUCCESSFUL,
    MapChild,
    MapRunState,
    MapRunStatus,
    child_name,
    exceeds_tolerance,
)
from statewright.interpreter.map_run.turn import Turn
from statewright.interpreter.phases import CLOSED, OPEN, STOPPING, WRITING
from statewright.limits import AWS, CAUSE_CHARACTERS, Limits
from statewright.payload import Json
from statewright.query.fence import LeavesTheLoop

READER_FAILED: Final = "States.ItemReaderFailed"
WRITER_FAILED: Final = "States.ResultWriterFailed"
THRESHOLD_EXCEEDED: Final = "States.ExceedToleratedFailureThreshold"

BUDGET: Final = 200
"""Children that one call may start, and items that it may read, before it yields. Ours: some milliseconds."""
SLICE_ITEMS: Final = 100
"""Items per request."""
BACKLOG: Final = 1_000
"""No more items are requested while this many children wait, unless a percentage needs the total."""

_ENDED: Final = {"SUCCEEDED": SUCCEEDED, "FAILED": FAILED, "TIMED_OUT": TIMED_OUT, "ABORTED": ABORTED}


@dataclass(slots=True)
class MapRunStep:
    """The output of one call of `advance_map_run`. Commit it with the state, then dispatch the commands.

    `changed` are the indexes of children whose rows are to be written. `cleared`: all rows are to be deleted.
    """

    commands: list[MapRunCommand]
    changed: set[int]
    cleared: bool = False


def advance_map_run(
    definition: MapDef,
    state: MapRunState,
    event: MapRunEvent,
    now_ms: int,
    *,
    limits: Limits = AWS,
    budget: int = BUDGET,
) -> MapRunStep:
    """Apply one event to the run, in place, and do all the work that needs no other event.

    `definition` is the Map state's body, `limits` are the parent's. A late or repeated event changes nothing.
    """
    turn = Turn(definition, state, now_ms, limits, budget)
    _ON[type(event)](turn, event)
    return MapRunStep(turn.commands, turn.changed, turn.cleared)


# ------------------------------------------------------------------ continuing


def _work(turn: Turn) -> None:
    """Start children and take items until the limits, the last item, or the end of the budget."""
    state = turn.state
    while state.phase == OPEN:
        startable = state.again or state.next_pending < len(state.children)
        if turn.budget <= 0:
            turn.commands.append(messages.ContinueRun())
            return
        if startable and (state.max_concurrency == 0 or state.running < state.max_concurrency):
            _start_next(turn)
        elif state.settings.items is not None and not state.read_all and not state.reading:
            _take_own_items(turn)
        else:
            break
    if state.phase != OPEN:
        return
    if not state.read_all:
        _ask_for_items(turn)
    elif state.running == 0 and state.next_pending == len(state.children):
        _begin_end(turn, "SUCCEEDED", None, None)


def _start_next(turn: Turn) -> None:
    state = turn.state
    turn.budget -= 1
    if state.again:
        child = state.children[state.again.popleft()]
        state.move(child, PENDING_REDRIVE, RUNNING)
        child.redrives += 1
        afresh = turn.express
    else:
        child = state.children[state.next_pending]
        state.next_pending += 1
        state.move(child, PENDING, RUNNING)
        afresh = True
    name = child_name(state.settings.map_run_arn, child.index)
    child.status = RUNNING
    child.attempt = state.redrive_count
    child.output = child.error = child.cause = None
    if afresh:
        child.started_ms = turn.now_ms
        assert child.input is not None
        start = messages.StartChild(child.index, child.attempt, name, child.input, child.item_count)
        turn.commands.append(start)
    else:
        turn.commands.append(messages.RedriveChild(child.index, child.attempt, name))
    turn.changed.add(child.index)


def _take_own_items(turn: Turn) -> None:
    """Take the next slice of the items that the Map's input holds."""
    state = turn.state
    items, keys = own_items(state, max(1, min(SLICE_ITEMS, turn.budget)))
    turn.budget -= len(items)
    _take(turn, messages.ItemsRead(state.items_read, items, len(items) == 0, keys))


def _ask_for_items(turn: Turn) -> None:
    state = turn.state
    if (state.settings.max_items or 0) < 0:
        _fail(turn, READER_FAILED, "field MaxItems must be positive")
        return
    percentage = state.tolerated_percentage
    # A percentage needs the number of all items.
    needs_total = state.total_items is None and percentage is not None and percentage < 100
    if state.reading or (not needs_total and state.executions[PENDING] >= BACKLOG):
        return
    state.reading = True
    turn.commands.append(messages.ReadItems(state.items_read, SLICE_ITEMS))


def _take(turn: Turn, event: messages.ItemsRead) -> None:
    """Make children of a slice; ends the reading with the last one."""
    state = turn.state
    settings = state.settings
    items = event.items
    last = event.last
    if settings.max_items is not None and state.items_read + len(items) >= settings.max_items:
        items = items[: settings.max_items - state.items_read]
        last = True
    if event.total is not None:
        state.total_items = min(event.total, settings.max_items or event.total)
    selector = turn.definition.item_selector
    if selector is None:
        _add(turn, with_keys(items, event.keys), None, last)
        return
    selection = selection_of(state, items, event.keys, event.source, turn.now_ms)
    try:
        selected = select(selector, selection)
    except LeavesTheLoop:
        state.reading = True
        turn.commands.append(messages.SelectItems(selection, last))
    else:
        _add_selected(turn, selected, last)


def _add_selected(turn: Turn, selected: Selected, last: bool) -> None:
    turn.state.entropy.counter = selected.drawn
    failure = selected.failure
    if failure is None:
        _add(turn, selected.values, None, last)
        return
    kind = WordedFailure if selected.is_worded else ExecutionFailure
    _add(turn, selected.values, kind(failure.error or RUNTIME, failure.cause or ""), last)


def _add(turn: Turn, values: Sequence[Json], problem: ExecutionFailure | None, last: bool) -> None:
    """Make children of the inputs of a slice, of which one after these may have failed."""
    state = turn.state
    known = len(state.children)
    try:
        take_items(state, values, turn.limits.payload_bytes)
        if problem is not None:
            raise problem
    except ExecutionFailure as failure:
        _fail(turn, failure.error, _worded(state, failure))
    else:
        if last:
            state.read_all = True
            state.total_items = state.items_read
            close_batch(state)
    turn.changed.update(range(known, len(state.children)))


def _worded(state: MapRunState, problem: ExecutionFailure) -> str:
    if isinstance(problem, WordedFailure):
        return problem.cause
    where = f"the state '{state.settings.state}' (entered at the event id #{state.settings.entered_event})"
    return f"An error occurred while executing {where}. {problem.cause}"[:CAUSE_CHARACTERS]


# ------------------------------------------------------------------ one handler for each event


def _on_started(turn: Turn, _event: messages.RunStarted) -> None:
    state = turn.state
    if state.started_ms or state.phase != OPEN:
        return
    state.started_ms = turn.now_ms
    if state.settings.items is not None:
        state.total_items = len(state.settings.items.value)
    _work(turn)


def _on_continued(turn: Turn, _event: messages.RunContinued) -> None:
    _work(turn)


def _on_items_read(turn: Turn, event: messages.ItemsRead) -> None:
    state = turn.state
    if state.phase != OPEN or not state.reading or event.first != state.items_read:
        return
    state.reading = False
    _take(turn, event)
    _judge_and_work(turn)


def _on_items_selected(turn: Turn, event: messages.ItemsSelected) -> None:
    state = turn.state
    if state.phase != OPEN or not state.reading or event.first != state.items_read:
        return
    state.reading = False
    _add_selected(turn, event.selected, event.last)
    _judge_and_work(turn)


def _on_read_failed(turn: Turn, event: messages.ReadFailed) -> None:
    state = turn.state
    if state.phase == OPEN and state.reading:
        state.reading = False
        _fail(turn, READER_FAILED, event.cause)


def _on_child_ended(turn: Turn, event: messages.ChildEnded) -> None:
    state = turn.state
    children = state.children
    if not 0 <= event.index < len(children):
        return
    child = children[event.index]
    if child.status != RUNNING or child.attempt != event.attempt:
        return
    status = _ENDED[event.status]
    state.move(child, RUNNING, status)
    child.status = status
    child.stopped_ms = turn.now_ms
    child.output, child.error, child.cause = event.output, event.error, event.cause
    child.redrivable = event.redrivable
    if status == SUCCEEDED and not needs_records(turn.definition):
        child.input = None
    turn.changed.add(child.index)
    if state.phase == OPEN:
        _judge_and_work(turn)
    elif state.phase == STOPPING and state.running == 0:
        _finish(turn)


def _on_updated(turn: Turn, event: messages.RunUpdated) -> None:
    state = turn.state
    if state.phase != OPEN:
        return
    if event.max_concurrency is not None:
        most = turn.limits.map_run_concurrency or 0
        wanted = event.max_concurrency or most
        state.max_concurrency = min(wanted, most) if most else wanted
    if event.tolerated_count is not None:
        state.tolerated_count = event.tolerated_count
    if event.tolerated_percentage is not None:
        state.tolerated_percentage = event.tolerated_percentage
    _judge_and_work(turn)


def _judge_and_work(turn: Turn) -> None:
    """Fail if too many items have failed; continue otherwise."""
    state = turn.state
    if state.phase == OPEN and exceeds_tolerance(state):
        _fail(turn, THRESHOLD_EXCEEDED, "The specified tolerated failure threshold was exceeded")
    else:
        _work(turn)


def _on_results_written(turn: Turn, _event: messages.ResultsWritten) -> None:
    state = turn.state
    if state.phase != WRITING:
        return
    _count_written(state)
    if state.ending == "SUCCEEDED":
        state.output = exported_result(state)
    _close(turn)


def _on_write_failed(turn: Turn, event: messages.WriteFailed) -> None:
    state = turn.state
    if state.phase != WRITING:
        return
    if state.ending == "SUCCEEDED":
        state.ending, state.error, state.cause = "FAILED", WRITER_FAILED, event.cause
    _close(turn)


def _on_stopped(turn: Turn, _event: messages.RunStopped) -> None:
    state = turn.state
    if state.phase == OPEN:
        _begin_end(turn, "ABORTED", None, None)
    elif state.phase == WRITING and state.ending == "SUCCEEDED":
        state.ending = "ABORTED"


# ------------------------------------------------------------------ ends


def _fail(turn: Turn, error: str, cause: str) -> None:
    _begin_end(turn, "FAILED", error, cause)


def _begin_end(turn: Turn, ending: MapRunStatus, error: str | None, cause: str | None) -> None:
    """Decide how the run ends, which it does once no child runs. Pending children stay pending."""
    state = turn.state
    state.ending, state.error, state.cause = ending, error, cause
    state.phase = STOPPING
    state.reading = False
    while state.again:
        child = state.children[state.again.popleft()]
        state.move(child, PENDING_REDRIVE, child.status)
    if state.running:
        turn.commands.append(messages.StopChildren())
    else:
        _finish(turn)


def _finish(turn: Turn) -> None:
    """No child runs any more: write the results, or report."""
    state = turn.state
    exports = state.settings.writer is not None
    if exports and (state.ending == "SUCCEEDED" or state.children):
        state.phase = WRITING
        turn.commands.append(messages.WriteResults(bucket_of(state), folder_of(state), state.settings.writer))
        return
    if state.ending == "SUCCEEDED":
        _assemble(turn)
    _close(turn)


def _assemble(turn: Turn) -> None:
    """Make the result of the children's outputs, unless it is too large."""
    state = turn.state
    output = result_of(state, turn.definition)
    limit = turn.limits.payload_bytes
    if limit is not None and output.size_bytes > limit:
        state.ending, state.error = "FAILED", DATA_LIMIT
        what = "returned a result with a size exceeding the maximum number of bytes service limit."
        state.cause = f"The state/task '{state.settings.state}' {what}"
        return
    state.output = output
    _count_written(state)


def _count_written(state: MapRunState) -> None:
    executions, items = state.executions, state.items
    state.results_written = (sum(executions) - executions[PENDING], sum(items) - items[PENDING])


def _close(turn: Turn) -> None:
    """Close the run, report to the parent, and apply a redrive that came early."""
    state = turn.state
    assert state.ending is not None
    state.status = state.ending
    state.phase = CLOSED
    state.stopped_ms = turn.now_ms
    _report(turn)
    if state.status == "SUCCEEDED":
        state.children = []
        state.next_pending = 0
        turn.changed.clear()
        turn.cleared = True
    waiting = state.redrive_waiting
    if waiting is not None:
        state.redrive_waiting = None
        _on_redriven(turn, messages.RunRedriven(*waiting))


def _report(turn: Turn) -> None:
    state = turn.state
    if state.status == "SUCCEEDED":
        assert state.output is not None
        turn.commands.append(messages.SucceedRun(state.task_id, state.output))
    elif state.status == "FAILED":
        turn.commands.append(messages.FailRun(state.task_id, state.error or RUNTIME, state.cause or ""))


# ------------------------------------------------------------------ redrive


def _on_redriven(turn: Turn, event: messages.RunRedriven) -> None:
    """Open a closed run again: unsuccessful children first, then those never started, then items not yet read."""
    state = turn.state
    if event.redrive_count <= state.redrive_count:
        return
    if state.phase != CLOSED:
        # The run first finishes cancelling children or writing results.
        state.redrive_waiting = (event.task_id, event.redrive_count)
        return
    state.task_id = event.task_id
    if state.status == "SUCCEEDED":
        # It ended while its parent was being stopped, so the end was not reported.
        _report(turn)
        return
    most = turn.limits.map_run_redrives
    if most is not None and event.redrive_count > most:
        cause = f"The Map Run exceeded the maximum number of redrives ({most})."
        turn.commands.append(messages.FailRun(state.task_id, RUNTIME, cause))
        return
    state.status, state.phase, state.ending = "RUNNING", OPEN, None
    state.error = state.cause = None
    state.stopped_ms = None
    state.redrive_count = event.redrive_count
    state.redriven_ms = turn.now_ms
    # Express executions are started afresh, so their age does not matter.
    period_ms = None if turn.express else turn.limits.redrivable_period_ms
    state.redrivable_since_ms = 0 if period_ms is None else turn.now_ms - period_ms
    state.results_written = (0, 0)
    _line_up_again(turn)
    _judge_and_work(turn)


def _line_up_again(turn: Turn) -> None:
    state = turn.state
    lost: list[MapChild] = []
    for child in state.children:
        if state.waits_again(child):
            state.again.append(child.index)
            state.move(child, child.status, PENDING_REDRIVE)
        elif child.status in UNSUCCESSFUL:
            lost.append(child)
    state.not_redrivable = (len(lost), sum(child.item_count for child in lost))


_ON: Final[dict[type, Callable[..., None]]] = {
    messages.RunStarted: _on_started,
    messages.RunContinued: _on_continued,
    messages.ItemsRead: _on_items_read,
    messages.ItemsSelected: _on_items_selected,
    messages.ReadFailed: _on_read_failed,
    messages.ChildEnded: _on_child_ended,
    messages.RunUpdated: _on_updated,
    messages.ResultsWritten: _on_results_written,
    messages.WriteFailed: _on_write_failed,
    messages.RunStopped: _on_stopped,
    messages.RunRedriven: _on_redriven,
}
