"""One execution in memory, and what of it the store has already.

A body in the store is that of `interpreter.codec`, with a line in front where the frame has timers or an outbox row:
`{"t": [[timer, due], ...], "o": outbox id}`. So a loaded execution knows which rows to delete, without reading them.
"""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from statewright.asl.program import Program
from statewright.engine.executions.views import Head, Tail
from statewright.engine.heavy.steps import Source
from statewright.engine.heavy.wire import StateBytes
from statewright.interpreter.advance import new_execution
from statewright.interpreter.codec import Decoder, Encoder, encode
from statewright.interpreter.state import ExecutionState, Frame
from statewright.interpreter.turn import NOTHING_GONE
from statewright.limits import Limits
from statewright.payload import JsonObject
from statewright.stores.protocol import Row, Stored


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


def encode_bodies(live: LiveExecution, changed: Iterable[int]) -> tuple[bytes, dict[int, bytes], dict[bytes, bytes]]:
    """The stored state, the changed frames by id, and the large values that the store does not have yet by digest."""
    state = live.state
    assert state is not None
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
    for frame_id in changed:
        frame = every.get(frame_id)
        if frame is None:
            continue
        encoded = encoder.frame(frame)
        if isinstance(frame, Frame) and (frame.timer or frame.task is not None):
            line = _line(live, frame)
            if line:
                encoded = line + encoded
        frames[frame_id] = encoded
    new = {digest: text.encode() for digest, text in encoder.texts.items() if digest not in live.known_texts}
    live.known_texts.update(new)
    return body, frames, new


def _line(live: LiveExecution, frame: Frame) -> bytes:
    timers = live.timers
    task = frame.task
    mine = [frame.timer] if frame.timer else []
    extras: JsonObject = {}
    if task is not None:
        mine += [timer for timer in (task.timeout_timer, task.heartbeat_timer) if timer]
        row_id = live.outbox.get(task.id)
        if row_id is not None:
            extras["o"] = [[task.id, row_id]]
    if mine:
        extras["t"] = [[timer, timers[timer]] for timer in mine]
    return orjson.dumps(extras) + b"\n" if extras else b""
