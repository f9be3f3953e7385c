"""Entries: values of dataclasses in the catalogue."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace

import pytest

from statewright.errors import Conflict, Unreadable
from statewright.stores.entries import Entries, EntryKind, Form, MarkKind, rows_below
from statewright.stores.memory.store import MemoryStore
from statewright.stores.protocol import EntryRow


@dataclass(frozen=True, slots=True)
class Note:
    key: str
    text: str
    folder: str = ""
    due_ms: int = 0
    stored: int = 0


NOTE = EntryKind(
    "note",
    Note,
    lambda note: note.key,
    parent=lambda note: note.folder,
    sort=lambda note: note.due_ms,
    columns={"due_ms": lambda row: row.sort},
)


def run(test: Callable[[], Coroutine[None, None, None]]) -> Callable[[], None]:
    """A test on a loop of its own."""

    @functools.wraps(test)
    def ran() -> None:
        asyncio.run(test())

    return ran


async def notes() -> tuple[MemoryStore, Entries[Note]]:
    store = MemoryStore()
    await store.open("test")
    return store, Entries(store.catalogue, NOTE)


@run
async def test_a_value_is_written_read_and_deleted() -> None:
    store, entries = await notes()
    written = await entries.write(Note("a", "x", due_ms=5))
    assert written.stored == 1
    assert await entries.get("a") == written
    row = await store.catalogue.get("note", "a")
    assert row == EntryRow("note", "a", "", 5, 1, b'{"key":"a","text":"x","folder":""}')
    assert (await entries.write(replace(written, text="y"))).stored == 2
    await entries.delete(written)
    assert await entries.get("a") is None


@run
async def test_the_slower_writer_has_a_conflict() -> None:
    _, entries = await notes()
    first = await entries.write(Note("a", "x"))
    await entries.write(first)
    with pytest.raises(Conflict, match="note a was changed by another writer"):
        await entries.write(first)


@run
async def test_lists_go_by_sort_and_key_below_a_parent() -> None:
    _, entries = await notes()
    for number in range(5):
        await entries.write(Note(f"n{number}", "", "f", 10 - number))
    await entries.write(Note("other", ""))
    assert [one.key for one in await entries.all("f")] == ["n4", "n3", "n2", "n1", "n0"]
    found, place = await entries.page("f", limit=3)
    assert [one.key for one in found] == ["n4", "n3", "n2"]
    assert place == (8, "n2")
    found, place = await entries.page("f", place, 3)
    assert [one.key for one in found] == ["n1", "n0"]
    assert place is None
    assert [one.key async for one in entries.walk("f", newest_first=True)][:2] == ["n0", "n1"]


@run
async def test_rows_of_other_kinds_go_along_or_nothing_does() -> None:
    store, entries = await notes()
    marks = MarkKind("note-gone")
    first = await entries.write(Note("a", "x"), also=[marks.row("1", sort=1)])
    await entries.write(Note("b", "y"), delete=[NOTE.name_of(first)])
    assert await entries.get("a") is None
    with pytest.raises(Conflict):
        await entries.write(Note("c", "z"), also=[marks.row("1", sort=1)])
    assert await entries.get("c") is None
    assert [row.key async for row in rows_below(store.catalogue, marks.name)] == ["1"]


@run
async def test_a_row_of_a_newer_format_is_refused_by_kind_and_key() -> None:
    store, entries = await notes()
    newer = EntryKind("note", Note, lambda note: note.key, form=Form(2, upgrades={1: lambda members: members}))
    await Entries(store.catalogue, newer).write(Note("a", "x"))
    with pytest.raises(Unreadable, match=r"^note a was written by a newer Statewright \(format 2, this one reads"):
        await entries.get("a")
