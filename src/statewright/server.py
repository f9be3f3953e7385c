"""The server: the one place that wires concrete stores, clocks, engines and the API together, and runs them.

Owns start, ready line, drain and end of a server process. Options of the command line become `ServerOptions` in
`cli/serving/serve.py`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from socket import socket
from typing import Any, Final

from statewright.api import operations
from statewright.api.app import Api
from statewright.api.http.connections import ConnectionTimeouts
from statewright.api.http.listening import CannotListen, Listener, bind, listener
from statewright.api.lambda_.service import build_functions
from statewright.api.standby import REFUSAL, NoPages, SwitchableApp
from statewright.api.status.health import STANDBY
from statewright.api.status.prometheus import Sample
from statewright.assembly import NO_HOOKS, Hooks, System, assemble
from statewright.clock import RealClock
from statewright.config import DEFAULT_PORT, Config
from statewright.console.console import PATH as CONSOLE_PATH
from statewright.console.console import ConsoleApp
from statewright.console.project import ProjectBoard
from statewright.errors import OwnershipLost, StoreError, Unavailable
from statewright.files import data_folder
from statewright.functions.workers.isolation import CannotIsolate
from statewright.functions.workers.ray_link import NoRay
from statewright.hosting.figures import samples
from statewright.hosting.setup import (
    StoreCheck,
    close_data,
    collect_garbage_rarely,
    compare_clocks,
    isolate,
    loop_factory,
    own_address,
)
from statewright.hosting.shared_folder import SharedFolder
from statewright.hosting.standby import Demotion, LeaseWait, StoreState, Waiting, become_standby, reap, received_port
from statewright.hosting.status_log import left_unwritten, log_status
from statewright.log_export.settings import CannotExport, destination_of
from statewright.stopping import StopDeadline
from statewright.stores import fail_points
from statewright.stores.memory.store import MemoryStore
from statewright.stores.opening import NO_BUCKET, open_store
from statewright.stores.store import Store

SWITCH_INTERVAL_SECONDS: Final = 0.0001
"""A busy event loop would otherwise starve the store's writer thread."""
OPEN_BODY_BYTES: Final = 256 * 1024 * 1024
"""Longest request when the limits on payloads are lifted."""
DATA_FOLDER: Final = ".statewright"
STORES: Final = ("sqlite", "memory")

log = logging.getLogger("statewright.server")


class CannotServe(Exception):
    """The server cannot start, or cannot go on; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Options of a server. `data` is the folder for durable files, used with the store `sqlite` only.

    `store` is one of `STORES`, or the address of a PostgreSQL database. `origins` are those of web pages that may call,
    beside those of the settings.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    data: Path = Path(DATA_FOLDER)
    store: str = "sqlite"
    config: Config = field(default_factory=Config)
    origins: frozenset[str] = frozenset()
    timeouts: ConnectionTimeouts = field(default_factory=ConnectionTimeouts)
    bucket: str | None = None
    """The address of the S3-compatible bucket that has the large bytes of a store in PostgreSQL."""
    standby: bool = False
    """Wait while another server has the store in PostgreSQL, take over when its lease ends, and wait again when the
    lease is lost."""
    hooks: Hooks = NO_HOOKS
    """Test cases of a mock file stand here; otherwise nothing."""
    project: ProjectBoard | None = None
    """The problems that `statewright dev` finds in its folder, for the console."""
    prepare: Callable[[System], Awaitable[None]] | None = None
    """Called once the system is assembled, before it starts. Raises: CannotServe, StoreError."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A server that has started: its address, the place of its state, and its process."""

    endpoint: str
    place: str
    pid: int
    isolation: str = "none"
    """Level of isolation of handlers."""

    @property
    def lines(self) -> tuple[str, str]:
        """The lines that `serve` and `dev` print: the ready line, and the address of the console."""
        return self.line, f"The console is at {self.console}"

    @property
    def console(self) -> str:
        """The address of the console."""
        return self.endpoint + CONSOLE_PATH

    @property
    def line(self) -> str:
        """The ready line on standard output, which people and scripts read."""
        return (
            f"Statewright is ready on {self.endpoint} (data: {self.place}, handlers: {self.isolation}, pid {self.pid})"
        )


