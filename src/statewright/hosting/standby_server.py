"""A server that may be a standby: from its start, through any number of waits, to its end."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable
from typing import Any

from statewright.api.standby import REFUSAL, NoPages, SwitchableApp
from statewright.api.status.health import STANDBY
from statewright.api.status.prometheus import Sample
from statewright.clock import RealClock
from statewright.errors import OwnershipLost, StoreError, Unavailable
from statewright.hosting.options import Ready
from statewright.hosting.process import Inside, Process, rehearse
from statewright.hosting.setup import collect_garbage_rarely
from statewright.hosting.standby import Demotion, LeaseWait, StoreState, Waiting, become_standby, reap
from statewright.hosting.status_log import left_unwritten
from statewright.stopping import StopDeadline
from statewright.stores.memory.store import MemoryStore

log = logging.getLogger("statewright.server")


class StandbyServer:
    """A process that is the standby until it takes over, and serves from then on."""

    def __init__(
        self,
        process: Process,
        on_ready: Callable[[Ready], None],
        on_standby: Callable[[Waiting], None],
        *,
        was_owner: bool,
    ) -> None:
        self._process = process
        self._on_ready = on_ready
        self._on_standby = on_standby
        self._inside: Inside | None = None
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
        await rehearse(self._rehearsal.system)
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
