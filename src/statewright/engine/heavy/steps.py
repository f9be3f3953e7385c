"""Heavy steps: what an expression might hold the loop with, or fill the memory with, is computed in another process.

While a step runs on the loop, its expressions and paths have an allowance (`query.fence`). What would exceed it raises
`LeavesTheLoop`. The driver then drops the half-done step and has it computed here, in one of a few worker processes
with bounds on time and memory (`worker.py`). The interpreter knows of none of this, and the result is the same. What
is not a step of an execution (a trial of one state, the condition of a poll, the items of a Map Run) is an errand: a
call of a function, made on the loop with an allowance first, and repeated in a worker if that was not enough.

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
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar, TypeVarTuple, cast

from statewright.asl.program import Program
from statewright.at_work import AT_WORK
from statewright.clock import Clock
from statewright.engine.heavy.wire import (
    LENGTH,
    Broken,
    Delivery,
    Done,
    Errand,
    ProgramWanted,
    Question,
    Refused,
    Shipment,
    StateBytes,
    Trial,
    pack,
    unpack,
)
from statewright.errors import ApiError, Unavailable
from statewright.interpreter.advance import Step, advance
from statewright.interpreter.events import Event
from statewright.interpreter.state import ExecutionState
from statewright.interpreter.turn import NOTHING_GONE
from statewright.limits import BURST_TRANSITIONS, Limits
from statewright.query.fence import LOOP_VISITS, Allowance, LeavesTheLoop, set_allowance

logger = logging.getLogger(__name__)

SHIPPED_TRANSITIONS: Final = 4
"""Transitions of one step in a worker: few, because each may hold several expressions of a second each."""
MOST_WORKERS: Final = max(2, os.cpu_count() or 2)


LOOP_SECONDS: Final = 0.04
"""After so much of a step the next evaluation by the JSONata library leaves the loop. Ours."""
TRIALS: Final[tuple[Trial, ...]] = ("none", "fork", "refuse")

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


def _has_worked_long() -> bool:
    """True if the step has taken the CPU for long: on a busy machine most of the time may be that of others."""
    return time.thread_time() > _CPU_UNTIL[0]


_CPU_UNTIL: Final = [0.0]
_ALLOWANCE: Final = Allowance(LOOP_VISITS, time.perf_counter, 0.0, _has_worked_long)
"""The allowance of the step that runs on the loop: one at a time."""


def _renew() -> None:
    _ALLOWANCE.visits = LOOP_VISITS
    _ALLOWANCE.until = time.perf_counter() + LOOP_SECONDS
    _CPU_UNTIL[0] = time.thread_time() + LOOP_SECONDS


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
    AT_WORK.begin("execution", state.identity.execution_arn)
    if not program.may_be_heavy:
        return advance(program, state, event, now_ms, limits=limits, budget=budget, gone=gone)
    _renew()
    before = set_allowance(_ALLOWANCE)
    try:
        return advance(program, state, event, now_ms, limits=limits, budget=budget, gone=gone)
    finally:
        set_allowance(before)


def on_loop(work: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """Call a function with the allowance of the loop. Raises: LeavesTheLoop, and what the function raises."""
    _renew()
    before = set_allowance(_ALLOWANCE)
    try:
        return work(*arguments)
    finally:
        set_allowance(before)


class HeavySteps:
    """The worker processes of one engine, started when first needed."""

    def __init__(self, clock: Clock, definition_of: Callable[[int, str], Awaitable[str]]) -> None:
        self._clock = clock
        self._definition_of = definition_of
        self._idle: list[_Worker] = []
        self._every: set[_Worker] = set()
        self._turns: asyncio.Semaphore | None = None
        self._bounded: asyncio.Semaphore | None = None
        self._stopped = False
        self.steps = 0
        self.errands = 0
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
        delivery = await self._answer(lambda trial: replace(shipment, trial=trial), program)
        assert isinstance(delivery, Delivery)
        return delivery

    async def run(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Call a function of this package here, or in a worker if it is too heavy for the loop.

        Function, arguments and result go through pickle; the function may be called twice, and changes nothing.
        Raises: Unavailable while the engine stops; RuntimeError for a bug in Statewright; ApiError of the function.
        """
        try:
            return on_loop(work, *arguments)
        except LeavesTheLoop:
            return await self.run_elsewhere(work, *arguments)

    async def run_elsewhere(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """As `run`, without trying it here."""
        self.errands += 1
        answer = await self._answer(lambda trial: Errand(work, arguments, trial), None)
        if isinstance(answer, Refused):
            raise ApiError(answer.code, answer.message)
        assert isinstance(answer, Done)
        return cast("T", answer.value)

    async def run_bounded(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """As `run_elsewhere`, but ended for good after a minute, or when it takes too much memory; heavy expressions
        are tried in a fork from the start. One at a time, so that the steps of executions keep a worker.

        Raises also: ApiError (`TookTooLong`).
        """
        self.errands += 1
        if self._bounded is None:
            self._bounded = asyncio.Semaphore(1)
        async with self._bounded:
            answer = await self._tried(lambda trial: Errand(work, arguments, trial), None, ("fork",))
        if answer is None:
            raise ApiError("TookTooLong", "This took more than a minute, or more memory than it may, and was ended.")
        if isinstance(answer, Refused):
            raise ApiError(answer.code, answer.message)
        assert isinstance(answer, Done)
        return cast("T", answer.value)

    async def _answer(self, question: Callable[[Trial], Question], program: Program | None) -> object:
        answer = await self._tried(question, program, TRIALS)
        if answer is None:
            raise RuntimeError("a step took more time or memory than it may, and no expression of it was to blame")
        return answer

    async def _tried(
        self, question: Callable[[Trial], Question], program: Program | None, trials: Sequence[Trial]
    ) -> object | None:
        """The answer in the first of these trials that a worker survives."""
        if self._turns is None:
            self._turns = asyncio.Semaphore(MOST_WORKERS)
        # Time stands still meanwhile, as it does for a step on the loop.
        with self._clock.busy():
            async with self._turns:
                for trial in trials:
                    answer = await self._try(question(trial), program)
                    if answer is not None:
                        return answer
        return None

    async def _try(self, question: Question, program: Program | None) -> object | None:
        """The step or errand in one worker; `None` when it dies over it."""
        if self._stopped:
            raise Unavailable("the engine is stopping")
        worker = self._idle.pop() if self._idle else self._start()
        given: object | None = None
        alive = False
        try:
            answer = await worker.ask(question, program)
            if isinstance(answer, ProgramWanted):
                assert isinstance(question, Shipment)
                definition = await self._definition_of(*question.program)
                answer = await worker.ask(replace(question, definition=definition), program)
            alive = answer is not None
            if isinstance(answer, Broken):
                raise RuntimeError(f"a step broke in its worker: {answer.problem}")
            given = answer
        finally:
            if alive and not self._stopped:
                self._idle.append(worker)
            else:
                self._end(worker)
        if given is None:
            if self._stopped:
                raise Unavailable("the engine is stopping")
            self.deaths += 1
            logger.warning("a heavy expression took more time or memory than it may; its worker was ended")
        return given

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

    async def ask(self, question: Question, program: Program | None) -> object | None:
        """The answer; `None` when the process has died."""
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_sendall(self._line, pack(question))
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
