"""Assembly of a system: the parts of one process, wired to each other, on a given clock and store.

Owns the foundation of the services (the engine, integrations, deliveries, metrics), and the order of start and stop. A
server (`server.py`) adds real time and a socket; a virtual system adds time that jumps and no socket. The list of
services, and how each is built, belongs to the API: `api/services.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from statewright.api.building import Building, Ground, Loaded, Part
from statewright.api.calls.inner import InnerCalls
from statewright.api.calls.targets import TargetCalls
from statewright.api.cloudwatch.service import build_metrics
from statewright.api.operations import App, Around
from statewright.api.services import Services
from statewright.api.throttling import Throttle
from statewright.clock import Clock
from statewright.config import Config
from statewright.engine.dispatch import Integrations
from statewright.engine.effects import OnOffer
from statewright.engine.engine import Engine, EngineSettings
from statewright.engine.executions.history_log import OnHistory
from statewright.engine.machines.catalogue import MachineCatalogue
from statewright.engine.machines.programs import Refine
from statewright.events.deliveries import Deliveries
from statewright.events.delivery_records import POST
from statewright.integrations.registry import Registry
from statewright.metrics.recorder import Recorder
from statewright.stores.store import Store


@dataclass(frozen=True, slots=True)
class System:
    """Every part of a process but its store and its socket."""

    engine: Engine
    integrations: Registry
    deliveries: Deliveries
    posts: Deliveries
    calls: InnerCalls
    app: App

    async def start(self) -> None:
        """Recover the state from the store and start each part, callees before callers. If one fails, stop them all.

        Raises: StoreError.
        """
        begun: list[Part] = []
        try:
            await self.engine.catalogue.recover()
            for part in (self.deliveries, self.posts, *self.app.services.parts(calls_others=True)):
                if isinstance(part, Loaded):
                    await part.load()
            for part in self._parts():
                begun.append(part)
                await part.start()
            services = self.app.services
            services.make.run(begun)
            services.make.start(services.parts())
        except BaseException:
            for part in reversed(begun):
                # The last one may be only partly started.
                with contextlib.suppress(Exception):
                    await part.stop()
            await self.integrations.close()
            raise

    async def stop(self) -> None:
        """Release everything, callers first."""
        for part in reversed(self._parts()):
            await part.stop()
        await self.integrations.close()

    def _parts(self) -> list[Part]:
        """The running parts, in the order in which they start."""
        services = self.app.services
        called, callers = services.parts(calls_others=False), services.parts(calls_others=True)
        return [*called, self.engine, self.deliveries, self.posts, *callers]


@dataclass(frozen=True, slots=True)
class Hooks:
    """Additions to a system that is assembled for a test or a simulation; a server has none.

    `around` wraps the calls of operations. `around_tasks` is given the system's integrations, and returns those that
    the engine calls. `refine`, `on_history` and `on_offer` are the engine's.
    """

    around: Around | None = None
    around_tasks: Callable[[Integrations], Integrations] | None = None
    refine: Refine | None = None
    on_history: OnHistory | None = None
    on_offer: OnOffer | None = None


NO_HOOKS: Final = Hooks()


def assemble(
    config: Config,
    clock: Clock,
    store: Store,
    data: Path | None,
    endpoint: Callable[[], str],
    on_lost: Callable[[str], None] = lambda _: None,
    *,
    has_all_parts: bool = True,
    hooks: Hooks = NO_HOOKS,
) -> System:
    """Assemble a system on an open store; nothing runs before its `start`.

    `data` is the folder for files beside the store, None if everything is in memory; `endpoint` returns the address at
    which functions and jobs reach this process. `on_lost` is called with the reason once another process has the store,
    or the data folder was removed.

    Without `has_all_parts`, the parts of services are built and started when they are first used: only for an empty
    store in memory, because parts recover their stored state and continue their stored work when they start.
    `hooks` are those of a test or a simulation.
    """
    clock.pauses.scale = config.time_scale
    metrics = Recorder(clock, data / "metrics" if data is not None else None)
    calls = InnerCalls()
    integrations = Registry(config, clock, calls.of_tasks(), data, store.catalogue)
    catalogue = MachineCatalogue(store, clock, config, hooks.refine)
    settings = EngineSettings(limits=config.limits, data=data, on_history=hooks.on_history, on_offer=hooks.on_offer)
    engine = Engine(
        store,
        clock,
        catalogue,
        integrations if hooks.around_tasks is None else hooks.around_tasks(integrations),
        settings=settings,
        data=integrations.data,
        recorder=metrics,
        on_lost=on_lost,
    )
    engine.subscribe(integrations.status_changed)
    engine.subscribe_express(integrations.express_ended)
    integrations.connect(engine)
    target_calls = TargetCalls(calls, integrations.posts, integrations.send_to_destination)
    deliveries = Deliveries(store.catalogue, clock, target_calls, recorder=metrics)
    posts = Deliveries(store.catalogue, clock, target_calls, POST)
    ground = Ground(store, clock, config, data, endpoint, metrics, engine, integrations, deliveries, posts)
    services = Services(Building(ground))
    # Metrics are counted from the start, by the engine, too.
    services.make(build_metrics)
    if has_all_parts:
        services.build_all()
    rates = config.rates.of(config.region)
    throttle = Throttle(rates, clock, metrics) if rates else None
    app = App(engine, clock, config, services, integrations, throttle, hooks.around)
    calls.connect(app)
    return System(engine, integrations, deliveries, posts, calls, app)
