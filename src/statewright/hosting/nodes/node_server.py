"""A server that is a node: its worker, its cells, and the home while this process has it.

The home is a system of its own, begun and ended beside the worker. It is taken as a standby takes a store, and a
process that loses it replaces itself by a new image, as a standby does (`docs/decisions/0023`): its cells are lost with
it, because the same process renews both leases.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from statewright.api.app import Api
from statewright.api.http.listening import Listener
from statewright.api.nodes.answers import AnswersAnywhere
from statewright.api.nodes.apps import Apps
from statewright.api.nodes.around import NodeRouter
from statewright.api.nodes.changes import ChangeFeed
from statewright.api.nodes.client import NodeClient
from statewright.api.nodes.front import NodeFront
from statewright.api.nodes.logs import LogCalls, LogFeed, LogsAtHome, log_feed
from statewright.api.nodes.metrics import MetricFeed
from statewright.api.nodes.notes import NotesAtHome
from statewright.api.nodes.peers import Peer
from statewright.api.nodes.proxy import HomeProxy
from statewright.api.nodes.rules import is_answered_anywhere
from statewright.api.nodes.serving import NodeCalls
from statewright.api.nodes.signing import Verifier
from statewright.api.nodes.tasks import HomeTasks, TasksAtHome
from statewright.api.nodes.workers.asking import AllNodes
from statewright.api.nodes.workers.copies import DroppedCopies
from statewright.api.nodes.workers.invocations import SpreadInvocations
from statewright.api.nodes.workers.logs import CurrentLogs, send_logs
from statewright.api.operations import App
from statewright.api.standby import NoPages
from statewright.api.status.prometheus import Sample
from statewright.assembly import Hooks, System, assemble_worker
from statewright.clock import RealClock
from statewright.engine.dispatch import Integrations
from statewright.engine.engine import Engine
from statewright.errors import NewerStore, OwnershipLost, StoreError, Unavailable
from statewright.hosting.nodes.cells import NodeCells
from statewright.hosting.nodes.guards import (
    check_address,
    check_clock,
    clock_ahead_ms,
    refuse_open_host,
    unreachable,
)
from statewright.hosting.nodes.reports import NodeReports
from statewright.hosting.nodes.worker import Worker
from statewright.hosting.options import CannotServe, NodeOptions, Ready
from statewright.hosting.process import Inside, Process, rehearse
from statewright.hosting.setup import collect_garbage_rarely
from statewright.hosting.standby import Demotion, LeaseWait, become_standby, reap
from statewright.hosting.status_log import left_unwritten
from statewright.log_export.exporting import LogExport
from statewright.payload import Json
from statewright.stopping import StopDeadline
from statewright.stores.bucket.address import bucket_address
from statewright.stores.memory.store import MemoryStore
from statewright.stores.postgres.cells.membership import Membership
from statewright.stores.postgres.cells.store import CellStore
from statewright.stores.postgres.surroundings import examine
from statewright.stores.sqlite.file import FolderLock

WORKER_FOLDER: Final = "node"
"""The folder of the worker, in the node's data folder."""
OWNER: Final = "a node of a cluster"
HOME_MS: Final = 60_000
"""For some node to have the home, when this one starts."""

log = logging.getLogger("statewright.server")


@dataclass(frozen=True, slots=True)
class _Joined:
    """The parts of a node from the moment at which it has joined its cluster."""

    client: NodeClient
    apps: Apps
    cells: NodeCells
    reports: NodeReports
    tasks: TasksAtHome
    around: DroppedCopies
    """Around the calls of the home, while that is here."""
    store: CellStore
    worker: Worker
    changes: ChangeFeed
    metrics: MetricFeed
    logs: LogExport
    listens: Listener


async def _needs_home(app: App, request: Json) -> bool:
    """See `NeedsHome`: by the definition that the start names. Raises: ApiError, StoreError."""
    return await app.engine.needs_home(await app.engine.machines.resolve(request["stateMachineArn"]))


