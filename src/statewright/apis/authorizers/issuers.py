"""The public keys of issuers of tokens: from a file that the settings name, or from the issuer itself.

Owns when keys are read or fetched again. An issuer in `[issuers]` of `statewright.toml` is never asked over the
network. Others are asked by OpenID Connect discovery, one request at a time for each issuer; a key id that is not among
its keys has them fetched again, at most once in a while.

Source: OpenID Connect Discovery 1.0; RFC 7517; API Gateway developer guide (keys are kept for two hours).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from statewright.apis.authorizers.tokens import TokenRefused
from statewright.apis.calls import IntegrationFailed, Response
from statewright.clock import Clock
from statewright.integrations.http_requests import Request as Sent
from statewright.payload import Json, JsonMapping, JsonTextError, parse_json

log = logging.getLogger("statewright.apis")

KEPT_MS: Final = 2 * 3_600_000
AGAIN_MS: Final = 30_000
"""Least time between two requests to an issuer, also after a failure. Ours."""
TIMEOUT_MS: Final = 5_000
MOST_BYTES: Final = 256 * 1024
MOST_KEYS: Final = 100
"""Bounds of a set of keys. Ours."""
UNREACHABLE: Final = "OIDC discovery endpoint communication error"

Fetch = Callable[[Sent, int], Awaitable[Response]]
"""Sends a request within milliseconds. Raises: IntegrationFailed."""
Keys = Mapping[str, JsonMapping]
"""Keys as JWKs, by their id."""


class KeysMalformed(Exception):
    """A document that is no set of keys."""


@dataclass(slots=True)
class _Issuer:
    keys: Keys | None = None
    read_ms: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Issuers:
    """The keys of all issuers. `files` are those of the settings, by issuer."""

    def __init__(self, files: Mapping[str, str], clock: Clock, fetch: Fetch) -> None:
        self._files = files
        self._clock = clock
        self._fetch = fetch
        self._issuers: dict[str, _Issuer] = {}

    def is_given(self, issuer: str) -> bool:
        """True if the settings name the keys of an issuer."""
        return issuer in self._files

    async def key(self, issuer: str, key_id: str) -> JsonMapping:
        """A key of an issuer. Raises: TokenRefused."""
        found = self._issuers.setdefault(issuer, _Issuer())
        if self._is_due(found, key_id):
            async with found.lock:
                if self._is_due(found, key_id):
                    await self._read(issuer, found)
        if found.keys is None:
            raise TokenRefused(UNREACHABLE)
        if key_id not in found.keys:
            raise TokenRefused("the issuer has no key of the token's kid")
        return found.keys[key_id]

    def _is_due(self, found: _Issuer, key_id: str) -> bool:
        if found.read_ms == 0:
            return True
        age_ms = self._clock.now_ms() - found.read_ms
        if age_ms < AGAIN_MS:
            return False
        return found.keys is None or key_id not in found.keys or age_ms > KEPT_MS

    async def _read(self, issuer: str, found: _Issuer) -> None:
        try:
            if issuer in self._files:
                found.keys = keys_in(_file(self._files[issuer]))
            else:
                found.keys = keys_in(await self._fetched(issuer))
        except (KeysMalformed, OSError, IntegrationFailed, JsonTextError) as problem:
            # Keys that were found before are used on: an issuer may be away for a while.
            log.warning("the keys of the issuer %s cannot be read: %s", issuer[:200], problem)
        found.read_ms = self._clock.now_ms()

    async def _fetched(self, issuer: str) -> Json:
        described = await self._get(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        address = described.get("jwks_uri") if isinstance(described, dict) else None
        if not isinstance(address, str) or not address.startswith(("https://", "http://")):
            raise KeysMalformed("its OpenID configuration has no jwks_uri")
        return await self._get(address)

    async def _get(self, address: str) -> Json:
        answer = await self._fetch(Sent("GET", address, {"accept": "application/json"}, None), TIMEOUT_MS)
        if answer.status != 200 or len(answer.body) > MOST_BYTES:
            raise KeysMalformed(f"{address[:200]} answered with status {answer.status} and {len(answer.body)} bytes")
        return parse_json(answer.body)


def _file(path: str) -> Json:
    with Path(path).open("rb") as file:
        text = file.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise KeysMalformed(f"{path} is longer than {MOST_BYTES} bytes")
    return parse_json(text)


def keys_in(document: Json) -> Keys:
    """The keys of a JSON Web Key Set that have an id. Raises: KeysMalformed."""
    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list) or len(listed) > MOST_KEYS:
        raise KeysMalformed(f'it is no JSON Web Key Set: {{"keys": […]}} with at most {MOST_KEYS} keys')
    return {one["kid"]: one for one in listed if isinstance(one, dict) and isinstance(one.get("kid"), str)}
