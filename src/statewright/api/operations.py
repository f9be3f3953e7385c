"""The registry of operations, and what each of them is given.

An operation is one async function: validated request in, answer out. It resolves names, makes one domain call and
shapes the answer; it knows neither HTTP nor SQL, and does not wait. Instants in requests and answers are integer epoch
milliseconds wherever the service model says timestamp; the edge converts them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from statewright.api import shapes
from statewright.api.errors import not_here_yet, unknown_operation
from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.payload import Json

if TYPE_CHECKING:
    from statewright.api.throttling import Throttle
    from statewright.engine.engine import Engine
    from statewright.engine.machines.machines import Machines
    from statewright.functions.functions import Functions
    from statewright.queues.queues import Queues


Around = Callable[["Call", Any, Callable[[Any], Awaitable[Json]]], Awaitable[Json]]
"""Stands around calls, given the call, its request, and what carries it out."""


@dataclass(slots=True)
class Hooks:
    """What somebody has put around every call: a simulation that counts and refuses. A server has nothing here.

    `is_free` takes calls out of the throttle, for whoever looks at a system from outside.
    """

    around: Around | None = None
    is_free: bool = False


@dataclass(frozen=True, slots=True)
class App:
    """What operations work on. `extras` holds parts that only some services have, by name.

    `throttle` turns calls of Step Functions away that come too often; `None` where they may come as they like.

    Raises (`queues`, `functions`, `objects`): ApiError where the server runs without that part.
    """

    engine: Engine
    machines: Machines
    clock: Clock
    config: Config
    extras: Mapping[str, Any] = field(default_factory=dict)
    throttle: Throttle | None = None
    hooks: Hooks = field(default_factory=Hooks)

    @property
    def queues(self) -> Queues:
        """The queues."""
        found: Queues = self.part("queues")
        return found

    @property
    def functions(self) -> Functions:
        """The functions."""
        found: Functions = self.part("functions")
        return found

    @property
    def objects(self) -> Any:
        """The buckets and their objects."""
        return self.part("objects")

    @property
    def tables(self) -> Any:
        """The tables and their items."""
        return self.part("tables")

    def secrets(self, headers: Mapping[str, str], query: str = "") -> Mapping[str, str]:
        """Secrets by access key: those of the settings, and the one that a request's session token stands for.

        Raises: ApiError (`ExpiredTokenException`).
        """
        sessions = self.extras.get("sessions")
        session = sessions.session_of(headers, query) if sessions is not None else None
        if session is None:
            return self.config.credentials
        return {**self.config.credentials, session.access_key: session.secret}

    def part(self, name: str) -> Any:
        """A part by its name. Raises: ApiError where the server runs without it."""
        part = self.extras.get(name)
        if part is None:
            raise ApiError("UnknownService", f"This server runs without {name.replace('_', ' ')}.")
        return part


@dataclass(frozen=True, slots=True)
class Call:
    """One call as its operation sees it. `headers` have lower-case names; `access_key` is the signer's, if any.

    `raw_path` and `query` are as sent, still escaped. `sent_by` names the task whose call it is and its idempotency
    key; `None` for calls from outside.
    """

    service: str
    operation: str
    request_id: str
    headers: Mapping[str, str] = field(default_factory=dict)
    access_key: str | None = None
    raw_path: str = "/"
    query: str = ""
    sent_by: str | None = None


Operation = Callable[[App, Call, Any], Awaitable[Json]]
STATES: Final = "states"

_OPERATIONS: dict[tuple[str, str], Operation] = {}
_WAITING: set[tuple[str, str]] = set()
MODULES: Final = (
    "statewright.api.states.machines",
    "statewright.api.states.versions",
    "statewright.api.states.aliases",
    "statewright.api.states.tags",
    "statewright.api.states.validation",
    "statewright.api.states.executions",
    "statewright.api.states.tasks",
    "statewright.api.states.activities",
    "statewright.api.states.map_runs",
    "statewright.api.states.trials",
    "statewright.api.own.limits",
    "statewright.api.own.forks",
    "statewright.api.lambda_.functions",
    "statewright.api.lambda_.versions",
    "statewright.api.lambda_.settings",
    "statewright.api.lambda_.invocations",
    "statewright.api.lambda_.event_sources",
    "statewright.api.lambda_.absent",
    "statewright.api.sqs.requests",
    "statewright.api.sqs.catalogue",
    "statewright.api.sqs.tags",
    "statewright.api.sqs.permissions",
    "statewright.api.sqs.sending",
    "statewright.api.sqs.receiving",
    "statewright.api.sqs.move_tasks",
    "statewright.api.dynamodb.catalogue",
    "statewright.api.dynamodb.items",
    "statewright.api.dynamodb.queries",
    "statewright.api.dynamodb.batches",
    "statewright.api.dynamodb.transactions",
    "statewright.api.dynamodb.settings",
    "statewright.api.dynamodb.exports",
    "statewright.api.dynamodb.absent",
    "statewright.api.s3.buckets",
    "statewright.api.s3.settings",
    "statewright.api.s3.access",
    "statewright.api.s3.notifications",
    "statewright.api.s3.objects",
    "statewright.api.s3.listings",
    "statewright.api.s3.multipart",
    "statewright.api.ecs.definitions",
    "statewright.api.ecs.clusters",
    "statewright.api.ecs.tasks",
    "statewright.api.batch.definitions",
    "statewright.api.batch.jobs",
    "statewright.api.scheduler.schedules",
    "statewright.api.scheduler.groups",
    "statewright.api.sns.topics",
    "statewright.api.sns.subscriptions",
    "statewright.api.sns.publishing",
    "statewright.api.events.buses",
    "statewright.api.events.rules",
    "statewright.api.sts.callers",
    "statewright.api.iam.roles",
    "statewright.api.iam.users",
    "statewright.api.iam.entities",
    "statewright.api.iam.policies",
    "statewright.api.secretsmanager.secrets",
    "statewright.api.secretsmanager.listings",
    "statewright.api.ssm.parameters",
    "statewright.api.ssm.listings",
    "statewright.api.logs.groups",
    "statewright.api.logs.streams",
    "statewright.api.cloudwatch.metrics",
    "statewright.api.cloudwatch.statistics",
    "statewright.api.cloudwatch.dashboards",
)
"""Where operations are; `load` imports them."""


def operation(service: str, name: str, *, waits: bool = False) -> Callable[[Operation], Operation]:
    """Register a function as an operation of a service, named by its signing name: `states`.

    `waits` marks one that waits for something to happen: it is cancelled when its caller goes.
    """

    def register(function: Operation) -> Operation:
        taken = _OPERATIONS.setdefault((service, name), function)
        if taken is not function:
            raise ValueError(f"{service} {name} is registered twice: {taken.__module__} and {function.__module__}")
        if waits:
            _WAITING.add((service, name))
        return function

    return register


def find(service: str, name: str) -> Operation | None:
    """The operation of that name, `None` where this version has none."""
    return _OPERATIONS.get((service, name))


def waits_for_events(service: str, name: str) -> bool:
    """Whether an operation may wait long for something to happen."""
    return (service, name) in _WAITING


def services() -> list[str]:
    """Services that have operations here, Step Functions first."""
    return sorted({of for of, _ in _OPERATIONS}, key=lambda name: (name != "states", name))


def registered(service: str) -> list[str]:
    """Names of the operations that a service has here."""
    return sorted(name for of, name in _OPERATIONS if of == service)


async def perform(app: App, call: Call, request: Json) -> Json:
    """Validate a request and run its operation; instants in the answer are epoch milliseconds.

    Raises: ApiError, also for an operation that the service or this version does not have.
    """
    function = find(call.service, call.operation)
    if function is None:
        known = call.operation in shapes.operation_names(call.service)
        raise (not_here_yet if known else unknown_operation)(call.service, call.operation)
    validate = shapes.validator(call.service, call.operation, lift_sizes=app.config.limits.payload_bytes is None)

    async def carry_out(given: Any) -> Json:
        if app.throttle is not None and call.service == STATES and not app.hooks.is_free:
            app.throttle.take(call.operation)
        return await function(app, call, validate(given))

    around = app.hooks.around
    return await (carry_out(request) if around is None else around(call, request, carry_out))


def load() -> None:
    """Import every module that registers operations."""
    for module in MODULES:
        try:
            import_module(module)
        except ModuleNotFoundError as missing:
            if missing.name != module:
                raise
