"""Any sequence of writes and deletions of versions leaves the same in every store; the one in memory is the model."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.stores.object_rows import (
    ABOVE_ALL,
    IN_FILE,
    IN_ROW,
    MARKER,
    NULL_VERSION,
    BucketRow,
    Deletion,
    Demand,
    ObjectRow,
)
from statewright.stores.store import Store
from tests.contract.stores import MAKERS
from tests.thoroughness import examples

Act = tuple[Literal["put", "mark", "delete", "older"], bytes, int, bool, int]
"""An action on a key; with a place of bytes, whether it has a name, and which of the numbers given out it means."""

KEYS = st.sampled_from([b"a", b"a/b", b"c"])
ACTS: st.SearchStrategy[list[Act]] = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "mark", "delete", "older"]),
        KEYS,
        st.sampled_from([IN_ROW, IN_FILE]),
        st.booleans(),
        st.integers(-1, 12),
    ),
    max_size=30,
)


async def done(store: Store, act: Act, number: int) -> object:
    """Carry out one action, the one of this number, and return its outcome."""
    kind, key, place, named, chosen = act
    if kind == "put":
        row = ObjectRow(1, key, number, 3, number, f"e{number}", place, b"head", number, int(named))
        return await store.objects.put(row, b"abc" if place == IN_ROW else None, Demand())
    if kind == "mark":
        marker = ObjectRow(1, key, number, 0, number, "", MARKER, b"{}", number, int(named))
        return await store.objects.delete(1, [Deletion(key, marker=marker)])
    wanted = NULL_VERSION if chosen < 1 else chosen
    return await store.objects.delete(1, [Deletion(key, version=wanted, older_only=kind == "older")])


async def seen(store: Store, acts: list[Act]) -> list[object]:
    """The outcomes of actions, and everything that the store shows afterwards."""
    await store.open("test")
    await store.objects.put_bucket(BucketRow(1, "bucket", 5, b"{}"))
    found: list[object] = [await done(store, act, number) for number, act in enumerate(acts, 1)]
    page = await store.objects.versions(1, prefix=b"", delimiter=b"", start=(b"", ABOVE_ALL), limit=1000)
    found += page.entries
    found.append((await store.objects.keys(1, prefix=b"", delimiter=b"", start=b"", limit=1000)).entries)
    for key in (b"a", b"a/b", b"c"):
        found.append(await store.objects.find(1, key))
        for version in (None, *range(len(acts) + 1)):
            found.append(await store.objects.find_version(1, key, version))
    found.append(await store.objects.doomed(1000))
    found.append(sorted(await store.objects.bodies(range(1, len(acts) + 1))))
    await store.close()
    return found


@given(ACTS)
@settings(max_examples=examples(150), deadline=None)
def test_stores_agree_on_versions(acts: list[Act]):
    with tempfile.TemporaryDirectory() as folder:
        model = asyncio.run(seen(MAKERS["memory"](Path(folder)), acts))
        assert asyncio.run(seen(MAKERS["sqlite"](Path(folder)), acts)) == model
    check(acts, model)


def check(acts: list[Act], found: list[object]) -> None:
    """The newest version of a key is its object, and no key has two null versions."""
    rows = [one for one in found[len(acts) :] if isinstance(one, ObjectRow)]
    assert rows == sorted(rows, key=lambda row: (row.key, -row.version))
    newest = {row.key: row for row in reversed(rows)}
    assert found[len(acts) + len(rows)] == [newest[key] for key in sorted(newest) if newest[key].place != MARKER]
    for key in newest:
        assert sum(row.key == key and not row.named for row in rows) <= 1
