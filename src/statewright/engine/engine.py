"""The engine's facade: start, describe, list, stop, redrive, answer tasks. Everything is delegated.

Owns how its parts are put together, which of them follow a commit and in which order, and the order in which they
start and stop. A cell's runner advances executions and writes them; EXPRESS executions run in memory (`express/`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from statewright import chance
from statewright.arn import MACHINE, MAP_RUN, execution_arn, parse_arn
from statewright.clock import Clock
from statewright.engine.activities import Activities
from statewright.engine.cells import Cell, Cells, Common
from statewright.engine.concurrency.admission import Admission
from statewright.engine.concurrency.semaphores import Semaphores
from statewright.engine.counters import Counters
from statewright.engine.dispatch import Integrations, ScheduledCall, TaskResult
from statewright.engine.effects import OnOffer
from statewright.engine.executions.forks import Forks, Wish
from statewright.engine.executions.history_log import HistoryLog, OnHistory
from statewright.engine.executions.listing import Listing
from statewright.engine.executions.live import LiveExecution
from statewright.engine.executions.logs import ExecutionLogs
from statewright.engine.executions.names import ExecutionNames
from statewright.engine.executions.redrives import Redrive
from statewright.engine.executions.starting import head_of, new_live, read_input, type_not_supported
from statewright.engine.executions.status_changes import StatusChanges
from statewright.engine.executions.tokens import (
    WaitingTask,
    no_such_task,
    read_output,
    read_task_token,
    still_open,
    waiting_tasks,
)
from statewright.engine.executions.views import ExecutionView, Head, Started, StatusChange, SyncOutcome
from statewright.engine.figures import figures_of
from statewright.engine.heavy.steps import HeavySteps
from statewright.engine.inbox import InboxWatch
from statewright.engine.inputs import AlreadyThere, no_result, runs
from statewright.engine.machines.catalogue import MachineCatalogue
from statewright.engine.machines.machines import Machines, Target
from statewright.engine.machines.programs import RetryingPrograms
from statewright.engine.map_runs.data import MapRunData, NoData
from statewright.engine.map_runs.directory import MapRunDirectory
from statewright.engine.metering import ExecutionMeter
from statewright.engine.retention import Retention
from statewright.engine.retrying import RetryingStore
from statewright.engine.shard import Shard
from statewright.engine.turnstile import Turnstile
from statewright.errors import ApiError, StoreError
from statewright.interpreter import events
from statewright.limits import AWS, Limits
from statewright.metrics.recorder import Recorder
from statewright.payload import Json
from statewright.query.scope import Entropy
from statewright.stores.completion import Completion
from statewright.stores.ids import SHARD, cell_shard
from statewright.stores.protocol import Row
from statewright.stores.store import Store

DAY_MS: Final = 24 * 3600 * 1000
CELLS = 1
"""Cells of the default region. Tests make them more: no process shares a store with another one yet."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """The settings of an engine. `limits` are those of STANDARD executions.

    `cells` are those of the default region. `hot_executions`: how many idle executions stay in memory. `make_seed`:
    where an execution's chance comes from.
    `entropy`: what draws versions behind aliases; from the operating system unless given.
    `retention_ms`: how long closed executions are kept; `None` for ever. Source: service quotas, 90 days.
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


