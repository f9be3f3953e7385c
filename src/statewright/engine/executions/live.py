"""One execution in memory: its state, what of it the store has already, and one step of it as a commit.

A body in the store is that of `interpreter.codec`, with a line in front where the frame has timers or an outbox row:
`{"t": [[timer, due], ...], "o": outbox id}`. So a loaded execution knows which rows to delete, without reading them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import orjson

from statewright.asl.program import Program
from statewright.clock import Pauses
from statewright.engine.dispatch import ScheduledCall, call_of, encode_call
from statewright.engine.executions.history_pages import encode_page
from statewright.engine.executions.views import Head, Tail
from statewright.engine.heavy.steps import Source, advance_on_loop
from statewright.engine.heavy.wire import Delivery, StateBytes
from statewright.engine.map_runs.requests import encode_request
from statewright.interpreter import commands, events
from statewright.interpreter.advance import new_execution
from statewright.interpreter.codec import Decoder, Encoder, encode
from statewright.interpreter.history import HistoryEvent
from statewright.interpreter.state import SERIAL_BITS, ExecutionState, Frame
from statewright.interpreter.turn import NOTHING_GONE
from statewright.limits import BURST_TRANSITIONS, Limits
from statewright.payload import JsonObject, Payload
from statewright.stores.protocol import Commit, InboxRow, OutboxRow, Row, Stored, TimerRow

CONTINUE: Final = "continue"
TASK: Final = "task"
ACTIVITY: Final = "activity"
MAP_RUN: Final = "map run"
WAITER: Final = "waiter"
"""Kind of the outbox row that names an execution which waits for nothing but a token, without a timeout."""
QUEUED: Final = "queued"
"""Kind of the outbox row that names an execution which waits to be admitted; its body is the machine's id."""
STOP_RUN: Final = "stop map run"
"""Kind of the inbox row of a parent whose Map Run is to be stopped; it goes when the run is closed."""

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


class LiveExecution:
    """An execution as its owner holds it. Between two commits it says exactly what the store says."""

    __slots__ = (
        "continue_row",
        "gone",
        "head",
        "is_heavy",
        "known_texts",
        "limits",
        "outbox",
        "program",
        "row",
        "state",
        "tail",
        "timers",
        "version",
        "waiter_row",
    )

    def __init__(
        self, row: Row, head: Head, tail: Tail, state: ExecutionState | None, program: Program | None, limits: Limits
    ) -> None:
        self.row = row
        self.head = head
        self.tail = tail
        self.state = state
        """`None` once it succeeded."""
        self.program = program
        self.limits = limits
        self.version = 0
        self.timers: dict[int, int] = {}
        self.outbox: dict[int, int] = {}
        """Task id to outbox id."""
        self.known_texts: set[bytes] = set()
        self.continue_row = 0
        self.waiter_row = 0
        self.gone = NOTHING_GONE
        """Activities of the program that do not exist."""
        self.is_heavy = False
        """True if its next step is computed in another process."""

    @property
    def id(self) -> int:
        """The execution's id."""
        return self.row.id

    @property
    def is_running(self) -> bool:
        """True if it is open."""
        return self.state is not None and self.state.status == "RUNNING"

    @property
    def source(self) -> Source:
        """The source of its program."""
        return Source(self.head.machine_id, self.head.revision_id, self.head.scope)

    def state_bytes(self) -> StateBytes:
        """Its state, for another process."""
        assert self.state is not None
        body, frames, texts = encode(self.state)
        return StateBytes(body, list(frames.values()), texts)

    def unstarted(self) -> LiveExecution:
        """The same execution before its first step."""
        old = self.state
        assert old is not None
        assert not self.version
        state = new_execution(old.identity, old.input, old.entropy.seed)
        return LiveExecution(self.row, self.head, self.tail, state, self.program, self.limits)


def decode_live(stored: Stored, head: Head, program: Program | None, limits: Limits, region: str) -> LiveExecution:
    """An execution as the store has it. Raises: Unreadable, KeyError for a missing large value."""
    live = LiveExecution(stored.row, head, Tail.decode(stored.row.tail), None, program, limits)
    live.version = stored.version
    if stored.state is None:
        return live
    decoder = Decoder(lambda digest: stored.texts[digest].decode())
    live.known_texts = set(stored.texts)
    state = live.state = decoder.execution(_opened(live, stored.state), head.identity(stored.row.name, region))
    for frame_id, body in stored.frames.items():
        state.frames[frame_id] = decoder.frame(_opened(live, body))
    return live


def _opened(live: LiveExecution, body: bytes) -> bytes:
    """Take the line in front off a body."""
    if body[:1] != b"{":
        return body
    line, _, rest = body.partition(b"\n")
    extras = orjson.loads(line)
    live.timers.update((timer, due) for timer, due in extras.get("t", ()))
    live.outbox.update((task, row) for task, row in extras.get("o", ()))
    live.continue_row = extras.get("c", live.continue_row)
    live.waiter_row = extras.get("w", live.waiter_row)
    return rest


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
        """Put the Map Run in the outbox; its body is the business of `map_runs`."""
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
            body, frames, texts = self._bodies()
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

    def _bodies(self) -> tuple[bytes, dict[int, bytes], dict[bytes, bytes]]:
        live, state = self.live, self.state
        encoder = Encoder()
        extras: JsonObject = {}
        if state.timeout_timer:
            extras["t"] = [[state.timeout_timer, live.timers[state.timeout_timer]]]
        if live.continue_row:
            extras["c"] = live.continue_row
        if live.waiter_row:
            extras["w"] = live.waiter_row
        # The identity of the execution is in its head, which is written once.
        body = encoder.execution(state, with_identity=False)
        if extras:
            body = orjson.dumps(extras) + b"\n" + body
        frames: dict[int, bytes] = {}
        every = state.frames
        for frame_id in self.changed:
            frame = every.get(frame_id)
            if frame is None:
                continue
            encoded = encoder.frame(frame)
            if isinstance(frame, Frame) and (frame.timer or frame.task is not None):
                line = self._line(frame)
                if line:
                    encoded = line + encoded
            frames[frame_id] = encoded
        new = {digest: text.encode() for digest, text in encoder.texts.items() if digest not in live.known_texts}
        live.known_texts.update(new)
        return body, frames, new

    def _line(self, frame: Frame) -> bytes:
        timers = self.live.timers
        task = frame.task
        mine = [frame.timer] if frame.timer else []
        extras: JsonObject = {}
        if task is not None:
            mine += [timer for timer in (task.timeout_timer, task.heartbeat_timer) if timer]
            row_id = self.live.outbox.get(task.id)
            if row_id is not None:
                extras["o"] = [[task.id, row_id]]
        if mine:
            extras["t"] = [[timer, timers[timer]] for timer in mine]
        return orjson.dumps(extras) + b"\n" if extras else b""


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
