"""The runner: load, advance, commit, dispatch. One writer per execution, one commit of it in flight.

The inputs of an execution wait in its slot. A slot has a task only while there is something to do; what arrives
during a commit goes into the next one together. An idle execution is forgotten, but for the few that were used last.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, Protocol, TypeVar

from statewright.asl.program import Program
from statewright.engine.executions.live import LiveExecution, decode_live
from statewright.engine.executions.views import Head, Tail
from statewright.engine.executions.work import Batch, Work
from statewright.engine.heavy.steps import HeavySteps
from statewright.engine.heavy.wire import Delivery
from statewright.engine.inputs import Accept, AlreadyThere, Input, Quarantined
from statewright.engine.listeners import CommitListener
from statewright.engine.shard import Shard
from statewright.engine.turnstile import BURST
from statewright.errors import ApiError, OwnershipLost, StoreError, Unavailable, shortage
from statewright.interpreter import events
from statewright.query.fence import LeavesTheLoop
from statewright.stores import fail_points
from statewright.stores.protocol import Commit, Existing, Row, Stale, Stored

logger = logging.getLogger(__name__)

T = TypeVar("T")

MOST_UNWRITTEN: Final = 1_000
"""With so many commits that the store has not taken in time, no further execution is begun: each is held in memory."""
_RELOADS: Final = 20


class Slot:
    """An execution with something to do."""

    __slots__ = ("inputs", "is_away", "live", "never_began", "reloads", "task")

    def __init__(self) -> None:
        self.is_away = False
        """True while another process computes a step."""
        self.never_began: Callable[[], None] | None = None
        self.reloads = 0
        self.inputs: deque[Input] = deque()
        self.live: LiveExecution | None = None
        self.task: asyncio.Task[None] | None = None


class Programs(Protocol):
    """Provides compiled definitions, however long their store takes."""

    async def program_of(self, machine_id: int, revision_id: str) -> Program:
        """The program of a revision, compiled once."""

    async def gone_activities(self, program: Program) -> frozenset[str]:
        """The activities that a program names and that do not exist."""


class Runner:
    """Runs the executions of one shard.

    `deleting` are the machines whose executions end at their next step; `hot` is how many idle executions stay in
    memory. `listeners` makes what follows each commit, in the order in which it is called.
    """

    def __init__(
        self,
        shard: Shard,
        programs: Programs,
        deleting: Container[int],
        heavy: HeavySteps,
        hot: int,
        listeners: Callable[[Runner], Sequence[CommitListener]],
    ) -> None:
        self.quarantined: dict[int, str] = {}
        self._shard = shard
        self._store = shard.store.executions
        self._written = shard.retrying.executions
        self._clock = shard.clock
        self._counters = shard.counters
        self._programs = programs
        self._deleting = deleting
        self._heavy = heavy
        self._slots: dict[int, Slot] = {}
        self._hot: OrderedDict[int, LiveExecution] = OrderedDict()
        self._most_hot = hot
        self._stopped = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._listeners = tuple(listeners(self))

    # ------------------------------------------------------------------ taking inputs

    def tell(self, execution: int, entry: Input) -> None:
        """Give an execution something to do."""
        if self._stopped:
            entry.settle(Unavailable("the engine is stopping"))
            return
        reason = self.quarantined.get(execution)
        # An execution that is held back may still be stopped.
        if reason is not None and not isinstance(entry.event, events.ExecutionStopped):
            entry.settle(Quarantined(f"(id {execution})", reason))
            return
        slot = self._slots.get(execution)
        if slot is None:
            slot = self._open(execution)
        slot.inputs.append(entry)

    def ask(
        self,
        execution: int,
        event: events.Event,
        *,
        accept: Accept | None = None,
        result: Callable[[LiveExecution], T],
        client_token: str | None = None,
        completed: tuple[int, bytes] | None = None,
    ) -> asyncio.Future[T]:
        """As `tell`; the future has the result once it is durable."""
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        entry = Input(
            event, accept=accept, result=result, answer=answer, client_token=client_token, completed=completed
        )
        self.tell(execution, entry)
        return answer

    def begin(
        self,
        live: LiveExecution,
        first: events.Event | None = None,
        *,
        never_began: Callable[[], None] | None = None,
    ) -> asyncio.Future[Row]:
        """Begin an execution that no store has seen yet, with `first` (a start unless given).

        `never_began` is called when it fails before its first commit. Raises (the future): AlreadyThere.
        """
        answer: asyncio.Future[Row] = asyncio.get_running_loop().create_future()
        if self._stopped or self._written.unwritten >= MOST_UNWRITTEN:
            text = "the engine is stopping" if self._stopped else "the store does not answer"
            answer.set_exception(Unavailable(text))
            if never_began is not None:
                never_began()
            return answer
        slot = self._open(live.id)
        slot.live = live
        slot.never_began = never_began
        slot.inputs.append(Input(first or events.ExecutionStarted(), result=_row_of, answer=answer))
        return answer

    def _open(self, execution: int) -> Slot:
        slot = self._slots[execution] = Slot()
        slot.live = self._hot.pop(execution, None)
        slot.task = asyncio.create_task(self._work(execution, slot))
        self._idle.clear()
        return slot

    def is_busy(self, execution: int) -> bool:
        """True if an execution has something to do right now."""
        return execution in self._slots

    @property
    def in_memory(self) -> int:
        """How many executions are held in memory, busy or not."""
        return len(self._slots) + len(self._hot)

    @property
    def busy(self) -> int:
        """How many executions have something to do right now."""
        return len(self._slots)

    def unfinished(self) -> list[str]:
        """ARNs of the executions that have something to write right now; may be called in any thread."""
        lives = [slot.live for slot in list(self._slots.values())]
        return [live.head.execution_arn for live in lives if live is not None]

    # ------------------------------------------------------------------ working

    async def _work(self, execution: int, slot: Slot) -> None:
        try:
            while slot.inputs:
                await self._turn(execution, slot)
        except asyncio.CancelledError:
            self._refuse(slot.inputs, Unavailable("the engine is stopping"))
            raise
        except Unavailable as problem:
            # The engine stops while another process computes a step: its inputs come again at the next start.
            slot.live = None
            self._refuse(slot.inputs, problem)
        except (OwnershipLost, MemoryError) as problem:
            slot.live = None
            # To its callers it is an outage: what they asked for may be asked of the new owner.
            self._refuse(slot.inputs, shortage(problem) or Unavailable(str(problem)))
            self._shard.notices(problem)
        except Exception as problem:
            await self._quarantine(execution, slot, problem)
        finally:
            # A start that was repeated has another slot by now.
            if self._slots.get(execution) is slot:
                del self._slots[execution]
            if slot.live is not None and slot.live.is_running and not self._stopped:
                self._keep(slot.live)
            if not self._slots:
                self._idle.set()

    async def _turn(self, execution: int, slot: Slot) -> None:
        """Apply what waits, write it, and see to what follows."""
        live = slot.live
        if live is None:
            live = slot.live = await self._load(execution)
            if live is None:
                # Retention has taken it, or the id never was one.
                self._refuse(slot.inputs, ApiError("ExecutionDoesNotExist", "Execution Does Not Exist"))
                return
        taken: list[Input] = []
        answers: list[tuple[Input, object]] = []
        problem: BaseException | None = None
        try:
            program = live.program
            if program is not None and program.activities:
                live.gone = await self._programs.gone_activities(program)
            if type(slot.inputs[0].event) is events.BurstContinued and len(self._slots) > 1:
                await self._shard.turnstile.enter(BURST)
            shipped = await self._ship(live, slot) if live.is_heavy else None
            batch = self._apply(live, slot, taken, answers, shipped)
            if batch is not None:
                outcome = await self._written.commit(batch.commit, partial(_answer_late, answers))
                if isinstance(outcome, Stale):
                    self._again(slot, taken)
                    return
                if isinstance(outcome, Existing):
                    slot.live = None
                    self._did_not_begin(slot)
                    problem = AlreadyThere(outcome)
                else:
                    live.version = outcome.version
                    slot.reloads = 0
        except LeavesTheLoop:
            slot.inputs.extendleft(reversed(taken))
            slot.live = await self._load(execution) if live.version else live.unstarted()
            if slot.live is not None:
                slot.live.is_heavy = True
            return
        except BaseException:
            slot.inputs.extendleft(reversed(taken))
            raise
        if problem is not None:
            self._refuse(deque(taken), problem)
            return
        for entry, value in answers:
            entry.settle(value)
        if batch is not None:
            fail_points.passed(fail_points.BEFORE_DISPATCH)
            self._follow(live, slot, batch)

    async def _ship(self, live: LiveExecution, slot: Slot) -> tuple[Delivery, int] | None:
        """Have the step of the next input computed elsewhere; also for which instant. `None`: there is no step."""
        live.is_heavy = False
        entry = slot.inputs[0]
        event = entry.event
        if live.state is None or live.program is None or live.row.machine in self._deleting:
            return None
        if isinstance(event, events.TimerFired) and event.timer_id not in live.timers:
            return None
        try:
            if entry.accept is not None and not entry.accept(live):
                return None
        except ApiError:
            return None
        now_ms = self._clock.now_ms()
        if self._stopped:
            raise Unavailable("the engine is stopping")
        slot.is_away = True
        try:
            delivery = await self._heavy.step(
                live.source, live.program, live.state_bytes(), [(event, now_ms)], live.limits, gone=live.gone
            )
        finally:
            slot.is_away = False
        live.is_heavy = delivery.heavy
        return delivery, now_ms

    def _apply(
        self,
        live: LiveExecution,
        slot: Slot,
        taken: list[Input],
        answers: list[tuple[Input, object]],
        shipped: tuple[Delivery, int] | None,
    ) -> Batch | None:
        """Apply as many inputs as the budget of one commit allows; of a step that was computed elsewhere, that one."""
        self._store.make_way()
        began = time.perf_counter_ns()
        work: Work | None = None
        inputs = slot.inputs
        while inputs and (work is None or (work.budget > 0 and shipped is None)):
            entry = inputs.popleft()
            taken.append(entry)
            try:
                applies = entry.accept is None or entry.accept(live)
            except ApiError as refusal:
                answers.append((entry, refusal))
                continue
            if live.state is not None:
                if work is None:
                    now_ms = shipped[1] if shipped is not None else self._clock.now_ms()
                    work = Work(live, now_ms, self._shard.ids.next, self._shard.region, self._clock.pauses)
                    if live.row.machine in self._deleting and live.is_running:
                        work.apply(events.ExecutionStopped())
                        shipped = None
                if applies:
                    work.apply(entry.event, entry.call, shipped[0] if shipped is not None else None)
                    if entry.client_token is not None:
                        work.note_client_token(entry.client_token)
                    if entry.completed is not None:
                        work.completed.append(entry.completed)
                if entry.inbox_row and entry.inbox_row != live.continue_row:
                    work.inbox_done.append(entry.inbox_row)
            answers.append((entry, entry.result(live) if entry.result is not None else None))
        batch = work.finish() if work is not None else None
        counters = self._counters
        counters.inputs += len(taken)
        counters.turns += 1
        spent_us = (time.perf_counter_ns() - began) // 1000
        counters.turn_us_total += spent_us
        counters.turn_us_most = max(counters.turn_us_most, spent_us)
        return batch

    def _again(self, slot: Slot, taken: list[Input]) -> None:
        """Another writer was first: what was computed is worthless, and nothing of it has left the process."""
        self._counters.stale_commits += 1
        slot.live = None
        slot.reloads += 1
        if slot.reloads > _RELOADS:
            raise StoreError("the store refuses every commit as stale")
        slot.inputs.extendleft(reversed(taken))

    def _follow(self, live: LiveExecution, slot: Slot, batch: Batch) -> None:
        counters = self._counters
        counters.commits += 1
        counters.history_events += len(batch.history)
        counters.transitions += batch.transitions
        self.quarantined.pop(live.id, None)
        if batch.goes_on and live.is_running and not self._stopped:
            slot.inputs.append(Input(events.BurstContinued()))
        if live.version == 1:
            counters.started += 1
        if batch.closed:
            counters.closed[live.row.status] = counters.closed.get(live.row.status, 0) + 1
        for listener in self._listeners:
            listener.after_commit(live, batch)

    # ------------------------------------------------------------------ the store

    async def _load(self, execution: int) -> LiveExecution | None:
        stored = await self._written.load(execution)
        if stored is None:
            return None
        head = Head.decode(stored.row.head)
        program: Program | None = None
        if stored.state is not None:
            whole = await self._programs.program_of(head.machine_id, head.revision_id)
            program = whole.child_program(head.scope) if head.scope else whole
        return decode_live(stored, head, program, self._shard.limits_of(head.type), self._shard.region)

    def _keep(self, live: LiveExecution) -> None:
        self._hot[live.id] = live
        self.keep_at_most(self._most_hot)

    def keep_at_most(self, hot: int) -> None:
        """Let no more than so many idle executions stay in memory from now on."""
        self._most_hot = hot
        while len(self._hot) > hot:
            self._hot.popitem(last=False)

    # ------------------------------------------------------------------ bugs

    async def quarantine(self, execution: int, problem: BaseException) -> None:
        """Hold an execution back because something broke outside the runner."""
        slot = self._slots.get(execution)
        await self._quarantine(execution, slot if slot is not None else Slot(), problem)

    async def _quarantine(self, execution: int, slot: Slot, problem: BaseException) -> None:
        """Hold one execution back, with its cause in the log and in the row."""
        reason = f"{type(problem).__name__}: {problem}"[:500]
        live, slot.live = slot.live, None
        arn = live.head.execution_arn if live is not None else f"(id {execution})"
        logger.error("execution %s is quarantined because of a bug in Statewright", arn, exc_info=problem)
        self.quarantined[execution] = reason
        self._counters.quarantined += 1
        self._refuse(slot.inputs, Quarantined(arn, reason))
        try:
            stored = await self._store.load(execution)
            if stored is not None:
                await self._store.commit(_marked(stored, reason))
            elif live is not None:
                self._did_not_begin(slot)
        except StoreError:
            logger.exception("the quarantine of %s could not be written down", arn)

    def _did_not_begin(self, slot: Slot) -> None:
        if slot.never_began is not None:
            slot.never_began()

    def _refuse(self, inputs: deque[Input], problem: BaseException) -> None:
        while inputs:
            inputs.popleft().settle(problem)

    # ------------------------------------------------------------------ ends

    async def drain(self) -> None:
        """Take nothing new, and let what is under way be written; steps that another process computes are given up."""
        self._stopped = True
        fail_points.passed(fail_points.IN_DRAIN)
        while self._slots:
            for slot in self._slots.values():
                # A burst continues from its inbox row, at the next start.
                slot.inputs = deque(one for one in slot.inputs if not isinstance(one.event, events.BurstContinued))
                if slot.is_away and slot.task is not None:
                    slot.task.cancel()
            await self._idle.wait()
        self._hot.clear()

    def kill(self) -> None:
        """Drop everything, as a process that dies would; callers are answered that nothing is known."""
        self._stopped = True
        slots = list(self._slots.values())
        self._slots.clear()
        for slot in slots:
            if slot.task is not None:
                slot.task.cancel()
            # A task that has not taken its first step yet never will, and answers no caller.
            self._refuse(slot.inputs, Unavailable("the engine has stopped"))
        self._idle.set()
        self._hot.clear()


def _answer_late(answers: list[tuple[Input, object]], problem: Unavailable) -> None:
    for entry, _ in answers:
        entry.settle(problem)


def _row_of(live: LiveExecution) -> Row:
    return live.row


def _marked(stored: Stored, reason: str) -> Commit:
    tail = replace(Tail.decode(stored.row.tail), quarantine=reason)
    return Commit(replace(stored.row, tail=tail.encode()), stored.version, stored.state)
