"""A search through executions without an index: newest first, in slices, with what was found so far and how far back.

A slice is read and matched in a thread. Between two slices the search rests for four times as long as the slice took,
so that it takes a fifth of a processor at most, and it goes on only while its page listens.

What a history hides is not found in other texts of its execution either: a match outside of the name counts if it is
one without these values, too. Histories are read of matches alone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from statewright.api.operations import App
from statewright.console.asked import Asked, Lines, number
from statewright.console.context import Console
from statewright.console.hidden_values import HiddenValues
from statewright.console.lists.conditions import FIELDS, Found, Query, Texts, met, needles
from statewright.console.lists.executions import MOST_ROWS, newest, row_of, views_of
from statewright.console.lists.filters import Filters, cursor_of, filters_of, place_of
from statewright.console.redaction import Redactor
from statewright.engine.executions.views import Head, Tail
from statewright.payload import Json, JsonObject
from statewright.stores.protocol import Row, Started, Thin

FIRST_ROWS: Final = 500
"""Rows of the first slice: what is common is found in it. The next ones are longer."""
SLICE_ROWS: Final = 5_000
WAITING_ROWS: Final = 200
"""Rows of a slice when each needs a look at its history."""
_ROWS_OF_A_MACHINE: Final = 4
"""Of each machine in a first slice that needs no bodies: a slice of fewer rows costs hardly less than one of these."""
PAGE_ROWS: Final = 100
_DUTY: Final = 0.2
_LEAST_BATCH: Final = 8
_FIRST_BATCH: Final = 64
_MOST_BATCH: Final = 1_000
_BATCH_BYTES: Final = 4 * 1024 * 1024
_ESCAPE: Final = b"\\\\u"

Reveal = Callable[[Row], Texts]
"""The texts of a row that a search may see."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A row that a search found, and where; `None` if no text was searched."""

    row: Thin
    found: Found | None


@dataclass(frozen=True, slots=True)
class Slice:
    """The result of one slice, the place behind its last row, and how many rows it looked at."""

    hits: list[Hit]
    place: Started | None
    looked: int


def revealed_by(redactor: Redactor) -> Reveal:
    """The texts of rows as they may be shown, and so be searched."""

    def texts_of(row: Row) -> Texts:
        head, tail = Head.decode(row.head), Tail.decode(row.tail)
        given, *others = redactor.texts((head.input, tail.output, tail.error, tail.cause))
        return Texts(row.name.partition(":")[0], given or "", *others)

    return texts_of


async def search(console: Console, asked: Asked) -> Lines:
    """Executions by all filters: lines `{rows}` as they are found, then `{looked, lookedBackMs, cursor}` of each slice.

    The last line has `next`, the cursor to continue from once `limit` rows are found, and `null` at the end of the
    list. A row is as in `executions`, with `found`: `{where, before, match, after}`.
    """
    app = console.app_of(asked)
    filters = await filters_of(app, asked.given)
    limit = max(1, min(number(asked.given, "limit", PAGE_ROWS), MOST_ROWS))
    return Lines(_lines(app, filters, place_of(asked.given), limit, console.hidden_of(app)))


async def _lines(
    app: App, filters: Filters, after: Started | None, limit: int, hidden: HiddenValues
) -> AsyncIterator[Json]:
    found = looked = 0
    async for part in slices(app, filters, after, hidden, limit):
        looked += part.looked
        hits = part.hits[: limit - found]
        place = part.place
        if len(part.hits) > len(hits) or found + len(hits) == limit:
            # Those behind the last one that fits are found again.
            place = (hits[-1].row.started_ms, hits[-1].row.id)
        if hits:
            yield {"rows": await _rows(app, hits, hidden)}
        found += len(hits)
        back_ms, cursor = (place[0], cursor_of(place)) if place else (None, None)
        yield {"looked": looked, "lookedBackMs": back_ms, "cursor": cursor}
        if found == limit:
            yield {"next": cursor, "nowMs": app.clock.now_ms()}
            return
    yield {"next": None, "nowMs": app.clock.now_ms()}


async def _rows(app: App, hits: Sequence[Hit], hidden: HiddenValues) -> list[Json]:
    of = {hit.row.id: hit.found for hit in hits}
    rows: list[Json] = []
    for view in await views_of(app.engine, [hit.row for hit in hits]):
        found = of[view.id]
        row: JsonObject = await row_of(hidden, view)
        if found is not None:
            row["found"] = {"where": found.where, "before": found.before, "match": found.match, "after": found.after}
        rows.append(row)
    return rows


