"""Temporary credentials: issues them, and recognises them when a request is signed with them.

They are not stored. A session token has the identity and the expiry, sealed with a key of the store; the secret is
derived from the access key. So they survive a restart and need no row. The verifier of signatures asks this module for
the secret that belongs to a token. A sealed token that is valid for longer than any operation issues is refused.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs

import orjson

from statewright import chance
from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.payload import JsonObject
from statewright.records.entries import SESSION_KEY, SessionKey
from statewright.records.generated_names import generated_name
from statewright.stores.entries import Entries
from statewright.stores.protocol import CatalogueStore

LONGEST_MS: Final = 36 * 3_600_000
"""No operation issues credentials for longer. Source: GetSessionToken, GetFederationToken."""
_KEY_BYTES: Final = 32
_SEAL_BYTES: Final = 32
_HEADER: Final = "x-amz-security-token"
_QUERY: Final = "X-Amz-Security-Token"


@dataclass(frozen=True, slots=True)
class Session:
    """Temporary credentials. `arn` and `user_id` are what GetCallerIdentity shows.

    `account` is the account that they are of, empty for the default one; the `arn` may name any.
    """

    access_key: str
    secret: str
    token: str
    arn: str
    user_id: str
    expires_ms: int
    account: str


class Sessions:
    """Issues and recognises temporary credentials.

    They are sealed with a secret of the store, or with the given key, for systems that show the same in every run.
    """

    def __init__(self, catalogue: CatalogueStore, clock: Clock, key: bytes | None = None) -> None:
        self._entries = Entries(catalogue, SESSION_KEY)
        self._clock = clock
        self._key = key
        self._loading = asyncio.Lock()

    async def start(self) -> None:
        """Read the store's key; the first server of a store generates it, as does one that finds a discarded key."""
        async with self._loading:
            if self._key is not None:
                return
            found = await self._entries.get("")
            if found is None or not found.key:
                stored = found.stored if found is not None else 0
                found = await self._entries.write(SessionKey(chance.secret_bytes(_KEY_BYTES), stored))
            self._key = found.key

    async def stop(self) -> None:
        """Do nothing; sessions hold no resources."""

    def issue(self, arn: str, user_id: str, seconds: int, request_id: str, account: str = "") -> Session:
        """Issue credentials for so many seconds, 36 hours at most; the same ones for the same request within one
        millisecond."""
        now_ms = self._clock.now_ms()
        access_key = generated_name("ASIA", f"{request_id} {now_ms} {arn}", 16)
        expires_ms = (now_ms // 1000 + min(seconds, LONGEST_MS // 1000)) * 1000
        members = {"key": access_key, "arn": arn, "id": user_id, "until": expires_ms}
        said = orjson.dumps({**members, "account": account} if account else members)
        token = base64.b64encode(self._sealed(b"token", said) + said).decode()
        return Session(access_key, self._secret(access_key), token, arn, user_id, expires_ms, account)

    def session_of(self, headers: Mapping[str, str], query: str = "") -> Session | None:
        """The session whose token a request carries, in its header or its query; None if Statewright did not issue it.

        Raises: ApiError (`ExpiredTokenException`).
        """
        token = headers.get(_HEADER)
        if token is None and (_QUERY in query or _HEADER in query):
            members = parse_qs(query)
            token = next((members[name][0] for name in (_QUERY, _HEADER) if name in members), None)
        session = self._opened(token) if token else None
        if session is not None and session.expires_ms <= self._clock.now_ms():
            raise ApiError("ExpiredTokenException", "The security token included in the request is expired", status=403)
        return session

    def secrets(self, config: Config, headers: Mapping[str, str], query: str) -> Mapping[str, str]:
        """Secrets by access key: those of the settings, and that of a request's session token.

        Raises: ApiError (`ExpiredTokenException`).
        """
        session = self.session_of(headers, query)
        if session is None or (session.account and session.account not in config.accounts.values()):
            # An account without keys has no sessions either: these calls would have the rights of another account.
            return config.credentials
        return {**config.credentials, session.access_key: session.secret}

    def _opened(self, token: str) -> Session | None:
        try:
            raw = base64.b64decode(token, validate=True)
        except (binascii.Error, ValueError):
            return None
        seal, said = raw[:_SEAL_BYTES], raw[_SEAL_BYTES:]
        if not hmac.compare_digest(seal, self._sealed(b"token", said)):
            return None
        found: JsonObject = orjson.loads(said)
        if found["until"] > self._clock.now_ms() + LONGEST_MS:
            # Never issued: sealed with a stolen key, or by a server whose clock was wrong.
            return None
        key = found["key"]
        account = found.get("account", "")
        return Session(key, self._secret(key), token, found["arn"], found["id"], found["until"], account)

    def _secret(self, access_key: str) -> str:
        return base64.b64encode(self._sealed(b"secret", access_key.encode())[:30]).decode()

    def _sealed(self, purpose: bytes, text: bytes) -> bytes:
        assert self._key is not None, "start() comes before the first session"
        return hashlib.blake2b(text, key=self._key, person=purpose, digest_size=_SEAL_BYTES).digest()
