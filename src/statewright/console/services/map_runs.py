"""Reads of one Map Run: its counts, its items as one character each, its child executions page by page.

A child execution has one item, or with an ItemBatcher several. They are read from what the Map Run keeps of each, or,
once it has succeeded, from their rows. No history is read. Long work is done in a thread.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final
from weakref import WeakKeyDictionary

from statewright.api.operations import App, Call, perform
from statewright.arn import MAP_RUN, parse_arn
from statewright.background import in_thread
from statewright.console.asked import Asked, Given, needed, number
from statewright.console.context import Console
from statewright.console.redaction import Redactor
from statewright.console.services.shown_data import line
from statewright.engine.engine import Engine
from statewright.engine.executions.views import Head, Tail
from statewright.engine.map_runs.head import RunHead
from statewright.errors import ApiError
from statewright.interpreter.map_run.codec import decode_map_run
from statewright.interpreter.map_run.results import bucket_of, folder_of
from statewright.interpreter.map_run.state import (
    ABORTED,
    FAILED,
    PENDING,
    PENDING_REDRIVE,
    RUNNING,
    STATUS_NAMES,
    SUCCEEDED,
    TIMED_OUT,
    MapChild,
    MapRunState,
    child_execution_arn,
    child_name,
)
from statewright.payload import JsonObject, Payload
from statewright.stores.protocol import ExecutionStore, Row, Started

PAGE_ROWS: Final = 50
MOST_ROWS: Final = 200
MOST_CELLS: Final = 200_000
"""Items that the strip shows."""
MOST_ERRORS: Final = 20
STEPS: Final = 240
"""Points of the concurrency over time."""
_CAUSE_CHARACTERS: Final = 400
_KEPT_RUNS: Final = 4
_ROWS_AT_ONCE: Final = 1_000
_FIRST: Final = (FAILED, TIMED_OUT, ABORTED, PENDING_REDRIVE, RUNNING, SUCCEEDED, PENDING)
"""Statuses in the order of a list that begins with what failed."""


@dataclass(frozen=True, slots=True)
class Found:
    """A Map Run as it is now. `state` is only read; in a thread its children one by one, since they may change."""

    head: RunHead
    state: MapRunState
    is_open: bool


Closed = OrderedDict[tuple[int, int | None], MapRunState]
_closed: Final[WeakKeyDictionary[Engine, Closed]] = WeakKeyDictionary()
"""Closed Map Runs that were read last, by id and the instant of their end: a redrive has another end."""


async def _found(app: App, arn: str) -> Found:
    """Raises: ApiError (`InvalidArn`, `ResourceNotFound`)."""
    runs, store = app.engine.map_runs, app.engine.store.executions
    closed = _closed.setdefault(app.engine, OrderedDict())
    run_id = await runs.id_of(arn)
    row = await store.row(run_id)
    if row is None:
        raise ApiError("ResourceNotFound", f"Resource not found: '{arn}'")
    head = RunHead.decode(row.head)
    state = runs.open_state(run_id)
    if state is not None:
        return Found(head, state, is_open=True)
    key = (run_id, row.stopped_ms)
    kept = closed.get(key)
    if kept is None:
        stored = await store.load(run_id)
        if stored is None or stored.state is None:
            raise ApiError("ResourceNotFound", f"Resource not found: '{arn}'")
        bodies = [stored.frames[index] for index in sorted(stored.frames)]
        texts = {digest: text.decode() for digest, text in stored.texts.items()}
        kept = await asyncio.to_thread(decode_map_run, stored.state, bodies, texts)
        if not kept.children and any(kept.executions):
            # A run that succeeded has let them go; there are still their rows.
            kept.children = await _of_rows(store, run_id, kept.redrive_count)
        if row.stopped_ms is None:
            # Between a restart and its recovery it is nowhere but in the store.
            return Found(head, kept, is_open=False)
        closed[key] = kept
    closed.move_to_end(key)
    while len(closed) > _KEPT_RUNS:
        closed.popitem(last=False)
    return Found(head, kept, is_open=False)


async def _of_rows(store: ExecutionStore, run_id: int, redrive_count: int) -> list[MapChild]:
    children: list[MapChild] = []
    after: Started | None = None
    while True:
        page = await store.list_rows(run_id, status=None, after=after, limit=_ROWS_AT_ONCE)
        children += await asyncio.to_thread(_children, page.rows, redrive_count)
        after = page.next
        if after is None or len(children) >= MOST_CELLS:
            return sorted(children, key=lambda child: child.index)


def _children(rows: Sequence[Row], redrive_count: int) -> list[MapChild]:
    nothing = Payload(None)
    found: list[MapChild] = []
    for row in rows:
        head = Head.decode(row.head)
        child = MapChild(head.index, nothing, head.item_count or 1)
        child.status = STATUS_NAMES.index(row.status)
        child.attempt = redrive_count
        child.started_ms, child.stopped_ms = row.started_ms, row.stopped_ms or 0
        if row.status != "SUCCEEDED":
            tail = Tail.decode(row.tail)
            child.error, child.cause, child.redrives = tail.error, tail.cause, tail.redrive_count
        found.append(child)
    return found


def _app_of(console: Console, arn: str) -> App:
    return console.app_in(parse_arn(arn, MAP_RUN).region)


# ------------------------------------------------------------------ the head


async def map_run(console: Console, asked: Asked) -> JsonObject:
    """`{mapRun, parent, ..., errors, concurrency}`; `mapRun` is as DescribeMapRun shows it."""
    arn = needed(asked.given, "arn")
    app = _app_of(console, arn)
    # By the operation, which is answered by the node that has the Map Run.
    by = Call("states", "DescribeMapRun", asked.request_id, access_key=asked.caller.access_key or None)
    shown = await perform(app, by, {"mapRunArn": arn})
    found = await _found(app, arn)
    state, head = found.state, found.head
    now_ms = app.clock.now_ms()
    until_ms = state.stopped_ms or now_ms
    children = list(state.children)
    errors = await in_thread(app.clock, lambda: errors_of(children, console.redactor))
    over_time = await in_thread(app.clock, lambda: concurrency(spans_of(children), state.started_ms, until_ms))
    settings = state.settings
    document: JsonObject = {
        "mapRun": shown,
        "parent": await _parent(app, head.parent_arn),
        "state": head.state,
        "childType": head.child_type,
        "source": settings.source,
        "batch": settings.batch_items or settings.batch_bytes,
        "hasTolerance": state.tolerated_count is not None or state.tolerated_percentage is not None,
        "error": state.error,
        "cause": _cause(console.redactor, state.cause),
        "writer": None if settings.writer is None else {
            "bucket": bucket_of(state), "key": f"{folder_of(state)}/manifest.json",
            "isWritten": state.status == "SUCCEEDED",
        },
        "errors": errors,
        "concurrency": over_time,
        "nowMs": now_ms,
    }  # fmt: skip
    return document


def spans_of(children: Sequence[MapChild]) -> list[tuple[int, int]]:
    """The starts and stops of children that have begun, as `concurrency` takes them."""
    # A redriven child that runs still has the end of its attempt before.
    return [
        (child.started_ms, 0 if child.status == RUNNING else child.stopped_ms) for child in children if child.started_ms
    ]


async def _parent(app: App, arn: str) -> JsonObject:
    try:
        view = app.engine.listing.view(await app.engine.names.row_of(arn))
    except ApiError:
        return {"arn": arn, "status": None, "redriveStatus": None, "redriveReason": "The execution is not kept."}
    return {
        "arn": arn, "status": view.status, "redriveStatus": view.redrive_status, "redriveReason": view.redrive_reason,
    }  # fmt: skip


def errors_of(children: Sequence[MapChild], redactor: Redactor) -> list[JsonObject]:
    """`[{error, count, cause, index}]`, most frequent first: the errors of children that did not succeed, with the
    cause and the index of the first that has it."""
    counts: dict[str, int] = {}
    firsts: dict[str, MapChild] = {}
    for child in children:
        if child.error is not None or child.status in (FAILED, TIMED_OUT):
            name = child.error or STATUS_NAMES[child.status]
            counts[name] = counts.get(name, 0) + 1
            firsts.setdefault(name, child)
    most = sorted(counts, key=lambda name: (-counts[name], firsts[name].index))[:MOST_ERRORS]
    return [
        {
            "error": name, "count": counts[name], "index": firsts[name].index,
            "cause": _cause(redactor, firsts[name].cause),
        }
        for name in most
    ]  # fmt: skip


def concurrency(spans: Sequence[tuple[int, int]], from_ms: int, to_ms: int) -> JsonObject:
    """`{fromMs, toMs, stepMs, most}`: how many children ran at most in each step of equal length.

    `spans` are starts and stops; a stop of 0 has not come, and one before its start belongs to an earlier attempt.
    """
    to_ms = max(to_ms, from_ms + 1)
    step_ms = max(1, -(-(to_ms - from_ms) // STEPS))
    # Of changes at one instant, stops come first: one child that follows another does not run beside it. One that took
    # less than a millisecond stops after it has started. Four times the instant, and the place in this order: numbers
    # are sorted much faster than tuples.
    changes = [4 * start + 1 for start, _ in spans]
    changes += [4 * stop + (0 if stop > start else 2) for start, stop in spans if stop >= start]
    changes.sort()
    most: list[int] = []
    running, place = 0, 0
    for step in range(-(-(to_ms - from_ms) // step_ms)):
        end_ms = from_ms + (step + 1) * step_ms
        highest = running
        while place < len(changes) and changes[place] < 4 * end_ms:
            running += 1 if changes[place] % 4 == 1 else -1
            if running > highest:
                highest = running
            place += 1
        most.append(highest)
    return {"fromMs": from_ms, "toMs": to_ms, "stepMs": step_ms, "most": most}


async def of_run(console: Console, asked: Asked) -> JsonObject:
    """`{mapRuns: [{event, arn}]}`: the Map Runs that an execution has started, and the history events that say so."""
    arn = needed(asked.given, "arn")
    found = [
        {"event": one.id, "arn": (one.details or {}).get("mapRunArn")}
        for one in await console.runs_of(arn).events(arn)
        if one.type == "MapRunStarted"
    ]
    return {"mapRuns": found[-MOST_ROWS:]}


# ------------------------------------------------------------------ items


def category(state: MapRunState, child: MapChild) -> int:
    """The status of a child, of the constants of `interpreter.map_run.state`."""
    is_open = state.status == "RUNNING"
    return PENDING_REDRIVE if is_open and state.waits_again(child) else child.status


async def strip(console: Console, asked: Asked) -> JsonObject:
    """`{strip, statuses, total}`: a digit for each child execution by index, its place in `statuses`; of very many,
    the first. `total` is the number of items, which may be in no child yet."""
    arn = needed(asked.given, "arn")
    app = _app_of(console, arn)
    found = await _found(app, arn)
    state = found.state
    children = state.children[:MOST_CELLS]
    text = await in_thread(app.clock, lambda: _digits(state, children))
    total = max(state.items_read, state.total_items or 0)
    return {"strip": text, "statuses": list(STATUS_NAMES), "children": len(state.children), "total": total}


def _digits(state: MapRunState, children: Sequence[MapChild]) -> str:
    if state.redrive_count and state.status == "RUNNING":
        return "".join(str(category(state, child)) for child in children)
    return "".join(["0123456"[child.status] for child in children])


async def items(console: Console, asked: Asked) -> JsonObject:
    """`{items, next}`: child executions of a Map Run, those that failed first, else of one `status`, by index.

    `item` begins at an index instead.
    """
    given = asked.given
    arn = needed(given, "arn")
    app = _app_of(console, arn)
    found = await _found(app, arn)
    state = found.state
    limit = max(1, min(number(given, "limit", PAGE_ROWS), MOST_ROWS))
    order = _order(given)
    rank, after = _cursor(given, len(order))
    if given.get("item"):
        wanted = number(given, "item", 0)
        chosen = state.children[wanted : wanted + 1]
        return {"items": [_row(found, arn, child, console.redactor) for child in chosen], "next": None}
    children = list(state.children)
    chosen, following = await in_thread(app.clock, lambda: page_of(state, children, order, (rank, after), limit))
    return {"items": [_row(found, arn, child, console.redactor) for child in chosen], "next": following}


def page_of(
    state: MapRunState, children: Sequence[MapChild], order: Sequence[int], begin: tuple[int, int], limit: int
) -> tuple[list[MapChild], str | None]:
    """Children by statuses in an order, then by index, from a place in the order and an index on; and the cursor of
    those that follow.
    """
    rank, after = begin
    rows: list[MapChild] = []
    for place in range(rank, len(order)):
        wanted = limit + 1 - len(rows)
        for child in islice(_of_category(state, children, order[place], after), wanted):
            if len(rows) == limit:
                return rows, f"{place}.{child.index}"
            rows.append(child)
        after = 0
    return rows, None


def _of_category(state: MapRunState, children: Sequence[MapChild], wanted: int, after: int) -> Iterator[MapChild]:
    """The children of a status from an index on."""
    if state.redrive_count and state.status == "RUNNING":
        return (child for child in islice(children, after, None) if category(state, child) == wanted)
    return (child for child in islice(children, after, None) if child.status == wanted)


def _order(given: Given) -> tuple[int, ...]:
    status = given.get("status")
    if not status:
        return _FIRST
    if status not in STATUS_NAMES:
        raise ApiError("BadRequest", f"There is no status {status[:40]}. Statuses: {', '.join(STATUS_NAMES)}.")
    return (STATUS_NAMES.index(status),)


def _cursor(given: Given, ranks: int) -> tuple[int, int]:
    """A place in the order and an index. Raises: ApiError (`BadRequest`)."""
    value = given.get("cursor")
    if not value:
        return 0, 0
    parts = value.split(".")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and len(part) < 12 for part in parts):
        raise ApiError("BadRequest", "The cursor is not one that the console gave.")
    rank, index = int(parts[0]), int(parts[1])
    if rank >= ranks:
        raise ApiError("BadRequest", "The cursor is not one that the console gave.")
    return rank, index


def _cause(redactor: Redactor, cause: str | None) -> str | None:
    """The beginning of a cause, which may quote a payload."""
    return line(redactor, cause)[:_CAUSE_CHARACTERS] if cause else None


def _row(found: Found, arn: str, child: MapChild, redactor: Redactor) -> JsonObject:
    state = found.state
    name = child_name(arn, child.index)
    is_standard = found.head.child_type == "STANDARD" and child.started_ms > 0
    return {
        "index": child.index,
        "name": name,
        "arn": child_execution_arn(arn, name) if is_standard else None,
        "status": STATUS_NAMES[category(state, child)],
        "startedMs": child.started_ms or None,
        "stoppedMs": child.stopped_ms if child.stopped_ms and child.status not in (PENDING, RUNNING) else None,
        "error": child.error,
        "cause": _cause(redactor, child.cause),
        "items": child.item_count,
        "redrives": child.redrives,
    }


READS: Final = {"run/map-runs": of_run, "map-run": map_run, "map-run/strip": strip, "map-run/items": items}
