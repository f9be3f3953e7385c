"""Executions of several machines as one list: as a sort of all rows gives it, whatever the shares of the machines."""

from __future__ import annotations

import asyncio
import random

import pytest

from statewright.stores.memory.store import MemoryStore
from statewright.stores.protocol import Row, Started, Thin
from statewright.stores.store import Store
from tests.contract.stores import START_MS, end, start

MACHINES = (7, 8, 9, 10)
CHILDREN = 10**15
"""Stands for a Map Run."""


async def fill(store: Store) -> list[Row]:
    """Rows of four machines, of which one has most, and of a Map Run; some start in the same millisecond."""
    chance = random.Random(5)
    rows = []
    for number in range(1, 181):
        machine = chance.choice([7, 7, 7, 7, 7, 8, 9, CHILDREN])
        commit = start(number, machine=machine, started_ms=START_MS + number // 3)
        await store.executions.commit(commit)
        status = chance.choice(["RUNNING", "SUCCEEDED", "FAILED"])
        if status == "RUNNING":
            rows.append(commit.row)
        else:
            closed = end(commit, 1, status)
            await store.executions.commit(closed)
            rows.append(closed.row)
    return rows


def thin(row: Row) -> Thin:
    return Thin(row.id, row.machine, row.name, row.status, row.started_ms, row.stopped_ms)


def expected(
    rows: list[Row], statuses: list[str], after: Started | None, since_ms: int, limit: int, oldest_first: bool
) -> list[Thin]:
    found = [row for row in rows if row.machine in MACHINES and row.started_ms >= since_ms]
    found = [row for row in found if not statuses or row.status in statuses]
    found.sort(key=lambda row: (row.started_ms, row.id), reverse=not oldest_first)
    if after is not None:
        found = [row for row in found if ((row.started_ms, row.id) > after) == oldest_first and row.id != after[1]]
    return [thin(row) for row in found[:limit]]


@pytest.mark.parametrize("oldest_first", [False, True])
@pytest.mark.parametrize("statuses", [[], ["RUNNING"], ["FAILED", "SUCCEEDED"]])
def test_the_list_is_that_of_a_sort(with_store, statuses, oldest_first):
    async def body(store: Store) -> None:
        rows = await fill(store)
        for since_ms in (0, START_MS + 20):
            for limit in (1, 7, 50, 500):
                after: Started | None = None
                for _ in range(3):
                    found = await store.executions.thin_rows(
                        MACHINES,
                        statuses=statuses,
                        after=after,
                        since_ms=since_ms,
                        limit=limit,
                        oldest_first=oldest_first,
                    )
                    assert found == expected(rows, statuses, after, since_ms, limit, oldest_first)
                    if not found:
                        break
                    after = (found[-1].started_ms, found[-1].id)

    with_store(body)


def test_no_machine_has_no_rows(with_store):
    async def body(store: Store) -> None:
        await fill(store)
        assert await store.executions.thin_rows([], statuses=[], after=None, since_ms=0, limit=9) == []
        assert await store.executions.thin_rows([99], statuses=[], after=None, since_ms=0, limit=9) == []

    with_store(body)


def test_rows_come_by_their_ids_in_the_order_asked_for(with_store):
    async def body(store: Store) -> None:
        rows = await fill(store)
        ids = [rows[20].id, 99_999, rows[3].id, rows[170].id]
        assert await store.executions.rows(ids) == [rows[20], rows[3], rows[170]]
        assert await store.executions.rows([]) == []

    with_store(body)


def test_the_places_of_an_upper_bound_are_those_before_it():
    async def body() -> None:
        store = MemoryStore()
        await store.open("test")
        await fill(store)
        found = await store.executions.thin_rows(
            MACHINES, statuses=[], after=(START_MS + 10, -1), since_ms=0, limit=500
        )
        assert max(row.started_ms for row in found) == START_MS + 9

    asyncio.run(body())
