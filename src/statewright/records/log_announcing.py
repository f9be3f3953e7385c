"""How a thread that writes to a log group announces to the event loop that the group has new events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from statewright.clock import Clock


def announcement(clock: Clock, written: Callable[[], None]) -> Callable[[], None]:
    """A function for a thread to call once it has written, after which `written` runs on the event loop.

    Virtual time stands still until then.
    """
    busy, loop = clock.busy(), asyncio.get_running_loop()
    busy.__enter__()

    def arrived() -> None:
        written()
        busy.__exit__(None, None, None)

    def announce() -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(arrived)

    return announce
