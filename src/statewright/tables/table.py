"""One table as it is used: which key an item has, where it stands, and which entries of indexes it makes. No I/O.

Owns the checks of keys. Definitions are replaced as a whole, so a writer's thread sees one or the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import orjson

from statewright.errors import ApiError
from statewright.payload import Json
from statewright.stores.table_protocol import ItemKey, StoredItem
from statewright.tables.definitions import Definition, Index
from statewright.tables.keys import encoded, part_key
from statewright.tables.values import Item, Value, checked, invalid, item_size, kind_of, utf8_length

LONGEST_HASH_BYTES: Final = 2048
LONGEST_RANGE_BYTES: Final = 1024
LARGEST_ITEM_BYTES: Final = 400 * 1024
"""Source of all: service quotas."""
EXPIRIES: Final = b""
"""The one part of a space where items stand by their expiry."""
MISMATCH: Final = "The provided key element does not match the schema"


@dataclass(frozen=True, slots=True)
class Entry:
    """An item in an index: where, what, and of which index (`None`: that of expiry)."""

    key: ItemKey
    item: StoredItem
    index: Index | None


class Table:
    """A table. `arn` is its name for the world."""

    def __init__(self, definition: Definition, arn: str) -> None:
        self.definition = definition
        self.arn = arn
        self.is_deleted = False

    def check(self) -> None:
        """Raises: ApiError (`ResourceNotFoundException`) once it is deleted."""
        if self.is_deleted:
            raise not_found()

    # ------------------------------------------------------------------ keys

    def key(self, given: Json) -> tuple[Item, ItemKey]:
        """A key as requests name it, and where its item stands. Raises: ApiError."""
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
        """Where an item with a checked key stands."""
        definition = self.definition
        sort = encoded(item[definition.range]) if definition.range is not None else b""
        return ItemKey(definition.space, part_key(item[definition.hash]), sort)

    def check_item_key(self, item: Item) -> None:
        """Raises: ApiError for an item without its key, or with one that it cannot have."""
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
                words = {"S": "string", "B": "binary"}[kind]
                raise invalid(
                    "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain "
                    f"an empty {words} value. Key: {name}"
                )
            size = utf8_length(content) if kind != "B" else len(content) // 4 * 3
            if name == definition.hash and size > LONGEST_HASH_BYTES:
                raise invalid(
                    "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of"
                    f"{LONGEST_HASH_BYTES} bytes"
                )
            if name != definition.hash and size > LONGEST_RANGE_BYTES:
                raise invalid(
                    "One or more parameter values were invalid: Aggregated size of all range keys has exceeded the "
                    f"size limit of {LONGEST_RANGE_BYTES} bytes"
                )

    def check_index_keys(self, item: Item, *, of_update: bool = False) -> None:
        """Raises: ApiError for an item whose attributes cannot be keys of the indexes that have them."""
        for index in self.definition.indexes:
            for name in index.keys:
                value = item.get(name)
                if value is None or name in self.definition.keys:
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

    # ------------------------------------------------------------------ indexes

    def entries(self, place: ItemKey, item: Item, stored: StoredItem) -> Iterator[Entry]:
        """What an item makes in the indexes."""
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
        """Where an item stands in an index; `None` where it does not."""
        first = item.get(index.hash)
        second = item.get(index.range) if index.range is not None else None
        if not self._may_be_key(index.hash, first) or (
            index.range is not None and not self._may_be_key(index.range, second)
        ):
            return None
        assert first is not None
        own = encoded(second) if second is not None else b""
        return ItemKey(index.space, part_key(first), own + place.part + place.sort)

    def _may_be_key(self, name: str, value: Value | None) -> bool:
        """An item may be older than the index, and have something else there."""
        return value is not None and value.get(self.definition.types[name], "") != ""

    def projected(self, index: Index, item: Item, stored: StoredItem) -> StoredItem:
        """An item as an index has it."""
        if index.projection == "ALL":
            return stored
        names = dict.fromkeys((*self.definition.keys, *index.keys, *index.included))
        return _stored({name: item[name] for name in names if name in item})

    def needs_old_items(self) -> bool:
        """Whether a write must see what stood there."""
        return bool(self.definition.indexes) or self.definition.time_to_live is not None


def _stored(item: Item) -> StoredItem:
    return StoredItem(item_size(item), dump(item))


def dump(item: Item) -> str:
    """An item's text."""
    return orjson.dumps(item).decode()


def parse(stored: StoredItem) -> Item:
    """A stored item."""
    item: Item = orjson.loads(stored.body)
    return item


def not_found(name: str | None = None) -> ApiError:
    """The answer to a request for a table that is not there."""
    more = f": Table: {name} not found" if name is not None else ""
    return ApiError("ResourceNotFoundException", f"Requested resource not found{more}")
