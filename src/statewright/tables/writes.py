"""Writes of single items: puts, updates, deletes and condition checks, and their effect on the store.

A `Write` is made of the members of a request, which are the same for single writes and for those of transactions.
`carry_out` decides its effect in the store's writer, where no other write can interfere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from statewright.errors import ApiError
from statewright.payload import Json
from statewright.stores.table_protocol import Counted, Decision, ItemKey, StoredItem
from statewright.tables.expressions.bindings import Bindings
from statewright.tables.expressions.conditions import Compiler, Test, look_up
from statewright.tables.expressions.parser import condition, update
from statewright.tables.expressions.projections import cutter
from statewright.tables.expressions.tree import Step
from statewright.tables.expressions.updates import PARAMETER, TOO_LARGE, Update
from statewright.tables.table import Entry, Table, dump, parse
from statewright.tables.values import LARGEST_ITEM_BYTES, Item, checked_item, invalid, item_size

KIB: Final = 1024
LEGACY: Final = {
    "Expected": "ConditionExpression",
    "ConditionalOperator": "ConditionExpression or FilterExpression",
    "AttributeUpdates": "UpdateExpression",
    "AttributesToGet": "ProjectionExpression",
    "KeyConditions": "KeyConditionExpression",
    "QueryFilter": "FilterExpression",
    "ScanFilter": "FilterExpression",
}
"""Parameters from before 2014, and their replacements."""


class ConditionFailed(ApiError):
    """A condition that does not hold; `found` is the current item."""

    def __init__(self, found: StoredItem | None) -> None:
        super().__init__("ConditionalCheckFailedException", "The conditional request failed")
        self.found = found


@dataclass(frozen=True, slots=True)
class Write:
    """One write. `make` returns the new item, `None` for none; without `make`, only the condition is checked."""

    table: Table
    key: Item
    place: ItemKey
    test: Test | None
    make: Callable[[Item | None], tuple[Item | None, StoredItem | None]] | None
    reads: bool
    """True if `make` reads the item before the write."""
    paths: tuple[tuple[Step, ...], ...] = ()
    """The paths that an update writes to."""
    by_expiry: bool = False
    """True for the delete of an item whose time to live is over."""


@dataclass(frozen=True, slots=True)
class Written:
    """The item before and after a write; `units` are the capacity units of the table and of its indexes, by name."""

    before: StoredItem | None
    after: StoredItem | None
    units: Mapping[str | None, int] = field(default_factory=dict)


def refuse_legacy(members: Mapping[str, Json]) -> None:
    """Refuse parameters from before 2014. Raises: ApiError."""
    for name, instead in LEGACY.items():
        if members.get(name) is not None:
            raise invalid(
                f"One or more parameter values were invalid: {name} is a legacy parameter, which Statewright does not "
                f"support; use {instead}"
            )


# ------------------------------------------------------------------ from requests


def put_of(table: Table, members: Mapping[str, Json]) -> Write:
    """A put. Raises: ApiError."""
    refuse_legacy(members)
    test = _only_condition(members)
    item, size = checked_item(members["Item"])
    return put_item(table, item, size, test)


def put_item(table: Table, item: Item, size: int, test: Test | None = None) -> Write:
    """A put of a checked item. Raises: ApiError."""
    table.check_item_key(item)
    table.check_index_keys(item)
    if size > LARGEST_ITEM_BYTES:
        raise invalid("Item size has exceeded the maximum allowed size")
    made = item, StoredItem(size, dump(item))
    return Write(table, item, table.place(item), test, lambda _before: made, False)


def delete_of(table: Table, members: Mapping[str, Json]) -> Write:
    """A delete. Raises: ApiError."""
    refuse_legacy(members)
    test = _only_condition(members)
    return delete_key(table, members["Key"], test)


def delete_key(table: Table, key: Json, test: Test | None = None) -> Write:
    """A delete by key. Raises: ApiError."""
    found, place = table.key(key)
    return Write(table, found, place, test, lambda _before: (None, None), False)


def check_of(table: Table, members: Mapping[str, Json]) -> Write:
    """A condition check. Raises: ApiError."""
    test = _only_condition(members)
    found, place = table.key(members["Key"])
    return Write(table, found, place, test, None, False)


def update_of(table: Table, members: Mapping[str, Json]) -> Write:
    """An update. Raises: ApiError."""
    refuse_legacy(members)
    texts = {PARAMETER: members.get(PARAMETER), "ConditionExpression": members.get("ConditionExpression")}
    bindings = _bindings(members, texts)
    text = texts[PARAMETER]
    actions = update(PARAMETER, text) if text is not None else ()
    compiled = Update(actions, bindings, table.definition.keys)
    test = _test(texts["ConditionExpression"], bindings)
    bindings.check_all_used()
    return update_key(table, members["Key"], compiled, test)


def update_key(table: Table, given: Json, compiled: Update, test: Test | None) -> Write:
    """An update by key. Raises: ApiError."""
    key, place = table.key(given)

    def make(before: Item | None) -> tuple[Item, StoredItem]:
        item = compiled(before if before is not None else key)
        # An update may write the same large value to many attributes.
        size = item_size(item, LARGEST_ITEM_BYTES)
        if size > LARGEST_ITEM_BYTES:
            raise invalid(TOO_LARGE)
        table.check_index_keys(item, of_update=True)
        return item, StoredItem(size, dump(item))

    return Write(table, key, place, test, make, True, tuple(compiled.paths))


def _only_condition(members: Mapping[str, Json]) -> Test | None:
    text = members.get("ConditionExpression")
    bindings = _bindings(members, {"ConditionExpression": text})
    test = _test(text, bindings)
    bindings.check_all_used()
    return test


def _bindings(members: Mapping[str, Json], texts: Mapping[str, str | None]) -> Bindings:
    names, values = members.get("ExpressionAttributeNames"), members.get("ExpressionAttributeValues")
    return Bindings(names, values, texts, of_write=True)


def _test(text: str | None, bindings: Bindings) -> Test | None:
    if text is None:
        return None
    return Compiler("ConditionExpression", bindings).test(condition("ConditionExpression", text))


# ------------------------------------------------------------------ decisions


def carry_out(write: Write, before: StoredItem | None, decision: Decision) -> Written:
    """Add the effect of a write to a decision.

    Raises: ApiError (`ConditionFailed` among them); the decision is then unchanged.
    """
    table = write.table
    table.check()
    needs_old = table.needs_old_items()
    old = parse(before) if before is not None and (write.reads or write.test is not None or needs_old) else None
    if write.test is not None and not write.test(old if old is not None else {}):
        raise ConditionFailed(before)
    if write.make is None:
        return Written(before, before, {None: _units(before.size if before is not None else 0)})
    new, after = write.make(old)
    larger = max(one.size if one is not None else 0 for one in (before, after))
    units: dict[str | None, int] = {None: _units(larger)}
    if after is not None:
        decision.puts[write.place] = after
        decision.drops.discard(write.place)
    elif before is not None:
        decision.drops.add(write.place)
        decision.puts.pop(write.place, None)
    _count(decision, write.place.space, before, after)
    if needs_old:
        gone = table.entries(write.place, old, before) if old is not None and before is not None else ()
        made = table.entries(write.place, new, after) if new is not None and after is not None else ()
        _change_entries(gone, made, decision, units)
    if table.stream is not None:
        table.stream.capture(decision, write.key, before, after, by_expiry=write.by_expiry)
    return Written(before, after, units)


def _change_entries(
    old: Iterable[Entry], new: Iterable[Entry], decision: Decision, units: dict[str | None, int]
) -> None:
    gone, made = {one.key: one for one in old}, {one.key: one for one in new}
    for key, entry in gone.items():
        if key not in made:
            decision.drops.add(key)
            decision.puts.pop(key, None)
            if entry.index is not None:
                units[entry.index.name] = units.get(entry.index.name, 0) + _units(entry.item.size)
                _count_entry(decision, entry, entry.item, None)
    for key, entry in made.items():
        same = gone.get(key)
        if same is not None and same.item == entry.item:
            continue
        decision.puts[key] = entry.item
        decision.drops.discard(key)
        if entry.index is not None:
            units[entry.index.name] = units.get(entry.index.name, 0) + _units(entry.item.size)
            _count_entry(decision, entry, same.item if same is not None else None, entry.item)


def _count_entry(decision: Decision, entry: Entry, before: StoredItem | None, after: StoredItem | None) -> None:
    # A new index is counted when it is full: until then it is unknown whether it had the entry before.
    if entry.index is not None and not entry.index.is_backfilling:
        _count(decision, entry.key.space, before, after)


def _count(decision: Decision, space: int, before: StoredItem | None, after: StoredItem | None) -> None:
    items, size = decision.counts.get(space, (0, 0))
    items += (after is not None) - (before is not None)
    size += (after.size if after is not None else 0) - (before.size if before is not None else 0)
    decision.counts[space] = Counted(items, size)


def _units(size: int) -> int:
    return max(1, -(-size // KIB))


def wake_readers(writes: Iterable[Write]) -> None:
    """Wake the readers of the streams that writes have added records to: they are durable now, or may be."""
    for write in writes:
        if write.table.stream is not None:
            write.table.stream.wake()


# ------------------------------------------------------------------ answers


def updated_parts(write: Write, stored: StoredItem | None) -> Item:
    """The parts of an item that an update writes to, as `UPDATED_OLD` and `UPDATED_NEW` show them."""
    if stored is None:
        return {}
    item = parse(stored)
    there = [steps for steps in write.paths if look_up(item, steps) is not None]
    return cutter(there)(item) if there else {}
