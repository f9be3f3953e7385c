"""The nodes of a cluster as calls between them need them: which one has the home, and which one has a cell.

`hosting` implements `Directory` from the rows of leases. An answer may be out of date at any time; the node that is
asked says so (`moved`), and the caller looks again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from statewright.clock import Clock
from statewright.errors import ApiError, StoreError

OWNER_MS: Final = 8_000
"""How long a call waits for an owner: longer than a lease and an adoption take."""
LOOK_SECONDS: Final = 0.5
"""Longest wait for a change of the directory before it is asked again."""
NO_OWNER: Final = "No node has what this call needs at present; try again."

log = logging.getLogger("statewright.nodes")


@dataclass(frozen=True, slots=True)
class Peer:
    """A node. `address` is where it listens, `http://host:port`; `epoch` grows with each owner of what it was asked
    for.
    """

    name: str
    address: str
    epoch: int


class Directory(Protocol):
    """Which node has what. Only `refresh` and `wait_for_change` wait."""

    def home(self) -> Peer | None:
        """The node that has the home; `None` if none has it at present."""

    def is_home(self) -> bool:
        """True if this process has the home."""

    def owner_of(self, shard: int) -> Peer | None:
        """The node that has a cell, by its shard; `None` if none has it at present."""

    def owners(self) -> Sequence[tuple[int, Peer]]:
        """The cells that a node has, this one included: their shards, without the home's, and the nodes."""

    def has(self, shard: int) -> bool:
        """True if the worker of this process has a cell."""

    def has_any(self) -> bool:
        """True if the worker of this process has any cell, so that executions can start there."""

    async def wait_for_change(self, timeout_seconds: float) -> None:
        """Return once something has changed, or after this time."""

    async def refresh(self) -> None:
        """Read the rows again. Raises: StoreError."""


class NoOwner(ApiError):
    """The answer to a call for which no owner was found in time."""

    def __init__(self) -> None:
        super().__init__("ServiceUnavailable", NO_OWNER, status=503)


Find = Callable[[Directory], Peer | None]


async def owner(directory: Directory, find: Find, clock: Clock, due_ms: int) -> Peer:
    """The owner of something, waiting for one until an instant. Raises: NoOwner."""
    found = find(directory)
    while found is None:
        left_ms = due_ms - clock.now_ms()
        if left_ms <= 0:
            raise NoOwner
        await directory.wait_for_change(min(left_ms / 1000, LOOK_SECONDS))
        found = find(directory)
    return found


async def look_again(directory: Directory) -> None:
    """Read the rows of nodes again, as far as the store answers: a caller waits, and looks once more."""
    try:
        await directory.refresh()
    except StoreError as problem:
        log.debug("the rows of nodes cannot be read: %s", problem)


def find_home(directory: Directory) -> Peer | None:
    """Find the home."""
    return directory.home()


def find_cell(shard: int) -> Find:
    """Make the function that finds the owner of a cell."""

    def find(directory: Directory) -> Peer | None:
        return directory.owner_of(shard)

    return find


@contextmanager
def time_limit(clock: Clock, timeout_ms: int) -> Iterator[None]:
    """Cancel the block after some time by a clock. Raises: TimeoutError."""
    task = asyncio.current_task()
    assert task is not None, "time limits are for tasks"
    is_over = False

    def end() -> None:
        nonlocal is_over
        is_over = True
        task.cancel()

    timer = clock.call_at(clock.now_ms() + timeout_ms, end)
    try:
        yield
    except asyncio.CancelledError:
        # Others may have cancelled the task, too: they come first.
        if not is_over or task.uncancel() > 0:
            raise
        raise TimeoutError from None
    finally:
        timer.cancel()
