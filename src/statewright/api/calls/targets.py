"""Calls of schedules, rules and topics to services of this process, named as in universal targets.

Owns the names: services by the identifiers of SDKs, actions and members in any case, texts for blobs and instants. The
operations are those of the API.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from functools import cache
from typing import Final

from statewright.api.calls.inner import InnerCalls
from statewright.api.models import load_model
from statewright.api.operations import find
from statewright.api.services import SERVICES
from statewright.api.sqs.errors import legacy
from statewright.errors import ApiError
from statewright.events.targets import ARCHIVE, DESTINATION
from statewright.integrations.endpoints.service_models import Model
from statewright.payload import Json, JsonMapping, JsonObject

SERVICES_BY_SDK_NAME: Final = {name: one for one in SERVICES for name in one.sdk_names}
"""Services by the identifiers that universal targets use."""

Post = Callable[[str, Mapping[str, str], str], Awaitable[None]]
"""Posts to a URL with headers and a text. Raises: ApiError with a status."""


Send = Callable[[str, str, JsonMapping], Awaitable[None]]
"""Sends a text to an API destination, given its ARN and a target's `HttpParameters`. Raises: ApiError with a status."""


Keep = Callable[[str, str], Awaitable[None]]
"""Keeps an event, as JSON text, in an archive, given its ARN. Raises: ApiError with a status; StoreError."""


class TargetCalls:
    """Runs operations and sends HTTP requests for targets. Implements `events.targets.CallService`."""

    def __init__(
        self, calls: InnerCalls, post: Post | None = None, send: Send | None = None, keep: Keep | None = None
    ) -> None:
        self._post = post
        self._send = send
        self._keep = keep
        self._invokers = {one.name: calls.service(one) for one in SERVICES_BY_SDK_NAME.values()}

    def knows(self, service: str, action: str) -> bool:
        """True if this version has the operation."""
        known = _known(service, action)
        return known is not None and find(*known) is not None

    async def __call__(self, service: str, action: str, request: JsonMapping, *, request_id: str) -> JsonMapping:
        """Run an operation or post. Raises: ApiError with the HTTP status that a caller outside would see."""
        if service == "http" and self._post is not None:
            await self._post(request["Url"], request["Headers"], request["Body"])
            return {}
        if service == DESTINATION and self._send is not None:
            await self._send(request["Arn"], request["Body"], request["Http"])
            return {}
        if service == ARCHIVE and self._keep is not None:
            await self._keep(request["Arn"], request["Event"])
            return {}
        known = _known(service, action)
        if known is None:
            raise ApiError("UnknownOperationException", f"There is no {service}:{action} here.", status=404)
        signing, name = known
        members = request_members(signing, name, request)
        is_start = (signing, name) == _START
        if is_start:
            # By its name a repeat finds the execution, which may have ended, if the first answer was lost.
            members.setdefault("name", request_id)
        try:
            answer: JsonMapping = await self._invokers[signing](
                name, members, request_id=request_id, region=_region_of(members),
                sent_by=f"target {request_id}" if is_start else None, runs_anywhere=True,
            )  # fmt: skip
        except ApiError as error:
            raise (legacy(error) if signing == "sqs" else error) from None
        return answer


def _known(service: str, action: str) -> tuple[str, str] | None:
    """The signing name of a service and the name of one of its operations; `None` if either is unknown."""
    found = SERVICES_BY_SDK_NAME.get(service.lower())
    name = operation_named(found.name, action) if found is not None else None
    return None if found is None or name is None else (found.name, name)


_START: Final = ("states", "StartExecution")
_PLACES: Final = ("QueueUrl", "FunctionName", "stateMachineArn", "TopicArn")
"""The members of requests that name a resource, and with it its region."""
_REGION: Final = re.compile(r"arn:[^:]*:[^:]*:(?P<arn>[^:]+):.*|https://sqs\.(?P<host>[^./]+)\..*", re.DOTALL)


def _region_of(request: JsonMapping) -> str | None:
    """The region of the resource that a request is for; `None` if it names none."""
    place = next((request[name] for name in _PLACES if name in request), None)
    found = _REGION.fullmatch(place) if isinstance(place, str) else None
    return None if found is None else found["arn"] or found["host"]


@cache
def operation_named(signing: str, action: str) -> str | None:
    """The operation of a service whose name is equal, ignoring case."""
    model = load_model(signing)
    wanted = action.lower()
    return next((name for name in (model or {"operations": {}})["operations"] if name.lower() == wanted), None)


def request_members(signing: str, operation: str, request: JsonMapping) -> JsonObject:
    """Convert a request to the names of the model, as operations of this process take it: blobs are bytes."""
    model = load_model(signing)
    assert model is not None, signing
    trait = model["operations"][operation]
    if "input" not in trait:
        return {}
    found: JsonObject = _read(model["shapes"], trait["input"]["shape"], request)
    return found


def _read(shapes: Model, name: str, value: Json) -> Json:
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
