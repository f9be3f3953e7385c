"""Cells: the units that an engine's executions are divided into, each with its own range of ids.

A cell is a shard (`shard.py`) and the parts that work on its executions alone: the runner, timers and calls, inputs
from the store, EXPRESS executions, Map Runs. The cell of an execution is in its id, for ever. `Common` has the parts
that the cells of an engine share; the first cell is the home of those with one memory for all: semaphores, admission,
the queues of activities.

An engine has one cell, unless it is made with more. That of a worker has any number, none at first: they come and go
while it runs (`cluster.moves`), and its home is elsewhere.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Final

from statewright.engine.activities import Activities, ActivityTask
from statewright.engine.dispatch import Integrations, ScheduledCall, TaskResult
from statewright.engine.effects import Effects, OnOffer, calls_of
from statewright.engine.executions import kinds
from statewright.engine.executions.history_log import HistoryLog
from statewright.engine.executions.names import ExecutionNames
from statewright.engine.express.ends import ExpressEnds
from statewright.engine.express.runs import ExpressRuns
from statewright.engine.heavy.steps import HeavySteps
from statewright.engine.inbox import Inbox
from statewright.engine.inputs import Input
from statewright.engine.listeners import CommitListener
from statewright.engine.machines.activities import ActivityRecords
from statewright.engine.machines.programs import RetryingPrograms
from statewright.engine.map_runs.data import MapRunData
from statewright.engine.map_runs.map_runs import MapRuns
from statewright.engine.map_runs.site import Site
from statewright.engine.metering import OpenExecutions
from statewright.engine.runner import Runner
from statewright.engine.shard import Shard
from statewright.engine.timers import TimerFigures
from statewright.errors import ElsewhereError, StoreError, Unavailable
from statewright.stores.ids import shard_of_id
from statewright.stores.protocol import InboxRow, OutboxRow

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Common:
    """The parts that the cells of an engine share. `before` and `after` listen to commits, around a cell's own parts.

    `deleting` are the machines whose executions end at their next step. `counts_open`: each cell counts its open
    executions for itself, because it may leave.
    """

    programs: RetryingPrograms
    deleting: Container[int]
    heavy: HeavySteps
    names: ExecutionNames
    history_log: HistoryLog
    activity_records: ActivityRecords
    activities: Activities
    integrations: Integrations
    data: MapRunData
    express_ends: ExpressEnds
    before: tuple[CommitListener, ...]
    after: tuple[CommitListener, ...]
    on_offer: OnOffer | None = None
    counts_open: bool = False


@dataclass(frozen=True, slots=True)
class Recovered:
    """The rows of a cell in the store when it starts: calls by the ids of their outbox rows, those rows, and inputs."""

    calls: dict[int, ScheduledCall]
    outbox: list[OutboxRow]
    inbox: list[InboxRow]

    def queued(self) -> list[tuple[int, int]]:
        """The executions that wait to be admitted, each with its machine."""
        return [(sent.execution, int(sent.body)) for sent in self.outbox if sent.kind == kinds.QUEUED]


class Cell:
    """The executions of one shard, and the parts that work on them. `hot` is how many idle ones stay in memory."""

    def __init__(self, shard: Shard, common: Common, hot: int) -> None:
        self.shard: Final = shard
        self._common = common
        self.open: Final = OpenExecutions() if common.counts_open else None
        """Its open executions, where each cell counts them for itself."""
        self.runner: Final = Runner(shard, common.programs, common.deleting, common.heavy, hot, self._listeners)

    def _listeners(self, runner: Runner) -> tuple[CommitListener, ...]:
        """Make the parts that give the runner inputs; those that follow its commits, in order.

        A task's result may come back immediately, so calls go out before other executions are admitted or deleted.
        """
        shard, common = self.shard, self._common
        self.effects = Effects(
            shard,
            runner,
            common.names,
            common.activity_records,
            common.activities,
            common.integrations,
            common.on_offer,
        )
        self.dispatcher = self.effects.dispatcher
        self.inbox = Inbox(shard, runner, common.deleting)
        self.express = ExpressRuns(
            shard,
            runner,
            self.dispatcher,
            common.heavy,
            common.programs,
            self.inbox,
            common.history_log,
            common.express_ends,
        )
        site = Site(
            shard, runner, common.names, common.programs, self.express, common.data, common.deleting, common.heavy
        )
        self.map_runs = MapRuns(site, self.inbox)
        own = (self.effects, self.map_runs) if self.open is None else (self.open, self.effects, self.map_runs)
        return (*common.before, *own, *common.after)

    # ------------------------------------------------------------------ life

    async def take(self) -> Recovered:
        """Begin to own the shard; its rows in the store."""
        await self.shard.take()
        outbox, inbox = await self.shard.store.executions.pending(self.shard.number)
        return Recovered(calls_of(outbox), outbox, inbox)

    async def start(self, found: Recovered) -> None:
        """Go on with these rows: inputs that wait, effects under way, timers."""
        for row in found.inbox:
            self.inbox.take(row)
        for sent in found.outbox:
            if sent.id in found.calls:
                self.effects.recover(sent, found.calls[sent.id])
            elif sent.kind == kinds.MAP_RUN:
                self.map_runs.recover_request(sent)
            elif sent.kind not in (kinds.WAITER, kinds.QUEUED):
                log.error("outbox row %s of execution %s is of unknown kind %r", sent.id, sent.execution, sent.kind)
        await self.effects.timers.recover()

    def accept_nothing(self) -> None:
        """Take no more inputs from the store, and fire no more timers."""
        self.inbox.stop()
        self.effects.stop()

    async def drain(self) -> None:
        """Write what is under way, and abandon every call."""
        await self.runner.drain()
        await self.map_runs.drain()
        self.express.stop()
        self.dispatcher.kill()

    async def close(self) -> None:
        """As `accept_nothing` and `drain`, and end all other work: afterwards nothing of the cell writes any more."""
        self.accept_nothing()
        await self.runner.drain()
        await self.express.drain()
        # What it does is named by rows, and begins again where the cell is next. It may have Map Runs write.
        self.shard.background.end()
        await self.map_runs.drain()
        self.dispatcher.kill()

    def drop(self) -> None:
        """Forget the shard: the copies in memory, its timers, and what is under way. Nothing of it is written."""
        self.shard.is_held = False
        self.inbox.stop()
        self.effects.stop()
        self.runner.kill()
        self.map_runs.kill()
        self.express.stop()
        self.dispatcher.kill()


class Cells:
    """The cells of an engine, found by the ids of their executions. The first that is added is the home."""

    def __init__(self) -> None:
        self._home: Cell | None = None
        self._by_shard: dict[int, Cell] = {}
        self._taking_turns: list[Cell] = []
        self._turns: Iterator[Cell] = iter(())
        self.past_timers: Final = TimerFigures()
        """Of cells that have left."""

    def add(self, cell: Cell) -> None:
        """Add a cell that stays; for an engine with a home."""
        self._home = self._home or cell
        self.hold(cell)
        self.join(cell)

    def hold(self, cell: Cell) -> None:
        """Have a cell found by the ids of its executions."""
        self._by_shard[cell.shard.number] = cell

    def join(self, cell: Cell) -> None:
        """Give a cell new executions, when it is its turn."""
        self._taking_turns.append(cell)
        self._turns = cycle(self._taking_turns)

    def retire(self, cell: Cell) -> None:
        """Give a cell no new executions any more."""
        self._taking_turns = [one for one in self._taking_turns if one is not cell]
        self._turns = cycle(self._taking_turns)

    def remove(self, cell: Cell) -> None:
        """Forget a cell; harmless when repeated."""
        self.retire(cell)
        if self._by_shard.get(cell.shard.number) is cell:
            del self._by_shard[cell.shard.number]
            self.past_timers.add(cell.effects.timers.figures)

    def __iter__(self) -> Iterator[Cell]:
        # Cells may leave while one of them is waited for.
        return iter(tuple(self._by_shard.values()))

    def __len__(self) -> int:
        return len(self._by_shard)

    @property
    def home(self) -> Cell:
        """The cell of the parts that all cells share. Raises: StoreError for a worker, which has none."""
        if self._home is None:
            raise StoreError("this engine has no home: it is a worker's")
        return self._home

    def next(self) -> Cell:
        """The cell of the next execution: one after the other. Raises: Unavailable when there is none."""
        cell = next(self._turns, None)
        if cell is None:
            raise Unavailable("this node has no cells yet: try again in a moment")
        return cell

    def of(self, number: int) -> Cell:
        """The cell of an id. Raises: ElsewhereError for one that this engine does not have."""
        shard = shard_of_id(number)
        cell = self._by_shard.get(shard)
        if cell is None:
            raise ElsewhereError(shard)
        return cell

    def of_shard(self, shard: int) -> Cell | None:
        """The cell of a shard, if this engine has it."""
        return self._by_shard.get(shard)

    def has(self, number: int) -> bool:
        """True if an id is of a cell that this engine has."""
        return shard_of_id(number) in self._by_shard

    def shards(self) -> list[int]:
        """The shards of the cells that this engine has."""
        return list(self._by_shard)

    # ------------------------------------------------------------------ to an execution, wherever it is

    def tell(self, execution: int, entry: Input) -> None:
        """See `Runner.tell`."""
        self.of(execution).runner.tell(execution, entry)

    async def take_activity_task(self, task: ActivityTask, worker_name: str | None) -> bool:
        """See `Effects.take_activity_task`."""
        return await self.of(task.execution).effects.take_activity_task(task, worker_name)

    def settle(self, call: ScheduledCall, result: TaskResult) -> bool:
        """See `Dispatcher.settle`."""
        # The call of an EXPRESS execution has no id: any cell may have made it.
        return any(cell.dispatcher.settle(call, result) for cell in self)

    def map_runs(self) -> dict[int, MapRuns]:
        """The Map Runs of each cell, by its shard."""
        return {number: cell.map_runs for number, cell in self._by_shard.items()}

    # ------------------------------------------------------------------ figures

    @property
    def quarantined(self) -> dict[int, str]:
        """Why executions are held back, by id."""
        return {execution: why for cell in self for execution, why in cell.runner.quarantined.items()}

    def unfinished(self) -> list[str]:
        """ARNs of the executions that have something to write right now; may be called in any thread."""
        return [arn for cell in self for arn in cell.runner.unfinished()]

    @property
    def in_memory(self) -> int:
        """How many executions are held in memory."""
        return sum(cell.runner.in_memory for cell in self)

    @property
    def busy(self) -> int:
        """How many executions have something to do right now."""
        return sum(cell.runner.busy for cell in self)

    @property
    def calls_under_way(self) -> int:
        """How many calls are in flight."""
        return sum(cell.dispatcher.under_way for cell in self)
