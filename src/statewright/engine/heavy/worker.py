"""A heavy worker: a process of its own that computes steps whose expressions may take more time or memory than it has.

Started by `steps.py` with a socket as its standard input; ends when that closes. It bounds itself: an alarm ends a
step that takes too long, and an address space limit one that takes too much memory. The sender of the step sees the
socket close and sends the step again under a stricter trial, so that the failure meets the expression it belongs to.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import traceback
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from statewright.asl.program import Program
from statewright.engine.heavy.forked_trial import EXTRA_BYTES, address_space, try_in_fork
from statewright.engine.heavy.wire import (
    LENGTH,
    Answer,
    Broken,
    Delivery,
    Done,
    Errand,
    ProgramWanted,
    Question,
    Refused,
    Shipment,
    pack,
    unpack,
)
from statewright.engine.machines.definitions import compiled
from statewright.errors import ApiError
from statewright.interpreter.advance import advance
from statewright.interpreter.codec import decode, encode
from statewright.limits import BURST_TRANSITIONS
from statewright.query.fence import FENCE, LOOP_VISITS, Verdict, set_trial

STEP_SECONDS: Final = {"none": 5.0, "fork": 60.0, "refuse": 60.0}
"""How long a step may take, by trial. An expression has a second by itself; a trial ends it after two."""
MOST_PROGRAMS: Final = 64


class _Met:
    """Notes if a step has met an expression that is heavy."""

    def __init__(self) -> None:
        self.heavy = False

    def trial(self, kind: str) -> Callable[[Callable[[], object]], Verdict]:
        """Make the callback that decides about a heavy expression."""

        def meet(work: Callable[[], object]) -> Verdict:
            self.heavy = True
            if kind == "refuse":
                return "memory"
            return try_in_fork(work) if kind == "fork" else "fine"

        return meet


def compute(shipment: Shipment, program: Program) -> Delivery:
    """The step, in this process as it is."""
    sent = shipment.state
    state = decode(sent.body, sent.frames, sent.texts)
    *before, (event, now_ms) = shipment.events
    for earlier, at_ms in before:
        advance(program, state, earlier, at_ms, limits=shipment.limits, budget=BURST_TRANSITIONS)
    met = _Met()
    FENCE.visited = 0
    previous = set_trial(met.trial(shipment.trial))
    try:
        step = advance(
            program, state, event, now_ms, limits=shipment.limits, budget=shipment.budget, gone=shipment.gone
        )
    finally:
        set_trial(previous)
    wanted = state.frames.keys() if shipment.whole else [one for one in step.changed if one in state.frames]
    body, frames, texts = encode(state, wanted)
    return Delivery(
        body, list(frames.values()), texts, step.commands, step.history, step.changed, step.removed,
        met.heavy or FENCE.visited > LOOP_VISITS,
    )  # fmt: skip


def run_errand(errand: Errand) -> Done | Refused:
    """The errand, in this process as it is."""
    previous = set_trial(_Met().trial(errand.trial))
    try:
        return Done(errand.work(*errand.arguments))
    except ApiError as refusal:
        return Refused(refusal.code, refusal.message)
    finally:
        set_trial(previous)


class Worker:
    """Answers one question after another."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._programs: OrderedDict[tuple[tuple[int, str], int], Program] = OrderedDict()

    def run(self) -> None:
        """Until the other end closes."""
        while (head := self._read(LENGTH.size)) is not None:
            body = self._read(LENGTH.unpack(head)[0])
            if body is None:
                return
            self._line.sendall(pack(self._answer(unpack(body))))

    def _read(self, count: int) -> bytes | None:
        parts = bytearray()
        while len(parts) < count:
            part = self._line.recv(min(count - len(parts), 1 << 20))
            if not part:
                return None
            parts += part
        return bytes(parts)

    def _answer(self, question: Question) -> Answer:
        signal.setitimer(signal.ITIMER_REAL, STEP_SECONDS[question.trial])
        extra = EXTRA_BYTES if question.trial == "none" else 4 * EXTRA_BYTES
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        try:
            if isinstance(question, Errand):
                resource.setrlimit(resource.RLIMIT_AS, (address_space() + extra, hard))
                return run_errand(question)
            shipment = question
            program = self._program_of(shipment)
            if program is None:
                return ProgramWanted()
            resource.setrlimit(resource.RLIMIT_AS, (address_space() + extra, hard))
            return compute(shipment, program)
        except MemoryError:
            # No expression took the blame: the next trial finds the one.
            os._exit(1)
        except Exception:
            return Broken(traceback.format_exc(limit=20))
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _program_of(self, shipment: Shipment) -> Program | None:
        key = (shipment.program, shipment.scope)
        program = self._programs.get(key)
        if program is None:
            if shipment.definition is None:
                return None
            program = compiled(shipment.definition)
            if shipment.scope:
                program = program.child_program(shipment.scope)
            self._programs[key] = program
            if len(self._programs) > MOST_PROGRAMS:
                self._programs.popitem(last=False)
        return program


def main() -> None:
    """Serve the socket that stands for the standard input."""
    # The alarm ends the process from outside Python, so that no code can delay it.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with socket.socket(fileno=0) as line:
        Worker(line).run()


if __name__ == "__main__":
    main()
