"""Construction of the parts of a system: each by a function of its service's folder, when it is first needed.

Owns what all parts are built on (`Ground`), and ensures that each part is built once. The list of parts and the order
in which they start belong to `services.py`; `assembly.py` creates the ground.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeVar, cast, runtime_checkable

if TYPE_CHECKING:
    from statewright.clock import Clock
    from statewright.config import Config
    from statewright.engine.engine import Engine
    from statewright.events.deliveries import Deliveries
    from statewright.integrations.registry import Registry
    from statewright.metrics.recorder import Recorder
    from statewright.stores.store import Store

T = TypeVar("T")
BUILD: Final = "build"
CALLS_OTHERS: Final = "calls others"


@runtime_checkable
class Part(Protocol):
    """A part that runs, from `start` to `stop`."""

    async def start(self) -> None:
        """Recover the part's state from the store."""

    async def stop(self) -> None:
        """Release everything in memory; the store keeps the state."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The foundation that every part is built on.

    `data` is the folder beside the store, `None` if nothing is durable; `endpoint` returns this process's own address.
    Calls of `posts` go to endpoints outside, which may be slow: schedules and rules do not wait for them.
    """

    store: Store
    clock: Clock
    config: Config
    data: Path | None
    endpoint: Callable[[], str]
    metrics: Recorder
    engine: Engine
    integrations: Registry
    deliveries: Deliveries
    posts: Deliveries


class Building:
    """A system under construction. Calling it with the function that builds a part returns that part."""

    def __init__(self, ground: Ground) -> None:
        self.ground: Final = ground
        self._built: dict[Callable[[Building], object], object] = {}
        self._under_way: list[Callable[[Building], object]] = []

    def __call__(self, build: Callable[[Building], T]) -> T:
        """The part that a function builds, built on the first call.

        Raises: RuntimeError for parts that need each other.
        """
        if build not in self._built:
            if build in self._under_way:
                names = " needs ".join(one.__qualname__ for one in (*self._under_way, build))
                raise RuntimeError(f"these parts need each other: {names}")
            self._under_way.append(build)
            self._built[build] = build(self)
            self._under_way.remove(build)
        return cast(T, self._built[build])


def built(build: Callable[[Building], T], *, calls_others: bool = False) -> T:
    """Declare a field of `Services`: the part that a function builds.

    `calls_others` marks a part that calls other parts on its own initiative: it starts after the engine, and stops
    before it.
    """
    part: T = field(metadata={BUILD: build, CALLS_OTHERS: calls_others})
    return part
