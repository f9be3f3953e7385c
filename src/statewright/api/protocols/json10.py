"""AWS JSON 1.0: the operation in `X-Amz-Target`, one JSON object each way, errors as `{"__type", "message"}`."""

from __future__ import annotations

from typing import Any, Final

import orjson

from statewright.errors import ApiError
from statewright.payload import JsonTextError, parse_json

CONTENT_TYPE: Final = b"application/x-amz-json-1.0"
_JSON_TYPES: Final = frozenset({"application/x-amz-json-1.0", "application/x-amz-json-1.1", "application/json", ""})


def read_request(content_type: str, body: bytes) -> dict[str, Any]:
    """The request's members.

    Raises: ApiError for a body that is not one JSON object, or was not sent as JSON: forms and plain text are what a
        web page can send anywhere without asking.
    """
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type not in _JSON_TYPES:
        raise ApiError(
            "UnsupportedMediaType", f"Content-Type is '{media_type}'; send Content-Type: application/x-amz-json-1.0."
        )
    if not body:
        return {}
    try:
        request = parse_json(body)
    except JsonTextError as problem:
        raise ApiError("SerializationException", f"The request is not JSON: {problem.message}") from None
    if not isinstance(request, dict):
        raise ApiError("SerializationException", "The request is not a JSON object")
    return request


def write_answer(answer: dict[str, Any]) -> bytes:
    """The body of an answer."""
    return orjson.dumps(answer)


def write_error(error: ApiError) -> bytes:
    """The body of an error."""
    return orjson.dumps({"__type": error.code, "message": _sound(error.message)})


def _sound(text: str) -> str:
    # What callers sent is quoted in messages; a lone surrogate in it cannot be written.
    return text.encode("utf-8", "backslashreplace").decode()