async def slices(
    app: App, filters: Filters, after: Started | None, hidden: HiddenValues, most: int
) -> AsyncIterator[Slice]:
    """Look through the executions from a place on; the last slice is the end of the list. A slice has at most `most`
    executions that match a query; it is not searched for more.

    Rests after each slice until the next one is asked for, by the clock.
    """
    engine, clock = app.engine, app.clock
    place = filters.begin(after, clock.now_ms())
    size = _first_size(filters)
    while True:
        began = time.perf_counter()
        rows = await newest(engine, filters, place, size)
        hits = [Hit(row, None) for row in rows]
        if filters.took_ms:
            now_ms = clock.now_ms()
            hits = [hit for hit in hits if _took(hit.row, now_ms) >= filters.took_ms]
        if filters.waiting_ms:
            hits = await _waiting(app, hits, filters.waiting_ms)
        if filters.query is not None:
            hits = await _matching(app, hits, filters.query, hidden, most)
        place = (rows[-1].started_ms, rows[-1].id) if rows else place
        took_ms = (time.perf_counter() - began) * 1000
        yield Slice(hits, place, len(rows))
        if len(rows) < size:
            return
        size = size if filters.waiting_ms else min(2 * size, SLICE_ROWS)
        await clock.sleep_until(clock.now_ms() + round(took_ms * (1 / _DUTY - 1)))


def _first_size(filters: Filters) -> int:
    if filters.waiting_ms:
        return WAITING_ROWS
    if filters.query is not None:
        return FIRST_ROWS
    return min(SLICE_ROWS, max(FIRST_ROWS, _ROWS_OF_A_MACHINE * len(filters.machines)))


def _took(row: Thin, now_ms: int) -> int:
    return (row.stopped_ms if row.stopped_ms is not None else now_ms) - row.started_ms


async def _waiting(app: App, hits: Sequence[Hit], waiting_ms: int) -> list[Hit]:
    """Those whose last history event is as old as that."""
    until_ms = app.clock.now_ms() - waiting_ms
    found: list[Hit] = []
    for hit in hits:
        last_ms = await app.engine.listing.last_event_ms(hit.row.id)
        if last_ms is not None and last_ms <= until_ms:
            found.append(hit)
        # A point read of SQLite does not let the loop go on by itself.
        await asyncio.sleep(0)
    return found


async def _matching(app: App, hits: Sequence[Hit], query: Query, hidden: HiddenValues, most: int) -> list[Hit]:
    """The first that meet a query. Bodies are read in batches of a bounded size, because inputs may be long."""
    by_id = {hit.row.id: hit.row for hit in hits}
    ids, wanted, reveal = list(by_id), needles(query), revealed_by(hidden.redactor)
    batch, begin = _FIRST_BATCH, 0
    found: list[Hit] = []
    while begin < len(ids) and len(found) < most:
        rows = await app.engine.listing.rows(ids[begin : begin + batch])
        begin += batch
        matches, size = await asyncio.to_thread(matching, rows, query, wanted, reveal)
        for row, one in matches:
            seen = await _seen(row, one, query, hidden)
            if seen is not None:
                found.append(Hit(by_id[row.id], seen))
            if len(found) == most:
                return found
        batch = max(_LEAST_BATCH, batch // 4) if size > _BATCH_BYTES else min(_MOST_BATCH, batch * 2)
    return found


async def _seen(row: Row, match: Found, query: Query, hidden: HiddenValues) -> Found | None:
    """A match as it may be shown; None for one that needs values which the history of its execution hides."""
    if match.where == "name" and not query.conditions:
        return match
    values = await hidden.of(row.id, row.stopped_ms)
    if values is None:
        return match
    texts = revealed_by(hidden.redactor)(row)
    return met(query, replace(texts, **{name: values.text(text) for name in FIELDS[1:] if (text := texts.of(name))}))


def matching(
    rows: Sequence[Row], query: Query, wanted: Sequence[tuple[str, bytes]], reveal: Reveal
) -> tuple[list[tuple[Row, Found]], int]:
    """The rows that meet a query, and the bytes that were looked at."""
    found: list[tuple[Row, Found]] = []
    size = 0
    for row in rows:
        size += len(row.head) + len(row.tail)
        if not _has(row, wanted):
            continue
        one = met(query, reveal(row))
        if one is not None:
            found.append((row, one))
    return found, size


def may_match(row: Row, query: Query) -> bool:
    """False if a row cannot meet a query; looks at its bytes alone."""
    return _has(row, needles(query))


def _has(row: Row, wanted: Sequence[tuple[str, bytes]]) -> bool:
    head, tail = row.head.lower(), row.tail.lower()
    for place, needle in wanted:
        # Letters may be written as escapes.
        is_there = place != "tail" and (needle in head or _ESCAPE in head)
        is_there = is_there or (place != "head" and (needle in tail or _ESCAPE in tail))
        if not is_there:
            return False
    return True


READS: Final = {"executions/search": search}
