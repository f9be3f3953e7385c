"""Marks of stacks that an earlier program has written."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from statewright.stacks.index import Index
from statewright.stacks.records import STACK, Output, StackEntry
from statewright.stores.entries import Entries
from statewright.stores.memory.store import MemoryStore


def test_stacks_without_marks_get_them_at_the_start() -> None:
    async def main() -> None:
        store = MemoryStore()
        await store.open("test")
        catalogue = store.catalogue
        index, stacks = Index(catalogue), Entries(catalogue, STACK)
        owner = StackEntry("1", "owner", "arn:1", 1, "CREATE_COMPLETE", outputs=[Output("N", "value", export="orders")])
        await stacks.write(owner)
        await stacks.write(replace(owner, id="2", name="user", arn="arn:2", outputs=[], imports=["orders"]))
        await stacks.write(replace(owner, id="3", name="gone", arn="arn:3", status="DELETE_COMPLETE"))
        assert await index.named("owner") is None
        for _ in range(2):
            await index.complete()
        assert [await index.named(name) for name in ("owner", "user", "gone")] == ["1", "2", None]
        found = await index.export("orders")
        assert found is not None
        assert (found[0].name, found[1]) == ("owner", "value")
        assert await index.export("orders", besides="1") is None
        assert await index.users_of("orders") == ["user"]

    asyncio.run(main())
