"""Operations called from inside the process, by tasks that call a service which is our own.

What the edge does to a request from outside happens to these too: the same validation, the same operation. There is
no wire, so instants stay integer milliseconds.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final
from uuid import uuid4

from statewright.api import shapes
from statewright.api.errors import not_here_yet, unknown_operation
from statewright.api.operations import App, Call, find
from statewright.payload import Json

STATES: Final = "states"


def invoker(app: App, service: str = STATES) -> Callable[[str, dict[str, Json]], Awaitable[Json]]:
    """Runs operations of a service on `app`; the function raises ApiError as the API answers it."""

    async def invoke(name: str, request: dict[str, Json]) -> Json:
        function = find(service, name)
        if function is None:
            known = name in shapes.operation_names(service)
            raise not_here_yet(service, name) if known else unknown_operation(service, name)
        lift_sizes = app.config.limits.payload_bytes is None
        checked = shapes.validator(service, name, lift_sizes=lift_sizes)(request)
        return await function(app, Call(service, name, str(uuid4())), checked)

    return invoke
