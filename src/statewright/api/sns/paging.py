"""Tokens of lists: where the next page begins. A page has 100 entries. Source: API reference, ListTopics."""

from __future__ import annotations

import binascii
from base64 import b64decode, urlsafe_b64encode
from typing import Final

from statewright.payload import Json
from statewright.topics.refusals import invalid

PAGE: Final = 100


def next_token(last: str | int | None) -> dict[str, Json]:
    """The member that says where to go on, if there is more."""
    return {} if last is None else {"NextToken": urlsafe_b64encode(str(last).encode()).decode()}


def read_token(request: Json) -> str | None:
    """Where a request goes on. Raises: ApiError (`InvalidParameter`)."""
    token = request.get("NextToken")
    if not token:
        return None
    try:
        return b64decode(token, b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise invalid("NextToken") from None


def read_number(request: Json) -> int | None:
    """Where a request goes on, as a number. Raises: ApiError (`InvalidParameter`)."""
    token = read_token(request)
    if token is None:
        return None
    if not (token.isascii() and token.isdigit() and len(token) < 19):
        raise invalid("NextToken")
    return int(token)
