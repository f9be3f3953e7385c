"""The engine's facade: start, describe, list, stop, redrive, answer tasks. Everything is delegated.

Owns how its parts are put together, which of them follow a commit and in which order, and the order in which they
start and stop. A cell's runner advances executions and writes them; EXPRESS executions run in memory (`express/`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from statewright import chance
from statewright.arn import MACHINE, MAP_RUN, parse_arn
from statewright.clock import Clock
from statewright.engine.activities import Activities
from statewright.engine.cells import Cell, Cells, Common
from statewright.engine.cluster.away import ActivitiesAway, Away
from statewright.engine.cluster.moves import Moves
from statewright.engine.cluster.placement import Placement
from statewright.engine.concurrency.admission import Admission
from statewright.engine.concurrency.semaphores import Semaphores
from statewright.engine.counters import Counters
from statewright.engine.dispatch import Integrations, ScheduledCall, TaskResult
from statewright.engine.effects import OnOffer
from statewright.engine.executions.calls import Completed, ExecutionCalls
from statewright.engine.executions.forks import Forks, Wish
from statewright.engine.executions.history_log import HistoryLog, OnHistory
from statewright.engine.executions.listing import Listing
from statewright.engine.executions.logs import ExecutionLogs
from statewright.engine.executions.names import ExecutionNames, WriteEntries, are_notes
from statewright.engine.executions.redrives import Redrive
from statewright.engine.executions.starting import type_not_supported
from statewright.engine.executions.starts import Starts
from statewright.engine.executions.status_changes import StatusChanges
from statewright.engine.executions.tokens import WaitingTask
from statewright.engine.executions.views import ExecutionView, Started, StatusChange, SyncOutcome
from statewright.engine.express.ends import ExpressEnds
from statewright.engine.figures import figures_of
from statewright.engine.heavy.steps import HeavySteps
from statewright.engine.inbox import InboxWatch
from statewright.engine.listeners import CommitListener
from statewright.engine.machines.catalogue import MachineCatalogue
from statewright.engine.machines.machines import Machines, Target
from statewright.engine.machines.programs import RetryingPrograms
from statewright.engine.map_runs.data import MapRunData, NoData
from statewright.engine.map_runs.directory import MapRunDirectory
from statewright.engine.metering import ExecutionMeter
from statewright.engine.retention import Retention
from statewright.engine.retrying import RetryingStore
from statewright.engine.shard import ShardMaking, own_shards
from statewright.engine.turnstile import Turnstile
from statewright.errors import StoreError
from statewright.limits import AWS, Limits
from statewright.metrics.recorder import Recorder
from statewright.payload import Json
from statewright.query.scope import Entropy
from statewright.stores.completion import Completion
from statewright.stores.ids import SHARD, cell_shard
from statewright.stores.protocol import EntryRow
from statewright.stores.store import Store

DAY_MS: Final = 24 * 3600 * 1000
CELLS = 1
"""Cells of the default region, in an engine with a home. Tests make more of them."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """The settings of an engine. `limits` are those of STANDARD executions.

    `cells` are those of the default region. `hot_executions`: how many idle executions stay in memory. `make_seed`:
    where an execution's chance comes from.
    `entropy`: what draws versions behind aliases; from the operating system unless given.
    `retention_ms`: how long closed executions are kept; `None` for ever. Source: service quotas, 90 days.

    `others`: other engines have other cells of the default region, and start executions there. `is_worker`: such an
    engine, without a home; `note` writes entries of the catalogue for it (`Engine.note` of the home), and `ids_ms` is
    the clock of its ids, one for all engines that may have the same cells; by default that of the engine.
    """

    limits: Limits = AWS
    cells: int = field(default_factory=lambda: CELLS)
    hot_executions: int = 512
    make_seed: Callable[[], bytes] = lambda: chance.random_bytes(16)
    entropy: Entropy | None = None
    retention_ms: int | None = 90 * DAY_MS
    data: Path | None = None
    """The data folder, for the logs of executions."""
    on_history: OnHistory | None = None
    on_offer: OnOffer | None = None
    others: bool = False
    is_worker: bool = False
    note: WriteEntries | None = None
    ids_ms: Callable[[], int] | None = None


class Engine:
    """All executions of one store, or those of some of its cells. The store must be open before `start`, and is closed
    by its opener.

    `data` reads and writes the items of Map Runs. `recorder` takes metrics of executions and tasks. `on_lost` is called
    with the reason once the shard is lost and all of its state has left memory: there is nothing left to run. A
    worker's engine has no cells at first, and goes on when it has lost one: `on_lost_cell` is called with its shard and
    the reason. Neither may wait.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        catalogue: MachineCatalogue,
        integrations: Integrations,
        *,
        settings: EngineSettings | None = None,
        data: MapRunData | None = None,
        recorder: Recorder | None = None,
        on_lost: Callable[[str], None] = lambda _: None,
        on_lost_cell: Callable[[int, str], None] = lambda _shard, _reason: None,
    ) -> None:
        self.settings = settings = settings or EngineSettings()
        self.is_worker: Final = settings.is_worker
        self.meter = ExecutionMeter(recorder) if recorder is not None else None
        self._on_lost = on_lost
        self._on_lost_cell = on_lost_cell
        self.store = store
        self.clock = clock
        self.catalogue = catalogue
        self.counters = Counters()
        self._retrying = RetryingStore(store, clock, self.counters)
        self._shards = ShardMaking(
            store,
            clock,
            catalogue.config.region,
            settings.limits,
            self.counters,
            self._retrying,
            Turnstile(store.executions.make_way),
            settings.make_seed,
            self.meter,
            settings.ids_ms,
        )
        are_shared = settings.others or settings.is_worker
        self.names = ExecutionNames(store, settings.note, are_shared=are_shared)
        self.listing = Listing(store.executions, clock, settings.limits, catalogue.deleting)
        self.history_log = HistoryLog(catalogue.programs, ExecutionLogs(settings.data), self.meter, settings.on_history)
        self.status_changes = StatusChanges(clock)
        self.heavy = HeavySteps(clock, catalogue.programs.definition_of)
        self.express_ends = ExpressEnds()
        self.cells = Cells()
        self._watch: InboxWatch | None = None
        self.map_runs = MapRunDirectory(store, clock, self.names, self.cells.map_runs)
        self._calls = ExecutionCalls(self.cells, self.names)
        self.placement = Placement(catalogue.records, clock)
        if settings.is_worker:
            self._make_worker(integrations, data or NoData())
        else:
            self._make_home(integrations, data or NoData())

    def _make_home(self, integrations: Integrations, data: MapRunData) -> None:
        """Make the parts with one memory for all cells, and the cells."""
        settings, clock, catalogue = self.settings, self.clock, self.catalogue
        shards = [self._shards.make(number, self._lost) for number in own_shards(self.store, settings.cells)]
        home = shards[0]
        is_elsewhere = (lambda execution: not self.cells.has(execution)) if settings.others else None
        self.admission = Admission(home, self.cells.tell, is_elsewhere)
        self.machines = Machines(
            catalogue, entropy=settings.entropy, limits=settings.limits, on_limit=self.admission.set_limit
        )
        self.activities = Activities(clock, self.machines.activities.get, self.cells.take_activity_task)
        self.semaphores = Semaphores(home, self.names, self.cells.settle)
        self._starts = Starts(self.cells, self.names, self.placement, self.admission)
        forget = (self.map_runs.forget, self.machines.forget_deleted)
        self.retention = Retention(home, settings.retention_ms, forget)
        common = self._common(integrations, data, (self.semaphores, self.admission, self.retention))
        for shard in shards:
            self.cells.add(Cell(shard, common, settings.hot_executions // len(shards)))
        self.forks = Forks(home, self.cells.home.runner, self.names, self.machines, self.admission)
        self._moves: Moves | None = None

    def _make_worker(self, integrations: Integrations, data: MapRunData) -> None:
        """Make the parts of an engine whose home is elsewhere."""
        settings, catalogue = self.settings, self.catalogue
        if not catalogue.is_worker:
            raise ValueError("the catalogue of a worker's engine is a worker's")
        self.admission = cast("Admission", Away("limits"))
        self.semaphores = cast("Semaphores", Away("semaphores"))
        self.retention = cast("Retention", Away("expired executions"))
        self.forks = cast("Forks", Away("forks"))
        self._starts = Starts(self.cells, self.names, self.placement)
        self.machines = Machines(catalogue, entropy=settings.entropy, limits=settings.limits)
        self.activities = ActivitiesAway(self.clock, self.machines.activities.get, self.cells.take_activity_task)
        common = self._common(integrations, data, ())

        def cell(number: int) -> Cell:
            shard = self._shards.make(number, lambda reason: self._lost_cell(number, reason))
            return Cell(shard, common, settings.hot_executions)

        self._moves = Moves(self.cells, cell, settings.hot_executions, self.meter)

    def _common(self, integrations: Integrations, data: MapRunData, home: tuple[CommitListener, ...]) -> Common:
        """The parts that the cells share. Listeners outside the engine are called last, after every part of it."""
        catalogue = self.catalogue
        return Common(
            RetryingPrograms(catalogue.programs, self._retrying.retry),
            catalogue.deleting,
            self.heavy,
            self.names,
            self.history_log,
            self.machines.activities,
            self.activities,
            integrations,
            data,
            self.express_ends,
            before=(*((self.meter,) if self.meter is not None else ()), self.history_log),
            after=(*home, self.status_changes),
            on_offer=self.settings.on_offer,
            counts_open=self.is_worker and self.meter is not None,
        )

    # ------------------------------------------------------------------ life

    async def start(self) -> None:
        """Go on with what the store has: timers, effects under way, inputs that wait. Raises: StoreError."""
        if self.is_worker:
            await self.catalogue.look_for_deletions()
            return
        await self._check_cells()
        found = [(cell, await cell.take()) for cell in self.cells]
        if self.meter is not None:
            counts = [await self.store.executions.count_open(cell.shard.number) for cell in self.cells]
            self.meter.count_open(sum(counts))
        # Holders of permits and running executions are known before any execution continues and asks for more.
        await self.semaphores.recover(call for _, recovered in found for call in recovered.calls.values())
        await self.machines.recover_limits()
        self.admission.recover(pair for _, recovered in found for pair in recovered.queued())
        for cell, recovered in found:
            await cell.start(recovered)
        self.retention.sweep()

    async def _check_cells(self) -> None:
        """Refuse a store with executions in more cells: the others would stand still. Raises: StoreError."""
        if self.settings.others or self.store.shard != SHARD:
            return
        if await self.store.newest_id(cell_shard(self.settings.cells)):
            raise StoreError(
                f"this store has executions in more than {self.settings.cells} cells, as those of a cluster: start its "
                "servers with --node"
            )

    def watch_inbox(self) -> None:
        """Look, from now on, for inputs that other processes leave in the store."""
        self._watch = InboxWatch(lambda: [cell.inbox for cell in self.cells], lambda: self.counters.commits)

    async def add_cell(self, shard: int) -> None:
        """Own another cell, whose lease this process holds; for a worker. Raises: see `Moves.add`."""
        await self._moving().add(shard)

    async def hand_over(self, shard: int) -> bool:
        """End a cell in good order; False if it was lost meanwhile; for a worker. Raises: see `Moves.hand_over`."""
        return await self._moving().hand_over(shard)

    def drop_cell(self, shard: int) -> bool:
        """Forget a cell that is lost; False if it is not here; for a worker. `on_lost_cell` is not called."""
        return self._moving().drop(shard)

    def _moving(self) -> Moves:
        if self._moves is None:
            raise StoreError("the cells of this engine stay: it is no worker's")
        return self._moves

    async def stop(self) -> None:
        """Accept nothing new, write what is under way, and abandon every call."""
        self._stop_watching()
        if self._moves is not None:
            self._moves.stop()
        for cell in self.cells:
            cell.accept_nothing()
        self.activities.release()
        if not self.is_worker:
            self.admission.stop()
            self.retention.stop()
        self.heavy.stop()
        for cell in self.cells:
            await (cell.close() if self.is_worker else cell.drain())
        if not self.is_worker:
            self.semaphores.stop()
        for cell in self.cells:
            cell.shard.background.cancel()
        logs = self.history_log.logs
        if logs.is_writing:
            with self.clock.busy():
                await asyncio.get_running_loop().run_in_executor(None, logs.close)

    def kill(self) -> None:
        """Drop everything immediately, as a process that dies would; for tests."""
        self._stop_watching()
        for cell in self.cells:
            cell.inbox.stop()
        self._drop_all()
        for cell in self.cells:
            cell.shard.background.cancel()

    def _stop_watching(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.stop()

    def _lost(self, reason: str) -> None:
        self._drop_all()
        self._on_lost(reason)

    def _lost_cell(self, shard: int, reason: str) -> None:
        self.drop_cell(shard)
        self._on_lost_cell(shard, reason)

    def _drop_all(self) -> None:
        """Forget every cell: the copies in memory, timers, and what is under way. Nothing of it is written."""
        if self._moves is not None:
            self._moves.stop()
        else:
            self.admission.stop()
            self.semaphores.stop()
            self.retention.stop()
        self.activities.release()
        self.heavy.stop()
        for cell in self.cells:
            cell.drop()

    # ------------------------------------------------------------------ executions

    async def start_execution(
        self,
        target: Target,
        name: str | None,
        input_text: str,
        trace_header: str | None = None,
        sent_by: str | None = None,
        completion: Completion[Started] | None = None,
    ) -> Started:
        """Begin an execution; returns once it cannot be lost. `sent_by` is the same in every repeat of one task's call.

        The repeat of a start finds a STANDARD execution by its name; that of an EXPRESS one completes the task's row.

        Raises: ApiError (`InvalidExecutionInput`, `ExecutionAlreadyExists`); Unavailable; ElsewhereError at a worker,
            for an execution that has to run at the home.
        """
        return await self._starts.start(target, name, input_text, trace_header, sent_by, completion)

    async def needs_home(self, target: Target) -> bool:
        """True if executions of a target must run at the home of the store. Raises: StoreError."""
        return await self.placement.needs_home(target)

    async def start_sync_execution(
        self, target: Target, name: str | None, input_text: str, trace_header: str | None = None
    ) -> SyncOutcome:
        """Run an EXPRESS execution to its end, in memory.

        Raises: ApiError (`InvalidExecutionInput`, `StateMachineTypeNotSupported`); as `start_execution`.
        """
        return await self._starts.run(target, name, input_text, trace_header)

    async def describe(self, execution_arn: str) -> ExecutionView:
        """Show an execution. Raises: ApiError (`InvalidArn`, `ExecutionDoesNotExist`)."""
        return self.listing.view(await self.names.row_of(execution_arn))

    async def describe_express(self, execution_arn: str) -> ExecutionView:
        """Show an asynchronous EXPRESS execution, for the task that waits for it; the API has no such operation.

        Raises: ApiError (`InvalidArn`, `ExecutionDoesNotExist`).
        """
        return self.listing.view(await self.names.express_row_of(execution_arn))

    async def list_executions(
        self,
        arn: str,
        *,
        status: str | None = None,
        redrive_filter: str | None = None,
        token: str | None = None,
        limit: int = 100,
    ) -> tuple[list[ExecutionView], str | None]:
        """Executions of a machine, version, alias or Map Run, newest first, and the token of the next page.

        Raises: ApiError (`InvalidToken`, `StateMachineDoesNotExist`, `StateMachineTypeNotSupported`,
            `ResourceNotFound`).
        """
        parsed = parse_arn(arn, MACHINE, MAP_RUN)
        if parsed.kind == MAP_RUN:
            parent = await self.map_runs.id_of(arn)
            qualifier = None
        else:
            machine = await self.catalogue.existing(parsed.machine, shown=arn)
            if machine.type == "EXPRESS":
                raise type_not_supported()
            parent = machine.id
            qualifier = arn if parsed.rest is not None else None
        return await self.listing.page(
            parent, arn, qualifier=qualifier, status=status, redrive_filter=redrive_filter, token=token, limit=limit
        )

    async def history(
        self,
        execution_arn: str,
        *,
        token: str | None = None,
        limit: int = 100,
        reverse: bool = False,
        with_data: bool = True,
    ) -> tuple[list[dict[str, Json]], str | None]:
        """History events as the API shows them, and the token of the next page.

        Raises: ApiError (`InvalidArn`, `InvalidToken`, `ExecutionDoesNotExist`).
        """
        row = await self.names.row_of(execution_arn)
        return await self.listing.history(
            row.id, execution_arn, token=token, limit=limit, reverse=reverse, with_data=with_data
        )

    async def stop_execution(self, execution_arn: str, error: str | None = None, cause: str | None = None) -> int:
        """Abort an execution; returns when it stopped. One that is closed answers with its own end.

        Raises: ApiError (`InvalidArn`, `ExecutionDoesNotExist`).
        """
        return await self._calls.stop(execution_arn, error, cause)

    async def redrive_execution(self, execution_arn: str, client_token: str | None = None) -> int:
        """Go on from where an execution failed; returns when. The same client token again is answered as before.

        Raises: ApiError (`InvalidArn`, `ExecutionDoesNotExist`, `ExecutionNotRedrivable`).
        """
        redrive = Redrive(self.clock, self.catalogue.deleting, client_token)
        return await self._calls.redrive(execution_arn, redrive, client_token)

    async def fork(self, wish: Wish) -> Started:
        """Begin an execution at a state that another one has reached. Raises: see `Forks.fork`."""
        return await self.forks.fork(wish)

    # ------------------------------------------------------------------ tasks by token

    async def task_succeeded(self, token: str, output_text: str, completed: Completed | None = None) -> None:
        """A worker's result; `completed` is the outbox row of the task that gives it, here and below.

        Raises: ApiError (`InvalidOutput`, `InvalidToken`, `TaskDoesNotExist`, `TaskTimedOut`).
        """
        await self._calls.succeeded(token, output_text, completed)

    async def task_failed(
        self,
        token: str,
        error: str | None = None,
        cause: str | None = None,
        completed: Completed | None = None,
    ) -> None:
        """A worker's failure. Raises: ApiError (`InvalidToken`, `TaskDoesNotExist`, `TaskTimedOut`)."""
        await self._calls.failed(token, error, cause, completed)

    async def waiting_tasks(self, execution_arn: str) -> list[WaitingTask]:
        """The tasks of an execution that wait for an answer with their token. Raises: ApiError (`InvalidArn`,
        `ExecutionDoesNotExist`).
        """
        return await self._calls.waiting_tasks(execution_arn)

    async def task_heartbeat(self, token: str) -> None:
        """A worker is alive. Raises: ApiError (`InvalidToken`, `TaskDoesNotExist`, `TaskTimedOut`)."""
        await self._calls.heartbeat(token)

    def settle(self, call: ScheduledCall, result: TaskResult) -> bool:
        """Answer a call that was to be answered later; whether its execution still waits for it."""
        return self.cells.settle(call, result)

    # ------------------------------------------------------------------ the rest

    def subscribe(self, subscriber: Callable[[StatusChange], None]) -> Callable[[], None]:
        """Have `subscriber` called with every change of a STANDARD execution's status, once it is durable; it may not
        wait. The result, called once, ends that.
        """
        return self.status_changes.subscribe(subscriber)

    def subscribe_express(self, subscriber: Callable[[str], None]) -> Callable[[], None]:
        """Have `subscriber` called with the ARN of every asynchronous EXPRESS execution whose end is durable. The
        result, called once, ends that.
        """
        return self.express_ends.subscribe(subscriber)

    async def note(self, entries: Sequence[EntryRow]) -> bool:
        """Write entries of the catalogue for a worker's engine (`EngineSettings.note`); all or nothing, as
        `CatalogueStore.write`. Raises: StoreError, also for entries that are no business of a worker.
        """
        if not are_notes(entries):
            raise StoreError("a worker may note the names of executions and Map Runs, and nothing else")
        return await self.store.catalogue.write(entries)

    async def metrics(self) -> dict[str, Json]:
        """Figures for /metrics: executions by status, transitions, commits, timers, what is held in memory."""
        forgotten = 0 if self.is_worker else self.retention.forgotten
        return await figures_of(self.cells, self.counters, self.store.executions, forgotten)
