"""Calls that schedules, rules and topics make to services of this very process, named as universal targets name them.

Owns names: services by the identifiers of SDKs, actions and members in any case, texts for blobs and instants. The
operations are the API's own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from functools import cache
from typing import Any, Final

from statewright.api.inner_calls import OwnInvoker
from statewright.api.models import Model, load_model
from statewright.api.operations import App, find
from statewright.api.sqs.errors import legacy
from statewright.errors import ApiError
from statewright.payload import Json

SIGNING_NAMES: Final = {
    "batch": "batch",
    "cloudwatch": "monitoring",
    "cloudwatchevents": "events",
    "cloudwatchlogs": "logs",
    "dynamodb": "dynamodb",
    "ecs": "ecs",
    "iam": "iam",
    "eventbridge": "events",
    "lambda": "lambda",
    "s3": "s3",
    "scheduler": "scheduler",
    "secretsmanager": "secretsmanager",
    "sfn": "states",
    "sns": "sns",
    "sqs": "sqs",
    "ssm": "ssm",
    "sts": "sts",
}
"""Signing names by the identifiers that universal targets have."""


Post = Callable[[Any, Any, Any], Awaitable[None]]
"""Posts to a URL with headers and a text. Raises: ApiError with a status."""


class TargetCalls:
    """Runs operations for targets, and posts. Source of the protocol: `events.targets.CallService`."""

    def __init__(self, app: App, post: Post | None = None) -> None:
        self._post = post
        self._invokers = {name: OwnInvoker(app, name) for name in set(SIGNING_NAMES.values())}

    def knows(self, service: str, action: str) -> bool:
        """Whether this version has the operation."""
        signing = SIGNING_NAMES.get(service.lower())
        name = operation_named(signing, action) if signing is not None else None
        return signing is not None and name is not None and find(signing, name) is not None

    async def __call__(
        self, service: str, action: str, request: Mapping[str, Json], *, request_id: str
    ) -> Mapping[str, Json]:
        """The answer. Raises: ApiError with the HTTP status that a caller outside would see."""
        if service == "http" and self._post is not None:
            await self._post(request["Url"], request["Headers"], request["Body"])
            return {}
        signing = SIGNING_NAMES.get(service.lower())
        name = operation_named(signing, action) if signing is not None else None
        if signing is None or name is None:
            raise ApiError("UnknownOperationException", f"There is no {service}:{action} here.", status=404)
        members = request_members(signing, name, request)
        try:
            answer: Mapping[str, Json] = await self._invokers[signing](name, members, request_id=request_id)
        except ApiError as error:
            raise (legacy(error) if signing == "sqs" else error) from None
        return answer


@cache
def operation_named(signing: str, action: str) -> str | None:
    """The operation of a service whose name is the same in any case."""
    model = load_model(signing)
    wanted = action.lower()
    return next((name for name in (model or {"operations": {}})["operations"] if name.lower() == wanted), None)


def request_members(signing: str, operation: str, request: Mapping[str, Json]) -> dict[str, Any]:
    """A request by the names of the model, as operations of this process take it: blobs are bytes."""
    model = load_model(signing)
    assert model is not None, signing
    trait = model["operations"][operation]
    if "input" not in trait:
        return {}
    found: dict[str, Any] = _read(model["shapes"], trait["input"]["shape"], request)
    return found


def _read(shapes: Model, name: str, value: Any) -> Any:
    shape = shapes[name]
    kind = shape["type"]
    if kind == "structure" and isinstance(value, Mapping) and not shape.get("document"):
        members = {member.lower(): (member, of["shape"]) for member, of in shape["members"].items()}
        known = ((members[given.lower()], one) for given, one in value.items() if given.lower() in members)
        return {member: _read(shapes, of, one) for (member, of), one in known if one is not None}
    if kind == "list" and isinstance(value, list):
        return [_read(shapes, shape["member"]["shape"], one) for one in value]
    if kind == "map" and isinstance(value, Mapping):
        return {key: _read(shapes, shape["value"]["shape"], one) for key, one in value.items()}
    if kind == "blob" and isinstance(value, str):
        return value.encode()
    if kind == "timestamp" and isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp()
        except ValueError:
            return value
    return value
