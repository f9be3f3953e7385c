"""A server process: its port, its place of files, its store, and the system that runs while it owns the store."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from typing import Final

from statewright.api.app import Api
from statewright.api.ecs.service import found_ray
from statewright.api.http.listening import Listener, listener
from statewright.api.operations import Nodes
from statewright.api.standby import Application
from statewright.api.status.prometheus import Sample
from statewright.assembly import Hooks, System, assemble
from statewright.clock import RealClock
from statewright.console.console import ConsoleApp
from statewright.hosting.figures import samples
from statewright.hosting.options import Ready, ServerOptions
from statewright.hosting.setup import StoreCheck, collect_garbage_rarely, compare_clocks, own_address
from statewright.hosting.shared_folder import SharedFolder
from statewright.hosting.status_log import log_status
from statewright.stores import fail_points
from statewright.stores.memory.store import MemoryStore
from statewright.stores.opening import open_store
from statewright.stores.store import Store

OPEN_BODY_BYTES: Final = 256 * 1024 * 1024
"""Longest request when the limits on payloads are lifted."""

log = logging.getLogger("statewright.server")


@dataclass(slots=True)
class Inside:
    """The parts of a process that exist only while it owns the store."""

    system: System
    api: Api
    check: StoreCheck


class Process:
    """The parts of a process from its start to its end: its port, its place of files, and a store to open."""

    def __init__(
        self, options: ServerOptions, origins: frozenset[str], isolation: str, listening: socket, store: Store
    ) -> None:
        self.options = options
        self.listening = listening
        self.store = store
        self.place = where_of(options)
        host, port = listening.getsockname()[:2]
        self.endpoint = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        self.own_address: Final = own_address(host, port)
        """The address at which processes of this machine reach it."""
        self.origins: Final = origins
        self._isolation = isolation
        self._listens: Listener | None = None
        data = data_of(options)
        is_shared = data is not None and "://" in options.store
        self._folder = SharedFolder(data, RealClock()) if data is not None and is_shared else None

    def ready(self) -> Ready:
        """Report that it serves."""
        node = self.options.node
        return Ready(self.endpoint, self.place, os.getpid(), self._isolation, node.name if node is not None else None)

    def listen(self, api: Application, on_open: Callable[[], None], on_stop: Callable[[], None]) -> Listener:
        """Make the server of the port, which runs from then on."""
        self._listens = listener(api, on_open, self.options.timeouts, on_stop)
        return self._listens

    def assemble(
        self,
        on_lost: Callable[[str], None],
        store: Store | None = None,
        *,
        hooks: Hooks | None = None,
        nodes: Nodes | None = None,
    ) -> Inside:
        """Assemble the system and its API on the store, or on another one to try it; see `assembly.assemble`."""
        options = self.options
        data = data_of(options) if store is None else None
        system = assemble(
            options.config, RealClock(), store or self.store, data, lambda: self.own_address, on_lost,
            hooks=hooks or options.hooks, nodes=nodes,
        )  # fmt: skip
        check = StoreCheck()
        api = Api(
            system.app, self.origins, self.body_bytes, lambda: self.samples_of(system, check.sample()),
            lambda: check.state, lambda: system.app.integrations.volatile.played,
            ConsoleApp(system.app, self.origins, self.place, options.project), bucket_state=self.bucket_state(),
        )  # fmt: skip
        return Inside(system, api, check)

    @property
    def body_bytes(self) -> int | None:
        """Longest request, if the limits on payloads are lifted."""
        return None if self.options.config.limits.payload_bytes is not None else OPEN_BODY_BYTES

    async def samples_of(self, system: System, *more: Sample) -> Iterable[Sample]:
        """The figures for `/metrics`."""
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

    async def start(self, inside: Inside) -> None:
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
        ray = found_ray(system.app.services.make)
        if ray is not None:
            ray.start()
        engine.watch_inbox()
        compare_clocks(await self.store.newest_id(engine.store.shard), engine.clock.now_ms())

    async def stop(self, inside: Inside | None) -> None:
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


async def rehearse(system: System) -> None:
    """Start a system once in memory, so that everything is imported by the time that there is a store."""
    await system.engine.store.open("rehearsal")
    await system.start()
    await system.stop()
    collect_garbage_rarely()


def data_of(options: ServerOptions) -> Path | None:
    """The folder for files beside the store; None for a store in memory."""
    return None if options.store == "memory" else options.data


def where_of(options: ServerOptions) -> str:
    """The place of a server's state, as messages show it."""
    if options.store == "memory":
        return "in memory"
    if "://" in options.store:
        # Without user and password.
        from statewright.stores.postgres.connection import place_of

        return place_of(options.store)
    return str(options.data)


def open_store_of(options: ServerOptions) -> Store:
    """The store of a server, not opened yet. Raises: StoreError."""
    if options.store == "memory":
        return MemoryStore()
    if "://" in options.store:
        is_node = options.node is not None
        return open_store(options.store, files=options.data, bucket=options.bucket, of_node=is_node)
    from statewright.stores.sqlite.store import SqliteStore

    return SqliteStore(options.data)


def _follow(system: System) -> None:
    """Log the status changes of a region's executions, and watch its inbox."""
    app = system.app
    whose = f" of the account {app.account}" if app.account else ""
    log.info("the region %s%s has a system of its own now", app.config.region, whose)
    system.engine.subscribe(log_status)
    system.engine.watch_inbox()
