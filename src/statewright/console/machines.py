"""The list of state machines, with the number of executions in each status."""

from __future__ import annotations

from typing import Final

from statewright.console.asked import Asked
from statewright.console.context import Console
from statewright.payload import JsonObject

PAGE_ROWS: Final = 200


async def machines(console: Console, asked: Asked) -> JsonObject:
    """`{machines: [{arn, name, type, createdMs, counts}], next}`, by name."""
    engine = console.app_of(asked).engine
    found, token = await engine.machines.list_machines(asked.given.get("cursor") or None, PAGE_ROWS)
    rows = [
        {
            "arn": one.arn, "name": one.name, "type": one.type, "createdMs": one.created_ms,
            "counts": dict(await engine.shard.store.executions.count_by_status(one.id)),
        }
        for one in found
    ]  # fmt: skip
    return {"machines": rows, "next": token}


READS: Final = {"machines": machines}
