"""How a whole system is put together: the services of one process, wired to each other, on a given clock and store.

Owns which parts there are, who calls whom, and the order in which they start and stop. A server (`server.py`) gives it
real time and a socket; a virtual system gives it time that jumps and no socket. A new service adds its line to
`_services`, or to `_callers` if it calls others by name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from statewright.api import inner_calls, operations, target_calls
from statewright.api.forwarding import Forwarding
from statewright.api.own.service import SERVICE as STATEWRIGHT
from statewright.api.services import SERVICES
from statewright.api.states.service import SERVICE as STATES
from statewright.api.throttling import Throttle
from statewright.clock import Clock
from statewright.config import Config
from statewright.engine.engine import Engine, EngineSettings
from statewright.engine.machines.catalogue import MachineCatalogue
from statewright.errors import ApiError
from statewright.events.buses import Buses
from statewright.events.deliveries import POST, Deliveries
from statewright.events.object_notices import ObjectNotices
from statewright.events.scheduler import Scheduler
from statewright.functions.event_sources.mappings import EventSources
from statewright.functions.functions import Functions
from statewright.integrations.registry import Registry
from statewright.jobs.jobs import Jobs
from statewright.metrics.recorder import Recorder
from statewright.objects.lifecycle import Lifecycles
from statewright.objects.objects import Objects
from statewright.queues.queues import Queues
from statewright.records.dashboards import Dashboards
from statewright.records.identities import Identities
from statewright.records.log_groups import LogGroups
from statewright.records.log_reading import Extents
from statewright.records.parameters import Parameters
from statewright.records.secrets import Secrets
from statewright.records.sessions import Sessions
from statewright.stores.store import Store
from statewright.tables.tables import Tables
from statewright.topics.messages import read_message
from statewright.topics.topics import Topics


class Part(Protocol):
    """A service of the system."""

    async def start(self) -> None:
        """Take up what the store holds."""

    async def stop(self) -> None:
        """Let go of everything in memory; the store has it."""


@dataclass(frozen=True, slots=True)
class System:
    """Every part of a process but its store and its socket. `parts` are in the order in which they start."""

    engine: Engine
    integrations: Registry
    parts: dict[str, Part]
    app: operations.App

    async def start(self) -> None:
        """Take up what the store holds; what is called comes before who calls."""
        await self.engine.catalogue.recover()
        for part in self.parts.values():
            await part.start()

    async def stop(self) -> None:
        """Let go, callers first."""
        for part in reversed(self.parts.values()):
            await part.stop()
        await self.integrations.close()


@dataclass(frozen=True, slots=True)
class _Ground:
    """What every part stands on. `data` is the folder beside the store, None where nothing lasts."""

    store: Store
    clock: Clock
    config: Config
    data: Path | None
    endpoint: Callable[[], str]


def assemble(config: Config, clock: Clock, store: Store, data: Path | None, endpoint: Callable[[], str]) -> System:
    """Put a system together on an open store; nothing runs before its `start`.

    `data` is the folder for files beside the store, None where all is in memory; `endpoint` says where functions and
    jobs reach this process.
    """
    ground = _Ground(store, clock, config, data, endpoint)
    metrics = Recorder(clock, data / "metrics" if data is not None else None)
    clock.pauses.scale = config.time_scale
    integrations = Registry(config, clock, data)
    catalogue = MachineCatalogue(store, clock, config)
    settings = EngineSettings(limits=config.limits, data=data)
    engine = Engine(store, clock, catalogue, integrations, settings=settings, data=integrations.data)
    engine.subscribe(integrations.status_changed)

    called = _services(ground, integrations)
    deliveries = Deliveries(store.catalog, clock)
    # Endpoints outside may be slow; schedules and rules do not wait for them.
    posts = Deliveries(store.catalog, clock, POST)
    topics = Topics(store, clock, config, called["queues"], posts, endpoint)
    called["topics"] = topics
    callers = _callers(ground, deliveries, engine)
    callers["lifecycles"] = Lifecycles(called["objects"], clock)
    notices = ObjectNotices(clock, config, deliveries, callers["event_buses"])
    called["objects"].outbox = notices
    _connect(called["functions"], called["queues"], called["objects"], topics, callers["event_buses"])
    operations.load()
    extras = {
        "integrations": integrations,
        "metrics": metrics,
        "object_notices": notices,
        "dashboards": Dashboards(store.catalog, clock),
        "forwarding": Forwarding(config, integrations.blocking, integrations.volatile),
        **called,
        **callers,
        "log_groups": _log_groups(ground, called["functions"]),
        "log_extents": Extents(),
        "identities": Identities(store.catalog, clock, config),
        "parameters": Parameters(store.catalog, clock, config),
    }
    rates = config.rates.of(config.region)
    throttle = Throttle(rates, clock, metrics) if rates else None
    app = operations.App(engine, engine.machines, clock, config, extras, throttle)
    deliveries.calls = posts.calls = target_calls.TargetCalls(app, integrations.posts)
    for part in (engine, called["queues"], called["functions"], topics, deliveries, callers["event_buses"]):
        part.measure_with(metrics)
    # Tasks of Step Functions and of Statewright have handlers of their own.
    called_by_tasks = [one for one in SERVICES if one not in (STATES, STATEWRIGHT)]
    own = {
        name: inner_calls.OwnInvoker(app, one) for one in called_by_tasks for name in (*one.task_names, *one.sdk_names)
    }
    integrations.attach(engine, inner_calls.invoker(app), own, inner_calls.function_invoker(app), engine)
    parts = {"metrics": metrics, **called, "engine": engine, "deliveries": deliveries, "posts": posts, **callers}
    return System(engine, integrations, parts, app)


def _services(ground: _Ground, integrations: Registry) -> dict[str, Any]:
    """Services that are called, by the names that operations know them by, in the order in which they start."""
    store, clock, config, data = ground.store, ground.clock, ground.config, ground.data
    objects = Objects(store, clock, config, data / "objects" if data is not None else None)
    queues = Queues(store, clock, config)
    tables = Tables(store, clock, config, _object_writer(objects))
    functions = Functions(store, clock, config, data, endpoint=ground.endpoint)
    event_sources = EventSources(store, functions, queues)
    jobs = Jobs(store, clock, config, data / "jobs" if data is not None else None, ground.endpoint)
    jobs.subscribe(integrations.job_ended)
    return {
        "objects": objects,
        "queues": queues,
        "tables": tables,
        "functions": functions,
        "event_sources": event_sources,
        "jobs": jobs,
        "sessions": Sessions(store.catalog, clock),
        "secrets": Secrets(store.catalog, clock, config),
    }


def _log_groups(ground: _Ground, functions: Functions) -> LogGroups:
    """The log groups, whose files are beside those of executions; with those of functions where nothing lasts."""
    workers = functions.logs
    assert workers.folder is not None, "functions always have a folder"
    folder = (ground.data if ground.data is not None else workers.folder.parent) / "logs"
    return LogGroups(ground.store.catalog, ground.clock, ground.config, folder, workers)


def _callers(ground: _Ground, deliveries: Deliveries, engine: Engine) -> dict[str, Any]:
    """Services that call others of their own accord; they start last."""
    scheduler = Scheduler(ground.store, ground.clock, ground.config, deliveries)
    buses = Buses(ground.store, ground.clock, ground.config, deliveries)
    engine.subscribe(buses.status_changed)
    return {"scheduler": scheduler, "event_buses": buses}


def _connect(functions: Functions, queues: Queues, objects: Objects, topics: Topics, buses: Buses) -> None:
    """Let functions take their code from buckets and report to queues, topics, buses, functions and buckets."""

    async def put(bucket: str, key: str, content: bytes) -> None:
        await objects.put(bucket, key, content)

    async def publish(arn: str, text: str, attributes: dict[str, tuple[str, str]]) -> None:
        given = {name: {"DataType": kind, "StringValue": value} for name, (kind, value) in attributes.items()}
        [receipt] = await topics.publish(arn, [read_message({"Message": text, "MessageAttributes": given})])
        if isinstance(receipt, ApiError):
            raise receipt

    async def put_event(entry: dict[str, Any]) -> None:
        [answer] = await buses.put([entry])
        if "ErrorCode" in answer:
            raise ApiError(answer["ErrorCode"], answer["ErrorMessage"])

    async def deliver(arn: str, body: bytes, attributes: dict[str, tuple[str, str]]) -> None:
        from statewright.functions.destinations import Destinations

        await Destinations(functions, queues, put, publish, put_event).deliver(arn, body, attributes)

    functions.read_objects_with(objects.read)
    functions.deliver_with(deliver)


def _object_writer(objects: Objects) -> Callable[[str, str, bytes], Awaitable[str]]:
    """Writes objects for tables' exports."""

    async def put(bucket: str, key: str, content: bytes) -> str:
        return (await objects.put(bucket, key, content)).etag

    return put
