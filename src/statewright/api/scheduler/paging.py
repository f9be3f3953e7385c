"""Tokens of lists: where the next page begins."""

from __future__ import annotations

import binascii
from base64 import b64decode, urlsafe_b64encode

from statewright.errors import ApiError
from statewright.payload import Json


def next_token(last: str | None) -> dict[str, Json]:
    """The member that says where to go on, if there is more."""
    return {} if last is None else {"NextToken": urlsafe_b64encode(last.encode()).decode()}


def read_token(request: Json) -> str | None:
    """Where a request goes on. Raises: ApiError (`ValidationException`)."""
    token = request.get("NextToken")
    if token is None:
        return None
    try:
        return b64decode(token, b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise ApiError("ValidationException", "Invalid NextToken.") from None
