"""Map Runs: distributed Maps of executions, their items in, their child executions out.

A run is an aggregate of its own, stored like an execution: its header is the state, its children are the frames. The
parent's outbox row names it until the parent has the result, a stop's inbox row until it is closed; which children run
their rows say. So a restart finds everything from these two kinds of rows. What a run decides is in
`interpreter.map_run.advance`; one run at work is in `live.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import cast

import orjson

from statewright.arn import MAP_RUN, parse_arn
from statewright.engine.executions.kinds import STOP_RUN
from statewright.engine.executions.live import LiveExecution
from statewright.engine.executions.views import Head
from statewright.engine.executions.work import Batch
from statewright.engine.inbox import Inbox
from statewright.engine.inputs import Input
from statewright.engine.map_runs.head import RunHead
from statewright.engine.map_runs.live import LiveRun, load_run
from statewright.engine.map_runs.requests import RunRequest, command_of, decode_request
from statewright.engine.map_runs.site import Site
from statewright.interpreter.commands import StartMapRun
from statewright.interpreter.events import MapRunMissing, TimerFired
from statewright.interpreter.map_run.messages import ChildEnded, ChildStatus, RunStarted, RunUpdated
from statewright.interpreter.map_run.state import MapRunState, new_map_run
from statewright.interpreter.state import SERIAL_BITS
from statewright.stores.protocol import InboxRow, OutboxRow, Row

logger = logging.getLogger(__name__)


class MapRuns:
    """The Map Runs of a cell. Those that are open stay in memory."""

    def __init__(self, site: Site, inbox: Inbox) -> None:
        self._site = site
        self._shard = site.shard
        self._store = site.shard.store
        self._written = site.shard.retrying.executions
        self._inbox = inbox
        self._runs: dict[int, LiveRun] = {}
        self._by_task: dict[tuple[int, int], LiveRun] = {}
        self._carrying: dict[tuple[int, int], asyncio.Task[None]] = {}
        self._loading: dict[int, asyncio.Task[None]] = {}
        inbox.register(STOP_RUN, self.recover_stop)

    # ------------------------------------------------------------------ what parents ask for

    def after_commit(self, live: LiveExecution, batch: Batch) -> None:
        """See `CommitListener`: a commit may request Map Runs, stop runs, or be the end of a child."""
        for row_id, command in batch.map_runs:
            request = RunRequest(command.task_id, command.map_run_arn, getattr(command, "redrive_count", 0), None)
            start = command if isinstance(command, StartMapRun) else None
            self._execute(live.id, request.task_id, self._carry_out(live.id, live.head, row_id, request, start))
        for inbox_id, task_id in batch.stopped_map_runs:
            self._shard.spawn(self._stop(live.id, task_id, inbox_id))
        if batch.closed and live.head.map_run:
            run = self._runs.get(live.head.map_run)
            state = live.state
            if run is not None and state is not None:
                most = live.limits.history_events
                redrivable = most is None or state.last_event_id < most - 1
                run.tell(
                    ChildEnded(
                        live.head.index,
                        run.attempt_of(live.head.index),
                        cast(ChildStatus, state.status),
                        state.output,
                        state.error,
                        state.cause,
                        redrivable,
                    )
                )

    def _execute(self, parent: int, task_id: int, work: Coroutine[object, object, None]) -> None:
        """Execute a request; a stop that follows immediately must find the Map Run."""
        key = (parent, task_id)
        task = self._carrying[key] = self._shard.spawn(work)
        task.add_done_callback(lambda _: self._carrying.pop(key, None))

    def recover_request(self, row: OutboxRow) -> None:
        """Execute a request that was committed before the restart."""
        self._execute(row.execution, decode_request(row.body).task_id, self._again(row))

    def recover_stop(self, row: InboxRow) -> None:
        """Stop a Map Run whose stop was requested before the restart."""
        self._shard.spawn(self._stop(row.execution, orjson.loads(row.body), row.id))

    async def _again(self, row: OutboxRow) -> None:
        request = decode_request(row.body)
        parent = await self._written.row(row.execution)
        if parent is None:
            return
        head = Head.decode(parent.head)
        start = None
        if request.start is not None:
            program = await self._site.programs.program_of(head.machine_id, head.revision_id)
            start = command_of(request, program)
        await self._carry_out(row.execution, head, row.id, request, start)

    async def _carry_out(
        self, parent: int, head: Head, row_id: int, request: RunRequest, start: StartMapRun | None
    ) -> None:
        """Start a Map Run, or continue with an existing one."""
        arn = parse_arn(request.map_run_arn, MAP_RUN)
        if start is None:
            await self._earlier(parent, request.task_id)
            begun = next((run for run in self._runs.values() if run.head.map_run_arn == request.map_run_arn), None)
            if begun is not None:
                await begun.go_on(request)
                return
        found = await self._written.find(-parent, arn.rest or "")
        if found is None:
            if start is None:
                # The process died before the Map Run was written, and the stop of its parent has removed its request.
                self._site.runner.tell(parent, Input(MapRunMissing(request.task_id)))
                return
            await self._shard.retrying.retry(self._site.names.note_map_run, request.map_run_arn, row_id)
            distributed = start.definition.distributed
            assert distributed is not None
            run_head = RunHead(
                request.map_run_arn, parent, head.execution_arn, head.machine_id, head.revision_id, start.scope,
                distributed.execution_type, head.role_arn, start.reader, start.reader_config, start.iterations,
                start.attempt, start.state,
            )  # fmt: skip
            state = new_map_run(start, head.execution_arn)
            run = await self._live(row_id, run_head, state, None)
            run.tell(RunStarted())
            return
        run = await self._held(found.id)
        await run.go_on(request)

    async def _held(self, run_id: int) -> LiveRun:
        """The one copy in memory of a Map Run that the store has; loads it at its first use."""
        while (run := self._runs.get(run_id)) is None:
            loading = self._loading.get(run_id)
            if loading is None:
                loading = self._loading[run_id] = self._shard.spawn(self._load(run_id))
                loading.add_done_callback(lambda _: self._loading.pop(run_id, None))
            await asyncio.shield(loading)
        return run

    async def _load(self, run_id: int) -> None:
        self._adopt(await load_run(self._site, self, run_id))

    async def _earlier(self, parent: int, task_id: int) -> None:
        """Wait until earlier requests of the same frame are executed."""
        frame = task_id >> SERIAL_BITS
        requests = self._carrying.items()
        before = [
            task for (of, one), task in requests if of == parent and one >> SERIAL_BITS == frame and one < task_id
        ]
        if before:
            await asyncio.wait(before)

    async def _live(self, run_id: int, head: RunHead, state: MapRunState, row: Row | None) -> LiveRun:
        program = await self._site.programs.program_of(head.machine_id, head.revision_id)
        run = LiveRun(self._site, self, run_id, head, state, program, row)
        self._adopt(run)
        return run

    def _adopt(self, run: LiveRun) -> None:
        self._runs[run.id] = run
        self._by_task[run.head.parent, run.state.task_id] = run

    def retask(self, run: LiveRun, task_id: int) -> None:
        """The parent waits for the run under another task id."""
        self._by_task[run.head.parent, task_id] = run

    def release(self, run: LiveRun) -> None:
        """A run is closed: forget it."""
        self._runs.pop(run.id, None)
        for key in [key for key, one in self._by_task.items() if one is run]:
            del self._by_task[key]

    async def _stop(self, parent: int, task_id: int, inbox_id: int) -> None:
        under_way = self._carrying.get((parent, task_id))
        if under_way is not None:
            await asyncio.wait([under_way])
        run = self._by_task.get((parent, task_id))
        if run is None:
            run = await self._find_open(parent, task_id)
        if run is None:
            await self._drop_stop(parent, inbox_id)
            return
        run.stop(inbox_id)

    async def _find_open(self, parent: int, task_id: int) -> LiveRun | None:
        page = await self._written.list_rows(-parent, status="RUNNING", after=None, limit=1000)
        for row in page.rows:
            run = self._runs.get(row.id) or await load_run(self._site, self, row.id)
            if run.state.task_id == task_id:
                run = await self._held(row.id)
                await run.go_on(None)
                return run
        return None

    async def _drop_stop(self, parent: int, inbox_id: int) -> None:
        """The run never began, or is closed: nothing is left to stop."""
        self._inbox.consume(parent, inbox_id, TimerFired(0))

    # ------------------------------------------------------------------ asking for a run

    async def state_of(self, run_id: int) -> MapRunState | None:
        """The state of a run, open or closed; `None` for one that the store does not have."""
        state = self.open_state(run_id)
        if state is None and await self._store.executions.row(run_id) is not None:
            state = (await load_run(self._site, self, run_id)).state
        return state

    def open_state(self, run_id: int) -> MapRunState | None:
        """The state of a run that is open, which goes on changing and is only to be read; `None` for any other."""
        run = self._runs.get(run_id)
        return run.state if run is not None and run.row is not None else None

    def open_ids(self) -> list[int]:
        """The ids of the runs that are open: their child executions are listed below these."""
        return sorted(self._runs)

    async def update(self, run_id: int, update: RunUpdated) -> bool:
        """Change the limits of a run; False if it is closed."""
        run = self._runs.get(run_id)
        if run is None or run.state.status != "RUNNING":
            return False
        await run.ask(update)
        return True

    # ------------------------------------------------------------------ ends

    async def drain(self) -> None:
        """Let every run write what it has."""
        for run in list(self._runs.values()):
            await run.drain()

    def kill(self) -> None:
        """Drop everything, as a process that dies would."""
        for run in self._runs.values():
            run.kill()

    @property
    def open(self) -> int:
        """How many runs are open."""
        return len(self._runs)
