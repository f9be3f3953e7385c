"""A table in memory: the keys of its items, their places, and their index entries. No I/O.

Owns the checks of keys. Definitions are replaced as a whole, so a writer's thread sees either the old or the new one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from statewright.errors import ApiError
from statewright.payload import Json
from statewright.stores.table_protocol import ItemKey, StoredItem
from statewright.tables.definitions import Definition, Index
from statewright.tables.keys import encoded, part_key
from statewright.tables.streams.stream import Stream
from statewright.tables.values import (
    Item,
    binary_length,
    checked,
    invalid,
    item_size,
    kind_of,
    utf8_length,
)

LONGEST_HASH_BYTES: Final = 2048
LONGEST_RANGE_BYTES: Final = 1024
"""Source of both: service quotas."""
EXPIRIES: Final = b""
"""The single partition of a space of expiry entries."""
MISMATCH: Final = "The provided key element does not match the schema"


@dataclass(frozen=True, slots=True)
class Entry:
    """An index entry of an item: its place, its text, and its index (`None` for expiry)."""

    key: ItemKey
    item: StoredItem
    index: Index | None


class EmptyKey(ApiError):
    """A key attribute with an empty value. It refuses a whole transaction, not only its action."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(
            "ValidationException",
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an "
            f"empty {'string' if kind == 'S' else 'binary'} value. Key: {name}",
        )


