"""Parts of the system in virtual time over a store in memory: begun, let go, begun again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from statewright.stores.memory.store import MemoryStore
from statewright.virtual_clock import VirtualClock, run_virtual


class Rig(Protocol):
    """What is begun and let go."""

    clock: VirtualClock
    store: MemoryStore

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


R = TypeVar("R", bound=Rig)


async def started_again(rig: Rig, make: Callable[[VirtualClock, MemoryStore], R]) -> R:
    """Let go, and begin another one over the same store."""
    await rig.stop()
    other = make(rig.clock, rig.store)
    await other.start()
    return other


def run_rig(make: Callable[[VirtualClock, MemoryStore], R], test: Callable[[R], Awaitable[None]]) -> None:
    """Run a test in virtual time."""

    async def main(clock: VirtualClock) -> None:
        store = MemoryStore()
        await store.open("tests")
        rig = make(clock, store)
        await rig.start()
        try:
            await test(rig)
        finally:
            await rig.stop()

    run_virtual(main)
