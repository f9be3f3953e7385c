"""Operations that change an API, one at a time for each API.

An operation reads what is held in memory, decides, and writes. Two of them at once would decide on the same state: one
write would be refused, or two resources would get one name. So those of one API wait for one another, as do those that
name no API (keys, plans, new APIs); readers never wait.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Final

from statewright.api.operations import App, Call, Operation, operation
from statewright.payload import Json, JsonMapping

_ARN: Final = re.compile(r"/(?:rest)?apis/(?P<id>[^/]+)")


def change(service: str, name: str) -> Callable[[Operation], Operation]:
    """Register a function as an operation that changes an API; see `operation`."""

    def register(function: Operation) -> Operation:
        @wraps(function)
        async def alone(app: App, call: Call, request: Json) -> Json:
            async with app.services.apis.changing(api_in(request)):
                return await function(app, call, request)

        return operation(service, name)(alone)

    return register


def api_in(request: JsonMapping) -> str:
    """The id of the API that a request names, or whose ARN it names; empty for none."""
    found = _ARN.search(request.get("resourceArn") or request.get("ResourceArn") or "")
    if found is not None:
        return found["id"]
    named: str = request.get("restApiId") or request.get("ApiId") or ""
    return named
