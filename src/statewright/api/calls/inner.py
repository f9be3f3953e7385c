"""Calls of operations from inside the process, by tasks that call a service of Statewright.

They go through the same validation and the same operation as requests from outside. There is no wire, so instants stay
integer milliseconds and blobs are bytes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from statewright import chance
from statewright.api.errors import status_of
from statewright.api.models import load_model
from statewright.api.operations import App, Call, perform
from statewright.api.service import QUERY, Service
from statewright.api.services import SERVICES, service_named
from statewright.errors import ApiError
from statewright.integrations.registry import OwnCalls
from statewright.payload import Json, JsonObject
from statewright.stores.completion import Completion

# A first test imports no functions (tests/plugin/test_imports.py).
if TYPE_CHECKING:
    from statewright.functions.outcomes import Invoked

STATES: Final = "states"
STATEWRIGHT: Final = "statewright"
JSON_TYPE: Final = "application/x-amz-json-1.0"
XML_TYPE: Final = "text/xml"
NO_HEADERS: Final[Mapping[str, str]] = {}


class InnerCalls:
    """Runs operations for the parts of a system, which are built before the application that has the operations."""

    def __init__(self, endpoint: Callable[[], str] | None = None) -> None:
        """`endpoint` returns the server's address, if it has one, which `invoke` gives to addresses of queues."""
        self._app: App | None = None
        self._endpoint = endpoint

    def connect(self, app: App) -> None:
        """Set the application, once it is built and before anything starts."""
        self._app = app

    @property
    def app(self) -> App:
        """The application."""
        assert self._app is not None, "connect() comes before the first call"
        return self._app

    def app_in(self, region: str | None) -> App:
        """The application of a region that runs, otherwise the own one."""
        app = self.app
        if region is None or region == app.config.region or app.regions is None:
            return app
        return app.regions.running(region) or app

    async def states(
        self, name: str, request: JsonObject, sent_by: str | None = None, completion: Completion[Json] | None = None
    ) -> Json:
        """Run an operation of Step Functions. See `integrations.states_execution.Invoke`."""
        call = Call(STATES, name, chance.uuid4(), sent_by=sent_by, completion=completion)
        return await perform(self.app, call, request)

    async def function(self, name: str, payload: bytes, *, request_id: str) -> Invoked:
        """Run a function without a request. See `integrations.function_calls.InvokeFunction`."""
        try:
            return await self.app.services.functions.invoke(name, payload, request_id=request_id)
        except ApiError as error:
            error.status = status_of(error, "lambda")
            raise

    async def invoke(self, service: str, operation: str, request: JsonObject, /, *, host: str = "") -> Json:
        """Run an operation of a service by any of its names; see `stacks.threads.Invoke`. Raises: ApiError."""
        named = host or (urlsplit(self._endpoint()).netloc if self._endpoint is not None else "")
        own = OwnInvoker(self, service_named(service), {"host": named} if named else {})
        return await own(operation, request, request_id=chance.uuid4())

    def service(self, service: Service) -> OwnInvoker:
        """The invoker of the operations of one service."""
        return OwnInvoker(self, service)

    def of_tasks(self) -> OwnCalls:
        """The calls that tasks make. Those of Step Functions and of Statewright have handlers of their own."""
        called = [one for one in SERVICES if one.name not in (STATES, STATEWRIGHT)]
        own = {name: self.service(one) for one in called for name in (*one.task_names, *one.sdk_names)}
        return OwnCalls(self.states, own, self.function)


class OwnInvoker:
    """Runs operations of one service."""

    def __init__(self, calls: InnerCalls, service: Service, headers: Mapping[str, str] = NO_HEADERS) -> None:
        self._calls = calls
        self._headers = headers
        self._service = service.name
        self.content_type = XML_TYPE if service.protocols == (QUERY,) else JSON_TYPE
        """The content type that its answers would have on the wire."""

    async def __call__(
        self,
        operation: str,
        request: JsonObject,
        *,
        request_id: str,
        completion: Completion[Json] | None = None,
        region: str | None = None,
        sent_by: str | None = None,
        runs_anywhere: bool = False,
    ) -> Json:
        """Run an operation, in another region if one is given that runs. See `Call` for the last two.

        Raises: ApiError, with the HTTP status that a caller outside would see.
        """
        streamed = _streamed_member(self._service, operation)
        if streamed is not None:
            from statewright.api.protocols.uploads import Upload

            content = request.get(streamed) or b""
            request = {**request, streamed: Upload(_once(content), len(content))}
        try:
            call = Call(
                self._service, operation, request_id, self._headers, sent_by=sent_by, completion=completion,
                runs_anywhere=runs_anywhere,
            )  # fmt: skip
            return await perform(self._calls.app_in(region), call, request)
        except ApiError as error:
            error.status = status_of(error, self._service)
            raise


async def _once(content: bytes) -> AsyncIterator[bytes]:
    if content:
        yield content


@cache
def _streamed_member(service: str, operation: str) -> str | None:
    """The member of a request that its operation reads piece by piece, if any."""
    model = load_model(service)
    trait = model["operations"].get(operation) if model is not None else None
    if model is None or trait is None or "input" not in trait:
        return None
    shape = model["shapes"][trait["input"]["shape"]]
    member = shape["members"].get(shape.get("payload"), {})
    return shape["payload"] if member.get("streaming") else None
