"""What goes wrong around an engine: a store that fails, answers late or never, and has its owner die; a late clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any, Protocol

from statewright.clock import BusyToken, Timer
from statewright.errors import Unavailable
from statewright.stores.memory.store import MemoryStore
from statewright.virtual_clock import VirtualClock

FAULTY = frozenset({"commit", "load", "row", "find", "due", "pending", "put_inbox", "discard", "list_rows"})
FAULTY_CATALOGUE = frozenset({"get", "write"})


class World(Protocol):
    """What decides when something goes wrong."""

    random: Random
    calm: bool

    async def nap(self, most_ms: int) -> None:
        """Let some virtual time pass."""

    def step(self) -> None:
        """The engine is about to be told something by its store; this may be the moment at which it dies."""

    def committed(self) -> None:
        """A commit was written."""

    def written(self) -> None:
        """The catalogue was written."""


class HeldStore:
    """One engine's hold on the store. Once the engine is dead, nothing of it reaches the store any more."""

    def __init__(self, world: World, real: MemoryStore) -> None:
        self.alive = True
        self._real = real
        self.executions: Any = _Part(self, world, real.executions, FAULTY)
        self.catalogue: Any = _Part(self, world, real.catalogue, FAULTY_CATALOGUE)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class _Part:
    def __init__(self, hold: HeldStore, world: World, real: Any, faulty: frozenset[str]) -> None:
        self._hold = hold
        self._world = world
        self._real = real
        self._faulty = faulty

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._real, name)
        return self._disturbed(name, method) if name in self._faulty else method

    def _disturbed(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        world, hold = self._world, self._hold

        async def call(*args: Any, **options: Any) -> Any:
            if world.calm and hold.alive:
                return await method(*args, **options)
            await world.nap(3)
            await self._step()
            if world.random.random() < 0.03:
                raise Unavailable(f"{name} failed")
            answer = await method(*args, **options)
            if name == "commit":
                world.committed()
            elif name == "write":
                world.written()
            await self._step()
            if world.random.random() < 0.04:
                raise Unavailable(f"the answer to {name} was lost")
            await world.nap(2)
            await self._step()
            return answer

        return call

    async def _step(self) -> None:
        if self._hold.alive:
            self._world.step()
        if not self._hold.alive:
            # Dead: this never returns, and whoever killed the engine has cancelled what waits for it.
            await asyncio.get_running_loop().create_future()


class LateClock:
    """A clock whose callbacks come late now and then, as on a host that is busy or was suspended."""

    def __init__(self, clock: VirtualClock, world: World) -> None:
        self._clock = clock
        self._world = world
        self.pauses = clock.pauses

    def now_ms(self) -> int:
        return self._clock.now_ms()

    def held_back_ms(self) -> int:
        return self._clock.held_back_ms()

    def at_rest(self, order: int, callback: Callable[[], object]) -> None:
        self._clock.at_rest(order, callback)

    def call_at(self, due_ms: int, callback: Callable[[], object]) -> Timer:
        world = self._world
        if not world.calm and world.random.random() < 0.1:
            due_ms = max(due_ms, self.now_ms()) + world.random.choice((1, 20, 500, 3_000))
        return self._clock.call_at(due_ms, callback)

    async def sleep_until(self, due_ms: int) -> None:
        await self._clock.sleep_until(due_ms)

    def busy(self) -> BusyToken:
        return self._clock.busy()
