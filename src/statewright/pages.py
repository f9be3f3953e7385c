"""Page tokens: the place at which a list continues, sent to callers and back.

A token is opaque, checked and bound to its list: base64 of a digest and of the place as JSON. The digest is a
checksum, not a secret: a forged token shows no more than the list itself does. Leaves the form of a place to the list,
and the error for a foreign token to its service.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar, cast

import orjson

from statewright.errors import ApiError

P = TypeVar("P")
T = TypeVar("T")

_DIGEST_BYTES: Final = 9
_KEY: Final = b"statewright page token 1"


def write_token(scope: str, place: object) -> str:
    """A token for the entries after a place: any JSON value. `scope` names the list."""
    body = orjson.dumps(place)
    return base64.urlsafe_b64encode(_digest(scope, body) + body).decode()


def read_token(scope: str, token: str) -> object:
    """The place in a token of this list, with tuples as lists. Raises: ValueError for every other text."""
    try:
        raw = base64.b64decode(token.encode(), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise ValueError("this text is not a page token") from None
    body = raw[_DIGEST_BYTES:]
    if raw[:_DIGEST_BYTES] != _digest(scope, body):
        raise ValueError("this is not a page token of this list")
    return orjson.loads(body)


def _digest(scope: str, body: bytes) -> bytes:
    """The checksum. Its first bit is clear, so that tokens begin with a letter: as an argument `-x` is an option."""
    digest = hashlib.blake2b(scope.encode() + b"\0" + body, key=_KEY, digest_size=_DIGEST_BYTES).digest()
    return bytes([digest[0] & 0x7F]) + digest[1:]


@dataclass(frozen=True)
class PageTokens(Generic[P]):
    """The tokens of lists whose places have one form: a JSON value, or a tuple of such.

    `scope` names the lists; `refusal` makes the service's error for a token, its argument, that they did not issue.
    """

    scope: str
    refusal: Callable[[str], ApiError]

    def write(self, place: P | None) -> str | None:
        """A token for the entries after a place; none for the end."""
        return None if place is None else write_token(self.scope, place)

    def read(self, token: str | None) -> P | None:
        """The place of a token; none for the beginning. Raises: ApiError."""
        if token is None:
            return None
        try:
            place = read_token(self.scope, token)
        except ValueError:
            raise self.refusal(token) from None
        return cast(P, tuple(place) if isinstance(place, list) else place)


def page_behind(
    found: Sequence[T], key: Callable[[T], str], after: str | None, limit: int
) -> tuple[Sequence[T], str | None]:
    """A page behind the entry with a key, and the key of its last entry if more follow: for tokens that are keys.

    Raises: ValueError when no entry has the key.
    """
    start = [key(one) for one in found].index(after) + 1 if after is not None else 0
    page = found[start : start + limit]
    return page, key(page[-1]) if page and start + limit < len(found) else None
