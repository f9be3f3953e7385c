"""Reads of items: by key, by query, by scan, and their pages.

A page ends at its limit, after a megabyte, or with the data. Items are read in batches, sized by the number of items
likely to fill the megabyte.

Source: API reference, GetItem, Query, Scan; texts observed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from statewright.background import in_thread
from statewright.clock import Clock
from statewright.errors import ApiError
from statewright.payload import Json
from statewright.stores.table_protocol import ItemKey, Span, StoredItem, TableStore
from statewright.tables.definitions import Index
from statewright.tables.expressions import parser
from statewright.tables.expressions.bindings import Bindings
from statewright.tables.expressions.conditions import Compiler, Test
from statewright.tables.expressions.key_conditions import PARAMETER as KEY_CONDITION
from statewright.tables.expressions.key_conditions import KeyRange, key_range
from statewright.tables.expressions.projections import PARAMETER as PROJECTION
from statewright.tables.expressions.projections import Project, cutter, projector
from statewright.tables.expressions.tree import (
    All,
    Among,
    Between,
    Call,
    Compare,
    Condition,
    Either,
    Not,
    Operand,
    Path,
)
from statewright.tables.keys import BEHIND_PARTS, segment
from statewright.tables.table import MISMATCH, Table, parse
from statewright.tables.values import DETECTED, Item, checked, invalid, kind_of
from statewright.tables.writes import refuse_legacy

PAGE_BYTES: Final = 1024 * 1024
"""Source: developer guide, "Paginating table query results"."""
READ_UNIT_BYTES: Final = 4096
_AT_FIRST: Final = 100
_AT_ONCE: Final = 2_000
_LONG_COST: Final = 2_000_000
"""Characters of items times operands of a filter that are compared on the event loop: about 20 ms. Ours."""
FILTER: Final = "FilterExpression"
_INVALID: Final = "One or more parameter values were invalid: "


@dataclass(slots=True)
class Page:
    """A page of items. `units` are the read capacity units, of which `of_index` were those of an index."""

    items: list[StoredItem | Item] = field(default_factory=list)
    count: int = 0
    scanned: int = 0
    last: Item | None = None
    """The key behind which the next page begins."""
    units: float = 0.0
    index: Index | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A compiled query or scan: the source of its items, their filter and projection."""

    table: Table
    index: Index | None
    test: Test | None
    project: Project | None
    only_counts: bool
    fetches: bool
    """True if items of an index are read from the table, because the projection has attributes that the index lacks."""
    limit: int | None
    is_consistent: bool
    cost: int
    """How often a character of an item is read: to parse it, and by each operand of the filter."""

    @property
    def space(self) -> int:
        """The space of the items."""
        return self.table.definition.space if self.index is None else self.index.space

    def key_of(self, item: Item) -> Item:
        """The `LastEvaluatedKey` of an item."""
        names = dict.fromkeys((*self.table.definition.keys, *(self.index.keys if self.index is not None else ())))
        return {name: item[name] for name in names}


# ------------------------------------------------------------------ items by key


def get_of(table: Table, members: Mapping[str, Json]) -> tuple[ItemKey, Project | None]:
    """The key of the requested item, and its projection. Raises: ApiError."""
    refuse_legacy(members)
    project = projection_of(members)
    _, place = table.key(members["Key"])
    return place, project


def projection_of(members: Mapping[str, Json]) -> Project | None:
    """The projection of a request; `None` for all attributes. Raises: ApiError."""
    text = members.get(PROJECTION)
    bindings = Bindings(members.get("ExpressionAttributeNames"), None, {PROJECTION: text})
    project = projector(parser.projection(PROJECTION, text), bindings) if text is not None else None
    bindings.check_all_used()
    return project