@dataclass(slots=True)
class _Loss:
    """Why the store is no longer this process's; None while it is. Calling it stops the server."""

    reason: str | None = None

    def __call__(self, reason: str) -> None:
        self.reason = reason
        signal.raise_signal(signal.SIGTERM)


def serve(
    options: ServerOptions, on_ready: Callable[[Ready], None], on_standby: Callable[[Waiting], None] = lambda _: None
) -> None:
    """Serve until SIGTERM or SIGINT; `on_ready` is called once the port answers calls, `on_standby` once it refuses
    them because another server has the store.

    Raises: CannotServe; also when the store is lost to another process, or the data folder removed.
    """
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    data_folder.keep_private()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_serve(options, on_ready, on_standby))


async def _serve(
    options: ServerOptions, on_ready: Callable[[Ready], None], on_standby: Callable[[Waiting], None] = lambda _: None
) -> None:
    if options.standby and "://" not in options.store:
        raise CannotServe(
            "--standby needs a store that two servers can reach: --store postgresql://...; a data folder of SQLite "
            "belongs to one process"
        )
    if options.bucket is not None and "://" not in options.store:
        raise CannotServe(NO_BUCKET)
    origins = _origins_of(options)
    operations.load_all()
    try:
        destination_of(options.config.logs, os.environ)
        isolation = await asyncio.to_thread(isolate, options.config)
    except (CannotExport, CannotIsolate, NoRay) as problem:
        raise CannotServe(str(problem)) from None
    handed = received_port() if options.standby else None
    listening = handed or _listen(options)
    close_data(_data_of(options))
    process = _Process(options, origins, isolation.level, listening, _open_store(options))
    if options.standby:
        await _Standby(process, on_ready, on_standby, was_owner=handed is not None).run()
    else:
        await _serve_alone(process, on_ready)


async def _serve_alone(process: _Process, on_ready: Callable[[Ready], None]) -> None:
    """Serve what no other process has. Raises: CannotServe, StoreError."""
    loss = _Loss()
    try:
        await process.store.open(f"pid {os.getpid()}")
        await process.hold_folder()
        inside = process.assemble(loss)
        await process.start(inside)
    except BaseException:
        await process.give_up()
        raise
    deadline = StopDeadline(process.options.timeouts.stop_seconds, lambda: left_unwritten(inside.system.engine))
    listens = process.listen(inside.api, lambda: on_ready(process.ready()), deadline.begin)
    collect_garbage_rarely()
    inside.check.begin(process.store, process.place)
    listens.watch.start()
    try:
        await listens.serve(sockets=[process.listening])
    finally:
        deadline.begin()
        await process.stop(inside)
        deadline.met()
        log.info("stopped")
    if loss.reason is not None:
        raise CannotServe(f"stopped, because {loss.reason}")


@dataclass(slots=True)
class _Inside:
    """The parts of a process that exist only while it owns the store."""

    system: System
    api: Api
    check: StoreCheck


