"""AWS JSON 1.0 and 1.1: the operation in `X-Amz-Target`, an object each way, errors as `{"__type", "message"}`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import orjson

from statewright.api import shapes
from statewright.api.errors import status_of
from statewright.api.protocols.bounds import LONG_BYTES, apart, refuse_dense_json
from statewright.api.protocols.wire import Answer, Headers, Incoming
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject, JsonTextError, parse_json

CONTENT_TYPE: Final = b"application/x-amz-json-1.0"
NEWER_TYPE: Final = b"application/x-amz-json-1.1"
_JSON_TYPES: Final = frozenset({"application/x-amz-json-1.0", "application/x-amz-json-1.1", "application/json", ""})


class JsonWire:
    """AWS JSON for one service, by signing name.

    `type_of` returns the `__type` of an error, `headers_of` its further headers. `parse` reads a body, and raises
    JsonTextError.
    """

    def __init__(
        self,
        service: str,
        *,
        type_of: Callable[[ApiError], str] | None = None,
        headers_of: Callable[[ApiError], Headers] | None = None,
        parse: Callable[[bytes], Json] = parse_json,
        content_type: bytes = CONTENT_TYPE,
    ) -> None:
        self._content_type = content_type
        self._service = service
        self._type_of = type_of
        self._headers_of = headers_of
        self._parse = parse

    async def read(self, incoming: Incoming) -> tuple[str, JsonObject]:
        """Read the operation that the target names, and the members of the body.

        Raises: ApiError.
        """
        if incoming.method != "POST":
            raise ApiError("MethodNotAllowed", f"{incoming.method[:20]} is not a method of this service; POST is.")
        operation = incoming.headers.get("x-amz-target", "").rpartition(".")[2]
        body = await incoming.body()
        content_type = incoming.headers.get("content-type", "")
        if len(body) <= LONG_BYTES:
            return operation, read_request(content_type, body, self._parse)
        return operation, await apart(len(body), read_request, content_type, body, self._parse)

    def answer(self, operation: str, result: Json, _request_id: str = "") -> Answer:
        """Write the answer as one JSON object."""
        return Answer(200, write_answer(shapes.writer(self._service, operation)(result)), self._content_type)

    def refusal(self, error: ApiError, _request_id: str, _path: str) -> Answer:
        """Write the error's code, message and details."""
        kind = self._type_of(error) if self._type_of is not None else error.code
        headers = self._headers_of(error) if self._headers_of is not None else ()
        return Answer(status_of(error, self._service), write_error(error, kind), self._content_type, headers)


def read_request(content_type: str, body: bytes, parse: Callable[[bytes], Json] = parse_json) -> JsonObject:
    """Read the members of a request.

    Raises: ApiError for a body that is not one JSON object, holds too many values, or was not sent as JSON: a web page
        can send forms and plain text to any host without permission.
    """
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type not in _JSON_TYPES:
        raise ApiError(
            "UnsupportedMediaType", f"Content-Type is '{media_type}'; send Content-Type: application/x-amz-json-1.0."
        )
    if not body:
        return {}
    refuse_dense_json(body)
    try:
        request = parse(body)
    except JsonTextError as problem:
        raise ApiError("SerializationException", f"The request is not JSON: {problem.message}") from None
    if not isinstance(request, dict):
        raise ApiError("SerializationException", "The request is not a JSON object")
    return request


def write_answer(answer: JsonObject) -> bytes:
    """The body of an answer."""
    return orjson.dumps(answer)


def write_error(error: ApiError, kind: str | None = None) -> bytes:
    """The body of an error; `kind` replaces its code if the two differ."""
    return orjson.dumps({"__type": kind or error.code, "message": sound(error.message), **error.details})


def sound(text: str) -> str:
    """A text that can be encoded: messages quote the caller's texts, which may contain a lone surrogate."""
    return text.encode("utf-8", "backslashreplace").decode()
