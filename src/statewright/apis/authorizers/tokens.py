"""JSON Web Tokens: reading them, and checking their signature, times, issuer and audience.

Owns which tokens are genuine. The signature is checked by `joserfc`, which is loaded when the first one is; everything
about a token that is not signed, its algorithm above all, is decided before. Source: RFC 7515, 7519, 8725; API Gateway
developer guide, "Control access to HTTP APIs with JWT authorizers"; some texts are those that users of the service
report, the others are ours.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from statewright.payload import Json, JsonMapping, JsonObject, JsonTextError, parse_json

if TYPE_CHECKING:
    from joserfc.jwk import RSAKey

ALGORITHMS: Final = ("RS256", "RS384", "RS512")
"""Source: developer guide, only RSA-based algorithms."""
LONGEST_TOKEN: Final = 16 * 1024
"""Characters of a token. Ours; all headers of a request to the service have 10,240 bytes."""
LEEWAY_SECONDS: Final = 60
"""Allowed difference of clocks for `nbf` and `iat`. Ours."""
_DEPTH: Final = 20
_LATEST: Final = 1 << 53
"""Seconds that a token may name: all of them are exact as a float."""


class TokenRefused(Exception):
    """A token that is not genuine, or not for this API; its text is shown to the client."""


class LibraryMissing(Exception):
    """The library for signatures is not installed."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it was sent: nothing in it is proved. `text` is the whole of it."""

    text: str
    header: JsonObject
    claims: JsonObject

    @classmethod
    def of(cls, text: str) -> Token:
        """Read a token. Raises: TokenRefused."""
        parts = text.split(".")
        if len(parts) != 3 or len(text) > LONGEST_TOKEN or not text.isascii():
            raise TokenRefused("invalid number of segments")
        header, claims = (_object(one) for one in parts[:2])
        algorithm = header.get("alg")
        if algorithm not in ALGORITHMS or "crit" in header:
            raise TokenRefused(f"signing method {_shown(algorithm)} is invalid")
        return cls(text, header, claims)

    @property
    def key_id(self) -> str:
        """The id of the key that signed it. Raises: TokenRefused."""
        found = self.header.get("kid")
        if not isinstance(found, str) or not found:
            raise TokenRefused("the token has no kid in its header")
        return found


def _object(part: str) -> JsonObject:
    try:
        found = parse_json(urlsafe_b64decode(part + "=" * (-len(part) % 4)), max_depth=_DEPTH)
    except (binascii.Error, ValueError, JsonTextError):
        raise TokenRefused("the token is malformed") from None
    if not isinstance(found, dict):
        raise TokenRefused("the token is malformed")
    return found


def _shown(value: Json) -> str:
    text = value if isinstance(value, str) else ""
    return "".join(char for char in text[:20] if char.isalnum() and char.isascii()) or "none"


def check_signature(token: Token, key: JsonMapping) -> None:
    """Check a token's signature by a public key, given as a JWK. Raises: TokenRefused, LibraryMissing."""
    try:
        from joserfc import jws
        from joserfc.errors import JoseError
    except ImportError:
        raise LibraryMissing from None
    algorithm = str(token.header["alg"])
    if key.get("kty") != "RSA" or key.get("alg", algorithm) != algorithm or key.get("use", "sig") != "sig":
        raise TokenRefused("the key of the token is not for its signing method")
    try:
        jws.deserialize_compact(token.text, _public_key(key["n"], key["e"]), algorithms=[algorithm])
    except (JoseError, ValueError, KeyError, TypeError):
        raise TokenRefused("the token has an invalid signature") from None


@lru_cache(maxsize=256)
def _public_key(modulus: str, exponent: str) -> RSAKey:
    """A public key, read once: that takes as long as a signature's check. Raises: JoseError, ValueError, TypeError."""
    from joserfc.jwk import RSAKey

    return RSAKey.import_key({"kty": "RSA", "n": modulus, "e": exponent})


def check_claims(token: Token, issuer: str, audience: Iterable[str], now_ms: int) -> None:
    """Check a genuine token's issuer, audience and times. Raises: TokenRefused.

    `client_id` counts where there is no `aud`. A token without `exp` is refused.
    """
    claims = token.claims
    if claims.get("iss") != issuer:
        raise TokenRefused("the token does not have a valid issuer")
    given = claims["aud"] if "aud" in claims else claims.get("client_id")
    if not set(_texts(given)) & set(audience):
        raise TokenRefused("the token does not have a valid audience")
    check_times(token, now_ms)


def check_times(token: Token, now_ms: int) -> None:
    """Check the times of a genuine token. Raises: TokenRefused."""
    now_seconds = now_ms / 1000
    if _instant(token, "exp") <= now_seconds:
        raise TokenRefused("the token has expired")
    for name in ("nbf", "iat"):
        if name in token.claims and _instant(token, name) > now_seconds + LEEWAY_SECONDS:
            raise TokenRefused("the token is not valid yet")


def _instant(token: Token, name: str) -> float:
    value = token.claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_LATEST < value < _LATEST:
        raise TokenRefused(f"the token has no valid {name}")
    return value


def scopes_of(claims: JsonMapping) -> list[str]:
    """The scopes of a token: `scope`, separated by blanks, or `scp`."""
    return [part for name in ("scope", "scp") for one in _texts(claims.get(name)) for part in one.split()]


def _texts(given: Json) -> Sequence[str]:
    if isinstance(given, str):
        return [given]
    return [one for one in given if isinstance(one, str)] if isinstance(given, list) else []


def claims_as_texts(claims: JsonMapping) -> dict[str, str]:
    """Claims as integrations see them: every value is a text, a list in brackets (`[a b]`)."""
    return {name: _as_text(value) for name, value in claims.items()}


def _as_text(value: Json) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{' '.join(_as_text(one) for one in value)}]"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{_as_text(one)}' for name, one in value.items())}]"
    return "" if value is None else str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
