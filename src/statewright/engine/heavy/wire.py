"""Messages between the engine and a heavy worker: a step or an errand to compute, and its result, as bytes.

Owns the messages and their encoding. The state goes by `interpreter.codec`; what is around it goes by pickle, which
both ends may trust: they are one program. Values travel as JSON text, and a Map's definition by its scope, because its
leaves are compiled callables.
"""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from statewright.asl.program import MapDef, Program
from statewright.interpreter.advance import Step
from statewright.interpreter.codec import Decoder, Texts
from statewright.interpreter.commands import Command
from statewright.interpreter.events import Event
from statewright.interpreter.history import HistoryEvent
from statewright.interpreter.state import ExecutionState
from statewright.limits import Limits
from statewright.payload import Payload, parse_json

LENGTH: Final = struct.Struct(">Q")
"""The header of every message: its length in bytes."""

Trial = Literal["none", "fork", "refuse"]
"""The worker's treatment of an expression that may be too heavy: evaluate it, try it in a fork first, or fail it."""


@dataclass(frozen=True, slots=True)
class StateBytes:
    """An execution's state: its body, the bodies of its frames, and the large values that these name."""

    body: bytes
    frames: Sequence[bytes]
    texts: Texts


@dataclass(frozen=True, slots=True)
class Shipment:
    """A step to compute: apply `events`, (event, epoch milliseconds), to the state; the last one within `budget`.

    `program` names a compiled definition, whose text goes along where the worker may not have it. `whole` asks for
    every frame back, rather than those that the last event changed.
    """

    program: tuple[int, str]
    scope: int
    definition: str | None
    state: StateBytes
    events: Sequence[tuple[Event, int]]
    limits: Limits
    budget: int
    trial: Trial
    whole: bool
    gone: frozenset[str]


@dataclass(frozen=True, slots=True)
class Errand:
    """A call to make: `work(*arguments)`, a function of a module of this package over values that pickle carries."""

    work: Callable[..., object]
    arguments: tuple[object, ...]
    trial: Trial


@dataclass(frozen=True, slots=True)
class Done:
    """The return value of an errand."""

    value: object


@dataclass(frozen=True, slots=True)
class Refused:
    """The `ApiError` that an errand raised."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """The outcome of the last event. `heavy` says that an expression was met that should not run on the loop."""

    body: bytes
    frames: Sequence[bytes]
    texts: Texts
    commands: list[Command]
    history: list[HistoryEvent]
    changed: set[int]
    removed: set[int]
    heavy: bool

    def adopt(self, state: ExecutionState, *, whole: bool) -> Step:
        """Bring a state to where the worker's is, in place."""
        decoder = Decoder(lambda digest: self.texts[digest])
        new = decoder.execution(self.body)
        for name in ExecutionState.__slots__:
            if name != "frames":
                setattr(state, name, getattr(new, name))
        if whole:
            state.frames.clear()
        for body in self.frames:
            frame = decoder.frame(body)
            state.frames[frame.id] = frame
        for frame_id in self.removed:
            state.frames.pop(frame_id, None)
        return Step(self.commands, self.history, self.changed, self.removed)

    @property
    def state(self) -> StateBytes:
        """The state where `whole` was asked for."""
        return StateBytes(self.body, self.frames, self.texts)


@dataclass(frozen=True, slots=True)
class ProgramWanted:
    """The worker has no such program: send the shipment again, with its definition."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A bug in Statewright that the worker met, as text."""

    problem: str


Question = Shipment | Errand
Answer = Delivery | ProgramWanted | Done | Refused | Broken


def pack(message: Question | Answer) -> bytes:
    """A message with its length in front."""
    out = io.BytesIO()
    _Pickler(out, protocol=5).dump(message)
    body = out.getvalue()
    return LENGTH.pack(len(body)) + body


def unpack(body: bytes, program: Program | None = None) -> Any:
    """A message without its length; `program` has the definitions of the Maps that it names."""
    return _Unpickler(io.BytesIO(body), program).load()


class _Pickler(pickle.Pickler):
    def persistent_id(self, obj: object) -> int | None:
        return obj.scope if type(obj) is MapDef else None

    def reducer_override(self, obj: object) -> Any:
        return (_payload, (obj.text,)) if type(obj) is Payload else NotImplemented


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, program: Program | None) -> None:
        super().__init__(file)
        self._program = program

    def persistent_load(self, pid: int) -> MapDef:
        assert self._program is not None
        return self._program.map_of(pid)


def _payload(text: str) -> Payload:
    return Payload(parse_json(text), text)
