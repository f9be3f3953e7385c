"""Heavy steps: what an expression might hold the loop with, or fill the memory with, is computed in another process.

While a step runs on the loop, an expression that can make much from much (or that has timed out before) raises
`LeavesTheLoop` instead of being evaluated. The driver then drops the half-done step and has it computed here, in one
of a few worker processes with bounds on time and memory (`worker.py`). The interpreter knows of none of this, and
the result is the same.

A worker that dies over a step is replaced, and the step sent again with each such expression tried in a fork first,
which tells the one that takes too much: it fails as `States.QueryEvaluationError`, and the others are evaluated.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from statewright.asl.program import Program
from statewright.clock import Clock
from statewright.engine.heavy.wire import LENGTH, Broken, Delivery, ProgramWanted, Shipment, StateBytes, pack, unpack
from statewright.errors import Unavailable
from statewright.interpreter.advance import Step, advance
from statewright.interpreter.events import Event
from statewright.interpreter.state import ExecutionState
from statewright.interpreter.turn import NOTHING_GONE
from statewright.limits import BURST_TRANSITIONS, Limits
from statewright.query.jsonata.fence import Verdict, set_trial

logger = logging.getLogger(__name__)

SHIPPED_TRANSITIONS: Final = 4
"""Transitions of one step in a worker: few, because each may hold several expressions of a second each."""
MOST_WORKERS: Final = max(2, os.cpu_count() or 2)


class LeavesTheLoop(BaseException):
    """An expression is too heavy for the loop. Not an Exception: no handler on the way may take it for a failure."""


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a program: a revision, entered at a scope (0: the machine's own)."""

    machine_id: int
    revision_id: str
    scope: int = 0


def advance_on_loop(
    program: Program,
    state: ExecutionState,
    event: Event,
    now_ms: int,
    *,
    limits: Limits,
    budget: int = BURST_TRANSITIONS,
    gone: frozenset[str] = NOTHING_GONE,
) -> Step:
    """As `advance`. Raises: LeavesTheLoop, and then the state is worthless."""
    if not program.by_library:
        return advance(program, state, event, now_ms, limits=limits, budget=budget, gone=gone)
    before = set_trial(_leave)
    try:
        return advance(program, state, event, now_ms, limits=limits, budget=budget, gone=gone)
    finally:
        set_trial(before)


def _leave(_work: Callable[[], object]) -> Verdict:
    raise LeavesTheLoop


class HeavySteps:
    """The worker processes of one engine, started when first needed."""

    def __init__(self, clock: Clock, definition_of: Callable[[int, str], Awaitable[str]]) -> None:
        self._clock = clock
        self._definition_of = definition_of
        self._idle: list[_Worker] = []
        self._every: set[_Worker] = set()
        self._turns: asyncio.Semaphore | None = None
        self._stopped = False
        self.steps = 0
        self.deaths = 0

    async def step(
        self,
        source: Source,
        program: Program,
        state: StateBytes,
        events: Sequence[tuple[Event, int]],
        limits: Limits,
        *,
        whole: bool = False,
        gone: frozenset[str] = NOTHING_GONE,
    ) -> Delivery:
        """The result of the last event.

        Raises: Unavailable while the engine stops; RuntimeError for a bug in Statewright.
        """
        key = (source.machine_id, source.revision_id)
        shipment = Shipment(
            key, source.scope, None, state, events, limits, SHIPPED_TRANSITIONS, "none", whole, gone
        )  # fmt: skip
        self.steps += 1
        if self._turns is None:
            self._turns = asyncio.Semaphore(MOST_WORKERS)
        # Time stands still meanwhile, as it does for a step on the loop.
        with self._clock.busy():
            async with self._turns:
                for trial in ("none", "fork", "refuse"):
                    delivery = await self._try(replace(shipment, trial=trial), program)
                    if delivery is not None:
                        return delivery
        raise RuntimeError("a step took more time or memory than it may, and no expression of it was to blame")

    async def _try(self, shipment: Shipment, program: Program) -> Delivery | None:
        """The step in one worker; `None` when it dies over it."""
        if self._stopped:
            raise Unavailable("the engine is stopping")
        worker = self._idle.pop() if self._idle else self._start()
        delivery: Delivery | None = None
        alive = False
        try:
            answer = await worker.ask(shipment, program)
            if isinstance(answer, ProgramWanted):
                definition = await self._definition_of(*shipment.program)
                answer = await worker.ask(replace(shipment, definition=definition), program)
            alive = answer is not None
            if isinstance(answer, Broken):
                raise RuntimeError(f"a step broke in its worker: {answer.problem}")
            assert answer is None or isinstance(answer, Delivery)
            delivery = answer
        finally:
            if alive and not self._stopped:
                self._idle.append(worker)
            else:
                self._end(worker)
        if delivery is None:
            if self._stopped:
                raise Unavailable("the engine is stopping")
            self.deaths += 1
            logger.warning("a heavy expression took more time or memory than it may; its worker was ended")
        return delivery

    def _start(self) -> _Worker:
        worker = _Worker()
        self._every.add(worker)
        return worker

    def _end(self, worker: _Worker) -> None:
        self._every.discard(worker)
        worker.end()

    def stop(self) -> None:
        """End every worker; steps under way are given up, and computed again at the next start."""
        self._stopped = True
        while self._idle:
            self._end(self._idle.pop())
        # A step that waits for one of the others sees its socket close, and ends it.
        for worker in self._every:
            worker.kill()

    @property
    def workers(self) -> int:
        """How many workers there are."""
        return len(self._every)


class _Worker:
    """One worker process, seen from here."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "statewright.engine.heavy.worker"],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # An interrupt at the terminal is for the server, which ends its workers itself.
                start_new_session=True,
            )
        ours.setblocking(False)
        self._line = ours

    async def ask(self, shipment: Shipment, program: Program) -> object | None:
        """The answer; `None` when the process has died."""
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_sendall(self._line, pack(shipment))
            head = await self._read(LENGTH.size)
            body = await self._read(LENGTH.unpack(head)[0]) if head is not None else None
        except OSError:
            return None
        answer: object | None = unpack(body, program) if body is not None else None
        return answer

    async def _read(self, count: int) -> bytes | None:
        loop = asyncio.get_running_loop()
        parts = bytearray()
        while len(parts) < count:
            part = await loop.sock_recv(self._line, min(count - len(parts), 1 << 20))
            if not part:
                return None
            parts += part
        return bytes(parts)

    def kill(self) -> None:
        """Kill the process, which closes its end of the line."""
        self._process.kill()

    def end(self) -> None:
        """Kill the process and wait for it, which takes no time; no step may be under way in it."""
        self._process.kill()
        self._process.wait()
        self._line.close()