class Table:
    """A table; `arn` identifies it in the API."""

    def __init__(self, definition: Definition, arn: str) -> None:
        self.definition = definition
        self.arn = arn
        self.is_deleted = False
        self.stream: Stream | None = None
        """The stream of its changes, while one is enabled."""
        self.latest_stream: Stream | None = None
        """The stream that was enabled last."""

    def check(self) -> None:
        """Refuse to use a deleted table. Raises: ApiError (`ResourceNotFoundException`)."""
        if self.is_deleted:
            raise not_found()

    # ------------------------------------------------------------------ keys

    def key(self, given: Json) -> tuple[Item, ItemKey]:
        """A key as requests name it, and the place of its item. Raises: ApiError."""
        found = self.checked_key(given)
        return found, self.place(found)

    def checked_key(self, given: Json) -> Item:
        """The attributes of a key. Raises: ApiError."""
        names = self.definition.keys
        found: Item = {}
        for name in given if len(given) == len(names) else ():
            value, _ = checked(given[name])
            if name not in names or kind_of(value) != self.definition.types[name]:
                raise invalid(MISMATCH)
            found[name] = value
        if not found:
            raise invalid(MISMATCH)
        self._check_lengths(found)
        return found

    def place(self, item: Item) -> ItemKey:
        """The place of an item with a checked key."""
        definition = self.definition
        sort = encoded(item[definition.range]) if definition.range is not None else b""
        return ItemKey(definition.space, part_key(item[definition.hash]), sort)

    def check_item_key(self, item: Item) -> None:
        """Refuse an item without its key, or with an invalid one. Raises: ApiError."""
        for name in self.definition.keys:
            value = item.get(name)
            if value is None:
                raise invalid(f"One or more parameter values were invalid: Missing the key {name} in the item")
            wanted, kind = self.definition.types[name], kind_of(value)
            if kind != wanted:
                raise invalid(
                    f"One or more parameter values were invalid: Type mismatch for key {name} "
                    f"expected: {wanted} actual: {kind}"
                )
        self._check_lengths(item)

    def _check_lengths(self, item: Item) -> None:
        definition = self.definition
        for name in definition.keys:
            ((kind, content),) = item[name].items()
            if content == "":
                raise EmptyKey(kind, name)
            size = utf8_length(content) if kind != "B" else binary_length(content)
            if name == definition.hash and size > LONGEST_HASH_BYTES:
                raise _too_long_hash()
            if name != definition.hash and size > LONGEST_RANGE_BYTES:
                raise _too_long_range()

    def check_index_keys(self, item: Item, *, of_update: bool = False) -> None:
        """Refuse an item with an attribute that is an invalid key of an index. Raises: ApiError."""
        own = self.definition.keys
        for index in self.definition.indexes:
            length = 0
            for name in index.keys:
                value = item.get(name)
                if value is None:
                    continue
                for content in value.values():
                    length += len(content) if type(content) is str else 0
                if name in own:
                    continue
                kind, wanted = kind_of(value), self.definition.types[name]
                if kind != wanted:
                    if of_update:
                        raise invalid(
                            "The update expression attempted to update the secondary index key to unsupported type"
                        )
                    raise invalid(
                        f"One or more parameter values were invalid: Type mismatch for Index Key {name} "
                        f"Expected: {wanted} Actual: {kind} IndexName: {index.name}"
                    )
                if value[kind] == "":
                    words = {"S": "string", "B": "binary"}[kind]
                    raise invalid(
                        "One or more parameter values are not valid. A value specified for a secondary index key is "
                        "not supported. The AttributeValue for a key attribute cannot contain an empty "
                        f"{words} value. IndexName: {index.name}, IndexKey: {name}"
                    )
            # A character has four bytes at most.
            if length > LONGEST_RANGE_BYTES // 4:
                if _length(item, index.hashes) > LONGEST_HASH_BYTES:
                    raise _too_long_hash()
                if _length(item, index.ranges) > LONGEST_RANGE_BYTES:
                    raise _too_long_range()

    # ------------------------------------------------------------------ indexes

    def entries(self, place: ItemKey, item: Item, stored: StoredItem) -> Iterator[Entry]:
        """The index entries of an item."""
        definition = self.definition
        for index in definition.indexes:
            key = self.index_place(index, place, item)
            if key is not None:
                yield Entry(key, self.projected(index, item, stored), index)
        if definition.time_to_live is not None:
            expiry = item.get(definition.time_to_live.attribute)
            if expiry is not None and "N" in expiry:
                sort = encoded(expiry) + place.part + place.sort
                keys = {name: item[name] for name in definition.keys}
                yield Entry(ItemKey(definition.time_to_live.space, EXPIRIES, sort), _stored(keys), None)

    def index_place(self, index: Index, place: ItemKey, item: Item) -> ItemKey | None:
        """The place of an item in an index; `None` if the index does not have it."""
        types, values = self.definition.types, []
        for name in index.hashes:
            value = item.get(name)
            # An item older than the index may have a value of another type.
            if value is None or value.get(types[name], "") == "":
                return None
            values.append(value)
        own = b""
        for name in index.ranges:
            value = item.get(name)
            if value is None or value.get(types[name], "") == "":
                return None
            own += encoded(value)
        return ItemKey(index.space, part_key(*values), own + place.part + place.sort)

    def projected(self, index: Index, item: Item, stored: StoredItem) -> StoredItem:
        """The projection of an item in an index."""
        if index.projection == "ALL":
            return stored
        names = dict.fromkeys((*self.definition.keys, *index.keys, *index.included))
        return _stored({name: item[name] for name in names if name in item})

    def needs_old_items(self) -> bool:
        """True if a write must read the item that it replaces."""
        return bool(self.definition.indexes) or self.definition.time_to_live is not None


def _length(item: Item, names: Sequence[str]) -> int:
    """The bytes of the attributes of a key; numbers count as their texts."""
    size = 0
    for name in names:
        for kind, content in item.get(name, {}).items():
            size += binary_length(content) if kind == "B" else utf8_length(content)
    return size


def _too_long_hash() -> ApiError:
    return invalid(
        f"One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of"
        f"{LONGEST_HASH_BYTES} bytes"
    )


def _too_long_range() -> ApiError:
    return invalid(
        "One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of "
        f"{LONGEST_RANGE_BYTES} bytes"
    )


def _stored(item: Item) -> StoredItem:
    return StoredItem(item_size(item), dump(item))


def dump(item: Item) -> str:
    """The JSON text of an item."""
    return orjson.dumps(item).decode()


def parse(stored: StoredItem) -> Item:
    """An item from its stored text."""
    item: Item = orjson.loads(stored.body)
    return item


def not_found(name: str | None = None) -> ApiError:
    """The error for a table that does not exist."""
    more = f": Table: {name} not found" if name is not None else ""
    return ApiError("ResourceNotFoundException", f"Requested resource not found{more}")
