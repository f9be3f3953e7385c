"""The regions of a server: a system for each region that is called, over one store.

The region of a call's signature is a namespace: each region has its own system, with its own engine and services, over
its own rows of the store (`stores.regional`). The default region has its system from the start, and answers unsigned
calls. Another region gets one with its first call, and again at each start of the server, so that its executions,
timers and schedules go on. Owns which regions there are and may be, and their start and stop; what a system is made of
belongs to `assembly.py`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Final, Generic, Protocol, TypeVar

from statewright import chance
from statewright.api.operations import App
from statewright.errors import ApiError, StoreError
from statewright.stores.ids import SHARD
from statewright.stores.regional import RegionalStore, add_region, shards
from statewright.stores.store import Store

MOST_REGIONS: Final = 40
"""Regions that calls may begin: the service has fewer, and each has its own threads and workers here."""
_NAME: Final = re.compile(r"(?=.{1,32}$)[a-z0-9]+(-[a-z0-9]+)*")


class Running(Protocol):
    """The system of a region."""

    @property
    def app(self) -> App:
        """Its application."""

    async def start(self) -> None:
        """Recover the state from the store. Raises: StoreError."""

    async def stop(self) -> None:
        """Release everything."""


T = TypeVar("T", bound=Running)


class Regions(Generic[T]):
    """The systems of all regions; that of the default one is its owner's to start and stop.

    `allowed` are the regions that may be called; empty for all.
    """

    def __init__(
        self, default: str, allowed: Sequence[str], store: Store, make: Callable[[str, RegionalStore], T]
    ) -> None:
        self.default: Final = default
        self._allowed = frozenset(allowed)
        self._store = store
        self._make = make
        self._context = copy_context()
        self._running: dict[str, T] = {}
        self._starting: dict[str, asyncio.Task[T]] = {}
        self._followers: list[Callable[[T], None]] = []
        self._is_open = False
        self._default_app: App | None = None

    def connect(self, system: T) -> None:
        """Set the system of the default region, once it is assembled; it is started and stopped by its owner."""
        self._default_app = system.app

    def subscribe(self, follower: Callable[[T], None]) -> None:
        """Register a function that is given each system once it has started."""
        self._followers.append(follower)

    def names(self) -> list[str]:
        """The regions with a running system, the default one first."""
        return [self.default, *sorted(self._running)]

    def systems(self) -> list[T]:
        """The running systems of regions other than the default one."""
        return list(self._running.values())

    def running(self, region: str) -> App | None:
        """The application of a region, if that has been called."""
        if region == self.default:
            return self._default_app
        system = self._running.get(region)
        return None if system is None else system.app

    def check(self, region: str) -> None:
        """Refuse a region that the settings exclude, or that is no name of a region. Raises: ApiError."""
        if self._allowed and region not in self._allowed and region != self.default:
            named = ", ".join(sorted({self.default, *self._allowed}))
            raise _refused(f"not '{region[:100]}': the regions of this server are {named} ([server] regions).")
        if not _NAME.fullmatch(region):
            raise _refused(f"not '{region[:100]}': a region has a name such as us-east-1.")

    async def app_of(self, region: str) -> App:
        """The application of a region; its system is started with the first call. Raises: ApiError, StoreError."""
        running = self.running(region)
        if running is None:
            self.check(region)
            running = (await self._started(region)).app
        return running

    async def start(self) -> None:
        """Start the systems of all regions that the store has rows of. Raises: StoreError."""
        known = await shards(self._store)
        first = next((name for name, shard in known.items() if shard == SHARD), self.default)
        if first != self.default:
            raise StoreError(
                f"this store began with the region {first} and has others beside it, so its default region cannot be "
                f'{self.default}: set region = "{first}" in statewright.toml'
            )
        self._is_open = True
        for name, shard in known.items():
            if shard != SHARD:
                await self._started(name)

    async def stop(self) -> None:
        """Stop every system."""
        self._is_open = False
        await asyncio.gather(*self._starting.values(), return_exceptions=True)
        for name in list(self._running):
            await self._running.pop(name).stop()

    async def _started(self, region: str) -> T:
        if not self._is_open:
            raise ApiError("ServiceUnavailable", "The server is starting or shutting down; try again.")
        starting = self._starting.get(region)
        if starting is None:
            # Tasks and timers of a system belong to no call, so they do not inherit the context of the first one.
            context = self._context.copy()
            context.run(chance.apart, f"region {region}", lambda: None)
            starting = asyncio.get_running_loop().create_task(self._start(region), context=context)
            self._starting[region] = starting
            starting.add_done_callback(lambda _: self._starting.pop(region, None))
        return await asyncio.shield(starting)

    async def _start(self, region: str) -> T:
        known = await shards(self._store)
        shard = known.get(region)
        if shard is None:
            if len(known) >= MOST_REGIONS:
                raise _refused(
                    f"not '{region}': this server has {MOST_REGIONS} regions already. Name those that it may have in "
                    "statewright.toml, under [server] regions."
                )
            shard = await add_region(self._store, region, self.default)
        system = self._make(region, RegionalStore(self._store, region, shard))
        await system.start()
        self._running[region] = system
        for follower in self._followers:
            follower(system)
        return system


def _refused(why: str) -> ApiError:
    return ApiError("InvalidSignatureException", f"Credential should be scoped to a valid region, {why}", status=403)
