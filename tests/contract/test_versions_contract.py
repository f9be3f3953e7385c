"""What every store does with versions of objects and delete markers, one suite over all of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from statewright.stores.object_rows import (
    ABOVE_ALL,
    IN_FILE,
    IN_ROW,
    IN_SEGMENTS,
    MARKER,
    NULL_VERSION,
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

ANYHOW = Demand()
START = (b"", ABOVE_ALL)


def version(number: int, key: bytes = b"k", place: int = IN_ROW, *, named: bool = True) -> ObjectRow:
    """A version whose row has the id 100 + its number."""
    return ObjectRow(1, key, 100 + number, 3, number, f"e{number}", place, b"head", number, int(named))


def marker(number: int, key: bytes = b"k", *, named: bool = True) -> ObjectRow:
    return ObjectRow(1, key, 100 + number, 0, number, "", MARKER, b"{}", number, int(named))


def body_of(row: ObjectRow) -> bytes | None:
    return f"{row.version:03}".encode() if row.place == IN_ROW else None


async def put(store: Store, *rows: ObjectRow) -> None:
    for one in rows:
        assert isinstance(await store.objects.put(one, body_of(one), ANYHOW), Written)


async def mark(store: Store, *rows: ObjectRow) -> None:
    for one in rows:
        (outcome,) = await store.objects.delete(1, [Deletion(one.key, marker=one)])
        assert isinstance(outcome, Written)


async def stand(store: Store) -> None:
    assert await store.objects.put_bucket(BucketRow(1, "bucket", 5, b"{}"))


async def listed(store: Store, prefix: bytes = b"") -> list[ObjectRow | bytes]:
    page = await store.objects.versions(1, prefix=prefix, delimiter=b"", start=START, limit=1000)
    assert not page.is_cut
    return page.entries


def test_a_write_keeps_the_version_before(with_store):
    async def body(store: Store) -> None:
        await stand(store)
        await put(store, version(1), version(2), version(3))
        assert await store.objects.find(1, b"k") == (version(3), b"003")
        for number in (1, 2, 3):
            assert await store.objects.find_version(1, b"k", number) == (version(number), b"%03d" % number)
        assert await store.objects.find_version(1, b"k", None) == (version(3), b"003")
        for key, number in ((b"k", 4), (b"k", NULL_VERSION), (b"other", 1)):
            assert await store.objects.find_version(1, key, number) is None
        assert await store.objects.find_version(2, b"k", 1) is None
        assert await listed(store) == [version(3), version(2), version(1)]
        page = await store.objects.keys(1, prefix=b"", delimiter=b"", start=b"", limit=9)
        assert page.entries == [version(3)]

    with_store(body)


def test_an_object_from_before_versions_becomes_the_null_version(with_store):
    async def body(store: Store) -> None:
        await stand(store)
        old = replace(version(0), named=0)
        assert await store.objects.put(old, b"old", ANYHOW) == Written()
        assert await store.objects.find_version(1, b"k", NULL_VERSION) == (old, b"old")
        await put(store, version(5))
        assert await store.objects.find_version(1, b"k", NULL_VERSION) == (old, b"old")
        assert await listed(store) == [version(5), old]
        (outcome,) = await store.objects.delete(1, [Deletion(b"k", version=NULL_VERSION)])
        assert outcome == Written((), old)
        assert await store.objects.bodies([old.id]) == {}
        assert await listed(store) == [version(5)]

    with_store(body)


def test_a_write_that_began_before_the_bucket_had_versions_replaces_none(with_store):
    async def body(store: Store) -> None:
        await stand(store)
        await put(store, version(1))
        late = replace(version(0), named=0, id=200, modified_ms=9)
        assert await store.objects.put(late, b"late", ANYHOW) == Written()
        assert await store.objects.find(1, b"k") == (late, b"late")
        assert await store.objects.find_version(1, b"k", 1) == (version(1), b"001")

    with_store(body)


def test_a_write_without_a_name_replaces_the_null_version_wherever_it_is(with_store):
    async def body(store: Store) -> None:
        await stand(store)
        first, second, third = (version(number, place=IN_FILE, named=False) for number in (1, 3, 4))
        await put(store, first, version(2))
        # An older version.
        assert await store.objects.put(second, None, ANYHOW) == Written((first.id,))
        assert await listed(store) == [second, version(2)]
        # The newest one.
        assert await store.objects.put(third, None, ANYHOW) == Written((second.id,))
        assert await listed(store) == [third, version(2)]
        assert await store.objects.doomed(9) == [first.id, second.id]
        # A marker.
        await mark(store, marker(5, named=False))
        assert await listed(store) == [marker(5, named=False), version(2)]
        await put(store, version(6, named=False))
        assert await listed(store) == [version(6, named=False), version(2)]
        await put(store, version(7))
        assert await listed(store) == [version(7), version(6, named=False), version(2)]

    with_store(body)


def test_a_marker_hides_the_object_and_keeps_it(with_store):
    async def body(store: Store) -> None:
        await stand(store)
        await put(store, version(1))
        await mark(store, marker(2), marker(3), marker(4, b"never"))
        assert await store.objects.find(1, b"k") is None
        assert await store.objects.find_version(1, b"k", None) == (marker(3), None)
        assert await store.objects.find_version(1, b"k", 2) == (marker(2), None)
        assert await store.objects.find_version(1, b"k", 1) == (version(1), b"001")
        assert await listed(store) == [marker(3), marker(2), version(1), marker(4, b"never")]
        assert (await store.objects.keys(1, prefix=b"", delimiter=b"", start=b"", limit=9)).entries == []
        # Conditions see no object.
        assert await store.objects.put(version(5), b"005", Demand(etag="*")) == Refused(None)
        assert await store.objects.put(version(5), b"005", Demand(absent=True)) == Written()
        assert await listed(store, b"k") == [version(5), marker(3), marker(2), version(1)]

    with_store(body)


def test_deleting_the_newest_version_restores_the_one_before(with_store):
    async def body(store: Store) -> None:
        await stand(store)
        await put(store, version(1), version(2, place=IN_FILE))
        await mark(store, marker(3))
        await put(store, version(4))
        deleted = [Deletion(b"k", version=4)]
        assert await store.objects.delete(1, deleted) == [Written((), version(4))]
        # What is newest now is a marker: there is no object.
        assert await store.objects.find(1, b"k") is None
        assert await store.objects.delete(1, deleted) == [Missing()]
        assert await store.objects.delete(1, [Deletion(b"k", version=3)]) == [Written((), marker(3))]
        assert await store.objects.find(1, b"k") == (version(2, place=IN_FILE), None)
        assert await store.objects.delete(1, [Deletion(b"k", version=2)]) == [
            Written((102,), version(2, place=IN_FILE))
        ]
        assert await store.objects.find(1, b"k") == (version(1), b"001")
        assert await listed(store) == [version(1)]
        assert await store.objects.bodies([104]) == {}
        assert await store.objects.doomed(9) == [102]

    with_store(body)


def test_deleting_an_older_version_leaves_the_object(with_store):
    async def body(store: Store) -> None:
        await stand(store)
        await put(store, version(1), version(2), version(3))
        many = [Deletion(b"k", version=2), Deletion(b"k", version=9), Deletion(b"k", Demand(etag="no"), version=1)]
        assert await store.objects.delete(1, many) == [Written((), version(2)), Missing(), Refused(version(1))]
        assert await store.objects.find(1, b"k") == (version(3), b"003")
        assert await listed(store) == [version(3), version(1)]

    with_store(body)


def test_a_version_that_is_the_object_is_not_deleted_as_an_older_one(with_store):
    async def body(store: Store) -> None:
        await stand(store)
        await put(store, version(1), version(2))
        wanted = [Deletion(b"k", version=number, older_only=True) for number in (1, 2)]
        assert await store.objects.delete(1, wanted) == [Written((), version(1)), Refused(version(2))]
        assert await store.objects.find(1, b"k") == (version(2), b"002")

    with_store(body)


def test_a_bucket_with_versions_or_markers_is_not_empty(with_store):
    async def body(store: Store) -> None:
        await stand(store)
        await put(store, version(1))
        await mark(store, marker(2))
        assert await store.objects.drop_bucket(1) is None
        await store.objects.delete(1, [Deletion(b"k", version=1)])
        assert await store.objects.drop_bucket(1) is None
        await store.objects.delete(1, [Deletion(b"k", version=2)])
        assert await store.objects.drop_bucket(1) == ()

    with_store(body)


def test_heads_of_versions_change(with_store):
    async def body(store: Store) -> None:
        await stand(store)
        await put(store, version(1), version(2))
        for number in (1, 2):
            assert await store.objects.change_head(version(number), b"new")
            assert not await store.objects.change_head(version(number), b"stale")
            found = await store.objects.find_version(1, b"k", number)
            assert found is not None
            assert found[0] == replace(version(number), head=b"new")
        null = version(4, named=False)
        await put(store, null, version(5))
        assert await store.objects.change_head(null, b"new")
        found = await store.objects.find_version(1, b"k", NULL_VERSION)
        assert found is not None
        assert found[0] == replace(null, head=b"new")
        # Its number is no name.
        assert await store.objects.delete(1, [Deletion(b"k", version=4)]) == [Missing()]
        assert not await store.objects.change_head(replace(version(1), id=7), b"newer")
        assert not await store.objects.change_head(version(3), b"newer")

    with_store(body)


def test_a_completed_upload_is_a_version(with_store):
    async def body(store: Store) -> None:
        await stand(store)
        await put(store, version(1))
        await store.uploads.create(UploadRow(50, 1, b"k", 6, b"{}"))
        await store.uploads.put_part(SegmentRow(50, 1, 60, 3, IN_ROW, b"part"), b"abc")
        whole = replace(version(2, place=IN_SEGMENTS), id=50)
        assert await store.uploads.complete(whole, [(1, 60)], ANYHOW) == Written()
        assert await listed(store) == [whole, version(1)]
        await put(store, version(3))
        assert await store.objects.find_version(1, b"k", 2) == (whole, None)
        assert await store.objects.bodies([60]) == {60: b"abc"}
        assert await store.objects.delete(1, [Deletion(b"k", version=2)]) == [Written((), whole)]
        assert await store.objects.bodies([60]) == {}
        assert await store.objects.segments(50) == []

    with_store(body)


KEYS = [b"a", b"a/1", b"a/2", b"b", b"b\xff/x", b"c"]


@pytest.mark.parametrize("prefix", [b"", b"a/", b"b", b"z"])
@pytest.mark.parametrize("delimiter", [b"", b"/"])
@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_pages_of_versions_have_each_entry_once(with_store, prefix, delimiter, limit):
    async def body(store: Store) -> None:
        await stand(store)
        many = [version(number, key, IN_FILE) for number in (1, 2, 3) for key in KEYS]
        markers = [marker(4, b"a"), marker(4, b"c")]
        more = [version(5, b"c", IN_FILE), version(1, b"d", IN_FILE)]
        await put(store, *many)
        await mark(store, *markers)
        await put(store, *more)
        whole = await store.objects.versions(1, prefix=prefix, delimiter=delimiter, start=START, limit=1000)
        found: list[ObjectRow | bytes] = []
        start = START
        for _ in range(100):
            page = await store.objects.versions(1, prefix=prefix, delimiter=delimiter, start=start, limit=limit)
            found += page.entries
            if not page.is_cut:
                break
            last = page.entries[-1]
            start = (last.key, last.version) if isinstance(last, ObjectRow) else (last[:-1] + b"0", ABOVE_ALL)
        assert found == whole.entries
        if not delimiter:
            expected = sorted([*many, *markers, *more], key=lambda row: (row.key, -row.version))
            assert found == [row for row in expected if row.key.startswith(prefix)]
        elif not prefix:
            assert [one for one in found if isinstance(one, bytes)] == [b"a/", b"b\xff/"]
        nothing = await store.objects.versions(1, prefix=prefix, delimiter=delimiter, start=START, limit=0)
        assert (nothing.entries, nothing.is_cut) == ([], False)

    with_store(body)


def test_notes_go_with_markers_and_deleted_versions(with_store):
    def note(key: str) -> EntryRow:
        return EntryRow("note", key, "", 5, 1, b"body")

    async def body(store: Store) -> None:
        await stand(store)
        await put(store, version(1))
        wanted = [Deletion(b"k", marker=marker(2)), Deletion(b"k", version=1), Deletion(b"k", version=1)]
        await store.objects.delete(1, wanted, [[note("marker")], [note("version")], [note("none")]])
        found = await store.catalogue.list_entries("note", "", after=None, limit=100, newest_first=False)
        assert sorted(one.key for one in found) == ["marker", "version"]

    with_store(body)


def test_a_bucket_that_is_gone_gets_no_marker(with_store):
    async def body(store: Store) -> None:
        assert await store.objects.delete(1, [Deletion(b"k", marker=marker(2))]) == [Missing()]
        await stand(store)
        assert await listed(store) == []

    with_store(body)
