from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from statewright.errors import ApiError
from statewright.tables.expiry import SCAN_EVERY_MS
from statewright.tables.writes import put_of, update_of
from tests.unit.tables.rig import Rig, new_table, play_on

REQUEST = new_table("sessions")


class Sessions(Rig):
    """A table whose items may expire."""

    async def put(self, name: str, after_seconds: float | None = None, **more: Any) -> None:
        item: dict[str, Any] = {"id": {"S": name}, **more}
        if after_seconds is not None:
            item["until"] = {"N": str(self.clock.now_ms() // 1000 + after_seconds)}
        await self.tables.write(put_of(self.table, {"Item": item}))

    async def names(self) -> list[str]:
        page = await self.tables.scan(self.table, {"ProjectionExpression": "id"})
        return sorted(item["id"]["S"] for item in page.items if isinstance(item, dict))


def play(body: Callable[[Sessions], Awaitable[None]]) -> None:
    play_on(Sessions, REQUEST, body)


def test_expired_items_are_deleted():
    async def body(rig: Sessions) -> None:
        await rig.put("before", 20)
        await rig.tables.expiry.switch(rig.table, "until", enabled=True)
        await rig.put("soon", 5)
        await rig.put("late", 3600)
        await rig.put("never")
        await rig.put("text", until={"S": "1"})
        await rig.put("ancient", -6 * 365 * 86_400)
        assert len(await rig.names()) == 6
        await rig.pass_time(SCAN_EVERY_MS + 1)
        assert await rig.names() == ["ancient", "before", "late", "never", "text"]
        await rig.pass_time(2 * SCAN_EVERY_MS)
        assert await rig.names() == ["ancient", "late", "never", "text"]
        assert (await rig.tables.counts(rig.table))[rig.table.definition.space].items == 4

    play(body)


def test_a_postponed_expiry_is_respected():
    async def body(rig: Sessions) -> None:
        await rig.tables.expiry.switch(rig.table, "until", enabled=True)
        await rig.put("kept", 5)
        later = {"N": str(rig.clock.now_ms() // 1000 + 3600)}
        request = {
            "Key": {"id": {"S": "kept"}},
            "UpdateExpression": "SET #u = :u",
            "ExpressionAttributeNames": {"#u": "until"},
            "ExpressionAttributeValues": {":u": later},
        }
        await rig.tables.write(update_of(rig.table, request))
        await rig.pass_time(10 * SCAN_EVERY_MS)
        assert await rig.names() == ["kept"]

    play(body)


def test_many_items_expire_in_steps_and_after_a_restart():
    async def body(rig: Sessions) -> None:
        for number in range(700):
            await rig.put(f"n{number}", 5)
        await rig.tables.expiry.switch(rig.table, "until", enabled=True)
        await rig.restart()
        await rig.pass_time(2 * SCAN_EVERY_MS)
        assert await rig.names() == []
        ttl = rig.table.definition.time_to_live
        assert ttl is not None
        assert ttl.is_filled

    play(body)


def test_nothing_expires_once_it_is_switched_off():
    async def body(rig: Sessions) -> None:
        await rig.tables.expiry.switch(rig.table, "until", enabled=True)
        await rig.put("kept", 5)
        with pytest.raises(ApiError, match="TimeToLive is active on a different AttributeName"):
            await rig.tables.expiry.switch(rig.table, "other", enabled=True)
        with pytest.raises(ApiError, match="current AttributeName is until"):
            await rig.tables.expiry.switch(rig.table, "other", enabled=False)
        await rig.tables.expiry.switch(rig.table, "until", enabled=False)
        await rig.pass_time(5 * SCAN_EVERY_MS)
        assert await rig.names() == ["kept"]

    play(body)
