"""Temporary credentials: known again, by another process too, until they expire."""

from __future__ import annotations

import base64
import time

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from statewright.api.auth import Request, verify
from statewright.errors import ApiError
from statewright.records.sessions import Session, Sessions
from statewright.stores.memory.store import MemoryStore
from statewright.virtual_clock import VirtualClock
from tests.unit.records.running import on_store

ARN = "arn:aws:sts::000000000000:assumed-role/r/me"


async def started(clock: VirtualClock, store: MemoryStore) -> Sessions:
    sessions = Sessions(store.catalogue, clock)
    await sessions.start()
    return sessions


def test_another_process_accepts_tokens_until_they_expire() -> None:
    async def story(clock: VirtualClock, store: MemoryStore) -> None:
        given = (await started(clock, store)).issue(ARN, "AROA:me", 900, "request")
        assert (given.access_key[:4], len(given.access_key), len(given.secret)) == ("ASIA", 20, 40)
        after = await started(clock, store)
        assert after.session_of({"x-amz-security-token": given.token}) == given
        assert (
            after.session_of({}, f"X-Amz-Security-Token={given.token.replace('+', '%2B').replace('/', '%2F')}") == given
        )
        await clock.sleep_until(given.expires_ms)
        with pytest.raises(ApiError) as caught:
            after.session_of({"x-amz-security-token": given.token})
        assert (caught.value.code, caught.value.status) == ("ExpiredTokenException", 403)

    on_store(story)


def test_foreign_tokens_belong_to_no_session() -> None:
    async def story(clock: VirtualClock, store: MemoryStore) -> None:
        sessions = await started(clock, store)
        given = sessions.issue(ARN, "AROA:me", 900, "request")
        raw = bytearray(base64.b64decode(given.token))
        raw[-3] ^= 1
        other = MemoryStore()
        await other.open("other")
        foreign = (await started(clock, other)).issue(ARN, "AROA:me", 900, "request")
        for token in (base64.b64encode(raw).decode(), foreign.token, "", "none", "bm9uZQ==", "é"):
            assert sessions.session_of({"x-amz-security-token": token}) is None
        assert sessions.session_of({}) is None
        await other.close()

    on_store(story)


def test_each_request_gets_its_own_credentials() -> None:
    async def story(clock: VirtualClock, store: MemoryStore) -> None:
        sessions = await started(clock, store)
        keys = {sessions.issue(ARN, "AROA:me", 900, str(number)).access_key for number in range(50)}
        assert len(keys) == 50

    on_store(story)


def test_signatures_of_botocore_are_verified() -> None:
    found: list[Session] = []

    async def story(clock: VirtualClock, store: MemoryStore) -> None:
        found.append((await started(clock, store)).issue(ARN, "AROA:me", 900, "request"))

    on_store(story)
    given = found[0]
    request = AWSRequest("POST", "http://127.0.0.1:4566/", {"Host": "127.0.0.1:4566"}, b"{}")
    SigV4Auth(Credentials(given.access_key, given.secret, given.token), "states", "us-east-1").add_auth(request)
    headers = {name.lower(): value for name, value in request.headers.items()}
    signed = Request("POST", "/", "", headers, b"{}")
    assert verify(signed, {"AKID": "x", given.access_key: given.secret}, time.time()) == given.access_key
    with pytest.raises(ApiError):
        verify(signed, {given.access_key: "x" * 40}, time.time())
