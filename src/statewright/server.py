"""The server: starts a process that serves alone, as a standby or as a node of a cluster, and ends it.

Options of the command line become `ServerOptions` in `cli/serving/serve.py`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from socket import socket
from typing import Final

from statewright.api import operations
from statewright.api.http.listening import CannotListen, bind
from statewright.files import data_folder
from statewright.functions.workers.isolation import CannotIsolate
from statewright.functions.workers.ray_link import NoRay
from statewright.hosting.options import CannotServe, Ready, ServerOptions
from statewright.hosting.process import Process, data_of, open_store_of
from statewright.hosting.setup import close_data, collect_garbage_rarely, isolate, loop_factory
from statewright.hosting.standby import Waiting, received_port
from statewright.hosting.standby_server import StandbyServer
from statewright.hosting.status_log import left_unwritten
from statewright.log_export.settings import CannotExport, destination_of
from statewright.stopping import StopDeadline
from statewright.stores.opening import NO_BUCKET

SWITCH_INTERVAL_SECONDS: Final = 0.0001
"""A busy event loop would otherwise starve the store's writer thread."""

log = logging.getLogger("statewright.server")


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
    if options.node is not None and "://" not in options.store:
        raise CannotServe("--node needs a store that several servers share: --store postgresql://...")
    if options.node is not None and options.standby:
        raise CannotServe("--standby is of no use with --node: when a node ends, the others take over what it had")
    if options.bucket is not None and "://" not in options.store:
        raise CannotServe(NO_BUCKET)
    origins = _origins_of(options)
    operations.load_all()
    try:
        destination_of(options.config.logs, os.environ)
        isolation = await asyncio.to_thread(isolate, options.config)
    except (CannotExport, CannotIsolate, NoRay) as problem:
        raise CannotServe(str(problem)) from None
    handed = received_port() if options.standby or options.node is not None else None
    listening = handed or _listen(options)
    close_data(data_of(options))
    process = Process(options, origins, isolation.level, listening, open_store_of(options))
    if options.node is not None:
        # Imported here: it needs the driver of PostgreSQL.
        from statewright.hosting.nodes.node_server import NodeServer

        await NodeServer(process, options.node, on_ready).run()
    elif options.standby:
        await StandbyServer(process, on_ready, on_standby, was_owner=handed is not None).run()
    else:
        await _serve_alone(process, on_ready)


async def _serve_alone(process: Process, on_ready: Callable[[Ready], None]) -> None:
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
