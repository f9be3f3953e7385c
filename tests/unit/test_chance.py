"""Chance: from the operating system, or from a seed that follows a context."""

from __future__ import annotations

import asyncio
import contextvars
import re
from uuid import UUID

from statewright import chance


def drawn(seed: int) -> list[str]:
    def draw() -> list[str]:
        chance.sow(seed)
        return [chance.uuid4(), chance.random_bytes(8).hex(), chance.uuid4()]

    return contextvars.Context().run(draw)


def test_a_seed_decides():
    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert len(set(drawn(1))) == 3


def test_without_a_seed_nobody_foresees_it():
    assert chance.random_bytes(16) != chance.random_bytes(16)


def test_ids_are_version_four():
    for text in (chance.uuid4(), drawn(3)[0]):
        assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", text)


def test_tasks_and_timers_draw_by_the_seed_of_their_context():
    async def main() -> str:
        chance.sow(4)
        done = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(lambda: done.set_result(chance.uuid4()))
        return str(await done)

    assert asyncio.run(main()) == asyncio.run(main())
    assert chance.random_bytes(4) != chance.random_bytes(4)


def test_bits_are_as_many_as_were_asked_for():
    for count in (1, 8, 63, 64):
        drawn_bits = [chance.random_bits(count) for _ in range(200)]
        assert 0 <= min(drawn_bits) <= max(drawn_bits) < 1 << count
        assert max(drawn_bits) >= 1 << (count - 1)


def test_the_same_digest_is_the_same_uuid():
    digest = bytes(range(16))
    assert chance.uuid_of(digest) == str(UUID(bytes=digest, version=4))
    assert chance.uuid_of_name("a/b") == "91410e86-9161-5317-9576-be5c7660f085"


def test_no_seed_reaches_secrets():
    def draw() -> bytes:
        chance.sow(5)
        return chance.secret_bytes(8)

    assert contextvars.Context().run(draw) != contextvars.Context().run(draw)
