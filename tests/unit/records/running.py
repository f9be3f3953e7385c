"""A small service on a store in memory and on virtual time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from statewright.stores.memory.store import MemoryStore
from statewright.virtual_clock import VirtualClock, run_virtual

DAY = 86_400_000
Story = Callable[[VirtualClock, MemoryStore], Awaitable[None]]


def on_store(story: Story) -> None:
    """Play a story on an empty store that is open."""

    async def main(clock: VirtualClock) -> None:
        store = MemoryStore()
        await store.open("test")
        await story(clock, store)
        await store.close()

    run_virtual(main)
