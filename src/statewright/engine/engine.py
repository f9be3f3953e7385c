"""The engine's facade: start, describe, list, stop, redrive, answer tasks. Everything is delegated.

The runner advances executions and writes them; this module finds who is meant, and sees to what a commit asks for once
it is durable. EXPRESS executions run in memory (`express/`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from statewright import chance
from statewright.arn import EXPRESS, MACHINE, MAP_RUN, execution_arn, parse_arn
from statewright.clock import Clock
from statewright.engine.activities import Activities, ActivityTask
from statewright.engine.admission import Admission
from statewright.engine.dispatch import Dispatcher, Integrations, ScheduledCall, TaskResult, decode_call
from statewright.engine.executions import live as kinds
from statewright.engine.executions.listing import history_page, list_page
from statewright.engine.executions.live import Batch, LiveExecution
from statewright.engine.executions.logs import ExecutionLogs
from statewright.engine.executions.names import ExecutionNames
from statewright.engine.executions.redrives import Redrive
from statewright.engine.executions.tokens import no_such_task, read_output, read_task_token, still_open
from statewright.engine.executions.views import ExecutionView, Head, Started, StatusChange, SyncOutcome, Tail, view_of
from statewright.engine.express.runs import ExpressRuns
from statewright.engine.inbox import Inbox
from statewright.engine.machines.catalogue import MachineCatalogue
from statewright.engine.machines.limits import Limit
from statewright.engine.machines.machines import Machines, Target
from statewright.engine.map_runs.data import MapRunData
from statewright.engine.map_runs.map_runs import MapRuns
from statewright.engine.metering import ExecutionMeter
from statewright.engine.metrics import metrics_of
from statewright.engine.ownership import SHARD, Ownership
from statewright.engine.retention import Retention
from statewright.engine.runner import AlreadyThere, Input, Runner
from statewright.engine.semaphores import Semaphores
from statewright.engine.timers import DueSoon
from statewright.errors import ApiError, OwnershipLost
from statewright.interpreter import events
from statewright.interpreter.advance import new_execution
from statewright.interpreter.history import HistoryEvent
from statewright.interpreter.phases import TASK
from statewright.limits import AWS, Limits, express_limits
from statewright.metrics.recorder import Recorder
from statewright.payload import Json, JsonTextError, Payload
from statewright.query.scope import Entropy
from statewright.stores.ids import IdSource
from statewright.stores.protocol import Row
from statewright.stores.store import Store

logger = logging.getLogger(__name__)

DAY_MS: Final = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What an engine may be told. `limits` are those of STANDARD executions.

    `hot_executions`: how many idle executions stay in memory. `make_seed`: where an execution's chance comes from.
    `entropy`: what draws versions behind aliases; from the operating system unless given.
    `retention_ms`: how long closed executions are kept; `None` for ever. Source: service quotas, 90 days.
    """

    limits: Limits = AWS
    hot_executions: int = 512
    make_seed: Callable[[], bytes] = lambda: chance.random_bytes(16)
    entropy: Entropy | None = None
    retention_ms: int | None = 90 * DAY_MS
    data: Path | None = None
    """The data folder, for the logs of executions."""


