"""Construction of the parts of a system: each by a function of its service's folder, when it is first needed.

Owns what all parts are built on (`Ground`), that each part is built once, and the start of parts that are first used
while the system runs. The list of parts and the order in which they start belong to `services.py`; `assembly.py`
creates the ground, and has all parts built before the start if the store may hold entries of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Iterable
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeVar, cast, runtime_checkable

from statewright import chance

if TYPE_CHECKING:
    from statewright.apis.integrations.aws import CallWire
    from statewright.clock import Clock
    from statewright.config import Config
    from statewright.engine.engine import Engine
    from statewright.events.deliveries import Deliveries
    from statewright.functions.invoke import AroundInvocation
    from statewright.integrations.registry import Registry
    from statewright.metrics.recorder import Recorder
    from statewright.stacks.threads import Invoke
    from statewright.stores.store import Store

T = TypeVar("T")


@runtime_checkable
class Part(Protocol):
    """A part that runs, from `start` to `stop`."""

    async def start(self) -> None:
        """Recover the part's state from the store."""

    async def stop(self) -> None:
        """Release everything in memory; the store keeps the state."""


@runtime_checkable
class Loaded(Protocol):
    """A part that starts after the engine, and that tasks call: it is loaded before, because tasks continue at once."""

    async def load(self) -> None:
        """Read from the store what calls need; harmless when repeated."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The foundation that every part is built on.

    `data` is the folder beside the store, `None` if nothing is durable; `endpoint` returns this process's own address.
    Calls of `posts` go to endpoints outside, which may be slow: schedules and rules do not wait for them. `invoke` runs
    an operation of this process.
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
    invoke: Invoke
    wire: Callable[[], CallWire]
    default: Callable[[Build], object] | None = None
    """Returns a part of the default region, running, given the function that builds it; `None` there."""
    account: str = ""
    """The account, if it is not the default one."""
    around_invocation: AroundInvocation | None = None


class Building:
    """A system under construction. Calling it with the function that builds a part returns that part.

    Parts may be built while the system runs; `start` then starts them. A part is built and started in a context of its
    own: its draws derive from the seed and its name, and not from what was built before.
    """

    def __init__(self, ground: Ground, shared: Collection[Build] = ()) -> None:
        """`shared` are the functions of parts that other systems have in common: `Ground.default` builds them."""
        self.ground: Final = ground
        self._shared = shared
        self._context = copy_context()
        self._built: dict[Build, object] = {}
        self._under_way: list[Build] = []
        self._started: list[Part] | None = None

    def __call__(self, build: Callable[[Building], T]) -> T:
        """The part that a function builds, built on the first call.

        Raises: RuntimeError for parts that need each other.
        """
        if build not in self._built:
            if build in self._shared and self.ground.default is not None:
                return cast(T, self.ground.default(build))
            if build in self._under_way:
                names = " needs ".join(one.__qualname__ for one in (*self._under_way, build))
                raise RuntimeError(f"these parts need each other: {names}")
            self._under_way.append(build)
            self._built[build] = self._apart(build.__qualname__, lambda: build(self))
            self._under_way.remove(build)
        return cast(T, self._built[build])

    def found(self, build: Callable[[Building], T]) -> T | None:
        """The part that a function builds; `None` if it has not been built."""
        return cast("T | None", self._built.get(build))

    def run(self, started: Iterable[Part]) -> None:
        """Note that the system runs, with the parts that have been started."""
        self._started = list(started)

    def start(self, parts: Iterable[Part]) -> None:
        """If the system runs, start those of its parts that do not run yet, in the given order.

        A part is first used in the midst of an operation, which does not wait. Its start need not wait either: only a
        system without stored state, with a store in memory, builds parts while it runs.

        Raises: RuntimeError for a start that waits.
        """
        if self._started is None:
            return
        for part in parts:
            if not any(one is part for one in self._started):
                name = type(part).__qualname__
                self._apart(f"start of {name}", lambda: _run_through(part.start, name))  # noqa: B023
                self._started.append(part)

    def _apart(self, name: str, work: Callable[[], T]) -> T:
        """Do work in the context of the system, with draws of its own."""
        return self._context.copy().run(chance.apart, name, work)


Build = Callable[[Building], object]
"""A function that builds a part."""


def _run_through(start: Callable[[], Coroutine[object, None, None]], name: str) -> None:
    """Run the start of a part to its end, in one go: a store in memory lets other tasks run, but waits for nothing.

    Raises: RuntimeError if the start waits.
    """
    starting = start()
    try:
        while starting.send(None) is None:
            pass
    except StopIteration:
        return
    starting.close()
    raise RuntimeError(f"{name} waits for something when it starts, so it must be built before the system starts")
