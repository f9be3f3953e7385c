"""Calls of this server's operations for integrations, with answers as clients read them: instants are epoch seconds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from statewright.events.targets import CallService
from statewright.integrations.endpoints.service_models import Model, model_of
from statewright.payload import Json, JsonMapping, JsonObject

_MODELS: Final = {"sfn": "stepfunctions", "eventbridge": "events"}
"""botocore's names of services that SDKs name otherwise."""


class ServiceCalls:
    """Implements `CallOperation`."""

    def __init__(self, call: CallService) -> None:
        self._call = call

    async def __call__(self, service: str, action: str, request: JsonMapping, *, request_id: str) -> JsonObject:
        """Call an operation, named as universal targets name it: `sfn`, `startExecution`.

        Raises: ApiError with a status; StoreError.
        """
        answer = await self._call(service, action, request, request_id=request_id)
        written: JsonObject = _writer(service, action[:1].upper() + action[1:])(dict(answer))
        return written


Write = Callable[[Json], Json]


@cache
def _writer(service: str, operation: str) -> Write:
    model = model_of(_MODELS.get(service, service))
    trait = model["operations"].get(operation, {}) if model is not None else {}
    if model is None or "output" not in trait:
        return _as_is
    shapes, made = model["shapes"], dict[str, Write]()

    def of(name: str) -> Write:
        if name not in made:
            made[name] = lambda value: made[name](value)
            made[name] = _write(shapes[name], of)
        return made[name]

    return of(trait["output"]["shape"])


def _write(shape: Model, of: Callable[[str], Write]) -> Write:
    kind = shape["type"]
    if kind == "timestamp":
        return lambda value: value / 1000 if isinstance(value, (int, float)) else value
    if kind == "list":
        inner = of(shape["member"]["shape"])
        return lambda value: [inner(one) for one in value] if isinstance(value, list) else value
    if kind == "structure":
        members = {name: of(one["shape"]) for name, one in shape["members"].items()}
        return lambda value: (
            {name: members.get(name, _as_is)(one) for name, one in value.items() if one is not None}
            if isinstance(value, dict)
            else value
        )
    return _as_is


def _as_is(value: Json) -> Json:
    return value