class _Process:
    """The parts of a process from its start to its end: its port, its place of files, and a store to open."""

    def __init__(
        self, options: ServerOptions, origins: frozenset[str], isolation: str, listening: socket, store: Store
    ) -> None:
        self.options = options
        self.listening = listening
        self.store = store
        self.place = _where(options)
        host, port = listening.getsockname()[:2]
        self.endpoint = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        self._own_address = own_address(host, port)
        self._origins = origins
        self._isolation = isolation
        self._listens: Listener | None = None
        data = _data_of(options)
        is_shared = data is not None and "://" in options.store
        self._folder = SharedFolder(data, RealClock()) if data is not None and is_shared else None

    def ready(self) -> Ready:
        """Report that it serves."""
        return Ready(self.endpoint, self.place, os.getpid(), self._isolation)

    def listen(self, api: Api | SwitchableApp, on_open: Callable[[], None], on_stop: Callable[[], None]) -> Listener:
        """Make the server of the port, which runs from then on."""
        self._listens = listener(api, on_open, self.options.timeouts, on_stop)
        return self._listens

    def assemble(self, on_lost: Callable[[str], None], store: Store | None = None) -> _Inside:
        """Assemble the system and its API on the store, or on another one to try it."""
        options = self.options
        data = _data_of(options) if store is None else None
        system = assemble(
            options.config, RealClock(), store or self.store, data, lambda: self._own_address, on_lost,
            hooks=options.hooks,
        )  # fmt: skip
        body_bytes = None if options.config.limits.payload_bytes is not None else OPEN_BODY_BYTES
        check = StoreCheck()
        api = Api(
            system.app, self._origins, body_bytes, lambda: self._samples(system, check.sample()),
            lambda: check.state, lambda: system.app.integrations.volatile.played,
            ConsoleApp(system.app, self._origins, self.place, options.project), bucket_state=self.bucket_state(),
        )  # fmt: skip
        return _Inside(system, api, check)

    async def _samples(self, system: System, *more: Sample) -> Iterable[Sample]:
        assert self._listens is not None
        standby = Sample("statewright_standby", "gauge", "1 while another server has the store.", 0)
        return await samples(system, self._listens, standby, *more)

    def bucket_state(self) -> Callable[[], str] | None:
        """The word of `/health` about the bucket; None without one."""
        bucket = getattr(self.store, "bucket", None)
        return None if bucket is None else lambda: bucket.state

    async def hold_folder(self) -> None:
        """Take the data folder, once the store is open. Raises: InUse, Unavailable."""
        if self._folder is not None:
            await self._folder.hold()

    async def start(self, inside: _Inside) -> None:
        """Start the system on the store, which is open. Raises: StoreError, CannotServe."""
        system, options = inside.system, self.options
        engine = system.engine
        engine.subscribe(log_status)
        for others in (system.regions, system.accounts):
            if others is not None:
                others.subscribe(_follow)
        if options.config.time_scale != 1:
            log.warning("waits, back-offs and delays take %g times their stated duration", options.config.time_scale)
        if options.prepare is not None:
            await options.prepare(system)
        await system.start()
        functions = system.app.services.make.found(build_functions)
        if functions is not None and functions.invoker.ray is not None:
            functions.invoker.ray.start()
        engine.watch_inbox()
        compare_clocks(await self.store.newest_id(engine.store.shard), engine.clock.now_ms())

    async def stop(self, inside: _Inside | None) -> None:
        """Stop the system, and release what it had."""
        if self._listens is not None:
            self._listens.watch.stop()
        if inside is not None:
            await inside.system.stop()
            fail_points.passed(fail_points.BEFORE_CLOSE)
        await self._release()

    async def give_up(self) -> None:
        """Release what was taken for a start that failed."""
        self.listening.close()
        await self._release()

    async def _release(self) -> None:
        if self._folder is not None:
            # Before the store: the process that takes the store takes the folder next.
            await self._folder.release()
        await self.store.close()


