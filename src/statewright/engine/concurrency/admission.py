"""Admission: executions of machines with a limit of concurrency or of starts per second wait in order.

A start is accepted immediately and committed as queued: its history has its start and no state. It is admitted, by an
event of its own, when an execution of its machine ends or when the rate allows. Running and queued executions are held
in memory, and recovered after a start: queued ones have outbox rows, running ones are listed. Owns the order, which is
that of the starts; limits are defined in `engine.machines.limits`.

Child executions of Map Runs are not counted: their Map Run has a concurrency of its own. A redriven execution runs
immediately.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from statewright.clock import Timer
from statewright.engine.executions.live import LiveExecution
from statewright.engine.executions.work import Batch
from statewright.engine.inputs import Input
from statewright.engine.machines.limits import Limit
from statewright.engine.shard import Shard
from statewright.interpreter import events
from statewright.stores.protocol import Started

_ROWS_AT_ONCE: Final = 1_000
_LOOK_MS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Standing:
    """A machine with a limit: how many of its executions run, and how many wait."""

    machine_arn: str
    limit: Limit
    running: int
    queued: int


@dataclass(slots=True)
class _Gate:
    """One machine with a limit. `queue` is in order; `tokens` are starts that the rate allows right now."""

    machine_arn: str
    limit: Limit
    running: set[int] = field(default_factory=set)
    queue: OrderedDict[int, None] = field(default_factory=OrderedDict)
    tokens: float = 1.0
    counted_ms: int = 0
    ended: set[int] | None = None
    """Executions that ended while those that run are still being listed; none is admitted meanwhile."""
    timer: Timer | None = None


class Admission:
    """The gates of one engine."""

    def __init__(
        self, shard: Shard, tell: Callable[[int, Input], None], is_elsewhere: Callable[[int], bool] | None = None
    ) -> None:
        """`tell` gives an execution something to do. `is_elsewhere`: whether another engine has an execution, if there
        are such engines.
        """
        self._shard = shard
        self._tell = tell
        self._is_elsewhere = is_elsewhere
        self._gates: dict[int, _Gate] = {}
        self._next_look: Timer | None = None

    # ------------------------------------------------------------------ life

    def recover(self, queued: Iterable[tuple[int, int]]) -> None:
        """Queue waiting executions, (execution, machine) pairs, once limits and running executions are known."""
        by_machine: dict[int, list[int]] = {}
        for execution, machine in queued:
            by_machine.setdefault(machine, []).append(execution)
        for machine, gate in self._gates.items():
            gate.queue = OrderedDict.fromkeys(sorted(by_machine.pop(machine, ())))
            gate.running -= gate.queue.keys()
            self._open(gate)
        for waiting in by_machine.values():
            # Their machine has no limit any more.
            for execution in sorted(waiting):
                self._admit(execution)

    def stop(self) -> None:
        """Admit no execution any more."""
        for gate in self._gates.values():
            if gate.timer is not None:
                gate.timer.cancel()
        self._gates.clear()
        if self._next_look is not None:
            self._next_look.cancel()

    # ------------------------------------------------------------------ limits

    async def set_limit(self, machine: int, arn: str, limit: Limit | None) -> None:
        """Change a machine's limit. Executions that run already continue."""
        gate = self._gates.get(machine)
        if limit is None:
            if gate is not None:
                del self._gates[machine]
                if gate.timer is not None:
                    gate.timer.cancel()
                for execution in gate.queue:
                    self._admit(execution)
        elif gate is None:
            await self._begin_counting(machine, arn, limit)
        elif gate.limit != limit:
            gate.limit = limit
            if gate.timer is not None:
                gate.timer.cancel()
                gate.timer = None
            self._open(gate)

    async def _begin_counting(self, machine: int, arn: str, limit: Limit) -> None:
        gate = self._gates[machine] = _Gate(arn, limit, counted_ms=self._shard.clock.now_ms(), ended=set())
        found = await self._running(machine)
        assert gate.ended is not None
        gate.running |= found - gate.ended - gate.queue.keys()
        gate.ended = None
        if self._gates.get(machine) is gate:
            self._open(gate)
            self._look_later()

    async def _running(self, machine: int) -> set[int]:
        found: set[int] = set()
        after: Started | None = None
        while True:
            page = await self._shard.retrying.executions.list_rows(
                machine, status="RUNNING", after=after, limit=_ROWS_AT_ONCE
            )
            found.update(row.id for row in page.rows)
            after = page.next
            if after is None:
                return found

    # ------------------------------------------------------------------ executions of other engines

    # From before their machine had a limit: this engine starts all later ones, but does not hear of the ends of these.

    def _look_later(self) -> None:
        if self._next_look is None and any(self._elsewhere(gate) for gate in self._gates.values()):
            clock = self._shard.clock
            self._next_look = clock.call_at(clock.now_ms() + _LOOK_MS, self._look)

    def _elsewhere(self, gate: _Gate) -> list[int]:
        there = self._is_elsewhere
        return [execution for execution in gate.running if there(execution)] if there is not None else []

    def _look(self) -> None:
        self._next_look = None
        self._shard.spawn(self._notice_ends())

    async def _notice_ends(self) -> None:
        for machine, gate in list(self._gates.items()):
            if self._elsewhere(gate):
                running = await self._running(machine)
                for execution in [one for one in self._elsewhere(gate) if one not in running]:
                    self.left(machine, execution)
        self._look_later()

    # ------------------------------------------------------------------ starts and ends

    def limits(self, machine: int) -> bool:
        """True if executions of a machine are counted at all."""
        return machine in self._gates

    def enter(self, machine: int, execution: int) -> bool:
        """An execution is about to start: whether it is to be queued. Ends with `left` in either case, also if it never
        begins. `admit` comes after the start of one that is queued.
        """
        gate = self._gates[machine]
        if not gate.queue and self._is_free(gate):
            self._count(gate, execution)
            return False
        gate.queue[execution] = None
        return True

    def count(self, machine: int, execution: int) -> None:
        """Count an execution that runs without being admitted, as a fork does."""
        gate = self._gates.get(machine)
        if gate is not None:
            gate.running.add(execution)

    def admit(self, machine: int) -> None:
        """Admit the executions that may run."""
        gate = self._gates.get(machine)
        if gate is not None:
            self._open(gate)

    def left(self, machine: int, execution: int) -> None:
        """An execution has ended, was stopped in the queue, or never began."""
        gate = self._gates.get(machine)
        if gate is not None:
            gate.running.discard(execution)
            gate.queue.pop(execution, None)
            if gate.ended is not None:
                gate.ended.add(execution)
            self._open(gate)

    def after_commit(self, live: LiveExecution, batch: Batch) -> None:
        """See `CommitListener`."""
        gate = self._gates.get(live.row.machine)
        if gate is None:
            return
        if batch.closed:
            self.left(live.row.machine, live.id)
        elif batch.opened and live.state is not None and not live.state.is_queued:
            # Redriven, or begun just before there was a limit.
            gate.queue.pop(live.id, None)
            gate.running.add(live.id)

    def standing(self) -> list[Standing]:
        """Every machine with a limit, by ARN."""
        found = [
            Standing(gate.machine_arn, gate.limit, len(gate.running), len(gate.queue)) for gate in self._gates.values()
        ]
        return sorted(found, key=lambda one: one.machine_arn)

    def queued(self, machine_arn: str, most: int) -> list[int]:
        """The ids of executions of a machine that wait to be admitted, the next one first, up to so many."""
        for gate in self._gates.values():
            if gate.machine_arn == machine_arn:
                return list(islice(gate.queue, most))
        return []

    # ------------------------------------------------------------------ the gate

    def _is_free(self, gate: _Gate) -> bool:
        limit = gate.limit
        if gate.ended is not None:
            return False
        if limit.at_once is not None and len(gate.running) >= limit.at_once:
            return False
        if limit.per_second is None:
            return True
        now_ms = self._shard.clock.now_ms()
        most = max(1.0, limit.per_second)
        gate.tokens = min(most, gate.tokens + max(0, now_ms - gate.counted_ms) * limit.per_second / 1000)
        gate.counted_ms = now_ms
        # A remainder of rounding must not cost another millisecond.
        return gate.tokens >= 1 - 1e-9

    def _count(self, gate: _Gate, execution: int) -> None:
        gate.running.add(execution)
        if gate.limit.per_second is not None:
            gate.tokens -= 1

    def _open(self, gate: _Gate) -> None:
        """Admit the executions that may run now, and look again when the rate allows the next."""
        while gate.queue and self._is_free(gate):
            execution, _ = gate.queue.popitem(last=False)
            self._count(gate, execution)
            self._admit(execution)
        rate = gate.limit.per_second
        held_by_rate = gate.ended is None and (gate.limit.at_once is None or len(gate.running) < gate.limit.at_once)
        if gate.queue and rate is not None and held_by_rate and gate.timer is None:
            clock = self._shard.clock
            missing_ms = (1 - gate.tokens) / rate * 1000
            gate.timer = clock.call_at(clock.now_ms() + max(1, round(missing_ms)), lambda: self._again(gate))

    def _again(self, gate: _Gate) -> None:
        gate.timer = None
        self._open(gate)

    def _admit(self, execution: int) -> None:
        self._tell(execution, Input(events.ExecutionAdmitted()))
