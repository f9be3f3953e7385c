"""RPC v2 in CBOR: the operation in the path, a map each way, errors as `{"__type", "message"}`.

Source: smithy.protocols#rpcv2Cbor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from statewright.api.errors import status_of
from statewright.api.models import load_model
from statewright.api.protocols.bounds import apart, refuse_dense_cbor
from statewright.api.protocols.cbor import CborError, decode, encode, instants
from statewright.api.protocols.wire import Answer, Headers, Incoming
from statewright.api.routing import CBOR_PATH, RPC_CBOR
from statewright.errors import ApiError
from statewright.integrations.endpoints.service_models import Model
from statewright.payload import Json, JsonMapping, JsonObject

CONTENT_TYPE: Final = b"application/cbor"
_MARK: Final = (b"smithy-protocol", RPC_CBOR.encode())

Write = Callable[[Json], Json]


class CborWire:
    """RPC v2 in CBOR for one service, by signing name. `type_of` and `headers_of` are those of `JsonWire`."""

    def __init__(
        self, service: str, *, type_of: Callable[[ApiError], str], headers_of: Callable[[ApiError], Headers]
    ) -> None:
        self._service = service
        self._type_of = type_of
        self._headers_of = headers_of

    async def read(self, incoming: Incoming) -> tuple[str, JsonObject]:
        """Read the operation that the path names, and the members of the body.

        Raises: ApiError.
        """
        if incoming.method != "POST":
            raise ApiError("MethodNotAllowed", f"{incoming.method[:20]} is not a method of this service; POST is.")
        found = CBOR_PATH.fullmatch(incoming.raw_path.partition("?")[0])
        operation = found["operation"] if found else ""
        body = await incoming.body()
        media_type = incoming.headers.get("content-type", "").partition(";")[0].strip().lower()
        # Source: rpcv2Cbor: an operation without members has neither a body nor a type.
        if not body and not media_type:
            return operation, {}
        if media_type != CONTENT_TYPE.decode():
            raise ApiError("UnsupportedMediaType", f"Content-Type is '{media_type}'; send application/cbor.")
        try:
            refuse_dense_cbor(body)
            request = await apart(len(body), decode, body) if body else {}
        except CborError as problem:
            raise ApiError("SerializationException", f"The request is not CBOR: {problem}") from None
        if not isinstance(request, dict):
            raise ApiError("SerializationException", "The request is not a map")
        return operation, request

    def answer(self, operation: str, result: Json, _request_id: str = "") -> Answer:
        """Write the answer as one map."""
        assert isinstance(result, dict)
        return Answer(200, encode(_writer(self._service, operation)(result)), CONTENT_TYPE, (_MARK,))

    def refusal(self, error: ApiError, _request_id: str, _path: str) -> Answer:
        """Write the error's name, message and details."""
        body = encode({"__type": self._type_of(error), "message": error.message, **error.details})
        headers = (_MARK, *self._headers_of(error))
        return Answer(status_of(error, self._service), body, CONTENT_TYPE, headers)


@cache
def _writer(service: str, operation: str) -> Write:
    """The function that prepares an operation's answer for encoding: it marks instants and converts doubles."""
    model = load_model(service)
    assert model is not None, service
    shape = model["operations"][operation].get("output")
    return _write(model["shapes"], shape["shape"]) if shape else _nothing


def _write(shapes: Model, name: str) -> Write:
    shape = shapes[name]
    kind = shape["type"]
    if kind == "structure":
        members = {member: _write(shapes, of["shape"]) for member, of in shape["members"].items()}
        return lambda value: _structure(members, value)
    if kind == "list":
        element = _write(shapes, shape["member"]["shape"])
        return lambda value: [element(one) for one in value]
    if kind == "map":
        inner = _write(shapes, shape["value"]["shape"])
        return lambda value: {key: inner(one) for key, one in value.items()}
    if kind == "timestamp":
        instant = instants()
        return lambda value: instant(value / 1000)
    return float if kind in ("double", "float") else _as_is


def _structure(members: Mapping[str, Write], value: JsonMapping) -> JsonObject:
    return {name: members[name](one) for name, one in value.items() if one is not None and name in members}


def _as_is(value: Json) -> Json:
    return value


def _nothing(_value: Json) -> Json:
    return {}
