"""The regions and accounts of a server: a system for each region that is called, over one store.

The region of a call's signature is a namespace: each region has its own system, with its own engine and services, over
its own rows of the store (`stores.regional`). The default region has its system from the start, and answers unsigned
calls. Another region gets one with its first call, and again at each start of the server, so that its executions,
timers and schedules go on. So do the regions of each account that an access key of the settings has: the default region
of an account starts before its others, which share its buckets and roles. Owns which regions there are and may be, and
their start and stop; what a system is made of belongs to `assembly.py`.
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
from statewright.stores.regional import RegionalStore, account_of, add_region, place_of, shards
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
    """The systems of all regions of an account; `account` is empty for the default one.

    The system of the default region of the default account is its owner's to start and stop. `allowed` are the regions
    that may be called; empty for all.
    """

    def __init__(
        self,
        default: str,
        allowed: Sequence[str],
        store: Store,
        make: Callable[[str, RegionalStore], T],
        account: str = "",
    ) -> None:
        self.default: Final = default
        self._account = account
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
        return [self.default, *sorted(self._running.keys() - {self.default})]

    def systems(self) -> list[T]:
        """The running systems, without that of the default region of the default account."""
        return list(self._running.values())

    def running(self, region: str) -> App | None:
        """The application of a region, if that has been called."""
        if region == self.default and self._default_app is not None:
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
        for place, shard in known.items():
            if shard != SHARD and account_of(place) == self._account:
                await self._started(place.rpartition("/")[2])

    async def stop(self) -> None:
        """Stop every system."""
        self._is_open = False
        await asyncio.gather(*self._starting.values(), return_exceptions=True)
        # The default region of another account, on whose parts its others rest, is the first.
        for name in reversed(list(self._running)):
            await self._running.pop(name).stop()

    async def _started(self, region: str) -> T:
        if not self._is_open:
            raise _not_ready()
        running = self._running.get(region)
        if running is not None:
            return running
        starting = self._starting.get(region)
        if starting is None:
            # Tasks and timers of a system belong to no call, so they do not inherit the context of the first one.
            context = self._context.copy()
            context.run(chance.apart, f"region {place_of(self._account, region)}", lambda: None)
            starting = asyncio.get_running_loop().create_task(self._start(region), context=context)
            self._starting[region] = starting
            starting.add_done_callback(lambda _: self._starting.pop(region, None))
        return await asyncio.shield(starting)

    async def _start(self, region: str) -> T:
        if self._account and region != self.default:
            await self._started(self.default)
        known = await shards(self._store)
        place = place_of(self._account, region)
        shard = known.get(place)
        if shard is None:
            if len(known) >= MOST_REGIONS:
                raise _refused(
                    f"not '{region}': this server has {MOST_REGIONS} regions already. Name those that it may have in "
                    "statewright.toml, under [server] regions."
                )
            shard = await add_region(self._store, place, self.default)
        system = self._make(region, RegionalStore(self._store, place, shard))
        await system.start()
        self._running[region] = system
        for follower in self._followers:
            follower(system)
        return system


class Accounts(Generic[T]):
    """The regions of accounts other than the default one, `default`; `make` makes those of an account."""

    def __init__(self, default: str, store: Store, make: Callable[[str], Regions[T]]) -> None:
        self._default = default
        self._store = store
        self._make = make
        self._regions: dict[str, Regions[T]] = {}
        self._followers: list[Callable[[T], None]] = []
        self._opening = asyncio.Lock()
        self._is_open = False

    def subscribe(self, follower: Callable[[T], None]) -> None:
        """Register a function that is given each system once it has started."""
        self._followers.append(follower)

    def systems(self) -> list[T]:
        """The running systems of all these accounts."""
        return [system for regions in self._regions.values() for system in regions.systems()]

    def apps(self) -> list[App]:
        """The applications of the running systems."""
        return [system.app for system in self.systems()]

    def running(self, account: str) -> App | None:
        """The application of an account's default region, if that has been called."""
        regions = self._regions.get(account)
        return None if regions is None else regions.running(regions.default)

    async def app_of(self, account: str) -> App:
        """The application of an account's default region, started with its first call. Raises: ApiError, StoreError."""
        regions = await self._opened(account)
        return await regions.app_of(regions.default)

    async def start(self) -> None:
        """Start the systems of all accounts that the store has rows of. Raises: StoreError."""
        accounts = sorted({account_of(place) for place in await shards(self._store)} - {""})
        if self._default in accounts:
            raise StoreError(
                f"this store has the account {self._default} beside its default one, so that cannot be its default "
                "account: set another `account` in statewright.toml"
            )
        self._is_open = True
        for account in accounts:
            await self._opened(account)

    async def stop(self) -> None:
        """Stop every system."""
        self._is_open = False
        for regions in self._regions.values():
            await regions.stop()

    async def _opened(self, account: str) -> Regions[T]:
        if not self._is_open:
            raise _not_ready()
        regions = self._regions.get(account)
        if regions is not None:
            return regions
        async with self._opening:
            if account not in self._regions:
                made = self._make(account)
                for follower in self._followers:
                    made.subscribe(follower)
                await made.start()
                self._regions[account] = made
        return self._regions[account]


def _not_ready() -> ApiError:
    return ApiError("ServiceUnavailable", "The server is starting or shutting down; try again.")


def _refused(why: str) -> ApiError:
    return ApiError("InvalidSignatureException", f"Credential should be scoped to a valid region, {why}", status=403)
