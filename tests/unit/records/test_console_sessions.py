"""Sign-ins to the console: a key opens one session, whose token is known again until the session ends."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from statewright.config import Config
from statewright.records.console_sessions import (
    CONSOLE_SESSION,
    KEY_MS,
    MOST_KEYS,
    MOST_SESSIONS,
    SESSION_MS,
    ConsoleSession,
    ConsoleSessions,
    Signer,
)
from statewright.stores.entries import Entries
from statewright.stores.memory.store import MemoryStore
from statewright.virtual_clock import VirtualClock
from tests.unit.records.running import on_store

KEYS = {"AKIA": "secret", "AKIB": "other"}
ME = Signer("AKIA")


async def sessions_of(
    clock: VirtualClock,
    store: MemoryStore,
    credentials: Mapping[str, str] = KEYS,
    accounts: Mapping[str, str] | None = None,
) -> ConsoleSessions:
    made = ConsoleSessions(store.catalogue, clock, Config(credentials=credentials, accounts=accounts or {}))
    await made.start()
    return made


async def signed_in(
    sessions: ConsoleSessions, signer: Signer = ME, *, may_write: bool = True
) -> tuple[str, ConsoleSession]:
    opened = await sessions.open(sessions.new_key(signer, may_write=may_write)[0])
    assert opened is not None
    return opened


def test_a_key_opens_one_session():
    async def story(clock: VirtualClock, store: MemoryStore) -> None:
        sessions = await sessions_of(clock, store)
        key, expires_ms = sessions.new_key(ME, may_write=False)
        assert expires_ms == clock.now_ms() + KEY_MS
        both = await asyncio.gather(sessions.open(key), sessions.open(key))
        (opened,) = [one for one in both if one is not None]
        token, session = opened
        assert (session.access_key, session.may_write) == ("AKIA", False)
        assert session.expires_ms == clock.now_ms() + SESSION_MS
        assert sessions.session_of(token) == session
        assert await sessions.open(key) is None
        for wrong in (token[:-1], token + "x", token.partition(".")[0], "", ".", "é", "x" * 10_000):
            assert sessions.session_of(wrong) is None

    on_store(story)


def test_keys_expire_and_old_ones_make_room():
    async def story(clock: VirtualClock, store: MemoryStore) -> None:
        sessions = await sessions_of(clock, store)
        late, expires_ms = sessions.new_key(ME, may_write=True)
        await clock.sleep_until(expires_ms)
        assert await sessions.open(late) is None
        first, *_, last = [sessions.new_key(ME, may_write=True)[0] for _ in range(MOST_KEYS + 1)]
        assert await sessions.open(first) is None
        assert await sessions.open(last) is not None

    on_store(story)


def test_a_session_outlives_the_process_but_not_its_time():
    async def story(clock: VirtualClock, store: MemoryStore) -> None:
        token, session = await signed_in(await sessions_of(clock, store))
        after = await sessions_of(clock, store)
        assert after.session_of(token) == session
        await clock.sleep_until(session.expires_ms)
        assert after.session_of(token) is None
        await sessions_of(clock, store)
        assert await Entries(store.catalogue, CONSOLE_SESSION).all() == []

    on_store(story)


def test_the_store_has_no_token():
    async def story(clock: VirtualClock, store: MemoryStore) -> None:
        token, _ = await signed_in(await sessions_of(clock, store))
        secret = token.partition(".")[2].encode()
        (row,) = await store.catalogue.list_entries(CONSOLE_SESSION.name, "", after=None, limit=9, newest_first=False)
        assert secret not in row.body

    on_store(story)


@pytest.mark.parametrize("changed", [{"AKIB": "other"}, {"AKIA": "changed"}, {}])
def test_a_session_ends_with_its_access_key_and_with_its_secret(changed):
    async def story(clock: VirtualClock, store: MemoryStore) -> None:
        token, _ = await signed_in(await sessions_of(clock, store))
        assert (await sessions_of(clock, store)).session_of(token) is not None
        changed_since = await sessions_of(clock, store, changed)
        assert changed_since.session_of(token) is None
        assert changed_since.sessions("") == []

    on_store(story)


def test_a_session_of_no_key_is_for_a_server_without_credentials():
    async def story(clock: VirtualClock, store: MemoryStore) -> None:
        open_to_all = await sessions_of(clock, store, {})
        token, _ = await signed_in(open_to_all, Signer(""))
        assert open_to_all.session_of(token) is not None
        strict = await sessions_of(clock, store)
        assert strict.session_of(token) is None
        assert await strict.open(strict.new_key(Signer(""), may_write=True)[0]) is None

    on_store(story)


def test_a_temporary_credential_takes_its_session_with_it():
    async def story(clock: VirtualClock, store: MemoryStore) -> None:
        sessions = await sessions_of(clock, store, accounts={"AKIB": "111122223333"})
        until_ms = clock.now_ms() + 900_000
        token, session = await signed_in(sessions, Signer("ASIA", "", until_ms))
        assert session.expires_ms == until_ms
        assert sessions.session_of(token) == session
        _, short = await signed_in(sessions, Signer("ASIA", "111122223333", until_ms))
        assert sessions.account_of(short) == "111122223333"
        elsewhere = sessions.new_key(Signer("ASIA", "444455556666", until_ms), may_write=True)[0]
        assert await sessions.open(elsewhere) is None
        await clock.sleep_until(until_ms)
        assert sessions.session_of(token) is None

    on_store(story)


def test_sessions_are_those_of_an_account():
    async def story(clock: VirtualClock, store: MemoryStore) -> None:
        accounts = {"AKIA": "000000000000", "AKIB": "111122223333"}
        sessions = await sessions_of(clock, store, accounts=accounts)
        _, mine = await signed_in(sessions)
        _, other = await signed_in(sessions, Signer("AKIB", "111122223333"))
        assert sessions.sessions("") == [mine]
        assert sessions.sessions("111122223333") == [other]

    on_store(story)


def test_a_session_that_is_ended_ends_what_waits_for_it():
    async def story(clock: VirtualClock, store: MemoryStore) -> None:
        sessions = await sessions_of(clock, store)
        token, session = await signed_in(sessions)
        waiting = asyncio.ensure_future(sessions.until_over(session))
        await asyncio.sleep(0)
        assert not waiting.done()
        await sessions.end(session)
        await waiting
        assert sessions.session_of(token) is None
        assert await Entries(store.catalogue, CONSOLE_SESSION).all() == []
        await sessions.until_over(session)
        _, next_one = await signed_in(sessions)
        began_ms = clock.now_ms()
        await sessions.until_over(next_one)
        assert clock.now_ms() - began_ms == SESSION_MS

    on_store(story)


def test_the_oldest_session_of_a_key_makes_room():
    async def story(clock: VirtualClock, store: MemoryStore) -> None:
        sessions = await sessions_of(clock, store)
        first, _ = await signed_in(sessions)
        await clock.sleep_until(clock.now_ms() + 1)
        other, _ = await signed_in(sessions, Signer("AKIB"))
        for _ in range(MOST_SESSIONS):
            last, _ = await signed_in(sessions)
        assert sessions.session_of(first) is None
        assert sessions.session_of(other) is not None
        assert sessions.session_of(last) is not None

    on_store(story)
