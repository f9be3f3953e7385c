"""Encodes execution states to bytes and decodes them: one body for the execution, one for each frame.

Bodies are JSON arrays, versioned by their first member. A value of 4 KiB or more is left out and named by its hash;
the texts so named are returned with the bodies, to be stored once for all frames that hold them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from statewright.formats import array_in, damaged
from statewright.interpreter.state import Children, ExecutionState, Finished, Frame, Identity, OpenTask
from statewright.payload import MAX_DEPTH, Json, Payload, dump_json, dump_row, embedded, parse_json

VERSION: Final = 1
LARGE_BYTES: Final = 4096
"""Values of at least this size are stored apart, by hash."""
_WHAT: Final = "the state of an execution"
_ROW_DEPTH: Final = MAX_DEPTH + 8
"""A row nests its values a few levels deeper."""

Built = TypeVar("Built", ExecutionState, Frame | Finished)

Texts = dict[bytes, str]
"""Hash of a large value to its JSON text."""


class Encoder:
    """Turns a state into bodies and collects the large values that they name."""

    def __init__(self) -> None:
        self.texts: Texts = {}

    def execution(self, state: ExecutionState, *, with_identity: bool = True) -> bytes:
        """Everything but the frames and the identity, which the engine keeps apart."""
        identity = state.identity
        return dump_row(
            [
                VERSION,
                [getattr(identity, name) for name in _IDENTITY] if with_identity else None,
                state.status,
                self._value(state.input),
                self._value(state.output),
                state.error,
                state.cause,
                state.started_ms,
                state.stopped_ms,
                state.redriven_ms,
                state.redrive_count,
                state.entropy.seed.hex(),
                state.entropy.counter,
                state.last_event_id,
                state.next_frame_id,
                state.next_serial,
                state.timeout_timer,
                state.transitions,
                state.variables_bytes,
                list(state.ready),
                *(() if state.clock_ms is None else (state.clock_ms,)),
            ]
        )

    def frame(self, frame: Frame | Finished) -> bytes:
        """One frame."""
        if isinstance(frame, Finished):
            return dump_row([VERSION, "finished", frame.id, frame.parent, frame.index, self._value(frame.output)])
        task, children = frame.task, frame.children
        return dump_row(
            [
                VERSION,
                "frame",
                frame.id,
                frame.parent,
                frame.scope,
                frame.index,
                frame.state,
                self._value(frame.input),
                frame.phase,
                embedded(dump_json(frame.variables, max_depth=_ROW_DEPTH)),
                frame.last_event,
                frame.entered_event,
                frame.entered_previous,
                frame.entered_ms,
                frame.retry_count,
                frame.retries,
                frame.timer,
                None if task is None else [getattr(task, name) for name in _TASK],
                None if children is None else self._children(children),
                frame.map_run,
                *(() if frame.turns is None else (frame.turns,)),
            ]
        )

    def _children(self, children: Children) -> list[Json]:
        numbers = [getattr(children, name) for name in _CHILDREN]
        return [self._value(children.input), self._value(children.items), *numbers]

    def _value(self, payload: Payload | None) -> Json:
        if payload is None:
            return None
        if payload.size_bytes >= LARGE_BYTES:
            digest = payload.digest
            self.texts[digest] = payload.text
            return [1, digest.hex()]
        return [0, embedded(payload.text)]


class Decoder:
    """Reads bodies back. `text_of` finds a large value's text by its hash; equal values share one `Payload`."""

    def __init__(self, text_of: Callable[[bytes], str]) -> None:
        self._text_of = text_of
        self._shared: dict[str, Payload] = {}
        self._identity: Identity | None = None

    def execution(self, body: bytes, identity: Identity | None = None) -> ExecutionState:
        """The execution, without frames; `identity` for a body that has none. Raises: Unreadable."""
        self._identity = identity
        return self._understood(self._execution, body)

    def frame(self, body: bytes) -> Frame | Finished:
        """One frame. Raises: Unreadable."""
        return self._understood(self._frame, body)

    def _understood(self, build: Callable[[list[Json]], Built], body: bytes) -> Built:
        fields = read_row(body)
        try:
            return build(fields)
        except (AttributeError, IndexError, TypeError, ValueError) as problem:
            raise damaged(_WHAT, problem) from None

    def _execution(self, fields: list[Json]) -> ExecutionState:
        identity = Identity(*fields[1][: len(_IDENTITY)]) if fields[1] is not None else self._identity
        if identity is None:
            raise damaged(_WHAT, "the identity is missing")
        state = ExecutionState(identity, _some(self._value(fields[3])), bytes.fromhex(fields[11]))
        state.status = fields[2]
        state.output = self._value(fields[4])
        state.error, state.cause = fields[5], fields[6]
        state.started_ms, state.stopped_ms, state.redriven_ms, state.redrive_count = fields[7:11]
        state.entropy.counter = fields[12]
        state.last_event_id, state.next_frame_id, state.next_serial, state.timeout_timer = fields[13:17]
        state.transitions, state.variables_bytes = fields[17:19]
        state.ready = deque(fields[19])
        state.clock_ms = fields[20] if len(fields) > 20 else None
        return state

    def _frame(self, fields: list[Json]) -> Frame | Finished:
        if fields[1] == "finished":
            return Finished(fields[2], fields[3], fields[4], _some(self._value(fields[5])))
        frame = Frame(fields[2], fields[3], fields[4], fields[5], fields[6], _some(self._value(fields[7])))
        frame.phase, frame.variables = fields[8], fields[9]
        frame.last_event, frame.entered_event, frame.entered_previous, frame.entered_ms = fields[10:14]
        frame.retry_count, frame.retries, frame.timer = fields[14:17]
        if fields[17] is not None:
            frame.task = OpenTask(0)
            for name, value in zip(_TASK, fields[17], strict=False):
                setattr(frame.task, name, value)
        if fields[18] is not None:
            given, items, *numbers = fields[18]
            frame.children = Children(0, 0, 0, _some(self._value(given)), self._value(items), 0)
            for name, value in zip(_CHILDREN, numbers, strict=False):
                setattr(frame.children, name, value)
        frame.map_run = None if fields[19] is None else (fields[19][0], fields[19][1])
        frame.turns = fields[20] if len(fields) > 20 else None
        return frame

    def _value(self, stored: Json) -> Payload | None:
        if stored is None:
            return None
        if stored[0] == 0:
            return Payload(stored[1])
        name = stored[1]
        payload = self._shared.get(name)
        if payload is None:
            digest = bytes.fromhex(name)
            text = self._text_of(digest)
            payload = self._shared[name] = Payload(parse_json(text), text, digest)
        return payload


