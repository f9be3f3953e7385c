"""Operations called from inside the process, by tasks that call Step Functions itself.

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

SERVICE: Final = "states"


def invoker(app: App) -> Callable[[str, dict[str, Json]], Awaitable[Json]]:
    """Runs operations of Step Functions on `app`; the function raises ApiError as the API answers it."""

    async def invoke(name: str, request: dict[str, Json]) -> Json:
        function = find(SERVICE, name)
        if function is None:
            known = name in shapes.operation_names(SERVICE)
            raise not_here_yet(SERVICE, name) if known else unknown_operation(SERVICE, name)
        lift_sizes = app.config.limits.payload_bytes is None
        checked = shapes.validator(SERVICE, name, lift_sizes=lift_sizes)(request)
        return await function(app, Call(SERVICE, name, str(uuid4())), checked)

    return invoke
