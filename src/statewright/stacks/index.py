"""Marks by which stacks are found: by name, by what they export, and by what they import.

A mark is written in the transaction that changes its stack (`journal.py`). Stores of programs that had no marks get
them at the first start.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from statewright.stacks.records import STACK, StackEntry
from statewright.stores.entries import Entries, MarkKind, Name, rows_below
from statewright.stores.protocol import CatalogueStore, EntryRow

GONE: Final = "DELETE_COMPLETE"
NAMED: Final = MarkKind("stackName")
"""The id of a stack, below its name."""
EXPORTED: Final = MarkKind("stackExport")
"""The id of a stack with the name of an export, below that name; so are imports."""
IMPORTED: Final = MarkKind("stackImport")
_COMPLETE: Final = MarkKind("stackMarks")
"""Written once every stack has its marks."""


def marks_changed(before: StackEntry | None, after: StackEntry) -> tuple[list[EntryRow], list[Name]]:
    """The marks to write and those to delete when a stack changes; `before` is `None` for a new one."""
    had, has = _marks(before) if before is not None else {}, _marks(after)
    return [row for name, row in has.items() if name not in had], [name for name in had if name not in has]


def _marks(stack: StackEntry) -> dict[Name, EntryRow]:
    if stack.status == GONE:
        return {}
    rows = [NAMED.row(stack.id, parent=stack.name)]
    rows += [EXPORTED.row(f"{stack.id}/{one.export}", parent=one.export) for one in stack.outputs if one.export]
    rows += [IMPORTED.row(f"{stack.id}/{name}", parent=name) for name in stack.imports]
    return {(row.kind, row.key): row for row in rows}


class Index:
    """Finds stacks of one region."""

    def __init__(self, catalogue: CatalogueStore) -> None:
        self._catalogue = catalogue
        self._stacks = Entries(catalogue, STACK)

    async def complete(self) -> None:
        """Give marks to the stacks that have none. Raises: StoreError."""
        if await self._catalogue.get(_COMPLETE.name, "all") is not None:
            return
        async for stack in self._stacks.walk():
            for (kind, key), row in _marks(stack).items():
                if await self._catalogue.get(kind, key) is None:
                    await self._catalogue.write([row])
        await self._catalogue.write([_COMPLETE.row("all")])

    async def named(self, name: str) -> str | None:
        """The id of the stack with a name."""
        rows = [row async for row in rows_below(self._catalogue, NAMED.name, name)]
        return rows[0].key if rows else None

    async def export(self, name: str, besides: str = "") -> tuple[StackEntry, str] | None:
        """The stack that exports a value under a name, and the value; without the stack with the id `besides`."""
        async for stack in self._below(EXPORTED, name):
            value = next((one.value for one in stack.outputs if one.export == name), None)
            if value is not None and stack.id != besides:
                return stack, value
        return None

    async def users_of(self, export: str, besides: str = "") -> list[str]:
        """The names of the stacks that use an export, the oldest first; without the one with the id `besides`."""
        users = [one async for one in self._below(IMPORTED, export) if one.id != besides]
        return [one.name for one in sorted(users, key=lambda one: one.created_ms)]

    async def _below(self, kind: MarkKind, name: str) -> AsyncIterator[StackEntry]:
        async for row in rows_below(self._catalogue, kind.name, name):
            stack = await self._stacks.get(row.key.partition("/")[0])
            if stack is not None:
                yield stack