def encode(state: ExecutionState, frame_ids: Iterable[int] | None = None) -> tuple[bytes, dict[int, bytes], Texts]:
    """The execution's body, the bodies of the named frames (all by default), and the large values they name."""
    encoder = Encoder()
    wanted = state.frames if frame_ids is None else frame_ids
    frames = {frame_id: encoder.frame(state.frames[frame_id]) for frame_id in wanted}
    return encoder.execution(state), frames, encoder.texts


def decode(execution: bytes, frames: Iterable[bytes], texts: Texts) -> ExecutionState:
    """A state from everything that `encode` returned. Raises: Unreadable, KeyError for a missing large value."""
    decoder = Decoder(texts.__getitem__)
    state = decoder.execution(execution)
    for body in frames:
        frame = decoder.frame(body)
        state.frames[frame.id] = frame
    return state


def read_row(body: bytes) -> list[Json]:
    """The members of a stored row. Raises: Unreadable."""
    try:
        fields = parse_json(body, max_depth=_ROW_DEPTH)
    except ValueError as problem:
        raise damaged(_WHAT, problem) from None
    return array_in(fields, _WHAT, VERSION)


def _some(payload: Payload | None) -> Payload:
    if payload is None:
        raise damaged(_WHAT, "a value is missing")
    return payload


_IDENTITY: Final = Identity.__slots__
_TASK: Final = ("id", "timeout_ms", "heartbeat_ms", "timeout_timer", "heartbeat_timer", "started", "submitted")
_CHILDREN: Final = ("base", "length", "limit", "after_event", "next_index", "open", "done")
