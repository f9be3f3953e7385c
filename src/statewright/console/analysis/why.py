"""Why a value is what it is: followed back over the states of a run, to where it was made.

Each link of the chain is read from the definition, and checked against what the history holds at the place that it
leads to. Where the two differ, or where no path says what an expression read, the chain ends and says so.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from statewright.console.analysis.explain import Errands, looked_up, visit_at
from statewright.console.analysis.replays import Shown
from statewright.console.analysis.sources import Sources
from statewright.console.analysis.spots import End, Move, Spot, lookup
from statewright.console.analysis.visited import History
from statewright.console.asked import Asked, needed, number
from statewright.console.context import Console
from statewright.console.redaction import MASK
from statewright.errors import ApiError
from statewright.interpreter.state import Identity
from statewright.payload import Json, JsonObject, dump_json
from statewright.query.comparison import json_equal
from statewright.simulator.differences import Absent, Place
from statewright.simulator.story import Visit

MOST_LINKS: Final = 200
LONGEST_PATH: Final = 2_000
LONGEST_AGAIN: Final = 200
"""Characters of the value at further links, where it is the same."""
_LINKS_AT_ONCE: Final = 8
"""Links that are followed before others get their turn: each reads whole payloads."""
_HIDDEN: Final = dump_json(MASK)


async def why(console: Console, asked: Asked) -> JsonObject:
    """The origin of the value at a place: `path`, a JSON pointer, in the `input` or `output` of the visit that an
    event began.

    `{links, end}`, as `chain` returns it. Raises: ApiError (`ExecutionDoesNotExist`, `BadRequest`, `NotReached`,
    `NotFound`).
    """
    given = asked.given
    arn, event, where = needed(given, "arn"), number(given, "event", 0), given.get("where", "output")
    if where not in ("input", "output"):
        raise ApiError("BadRequest", "where must be input or output.")
    pointer = given.get("path", "")
    if len(pointer) > LONGEST_PATH or (pointer and not pointer.startswith("/")):
        raise ApiError("BadRequest", "path must be a JSON pointer: empty, or / before each name.")
    found = await looked_up(console, arn)
    async with found.runs.reading(arn) as one:
        visits = one.recorded.visits
        visit = visit_at(visits, event)
        shown = Shown(console.app.config.console, one.recorded.events)
        history = History(one.recorded.events)
        walk = Walk(found.runs.engine.heavy, visits, history, found.text, found.identity, shown)
        return await walk.chain(visit, where, pointer)


@dataclass(frozen=True, slots=True)
class _Link:
    """A place of the value, and where it came from to there."""

    spot: Spot
    move: Move


class Walk:
    """Follows values of one run. `text` is the definition that it ran on."""

    def __init__(
        self,
        heavy: Errands,
        visits: Sequence[Visit],
        history: History,
        text: str,
        identity: Identity,
        shown: Shown,
    ) -> None:
        self._sources = Sources(heavy, visits, history, text, identity)
        self._shown = shown

    async def chain(self, visit: Visit, where: str, pointer: str) -> JsonObject:
        """The chain of a value: `{links, end}`.

        `links` are `{state, type, event, where, path, value, how, fields}`, the asked one first: `event` began the
        visit, `where` is `input`, `output` or `assigned`, `fields` are those that the value went through there, each
        `{field, expression}`. `end` is `{kind, reason, event, resource, path, expression, reads}`; `reads` are values
        that the expression there read, each `{expression, value, state, event, where, path}`. Values are JSON texts.
        Raises: ApiError (`NotFound`).
        """
        whole = self._sources.value(Spot(visit, where, ()))
        path = self._reachable(whole, pointer)
        value = lookup(whole, path)
        if isinstance(value, Absent):
            raise ApiError("NotFound", f"The {where} of {visit.name} has nothing at {pointer[:200]}.", status=404)
        links, end = await self._followed(Spot(visit, where, path), value)
        shown = []
        for at, link in enumerate(links):
            shown.append(self._link(link, value, LONGEST_AGAIN if at else None))
            if at % _LINKS_AT_ONCE == 0:
                await asyncio.sleep(0)
        return {"links": shown, "end": self._end(end)}

    async def _followed(self, spot: Spot, value: Json) -> tuple[list[_Link], End]:
        links: list[_Link] = []
        while len(links) < MOST_LINKS:
            if len(links) % _LINKS_AT_ONCE == _LINKS_AT_ONCE - 1:
                await asyncio.sleep(0)
            move = self._checked(await self._sources.move(spot), value)
            links.append(_Link(spot, move))
            if isinstance(move.to, End):
                return links, move.to
            spot = self._before(move.to, value)
        return links, End("unknown", reason=f"It is followed over {MOST_LINKS} places at most.")

    def _checked(self, move: Move, value: Json) -> Move:
        """The move, or where it is not borne out by the history, an end."""
        found = move.to.found if isinstance(move.to, End) else self._sources.value(move.to)
        if isinstance(move.to, End) and isinstance(found, Absent):
            return move
        if not isinstance(found, Absent) and json_equal(found, value):
            return move
        reason = "The history does not hold the same value at the place that the definition names."
        return Move("unknown", End("unknown", reason=reason), move.fields)

    def _before(self, spot: Spot, value: Json) -> Spot:
        """The output before, for an input that is the same: one link for each visit will do."""
        before = self._sources.before(spot.visit) if spot.where == "input" else None
        if before is None:
            return spot
        output = Spot(before, "output", spot.path)
        found = self._sources.value(output)
        return output if not isinstance(found, Absent) and json_equal(found, value) else spot

    # ------------------------------------------------------------------ what is shown

    def _reachable(self, whole: Json | Absent, pointer: str) -> Place:
        """A pointer as a place, up to the first value on the way that is hidden: whether it has members is, too."""
        values = [whole]
        path: Place = ()
        for step in pointer.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            is_index = isinstance(values[-1], list) and name.isascii() and name.isdigit() and len(name) < 10
            path = (*path, int(name) if is_index else name)
            values.append(lookup(values[-1], path[-1:]))
        there = [value for value in values if not isinstance(value, Absent)]
        # Within a value that is hidden everything is.
        shown = bisect_left(range(len(there)), True, key=lambda at: self._shown.at(path[:at], there[at]) == _HIDDEN)
        return path if shown == len(there) else path[:shown]

    def _link(self, link: _Link, value: Json, most: int | None) -> JsonObject:
        spot, move = link.spot, link.move
        text = self._shown.at(spot.path, value) or ""
        return {
            **self._place(spot),
            "type": spot.visit.definition.type,
            "value": text if most is None or len(text) <= most else text[:most] + "…",
            "how": move.how,
            "fields": [{"field": name, "expression": self._shown.text(text)} for name, text in move.fields],
        }

    def _place(self, spot: Spot) -> JsonObject:
        return {
            "state": spot.visit.name,
            "event": spot.visit.entered_event,
            "where": spot.where,
            "path": self._pointer(spot.path),
        }

    def _end(self, end: End) -> JsonObject:
        return {
            "kind": end.kind,
            "reason": end.reason,
            "event": end.event,
            "resource": end.resource,
            "path": None if end.path is None else self._pointer(end.path),
            "expression": self._shown.text(end.expression),
            "reads": [
                {
                    "expression": self._shown.text(text),
                    "value": self._shown.at(spot.path, self._sources.value(spot)),
                    **self._place(spot),
                }
                for text, spot in end.reads
            ],
        }

    def _pointer(self, path: Place) -> str | None:
        """A place as a JSON pointer. Names may be data, too."""
        text = "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)
        return self._shown.text(text) if text else ""


READS: Final = {"run/why": why}
