"""Reads of one execution: its run, pages of its payloads, its events."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from statewright.api.own.nodes import node_of
from statewright.arn import EXECUTION, parse_arn
from statewright.console import payloads
from statewright.console.asked import Answer, Asked, File, needed, number
from statewright.console.context import Console
from statewright.console.runs import ReadRun
from statewright.errors import ApiError
from statewright.graph.model import build_graph
from statewright.graph.svg import render_svg
from statewright.payload import JsonObject
from statewright.simulator.overlays import overlay_of

_MEMBERS: Final = frozenset({
    "input", "output", "parameters", "cause", "error", "assignedVariables", "arguments", "evaluationFailed",
})  # fmt: skip


async def run(console: Console, asked: Asked) -> JsonObject:
    """One execution, as `Runs.view` returns it, and the `node` that has it; null for a server that is alone."""
    arn = needed(asked.given, "arn")
    found = await console.source_of(arn).view(arn)
    node = await node_of(console.app_of_run(arn), arn) if parse_arn(arn).kind == EXECUTION else None
    return {**found, "node": node}


async def run_payload(console: Console, asked: Asked) -> JsonObject:
    """One page of a payload, as `payloads.payload` returns it."""
    given = asked.given
    arn, member = needed(given, "arn"), needed(given, "member")
    if member not in _MEMBERS:
        raise ApiError("BadRequest", f"Events have no payload {member[:40]}.")
    events = await console.source_of(arn).events(arn)
    offset = number(given, "offset", 0)
    return payloads.payload(events, number(given, "event", 0), member, given.get("pointer", ""), offset)


async def run_events(console: Console, asked: Asked) -> JsonObject:
    """Events of a run, as `payloads.rows` returns them."""
    given = asked.given
    arn = needed(given, "arn")
    events = await console.source_of(arn).events(arn)
    first, text = number(given, "from", 1), given.get("text", "")
    if not text:
        return payloads.rows(events, first, "")
    # A search goes through all payloads.
    return await asyncio.to_thread(payloads.rows, events, first, text)


async def run_svg(console: Console, asked: Asked) -> File:
    """The run on its machine's graph as one SVG file, light or dark by the reader's system."""
    arn = needed(asked.given, "arn")
    async with console.source_of(arn).reading(arn) as one:
        body = await asyncio.to_thread(_svg, one)
        # The time of a running state is not in the drawing, so it is the same until the next event.
        return File("image/svg+xml; charset=utf-8", body, f"{one.view.id}-{len(one.recorded.shown)}")


def _svg(one: ReadRun) -> bytes:
    graph = build_graph(one.definition, overlay_of(one.recorded.story))
    return render_svg(graph, title=f"{one.view.name}, {one.view.status}").encode()


READS: Final[dict[str, Callable[[Console, Asked], Awaitable[Answer]]]] = {
    "run": run,
    "run/payload": run_payload,
    "run/events": run_events,
    "run/svg": run_svg,
}
