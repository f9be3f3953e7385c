"""The server: the one place that wires concrete stores, clocks, engines and the API together, and runs them.

Owns start, ready line, drain and end of a server process. Options of the command line become `ServerOptions` in
`cli/serving/serve.py`.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import resource
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from socket import socket
from typing import Final

from statewright.api import operations
from statewright.api.app import Api
from statewright.api.http.connections import ConnectionTimeouts
from statewright.api.http.listening import CannotListen, Listener, bind, listener
from statewright.api.prometheus import Sample, published
from statewright.assembly import NO_HOOKS, Hooks, System, assemble
from statewright.background import Background
from statewright.clock import RealClock
from statewright.config import DEFAULT_PORT, Config
from statewright.console.console import PATH as CONSOLE_PATH
from statewright.console.console import ConsoleApp
from statewright.console.project import ProjectBoard
from statewright.engine.engine import Engine
from statewright.engine.executions.views import StatusChange
from statewright.errors import InUse, Unavailable
from statewright.files import data_folder
from statewright.functions.runtimes import confinement
from statewright.functions.workers.isolation import NONE, CannotIsolate, Isolation, isolation
from statewright.stopping import StopDeadline
from statewright.stores import fail_points
from statewright.stores.ids import made_ms
from statewright.stores.memory.store import MemoryStore
from statewright.stores.opening import open_store
from statewright.stores.protocol import STATUSES
from statewright.stores.store import Store

GARBAGE_THRESHOLDS: Final = (20_000, 50, 100)
"""With Python's own thresholds, one request in every few would scan all objects of 100,000 open iterations, although
hardly any of them is part of a cycle."""
SWITCH_INTERVAL_SECONDS: Final = 0.0001
"""A busy event loop would otherwise starve the store's writer thread."""
OPEN_BODY_BYTES: Final = 256 * 1024 * 1024
"""Longest request when the limits on payloads are lifted."""
MOST_BEHIND_MS: Final = 60_000
"""Allowed difference between the clocks of several machines."""
MOST_NAMED: Final = 3
"""Executions that a stop which was given up names."""
DATA_FOLDER: Final = ".statewright"
STORES: Final = ("sqlite", "memory")
STANDBY_PAUSE_MS: Final = 1_000
"""Between two attempts of a standby to open the store."""

log = logging.getLogger("statewright.server")
lifecycle = logging.getLogger("statewright.executions")


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
    standby: bool = False
    """Wait while another server has the store, and take over when that one ends."""
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


@dataclass(slots=True)
class _StoreCheck:
    """The reading through of the store after the start. `state` is `unchecked`, `sound` or `damaged`."""

    state: str = "unchecked"
    _background: Background = field(default_factory=lambda: Background("the check of the store"))

    def begin(self, store: Store, place: str) -> None:
        """Check a store, which ends the check when it is closed."""
        self._background.spawn(self._run(store, place))

    async def _run(self, store: Store, place: str) -> None:
        began = time.monotonic()
        fault = await store.examine()
        if fault is not None:
            self.state = "damaged"
            log.error("the store %s is damaged (%s): stop the server and restore a backup", place, fault)
        else:
            self.state = "sound"
            log.debug("the store %s was read through in %.1f s: no damage", place, time.monotonic() - began)

    def sample(self) -> Sample:
        """The figure for `/metrics`."""
        words = "1 if the store was found damaged after the start."
        return Sample("statewright_store_damaged", "gauge", words, self.state == "damaged", {"check": self.state})


def serve(options: ServerOptions, on_ready: Callable[[Ready], None]) -> None:
    """Serve until SIGTERM or SIGINT; `on_ready` is called once the port answers.

    Raises: CannotServe; also when the store is lost to another process, or the data folder removed.
    """
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    data_folder.keep_private()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(options, on_ready))