class NodeServer:
    """A process that is a node, from its start to its end."""

    def __init__(self, process: Process, node: NodeOptions, on_ready: Callable[[Ready], None]) -> None:
        self._process = process
        self._on_ready = on_ready
        self._clock = RealClock()
        options = process.options
        self._advertise = node.advertise
        self._own = Peer(node.name, node.advertise or process.own_address, 0)
        self._membership = Membership(
            options.store, process.place, name=node.name, url=self._own.address, cells=node.cells
        )
        self._deadline = StopDeadline(options.timeouts.stop_seconds, self._left)
        store: Any = process.store
        owner = f"node {node.name}, pid {os.getpid()}"
        self._wait = LeaseWait(store, self._clock, process.place, owner, was_owner=True)
        self._inside: Inside | None = None
        self._joined: _Joined | None = None
        self._demotion = Demotion(self._clock, self._shut, lambda: become_standby(process.listening))
        self._home: Api | None = None
        """The home's API, while this process has the home and that answers."""
        self._is_ready = False
        self._is_reachable = asyncio.Event()
        """Set once this node has found that its address leads to it: then it takes cells and the home."""

    async def run(self) -> None:
        """Serve until a signal. Raises: CannotServe, StoreError."""
        await rehearse(self._process.assemble(lambda _: None, MemoryStore()).system)
        reap()
        lock: FolderLock | None = None
        try:
            refuse_open_host(self._process.listening.getsockname()[0], self._advertise)
            lock = await asyncio.to_thread(FolderLock, self._data, OWNER)
            await asyncio.to_thread(examine, self._process.options.store, self._process.place)
            check_clock(await clock_ahead_ms(self._clock, self._membership.database_ms))
            await asyncio.to_thread(self._membership.join)
            self._joined = joined = await self._assemble()
        except BaseException:
            await asyncio.to_thread(self._membership.leave)
            await self._process.give_up()
            if lock is not None:
                lock.release()
            raise
        try:
            await self._serve(joined)
        finally:
            lock.release()
        log.info("stopped")

    async def _serve(self, joined: _Joined) -> None:
        joined.listens.watch.start()
        serving = asyncio.ensure_future(joined.listens.serve(sockets=[self._process.listening]))
        looking = joined.cells.start()
        work = [
            asyncio.ensure_future(one)
            for one in (self._ask_itself(joined), self._keep_home(joined), self._begin(joined))
        ]
        try:
            for one in asyncio.as_completed([serving, looking, *work]):
                await one
                if serving.done():
                    break
        finally:
            # After a failed start, too.
            joined.listens.should_exit = True
            self._end()
            await serving
            for task in work:
                task.cancel()
            await asyncio.wait(work)
            await self._stop(joined)
            self._deadline.met()

    # ------------------------------------------------------------------ before it serves

    @property
    def _data(self) -> Path:
        return self._process.options.data / WORKER_FOLDER

    async def _assemble(self) -> _Joined:
        """Assemble what stays for as long as the process does. Raises: StoreError."""
        process, clock, membership = self._process, self._clock, self._membership
        options, secret = process.options, membership.cluster.secret
        client, apps = NodeClient(secret, self._own.name, clock), Apps()
        bucket = bucket_address(options.bucket) if options.bucket is not None else None
        store = CellStore(options.store, membership, bucket=bucket)
        await store.open(self._own.name)
        cells = NodeCells(membership, clock, self._own, client)
        reports = NodeReports(cells, membership, clock, self._own, client, self._in_memory)
        at_home = TasksAtHome(apps, cells)
        router = NodeRouter(apps, cells, client, clock, _needs_home, is_home_app=False)

        async def has_reservation(name: str) -> bool:
            return await system.app.services.functions.invoker.has_reservation(name)

        tasks: list[HomeTasks] = []

        def around_tasks(inner: Integrations) -> Integrations:
            tasks.append(HomeTasks(inner, at_home, cells, client, has_reservation))
            return tasks[0]

        def processes(action: str) -> int:
            return 1 + len(cells.peers()) if is_answered_anywhere(action) else 1

        hooks = Hooks(around=router, around_tasks=around_tasks, processes=processes)
        system = assemble_worker(
            options.config, clock, store, self._data, lambda: process.own_address, hooks,
            NotesAtHome(apps, cells, client), reports, cells.lost_cell, membership.ids_ms,
        )  # fmt: skip
        apps.worker = system.app
        system.integrations.connect(AnswersAnywhere(system.engine, system.calls.states, apps, cells))
        changes = ChangeFeed(apps, cells, client)
        worker = Worker(system, clock, changes.status_changed, tasks[0])
        cells.connect(system.engine, worker.home_changed)
        metrics = MetricFeed(apps, cells, client, system.app.services.metrics, clock)
        logs_at_home = LogsAtHome(apps, cells, clock)
        log_receiver = LogFeed(logs_at_home, cells, client, clock, self._own.name)
        logs = await log_feed(system.app, log_receiver, self._data)
        log_calls = LogCalls(logs_at_home, partial(send_logs, system.app, logs))

        async def samples() -> Iterable[Sample]:
            words = "Requests that the node with the home has answered."
            passed_on = Sample("statewright_node_requests_passed_on_total", "counter", words, proxy.passed_on)
            return await process.samples_of(system, *reports.samples(), passed_on)

        api = Api(
            system.app, process.origins, process.body_bytes, samples, self._store_state, standing=self._standing,
            about=lambda: reports.health() | self._bucket_state(),
        )  # fmt: skip
        verifier = Verifier(secret, clock)
        proxy = HomeProxy(cells, client, clock, self._refusing(system), lambda: self._home)
        front = NodeFront(
            options.config, cells, verifier, worker=api, home=lambda: self._home, proxy=proxy, pages=api,
            calls=NodeCalls(apps, cells, verifier, at_home, log_calls, clock, cells.look_soon, reports.hello),
        )  # fmt: skip
        listens = process.listen(front, lambda: None, self._end)
        around = self._around_home(apps, cells, client, log_calls)
        return _Joined(client, apps, cells, reports, at_home, around, store, worker, changes, metrics, logs, listens)

    def _around_home(self, apps: Apps, cells: NodeCells, client: NodeClient, logs: LogCalls) -> DroppedCopies:
        """Make what surrounds operations at the home: its answers hold at every node."""
        nodes = AllNodes(cells.peers, client, self._clock)
        router = NodeRouter(apps, cells, client, self._clock, _needs_home, is_home_app=True)
        return DroppedCopies(CurrentLogs(router, apps, nodes, logs.send, self._clock), apps, nodes)

    def _refusing(self, system: System) -> Callable[[str], Api]:
        """Make APIs that refuse every request, in the form of its service."""

        def make(text: str) -> Api:
            process = self._process
            return Api(system.app, process.origins, process.body_bytes, pages=NoPages(), draining=True, refusal=text)

        return make

    async def _ask_itself(self, joined: _Joined) -> None:
        """Check that the address of this node leads to it. Raises: CannotServe."""
        address = self._own.address
        option = f"the address {address}" if self._advertise is None else f"--advertise {address}"
        await check_address(joined.client, self._own, self._membership.incarnation, self._clock, option)
        self._is_reachable.set()

    # ------------------------------------------------------------------ the worker

    async def _begin(self, joined: _Joined) -> None:
        """Start the worker once some node has the home. Raises: CannotServe, StoreError."""
        await self._is_reachable.wait()
        due_ms = self._clock.now_ms() + HOME_MS
        while joined.cells.home() is None:
            if self._clock.now_ms() >= due_ms:
                raise CannotServe(f"no node of the cluster {self._process.place} has had the home for a minute")
            await joined.cells.wait_for_change(1.0)
        warning = unreachable(self._own, joined.cells.peers())
        if warning is not None:
            log.warning("%s", warning)
        await joined.logs.start()
        await joined.worker.start()
        joined.metrics.start()
        joined.cells.take_cells()
        self._is_ready = True
        self._on_ready(self._process.ready())
        collect_garbage_rarely()

    # ------------------------------------------------------------------ the home

    async def _keep_home(self, joined: _Joined) -> None:
        """Wait for the home, and take it, unless the store has become that of a newer version. Raises: StoreError,
        CannotServe.
        """
        process = self._process
        await self._is_reachable.wait()
        try:
            if not await self._wait.taken():
                return
        except NewerStore as problem:
            # A node of a newer version has joined meanwhile: this one keeps its cells until it is stopped.
            log.info("this node leaves the home to nodes of a newer version: %s", problem)
            return
        await process.hold_folder()
        spread = SpreadInvocations(process.options.config, joined.cells, joined.client, self._own.name)
        # The worker and the home of a process have one share of the calls.
        throttle = joined.worker.system.app.throttle
        hooks = replace(process.options.hooks, around=joined.around, around_invocation=spread, throttle=throttle)
        self._inside = inside = process.assemble(self._demotion, hooks=hooks, nodes=joined.reports)
        inside.api.standing = self._standing
        answers = AnswersAnywhere(inside.system.engine, inside.system.calls.states, joined.apps, joined.cells)
        inside.system.integrations.connect(answers)
        joined.apps.home = inside.system.app
        joined.around.follow(inside.system.app)
        try:
            await process.start(inside)
            if joined.listens.should_exit or self._demotion.reason is not None:
                return
            self._home = inside.api
            await joined.cells.home_begins(self._wait.epoch)
        except (Unavailable, OwnershipLost) as problem:
            # The store is there, or was a moment ago.
            self._demotion(str(problem))
            return
        late_ms, before = self._clock.now_ms() - self._wait.free_since_ms, self._wait.store_state.owner
        if before is None:
            log.info("this node has the home")
        else:
            log.info("took the home over from %s: ready %.2f s after the end of its lease", before, late_ms / 1_000)
        inside.check.begin(process.store, process.place)
        collect_garbage_rarely()

    def _standing(self) -> str:
        """The word for `/health`."""
        try:
            self._membership.check()
        except StoreError:
            return "no lease"
        if not self._is_ready:
            return "starting"
        return "ready" if self._joined is not None and self._joined.cells.home() is not None else "no home"

    def _store_state(self) -> str:
        """The word for `/health` about the store, which the node with the home reads through."""
        if self._standing() == "no lease":
            return "unavailable"
        return self._inside.check.state if self._inside is not None else "unchecked"

    def _bucket_state(self) -> dict[str, str]:
        """The member of `/health` about the bucket, which is there where this node has the home and a bucket."""
        state = self._process.bucket_state() if self._inside is not None else None
        return {"bucket": state()} if state is not None else {}

    # ------------------------------------------------------------------ ends

    def _shut(self) -> None:
        """Refuse what only the home answers: it is another process's, and this one is replaced."""
        joined = self._joined
        self._home = None
        if joined is not None:
            joined.apps.home = None
            joined.tasks.stop()
            # Others take the cells now, and the next image the name.
            asyncio.get_running_loop().run_in_executor(None, self._membership.leave)
        if self._inside is not None:
            self._inside.api.drain()

    def _end(self) -> None:
        """The process has been asked to end."""
        self._demotion.call_off()
        self._deadline.begin()
        self._wait.stop()

    async def _stop(self, joined: _Joined) -> None:
        """Hand over the cells, then the home, and leave the cluster."""
        await joined.cells.leave()
        await joined.worker.stop()
        await joined.changes.stop()
        await joined.metrics.stop()
        await joined.logs.stop()
        joined.tasks.stop()
        await joined.around.stop()
        await self._process.stop(self._inside)
        joined.apps.home = None
        with contextlib.suppress(StoreError):
            await asyncio.to_thread(self._membership.leave)
        await joined.store.close()
        await joined.cells.nudge_all()
        joined.client.close()

    def _left(self) -> str:
        return left_unwritten(*self._engines())

    def _in_memory(self) -> int:
        """The executions that this process has in memory."""
        return sum(one.cells.in_memory for one in self._engines())

    def _engines(self) -> list[Engine]:
        """The home's, while this process has that, and the worker's."""
        engines = [self._inside.system.engine] if self._inside is not None else []
        if self._joined is not None:
            engines.append(self._joined.worker.system.engine)
        return engines
