"""Operations that change an API, one at a time for each API.

An operation reads what is held in memory, decides, and writes. Two of them at once would decide on the same state: one
write would be lost or refused, or two resources would get one name. So those of one API wait for one another, as do
those that name no API (keys, plans, new APIs); readers never wait.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from statewright.api.operations import App, Call, Operation, operation
from statewright.payload import Json


def change(service: str, name: str) -> Callable[[Operation], Operation]:
    """Register a function as an operation that changes an API; see `operation`."""

    def register(function: Operation) -> Operation:
        @wraps(function)
        async def alone(app: App, call: Call, request: Json) -> Json:
            async with app.services.apis.changing(request.get("restApiId") or request.get("ApiId") or ""):
                return await function(app, call, request)

        return operation(service, name)(alone)

    return register
