"""Sign-ins to the console: one-time keys for the links that open it, and the sessions that pages swap them for.

A session is a row with a proof of its token, never the token. The proof is made with the secret of the access key that
signed for the link, so the sessions of a key end when it leaves the settings or gets another secret. One-time keys live
in memory for a minute.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

from statewright import chance
from statewright.clock import Clock
from statewright.config import Config
from statewright.stores.entries import Entries, EntryKind
from statewright.stores.protocol import CatalogueStore

KEY_MS: Final = 60_000
"""Life of a one-time key."""
SESSION_MS: Final = 12 * 3_600_000
MOST_KEYS: Final = 100
"""One-time keys that wait to be used; the oldest makes room for the next."""
MOST_SESSIONS: Final = 200
"""Sessions of one access key; the oldest ends when there are more."""
_KEY_BYTES: Final = 32
_ID_BYTES: Final = 8
_LONGEST_TOKEN: Final = 200


@dataclass(frozen=True, slots=True)
class ConsoleSession:
    """A sign-in to the console. `access_key` is empty on a server without credentials.

    `account` is that of the access key, empty for the default one. `proof` is made of the token, `mark` of the id, both
    with the secret of the access key. `is_temporary` is true for temporary credentials: their key is not in the
    settings, and their session ends when they do.
    """

    id: str
    access_key: str
    account: str
    proof: bytes
    mark: bytes
    created_ms: int
    expires_ms: int
    may_write: bool
    is_temporary: bool
    stored: int = 0


CONSOLE_SESSION: Final = EntryKind("console-session", ConsoleSession, lambda one: one.id)


@dataclass(frozen=True, slots=True)
class Signer:
    """The caller who asks for a link. `until_ms` is the end of a temporary credential."""

    access_key: str
    account: str = ""
    until_ms: int | None = None


@dataclass(frozen=True, slots=True)
class _Link:
    """A one-time key that waits to be used, by its digest."""

    digest: bytes
    signer: Signer
    may_write: bool
    expires_ms: int


class ConsoleSessions:
    """Issues one-time keys, and keeps the sessions that they open."""

    def __init__(self, catalogue: CatalogueStore, clock: Clock, config: Config) -> None:
        self._entries = Entries(catalogue, CONSOLE_SESSION)
        self._clock = clock
        self._config = config
        self._links: list[_Link] = []
        self._sessions: dict[str, ConsoleSession] = {}
        self._ends: dict[str, asyncio.Event] = {}

    async def start(self) -> None:
        """Read the sessions, and forget those that are over."""
        found = await self._entries.all()
        self._sessions = {one.id: one for one in found if self._goes_on(one)}
        over = [one for one in found if one.id not in self._sessions]
        if over:
            await self._entries.delete(*over)

    async def stop(self) -> None:
        """Forget the one-time keys; sessions are in the store."""
        self._links.clear()

    def new_key(self, signer: Signer, *, may_write: bool) -> tuple[str, int]:
        """A one-time key for a link, and when it expires."""
        now_ms = self._clock.now_ms()
        key = _text(chance.secret_bytes(_KEY_BYTES))
        expires_ms = min(now_ms + KEY_MS, signer.until_ms or now_ms + KEY_MS)
        self._links = [one for one in self._links if one.expires_ms > now_ms][-MOST_KEYS + 1 :]
        self._links.append(_Link(_digest(key), signer, may_write, expires_ms))
        return key, expires_ms

    async def open(self, key: str) -> tuple[str, ConsoleSession] | None:
        """The token and the session that a one-time key opens; None for one that is unknown, used or expired.

        The key is used up before anything is written, so that two requests with it open one session.
        """
        link = self._taken(key)
        now_ms = self._clock.now_ms()
        if link is None or link.expires_ms <= now_ms:
            return None
        session_id = chance.secret_bytes(_ID_BYTES).hex()
        token = f"{session_id}.{_text(chance.secret_bytes(_KEY_BYTES))}"
        signer = link.signer
        secret = self._secret_of(signer)
        if secret is None:
            return None
        until_ms = now_ms + SESSION_MS
        session = ConsoleSession(
            session_id, signer.access_key, signer.account, _proof(secret, token), _proof(secret, session_id), now_ms,
            until_ms if signer.until_ms is None else min(until_ms, signer.until_ms), link.may_write,
            signer.until_ms is not None,
        )  # fmt: skip
        self._sessions[session_id] = await self._entries.write(session)
        await self._make_room(signer.access_key)
        return token, self._sessions[session_id]

    def session_of(self, token: str) -> ConsoleSession | None:
        """The session of a token; None if there is none, or it is over."""
        if len(token) > _LONGEST_TOKEN or not token.isascii():
            return None
        session = self._sessions.get(token.partition(".")[0])
        if session is None or not self._goes_on(session):
            return None
        secret = self._secret_of(_signer_of(session))
        if secret is None or not hmac.compare_digest(_proof(secret, token), session.proof):
            return None
        return session

    def account_of(self, session: ConsoleSession) -> str:
        """The account of a session's access key as the settings have it; empty for the default one."""
        account = self._config.accounts.get(session.access_key, session.account)
        return "" if account == self._config.account else account

    def sessions(self, account: str) -> list[ConsoleSession]:
        """The sessions of an account, empty for the default one, that go on: newest first."""
        mine = [one for one in self._sessions.values() if self._goes_on(one) and self.account_of(one) == account]
        return sorted(mine, key=lambda one: (-one.created_ms, one.id))

    async def end(self, session: ConsoleSession) -> None:
        """End a session at once, with what it has open."""
        self._sessions.pop(session.id, None)
        ended = self._ends.pop(session.id, None)
        if ended is not None:
            ended.set()
        await self._entries.delete(session)

    async def until_over(self, session: ConsoleSession) -> None:
        """Return once a session has ended or expired."""
        if session.id not in self._sessions:
            return
        ended = self._ends.setdefault(session.id, asyncio.Event())
        timer = self._clock.call_at(session.expires_ms, ended.set)
        try:
            await ended.wait()
        finally:
            timer.cancel()

    def _goes_on(self, session: ConsoleSession) -> bool:
        secret = self._secret_of(_signer_of(session))
        is_same = secret is not None and hmac.compare_digest(_proof(secret, session.id), session.mark)
        return is_same and session.expires_ms > self._clock.now_ms()

    def _secret_of(self, signer: Signer) -> str | None:
        """The secret behind an access key, if it has one; None if the settings no longer let it in."""
        config = self._config
        if not signer.access_key:
            # Signed by no key: only for a server that verifies nothing.
            return None if config.credentials else ""
        if signer.until_ms is None:
            return config.credentials.get(signer.access_key)
        # The temporary credentials of an account are valid as long as it has a key.
        return "" if signer.account in ("", config.account, *config.accounts.values()) else None

    def _taken(self, key: str) -> _Link | None:
        digest = _digest(key)
        found = [one for one in self._links if hmac.compare_digest(one.digest, digest)]
        for one in found:
            self._links.remove(one)
        return found[0] if found else None

    async def _make_room(self, access_key: str) -> None:
        for one in [one for one in self._sessions.values() if not self._goes_on(one)]:
            await self.end(one)
        mine = sorted(
            (one for one in self._sessions.values() if one.access_key == access_key), key=lambda one: one.created_ms
        )
        for one in mine[:-MOST_SESSIONS]:
            await self.end(one)


def _signer_of(session: ConsoleSession) -> Signer:
    return Signer(session.access_key, session.account, session.expires_ms if session.is_temporary else None)


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


def _proof(secret: str, text: str) -> bytes:
    return hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest()