async def _serve(options: ServerOptions, on_ready: Callable[[Ready], None]) -> None:
    origins = _origins_of(options)
    operations.load_all()
    isolation = await asyncio.to_thread(_isolate, options.config)
    store, listening = await _take_store(options)
    host, port = listening.getsockname()[:2]
    loss = _Loss()
    system = assemble(
        options.config, RealClock(), store, _data_of(options), lambda: _own_address(host, port), loss,
        hooks=options.hooks,
    )  # fmt: skip
    engine = system.engine
    engine.subscribe(_log_status)
    for others in (system.regions, system.accounts):
        if others is not None:
            others.subscribe(_follow)
    if options.config.time_scale != 1:
        log.warning("waits, back-offs and delays take %g times their stated duration", options.config.time_scale)
    body_bytes = None if options.config.limits.payload_bytes is not None else OPEN_BODY_BYTES
    check = _StoreCheck()
    api = Api(
        system.app, origins, body_bytes, lambda: _samples(system, listens, check.sample()),
        lambda: check.state, lambda: system.app.integrations.volatile.played,
        ConsoleApp(system.app, origins, _where(options), options.project),
    )  # fmt: skip
    deadline = StopDeadline(options.timeouts.stop_seconds, lambda: _left_unwritten(engine))
    listens = listener(api, lambda: on_ready(ready), options.timeouts, deadline.begin)
    try:
        if options.prepare is not None:
            await options.prepare(system)
        await system.start()
    except BaseException:
        listening.close()
        await store.close()
        raise
    engine.inbox.watch()
    _compare_clocks(await store.newest_id(engine.shard.number), engine.clock.now_ms())
    shown_host = f"[{host}]" if ":" in host else host
    ready = Ready(f"http://{shown_host}:{port}", _where(options), os.getpid(), isolation.level)
    # All objects built until now live as long as the process: the collector need not scan them again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    check.begin(store, ready.place)
    listens.watch.start()
    try:
        await listens.serve(sockets=[listening])
    finally:
        deadline.begin()
        listens.watch.stop()
        await system.stop()
        fail_points.passed(fail_points.BEFORE_CLOSE)
        await store.close()
        deadline.met()
        log.info("stopped")
    if loss.reason is not None:
        raise CannotServe(f"stopped, because {loss.reason}")


def _origins_of(options: ServerOptions) -> frozenset[str]:
    """The origins of web pages that may call. Raises: CannotServe."""
    origins = options.origins | options.config.http.origins
    if options.config.console.trust_header and not origins:
        raise CannotServe(
            "trust_header under [console] needs the origin at which browsers reach the proxy: name it with --origin, "
            "or in origins under [http]"
        )
    return origins


async def _take_store(options: ServerOptions) -> tuple[Store, socket]:
    """Open the store, and the server's socket. Raises: StoreError, CannotServe."""
    listening = _listen(options)
    _close_data(_data_of(options))
    store = _open_store(options)
    try:
        if options.standby:
            # Its port answers once it has the store; mistakes in its options have ended it by now.
            listening.close()
            await _wait_for_store(store)
            listening = _listen(options)
        else:
            await store.open(f"pid {os.getpid()}")
    except BaseException:
        await store.close()
        listening.close()
        raise
    return store, listening


async def _wait_for_store(store: Store) -> None:
    """Open the store once no other server has it. Raises: StoreError."""
    clock = RealClock()
    is_waiting = False
    while True:
        try:
            await store.open(f"pid {os.getpid()}")
        except Unavailable as problem:
            # A standby outlives a database that is restarted, or replaced by its own standby.
            if not (is_waiting or isinstance(problem, InUse)):
                raise
            if not is_waiting:
                log.info("standby: %s; this server takes over when that one ends", problem)
            is_waiting = True
            await clock.sleep_until(clock.now_ms() + STANDBY_PAUSE_MS)
        else:
            return


def _isolate(config: Config) -> Isolation:
    """The level of isolation of handlers; makes this process unreadable to them. Raises: CannotServe."""
    try:
        found = isolation(config.functions.isolation)
    except CannotIsolate as problem:
        raise CannotServe(str(problem)) from None
    if found.level != NONE:
        confinement.hide_memory()
    if found.reason:
        log.info("handlers run at the isolation %s: %s", found.level, found.reason)
    if os.geteuid() == 0:
        log.warning(
            "the server runs as root: a handler that breaks out of its isolation owns the machine. Run it as a user "
            "of its own"
        )
    return found


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


def _close_data(data: Path | None) -> None:
    """Close a data folder that other users can reach, and log it; its faults are the store's to report."""
    if data is None:
        return
    try:
        was, still = data_folder.close_to_others(data)
    except OSError:
        return
    if was.closable and not still.paths:
        log.warning(
            "the data folder %s was open to other users of this machine; it is closed now. They may have read "
            "payloads and secrets in it", data,
        )  # fmt: skip
    for path in still.paths:
        log.warning(
            "%s is open to other users of this machine and cannot be closed: move the data to a folder that only the "
            "server's user can reach (--data), on a file system with permissions", path,
        )  # fmt: skip


def _own_address(host: str, port: int) -> str:
    """The address at which processes of this machine reach the server."""
    address = ip_address(host)
    if address.is_unspecified:
        return f"http://127.0.0.1:{port}" if address.version == 4 else f"http://[::1]:{port}"
    return f"http://[{host}]:{port}" if address.version == 6 else f"http://{host}:{port}"


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
        return open_store(options.store, files=options.data)
    from statewright.stores.sqlite.store import SqliteStore

    return SqliteStore(options.data)


