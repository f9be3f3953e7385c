"""The registry of operations, and the arguments that each of them receives.

An operation is one async function: validated request in, answer out. It resolves names, makes one domain call and
shapes the answer; it knows neither HTTP nor SQL, and does not wait. Instants in requests and answers are integer epoch
milliseconds wherever the service model says timestamp; the edge converts them.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol

from statewright.api import shapes
from statewright.api.errors import not_here_yet, unknown_operation
from statewright.api.protocols.bounds import LONG_BYTES, apart
from statewright.api.services import BY_NAME, Services
from statewright.api.throttling import Throttle
from statewright.api.unenforced import UNENFORCED, warning
from statewright.at_work import AT_WORK
from statewright.clock import Clock
from statewright.config import Config
from statewright.payload import Json, JsonObject
from statewright.stores.completion import Completion

if TYPE_CHECKING:
    from statewright.engine.engine import Engine
    from statewright.integrations.registry import Registry


Run = Callable[[Json], Awaitable[Json]]


class Around(Protocol):
    """Wraps every call of a system, in a simulation that counts and refuses; a server has none.

    `is_free` exempts calls from the throttle, for tools that observe a system from outside.
    """

    is_free: bool

    async def __call__(self, call: Call, request: Json, run: Run, /) -> Json:
        """Answer a call; `run` runs it. Raises: ApiError."""


class OtherRegions(Protocol):
    """The applications of all regions of an account."""

    @property
    def default(self) -> str:
        """The default region."""

    def check(self, region: str, /) -> None:
        """Refuse a region that this server may not have. Raises: ApiError."""

    async def app_of(self, region: str, /) -> App:
        """The application of a region, which is started with its first call. Raises: ApiError, StoreError."""

    def running(self, region: str, /) -> App | None:
        """The application of a region, if that has been called."""

    def names(self) -> list[str]:
        """The regions that have been called, the default one first."""


class OtherAccounts(Protocol):
    """The applications of accounts other than the default one."""

    async def app_of(self, account: str, /) -> App:
        """The application of an account's default region, started with its first call. Raises: ApiError, StoreError."""

    def running(self, account: str, /) -> App | None:
        """The application of an account's default region, if that has been called."""

    def apps(self) -> list[App]:
        """The applications of all their regions that have been called."""


class Nodes(Protocol):
    """The cluster that a server is a node of."""

    async def shown(self) -> list[JsonObject]:
        """The living nodes, as `ListNodes` answers them: each is asked how it is."""

    @property
    def format(self) -> int:
        """The format in which the nodes write, which all of them know."""

    def node_of(self, shard: int) -> str | None:
        """The name of the node that has the cell of a shard; `None` while none has it."""


@dataclass(frozen=True, slots=True)
class App:
    """The parts that operations work on: those of one region of one account.

    `integrations` make the calls of tasks. `throttle` refuses calls of Step Functions that come too often; `None`
    for no limit. `around` wraps every call. `regions` has the account's other regions; `None` if there can be none.
    `account` is empty for the default account, whose default region has the other `accounts`. `nodes` is the cluster;
    `None` for a server that is alone.
    """

    engine: Engine
    clock: Clock
    config: Config
    services: Services
    integrations: Registry
    throttle: Throttle | None = None
    around: Around | None = None
    regions: OtherRegions | None = None
    account: str = ""
    accounts: OtherAccounts | None = None
    nodes: Nodes | None = None

    def secrets(self, headers: Mapping[str, str], query: str = "") -> Mapping[str, str]:
        """Secrets by access key: those of the settings, and that of a request's session token.

        Raises: ApiError (`ExpiredTokenException`).
        """
        return self.services.sessions.secrets(self.config, headers, query)

    async def of_signer(self, access_key: str, headers: Mapping[str, str], query: str = "") -> App:
        """The application of the account of a verified request's signer, in its default region; this is the default
        account's. Raises: ApiError, StoreError.
        """
        account = self.config.accounts.get(access_key)
        if account is None:
            session = self.services.sessions.session_of(headers, query)
            account = session.account if session is not None else ""
        if self.accounts is None or account in ("", self.config.account):
            return self
        return await self.accounts.app_of(account)


