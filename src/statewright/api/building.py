"""How the parts of a system are built: each by a function of its service's folder, at its first mention.

Owns what all of them stand on (`Ground`), and that each part is built once, whoever names it first. Which parts there
are, and the order in which they start, is `services.py`'s; who puts a ground together is `assembly.py`.
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
        """Recover what the store holds."""

    async def stop(self) -> None:
        """Release everything in memory; the store has it."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What every part stands on.

    `data` is the folder beside the store, `None` where nothing lasts; `endpoint` gives this process's own address.
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
    """A system under construction. Calling it with the function that builds a part gives that part."""

    def __init__(self, ground: Ground) -> None:
        self.ground: Final = ground
        self._built: dict[Callable[[Building], object], object] = {}
        self._under_way: list[Callable[[Building], object]] = []

    def __call__(self, build: Callable[[Building], T]) -> T:
        """The part that a function builds; built now if nothing has asked for it before.

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
    """A field of `Services`: the part that a function builds.

    `calls_others` marks a part that calls others of its own accord: it starts after the engine, and stops before it.
    """
    part: T = field(metadata={BUILD: build, CALLS_OTHERS: calls_others})
    return part