def read_units(size: int, *, is_consistent: bool) -> float:
    """Read capacity units of so many bytes."""
    return max(1, -(-size // READ_UNIT_BYTES)) * (1.0 if is_consistent else 0.5)


# ------------------------------------------------------------------ queries and scans


def refuse_empty_filter(members: Mapping[str, Json]) -> None:
    """Refuse an empty filter: a query does so before it looks for its table. Raises: ApiError."""
    text = members.get(FILTER)
    if text is not None and not text.strip():
        parser.condition(FILTER, text)


async def query(store: TableStore, clock: Clock, table: Table, members: Mapping[str, Json]) -> Page:
    """A page of a query. Raises: ApiError."""
    refuse_legacy(members)
    texts = {name: members.get(name) for name in (KEY_CONDITION, FILTER, PROJECTION)}
    bindings = Bindings(members.get("ExpressionAttributeNames"), members.get("ExpressionAttributeValues"), texts)
    index = _index_of(table, members)
    text = texts[KEY_CONDITION]
    if text is None:
        raise invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
    keys = table.definition if index is None else index
    types = table.definition.types
    wanted = key_range(parser.condition(KEY_CONDITION, text), bindings, keys.hashes, keys.ranges, types)
    reading = _reading(table, index, members, texts, bindings, own_keys=keys.keys)
    start, backward = members.get("ExclusiveStartKey"), members.get("ScanIndexForward") is False
    return await span_page(store, clock, reading, wanted, start, backward=backward)


async def span_page(
    store: TableStore, clock: Clock, reading: Reading, wanted: KeyRange, start: Json, *, backward: bool
) -> Page:
    """A page of a range of a partition, behind the key `start` if there is one. Raises: ApiError."""
    low, high = _from_start(reading, start, wanted, backward=backward)

    async def read(after: ItemKey | None, limit: int) -> list[StoredItem]:
        begin, end = low, high
        if after is not None:
            begin, end = (begin, after.sort) if backward else (after.sort + b"\0", end)
        return await store.span(Span(reading.space, wanted.part, begin, end), limit=limit, backward=backward)

    return await _page(store, clock, reading, read)


def _from_start(reading: Reading, given: Json, wanted: KeyRange, *, backward: bool) -> tuple[bytes, bytes]:
    """The bounds of a query that continues behind a key."""
    if given is None:
        return wanted.low, wanted.high
    start = _start_place(reading, given)
    inside = start.part == wanted.part and wanted.low <= start.sort < wanted.high
    if not inside:
        raise invalid("The provided starting key is outside query boundaries based on provided conditions")
    return (wanted.low, start.sort) if backward else (start.sort + b"\0", wanted.high)


async def scan(store: TableStore, clock: Clock, table: Table, members: Mapping[str, Json]) -> Page:
    """A page of a scan, or of a segment of one. Raises: ApiError."""
    refuse_legacy(members)
    texts = {name: members.get(name) for name in (FILTER, PROJECTION)}
    bindings = Bindings(members.get("ExpressionAttributeNames"), members.get("ExpressionAttributeValues"), texts)
    index = _index_of(table, members)
    reading = _reading(table, index, members, texts, bindings, own_keys=())
    return await scan_page(store, clock, reading, members.get("ExclusiveStartKey"), *_segment_of(members))


async def scan_page(
    store: TableStore,
    clock: Clock,
    reading: Reading,
    given: Json,
    first: bytes = b"",
    below: bytes = BEHIND_PARTS,
) -> Page:
    """A page of a table or index, or of a range of its partitions, behind a given key. Raises: ApiError."""
    start = (first, b"")
    if given is not None:
        place = _start_place(reading, given)
        if not first <= place.part < below:
            raise invalid(
                "The provided starting key is invalid: Invalid ExclusiveStartKey. "
                "Please use ExclusiveStartKey with correct Segment."
            )
        start = (place.part, place.sort)

    async def read(after: ItemKey | None, limit: int) -> list[StoredItem]:
        place = (after.part, after.sort) if after is not None else start
        return await store.scan(reading.space, after=place, below=below, limit=limit)

    return await _page(store, clock, reading, read)


def _segment_of(members: Mapping[str, Json]) -> tuple[bytes, bytes]:
    number, total = members.get("Segment"), members.get("TotalSegments")
    if number is None and total is None:
        return b"", BEHIND_PARTS
    if total is None:
        raise invalid(
            "The TotalSegments parameter is required but was not present in the request when Segment parameter "
            "is present"
        )
    if number is None:
        raise invalid(
            "The Segment parameter is required but was not present in the request when parameter TotalSegments "
            "is present"
        )
    if number >= total:
        raise invalid(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
            f"Segment: {number} is not less than TotalSegments: {total}"
        )
    return segment(number, total)


def _index_of(table: Table, members: Mapping[str, Json]) -> Index | None:
    name = members.get("IndexName")
    return None if name is None else readable_index(table, name, is_consistent=bool(members.get("ConsistentRead")))


def readable_index(table: Table, name: str, *, is_consistent: bool) -> Index:
    """An index that can be read now. Raises: ApiError."""
    index = table.definition.index(name)
    if index is None:
        raise invalid(f"The table does not have the specified index: {name}")
    if index.is_backfilling:
        raise invalid(f"Cannot read from backfilling global secondary index: {name}")
    if index.is_global and is_consistent:
        raise invalid("Consistent reads are not supported on global secondary indexes")
    return index


def _reading(
    table: Table,
    index: Index | None,
    members: Mapping[str, Json],
    texts: Mapping[str, str | None],
    bindings: Bindings,
    own_keys: Sequence[str],
) -> Reading:
    test = None
    cost = 1
    text = texts[FILTER]
    if text is not None:
        condition = parser.condition(FILTER, text)
        test = Compiler(FILTER, bindings).test(condition)
        for path in paths_in(condition):
            cost += 1
            name = str(bindings.path(FILTER, path)[0])
            if name in own_keys:
                raise invalid(
                    f"Filter Expression can only contain non-primary key attributes: Primary key attribute: {name}"
                )
    select, shown = members.get("Select"), texts[PROJECTION]
    project, asked = None, None
    if shown is not None:
        paths = [bindings.path(PROJECTION, path) for path in parser.projection(PROJECTION, shown)]
        project, asked = cutter(paths), {str(steps[0]) for steps in paths}
    bindings.check_all_used()
    # Of the two operations, only Query checks keys.
    _check_select(select, shown, index, DETECTED if own_keys else "")
    if select is None and shown is None and index is None:
        select = "ALL_ATTRIBUTES"
    return Reading(
        table,
        index,
        test,
        project,
        select == "COUNT",
        fetches(table, index, select, asked),
        members.get("Limit"),
        bool(members.get("ConsistentRead")),
        cost,
    )


def _check_select(select: str | None, shown: str | None, index: Index | None, before: str) -> None:
    if select is None:
        return
    if shown is not None and select != "SPECIFIC_ATTRIBUTES":
        what = "only the Count" if select == "COUNT" else select
        raise invalid(f"{before}Cannot specify the ProjectionExpression when choosing to get {what}")
    if select == "SPECIFIC_ATTRIBUTES" and shown is None:
        raise invalid(
            f"{before}Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
        )
    if select == "ALL_PROJECTED_ATTRIBUTES" and index is None:
        raise invalid(f"{before}ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
    if select == "ALL_ATTRIBUTES" and index is not None and index.is_global and index.projection != "ALL":
        raise invalid(
            f"{_INVALID}Select type ALL_ATTRIBUTES is not supported for global secondary index {index.name} "
            "because its projection type is not ALL"
        )


def fetches(table: Table, index: Index | None, select: str | None, asked: set[str] | None) -> bool:
    """True if a read of a local index must fetch attributes from the table; a global one cannot."""
    if index is None or index.is_global or index.projection == "ALL":
        return False
    if select == "ALL_ATTRIBUTES":
        return True
    has = {*table.definition.keys, *index.keys, *index.included}
    return asked is not None and not asked <= has


def _start_place(reading: Reading, given: Json) -> ItemKey:
    """The stored key for an `ExclusiveStartKey`; its item need not exist any more."""
    table, index = reading.table, reading.index
    if index is None:
        try:
            return table.place(table.checked_key(given))
        except ApiError:
            raise invalid(f"The provided starting key is invalid: {MISMATCH}") from None
    found: Item = {}
    names = {*table.definition.keys, *index.keys}
    if set(given) != names:
        raise invalid("The provided starting key is invalid")
    for name in names:
        value, _ = checked(given[name])
        if kind_of(value) != table.definition.types[name]:
            raise invalid("The provided starting key is invalid: The provided key element does not match the schema")
        found[name] = value
    place = table.index_place(index, table.place(found), found)
    if place is None:
        raise invalid("The provided starting key is invalid")
    return place


# ------------------------------------------------------------------ pages


async def _page(
    store: TableStore,
    clock: Clock,
    reading: Reading,
    read: Callable[[ItemKey | None, int], Awaitable[list[StoredItem]]],
) -> Page:
    page = Page(index=reading.index)
    table, index = reading.table, reading.index
    size = 0
    last: ItemKey | None = None
    at_once = _AT_FIRST
    while True:
        left = reading.limit - page.scanned if reading.limit is not None else None
        wanted = at_once if left is None else min(at_once, left)
        found = await read(last, wanted)
        for number, stored in enumerate(found):
            size += stored.size
            if size >= PAGE_BYTES:
                del found[number + 1 :]
                break
        page.scanned += len(found)
        await _show(store, clock, reading, found, page)
        is_full = size >= PAGE_BYTES or page.scanned == reading.limit
        if found and (is_full or len(found) == wanted):
            item = parse(found[-1])
            if is_full:
                page.last = reading.key_of(item)
                break
            place = table.place(item)
            last = place if index is None else table.index_place(index, place, item)
        if len(found) < wanted:
            break
        at_once = max(1, min(_AT_ONCE, (PAGE_BYTES - size) * page.scanned // max(size, 1) + 1))
    page.units += read_units(size, is_consistent=reading.is_consistent)
    return page


async def _show(store: TableStore, clock: Clock, reading: Reading, found: list[StoredItem], page: Page) -> None:
    """Add the items that pass the filter to a page."""
    items: list[StoredItem] = found
    if reading.fetches:
        places = [reading.table.place(parse(stored)) for stored in found]
        # The item may have been deleted since the index was read.
        whole = await store.get(places) if places else []
        items = [one or stored for one, stored in zip(whole, found, strict=True)]
        page.units += sum(read_units(one.size, is_consistent=reading.is_consistent) for one in items)
    if reading.test is None and reading.project is None:
        page.count += len(items)
        if not reading.only_counts:
            page.items += items
        return
    if sum(len(one.body) for one in items) * reading.cost > _LONG_COST:
        await in_thread(clock, lambda: _select(reading, items, page))
    else:
        _select(reading, items, page)


def _select(reading: Reading, items: Sequence[StoredItem], page: Page) -> None:
    """Add the parts of items that pass the filter to a page."""
    for stored in items:
        item = parse(stored)
        if reading.test is not None and not reading.test(item):
            continue
        page.count += 1
        if reading.project is not None:
            page.items.append(reading.project(item))
        elif not reading.only_counts:
            page.items.append(stored)


def paths_in(node: Condition | Operand) -> Iterator[Path]:
    """The paths in a condition, as they are written."""
    if isinstance(node, Path):
        yield node
    elif isinstance(node, Not):
        yield from paths_in(node.part)
    elif isinstance(node, All | Either):
        for part in node.parts:
            yield from paths_in(part)
    elif isinstance(node, Compare | Between | Among | Call):
        inner: tuple[Operand, ...]
        if isinstance(node, Compare):
            inner = node.left, node.right
        elif isinstance(node, Between):
            inner = node.operand, node.low, node.high
        elif isinstance(node, Among):
            inner = node.operand, *node.choices
        else:
            inner = node.arguments
        for operand in inner:
            yield from paths_in(operand)
