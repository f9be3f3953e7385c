"""The registry of operations, and what each of them is given.

An operation is one async function: validated request in, answer out. It resolves names, makes one domain call and
shapes the answer; it knows neither HTTP nor SQL, and does not wait. Instants in requests and answers are integer epoch
milliseconds wherever the service model says timestamp; the edge converts them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from statewright.api import shapes
from statewright.api.calls.forwarding import Forwarding
from statewright.api.errors import not_here_yet, unknown_operation
from statewright.api.services import BY_NAME, Services
from statewright.api.throttling import Throttle
from statewright.clock import Clock
from statewright.config import Config
from statewright.payload import Json

if TYPE_CHECKING:
    from statewright.engine.engine import Engine
    from statewright.integrations.registry import Registry


Around = Callable[["Call", Json, Callable[[Json], Awaitable[Json]]], Awaitable[Json]]
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
    """What operations work on.

    `integrations` make the calls of tasks, `forwarding` those to services that are not ours. `throttle` turns calls of
    Step Functions away that come too often; `None` where they may come as they like.
    """

    engine: Engine
    clock: Clock
    config: Config
    services: Services
    integrations: Registry
    forwarding: Forwarding
    throttle: Throttle | None = None
    hooks: Hooks = field(default_factory=Hooks)

    def secrets(self, headers: Mapping[str, str], query: str = "") -> Mapping[str, str]:
        """Secrets by access key: those of the settings, and the one that a request's session token stands for.

        Raises: ApiError (`ExpiredTokenException`).
        """
        session = self.services.sessions.session_of(headers, query)
        if session is None:
            return self.config.credentials
        return {**self.config.credentials, session.access_key: session.secret}


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


Operation = Callable[[App, Call, Json], Awaitable[Json]]
STATES: Final = "states"

_OPERATIONS: dict[tuple[str, str], Operation] = {}
_WAITING: set[tuple[str, str]] = set()


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
    _load(service)
    return _OPERATIONS.get((service, name))


def waits_for_events(service: str, name: str) -> bool:
    """Whether an operation may wait long for something to happen."""
    _load(service)
    return (service, name) in _WAITING


def registered(service: str) -> list[str]:
    """Names of the operations that a service has here."""
    _load(service)
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

    async def carry_out(given: Json) -> Json:
        if app.throttle is not None and call.service == STATES and not app.hooks.is_free:
            app.throttle.take(call.operation)
        return await function(app, call, validate(given))

    around = app.hooks.around
    return await (carry_out(request) if around is None else around(call, request, carry_out))


def load_all() -> None:
    """Import the operations of every service, so that no request waits for it."""
    for service in BY_NAME:
        _load(service)


@cache
def _load(service: str) -> None:
    """Import the modules that register a service's operations."""
    found = BY_NAME.get(service)
    for module in found.modules if found is not None else ():
        import_module(module)
