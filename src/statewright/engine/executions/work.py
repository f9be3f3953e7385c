"""One step of a live execution as one commit: what an event changes, and the effects that follow.

Owns which rows a command adds, changes or deletes, and that every open execution is named by one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import orjson

from statewright.clock import Pauses
from statewright.engine.dispatch import ScheduledCall, call_of, encode_call
from statewright.engine.executions.history_pages import encode_page
from statewright.engine.executions.kinds import ACTIVITY, CONTINUE, MAP_RUN, QUEUED, STOP_RUN, TASK, WAITER
from statewright.engine.executions.live import LiveExecution, encode_bodies
from statewright.engine.executions.views import Tail
from statewright.engine.heavy.steps import advance_on_loop
from statewright.engine.heavy.wire import Delivery
from statewright.engine.map_runs.requests import encode_request
from statewright.interpreter import commands, events
from statewright.interpreter.history import HistoryEvent
from statewright.interpreter.state import SERIAL_BITS, ExecutionState
from statewright.limits import BURST_TRANSITIONS
from statewright.payload import Payload
from statewright.stores.protocol import Commit, InboxRow, OutboxRow, Row, TimerRow

CLIENT_TOKENS: Final = 10
"""Source: API reference, RedriveExecution, `clientToken`."""

_TASK_EVENTS: Final = (
    events.TaskSucceeded,
    events.TaskFailed,
    events.TaskScheduleFailed,
    events.TaskStartFailed,
    events.TaskSubmitFailed,
    events.TaskRefused,
    events.TaskStarted,
    events.TaskSubmitted,
    events.MapRunSucceeded,
    events.MapRunFailed,
    events.MapRunMissing,
)


@dataclass(slots=True)
class Batch:
    """The contents of one commit, and the effects that follow once it is durable."""

    commit: Commit
    history: list[HistoryEvent] = field(default_factory=list)
    armed: list[tuple[int, int]] = field(default_factory=list)
    """(timer, due) pairs."""
    disarmed: list[int] = field(default_factory=list)
    calls: list[tuple[str, ScheduledCall, Payload]] = field(default_factory=list)
    """(kind of outbox row, call, parameters)."""
    map_runs: list[tuple[int, commands.StartMapRun | commands.RedriveMapRun]] = field(default_factory=list)
    stopped_map_runs: list[tuple[int, int]] = field(default_factory=list)
    """(inbox id, task id) pairs."""
    cancelled: list[int] = field(default_factory=list)
    """Ids of tasks whose effect is to be called off."""
    finished: list[int] = field(default_factory=list)
    """Ids of tasks that have their result."""
    transitions: int = 0
    goes_on: bool = False
    opened: bool = False
    closed: bool = False


class Work:
    """Applies events to a live execution and gathers what they change, up to one commit."""

    def __init__(
        self, live: LiveExecution, now_ms: int, next_id: Callable[[], int], region: str, pauses: Pauses
    ) -> None:
        assert live.state is not None
        assert live.program is not None
        self.live = live
        self.state: ExecutionState = live.state
        self.program = live.program
        self.now_ms = now_ms
        self.next_id = next_id
        self.region = region
        self.pauses = pauses
        self.budget = BURST_TRANSITIONS
        self.batch = Batch(Commit(live.row, live.version, None))
        self.status_before = live.row.status
        self.changed: set[int] = set()
        self.removed: set[int] = set()
        self.timers: dict[int, int] = {}
        self.timers_done: dict[int, int] = {}
        self.outbox: dict[int, OutboxRow] = {}
        """By outbox id."""
        self.outbox_done: list[int] = []
        self.inbox: list[InboxRow] = []
        self.inbox_done: list[int] = []
        self.completed: list[tuple[int, bytes]] = []
        """Outbox rows of tasks elsewhere that gave the inputs of this step."""
        self.tokens: tuple[tuple[str, int], ...] | None = None
        """The client tokens of redrives, where this step changes them."""
        self.touched = live.version == 0
        self.admitted = False
        """True if the execution leaves the queue in this step."""

    # ------------------------------------------------------------------ applying

    def apply(self, event: events.Event, call: ScheduledCall | None = None, delivery: Delivery | None = None) -> None:
        """Apply an event, and note what the interpreter asks for. `call` is the one whose result the event is.

        `delivery`: another process has computed the step. Raises: LeavesTheLoop.
        """
        live = self.live
        state = self.state
        before = state.transitions
        redrives = state.redrive_count
        if isinstance(event, events.TimerFired):
            due_ms = live.timers.pop(event.timer_id, None)
            if due_ms is None:
                # A stale timer is normal: it was called off while its firing was on its way.
                return
            self._timer_gone(event.timer_id, due_ms)
        self.admitted = self.admitted or isinstance(event, events.ExecutionAdmitted)
        submitting = isinstance(event, events.TaskSubmitted) and self._is_open(event.task_id)
        if delivery is not None:
            step = delivery.adopt(state, whole=False)
        else:
            step = advance_on_loop(
                self.program, state, event, self.now_ms, limits=live.limits, budget=self.budget, gone=live.gone
            )
        if state.redrive_count != redrives:
            self.batch.opened = True
        self.batch.transitions += state.transitions - before
        self.budget -= state.transitions - before
        self.batch.history += step.history
        self.changed |= step.changed
        self.removed |= step.removed
        if step.history or step.changed or step.removed:
            self.touched = True
        self.batch.goes_on = False
        for command in step.commands:
            _NOTE[type(command)](self, command)
        if isinstance(event, _TASK_EVENTS):
            self._task_moved(event.task_id, event, call if submitting else None)

    def _is_open(self, task_id: int) -> bool:
        frame = self.state.frame_of(task_id)
        return frame is not None and frame.task is not None and frame.task.id == task_id

    def _task_moved(self, task_id: int, event: events.Event, submitted: ScheduledCall | None) -> None:
        """An outbox row lives until the execution has what it needs from the effect."""
        row_id = self.live.outbox.get(task_id)
        if row_id is None:
            return
        if not self._is_open(task_id) or isinstance(event, events.TaskStarted):
            self._outbox_gone(task_id, row_id)
            self.batch.finished.append(task_id)
        elif submitted is not None and isinstance(event, events.TaskSubmitted):
            self._submitted(row_id, submitted, event.output)

    def _submitted(self, row_id: int, call: ScheduledCall, output: Payload) -> None:
        """Only a submitted job has to be followed up; a task that waits for a token waits in its frame alone."""
        task_id = call.task_id
        self._outbox_gone(task_id, row_id)
        if call.resource.pattern == "sync":
            new_id = self.next_id()
            body = encode_call(replace(call, submitted=output), Payload(call.parameters))
            self.outbox[new_id] = OutboxRow(new_id, self.live.id, TASK, body)
            self.live.outbox[task_id] = new_id

    # ------------------------------------------------------------------ one method a command

    def start_timer(self, command: commands.StartTimer) -> None:
        """Keep the timer."""
        due_ms = command.due_at_ms
        if command.is_pause:
            due_ms = self.pauses.due_ms(self.now_ms, due_ms)
        self.live.timers[command.timer_id] = due_ms
        self.timers[command.timer_id] = due_ms
        self.touched = True

    def cancel_timer(self, command: commands.CancelTimer) -> None:
        """Drop the timer."""
        due_ms = self.live.timers.pop(command.timer_id, None)
        if due_ms is not None:
            self._timer_gone(command.timer_id, due_ms)
            self.batch.disarmed.append(command.timer_id)

    def _timer_gone(self, timer_id: int, due_ms: int) -> None:
        self.touched = True
        if self.timers.pop(timer_id, None) is None:
            self.timers_done[timer_id] = due_ms

    def schedule_task(self, command: commands.ScheduleTask) -> None:
        """Put the call in the outbox."""
        head = self.live.head
        row_id = self.next_id()
        call = call_of(command, head.execution_arn, head.role_arn, self.region, row_id, self.now_ms, head.trace_header)
        kind = ACTIVITY if command.resource.kind == "activity" else TASK
        self.outbox[row_id] = OutboxRow(row_id, self.live.id, kind, encode_call(call, command.parameters))
        self.live.outbox[command.task_id] = row_id
        self.batch.calls.append((kind, call, command.parameters))

    def cancel_task(self, command: commands.CancelTask) -> None:
        """Take the call out of the outbox, or remember to call it off."""
        row_id = self.live.outbox.get(command.task_id)
        if row_id is not None:
            self._outbox_gone(command.task_id, row_id)
            self.batch.cancelled.append(command.task_id)

    def _outbox_gone(self, task_id: int, row_id: int) -> None:
        self.touched = True
        self.live.outbox.pop(task_id, None)
        self.changed.add(task_id >> SERIAL_BITS)
        if self.outbox.pop(row_id, None) is None:
            self.outbox_done.append(row_id)
        else:
            self.batch.calls = [one for one in self.batch.calls if one[1].task_id != task_id]
            self.batch.map_runs = [one for one in self.batch.map_runs if one[0] != row_id]

    def map_run(self, command: commands.StartMapRun | commands.RedriveMapRun) -> None:
        """Put the request to the Map Run in the outbox."""
        row_id = self.next_id()
        self.outbox[row_id] = OutboxRow(row_id, self.live.id, MAP_RUN, encode_request(command))
        self.live.outbox[command.task_id] = row_id
        self.batch.map_runs.append((row_id, command))

    def stop_map_run(self, command: commands.StopMapRun) -> None:
        """Take the Map Run out of the outbox, and remember to stop it."""
        row_id = self.live.outbox.get(command.task_id)
        if row_id is not None:
            begun = row_id not in self.outbox
            self._outbox_gone(command.task_id, row_id)
            if begun:
                inbox_id = self.next_id()
                self.inbox.append(InboxRow(inbox_id, self.live.id, STOP_RUN, orjson.dumps(command.task_id)))
                self.batch.stopped_map_runs.append((inbox_id, command.task_id))

    def go_on(self, _command: commands.ContinueBurst) -> None:
        """The budget is spent."""
        self.batch.goes_on = True
        self.touched = True

    def note_client_token(self, token: str) -> None:
        """Remember by which token a redrive was asked for."""
        kept = [one for one in self.live.tail.redrive_tokens if one[0] != token]
        redriven_ms = self.state.redriven_ms
        assert redriven_ms is not None
        self.tokens = (*kept, (token, redriven_ms))[-CLIENT_TOKENS:]

    # ------------------------------------------------------------------ the commit

    def finish(self) -> Batch | None:
        """The commit of everything so far; `None` when there is nothing to write."""
        if not self.touched and not self.inbox_done:
            return None
        live, state, batch = self.live, self.state, self.batch
        running = state.status == "RUNNING"
        if not running:
            self._sweep()
        # A redriven execution may close again in the same commit.
        batch.opened = batch.opened or not live.version
        status_changed = batch.opened or state.status != self.status_before
        batch.closed = status_changed and not running
        if status_changed or live.tail.quarantine is not None or self.tokens is not None:
            kept = self.tokens if self.tokens is not None else live.tail.redrive_tokens
            live.tail = Tail.of(state, kept)
            row = live.row
            live.row = Row(
                row.id, row.shard, row.machine, row.name, state.status, state.started_ms, state.stopped_ms, row.head,
                live.tail.encode(),
            )  # fmt: skip
        self._continuing(batch.goes_on and running)
        self._name(running)
        batch.armed = list(self.timers.items())
        succeeded = state.status == "SUCCEEDED"
        frames: dict[int, bytes] = {}
        texts: dict[bytes, bytes] = {}
        body: bytes | None = None
        if not succeeded:
            body, frames, texts = encode_bodies(live, self.changed)
        identity = live.id
        batch.commit = Commit(
            live.row,
            live.version,
            body,
            frames,
            () if succeeded else tuple(self.removed),
            texts,
            encode_page(batch.history, self.now_ms) if batch.history else None,
            [TimerRow(identity, timer, due) for timer, due in self.timers.items()],
            [TimerRow(identity, timer, due) for timer, due in self.timers_done.items()],
            list(self.outbox.values()),
            self.outbox_done,
            self.inbox,
            self.inbox_done,
            self.completed,
        )
        return batch

    def _sweep(self) -> None:
        """A closed execution leaves nothing that would wake it."""
        for timer_id, due_ms in list(self.live.timers.items()):
            del self.live.timers[timer_id]
            self._timer_gone(timer_id, due_ms)
            self.batch.disarmed.append(timer_id)
        for task_id, row_id in list(self.live.outbox.items()):
            self._outbox_gone(task_id, row_id)
            self.batch.cancelled.append(task_id)

    def _continuing(self, goes_on: bool) -> None:
        live = self.live
        if goes_on and not live.continue_row:
            live.continue_row = self.next_id()
            self.inbox.append(InboxRow(live.continue_row, live.id, CONTINUE, b""))
        elif not goes_on and live.continue_row:
            self.inbox_done.append(live.continue_row)
            live.continue_row = 0

    def _name(self, running: bool) -> None:
        """Every open execution is named by a row. The waiter's is made where no other does, and stays to the end."""
        live = self.live
        if live.waiter_row and (not running or self.admitted):
            self.outbox_done.append(live.waiter_row)
            live.waiter_row = 0
        if not running:
            return
        if self.state.is_queued:
            if not live.waiter_row:
                live.waiter_row = self.next_id()
                body = orjson.dumps(live.row.machine)
                self.outbox[live.waiter_row] = OutboxRow(live.waiter_row, live.id, QUEUED, body)
        elif not (live.waiter_row or live.timers or live.outbox or live.continue_row):
            live.waiter_row = self.next_id()
            self.outbox[live.waiter_row] = OutboxRow(live.waiter_row, live.id, WAITER, b"")


_NOTE: Final[dict[type, Callable[[Work, Any], None]]] = {
    commands.StartTimer: Work.start_timer,
    commands.CancelTimer: Work.cancel_timer,
    commands.ScheduleTask: Work.schedule_task,
    commands.CancelTask: Work.cancel_task,
    commands.StartMapRun: Work.map_run,
    commands.RedriveMapRun: Work.map_run,
    commands.StopMapRun: Work.stop_map_run,
    commands.ContinueBurst: Work.go_on,
}
