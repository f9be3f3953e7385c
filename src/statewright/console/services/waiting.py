"""Reads of what waits: tasks for an answer with their token, tasks for a permit, starts for their machine's limit.

Tasks with tokens are found in the states of running executions, those that started first before the others: rows are
listed without their frames, and only executions of machines that have such tasks are loaded. No history is read.
Permits and queued starts are in the engine's memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from heapq import nsmallest
from operator import itemgetter
from typing import Final

from statewright.api.operations import App
from statewright.arn import parse_arn
from statewright.asl.program import Program, TaskDef
from statewright.console.asked import Asked, Given, number
from statewright.console.context import Console
from statewright.console.lists.filters import cursor_of, place_of
from statewright.engine.concurrency.semaphores import Permit, Semaphore
from statewright.engine.engine import Engine
from statewright.engine.executions.live import LiveExecution, decode_live
from statewright.engine.executions.views import Head
from statewright.errors import ApiError
from statewright.interpreter.phases import TASK
from statewright.interpreter.state import Frame
from statewright.payload import JsonObject
from statewright.stores.protocol import Row, Started

PAGE_ROWS: Final = 50
MOST_LISTED: Final = 20_000
"""Running executions whose rows one read lists."""
MOST_LOADED: Final = 300
"""Executions whose states one read loads."""
MOST_OF_ONE: Final = 100
"""Waiting tasks of one execution that a read shows."""
_ROWS_AT_ONCE: Final = 1_000
_LAST_ID: Final = 2**63 - 1
_YIELD_EVERY: Final = 20


async def waiting(console: Console, asked: Asked) -> JsonObject:
    """`{rows, next, permits, starts, listed, running, leftOut}` of one `kind`: tasks, permits or starts.

    `q` is a part of a name, `older` an age in milliseconds. `running` is how many executions run, `listed` how many of
    them were listed if not all, and `leftOut` how many tasks of executions with very many are left out.
    """
    app = console.app_of(asked)
    given = asked.given
    kind = given.get("kind") or "tasks"
    engine = app.engine
    now_ms = app.clock.now_ms()
    before_ms = now_ms - number(given, "older", 0)
    semaphores = engine.semaphores.every()
    standing = engine.admission.standing()
    document: JsonObject = {
        "permits": sum(len(one.waiters) for one in semaphores), "starts": sum(one.queued for one in standing),
        "nowMs": now_ms,
        "listed": None, "running": None, "leftOut": 0,
    }  # fmt: skip
    if kind == "permits":
        return {**document, **_permits(semaphores, given, before_ms)}
    if kind == "starts":
        rows = [row async for row in _starts(app, given)]
        return {**document, **_page(_chosen(rows, given, before_ms), given)}
    if kind != "tasks":
        raise ApiError("BadRequest", "kind is tasks, permits or starts.")
    return {**document, **await _tasks(app, given, before_ms)}


def _chosen(rows: Iterable[JsonObject], given: Given, before_ms: int) -> list[JsonObject]:
    wanted = given.get("q", "").casefold()
    return [
        row for row in rows
        if row["sinceMs"] <= before_ms and (not wanted or any(wanted in row[name].casefold() for name in _SEARCHED))
    ]  # fmt: skip


_SEARCHED: Final = ("name", "machine", "state", "what")


def _page(rows: Sequence[JsonObject], given: Given) -> JsonObject:
    """The longest waits first. The cursor is a number of rows, since all of them are at hand."""
    ordered = sorted(rows, key=lambda row: row["sinceMs"])
    first = number(given, "cursor", 0)
    following = first + PAGE_ROWS
    return {"rows": ordered[first:following], "next": str(following) if following < len(ordered) else None}


# ------------------------------------------------------------------ permits and starts


def _permits(semaphores: Iterable[Semaphore], given: Given, before_ms: int) -> JsonObject:
    """A page of the waits for permits. There may be very many, of which only those of the page become rows."""
    wanted = given.get("q", "").casefold()
    first = number(given, "cursor", 0)
    following = first + PAGE_ROWS
    waits = (
        (permit.asked_ms, permit.number, place, permit, semaphore)
        for semaphore in semaphores
        for place, permit in enumerate(semaphore.waiters.values(), 1)
        if permit.asked_ms <= before_ms and (not wanted or _names(permit, semaphore, wanted))
    )
    found = nsmallest(following + 1, waits, key=itemgetter(0, 1))
    rows = [
        {
            **_execution(permit.execution_arn), "kind": "permit", "state": permit.state, "what": semaphore.name,
            "key": semaphore.key, "place": place, "sinceMs": permit.asked_ms,
            "deadlineMs": permit.call.deadline_ms if permit.call is not None else None,
        }
        for _, _, place, permit, semaphore in found[first:following]
    ]  # fmt: skip
    return {"rows": rows, "next": str(following) if len(found) > following else None}


def _names(permit: Permit, semaphore: Semaphore, wanted: str) -> bool:
    names = (permit.execution_arn.split(":", 6)[-1], permit.state, semaphore.name)
    return any(wanted in one.casefold() for one in names)


async def _starts(app: App, given: Given) -> AsyncIterator[JsonObject]:
    """Queued starts of all machines with a limit, or of one `machine`, up to a bound each."""
    engine = app.engine
    for one in engine.admission.standing():
        if not one.queued or given.get("machine") not in (None, "", one.machine_arn):
            continue
        for place, execution in enumerate(engine.admission.queued(one.machine_arn, _ROWS_AT_ONCE), 1):
            if not place % _YIELD_EVERY:
                # A point read of SQLite does not let the loop go on by itself.
                await asyncio.sleep(0)
            row = await engine.store.executions.row(execution)
            if row is not None:
                yield {
                    **_execution(Head.decode(row.head).execution_arn),
                    "kind": "start",
                    "state": "",
                    "what": "",
                    "place": place,
                    "sinceMs": row.started_ms,
                    "deadlineMs": None,
                }


def _execution(arn: str) -> JsonObject:
    parsed = parse_arn(arn)
    return {"arn": arn, "name": parsed.rest or "", "machine": parsed.name, "machineArn": parsed.machine}


# ------------------------------------------------------------------ tasks with tokens


async def _tasks(app: App, given: Given, before_ms: int) -> JsonObject:
    engine = app.engine
    rows, is_whole = await _running(engine, before_ms)
    after = place_of(given)
    found: list[JsonObject] = []
    following: Started | None = None
    loaded, left_out = 0, 0
    with_tokens: dict[tuple[int, str], bool] = {}
    for place, row in enumerate(rows):
        if not place % _ROWS_AT_ONCE:
            await asyncio.sleep(0)
        if after is not None and (row.started_ms, row.id) <= after:
            continue
        head = Head.decode(row.head)
        _, program = await engine.machines.programs.prepared(head.machine_id, head.revision_id)
        revision = head.machine_id, head.revision_id
        if revision not in with_tokens:
            with_tokens[revision] = _has_tokens(program)
        if not with_tokens[revision]:
            continue
        if len(found) >= PAGE_ROWS or loaded >= MOST_LOADED:
            break
        loaded += 1
        if not loaded % _YIELD_EVERY:
            await asyncio.sleep(0)
        stored = await engine.store.executions.load(row.id)
        following = (row.started_ms, row.id)
        if stored is None or stored.row.status != "RUNNING":
            continue
        live = decode_live(stored, head, program, engine.settings.limits, app.config.region)
        mine = _chosen(tasks_of(live, program), given, before_ms)
        left_out += max(0, len(mine) - MOST_OF_ONE)
        found += mine[:MOST_OF_ONE]
    else:
        following = None
    found.sort(key=lambda one: one["sinceMs"])
    running = (await engine.store.executions.count_by_status(None)).get("RUNNING", 0)
    return {
        "rows": found, "next": None if following is None else cursor_of(following),
        "listed": None if is_whole else len(rows), "running": running, "leftOut": left_out,
    }  # fmt: skip


async def _running(engine: Engine, before_ms: int) -> tuple[list[Row], bool]:
    """Running executions that started before an instant, the first first, children of Map Runs included; and whether
    these are all."""
    parents = list(engine.map_runs.open_ids())
    token: str | None = None
    while True:
        machines, token = await engine.machines.list_machines(token, 1_000)
        parents += [one.id for one in machines]
        if token is None:
            break
    rows: list[Row] = []
    for place, parent in enumerate(parents):
        if not place % _YIELD_EVERY:
            await asyncio.sleep(0)
        after: Started | None = (before_ms, _LAST_ID)
        while after is not None:
            page = await engine.store.executions.list_rows(parent, status="RUNNING", after=after, limit=_ROWS_AT_ONCE)
            rows += page.rows
            after = page.next
            if len(rows) >= MOST_LISTED:
                return sorted(rows[:MOST_LISTED], key=_begin), False
    return sorted(rows, key=_begin), True


def _begin(row: Row) -> Started:
    return row.started_ms, row.id


def _has_tokens(program: Program) -> bool:
    return any(_awaits_token(one.body) for scope in program.scopes for one in scope.states.values())


def _awaits_token(body: object) -> bool:
    return isinstance(body, TaskDef) and body.resource.waits_for_token


def tasks_of(live: LiveExecution, program: Program) -> Iterable[JsonObject]:
    """The tasks of an execution that wait for an answer with their token."""
    state = live.state
    if state is None:
        return
    for frame in list(state.frames.values()):
        if not isinstance(frame, Frame) or frame.phase != TASK or frame.task is None:
            continue
        body = program.state(frame.state).body
        if not isinstance(body, TaskDef) or not body.resource.waits_for_token:
            continue
        task = frame.task
        deadline_ms = live.timers.get(task.timeout_timer)
        since_ms = frame.entered_ms
        if deadline_ms is not None and task.timeout_ms:
            # After a retry, the task waits since it was scheduled again.
            since_ms = max(since_ms, deadline_ms - task.timeout_ms)
        is_activity = body.resource.kind == "activity"
        yield {
            **_execution(live.head.execution_arn),
            "kind": "activity" if is_activity else "token",
            "state": frame.state,
            "what": body.resource.short_name,
            "place": None,
            "isTaken": task.started if is_activity else task.submitted,
            "sinceMs": since_ms,
            "deadlineMs": deadline_ms,
            "heartbeatMs": live.timers.get(task.heartbeat_timer),
        }


READS: Final = {"waiting": waiting}
