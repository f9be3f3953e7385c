"""Tables over every store: indexes, queries and scans agree with a plain model, whatever was written before."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from statewright.clock import RealClock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.stores.store import Store
from statewright.stores.table_protocol import Change, Decision, ItemKey, Span, StoredItem
from statewright.tables.altering import alter
from statewright.tables.table import Table, parse
from statewright.tables.tables import Tables
from statewright.tables.transactions import TOKEN_MS, TOKEN_TIMES, Cancelled, client_token_of, forget_tokens
from statewright.tables.writes import ConditionFailed, delete_of, put_of, update_of

Item = dict[str, dict[str, Any]]
KEYS = [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}]
REQUEST = {
    "TableName": "things",
    "KeySchema": KEYS,
    "AttributeDefinitions": [
        {"AttributeName": "p", "AttributeType": "S"},
        {"AttributeName": "s", "AttributeType": "N"},
        {"AttributeName": "g", "AttributeType": "S"},
        {"AttributeName": "l", "AttributeType": "N"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-g",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "by-l",
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}


def plain(item: StoredItem | Item) -> Item:
    return parse(item) if isinstance(item, StoredItem) else item


async def every(
    read: Callable[..., Any], table: Table, request: dict[str, Any], limit: int | None = None
) -> list[Item]:
    """All pages of a query or scan."""
    found: list[Item] = []
    request = dict(request) if limit is None else {**request, "Limit": limit}
    while True:
        page = await read(table, request)
        assert page.count == len(page.items)
        found += [plain(item) for item in page.items]
        if page.last is None:
            return found
        request["ExclusiveStartKey"] = page.last


def number(item: Item, name: str) -> int:
    return int(item[name]["N"])


def by_key(item: Item) -> tuple[str, int]:
    return item["p"]["S"], number(item, "s")


class World:
    """Tables on an open store, and what should be in them."""

    def __init__(self, tables: Tables, table: Table) -> None:
        self.tables = tables
        self.table = table
        self.model: dict[tuple[str, int], Item] = {}

    async def step(self, draw: random.Random) -> None:
        key: Item = {"p": {"S": draw.choice("ab")}, "s": {"N": str(draw.randrange(-3, 9))}}
        kind = draw.randrange(5)
        if kind == 0:
            await self.tables.write(delete_of(self.table, {"Key": key}))
            self.model.pop(by_key(key), None)
            return
        extra: Item = {}
        if draw.random() < 0.7:
            extra["g"] = {"S": draw.choice("xy")}
        if draw.random() < 0.7:
            extra["l"] = {"N": str(draw.randrange(5))}
        if kind < 4:
            item = {**key, **extra, "v": {"S": "v" * draw.randrange(5)}}
            await self.tables.write(put_of(self.table, {"Item": item}))
            self.model[by_key(key)] = item
            return
        request = {
            "Key": key,
            "UpdateExpression": "REMOVE g SET l = :l",
            "ExpressionAttributeValues": {":l": {"N": "2"}},
        }
        await self.tables.write(update_of(self.table, request))
        before = self.model.get(by_key(key), key)
        self.model[by_key(key)] = {**{name: v for name, v in before.items() if name != "g"}, "l": {"N": "2"}}

    async def check(self, limit: int | None) -> None:
        tables, table, items = self.tables, self.table, list(self.model.values())
        assert sorted(map(by_key, await every(tables.scan, table, {}, limit))) == sorted(self.model)
        shares = [await every(tables.scan, table, {"Segment": n, "TotalSegments": 3}, limit) for n in range(3)]
        assert sorted(by_key(item) for share in shares for item in share) == sorted(self.model)
        for part in "ab":
            request: dict[str, Any] = {
                "KeyConditionExpression": "p = :p AND s BETWEEN :low AND :high",
                "ExpressionAttributeValues": {":p": {"S": part}, ":low": {"N": "-1"}, ":high": {"N": "5"}},
            }
            wanted = sorted((i for i in items if i["p"]["S"] == part and -1 <= number(i, "s") <= 5), key=by_key)
            assert await every(tables.query, table, request, limit) == wanted
            assert await every(tables.query, table, {**request, "ScanIndexForward": False}, limit) == wanted[::-1]
            of_index: dict[str, Any] = {
                "IndexName": "by-l",
                "KeyConditionExpression": "p = :p AND l > :l",
                "ExpressionAttributeValues": {":p": {"S": part}, ":l": {"N": "0"}},
            }
            found = await every(tables.query, table, of_index, limit)
            chosen = [i for i in items if i["p"]["S"] == part and "l" in i and number(i, "l") > 0]
            assert [number(item, "l") for item in found] == sorted(number(item, "l") for item in chosen)
            assert sorted(found, key=by_key) == sorted(chosen, key=by_key)
        for value in "xy":
            request = {
                "IndexName": "by-g",
                "KeyConditionExpression": "g = :g",
                "ExpressionAttributeValues": {":g": {"S": value}},
            }
            found = await every(tables.query, table, request, limit)
            chosen = [i for i in items if i.get("g") == {"S": value} and "l" in i]
            assert sorted(map(by_key, found)) == sorted(map(by_key, chosen))
            assert [number(item, "l") for item in found] == sorted(number(item, "l") for item in chosen)
            assert all(set(item) == {"p", "s", "g", "l"} for item in found)
        counts = await tables.counts(table)
        assert counts[table.definition.space].items == len(items)
        local = table.definition.index("by-l")
        assert local is not None
        assert counts[local.space].items == sum("l" in item for item in items)


@pytest.fixture
def with_tables(make_store):
    def run(body: Callable[[World, Store], Any]) -> None:
        async def inner() -> None:
            store = make_store()
            await store.open("test")
            tables = Tables(store, RealClock(), Config())
            try:
                await tables.start()
                await body(World(tables, await tables.create(REQUEST)), store)
            finally:
                await tables.stop()
                await store.close()

        asyncio.run(inner())

    return run


@pytest.mark.parametrize("seed", range(3))
def test_reads_agree_with_a_model_whatever_was_written(with_tables, seed):
    async def body(world: World, _store: Store) -> None:
        draw = random.Random(seed)
        for _ in range(3):
            for _ in range(40):
                await world.step(draw)
            for limit in (None, 1, 3):
                await world.check(limit)

    with_tables(body)


@pytest.mark.parametrize("deleted", [0, 50])
def test_a_new_index_is_filled_while_items_change(with_tables, deleted):
    async def body(world: World, _store: Store) -> None:
        draw = random.Random(5)
        for n in range(500):
            item: Item = {"p": {"S": "a"}, "s": {"N": str(n)}, "k": {"S": "all"}}
            await world.tables.write(put_of(world.table, {"Item": item}))
        created = {
            "IndexName": "by-k",
            "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
        definitions = [{"AttributeName": "k", "AttributeType": "S"}]
        request = {"AttributeDefinitions": definitions, "GlobalSecondaryIndexUpdates": [{"Create": created}]}
        await alter(world.tables, world.table, request)
        gone = set(draw.sample(range(500), deleted))
        for n in gone:
            await world.tables.write(delete_of(world.table, {"Key": {"p": {"S": "a"}, "s": {"N": str(n)}}}))
        while (index := world.table.definition.index("by-k")) is not None and index.is_backfilling:
            await asyncio.sleep(0)
        await world.tables.at_rest()
        values = {":k": {"S": "all"}}
        query = {"IndexName": "by-k", "KeyConditionExpression": "k = :k", "ExpressionAttributeValues": values}
        found = await every(world.tables.query, world.table, query)
        assert sorted(number(item, "s") for item in found) == sorted(set(range(500)) - gone)
        assert index is not None
        if not deleted:
            assert (await world.tables.counts(world.table))[index.space].items == 500
        await alter(world.tables, world.table, {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-k"}}]})
        with pytest.raises(ApiError, match="does not have the specified index"):
            await world.tables.query(world.table, query)

    with_tables(body)


def test_a_hundred_conditional_updates_at_once_count_right(with_tables):
    async def body(world: World, _store: Store) -> None:
        key = {"p": {"S": "a"}, "s": {"N": "0"}}
        await world.tables.write(put_of(world.table, {"Item": {**key, "n": {"N": "0"}}}))

        def claim(value: int) -> Any:
            request = {
                "Key": key,
                "UpdateExpression": "SET n = n + :one",
                "ConditionExpression": "n = :seen",
                "ExpressionAttributeValues": {":one": {"N": "1"}, ":seen": {"N": str(value)}},
            }
            return world.tables.write(update_of(world.table, request))

        results = await asyncio.gather(*(claim(n // 2) for n in range(100)), return_exceptions=True)
        assert sum(isinstance(one, ConditionFailed) for one in results) == 50
        (found,) = await world.tables.get([world.table.place(key)])
        assert found is not None
        assert parse(found)["n"] == {"N": "50"}

    with_tables(body)


def test_transactions_are_all_or_nothing_and_tokens_are_known_after_a_restart(make_store):
    def put(sort: int, **condition: str) -> dict[str, Any]:
        item = {"p": {"S": "a"}, "s": {"N": str(sort)}, "l": {"N": "1"}}
        return {"Put": {"TableName": "things", "Item": item, **condition}}

    async def body() -> None:
        store = make_store()
        await store.open("first")
        tables = Tables(store, RealClock(), Config())
        await tables.start()
        table = await tables.create(REQUEST)
        fails = {"ConditionExpression": "attribute_exists(p)"}
        with pytest.raises(Cancelled) as caught:
            await tables.transact({"TransactItems": [put(1), put(2, **fails), put(3)]})
        assert [reason.code for reason in caught.value.reasons] == ["None", "ConditionalCheckFailed", "None"]
        assert await every(tables.scan, table, {}) == []
        assert await every(tables.scan, table, {"IndexName": "by-l"}) == []
        request = {"TransactItems": [put(1), put(2)], "ClientRequestToken": "token"}
        assert len(await tables.transact(request)) == 2
        await tables.stop()
        await store.close()

        await store.open("second")
        tables = Tables(store, RealClock(), Config())
        await tables.start()
        await tables.write(delete_of(tables.find("things"), {"Key": {"p": {"S": "a"}, "s": {"N": "1"}}}))
        assert await tables.transact(request) == []
        assert len(await every(tables.scan, tables.find("things"), {})) == 1
        with pytest.raises(ApiError, match="IdempotentParameterMismatchException"):
            await tables.transact({**request, "TransactItems": [put(1)]})
        await tables.stop()
        await store.close()

    asyncio.run(body())


def put_action(number: int) -> dict[str, Any]:
    return {"Put": {"TableName": "things", "Item": {"p": {"S": "a"}, "s": {"N": str(number)}}}}


def test_tokens_are_forgotten_and_those_of_format_1_are_still_read(make_store):
    """Format 1 had no JSON: the row by the token had the digest, the one by the instant the token, both its size."""

    async def body() -> None:
        store = make_store()
        await store.open("first")
        tables = Tables(store, RealClock(), Config())
        await tables.start()
        await tables.create(REQUEST)
        now_ms = tables.clock.now_ms()
        request = {"TransactItems": [put_action(1)], "ClientRequestToken": "{old"}
        token = client_token_of(request, now_ms)
        assert token is not None
        until_ms = now_ms + 60_000
        times = ItemKey(TOKEN_TIMES, b"", until_ms.to_bytes(8, "big") + b"{old")

        def decide(_found: Sequence[StoredItem | None]) -> Decision:
            rows = {token.place: StoredItem(until_ms, token.digest), times: StoredItem(until_ms, token.text)}
            return Decision(puts=rows)

        await store.tables.change(Change([], decide))
        assert await tables.transact(request) == []
        with pytest.raises(ApiError, match="IdempotentParameterMismatchException"):
            await tables.transact({**request, "TransactItems": [put_action(2)]})
        assert len(await tables.transact({"TransactItems": [put_action(3)], "ClientRequestToken": "new"})) == 1

        async def left() -> list[StoredItem | None]:
            return list(await store.tables.get([token.place, times, replace(token, text="new").place]))

        await forget_tokens(store.tables, until_ms)
        assert None not in await left()
        await forget_tokens(store.tables, until_ms + 1)
        assert [one is None for one in await left()] == [True, True, False]
        await forget_tokens(store.tables, now_ms + 2 * TOKEN_MS)
        assert await left() == [None, None, None]
        assert await store.tables.span(Span(TOKEN_TIMES, b"", b"", b"\xff" * 8), limit=9) == []
        assert len(await tables.transact(request)) == 1
        await tables.stop()
        await store.close()

    asyncio.run(body())


def test_a_deleted_table_leaves_nothing(with_tables):
    async def body(world: World, store: Store) -> None:
        draw = random.Random(1)
        for _ in range(50):
            await world.step(draw)
        spaces = world.table.definition.spaces
        write = put_of(world.table, {"Item": {"p": {"S": "a"}, "s": {"N": "1"}}})
        await world.tables.delete(world.table)
        with pytest.raises(ApiError, match="Requested resource not found"):
            await world.tables.write(write)
        again = await world.tables.create(REQUEST)
        assert set(again.definition.spaces).isdisjoint(spaces)
        assert await every(world.tables.scan, again, {}) == []
        while await store.catalogue.list_entries("table-remains", "", after=None, limit=9, newest_first=False):
            await asyncio.sleep(0)
        for space in spaces:
            assert await store.tables.scan(space, after=(b"", b""), below=b"\xff", limit=9) == []
        assert sum(count.items for count in (await store.tables.counts(spaces)).values()) == 0

    with_tables(body)


def test_a_stream_has_every_change_in_order_and_goes_on_after_a_restart(with_store):
    async def body(store: Store) -> None:
        tables = Tables(store, RealClock(), Config())
        await tables.start()
        specification = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
        table = await tables.create({**REQUEST, "StreamSpecification": specification})

        async def write(number: int) -> None:
            item = {"p": {"S": f"é{number % 5}"}, "s": {"N": str(number)}, "v": {"S": '"\\\u2028'}}
            await tables.write(put_of(table, {"Item": item}))

        async def read(after: str = "") -> list[tuple[str, str]]:
            assert table.stream is not None
            found = await tables.streams.read(table.stream, after)
            return [(one.number, one.new["s"]["N"]) for one, _ in found if one.new is not None]

        await asyncio.gather(*map(write, range(100)))
        item = {"p": {"S": "x"}, "s": {"N": "1"}}
        refused = put_of(table, {"Item": item, "ConditionExpression": "attribute_exists(p)"})
        with pytest.raises(ConditionFailed):
            await tables.write(refused)
        before = await read()
        assert sorted(before) == before
        assert {number for _, number in before} == set(map(str, range(100)))
        await tables.stop()

        tables = Tables(store, RealClock(), Config())
        await tables.start()
        table = tables.find("things")
        assert await read() == before
        await write(100)
        (after,) = await read(before[-1][0])
        assert after[1] == "100"
        await tables.catalogue.close_stream(table)
        await write(101)
        assert table.stream is None
        assert table.latest_stream is not None
        assert len(await tables.streams.read(table.latest_stream, before[-1][0])) == 1
        await tables.stop()

    with_store(body)
