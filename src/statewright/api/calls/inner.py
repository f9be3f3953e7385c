"""Operations called from inside the process, by tasks that call a service which is our own.

What the edge does to a request from outside happens to these too: the same validation, the same operation. There is
no wire, so instants stay integer milliseconds and blobs are bytes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from statewright import chance
from statewright.api.errors import status_of
from statewright.api.models import load_model
from statewright.api.operations import App, Call, perform
from statewright.api.protocols.uploads import Upload
from statewright.api.service import QUERY, Service
from statewright.errors import ApiError
from statewright.payload import Json

if TYPE_CHECKING:
    from statewright.functions.outcomes import Invoked
    from statewright.integrations.function_calls import InvokeFunction

STATES: Final = "states"
JSON_TYPE: Final = "application/x-amz-json-1.0"
XML_TYPE: Final = "text/xml"


class Invoke(Protocol):
    """Runs operations of Step Functions."""

    def __call__(self, name: str, request: dict[str, Json], sent_by: str | None = None) -> Awaitable[Json]:
        """The answer; `sent_by` is the same in every repeat of one task's call. Raises: ApiError."""


def invoker(app: App) -> Invoke:
    """Runs operations of Step Functions on `app`; the function raises ApiError as the API answers it."""

    async def invoke(name: str, request: dict[str, Json], sent_by: str | None = None) -> Json:
        return await perform(app, Call(STATES, name, chance.uuid4(), sent_by=sent_by), request)

    return invoke


class OwnInvoker:
    """Runs operations of one service on `app`."""

    def __init__(self, app: App, service: Service) -> None:
        self._app = app
        self._service = service.name
        self.content_type = XML_TYPE if service.protocols == (QUERY,) else JSON_TYPE
        """What its answers would be on the wire."""

    async def __call__(self, operation: str, request: dict[str, Any], *, request_id: str) -> Json:
        """The answer. Raises: ApiError, with the HTTP status that a caller outside would see."""
        streamed = _streamed_member(self._service, operation)
        if streamed is not None:
            content = request.get(streamed) or b""
            request = {**request, streamed: Upload(_once(content), len(content))}
        try:
            return await perform(self._app, Call(self._service, operation, request_id), request)
        except ApiError as error:
            error.status = status_of(error, self._service)
            raise


def function_invoker(app: App) -> InvokeFunction:
    """Runs functions of `app` without a request; the payload is JSON text that is not too long."""

    async def invoke(name: str, payload: bytes, *, request_id: str) -> Invoked:
        try:
            return await app.services.functions.invoke(name, payload, request_id=request_id)
        except ApiError as error:
            error.status = status_of(error, "lambda")
            raise

    return invoke


async def _once(content: bytes) -> AsyncIterator[bytes]:
    if content:
        yield content


@cache
def _streamed_member(service: str, operation: str) -> str | None:
    """The member of a request that operations take piece by piece, if there is one."""
    model = load_model(service)
    trait = model["operations"].get(operation) if model is not None else None
    if model is None or trait is None or "input" not in trait:
        return None
    shape = model["shapes"][trait["input"]["shape"]]
    member = shape["members"].get(shape.get("payload"), {})
    return shape["payload"] if member.get("streaming") else None
