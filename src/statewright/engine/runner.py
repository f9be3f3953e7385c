"""The runner: load, advance, commit, dispatch. One writer per execution, one commit of it in flight.

Whatever an execution is told waits in its slot. A slot has a task only while there is something to do; what arrives
during a commit goes into the next one together. An idle execution is forgotten, but for the few that were used last.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, Final, Protocol, TypeVar

from statewright.asl.program import Program
from statewright.clock import Clock
from statewright.engine.dispatch import ScheduledCall
from statewright.engine.executions.live import Batch, LiveExecution, Work, decode_live
from statewright.engine.executions.views import ExecutionView, Head, StatusChange, Tail, view_from
from statewright.engine.heavy.steps import HeavySteps, LeavesTheLoop
from statewright.engine.heavy.wire import Delivery
from statewright.engine.metering import ExecutionMeter
from statewright.engine.metrics import Counters
from statewright.engine.turnstile import BURST, Turnstile
from statewright.errors import ApiError, OwnershipLost, StoreError, Unavailable
from statewright.interpreter import events
from statewright.limits import Limits
from statewright.stores import fail_points
from statewright.stores.ids import IdSource
from statewright.stores.protocol import Commit, Committed, ExecutionStore, Existing, Outcome, Stale, Stored

logger = logging.getLogger(__name__)

T = TypeVar("T")

PATIENCE: Final = 5
"""Attempts at a commit after which whoever waits for it is told that the store does not answer."""
MOST_UNWRITTEN: Final = 1_000
"""With so many commits that the store has not taken in time, no further execution is begun: each is held in memory."""
_FIRST_PAUSE_MS: Final = 20
_LONGEST_PAUSE_MS: Final = 1_000
_RELOADS: Final = 20


class Quarantined(ApiError):
    """A bug of ours holds the execution back; it goes on where it stands once that is mended."""

    def __init__(self, execution_arn: str, reason: str) -> None:
        super().__init__(
            "InternalServerError", f"Execution {execution_arn} is held back by an internal error: {reason}"
        )


class AlreadyThere(Exception):
    """The answer to a start whose name is taken."""

    def __init__(self, existing: Existing) -> None:
        super().__init__()
        self.row = existing.row


class Input:
    """Something that an execution is told, and who waits for what comes of it.

    `accept` decides on the state in memory whether the event applies: false leaves it out, an ApiError is the answer.
    `result` makes the answer from the state once the event is applied. Both answers are given after the commit.
    `settled` is called once then, whatever the answer.
    """

    __slots__ = ("accept", "answer", "call", "client_token", "event", "inbox_row", "result", "settled")

    def __init__(
        self,
        event: events.Event,
        *,
        accept: Callable[[LiveExecution], bool] | None = None,
        result: Callable[[LiveExecution], Any] | None = None,
        answer: asyncio.Future[Any] | None = None,
        inbox_row: int = 0,
        client_token: str | None = None,
        call: ScheduledCall | None = None,
        settled: Callable[[], None] | None = None,
    ) -> None:
        self.settled = settled
        self.call = call
        """The call whose result the event is."""
        self.client_token = client_token
        """What a redrive is to be remembered by."""
        self.event = event
        self.accept = accept
        self.result = result
        self.answer = answer
        self.inbox_row = inbox_row


class Slot:
    """An execution with something to do."""

    __slots__ = ("inputs", "live", "reloads", "task")

    def __init__(self) -> None:
        self.reloads = 0
        self.inputs: deque[Input] = deque()
        self.live: LiveExecution | None = None
        self.task: asyncio.Task[None] | None = None


class Programs(Protocol):
    """Where compiled definitions come from."""

    async def program_of(self, machine_id: int, revision_id: str) -> Program:
        """The program of a revision, compiled once."""

    async def gone_activities(self, program: Program) -> frozenset[str]:
        """The activities that a program names and that do not exist."""

    async def definition_of(self, machine_id: int, revision_id: str) -> str:
        """The text that the program of a revision was compiled from."""


class Runner:
    """Runs the executions of one shard. `after` is told of every commit, once it is durable."""

    def __init__(
        self,
        store: ExecutionStore,
        clock: Clock,
        programs: Programs,
        limits_of: Callable[[str], Limits],
        region: str,
        hot: int,
        after: Callable[[LiveExecution, Batch], None],
        publish: Callable[[StatusChange], None] | None,
    ) -> None:
        self.store = store
        self.clock = clock
        self.programs = programs
        self.limits_of = limits_of
        self.region = region
        self.ids = IdSource(clock.now_ms)
        self.heavy = HeavySteps(clock, programs.definition_of)
        self.turnstile = Turnstile(store.make_way)
        self.counters = Counters()
        self.quarantined: dict[int, str] = {}
        self.on_ownership_lost: Callable[[], None] = _nothing
        self.on_unbegun: Callable[[LiveExecution], None] = _nothing_of
        """Told of every execution that `begin` was asked for and that never will be there."""
        self.is_deleting: Callable[[int], bool] = _never
        """Whether a state machine is being deleted: its executions end at their next step."""
        self._after = after
        self.subscribers: list[Callable[[StatusChange], None]] = [publish] if publish is not None else []
        """Who is told of the changes of status of STANDARD executions."""
        self.meter: ExecutionMeter | None = None
        self._slots: dict[int, Slot] = {}
        self._hot: OrderedDict[int, LiveExecution] = OrderedDict()
        self._most_hot = hot
        self._stopped = False
        self._unwritten = 0
        """Commits that the store has not taken in time."""
        self._idle = asyncio.Event()
        self._idle.set()

    # ------------------------------------------------------------------ taking inputs

    def tell(self, execution: int, entry: Input) -> None:
        """Give an execution something to do."""
        if self._stopped:
            _settle(entry, Unavailable("the engine is stopping"))
            return
        reason = self.quarantined.get(execution)
        # Whoever wants to be rid of an execution that is held back may still stop it.
        if reason is not None and not isinstance(entry.event, events.ExecutionStopped):
            _settle(entry, Quarantined(f"(id {execution})", reason))
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
        accept: Callable[[LiveExecution], bool] | None = None,
        result: Callable[[LiveExecution], Any] | None = None,
        client_token: str | None = None,
    ) -> asyncio.Future[Any]:
        """As `tell`; the future has the answer once it is durable."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.tell(execution, Input(event, accept=accept, result=result, answer=answer, client_token=client_token))
        return answer

    def begin(self, live: LiveExecution, first: events.Event | None = None) -> asyncio.Future[Any]:
        """Begin an execution that no store has seen yet, with `first` (a start unless given).

        Raises (the future): AlreadyThere.
        """
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self._stopped or self._unwritten >= MOST_UNWRITTEN:
            text = "the engine is stopping" if self._stopped else "the store does not answer"
            answer.set_exception(Unavailable(text))
            self.on_unbegun(live)
            return answer
        slot = self._open(live.id)
        slot.live = live
        slot.inputs.append(Input(first or events.ExecutionStarted(), result=_row_of, answer=answer))
        return answer

    def _open(self, execution: int) -> Slot:
        slot = self._slots[execution] = Slot()
        slot.live = self._hot.pop(execution, None)
        slot.task = asyncio.create_task(self._work(execution, slot))
        self._idle.clear()
        return slot

    def is_busy(self, execution: int) -> bool:
        """Whether an execution has something to do right now."""
        return execution in self._slots

    @property
    def in_memory(self) -> int:
        """How many executions are held in memory, busy or not."""
        return len(self._slots) + len(self._hot)

    @property
    def busy(self) -> int:
        """How many executions have something to do right now."""
        return len(self._slots)

    # ------------------------------------------------------------------ working

    async def _work(self, execution: int, slot: Slot) -> None:
        try:
            while slot.inputs:
                await self._turn(execution, slot)
        except asyncio.CancelledError:
            self._refuse(slot.inputs, Unavailable("the engine is stopping"))
            raise
        except Unavailable as problem:
            # The engine stops while another process computes a step: whatever was told is told again at the next start.
            slot.live = None
            self._refuse(slot.inputs, problem)
        except OwnershipLost as problem:
            slot.live = None
            self._refuse(slot.inputs, problem)
            self.on_ownership_lost()
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
        answers: list[tuple[Input, Any]] = []
        problem: BaseException | None = None
        try:
            program = live.program
            if program is not None and program.activities:
                live.gone = await self._gone(program)
            if type(slot.inputs[0].event) is events.BurstContinued and len(self._slots) > 1:
                await self.turnstile.enter(BURST)
            shipped = await self._ship(live, slot.inputs[0]) if live.is_heavy else None
            batch = self._apply(live, slot, taken, answers, shipped)
            if batch is not None:
                outcome = await self._commit(batch.commit, answers)
                if isinstance(outcome, Stale):
                    self._again(slot, taken)
                    return
                if isinstance(outcome, Existing):
                    slot.live = None
                    self.on_unbegun(live)
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
            _settle(entry, value)
        if batch is not None:
            fail_points.passed(fail_points.BEFORE_DISPATCH)
            self._follow(live, slot, batch)

    async def _gone(self, program: Program) -> frozenset[str]:
        return await self.patiently(lambda: self.programs.gone_activities(program))

    async def _ship(self, live: LiveExecution, entry: Input) -> tuple[Delivery, int] | None:
        """Have the step that an input causes computed elsewhere; also for which instant. `None`: it causes none."""
        live.is_heavy = False
        event = entry.event
        if live.state is None or live.program is None or self.is_deleting(live.row.machine):
            return None
        if isinstance(event, events.TimerFired) and event.timer_id not in live.timers:
            return None
        try:
            if entry.accept is not None and not entry.accept(live):
                return None
        except ApiError:
            return None
        now_ms = self.clock.now_ms()
        delivery = await self.heavy.step(
            live.source, live.program, live.state_bytes(), [(event, now_ms)], live.limits, gone=live.gone
        )
        live.is_heavy = delivery.heavy
        return delivery, now_ms

    def _apply(
        self,
        live: LiveExecution,
        slot: Slot,
        taken: list[Input],
        answers: list[tuple[Input, Any]],
        shipped: tuple[Delivery, int] | None,
    ) -> Batch | None:
        """Apply as many inputs as the budget of one commit allows; of a step that was computed elsewhere, that one."""
        self.store.make_way()
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
                    now_ms = shipped[1] if shipped is not None else self.clock.now_ms()
                    work = Work(live, now_ms, self.ids.next, self.region, self.clock.pauses)
                    if self.is_deleting(live.row.machine) and live.is_running:
                        work.apply(events.ExecutionStopped())
                        shipped = None
                if applies:
                    work.apply(entry.event, entry.call, shipped[0] if shipped is not None else None)
                    if entry.client_token is not None:
                        work.note_client_token(entry.client_token)
                if entry.inbox_row and entry.inbox_row != live.continue_row:
                    work.inbox_done.append(entry.inbox_row)
            answers.append((entry, entry.result(live) if entry.result is not None else None))
        batch = work.finish() if work is not None else None
        counters = self.counters
        counters.inputs += len(taken)
        counters.turns += 1
        spent_us = (time.perf_counter_ns() - began) // 1000
        counters.turn_us_total += spent_us
        counters.turn_us_most = max(counters.turn_us_most, spent_us)
        return batch

    def _again(self, slot: Slot, taken: list[Input]) -> None:
        """Somebody else has written: what was computed is worthless, nothing of it has left the process."""
        self.counters.stale_commits += 1
        slot.live = None
        slot.reloads += 1
        if slot.reloads > _RELOADS:
            raise StoreError("the store refuses every commit as stale")
        slot.inputs.extendleft(reversed(taken))

    def _follow(self, live: LiveExecution, slot: Slot, batch: Batch) -> None:
        counters = self.counters
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
        if self.meter is not None:
            self.meter.followed(live, batch)
        self._after(live, batch)
        if self.subscribers and (batch.opened or batch.closed) and live.head.type == "STANDARD":
            self._tell_status(live, batch)

    def _tell_status(self, live: LiveExecution, batch: Batch) -> None:
        row, head, tail, limits, now_ms = live.row, live.head, live.tail, live.limits, self.clock.now_ms()

        def view() -> ExecutionView:
            return view_from(row, head, tail, now_ms, limits)

        def opened() -> ExecutionView:
            return replace(
                view(), status="RUNNING", stopped_ms=None, output=None, error=None, cause=None,
                redrive_status="NOT_REDRIVABLE", redrive_reason="Execution is RUNNING and cannot be redriven",
            )  # fmt: skip

        changes = [StatusChange(head.execution_arn, "RUNNING", None, opened)] if batch.opened else []
        if batch.closed:
            changes.append(StatusChange(head.execution_arn, row.status, row.stopped_ms, view))
        for told in self.subscribers:
            try:
                for change in changes:
                    told(change)
            except Exception:
                # One subscriber's bug is no other's loss.
                logger.exception("publishing a status change of %s failed", head.execution_arn)

    # ------------------------------------------------------------------ the store

    async def _commit(self, commit: Commit, answers: list[tuple[Input, Any]]) -> Outcome:
        """Write, however long the store takes to answer.

        A commit without an answer may have been written or not. Nobody else writes this execution, so if it has
        the next version when asked again, it was.
        """
        began = time.perf_counter_ns()
        pause_ms = _FIRST_PAUSE_MS
        attempts = 0
        try:
            while True:
                try:
                    outcome = await self.store.commit(commit)
                    if attempts:
                        outcome = await self._what_happened(commit, outcome)
                    break
                except Unavailable as problem:
                    attempts += 1
                    self.counters.retried_commits += 1
                    if attempts == PATIENCE:
                        logger.warning("the store does not answer (%s); trying on", problem)
                        self._unwritten += 1
                        for entry, _ in answers:
                            _settle(entry, problem)
                    await self.clock.sleep_until(self.clock.now_ms() + pause_ms)
                    pause_ms = min(2 * pause_ms, _LONGEST_PAUSE_MS)
        finally:
            self._unwritten -= attempts >= PATIENCE
        took_us = (time.perf_counter_ns() - began) // 1000
        counters = self.counters
        counters.commit_us_total += took_us
        counters.commit_us_most = max(counters.commit_us_most, took_us)
        return outcome

    async def _what_happened(self, commit: Commit, outcome: Outcome) -> Outcome:
        if isinstance(outcome, Existing) and outcome.row.id == commit.row.id:
            return Committed(1)
        if isinstance(outcome, Stale):
            stored = await self.store.load(commit.row.id)
            if stored is not None and stored.version == commit.expected + 1:
                return Committed(stored.version)
        return outcome

    async def _load(self, execution: int) -> LiveExecution | None:
        stored = await self.patiently(lambda: self.store.load(execution))
        if stored is None:
            return None
        head = Head.decode(stored.row.head)
        program: Program | None = None
        if stored.state is not None:
            whole = await self.patiently(lambda: self.programs.program_of(head.machine_id, head.revision_id))
            program = whole.child_program(head.scope) if head.scope else whole
        return decode_live(stored, head, program, self.limits_of(head.type), self.region)

    async def patiently(self, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Ask the store until it answers; for work that no caller waits for."""
        pause_ms = _FIRST_PAUSE_MS
        while True:
            try:
                return await ask()
            except Unavailable:
                await self.clock.sleep_until(self.clock.now_ms() + pause_ms)
                pause_ms = min(2 * pause_ms, _LONGEST_PAUSE_MS)

    def _keep(self, live: LiveExecution) -> None:
        hot = self._hot
        hot[live.id] = live
        while len(hot) > self._most_hot:
            hot.popitem(last=False)

    def passivate(self) -> None:
        """Forget every idle execution."""
        self._hot.clear()

    async def commit_patiently(self, commit: Commit) -> Outcome:
        """Write a commit that no slot is behind, however long the store takes."""
        return await self._commit(commit, [])

    # ------------------------------------------------------------------ bugs of ours

    async def quarantine(self, execution: int, problem: BaseException) -> None:
        """Hold an execution back because something broke outside the runner."""
        slot = self._slots.get(execution)
        await self._quarantine(execution, slot if slot is not None else Slot(), problem)

    async def _quarantine(self, execution: int, slot: Slot, problem: BaseException) -> None:
        """Hold one execution back, visibly: its cause stands in the log and in the row."""
        reason = f"{type(problem).__name__}: {problem}"[:500]
        live, slot.live = slot.live, None
        arn = live.head.execution_arn if live is not None else f"(id {execution})"
        logger.error("execution %s is quarantined by a bug of ours", arn, exc_info=problem)
        self.quarantined[execution] = reason
        self.counters.quarantined += 1
        self._refuse(slot.inputs, Quarantined(arn, reason))
        try:
            stored = await self.store.load(execution)
            if stored is not None:
                await self.store.commit(_marked(stored, reason))
            elif live is not None:
                self.on_unbegun(live)
        except StoreError:
            logger.exception("the quarantine of %s could not be written down", arn)

    def _refuse(self, inputs: deque[Input], problem: BaseException) -> None:
        while inputs:
            _settle(inputs.popleft(), problem)

    # ------------------------------------------------------------------ ends

    async def drain(self) -> None:
        """Take nothing new, and let what is under way be written."""
        self._stopped = True
        fail_points.passed(fail_points.IN_DRAIN)
        while self._slots:
            for slot in self._slots.values():
                # A burst goes on from its inbox row, at the next start.
                slot.inputs = deque(one for one in slot.inputs if not isinstance(one.event, events.BurstContinued))
            await self._idle.wait()
        self._hot.clear()

    def kill(self) -> None:
        """Drop everything, as a process that dies would."""
        self._stopped = True
        for slot in self._slots.values():
            if slot.task is not None:
                slot.task.cancel()
        self._hot.clear()


def _settle(entry: Input, value: Any) -> None:
    if entry.settled is not None:
        settled, entry.settled = entry.settled, None
        settled()
    answer = entry.answer
    if answer is None or answer.done():
        return
    if isinstance(value, BaseException):
        answer.set_exception(value)
    else:
        answer.set_result(value)


def _nothing() -> None:
    """What happens unless somebody asks to be told."""


def _nothing_of(_live: LiveExecution) -> None:
    """As `_nothing`."""


def _never(_machine: int) -> bool:
    return False


def _row_of(live: LiveExecution) -> Any:
    return live.row


def _marked(stored: Stored, reason: str) -> Commit:
    tail = replace(Tail.decode(stored.row.tail), quarantine=reason)
    return Commit(replace(stored.row, tail=tail.encode()), stored.version, stored.state)