class _Standby:
    """A process that is the standby until it takes over, and serves from then on."""

    def __init__(
        self,
        process: _Process,
        on_ready: Callable[[Ready], None],
        on_standby: Callable[[Waiting], None],
        *,
        was_owner: bool,
    ) -> None:
        self._process = process
        self._on_ready = on_ready
        self._on_standby = on_standby
        self._inside: _Inside | None = None
        self._clock = RealClock()
        options = process.options
        self._deadline = StopDeadline(options.timeouts.stop_seconds, self._left)
        store: Any = process.store
        self._wait = LeaseWait(
            store, self._clock, process.place, f"pid {os.getpid()}", was_owner=was_owner, on_wait=self._announce_wait
        )
        self._rehearsal = process.assemble(lambda _: None, MemoryStore())
        self._front = self._rehearsal.api
        self._front.draining, self._front.refusal = True, REFUSAL
        self._front.standing, self._front.pages, self._front.sampler = lambda: STANDBY, NoPages(), _samples_of_standby
        self._front.store_state = lambda: "unchecked" if self._wait.store_state.is_answering else "unavailable"
        self._switchable = SwitchableApp(self._front)
        self._listens = process.listen(self._switchable, lambda: None, self._end)
        self._demotion = Demotion(self._clock, self._shut, lambda: become_standby(process.listening))

    async def run(self) -> None:
        """Serve until a signal. Raises: CannotServe, StoreError."""
        await self._rehearse()
        reap()
        self._listens.watch.start()
        serving = asyncio.ensure_future(self._listens.serve(sockets=[self._process.listening]))
        try:
            await self._take_over()
            await serving
        finally:
            # After a failed start, too.
            self._listens.should_exit = True
            self._end()
            await serving
            await self._process.stop(self._inside)
            self._deadline.met()
        log.info("stopped")

    async def _rehearse(self) -> None:
        """Start once in memory, so that everything is imported by the time that there is a store."""
        system = self._rehearsal.system
        await system.engine.store.open("rehearsal")
        await system.start()
        await system.stop()
        collect_garbage_rarely()

    async def _take_over(self) -> None:
        if not await self._wait.taken():
            return
        await self._process.hold_folder()
        self._inside = inside = self._process.assemble(self._demotion)
        inside.api.standing = self._standing
        try:
            await self._process.start(inside)
        except (Unavailable, OwnershipLost) as problem:
            # The store is there, or was a moment ago.
            self._demotion(str(problem))
            return
        if self._listens.should_exit or self._demotion.reason is not None:
            return
        self._switchable.app = inside.api
        late_ms, before = self._clock.now_ms() - self._wait.free_since_ms, self._wait.store_state.owner
        if before is not None:
            log.info("took over from %s: ready %.2f s after the end of its lease", before, late_ms / 1_000)
        self._on_ready(self._process.ready())
        inside.check.begin(self._process.store, self._process.place)
        collect_garbage_rarely()

    def _announce_wait(self, standing: StoreState) -> None:
        process = self._process
        self._on_standby(Waiting(process.endpoint, process.place, os.getpid(), standing.owner))

    def _standing(self) -> str:
        """The word for `/health` while this process serves."""
        try:
            self._process.store.check_lease()
        except StoreError:
            return "no lease"
        return "ready"

    def _shut(self) -> None:
        self._switchable.app = self._front
        if self._inside is not None:
            self._inside.api.refusal = REFUSAL
            self._inside.api.drain()

    def _end(self) -> None:
        """The process has been asked to end."""
        self._demotion.call_off()
        self._deadline.begin()
        self._wait.stop()

    def _left(self) -> str:
        return left_unwritten(self._inside.system.engine) if self._inside is not None else "the store is not closed"


async def _samples_of_standby() -> Iterable[Sample]:
    return [Sample("statewright_standby", "gauge", "1 while another server has the store.", 1)]


def _origins_of(options: ServerOptions) -> frozenset[str]:
    """The origins of web pages that may call. Raises: CannotServe."""
    origins = options.origins | options.config.http.origins
    if options.config.console.trust_header and not origins:
        raise CannotServe(
            "trust_header under [console] needs the origin at which browsers reach the proxy: name it with --origin, "
            "or in origins under [http]"
        )
    return origins


def _listen(options: ServerOptions) -> socket:
    """Open the server's socket. An address other than loopback requires credentials.

    Raises: CannotServe.
    """
    try:
        listening = bind(options.host, options.port)
    except CannotListen as problem:
        raise CannotServe(str(problem)) from None
    if not ip_address(listening.getsockname()[0]).is_loopback and not options.config.credentials:
        listening.close()
        raise CannotServe(
            f"refusing to listen on {options.host} without credentials: anyone who reaches the port could run "
            "workflows. Put access keys and secrets under [credentials] in statewright.toml, or listen on 127.0.0.1"
        )
    return listening


def _data_of(options: ServerOptions) -> Path | None:
    """The folder for files beside the store; None for a store in memory."""
    return None if options.store == "memory" else options.data


def _where(options: ServerOptions) -> str:
    if options.store == "memory":
        return "in memory"
    if "://" in options.store:
        # Without user and password.
        from statewright.stores.postgres.connection import place_of

        return place_of(options.store)
    return str(options.data)


def _open_store(options: ServerOptions) -> Store:
    if options.store == "memory":
        return MemoryStore()
    if "://" in options.store:
        return open_store(options.store, files=options.data, bucket=options.bucket)
    from statewright.stores.sqlite.store import SqliteStore

    return SqliteStore(options.data)


def _follow(system: System) -> None:
    """Log the status changes of a region's executions, and watch its inbox."""
    app = system.app
    whose = f" of the account {app.account}" if app.account else ""
    log.info("the region %s%s has a system of its own now", app.config.region, whose)
    system.engine.subscribe(log_status)
    system.engine.watch_inbox()
