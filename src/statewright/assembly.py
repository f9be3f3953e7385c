"""Assembly of a system: the parts of one process, wired to each other, on a given clock and store.

Owns the foundation of the services (the engine, integrations, deliveries, metrics), and the order of start and stop. A
server (`server.py`) adds real time and a socket; a virtual system adds time that jumps and no socket. The list of
services, and how each is built, belongs to the API: `api/services.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from statewright.api.building import Building, Ground, Loaded, Part
from statewright.api.calls.inner import InnerCalls
from statewright.api.calls.targets import TargetCalls
from statewright.api.cloudwatch.service import build_metrics
from statewright.api.operations import App, Around, Nodes
from statewright.api.s3.service import build_notices_by_region
from statewright.api.services import OF_ALL, SHARED, Services
from statewright.api.throttling import Processes, Throttle
from statewright.clock import Clock
from statewright.config import Config
from statewright.engine.dispatch import Integrations
from statewright.engine.effects import OnOffer
from statewright.engine.engine import Engine, EngineSettings
from statewright.engine.executions.history_log import OnHistory
from statewright.engine.executions.names import WriteEntries
from statewright.engine.machines.catalogue import MachineCatalogue
from statewright.engine.machines.programs import Refine
from statewright.errors import StoreError
from statewright.events.archives.records import Keeper
from statewright.events.deliveries import Deliveries
from statewright.events.delivery_records import POST
from statewright.files.data_folder import folder_of
from statewright.integrations.registry import Registry
from statewright.integrations.states_execution import LONGEST_PAUSE_MS
from statewright.metrics.archive import Minutes
from statewright.metrics.minute_files import METRICS, MinuteFiles
from statewright.metrics.minute_rows import MinuteRows
from statewright.metrics.recorder import MOST_SERIES, Recorder
from statewright.regions import Accounts, Regions
from statewright.stores.regional import RegionalStore
from statewright.stores.store import Store
from statewright.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from statewright.apis.integrations.aws import CallWire
    from statewright.functions.invoke import AroundInvocation


@dataclass(frozen=True, slots=True)
class System:
    """Every part of a process but its store and its socket."""

    engine: Engine
    integrations: Registry
    deliveries: Deliveries
    posts: Deliveries
    calls: InnerCalls
    app: App
    regions: Regions[System] | None = None
    """The systems of other regions, which start and stop with that of the default one; `None` in theirs."""
    accounts: Accounts[System] | None = None
    """Those of other accounts, likewise."""

    def all(self) -> list[System]:
        """The systems of all regions and accounts that run, this one first."""
        others = [one.systems() for one in (self.regions, self.accounts) if one is not None]
        return [self, *(system for systems in others for system in systems)]

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
            for others in (self.regions, self.accounts):
                if others is not None:
                    await others.start()
        except BaseException:
            await self._stop_others()
            for part in reversed(begun):
                # The last one may be only partly started.
                with contextlib.suppress(Exception):
                    await part.stop()
            await self.integrations.close()
            raise

    async def stop(self) -> None:
        """Release everything, callers first."""
        await self._stop_others()
        for part in reversed(self._parts()):
            await part.stop()
        await self.integrations.close()

    async def _stop_others(self) -> None:
        for others in (self.accounts, self.regions):
            if others is not None:
                await others.stop()

    def _parts(self) -> list[Part]:
        """The running parts, in the order in which they start."""
        services = self.app.services
        called, callers = services.parts(calls_others=False), services.parts(calls_others=True)
        return [*called, self.engine, self.deliveries, self.posts, *callers]


@dataclass(frozen=True, slots=True)
class Hooks:
    """Additions to a system that is assembled for a test, a simulation or a node of a cluster.

    `around` wraps the calls of operations. `around_tasks` is given the system's integrations, and returns those that
    the engine calls. `around_invocation` may run invocations of functions elsewhere. `refine`, `on_history` and
    `on_offer` are the engine's. `processes` is that of the throttles; `throttle` is in place of the one that the system
    of the default region would have.
    """

    around: Around | None = None
    around_tasks: Callable[[Integrations], Integrations] | None = None
    around_invocation: AroundInvocation | None = None
    refine: Refine | None = None
    on_history: OnHistory | None = None
    on_offer: OnOffer | None = None
    processes: Processes = lambda _: 1
    throttle: Throttle | None = None


NO_HOOKS: Final = Hooks()
NODES_PAUSE_MS: Final = 5_000
"""Between two looks of a task at the execution that it waits for, in a cluster."""


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
    nodes: Nodes | None = None,
) -> System:
    """Assemble a system on an open store; nothing runs before its `start`.

    `data` is the folder for files beside the store, None if everything is in memory; `endpoint` returns the address at
    which functions and jobs reach this process. `on_lost` is called with the reason once another process has the store,
    or the data folder was removed.

    Without `has_all_parts`, the parts of services are built and started when they are first used: only for an empty
    store in memory, because parts recover their stored state and continue their stored work when they start.
    `hooks` are those of a test or a simulation. `nodes` is the cluster whose home this is: its workers have the other
    cells of the store.
    """
    clock.pauses.scale = config.time_scale
    settings = partial(EngineSettings, others=nodes is not None)
    common = _Common(clock, endpoint, on_lost, has_all_parts, hooks, settings, nodes)

    def regions_of(account: str) -> Regions[System]:
        def other(region: str, rows: RegionalStore) -> System:
            own = replace(config, region=region)
            folder = folder_of(data, region, account) if data is not None else None
            if account:
                # The connections of the settings have passwords of the default account.
                own = replace(own, account=account, connections={})
            if data is not None:
                # Imported here: a first test imports no functions.
                from statewright.functions.node_sdk import node_sdk

                sdk = str(node_sdk(config, data).folder)
                own = replace(own, functions=replace(own.functions, node_modules=sdk))
            home = next((one for one in regions.systems() if one.app.config.region == config.region), system)
            made = common.system(own, rows, folder, regions, home, account)
            notices = system.app.services.make(build_notices_by_region)
            notices.add(account, region, made.app.services.object_notices, rows.catalogue)
            return made

        regions: Regions[System] = Regions(config.region, config.regions, store, other, account)
        return regions

    regions = regions_of("")
    accounts: Accounts[System] = Accounts(config.account, store, regions_of)
    system = replace(common.system(config, store, data, regions, accounts=accounts), regions=regions, accounts=accounts)
    regions.connect(system)
    return system


def assemble_worker(
    config: Config,
    clock: Clock,
    store: Store,
    data: Path,
    endpoint: Callable[[], str],
    hooks: Hooks,
    note: WriteEntries,
    nodes: Nodes,
    on_lost_cell: Callable[[int, str], None],
    ids_ms: Callable[[], int],
) -> System:
    """Assemble the system of a node's worker: an engine without cells at first, with the functions that its tasks
    call. Other parts are never started: `hooks` must lead calls of all else to the home.

    `store` is the worker's view of a store, on which it writes executions of its cells alone; `note` has the home write
    the few entries that it needs. `on_lost_cell` is called with the shard of a cell that another process has now, and
    the reason. `ids_ms` is the clock of the ids of cells.
    """
    settings = partial(EngineSettings, is_worker=True, note=note, ids_ms=ids_ms)
    common = _Common(clock, endpoint, lambda _: None, False, hooks, settings, nodes, on_lost_cell, keeps_minutes=False)
    return common.system(config, store, data, None)


@dataclass(frozen=True, slots=True)
class _Common:
    """The parts and settings that the systems of all regions share."""

    clock: Clock
    endpoint: Callable[[], str]
    on_lost: Callable[[str], None]
    has_all_parts: bool
    hooks: Hooks
    engine_settings: Callable[..., EngineSettings]
    nodes: Nodes | None = None
    on_lost_cell: Callable[[int, str], None] = lambda _shard, _reason: None
    keeps_minutes: bool = True
    """False for a worker: the home keeps its metrics."""

    def system(
        self,
        config: Config,
        store: Store,
        data: Path | None,
        regions: Regions[System] | None,
        home: System | None = None,
        account: str = "",
        accounts: Accounts[System] | None = None,
    ) -> System:
        """Assemble the system of one region of an account, which is empty for the default one.

        `home` is the system that has the parts in common with others: that of the account's default region, for that
        one of the default account. `None` makes this last one, which has the other `accounts`.
        """
        clock, hooks = self.clock, self.hooks
        metrics = Recorder(clock, _minutes(clock, store, data) if self.keeps_minutes else None)
        # Asking a virtual system for its address would open its port.
        calls = InnerCalls(None if isinstance(clock, VirtualClock) else self.endpoint)
        is_home = home is None or home.app.account != account
        volatile = None if is_home or home is None else home.integrations.volatile
        # A child may have been started at another node, or have moved there.
        pause_ms = LONGEST_PAUSE_MS if self.nodes is None else NODES_PAUSE_MS
        integrations = Registry(config, clock, calls.of_tasks(), data, store.catalogue, volatile, pause_ms)
        engine = self._engine(config, store, data, integrations, metrics)
        target_calls = TargetCalls(
            calls, integrations.posts, integrations.send_to_destination, Keeper(store.catalogue, clock).keep
        )
        deliveries = Deliveries(store.catalogue, clock, target_calls, recorder=metrics, shard=store.shard)
        posts = Deliveries(store.catalogue, clock, target_calls, POST, shard=store.shard)
        shared = home.app.services.part if home is not None else None
        ground = Ground(
            store,
            clock,
            config,
            data,
            self.endpoint,
            metrics,
            engine,
            integrations,
            deliveries,
            posts,
            calls.invoke,
            partial(_wire, calls),
            shared,
            account,
            hooks.around_invocation,
        )
        services = Services(Building(ground, OF_ALL if is_home else SHARED))
        # Metrics are counted from the start, by the engine, too.
        services.make(build_metrics)
        if self.has_all_parts:
            services.build_all()
        throttle = (hooks.throttle if home is None else None) or self._throttle(config, metrics)
        app = App(engine, clock, config, services, integrations, throttle, hooks.around, regions, account, accounts,
                  self.nodes)  # fmt: skip
        calls.connect(app)
        return System(engine, integrations, deliveries, posts, calls, app)

    def _throttle(self, config: Config, metrics: Recorder) -> Throttle | None:
        """Make the throttle of a region; `None` if nothing is limited there."""
        rates = config.rates.of(config.region)
        return Throttle(rates, self.clock, metrics, self.hooks.processes) if rates else None

    def _engine(
        self, config: Config, store: Store, data: Path | None, integrations: Registry, metrics: Recorder
    ) -> Engine:
        """Make the engine of a region, connected to its integrations."""
        clock, hooks = self.clock, self.hooks
        settings = self.engine_settings(
            limits=config.limits, data=data, on_history=hooks.on_history, on_offer=hooks.on_offer
        )
        catalogue = MachineCatalogue(store, clock, config, hooks.refine, is_worker=settings.is_worker)
        engine = Engine(
            store,
            clock,
            catalogue,
            integrations if hooks.around_tasks is None else hooks.around_tasks(integrations),
            settings=settings,
            data=integrations.data,
            recorder=metrics,
            on_lost=self.on_lost,
            on_lost_cell=self.on_lost_cell,
        )
        engine.subscribe(integrations.status_changed)
        engine.subscribe_express(integrations.express_ended)
        integrations.connect(engine)
        return engine


def _minutes(clock: Clock, store: Store, data: Path | None) -> Minutes | None:
    """The place that keeps minutes of metrics: in the store, if its data is elsewhere; None for memory alone."""
    folder = data / METRICS if data is not None else None
    if store.minutes is not None:
        return MinuteRows(store.minutes, clock, folder, most_names=MOST_SERIES)
    return MinuteFiles(folder, partial(_is_owned, store)) if folder is not None else None


def _is_owned(store: Store) -> bool:
    """True if this process may write files beside a store: it has the store for certain."""
    try:
        store.check_lease()
    except StoreError:
        return False
    return True


def _wire(calls: InnerCalls) -> CallWire:
    """The calls of integrations of APIs, which are loaded with the first API."""
    from statewright.api.calls.own_wire import WireCalls

    return WireCalls(calls)