class Engine:
    """All executions of one store. The store must be open before `start`, and is closed by whoever opened it."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        catalogue: MachineCatalogue,
        integrations: Integrations,
        *,
        settings: EngineSettings | None = None,
        publish: Callable[[StatusChange], None] | None = None,
        data: MapRunData | None = None,
    ) -> None:
        self.store = store
        self.clock = clock
        self.catalogue = catalogue
        self.settings = settings or EngineSettings()
        self.region = catalogue.config.region
        self.machines = Machines(
            catalogue, entropy=self.settings.entropy, limits=self.settings.limits, on_limit=self._set_limit
        )
        self.names = ExecutionNames(store)
        self.dispatcher = Dispatcher(integrations, self._call_failed)
        self.timers = DueSoon(store.executions, clock, SHARD, self._fire)
        self.activities = Activities(clock, self.machines.activities.get, self._take_activity_task)
        self.runner = Runner(
            store.executions,
            clock,
            catalogue.programs,
            self.limits_of,
            self.region,
            self.settings.hot_executions,
            self._after_commit,
            publish,
        )
        self.runner.is_deleting = catalogue.deleting.__contains__
        self.logs = ExecutionLogs(self.settings.data)
        self.ownership = Ownership(store, self._let_go)
        self.runner.on_ownership_lost = lambda: self.ownership.lose(SHARD)
        self.admission = Admission(self)
        self.runner.on_unbegun = lambda live: self.admission.left(live.row.machine, live.id)
        self.semaphores = Semaphores(self)
        self.inbox = Inbox(self)
        self.express = ExpressRuns(self)
        self.map_runs = MapRuns(self, data)
        also = (self.map_runs.forget, self.machines.forget_deleted)
        self.retention = Retention(store.executions, clock, self.settings.retention_ms, also)
        self.on_history: Callable[[Head, list[HistoryEvent]], None] | None = None
        """Told what every execution's history has gained, once it is durable; it may not wait."""
        self.on_offer: Callable[[ScheduledCall], None] | None = None
        """Told of every task of an activity that waits for a worker."""
        self._side: set[asyncio.Task[None]] = set()

    # ------------------------------------------------------------------ life

    async def start(self) -> None:
        """Take up what the store has: timers, effects under way, inputs that wait."""
        self.ownership.hold(SHARD)
        above = await self.store.newest_id(SHARD)
        if self.runner.meter is not None:
            self.runner.meter.count_open((await self.store.executions.count_by_status(None))["RUNNING"])
        self.runner.ids = IdSource(self.clock.now_ms, above)
        outbox, inbox = await self.store.executions.pending(SHARD)
        calls = {sent.id: decode_call(sent.body) for sent in outbox if sent.kind in (kinds.TASK, kinds.ACTIVITY)}
        # Who holds what, and who runs, is known before anybody goes on and asks for more.
        await self.semaphores.recover(calls.values())
        await self.machines.recover_limits()
        self.admission.recover((sent.execution, int(sent.body)) for sent in outbox if sent.kind == kinds.QUEUED)
        for row in inbox:
            self.inbox.take(row)
        for sent in outbox:
            if sent.kind == kinds.TASK:
                self._dispatch(sent.execution, calls[sent.id])
            elif sent.kind == kinds.ACTIVITY:
                self._offer(sent.execution, calls[sent.id])
            elif sent.kind not in (kinds.WAITER, kinds.QUEUED) and not self.map_runs.recover_outbox(sent):
                logger.error("outbox row %s of execution %s is of unknown kind %r", sent.id, sent.execution, sent.kind)
        await self.timers.recover()
        self.retention.look()

    async def stop(self) -> None:
        """Take nothing new, write what is under way, let go of every call."""
        self.inbox.stop()
        self.admission.stop()
        self.timers.stop()
        self.retention.stop()
        self.activities.release()
        self.runner.heavy.stop()
        await self.runner.drain()
        await self.map_runs.drain()
        self.express.stop()
        self.dispatcher.kill()
        self.semaphores.stop()
        for task in self._side:
            task.cancel()
        if self.logs.is_writing:
            with self.clock.busy():
                await asyncio.get_running_loop().run_in_executor(None, self.logs.close)

    def kill(self) -> None:
        """Let go of everything at once, as a process that dies would; for tests."""
        self.inbox.stop()
        self._let_go(SHARD)
        for task in self._side:
            task.cancel()

    def _let_go(self, _shard: int) -> None:
        """Forget a shard: the copies in memory, its timers, and what is under way. Nothing of it is written."""
        self.admission.stop()
        self.semaphores.stop()
        self.timers.stop()
        self.retention.stop()
        self.runner.heavy.stop()
        self.runner.kill()
        self.map_runs.kill()
        self.express.stop()
        self.dispatcher.kill()
        self.activities.release()

    def limits_of(self, execution_type: str) -> Limits:
        """The limits of an execution."""
        limits = self.settings.limits
        return limits if execution_type != "EXPRESS" else express_limits(limits)

    async def _set_limit(self, machine: int, arn: str, limit: Limit | None) -> None:
        await self.admission.set_limit(machine, arn, limit)

    # ------------------------------------------------------------------ executions

    async def start_execution(
        self,
        target: Target,
        name: str | None,
        input_text: str,
        trace_header: str | None = None,
        sent_by: str | None = None,
    ) -> Started:
        """Begin an execution; returns once it cannot be lost. `sent_by` is the same in every repeat of one task's call.

        Raises: ApiError (`InvalidExecutionInput`, `ExecutionAlreadyExists`).
        """
        payload = read_input(input_text)
        chosen = name if name is not None else chance.uuid4()
        await self.names.note_machine(target.machine_arn, target.machine_id)
        if target.type == "EXPRESS":
            return await self.express.start(target, chosen, input_text, payload, trace_header)
        arn = execution_arn(target.machine_arn, chosen)
        head = head_of(target, arn, input_text, trace_header, sent_by)
        live = self.new_live(target.machine_id, chosen, head, payload, target.program)
        try:
            if self.admission.limits(target.machine_id):
                await self._enter(live)
            else:
                await self.runner.begin(live)
        except AlreadyThere as taken:
            return self._same_start(taken.row, head)
        self.names.remember(arn, live.id)
        # The row says when the first step was made, which may be a millisecond after it was put in line.
        return Started(arn, live.row.started_ms)

    async def _enter(self, live: LiveExecution) -> None:
        """Begin an execution of a machine with a limit, or queue it. Raises: as `Runner.begin`."""
        machine = live.row.machine
        queued = self.admission.enter(machine, live.id)
        begun = self.runner.begin(live, events.ExecutionQueued() if queued else None)
        if queued:
            self.admission.look(machine)
        # A caller who goes, or is told that the store does not answer, takes nothing back: the start is on its way.
        await begun

    def new_live(
        self, machine: int, name: str, head: Head, payload: Payload, program: Any, seed: bytes | None = None
    ) -> LiveExecution:
        """A STANDARD execution that no store has seen yet."""
        state = new_execution(head.identity(name, self.region), payload, seed or self.settings.make_seed())
        row = Row(
            self.runner.ids.next(), SHARD, machine, name, "RUNNING", self.clock.now_ms(), None, head.encode(), b""
        )
        return LiveExecution(row, head, Tail(), state, program, self.limits_of(head.type))

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
        return await self.express.run(target, name or chance.uuid4(), input_text, payload, trace_header)

    async def describe(self, execution_arn: str) -> ExecutionView:
        """Show an execution. Raises: ApiError (`InvalidArn`, `ExecutionDoesNotExist`)."""
        return self.view(await self.names.row_of(execution_arn))

    def view(self, row: Row) -> ExecutionView:
        """What a row shows."""
        standard = self.limits_of("STANDARD")
        return view_of(row, self.clock.now_ms(), standard, deleting=row.machine in self.catalogue.deleting)

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
        return await list_page(self, parent, arn, qualifier, status, redrive_filter, token, limit)

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
        return await history_page(self, row.id, execution_arn, token, limit, reverse, with_data)

    async def stop_execution(self, execution_arn: str, error: str | None = None, cause: str | None = None) -> int:
        """Abort an execution; returns when it stopped. One that is closed answers with its own end.

        Raises: ApiError (`InvalidArn`, `ExecutionDoesNotExist`).
        """
        row = await self.names.row_of(execution_arn)
        stopped_ms: int = await self.runner.ask(
            row.id, events.ExecutionStopped(error, cause), accept=_runs, result=_stopped_ms
        )
        return stopped_ms

    async def redrive_execution(self, execution_arn: str, client_token: str | None = None) -> int:
        """Go on from where an execution failed; returns when. The same client token again is answered as before.

        Raises: ApiError (`InvalidArn`, `ExecutionDoesNotExist`, `ExecutionNotRedrivable`).
        """
        row = await self.names.row_of(execution_arn)
        redrive = Redrive(self, client_token)
        redriven_ms: int = await self.runner.ask(
            row.id,
            events.ExecutionRedriven(),
            accept=redrive.accept,
            result=redrive.result,
            client_token=client_token,
        )
        return redriven_ms

    # ------------------------------------------------------------------ tasks by token

    async def task_succeeded(self, token: str, output_text: str) -> None:
        """A worker's result. Raises: ApiError (`InvalidOutput`, `InvalidToken`, `TaskDoesNotExist`, `TaskTimedOut`)."""
        # Observed: a text that is no token is refused before an output that is no JSON.
        read_task_token(token)
        output = read_output(output_text)
        await self._by_token(token, lambda task_id: events.TaskSucceeded(task_id, output))

    async def task_failed(self, token: str, error: str | None = None, cause: str | None = None) -> None:
        """A worker's failure. Raises: ApiError (`InvalidToken`, `TaskDoesNotExist`, `TaskTimedOut`)."""
        await self._by_token(token, lambda task_id: events.TaskFailed(task_id, error, cause))

    async def task_heartbeat(self, token: str) -> None:
        """A worker is alive. Raises: ApiError (`InvalidToken`, `TaskDoesNotExist`, `TaskTimedOut`)."""
        await self._by_token(token, events.HeartbeatReceived)

    async def _by_token(self, token: str, make: Callable[[int], events.Event]) -> None:
        arn, task_id = read_task_token(token)
        try:
            execution = await self.names.id_of(arn)
        except ApiError:
            raise no_such_task() from None
        await self.runner.ask(execution, make(task_id), accept=still_open(token, task_id))

    # ------------------------------------------------------------------ what a commit asks for

    def _after_commit(self, live: LiveExecution, batch: Batch) -> None:
        """The commit is durable: arm its timers and let its effects go."""
        execution = live.id
        if batch.history:
            self._log(live.head, batch.history, live.state.redrive_count if live.state is not None else 0)
        for timer in batch.disarmed:
            self.timers.disarm(execution, timer)
        for timer, due_ms in batch.armed:
            self.timers.arm(execution, timer, due_ms)
        arn = live.head.execution_arn
        for task_id in batch.finished:
            self.dispatcher.forget(arn, task_id)
        for task_id in batch.cancelled:
            self.activities.withdraw(execution, task_id)
            self.dispatcher.cancel(arn, task_id)
        for kind, call, parameters in batch.calls:
            if kind == kinds.TASK:
                self._dispatch(execution, call)
            else:
                self._offer(execution, call, parameters)
        self.map_runs.after_commit(live, batch)
        if batch.closed:
            self.semaphores.ended(arn)
        if self.admission.limits(live.row.machine):
            self.admission.after_commit(live, batch)
        self.retention.look()

    def _log(self, head: Head, history: list[HistoryEvent], redrives: int) -> None:
        if self.on_history is not None:
            self.on_history(head, history)
        settings = self.catalogue.programs.log_settings(head.machine_id, head.revision_id)
        if settings is not None:
            self.logs.log(settings, history, head.execution_arn, redrives)

    def history_log(self, head: Head) -> Callable[[list[HistoryEvent]], None] | None:
        """Where the history of an EXPRESS execution goes; `None` for nowhere."""
        meter = self.runner.meter
        is_logged = self.catalogue.programs.log_settings(head.machine_id, head.revision_id) is not None
        is_logged = is_logged or self.on_history is not None
        if meter is None:
            return (lambda history: self._log(head, history, 0)) if is_logged else None

        def noted(history: list[HistoryEvent]) -> None:
            meter.note_tasks(head.execution_arn, head, history)
            if is_logged:
                self._log(head, history, 0)

        return noted

    def subscribe(self, told: Callable[[StatusChange], None]) -> None:
        """Have `told` hear of every change of a STANDARD execution's status, once it is durable; it may not wait."""
        self.runner.subscribers.append(told)

    def _fire(self, execution: int, timer: int, settled: Callable[[], None]) -> None:
        self.runner.tell(execution, Input(events.TimerFired(timer), settled=settled))

    def _dispatch(self, execution: int, call: ScheduledCall) -> None:
        def answered(made: ScheduledCall, event: events.Event) -> None:
            self.runner.tell(execution, Input(event, call=made))

        self.dispatcher.dispatch(call, answered)

    def settle(self, call: ScheduledCall, result: TaskResult) -> bool:
        """Answer a call that was to be answered later; whether anybody waited for it still."""
        return self.dispatcher.settle(call, result)

    def _call_failed(self, call: ScheduledCall, problem: BaseException) -> None:
        """An integration raised, which none may: a bug of ours, so nothing is decided and the call stays open."""
        logger.error("a task of %s broke its integration", call.execution_arn, exc_info=problem)
        self.aside(self._quarantine_for(call, problem))

    async def _quarantine_for(self, call: ScheduledCall, problem: BaseException) -> None:
        if parse_arn(call.execution_arn).kind == EXPRESS:
            self.express.broke(call.execution_arn, problem)
            return
        execution = await self.runner.patiently(lambda: self.names.id_of(call.execution_arn))
        await self.runner.quarantine(execution, problem)

    # ------------------------------------------------------------------ activities

    def _offer(self, execution: int, call: ScheduledCall, parameters: Payload | None = None) -> None:
        text = (parameters or Payload(call.parameters)).text
        self.aside(self._offer_if_there(execution, call, text))

    async def _offer_if_there(self, execution: int, call: ScheduledCall, text: str) -> None:
        arn = call.resource.arn
        try:
            await self.runner.patiently(lambda: self.machines.activities.get(arn))
        except ApiError:
            refused = events.TaskRefused(call.task_id, f"The activity {arn} does not exist.")
            self.runner.tell(execution, Input(refused))
            return
        assert call.token is not None
        self.activities.offer(arn, ActivityTask(execution, call.task_id, call.token, text))
        if self.on_offer is not None:
            self.on_offer(call)

    async def _take_activity_task(self, task: ActivityTask, worker_name: str | None) -> bool:
        def waits(live: LiveExecution) -> bool:
            frame = live.state.frame_of(task.task_id) if live.state is not None else None
            if frame is None or frame.phase != TASK or frame.task is None or not live.is_running:
                return False
            return frame.task.id == task.task_id and not frame.task.started

        taken = False

        def accept(live: LiveExecution) -> bool:
            nonlocal taken
            taken = waits(live)
            return taken

        event = events.TaskStarted(task.task_id, worker_name)
        result: bool = await self.runner.ask(task.execution, event, accept=accept, result=lambda _live: taken)
        return result

    # ------------------------------------------------------------------ the rest

    def aside(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run something that nobody waits for; what it raises is logged."""
        task = asyncio.create_task(work)
        self._side.add(task)
        task.add_done_callback(self._side_done)
        return task

    def _side_done(self, task: asyncio.Task[None]) -> None:
        self._side.discard(task)
        if task.cancelled() or (problem := task.exception()) is None:
            return
        if isinstance(problem, OwnershipLost):
            self.ownership.lose(SHARD)
        else:
            logger.error("work on the side failed", exc_info=problem)

    def measure_with(self, recorder: Recorder) -> None:
        """Publish metrics of executions and tasks; before `start`."""
        self.runner.meter = ExecutionMeter(recorder)

    async def metrics(self) -> dict[str, Json]:
        """Counters for /metrics: executions by status, transitions, commits, timers, what is held in memory."""
        return await metrics_of(self)


def head_of(target: Target, arn: str, input_text: str, trace_header: str | None, sent_by: str | None = None) -> Head:
    """The head of an execution of a machine."""
    return Head(
        arn,
        target.machine_arn,
        target.machine_name,
        target.machine_id,
        target.revision_id,
        target.type,
        target.role_arn,
        target.version_arn,
        target.alias_arn,
        trace_header,
        input_text,
        sent_by=sent_by,
    )


def read_input(text: str) -> Payload:
    """An execution's input. Raises: ApiError (`InvalidExecutionInput`)."""
    try:
        return Payload.from_text(text)
    except JsonTextError:
        message = "Invalid State Machine Execution Input: 'Invalid execution input.'"
        raise ApiError("InvalidExecutionInput", message) from None


def type_not_supported() -> ApiError:
    """The service's answer to an operation on a machine of the other type (observed)."""
    return ApiError("StateMachineTypeNotSupported", "This operation is not supported by this type of state machine")


def _runs(live: LiveExecution) -> bool:
    return live.is_running


def _stopped_ms(live: LiveExecution) -> int:
    return live.state.stopped_ms or 0 if live.state is not None else live.row.stopped_ms or 0
