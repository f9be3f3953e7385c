"""Page tokens of lists: opaque, checked, bound to their list, and good for a day.

Owns how a place in a list is written into a token. The places themselves belong to the stores.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Final

import orjson

from statewright.errors import ApiError

LIFETIME_MS: Final = 24 * 3600 * 1000
"""Source: API reference, `nextToken`: "expires after 24 hours"."""
DEFAULT_RESULTS: Final = 100
"""Source: API reference, `maxResults`: "The default is 100"; 0 stands for it."""

_DIGEST_BYTES: Final = 9
_KEY: Final = b"statewright page token 1"

Place = tuple[int, str]


def page_size(max_results: int | None) -> int:
    """How many entries a page has; the service model has refused what is out of range."""
    return max_results or DEFAULT_RESULTS


def write_token(scope: str, place: Place | None, now_ms: int) -> str | None:
    """A token for the entries after a place; none for the end. `scope` names the list, arguments and all."""
    if place is None:
        return None
    body = orjson.dumps([place[0], place[1], now_ms])
    return base64.urlsafe_b64encode(_digest(scope, body) + body).decode()


def read_token(scope: str, token: str | None, now_ms: int) -> Place | None:
    """The place that a token of this list stands for.

    Raises: ApiError (`InvalidToken`) for garbage, a token of another list, or one older than a day.
    """
    if token is None:
        return None
    try:
        raw = base64.b64decode(token.encode(), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise invalid_token() from None
    body = raw[_DIGEST_BYTES:]
    if raw[:_DIGEST_BYTES] != _digest(scope, body):
        raise invalid_token()
    sort, key, issued_ms = orjson.loads(body)
    if now_ms - issued_ms > LIFETIME_MS:
        raise invalid_token()
    return sort, key


def invalid_token() -> ApiError:
    """The service's answer to a token that it does not know (observed)."""
    return ApiError("InvalidToken", "Invalid Token: 'Invalid token'")


def _digest(scope: str, body: bytes) -> bytes:
    # A checksum, not a secret: a forged token shows nobody more than the list does.
    return hashlib.blake2b(scope.encode() + b"\0" + body, key=_KEY, digest_size=_DIGEST_BYTES).digest()