class Engine:
    """All executions of one store. The store must be open before `start`, and is closed by its opener.

    `data` reads and writes the items of Map Runs. `recorder` takes metrics of executions and tasks. `on_lost` is called
    with the reason once the shard is lost and all of its state has left memory: there is nothing left to run.
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
    ) -> None:
        self.settings = settings = settings or EngineSettings()
        self.meter = ExecutionMeter(recorder) if recorder is not None else None
        self._on_lost = on_lost
        self.store = store
        self.clock = clock
        self.catalogue = catalogue
        self.counters = Counters()
        self.names = ExecutionNames(store)
        self.listing = Listing(store.executions, clock, settings.limits, catalogue.deleting)
        self.history_log = HistoryLog(catalogue.programs, ExecutionLogs(settings.data), self.meter, settings.on_history)
        self.status_changes = StatusChanges(clock)
        self.heavy = HeavySteps(clock, catalogue.programs.definition_of)
        self.cells = Cells()
        self._watch: InboxWatch | None = None
        shards = self._shards()
        home = shards[0]
        self.admission = Admission(home, self.cells.tell)
        self.machines = Machines(
            catalogue, entropy=settings.entropy, limits=settings.limits, on_limit=self.admission.set_limit
        )
        self.activities = Activities(clock, self.machines.activities.get, self.cells.take_activity_task)
        self.semaphores = Semaphores(home, self.names, self.cells.settle)
        self.map_runs = MapRunDirectory(store, clock, self.names, self.cells.map_runs)
        forget = (self.map_runs.forget, self.machines.forget_deleted)
        self.retention = Retention(home, settings.retention_ms, forget)
        common = self._common(home, integrations, data or NoData())
        for shard in shards:
            self.cells.add(Cell(shard, common, settings.hot_executions // len(shards)))
        self.forks = Forks(home, self.cells.home.runner, self.names, self.machines, self.admission)

    def _shards(self) -> list[Shard]:
        """The shards of the cells, that of the home first."""
        retrying = RetryingStore(self.store, self.clock, self.counters)
        turnstile = Turnstile(self.store.executions.make_way)
        first = self.store.shard
        # The other regions of a store have one cell each.
        numbers = [first] if first != SHARD else [cell_shard(number) for number in range(self.settings.cells)]
        return [
            Shard(
                self.store,
                self.clock,
                self.catalogue.config.region,
                self.settings.limits,
                number=number,
                counters=self.counters,
                retrying=retrying,
                turnstile=turnstile,
                make_seed=self.settings.make_seed,
                meter=self.meter,
                on_lost=self._lost,
            )
            for number in numbers
        ]

    def _common(self, home: Shard, integrations: Integrations, data: MapRunData) -> Common:
        """The parts that the cells share. Listeners outside the engine are called last, after every part of it."""
        catalogue = self.catalogue
        return Common(
            RetryingPrograms(catalogue.programs, home.retrying.retry),
            catalogue.deleting,
            self.heavy,
            self.names,
            self.history_log,
            self.machines.activities,
            self.activities,
            integrations,
            data,
            before=(*((self.meter,) if self.meter is not None else ()), self.history_log),
            after=(self.semaphores, self.admission, self.retention, self.status_changes),
            on_offer=self.settings.on_offer,
        )

    # ------------------------------------------------------------------ life

    async def start(self) -> None:
        """Go on with what the store has: timers, effects under way, inputs that wait. Raises: StoreError."""
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
        if self.store.shard == SHARD and await self.store.newest_id(cell_shard(self.settings.cells)):
            raise StoreError(f"this store has executions in more than {self.settings.cells} cells")

    def watch_inbox(self) -> None:
        """Look, from now on, for inputs that other processes leave in the store."""
        self._watch = InboxWatch([cell.inbox for cell in self.cells], lambda: self.counters.commits)

    async def stop(self) -> None:
        """Accept nothing new, write what is under way, and abandon every call."""
        self._stop_watching()
        for cell in self.cells:
            cell.accept_nothing()
        self.activities.release()
        self.admission.stop()
        self.retention.stop()
        self.heavy.stop()
        for cell in self.cells:
            await cell.drain()
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

    def _drop_all(self) -> None:
        """Forget every cell: the copies in memory, timers, and what is under way. Nothing of it is written."""
        self.admission.stop()
        self.semaphores.stop()
        self.activities.release()
        self.retention.stop()
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

        Raises: ApiError (`InvalidExecutionInput`, `ExecutionAlreadyExists`).
        """
        payload = read_input(input_text)
        chosen = name if name is not None else chance.uuid4()
        await self.names.note_machine(target.machine_arn, target.machine_id)
        if target.type == "EXPRESS":
            return await self.cells.next().express.start(target, chosen, input_text, payload, trace_header, completion)
        arn = execution_arn(target.machine_arn, chosen)
        head = head_of(target, arn, input_text, trace_header, sent_by)
        is_limited = self.admission.limits(target.machine_id)
        cell = self.cells.home if is_limited else self.cells.next()
        live = new_live(cell.shard, target.machine_id, chosen, head, payload, target.program)
        try:
            if is_limited:
                await self._enter(live)
            else:
                await cell.runner.begin(live, events.ExecutionStarted(input_text))
        except AlreadyThere as taken:
            return self._same_start(taken.row, head)
        self.names.remember(arn, live.id)
        # The row says when the first step was made, which may be a millisecond after it was put in line.
        return Started(arn, live.row.started_ms)

    async def _enter(self, live: LiveExecution) -> None:
        """Begin an execution of a machine with a limit, or queue it. Raises: as `Runner.begin`."""
        machine = live.row.machine
        queued = self.admission.enter(machine, live.id)
        begun = self.cells.home.runner.begin(
            live,
            events.ExecutionQueued(live.head.input) if queued else events.ExecutionStarted(live.head.input),
            never_began=lambda: self.admission.left(machine, live.id),
        )
        if queued:
            self.admission.admit(machine)
        # A caller that goes away, or gets `Unavailable`, takes nothing back: the start is on its way.
        await begun

    def _same_start(self, row: Row, wanted: Head) -> Started:
        """The same start again, while the execution runs, is answered as the first was; a task's own start always."""
        there = Head.decode(row.head)
        # A task's call is repeated after a crash, and what it started may have ended meanwhile.
        repeated = wanted.sent_by is not None and there.sent_by == wanted.sent_by
        if repeated or (row.status == "RUNNING" and there.input == wanted.input):
            return Started(wanted.execution_arn, row.started_ms)
        raise ApiError("ExecutionAlreadyExists", f"Execution Already Exists: '{wanted.execution_arn}'")

    async def start_sync_execution(
        self, target: Target, name: str | None, input_text: str, trace_header: str | None = None
    ) -> SyncOutcome:
        """Run an EXPRESS execution to its end, in memory.

        Raises: ApiError (`InvalidExecutionInput`, `StateMachineTypeNotSupported`).
        """
        if target.type != "EXPRESS":
            raise type_not_supported()
        payload = read_input(input_text)
        return await self.cells.next().express.run(target, name or chance.uuid4(), input_text, payload, trace_header)

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
        row = await self.names.row_of(execution_arn)
        event = events.ExecutionStopped(error, cause)
        return await self.cells.of(row.id).runner.ask(row.id, event, accept=runs, result=_stopped_ms)

    async def redrive_execution(self, execution_arn: str, client_token: str | None = None) -> int:
        """Go on from where an execution failed; returns when. The same client token again is answered as before.

        Raises: ApiError (`InvalidArn`, `ExecutionDoesNotExist`, `ExecutionNotRedrivable`).
        """
        row = await self.names.row_of(execution_arn)
        redrive = Redrive(self.clock, self.catalogue.deleting, client_token)
        return await self.cells.of(row.id).runner.ask(
            row.id,
            events.ExecutionRedriven(),
            accept=redrive.accept,
            result=redrive.result,
            client_token=client_token,
        )

    async def fork(self, wish: Wish) -> Started:
        """Begin an execution at a state that another one has reached. Raises: see `Forks.fork`."""
        return await self.forks.fork(wish)

    # ------------------------------------------------------------------ tasks by token

    async def task_succeeded(self, token: str, output_text: str, completed: tuple[int, bytes] | None = None) -> None:
        """A worker's result; `completed` is the outbox row of the task that gives it, here and below.

        Raises: ApiError (`InvalidOutput`, `InvalidToken`, `TaskDoesNotExist`, `TaskTimedOut`).
        """
        # Observed: a text that is no token is refused before an output that is no JSON.
        read_task_token(token)
        output = read_output(output_text)
        await self._by_token(token, lambda task_id: events.TaskSucceeded(task_id, output), completed)

    async def task_failed(
        self,
        token: str,
        error: str | None = None,
        cause: str | None = None,
        completed: tuple[int, bytes] | None = None,
    ) -> None:
        """A worker's failure. Raises: ApiError (`InvalidToken`, `TaskDoesNotExist`, `TaskTimedOut`)."""
        await self._by_token(token, lambda task_id: events.TaskFailed(task_id, error, cause), completed)

    async def waiting_tasks(self, execution_arn: str) -> list[WaitingTask]:
        """The tasks of an execution that wait for an answer with their token. Raises: ApiError (`InvalidArn`,
        `ExecutionDoesNotExist`).
        """
        row = await self.names.row_of(execution_arn)
        if row.status != "RUNNING":
            return []
        # It changes nothing: only the execution's own turn sees all of its state.
        return await self.cells.of(row.id).runner.ask(
            row.id, events.HeartbeatReceived(0), accept=lambda _: False, result=waiting_tasks
        )

    async def task_heartbeat(self, token: str) -> None:
        """A worker is alive. Raises: ApiError (`InvalidToken`, `TaskDoesNotExist`, `TaskTimedOut`)."""
        await self._by_token(token, events.HeartbeatReceived)

    async def _by_token(
        self, token: str, make: Callable[[int], events.Event], completed: tuple[int, bytes] | None = None
    ) -> None:
        arn, task_id = read_task_token(token)
        try:
            execution = await self.names.id_of(arn)
        except ApiError:
            raise no_such_task() from None
        waits = still_open(token, task_id)
        await self.cells.of(execution).runner.ask(
            execution, make(task_id), accept=waits, result=no_result, completed=completed
        )

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
        ends = [cell.express.subscribe(subscriber) for cell in self.cells]

        def leave() -> None:
            for end in ends:
                end()

        return leave

    async def metrics(self) -> dict[str, Json]:
        """Figures for /metrics: executions by status, transitions, commits, timers, what is held in memory."""
        return await figures_of(self.cells, self.counters, self.store.executions, self.retention)


def _stopped_ms(live: LiveExecution) -> int:
    return live.state.stopped_ms or 0 if live.state is not None else live.row.stopped_ms or 0
