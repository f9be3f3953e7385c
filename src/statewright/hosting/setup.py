"""The steps of a server before it serves: isolation of handlers, privacy of its files, a look at its clock."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from statewright.api.status.prometheus import Sample
from statewright.background import Background
from statewright.config import NO_NAMESPACES_ON_RAY, Config
from statewright.files import data_folder
from statewright.functions.runtimes import confinement
from statewright.functions.workers import ray_link
from statewright.functions.workers.isolation import NAMESPACES, NONE, CannotIsolate, Isolation, isolation
from statewright.stores.ids import made_ms
from statewright.stores.store import Store

GARBAGE_THRESHOLDS: Final = (20_000, 50, 100)
"""With Python's own thresholds, one request in every few would scan all objects of 100,000 open iterations, although
hardly any of them is part of a cycle."""
MOST_BEHIND_MS: Final = 60_000
"""Allowed difference between the clocks of several machines."""

log = logging.getLogger("statewright.server")


@dataclass(slots=True)
class StoreCheck:
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


def isolate(config: Config) -> Isolation:
    """The level of isolation of handlers; makes this process unreadable to them. Raises: CannotIsolate, NoRay."""
    if "ray" in (config.functions.backend, config.jobs.backend):
        ray_link.check_installed(config.ray)
    if config.functions.backend == "ray":
        if config.functions.isolation == NAMESPACES:
            raise CannotIsolate(f'isolation cannot be namespaces with backend = "ray": {NO_NAMESPACES_ON_RAY}')
        confinement.hide_memory()
        return Isolation("ray")
    found = isolation(config.functions.isolation)
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


def close_data(data: Path | None) -> None:
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


def own_address(host: str, port: int) -> str:
    """The address at which processes of this machine reach the server."""
    address = ip_address(host)
    if address.is_unspecified:
        return f"http://127.0.0.1:{port}" if address.version == 4 else f"http://[::1]:{port}"
    return f"http://[{host}]:{port}" if address.version == 6 else f"http://{host}:{port}"


def compare_clocks(newest_id: int, now_ms: int) -> None:
    """Log a warning if the store was written in the future: its timers fall due only when the clock gets there."""
    behind_ms = made_ms(newest_id) - now_ms if newest_id else 0
    if behind_ms > MOST_BEHIND_MS:
        log.warning(
            "the system clock is %d minutes behind the newest execution in the store: it is wrong now, or was wrong "
            "when that execution started. Nothing is lost, but timers set then fall due that much later",
            round(behind_ms / 60_000),
        )


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """The maker of the event loop: the faster one, if it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop


def collect_garbage_rarely() -> None:
    """All objects built until now live as long as the process: the collector need not scan them again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)
