"""Session tokens that nobody issued: changed in any bit, sealed with another key, or with a stolen one for years."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Awaitable, Callable

import orjson

from statewright.records.entries import SESSION_KEY
from statewright.records.sessions import LONGEST_MS, Session, Sessions
from statewright.stores.entries import Entries
from statewright.stores.memory.store import MemoryStore
from statewright.stores.protocol import EntryRow
from statewright.virtual_clock import VirtualClock, run_virtual

ARN = "arn:aws:sts::000000000000:assumed-role/r/me"
OLD_KEY = bytes(range(32))
YEARS_MS = 10 * 365 * 86_400_000


def story(run: Callable[[VirtualClock, MemoryStore], Awaitable[None]]) -> None:
    async def main(clock: VirtualClock) -> None:
        store = MemoryStore()
        await store.open("attack")
        await run(clock, store)
        await store.close()

    run_virtual(main)


async def started(clock: VirtualClock, store: MemoryStore) -> Sessions:
    sessions = Sessions(store.catalogue, clock)
    await sessions.start()
    return sessions


def opened(sessions: Sessions, token: str) -> Session | None:
    return sessions.session_of({"x-amz-security-token": token})


def forged(key: bytes, until_ms: int) -> str:
    """A token as the server makes them, by someone who has a key."""
    said = orjson.dumps({"key": "ASIAFORGED", "arn": ARN, "id": "AROA:me", "until": until_ms})
    return base64.b64encode(hashlib.blake2b(said, key=key, person=b"token", digest_size=32).digest() + said).decode()


def test_no_changed_bit_is_accepted() -> None:
    async def run(clock: VirtualClock, store: MemoryStore) -> None:
        sessions = await started(clock, store)
        given = sessions.issue(ARN, "AROA:me", 900, "request")
        raw = base64.b64decode(given.token)
        for bit in range(8 * len(raw)):
            flipped = bytearray(raw)
            flipped[bit // 8] ^= 1 << bit % 8
            assert opened(sessions, base64.b64encode(flipped).decode()) is None, f"bit {bit}"
        for changed in (raw[:-1], raw + b" ", raw[1:], raw[:32], raw[32:], raw + raw, raw[::-1]):
            assert opened(sessions, base64.b64encode(changed).decode()) is None
        for text in (
            given.token[:-4],
            given.token + "AAAA",
            given.token + "\n",
            f" {given.token}",
            "=" * 40,
            "\0",
            "é",
        ):
            assert opened(sessions, text) is None
        assert opened(sessions, given.token) == given

    story(run)


def test_a_stolen_key_seals_nothing_for_longer_than_is_ever_issued() -> None:
    async def run(clock: VirtualClock, store: MemoryStore) -> None:
        sessions = await started(clock, store)
        found = await Entries(store.catalogue, SESSION_KEY).get("")
        assert found is not None
        now_ms = clock.now_ms()
        assert opened(sessions, forged(found.key, now_ms + YEARS_MS)) is None
        assert opened(sessions, forged(found.key, now_ms + LONGEST_MS + 1)) is None
        assert opened(sessions, forged(found.key, now_ms + LONGEST_MS)) is not None, "the key is the one in use"
        longest = sessions.issue(ARN, "AROA:me", YEARS_MS // 1000, "request")
        assert longest.expires_ms <= now_ms + LONGEST_MS
        assert opened(sessions, longest.token) == longest

    story(run)


def test_the_key_of_a_folder_that_was_open_is_replaced_once() -> None:
    async def run(clock: VirtualClock, store: MemoryStore) -> None:
        body = orjson.dumps({"key": base64.b64encode(OLD_KEY).decode()})
        await store.catalogue.write([EntryRow("session-key", "", "", 0, 1, body)], [])
        before = forged(OLD_KEY, clock.now_ms() + 900_000)
        sessions = await started(clock, store)
        assert opened(sessions, before) is None
        given = sessions.issue(ARN, "AROA:me", 900, "request")
        assert opened(await started(clock, store), given.token) == given, "a restart keeps the new key"

    story(run)
