"""SELECT: pages of a query where the condition names partitions, of a scan elsewhere; single items by key.

A page may read several partitions, one after the other. Its token has the number of the partition and the key behind
which the next page begins, and belongs to one statement with its parameters.

Source: developer guide, "PartiQL select statements", "PartiQL operators"; texts observed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import orjson

from statewright.clock import Clock
from statewright.pages import read_token, write_token
from statewright.payload import Json
from statewright.stores.table_protocol import ItemKey, StoredItem, TableStore
from statewright.tables.definitions import Index
from statewright.tables.expressions.conditions import Compiler, Test, look_up
from statewright.tables.expressions.key_conditions import KeyRange
from statewright.tables.expressions.projections import Project
from statewright.tables.expressions.tree import Step
from statewright.tables.partiql.keys import item_key, partitions
from statewright.tables.partiql.tree import Order, Select
from statewright.tables.reads import Page, Reading, fetches, paths_in, readable_index, scan_page, span_page
from statewright.tables.table import Table, parse
from statewright.tables.values import Item, invalid

FILTER: Final = "FilterExpression"
"""The parameter whose name errors in the condition of a read have."""
MOST_OF_SEVERAL: Final = 10
"""Items in a page of several partitions. Source: developer guide, "PartiQL operators"."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A compiled SELECT. Without `ranges`, it scans."""

    reading: Reading
    ranges: Sequence[KeyRange] | None
    descends: bool
    scope: str
    """The name of its tokens."""


def selection(table: Table, select: Select, request: Mapping[str, Json]) -> Selection:
    """Compile a SELECT; `request` has its limit, consistency and parameters. Raises: ApiError."""
    index = _index(table, select, is_consistent=bool(request.get("ConsistentRead")))
    keys = table.definition if index is None else index
    ranges = partitions(keys, select.where, select.bindings, table.definition.types)
    descends = _is_descending(keys.hashes, keys.ranges, select.orders, ranges)
    if ranges is not None and select.orders and select.orders[0].attribute in keys.hashes:
        # The hash of a partition's value stands before it.
        ranges.sort(key=lambda one: (one.part[4:], one.low), reverse=select.orders[0].descends)
    asked = {str(select.bindings.path(FILTER, column.path)[0]) for column in select.columns}
    cost = 1 + (sum(1 for _ in paths_in(select.where)) if select.where is not None else 0)
    reading = Reading(
        table,
        index,
        _test(select),
        _project(select),
        False,
        fetches(table, index, None, asked or None),
        request.get("Limit"),
        bool(request.get("ConsistentRead")),
        cost,
    )
    given = orjson.dumps([request["Statement"], request.get("Parameters")], default=bytes.hex)
    return Selection(reading, ranges, descends, f"partiql {hashlib.sha256(given).hexdigest()}")


@dataclass(frozen=True, slots=True)
class Single:
    """A compiled SELECT of the only item with a key."""

    table: Table
    place: ItemKey
    test: Test
    project: Project | None

    def shown(self, stored: StoredItem | None) -> StoredItem | Item | None:
        """The selected attributes of its item; `None` if the item does not exist or fails the condition."""
        if stored is None:
            return None
        item = parse(stored)
        if not self.test(item):
            return None
        return stored if self.project is None else self.project(item)


def single(table: Table, select: Select, operation: str) -> Single:
    """Compile a SELECT of an operation that reads single items. Raises: ApiError if it names no key."""
    key = item_key(table.definition.keys, select.where, select.bindings) if select.index is None else None
    test = _test(select)
    if key is None or test is None:
        raise invalid(f"Select statements within {operation} must specify the primary key in the where clause.")
    return Single(table, table.key(key)[1], test, _project(select))


async def page_of(store: TableStore, clock: Clock, chosen: Selection, token: str | None) -> tuple[Page, str | None]:
    """A page of a SELECT behind a token, and the token of the next one. Raises: ApiError."""
    number, start = _place(chosen.scope, token)
    reading = chosen.reading
    if chosen.ranges is None:
        page = await scan_page(store, clock, reading, start)
        return page, _token(chosen.scope, 0, page.last)
    limit = reading.limit
    if len(chosen.ranges) > 1:
        limit = min(limit or MOST_OF_SEVERAL, MOST_OF_SEVERAL)
    whole = Page(index=reading.index)
    while number < len(chosen.ranges):
        left = replace(reading, limit=limit - whole.scanned if limit is not None else None)
        page = await span_page(store, clock, left, chosen.ranges[number], start, backward=chosen.descends)
        whole.items += page.items
        whole.scanned += page.scanned
        whole.units += page.units
        whole.last = start = page.last
        if page.last is not None:
            break
        number += 1
    return whole, _token(chosen.scope, number, whole.last)


def _place(scope: str, token: str | None) -> tuple[int, Json]:
    if token is None:
        return 0, None
    try:
        found = read_token(scope, token)
    except ValueError:
        raise invalid("Invalid NextToken: it is not one of this statement with these parameters") from None
    assert isinstance(found, list)
    return found[0], found[1]


def _token(scope: str, number: int, last: Item | None) -> str | None:
    return None if last is None else write_token(scope, [number, last])


def _index(table: Table, select: Select, *, is_consistent: bool) -> Index | None:
    if select.index is None:
        return None
    if table.definition.index(select.index) is None:
        raise invalid("The table does not have the specified index")
    return readable_index(table, select.index, is_consistent=is_consistent)


def _is_descending(
    hashes: Sequence[str], sorts: Sequence[str], orders: Sequence[Order], ranges: Sequence[KeyRange] | None
) -> bool:
    """True if items of a partition are read backward. Raises: ApiError for an order that the service refuses."""
    for order in orders:
        if order.attribute not in (*hashes, *sorts):
            raise invalid(f"Variable reference {order.attribute} in ORDER BY clause must be part of the primary key")
    if orders and ranges is None:
        raise invalid(
            "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause."
        )
    if ranges is not None and len(ranges) > 1 and orders and orders[0].attribute not in hashes:
        raise invalid(
            f"Statewright orders several partitions by their key first: write ORDER BY {hashes[0]}, "
            f"{orders[0].attribute}"
        )
    ways = {order.descends for order in orders if order.attribute in sorts}
    if len(ways) > 1:
        raise invalid("All attributes of the sort key must have the same direction in ORDER BY")
    return ways == {True}


def _test(select: Select) -> Test | None:
    return Compiler(FILTER, select.bindings).test(select.where) if select.where is not None else None


def _project(select: Select) -> Project | None:
    if not select.columns:
        return None
    paths: list[tuple[str, tuple[Step, ...]]] = [
        (column.name, select.bindings.path(FILTER, column.path)) for column in select.columns
    ]

    def project(item: Item) -> Item:
        found = ((name, look_up(item, steps)) for name, steps in paths)
        return {name: value for name, value in found if value is not None}

    return project