def _left_unwritten(engine: Engine) -> str:
    """Describe what a stop leaves undone at its deadline, for its log line."""
    names = engine.runner.unfinished()
    if not names:
        return "the store is not closed"
    shown = ", ".join(names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
    return f"the store does not take the last steps of {len(names)} executions ({shown})"


def _compare_clocks(newest_id: int, now_ms: int) -> None:
    """Log a warning if the store was written in the future: its timers fall due only when the clock gets there."""
    behind_ms = made_ms(newest_id) - now_ms if newest_id else 0
    if behind_ms > MOST_BEHIND_MS:
        log.warning(
            "the system clock is %d minutes behind the newest execution in the store: it is wrong now, or was wrong "
            "when that execution started. Nothing is lost, but timers set then fall due that much later",
            round(behind_ms / 60_000),
        )


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop


def _follow(system: System) -> None:
    """Log the status changes of a region's executions, and watch its inbox."""
    app = system.app
    whose = f" of the account {app.account}" if app.account else ""
    log.info("the region %s%s has a system of its own now", app.config.region, whose)
    system.engine.subscribe(_log_status)
    system.engine.inbox.watch()


def _log_status(change: StatusChange) -> None:
    """Log one line for each change of an execution's status, never with a payload."""
    if lifecycle.isEnabledFor(logging.DEBUG):
        view = change.view
        lifecycle.debug(
            "%s", view.status, extra={"execution_arn": view.execution_arn, "status": view.status, "error": view.error}
        )


async def _samples(system: System, listens: Listener, *more: Sample) -> Iterable[Sample]:
    """The figures for `/metrics`: those of each region and account that runs, then those of the process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    groups = system.engine.store.figures()
    connections = listens.server_state
    of_places = [sample for one in system.all() for sample in await _samples_of(one)]
    return [
        *of_places,
        Sample("statewright_store_groups_total", "counter", "Groups of writes that were committed.", groups.groups),
        Sample("statewright_store_jobs_total", "counter", "Writes in these groups.", groups.jobs),
        Sample("statewright_store_seconds_total", "counter", "Time that these groups took.", groups.seconds_total),
        Sample("statewright_store_seconds_most", "gauge", "Time that the slowest group took.", groups.seconds_most),
        Sample("statewright_loop_lag_seconds", "gauge", "How late the event loop was.", listens.lag_seconds),
        Sample("statewright_loop_lag_seconds_most", "gauge", "How late it was at most.", listens.most_lag_seconds),
        Sample("statewright_loop_held_up_total", "counter", "Lags of half a second or more.", listens.watch.lags),
        Sample("statewright_connections", "gauge", "Open connections.", len(connections.connections)),
        Sample("statewright_connections_most", "gauge", "How many may be open.", connections.most),
        Sample("statewright_connections_cut_total", "counter", "Connections given up as too slow.", connections.cut),
        Sample("process_cpu_seconds_total", "counter", "CPU time.", used.ru_utime + used.ru_stime),
        Sample("process_resident_memory_bytes", "gauge", "Resident memory.", _resident_bytes()),
        *more,
    ]


async def _samples_of(system: System) -> Iterable[Sample]:
    """The figures of one region of an account; those of the default one have no labels for that."""
    app, engine = system.app, system.engine
    found = await engine.metrics()
    by_status = found.pop("executions_by_status")
    closed = found.pop("executions_closed")
    said = "Executions in each status."
    samples = [
        Sample("statewright_executions_closed_total", "counter", "Executions closed.", count, {"status": status})
        for status, count in closed.items()
    ]
    heavy, words = (
        engine.heavy.steps + engine.heavy.errands,
        "Steps and errands with expressions too heavy for the loop.",
    )
    samples.append(Sample("statewright_heavy_steps_total", "counter", words, heavy))
    samples += published(app.services.metrics)
    is_default = system.regions is not None
    for name, value in found.items():
        # The store counts open executions of all places together.
        if is_default or name not in ("executions_open", "map_runs_open"):
            words = f"The engine's {name.replace('_', ' ')}, since the start."
            samples.append(Sample(f"statewright_{name}", "gauge", words, value))
    if is_default:
        of_all = [Sample("statewright_executions", "gauge", said, by_status[one], {"status": one}) for one in STATUSES]
        return of_all + samples
    place = {"region": app.config.region} | ({"account": app.account} if app.account else {})
    return [replace(sample, labels={**place, **sample.labels}) for sample in samples]


def _resident_bytes() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return pages * os.sysconf("SC_PAGE_SIZE")
