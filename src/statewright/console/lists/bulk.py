"""Stopping or redriving many executions: first a preview of what would happen, then the work, one at a time.

The work gets the very ARNs that were previewed, so that executions that start in between are left alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Final

from statewright.api.operations import App, Call, perform
from statewright.arn import EXECUTION, parse_arn
from statewright.console.asked import Asked, Lines, document, text_of
from statewright.console.context import Console
from statewright.console.hidden_values import HiddenValues
from statewright.console.lists.filters import Filters, filters_of
from statewright.console.lists.search import slices
from statewright.engine.executions.views import ExecutionView
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject
from statewright.stores.protocol import Row

log = logging.getLogger("statewright.console")

MOST: Final = 5_000
"""Executions of one preview; more are left for the next one."""
NAMES: Final = 8
PER_SECOND: Final = 50
REFUSALS: Final = 50
_ROWS_AT_ONCE: Final = 200
_LONGEST_REASON: Final = 256
_OPERATIONS: Final = {"stop": "StopExecution", "redrive": "RedriveExecution"}


async def preview(console: Console, asked: Asked) -> Lines:
    """Preview bulk work: `{verb, arns}` or `{verb, filters}`, the filters of a list. Lines `{looked, lookedBackMs}`
    while it looks, then one with `preview`: `{arns, names, skipped, isWhole}`.

    `skipped` has `{why, count}` for those that cannot be stopped or redriven; `isWhole` is false if more than `MOST`
    match, and only the newest of them are in it.
    """
    body = document(asked)
    verb = _verb(body)
    app = console.app_in(text_of(body, "region", ""))
    given = body.get("filters")
    if isinstance(given, dict):
        filters = await filters_of(app, {str(name): str(value) for name, value in given.items() if value is not None})
        return Lines(_previewed(app, verb, filters, console.hidden_of(app)))
    return Lines(_previewed_of(app, verb, _arns(body)))


async def run(console: Console, asked: Asked) -> Lines:
    """Do it: `{verb, arns, reason}`. Lines `{done, of, succeeded, refused}` as it goes, `refused` with `{arn, message}`
    of new ones; the last has `isOver`. It ends when the page stops listening.

    Raises: ApiError (`AccessDenied`, `BadRequest`).
    """
    body = document(asked)
    verb, arns = _verb(body), _arns(body)
    if not asked.caller.may_write:
        raise ApiError("AccessDenied", f"This sign-in may only read, and to {verb} changes something.", status=403)
    app = console.app_in(text_of(body, "region", ""))
    reason = text_of(body, "reason", "")[:_LONGEST_REASON]
    return Lines(_work(app, asked, verb, arns, reason))


async def _previewed(app: App, verb: str, filters: Filters, hidden: HiddenValues) -> AsyncIterator[Json]:
    rows: list[Row] = []
    looked = matched = 0
    async for part in slices(app, filters, None, hidden, MOST + 1):
        looked += part.looked
        ids = [hit.row.id for hit in part.hits]
        matched += len(ids)
        for begin in range(0, min(len(ids), MOST - len(rows)), _ROWS_AT_ONCE):
            rows += await app.engine.listing.rows(ids[begin : begin + _ROWS_AT_ONCE])
            rows = rows[:MOST]
        yield {"looked": looked, "lookedBackMs": part.place[0] if part.place else None}
        if matched > MOST:
            break
    yield {"preview": _preview(verb, [app.engine.listing.view(row) for row in rows], 0, is_whole=matched <= MOST)}


async def _previewed_of(app: App, verb: str, arns: Sequence[str]) -> AsyncIterator[Json]:
    views: list[ExecutionView] = []
    gone = 0
    for arn in arns:
        try:
            views.append(await app.engine.describe(arn))
        except ApiError:
            gone += 1
        # A point read of SQLite does not let the loop go on by itself.
        await asyncio.sleep(0)
    yield {"preview": _preview(verb, views, gone, is_whole=True)}


def _preview(verb: str, views: Sequence[ExecutionView], gone: int, *, is_whole: bool) -> JsonObject:
    chosen: list[ExecutionView] = []
    skipped: Counter[str] = Counter()
    for view in views:
        why = _why_not(verb, view)
        if why is None:
            chosen.append(view)
        else:
            skipped[why] += 1
    if gone:
        skipped["no longer there"] = gone
    return {
        "arns": [view.execution_arn for view in chosen],
        "names": [view.name for view in chosen[:NAMES]],
        "skipped": [{"why": why, "count": count} for why, count in skipped.most_common()],
        "isWhole": is_whole,
    }


def _why_not(verb: str, view: ExecutionView) -> str | None:
    """Why an execution is passed over; `None` if it is not."""
    if verb == "redrive":
        return None if view.redrive_status == "REDRIVABLE" else view.redrive_reason or "cannot be redriven"
    if view.type == "EXPRESS":
        return "Express executions cannot be stopped"
    return None if view.status in ("RUNNING", "PENDING_REDRIVE") else "already ended"


async def _work(app: App, asked: Asked, verb: str, arns: Sequence[str], reason: str) -> AsyncIterator[Json]:
    log.info("bulk %s of %d executions by %s in the console, request %s",
             verb, len(arns), asked.caller.name, asked.request_id)  # fmt: skip
    clock = app.clock
    began_ms = clock.now_ms()
    done = refused = 0
    news: list[Json] = []
    try:
        for arn in arns:
            try:
                await _one(app, asked, verb, arn, reason)
            except ApiError as problem:
                refused += 1
                if refused <= REFUSALS:
                    news.append({"arn": arn, "message": problem.message})
            done += 1
            due_ms = began_ms + done * 1000 // PER_SECOND
            if news or done == len(arns) or due_ms > clock.now_ms():
                yield {"done": done, "of": len(arns), "succeeded": done - refused, "refused": refused, "refusals": news}
                news = []
            await clock.sleep_until(due_ms)
        yield {"done": done, "of": len(arns), "succeeded": done - refused, "refused": refused, "isOver": True}
    finally:
        words = "bulk %s, request %s: %d of %d done, %d of them refused"
        log.info(words, verb, asked.request_id, done, len(arns), refused)


async def _one(app: App, asked: Asked, verb: str, arn: str, reason: str) -> None:
    request: JsonObject = {"executionArn": arn}
    if verb == "stop" and reason:
        request["cause"] = reason
    call = Call("states", _OPERATIONS[verb], asked.request_id, access_key=asked.caller.access_key or None)
    work = asyncio.ensure_future(perform(app, call, request))
    try:
        await asyncio.shield(work)
    except asyncio.CancelledError:
        # The page has gone away; what has begun is done.
        await asyncio.wait([work])
        raise


def _verb(body: JsonObject) -> str:
    verb = text_of(body, "verb")
    if verb not in _OPERATIONS:
        raise ApiError("BadRequest", f"The verb must be stop or redrive: {verb[:40]}")
    return verb


def _arns(body: JsonObject) -> list[str]:
    arns = body.get("arns")
    if not isinstance(arns, list) or not arns or not all(isinstance(arn, str) for arn in arns):
        raise ApiError("BadRequest", "The request needs arns, a list of ARNs of executions, or filters.")
    if len(arns) > MOST:
        raise ApiError("BadRequest", f"At most {MOST} executions can be changed at once.")
    for arn in arns:
        parse_arn(arn, EXECUTION)
    return list(dict.fromkeys(arns))


ACTIONS: Final = {"executions/bulk/preview": preview, "executions/bulk": run}
