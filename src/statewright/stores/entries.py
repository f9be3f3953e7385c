"""Entries: the catalogue's rows as values of dataclasses, one repository for each kind.

Owns the conversion between rows and values (`formats`), lists, and the rule of versions: a value carries its version in
the store as `stored`, 0 before the first write; writing it requires the next one. Leaves the right to change an entry,
and conflicts, to the services. Nothing is held in memory.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import ClassVar, Final, Generic, Protocol, TypeVar

from statewright.errors import Conflict
from statewright.formats import Format, Upgrade, members_of
from statewright.stores.completion import Completion, if_made
from statewright.stores.protocol import CatalogueStore, EntryRow

Name = tuple[str, str]
"""Kind and key, by which an entry is deleted."""
Place = tuple[int, str]
"""The place after which a list continues: the sort and key of an entry."""

_PAGE: Final = 500
"""Entries may be large: payloads of events are."""


class Stored(Protocol):
    """A dataclass whose values are entries."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[object]]]

    @property
    def stored(self) -> int:
        """The version in the store, 0 for one that is not there yet."""


T = TypeVar("T", bound=Stored)
Column = Callable[[EntryRow], object]


def below_nothing(_value: object) -> str:
    """The parent of entries that are listed together."""
    return ""


def in_order_of_keys(_value: object) -> int:
    """The sort of entries that are listed by key."""
    return 0


@dataclasses.dataclass(frozen=True, slots=True)
class Form:
    """The parts of a kind's format besides the fields of its dataclass. See `formats.Format`."""

    version: int = 1
    tail: str = ""
    upgrades: Mapping[int, Upgrade] = dataclasses.field(default_factory=dict)
    names: Mapping[str, str] = dataclasses.field(default_factory=dict)


PLAIN: Final = Form()


class EntryKind(Generic[T]):
    """One kind of entries: its name in the catalogue, the columns of a value there, and the format of its body.

    `columns` give the fields that are read from the row itself and so are not in the body.
    """

    def __init__(
        self,
        name: str,
        of: type[T],
        key: Callable[[T], str],
        *,
        parent: Callable[[T], str] = below_nothing,
        sort: Callable[[T], int] = in_order_of_keys,
        columns: Mapping[str, Column] | None = None,
        form: Form = PLAIN,
    ) -> None:
        self.name = name
        self.of = of
        self.key_of = key
        self._parent_of = parent
        self._sort_of = sort
        self._columns = columns or {}
        self._apart = ("stored", *self._columns)
        self.format = Format(
            name, of, version=form.version, apart=self._apart, tail=form.tail, upgrades=form.upgrades, names=form.names
        )

    def row(self, value: T) -> EntryRow:
        """The row to write; its version is the next one."""
        body = self.format.write(value)
        return EntryRow(
            self.name, self.key_of(value), self._parent_of(value), self._sort_of(value), value.stored + 1, body
        )

    def read(self, row: EntryRow) -> T:
        """The value of a row. Raises: Unreadable."""
        columns: dict[str, object] = {"stored": row.version}
        for name, read in self._columns.items():
            columns[name] = read(row)
        return self.format.read(row.body, f"{self.name} {row.key}", **columns)

    def name_of(self, value: T) -> Name:
        """The kind and key by which a value's row is deleted."""
        return self.name, self.key_of(value)

    @property
    def members(self) -> str:
        """The fields in the body with their types, as text."""
        return members_of(self.of, self._apart)


class MarkKind:
    """One kind of rows that have no body: their keys say everything."""

    def __init__(self, name: str) -> None:
        self.name = name

    def row(self, key: str, *, parent: str = "", sort: int = 0) -> EntryRow:
        """The row to write."""
        return EntryRow(self.name, key, parent, sort, 1, b"")


class Entries(Generic[T]):
    """The entries of one kind."""

    def __init__(self, catalogue: CatalogueStore, kind: EntryKind[T]) -> None:
        self._catalogue = catalogue
        self.kind = kind

    async def get(self, key: str) -> T | None:
        """One entry. Raises: Unreadable."""
        row = await self._catalogue.get(self.kind.name, key)
        return None if row is None else self.kind.read(row)

    async def all(self, parent: str = "") -> list[T]:
        """Every entry below a parent by sort and key. Raises: Unreadable."""
        return [one async for one in self.walk(parent)]

    async def chosen(
        self, wanted: Callable[[T], bool], after: Place | None, limit: int, *, newest_first: bool = False
    ) -> tuple[list[T], Place | None]:
        """As `page`, with only the entries that are wanted. Raises: Unreadable."""
        found: list[T] = []
        async for value in self.walk("", after, newest_first=newest_first):
            if wanted(value):
                if len(found) == limit:
                    last = self.kind.row(found[-1])
                    return found, (last.sort, last.key)
                found.append(value)
        return found, None

    async def page(
        self, parent: str = "", after: Place | None = None, limit: int = 100, *, newest_first: bool = False
    ) -> tuple[list[T], Place | None]:
        """Up to `limit` entries by sort and key; also the place to continue from, None at the end. Raises:
        Unreadable."""
        found = await self._catalogue.list_entries(
            self.kind.name, parent, after=after, limit=limit + 1, newest_first=newest_first
        )
        place = (found[limit - 1].sort, found[limit - 1].key) if len(found) > limit else None
        return [self.kind.read(row) for row in found[:limit]], place

    async def walk(
        self, parent: str = "", after: Place | None = None, *, newest_first: bool = False
    ) -> AsyncIterator[T]:
        """Every entry by sort and key, from behind a place on. Raises: Unreadable."""
        async for row in rows_below(self._catalogue, self.kind.name, parent, after, newest_first=newest_first):
            yield self.kind.read(row)

    async def names(self, parent: str = "") -> list[Name]:
        """The kind and key of every entry below a parent; reads no bodies."""
        return [(one.kind, one.key) async for one in rows_below(self._catalogue, self.kind.name, parent)]

    async def write(
        self,
        value: T,
        *,
        also: Sequence[EntryRow] = (),
        delete: Sequence[Name] = (),
        completion: Completion[bool] | None = None,
    ) -> T:
        """Write an entry with rows of other kinds, and delete: all or nothing; the value as it is stored then.

        Raises: Conflict when another writer was faster.
        """
        if not await self._catalogue.write([self.kind.row(value), *also], delete, if_made(completion, True)):
            raise Conflict(f"{self.kind.name} {self.kind.key_of(value)} was changed by another writer")
        return dataclasses.replace(value, stored=value.stored + 1)

    async def delete(self, *values: T, also: Sequence[Name] = ()) -> None:
        """Delete entries with rows of other kinds: all or nothing; missing ones are skipped."""
        await self._catalogue.write([], [*(self.kind.name_of(value) for value in values), *also])


async def rows_below(
    catalogue: CatalogueStore, kind: str, parent: str = "", after: Place | None = None, *, newest_first: bool = False
) -> AsyncIterator[EntryRow]:
    """The rows of a kind below a parent by sort and key, from behind a place on."""
    while True:
        rows = await catalogue.list_entries(kind, parent, after=after, limit=_PAGE, newest_first=newest_first)
        for row in rows:
            yield row
        if len(rows) < _PAGE:
            return
        after = rows[-1].sort, rows[-1].key
