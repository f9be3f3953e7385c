"""What every store does with objects and multipart uploads, one suite over all of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from statewright.stores.object_rows import (
    IN_FILE,
    IN_ROW,
    IN_SEGMENTS,
    NO_OBJECT,
    BucketRow,
    Deletion,
    Demand,
    Missing,
    ObjectRow,
    Refused,
    SegmentRow,
    UploadRow,
    Written,
)
from statewright.stores.protocol import EntryRow
from statewright.stores.store import Store

BUCKET = BucketRow(1, "bucket", 5, b"{}")
ANYHOW = Demand()


def row(key: bytes, number: int, place: int = IN_ROW, etag: str = "e") -> ObjectRow:
    return ObjectRow(1, key, number, 3, 7, etag, place, b"head")


def part(number: int, file: int, place: int = IN_FILE) -> SegmentRow:
    return SegmentRow(50, number, file, 3, place, b"part")


async def put(store: Store, *rows: ObjectRow) -> None:
    for one in rows:
        outcome = await store.objects.put(one, b"abc" if one.place == IN_ROW else None, ANYHOW)
        assert isinstance(outcome, Written)


async def stand(store: Store) -> None:
    assert await store.objects.put_bucket(BUCKET)


def test_buckets_have_a_name_once_and_change_by_id(with_store):
    async def body(store: Store) -> None:
        assert await store.objects.buckets() == []
        await stand(store)
        assert not await store.objects.put_bucket(replace(BUCKET, id=2))
        assert await store.objects.put_bucket(replace(BUCKET, body=b"changed"))
        assert await store.objects.put_bucket(BucketRow(3, "a-bucket", 9, b"{}"))
        assert await store.objects.buckets() == [BucketRow(3, "a-bucket", 9, b"{}"), replace(BUCKET, body=b"changed")]

    with_store(body)


@pytest.mark.parametrize("place", [IN_ROW, IN_FILE])
def test_an_object_is_found_until_it_is_deleted(with_store, place):
    async def body(store: Store) -> None:
        await stand(store)
        one = row(b"a\x00\xff/../b", 10, place)
        await store.objects.doom([10])
        await put(store, one)
        assert await store.objects.doomed(9) == ([] if place == IN_FILE else [10])
        assert await store.objects.find(1, one.key) == (one, b"abc" if place == IN_ROW else None)
        assert await store.objects.find(1, b"a") is None
        assert await store.objects.find(2, one.key) is None
        freed = (10,) if place == IN_FILE else ()
        assert await store.objects.delete(1, [Deletion(one.key, ANYHOW), Deletion(b"nobody", ANYHOW)]) == [
            Written(freed),
            Written(),
        ]
        assert await store.objects.find(1, one.key) is None
        assert await store.objects.bodies([10]) == {}
        assert await store.objects.doomed(9) == [10]

    with_store(body)


def test_a_write_over_an_object_dooms_its_file(with_store):
    async def body(store: Store) -> None:
        await stand(store)
        await put(store, row(b"k", 10, IN_FILE))
        assert await store.objects.put(row(b"k", 11, IN_FILE), None, ANYHOW) == Written((10,))
        assert await store.objects.put(row(b"k", 12), b"abc", ANYHOW) == Written((11,))
        assert await store.objects.put(row(b"k", 13), b"def", ANYHOW) == Written(())
        assert await store.objects.find(1, b"k") == (row(b"k", 13), b"def")
        assert await store.objects.bodies([12]) == {}
        assert await store.objects.doomed(1) == [10]
        await store.objects.buried([10])
        assert await store.objects.doomed(9) == [11]

    with_store(body)


@pytest.mark.parametrize(
    ("demand", "over_nothing", "over_one"),
    [
        (Demand(), True, True),
        (Demand(absent=True), True, False),
        (Demand(etag="e"), False, True),
        (Demand(etag="*"), False, True),
        (Demand(etag="other"), False, False),
        (Demand(seen=NO_OBJECT), True, False),
        (Demand(etag="e", seen=10), False, True),
        (Demand(etag="e", seen=9), False, False),
    ],
)
def test_writes_and_deletes_that_demand_something(with_store, demand, over_nothing, over_one):
    async def body(store: Store) -> None:
        await stand(store)
        await put(store, row(b"there", 10))
        first = await store.objects.put(row(b"new", 11), b"abc", demand)
        assert first == (Written() if over_nothing else Refused(None))
        second = await store.objects.put(row(b"there", 12), b"abc", demand)
        assert second == (Written() if over_one else Refused(row(b"there", 10)))
        if not demand.absent and demand.seen is None:
            (third,) = await store.objects.delete(1, [Deletion(b"there", demand)])
            assert isinstance(third, Written if over_one else Refused)

    with_store(body)


def test_nothing_is_written_into_a_bucket_that_is_not_there(with_store):
    async def body(store: Store) -> None:
        assert await store.objects.put(row(b"k", 10), b"abc", ANYHOW) == Missing()
        assert await store.objects.bodies([10]) == {}
        assert not await store.uploads.create(UploadRow(50, 1, b"k", 5, b"head"))
        assert await store.objects.delete(1, [Deletion(b"k", ANYHOW)]) == [Written()]
        assert (await store.objects.keys(1, prefix=b"", delimiter=b"", start=b"", limit=9)).entries == []

    with_store(body)


def test_only_an_empty_bucket_is_dropped_and_its_uploads_go_with_it(with_store):
    async def body(store: Store) -> None:
        await stand(store)
        await put(store, row(b"k", 10))
        await store.uploads.create(UploadRow(50, 1, b"k", 5, b"head"))
        await store.uploads.put_part(part(1, 60), None)
        await store.uploads.put_part(part(2, 61, IN_ROW), b"abc")
        assert await store.objects.drop_bucket(1) is None
        await store.objects.delete(1, [Deletion(b"k", ANYHOW)])
        assert await store.objects.drop_bucket(1) == (60,)
        assert await store.objects.buckets() == []
        assert await store.uploads.find(50) is None
        assert await store.objects.bodies([61]) == {}

    with_store(body)


def test_a_head_changes_while_its_object_stands(with_store):
    async def body(store: Store) -> None:
        await stand(store)
        await put(store, row(b"k", 10))
        assert await store.objects.change_head(row(b"k", 10), b"new head")
        assert not await store.objects.change_head(row(b"k", 11), b"newer head")
        # It was changed since it was read.
        assert not await store.objects.change_head(row(b"k", 10), b"newer head")
        assert not await store.objects.change_head(row(b"x", 10), b"newer head")
        assert await store.objects.find(1, b"k") == (replace(row(b"k", 10), head=b"new head"), b"abc")

    with_store(body)


KEYS = [b"a", b"a/", b"a/b", b"a/b/c", b"a0", b"b/1", b"b/2", b"c", "é".encode(), b"\xf4\x8f\xbf\xbf"]


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
@pytest.mark.parametrize(
    ("prefix", "delimiter", "entries"),
    [
        (b"", b"", KEYS),
        (b"a", b"", KEYS[:5]),
        (b"a/", b"", KEYS[1:4]),
        (b"x", b"", []),
        (b"", b"/", [b"a", [b"a/"], b"a0", [b"b/"], b"c", *KEYS[8:]]),
        (b"a/", b"/", [b"a/", b"a/b", [b"a/b/"]]),
        (b"", b"b", [b"a", b"a/", [b"a/b"], b"a0", [b"b"], b"c", *KEYS[8:]]),
        (KEYS[-1], b"/", KEYS[-1:]),
    ],
)
def test_keys_in_pages(with_store, prefix, delimiter, entries, limit):
    async def body(store: Store) -> None:
        await stand(store)
        await put(store, *(row(key, 10 + number) for number, key in enumerate(reversed(KEYS))))
        found: list[object] = []
        start: bytes | None = b""
        while start is not None:
            page = await store.objects.keys(1, prefix=prefix, delimiter=delimiter, start=start, limit=limit)
            assert len(page.entries) <= limit
            found += [entry.key if isinstance(entry, ObjectRow) else [entry] for entry in page.entries]
            start = page.next
            assert start is None or len(page.entries) == limit
        assert found == entries

    with_store(body)


def test_a_group_of_many_keys_is_stepped_over(with_store):
    async def body(store: Store) -> None:
        await stand(store)
        await put(store, *(row(b"many/%04d" % number, 10 + number) for number in range(450)), row(b"z", 9))
        page = await store.objects.keys(1, prefix=b"", delimiter=b"/", start=b"", limit=5)
        assert page.entries == [b"many/", row(b"z", 9)]
        assert page.next is None
        nothing = await store.objects.keys(1, prefix=b"", delimiter=b"/", start=b"", limit=0)
        assert (nothing.entries, nothing.next) == ([], None)

    with_store(body)


def test_an_upload_becomes_an_object_of_the_chosen_parts(with_store):
    async def body(store: Store) -> None:
        await stand(store)
        upload = UploadRow(50, 1, b"k", 5, b"head")
        assert await store.uploads.create(upload)
        assert await store.uploads.find(50) == upload
        await store.objects.doom([60, 61, 62])
        assert await store.uploads.put_part(part(1, 60), None) == Written()
        assert await store.uploads.put_part(part(2, 61), None) == Written()
        assert await store.uploads.put_part(part(2, 62), None) == Written((61,))
        assert await store.uploads.put_part(part(9, 63, IN_ROW), b"abc") == Written()
        assert await store.uploads.put_part(part(10, 64, IN_ROW), b"def") == Written()
        assert [one.number for one in await store.objects.segments(50)] == [1, 2, 9, 10]
        assert await store.objects.segments(50, after=1, limit=2) == [part(2, 62), part(9, 63, IN_ROW)]
        assert await store.objects.doomed(9) == [61]
        await put(store, row(b"k", 10, IN_FILE))
        whole = row(b"k", 50, IN_SEGMENTS)
        assert await store.uploads.complete(whole, [(1, 60), (2, 61)], ANYHOW) == Missing()
        assert await store.uploads.complete(whole, [(1, 60), (9, 63)], Demand(absent=True)) == Refused(
            row(b"k", 10, IN_FILE)
        )
        assert await store.uploads.complete(whole, [(1, 60), (9, 63)], ANYHOW) == Written((10, 62))
        assert await store.uploads.find(50) is None
        assert await store.uploads.complete(whole, [(1, 60)], ANYHOW) == Missing()
        assert await store.uploads.put_part(part(3, 65), None) == Missing()
        assert await store.objects.find(1, b"k") == (whole, None)
        assert await store.objects.segments(50) == [part(1, 60), part(9, 63, IN_ROW)]
        assert await store.objects.bodies([60, 63, 64]) == {63: b"abc"}
        assert await store.objects.delete(1, [Deletion(b"k", ANYHOW)]) == [Written((60,))]
        assert await store.objects.segments(50) == []
        assert await store.objects.bodies([63]) == {}
        assert await store.objects.doomed(9) == [10, 60, 61, 62]

    with_store(body)


def test_an_upload_that_is_aborted_leaves_nothing(with_store):
    async def body(store: Store) -> None:
        await stand(store)
        await store.uploads.create(UploadRow(50, 1, b"k", 5, b"head"))
        await store.uploads.put_part(part(1, 60), None)
        await store.uploads.put_part(part(2, 61, IN_ROW), b"abc")
        assert await store.uploads.abort(50) == Written((60,))
        assert await store.uploads.abort(50) == Missing()
        assert await store.objects.segments(50) == []
        assert await store.objects.bodies([61]) == {}

    with_store(body)


def test_uploads_by_key_and_age(with_store):
    async def body(store: Store) -> None:
        await stand(store)
        rows = [UploadRow(number, 1, key, 5, b"") for number, key in ((3, b"a"), (7, b"a"), (5, b"a/b"), (1, b"b"))]
        for one in reversed(rows):
            await store.uploads.create(one)
        listed = store.uploads.of_bucket
        assert await listed(1, prefix=b"", after=None, limit=9) == rows
        assert await listed(1, prefix=b"", after=None, limit=2) == rows[:2]
        assert await listed(1, prefix=b"", after=(b"a", 3), limit=9) == rows[1:]
        assert await listed(1, prefix=b"a/", after=(b"a", 3), limit=9) == [rows[2]]
        assert await listed(1, prefix=b"a/", after=(b"a/b", 5), limit=9) == []
        assert await listed(2, prefix=b"", after=None, limit=9) == []

    with_store(body)


def test_objects_are_there_after_another_opening(make_store):
    import asyncio

    async def body() -> None:
        store = make_store()
        await store.open("first")
        await stand(store)
        await put(store, row(b"k", 10))
        await store.close()
        again = store if type(store).__name__ == "MemoryStore" else make_store()
        await again.open("second")
        assert await again.objects.find(1, b"k") == (row(b"k", 10), b"abc")
        await again.close()

    asyncio.run(body())


def note(name: str) -> EntryRow:
    return EntryRow("note", name, "", 5, 1, b"body")


async def noted(store: Store) -> list[EntryRow]:
    return await store.catalogue.list_entries("note", "", after=None, limit=100, newest_first=False)


def test_notes_are_written_with_what_they_tell_of_or_not_at_all(with_store):
    async def body(store: Store) -> None:
        await store.objects.put(row(b"k", 10), b"abc", ANYHOW, [note("nowhere")])
        await stand(store)
        await store.objects.put(row(b"k", 11), b"abc", Demand(etag="other"), [note("refused")])
        assert await noted(store) == []
        await store.objects.put(row(b"k", 12), b"abc", ANYHOW, [note("a"), note("b")])
        assert await store.objects.change_head(row(b"k", 12), b"new", [note("c")])
        assert not await store.objects.change_head(row(b"k", 99), b"new", [note("stale")])
        assert await noted(store) == [note("a"), note("b"), note("c")]
        wanted = [Deletion(b"gone", ANYHOW), Deletion(b"k", Demand(etag="other")), Deletion(b"k", ANYHOW)]
        await store.objects.delete(1, wanted, [[note("none")], [note("no")], [note("d")]])
        await store.uploads.create(UploadRow(50, 1, b"k", 5, b""))
        await store.uploads.put_part(part(1, 60), None)
        whole = row(b"k", 50, IN_SEGMENTS)
        await store.uploads.complete(whole, [(1, 61)], ANYHOW, [note("no such part")])
        await store.uploads.complete(whole, [(1, 60)], ANYHOW, [note("e")])
        assert [one.key for one in await noted(store)] == ["a", "b", "c", "d", "e", "none"]
        assert await store.catalogue.write([], [("note", "a")])

    with_store(body)


def test_an_upload_notices_that_its_key_was_deleted(with_store):
    async def body(store: Store) -> None:
        await stand(store)
        for upload in (50, 51):
            await store.uploads.create(UploadRow(upload, 1, b"k", 6, b"{}"))
            await store.uploads.put_part(SegmentRow(upload, 1, upload + 10, 3, IN_ROW, b"part"), b"abc")
        whole = replace(row(b"k", 50), place=IN_SEGMENTS)
        await store.objects.put(row(b"k", 7), b"abc", Demand())
        await store.objects.delete(1, [Deletion(b"k")])
        assert [one.number for one in await store.objects.segments(50)] == [1]
        unseen = Demand(absent=True, seen=NO_OBJECT)
        assert await store.uploads.complete(whole, [(1, 60)], unseen) == Refused(None)
        # Without a condition it is completed, and nothing of the note is left.
        assert await store.uploads.complete(whole, [(1, 60)], Demand()) == Written()
        assert [one.number for one in await store.objects.segments(50)] == [1]
        assert isinstance(await store.uploads.abort(51), Written)

    with_store(body)
