"""Work on the text of definitions, which leaves the event loop to others where the text is long.

Reading, validating and compiling a definition of 1 MB takes seconds. It is done in a thread: the work is Python, so
that the interpreter lock changes hands all the while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar, TypeVarTuple

from statewright.clock import Clock

SHORT_CHARACTERS: Final = 10_000
"""Definitions up to this length are worked on at once: some milliseconds. Ours."""

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


async def worked_on(clock: Clock, definition: str, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """The result of `work(*arguments)`, which reads a definition. Raises: what it raises."""
    if len(definition) <= SHORT_CHARACTERS:
        return work(*arguments)
    # Virtual time stands still meanwhile, as it does for work on the loop.
    with clock.busy():
        return await asyncio.to_thread(work, *arguments)