@dataclass(frozen=True, slots=True)
class Call:
    """One call as its operation sees it. Names of `headers` are in lower case; `access_key` is the signer's, if any.

    `raw_path` and `query` are as sent, still escaped. `sent_by` names the task that makes the call and its idempotency
    key; `None` for calls from outside. An operation whose repetition would do harm completes the outbox row of that
    task in the transaction of its write, with its answer (`completion`).
    """

    service: str
    operation: str
    request_id: str
    headers: Mapping[str, str] = field(default_factory=dict)
    access_key: str | None = None
    raw_path: str = "/"
    query: str = ""
    sent_by: str | None = None
    completion: Completion[Json] | None = None
    size: int = 0
    """Bytes of its body, if that was read into memory."""
    runs_anywhere: bool = False
    """True if nothing in this process follows what the call begins: in a cluster, any node may run it."""

    @property
    def trace_header(self) -> str | None:
        """The trace header that it was sent with, verbatim."""
        return self.headers.get("x-amzn-trace-id") or None


Operation = Callable[[App, Call, Json], Awaitable[Json]]
"""Runs a call; its answer is the model's output, `None` for one without members."""
STATES: Final = "states"

_OPERATIONS: dict[tuple[str, str], Operation] = {}
_WAITING: set[tuple[str, str]] = set()


def operation(service: str, name: str, *, waits: bool = False) -> Callable[[Operation], Operation]:
    """Register a function as an operation of a service, named by its signing name: `states`.

    `waits` marks a long poll: it is cancelled when its caller disconnects.
    """

    def register(function: Operation) -> Operation:
        unenforced = UNENFORCED.get((service, name))
        taken = _OPERATIONS.setdefault((service, name), warning(function, unenforced) if unenforced else function)
        if inspect.unwrap(taken) is not inspect.unwrap(function):
            raise ValueError(f"{service} {name} is registered twice: {taken.__module__} and {function.__module__}")
        if waits:
            _WAITING.add((service, name))
        return function

    return register


def find(service: str, name: str) -> Operation | None:
    """The operation of that name; `None` if this version has none.

    Its service's modules are imported in their order until one has registered it.
    """
    left = _not_imported(service)
    while left and (service, name) not in _OPERATIONS:
        import_module(left[0])
        left.popleft()
    return _OPERATIONS.get((service, name))


def waits_for_events(service: str, name: str) -> bool:
    """True if an operation is a long poll."""
    return find(service, name) is not None and (service, name) in _WAITING


def registered(service: str) -> list[str]:
    """Names of the operations of a service that this version has."""
    _import_all(service)
    return sorted(name for of, name in _OPERATIONS if of == service)


async def perform(app: App, call: Call, request: Json) -> Json:
    """Validate a request and run its operation; instants in the answer are epoch milliseconds.

    Raises: ApiError, also for an operation that the service or this version does not have.
    """
    AT_WORK.begin("operation", call.operation)
    function = find(call.service, call.operation)
    if function is None:
        known = call.operation in shapes.operation_names(call.service)
        raise (not_here_yet if known else unknown_operation)(call.service, call.operation)
    validate = shapes.validator(call.service, call.operation, lift_sizes=app.config.limits.payload_bytes is None)

    around = app.around

    async def execute(given: Json) -> Json:
        if app.throttle is not None and call.service == STATES and not (around is not None and around.is_free):
            app.throttle.take(call.operation)
        known = validate(given) if call.size <= LONG_BYTES else await apart(call.size, validate, given)
        answer = await function(app, call, known)
        return {} if answer is None else answer

    return await (execute(request) if around is None else around(call, request, execute))


def load_all() -> None:
    """Import the operations of every service, so that no request waits for it."""
    for service in BY_NAME:
        _import_all(service)


def _import_all(service: str) -> None:
    left = _not_imported(service)
    while left:
        import_module(left[0])
        left.popleft()


@cache
def _not_imported(service: str) -> deque[str]:
    """The modules that register a service's operations, without those that have been imported."""
    found = BY_NAME.get(service)
    return deque(found.modules if found is not None else ())
