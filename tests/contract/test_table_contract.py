"""What every store does with items of tables, one suite over all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from statewright.errors import ApiError, Unavailable
from statewright.stores.store import Store
from statewright.stores.table_protocol import Change, Counted, Decision, ItemKey, Span, StoredItem

ODD = '{"a":{"S":"\\u0000\\"\\\\ é \U0001f600 \u2028"}}'


def key(sort: int | bytes = 0, part: bytes = b"p", space: int = 1) -> ItemKey:
    return ItemKey(space, part, sort if isinstance(sort, bytes) else b"%03d" % sort)


def item(text: str = "{}") -> StoredItem:
    return StoredItem(len(text), text)


def put(*items: tuple[ItemKey, StoredItem], **counts: int) -> Change:
    return Change([], lambda _: Decision("done", dict(items), counts={1: Counted(**counts)} if counts else {}))


def drop(*keys: ItemKey) -> Change:
    return Change([], lambda _: Decision(drops=set(keys)))


async def fill(store: Store, many: int, part: bytes = b"p") -> list[StoredItem]:
    items = [(key(number, part), item(f'{{"n":{number}}}')) for number in range(many)]
    assert await store.tables.change(put(*items)) == "done"
    return [one for _, one in items]


def test_an_item_is_found_until_it_is_dropped(with_store):
    async def body(store: Store) -> None:
        wanted = [key(1), key(2), key(3)]
        assert await store.tables.get(wanted) == [None] * 3
        await store.tables.change(put((key(1), item(ODD)), (key(3), item())))
        assert await store.tables.get(wanted) == [item(ODD), None, item()]
        assert await store.tables.get([key(1)]) == [item(ODD)]
        await store.tables.change(put((key(1), item("[]"))))
        assert await store.tables.get([key(1), key(1)]) == [item("[]"), item("[]")]
        await store.tables.change(drop(key(1), key(2)))
        assert await store.tables.get(wanted) == [None, None, item()]
        assert await store.tables.get([key(2)]) == [None]

    with_store(body)


def test_a_change_sees_what_the_one_before_it_wrote(with_store):
    def add_one(found: Sequence[StoredItem | None]) -> Decision:
        (before,) = found
        number = int(before.body) if before is not None else 0
        return Decision(number, {key(): item(str(number + 1))})

    async def body(store: Store) -> None:
        answers = await asyncio.gather(*(store.tables.change(Change([key()], add_one)) for _ in range(300)))
        assert sorted(answers) == list(range(300))
        assert await store.tables.get([key()]) == [item("300")]

    with_store(body)


def test_a_change_that_refuses_writes_nothing_and_harms_nobody(with_store):
    def refuse(_found: Sequence[StoredItem | None]) -> Decision:
        raise ApiError("No", "not this one")

    async def body(store: Store) -> None:
        changes = [put((key(1), item())), Change([key(1)], refuse), put((key(2), item()))]
        answers = await asyncio.gather(*map(store.tables.change, changes), return_exceptions=True)
        assert [type(answer) for answer in answers] == [str, ApiError, str]
        assert await store.tables.get([key(1), key(2)]) == [item(), item()]

    with_store(body)


def test_put_after_drop_and_drop_after_put_in_one_group(with_store):
    async def body(store: Store) -> None:
        await store.tables.change(put((key(1), item("1"))))
        changes = [drop(key(1)), put((key(1), item("2"))), put((key(2), item("2"))), drop(key(2))]
        await asyncio.gather(*map(store.tables.change, changes))
        assert await store.tables.get([key(1), key(2)]) == [item("2"), None]

    with_store(body)


@pytest.mark.parametrize(
    ("low", "high", "limit", "backward", "expected"),
    [
        (b"", b"\xff", 100, False, range(10)),
        (b"", b"\xff", 3, False, range(3)),
        (b"", b"\xff", 3, True, [9, 8, 7]),
        (b"003", b"006", 100, False, [3, 4, 5]),
        (b"003", b"006", 2, True, [5, 4]),
        (b"003\x00", b"\xff", 2, False, [4, 5]),
        (b"5", b"\xff", 2, False, []),
        (b"006", b"003", 2, True, []),
    ],
)
def test_spans_of_a_part_are_in_order(with_store, low, high, limit, backward, expected):
    async def body(store: Store) -> None:
        items = await fill(store, 10)
        await fill(store, 3, b"o")
        await fill(store, 3, b"q")
        found = await store.tables.span(Span(1, b"p", low, high), limit=limit, backward=backward)
        assert found == [items[number] for number in expected]

    with_store(body)


def test_a_scan_goes_on_from_a_place_and_ends_before_a_part(with_store):
    async def body(store: Store) -> None:
        for part in (b"a", b"b", b"c"):
            await fill(store, 3, part)
        await store.tables.change(put((key(0, b"a", 2), item("other"))))

        async def scan(after: tuple[bytes, bytes], below: bytes, limit: int) -> list[str]:
            return [one.body for one in await store.tables.scan(1, after=after, below=below, limit=limit)]

        assert len(await scan((b"", b""), b"\xff", 100)) == 9
        assert await scan((b"a", b"001"), b"c", 100) == ['{"n":2}', '{"n":0}', '{"n":1}', '{"n":2}']
        assert await scan((b"b", b""), b"\xff", 2) == ['{"n":0}', '{"n":1}']
        assert await scan((b"c", b"002"), b"\xff", 2) == []

    with_store(body)


def test_counters_add_up_and_go_with_their_space(with_store):
    async def body(store: Store) -> None:
        assert await store.tables.counts([1, 2]) == {1: Counted(0, 0), 2: Counted(0, 0)}
        await asyncio.gather(*(store.tables.change(put(items=1, bytes=10)) for _ in range(5)))
        await store.tables.change(put(items=-1, bytes=-4))
        assert await store.tables.counts([1, 2]) == {1: Counted(4, 46), 2: Counted(0, 0)}
        await fill(store, 5)
        await store.tables.change(put((key(0, space=2), item())))
        assert await store.tables.clear(1, 3) == 3
        assert await store.tables.clear(1, 3) == 2
        assert await store.tables.clear(1, 3) == 0
        assert await store.tables.counts([1]) == {1: Counted(0, 0)}
        assert await store.tables.get([key(0, space=2)]) == [item()]

    with_store(body)


def test_many_keys_and_large_items_fit_into_one_change(with_store):
    large = item(f'{{"a":{{"S":"{"x" * 400_000}"}}}}')

    async def body(store: Store) -> None:
        keys = [key(number) for number in range(1_300)]
        await store.tables.change(put(*((one, item()) for one in keys)))
        await store.tables.change(put((keys[7], large)))
        found = await store.tables.change(Change(keys, lambda items: Decision(list(items))))
        assert found == await store.tables.get(keys)
        assert found[7] == large
        assert None not in found

    with_store(body)


def test_items_outlive_a_restart_and_a_closed_store_says_so(make_store):
    async def body() -> None:
        store = make_store()
        await store.open("first")
        await store.tables.change(put((key(), item(ODD)), items=1, bytes=5))
        await store.close()
        with pytest.raises(Unavailable):
            await store.tables.change(put((key(), item())))
        with pytest.raises(Unavailable):
            await store.tables.get([key()])
        await store.open("second")
        assert await store.tables.get([key()]) == [item(ODD)]
        assert await store.tables.counts([1]) == {1: Counted(1, 5)}
        await store.close()

    asyncio.run(body())
