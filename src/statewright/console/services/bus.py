"""Event buses: their rules, a live view of the events on them, and which rules an event would match.

A tap is on a bus only while a page watches it (`Buses.tap`), and sends at most 200 events a second: what comes beyond
is counted, not kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from statewright.api.operations import App
from statewright.background import in_thread
from statewright.console.asked import Answer, Asked, Lines, document, text_of
from statewright.console.context import Console
from statewright.console.redaction import MASK, Redactor
from statewright.console.services.lists import page_of
from statewright.errors import ApiError
from statewright.events.archives.records import MANAGED
from statewright.events.bus_records import DEFAULT_BUS, Rule, read_pattern
from statewright.events.rules import Event
from statewright.instants import iso_seconds
from statewright.payload import Json, JsonObject, JsonTextError, dump_json, parse_json
from statewright.query.event_pattern import Pattern
from statewright.query.matching import LOOP_WORK, MOST_WORK, Matching, TooMuchWork

FRAME_MS: Final = 250
MOST_IN_FRAME: Final = 50
EVENT_CHARACTERS: Final = 64_000
"""A longer event is sent without its detail."""
HEARTBEAT_MS: Final = 15_000
_LONGEST_PATTERN: Final = 4_096


async def buses(console: Console, asked: Asked) -> JsonObject:
    """All buses by name: `{rows}` of `{name, arn, rules, description}`."""
    app = console.app_of(asked)
    of = app.services.buses
    return {
        "rows": [
            {"name": bus.name, "arn": app.config.arn("events", f"event-bus/{bus.name}"),
             "rules": len(of.rules.of(bus.name)), "description": bus.description}
            for bus in of.all()
        ]
    }  # fmt: skip


async def rules(console: Console, asked: Asked) -> JsonObject:
    """A page of the rules of a bus by name: `{rows, next}`; a row has `{name, arn, state, pattern, expression,
    description, targets, isManaged, last}`.
    """
    app = console.app_of(asked)
    of = app.services.buses
    bus = of.name_of(asked.given.get("bus") or DEFAULT_BUS)
    rows, following = page_of(of.rules.of(bus), lambda rule: rule.name, asked.given)
    return {"rows": [_rule(app, one) for one in rows], "next": following}


def _rule(app: App, rule: Rule) -> JsonObject:
    last = app.services.buses.rules.last_outcome(rule)
    return {
        "name": rule.name, "arn": rule.arn(app.config), "state": rule.state, "pattern": rule.pattern,
        "expression": rule.expression, "description": rule.description,
        "targets": [{"id": key, "arn": one["Arn"]} for key, one in rule.targets.items()],
        "isManaged": rule.name.startswith(MANAGED),
        "last": None if last is None else {"atMs": last.at_ms, "what": last.what, "error": last.error,
                                           "message": last.message},
    }  # fmt: skip


async def match(console: Console, asked: Asked) -> JsonObject:
    """The rules of a bus that an event matches: `{bus, event}`, a text or an object, to `{rules}` of `{name, matches,
    state, targets}`, those that match first. Members that the service would add are added.

    Raises: ApiError.
    """
    body = document(asked)
    app = console.app_in(text_of(body, "region", ""))
    of = app.services.buses
    bus = of.name_of(text_of(body, "bus", "") or DEFAULT_BUS)
    event = _event_of(app, body.get("event"))
    chosen = [rule for rule in of.rules.of(bus) if rule.pattern is not None]
    found = await in_thread(app.clock, lambda: [_matches(rule.pattern or "{}", event) for rule in chosen])
    rows: list[JsonObject] = [
        {"name": rule.name, "matches": matches, "state": rule.state, "targets": len(rule.targets)}
        for rule, matches in zip(chosen, found, strict=True)
    ]
    return {"rules": sorted(rows, key=lambda row: row["matches"] is not True), "event": event}


def _event_of(app: App, given: Json) -> JsonObject:
    if isinstance(given, str):
        try:
            given = parse_json(given)
        except JsonTextError as problem:
            raise ApiError("BadRequest", f"The event is not JSON: {problem}") from None
    if not isinstance(given, dict):
        raise ApiError("BadRequest", "The event must be a JSON object.")
    for name in ("source", "detail-type"):
        if not isinstance(given.get(name), str):
            raise ApiError("BadRequest", f"The event needs {name}, a text.")
    added: JsonObject = {
        "version": "0", "id": "00000000-0000-0000-0000-000000000000", "account": app.config.account,
        "time": iso_seconds(app.clock.now_ms()), "region": app.config.region, "resources": [], "detail": {},
    }  # fmt: skip
    return {**added, **given}


def _matches(pattern: str, event: JsonObject) -> bool | None:
    """True if a pattern matches; None if finding out takes too much work."""
    try:
        return read_pattern(pattern)(event, Matching(MOST_WORK))
    except TooMuchWork:
        return None


# ------------------------------------------------------------------ the tap


@dataclass(slots=True)
class _Frame:
    """Events that wait for the next line."""

    events: list[Json] = field(default_factory=list)
    more: int = 0


async def tap(console: Console, asked: Asked) -> Lines:
    """The events put on a bus from now on: `bus` (all without), `source` and `type`, texts that theirs have, and a
    `pattern`. Lines of `{events: [{atMs, bus, event, isCut}], more}`; `more` are those that were not sent.

    Raises: ApiError (`InvalidEventPatternException`).
    """
    app = console.app_of(asked)
    bus = asked.given.get("bus", "")
    if bus:
        app.services.buses.name_of(bus)
    text = asked.given.get("pattern", "").strip()
    if len(text) > _LONGEST_PATTERN:
        raise ApiError("BadRequest", f"A pattern has at most {_LONGEST_PATTERN:,} characters.")
    pattern = read_pattern(text) if text else None
    source, kind = asked.given.get("source", "").lower(), asked.given.get("type", "").lower()

    def wanted(of: str, event: Event) -> bool:
        return (
            (not bus or of == bus)
            and source in event["source"].lower()
            and kind in event["detail-type"].lower()
            and (pattern is None or _fits(pattern, event))
        )

    return Lines(_tapped(app, wanted, console.redactor, is_searched=pattern is not None))


def _fits(pattern: Pattern, event: Event) -> bool:
    try:
        return pattern(event, Matching(LOOP_WORK))
    except TooMuchWork:
        return False


async def _tapped(
    app: App, wanted: Callable[[str, Event], bool], redactor: Redactor, *, is_searched: bool
) -> AsyncIterator[Json]:
    frame, awake = _Frame(), asyncio.Event()

    def on_event(bus: str, event: Event) -> None:
        if not wanted(bus, event):
            return
        if len(frame.events) >= MOST_IN_FRAME:
            frame.more += 1
        else:
            shown = _as_shown(event, redactor)
            if is_searched and shown is not event:
                # The pattern may have met what is hidden.
                return
            is_cut = len(dump_json(event)) > EVENT_CHARACTERS
            if is_cut:
                shown = {name: value for name, value in shown.items() if name != "detail"}
            frame.events.append({"atMs": app.clock.now_ms(), "bus": bus, "event": shown, "isCut": is_cut})
        awake.set()

    end = app.services.buses.tap(on_event)
    try:
        yield {"events": [], "more": 0}
        while True:
            timer = app.clock.call_at(app.clock.now_ms() + HEARTBEAT_MS, awake.set)
            try:
                await awake.wait()
            finally:
                timer.cancel()
            sent: JsonObject = {"events": frame.events, "more": frame.more}
            frame.events, frame.more = [], 0
            awake.clear()
            yield sent
            await app.clock.sleep_until(app.clock.now_ms() + FRAME_MS)
    finally:
        end()


def _as_shown(event: Event, redactor: Redactor) -> Event:
    """An event as it may be shown; the same object if nothing in it is hidden. Patterns are of its detail, too."""
    if redactor.is_hidden:
        return {**event, "detail": MASK}
    detail = redactor.answer(event["detail"])
    seen: Event = redactor.answer(event if detail is event["detail"] else {**event, "detail": detail})
    return seen


READS: Final[Mapping[str, Callable[[Console, Asked], Awaitable[Answer]]]] = {
    "buses": buses,
    "bus/rules": rules,
    "bus/tap": tap,
}
ACTIONS: Final = {"bus/match": match}
