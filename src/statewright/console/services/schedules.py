"""Schedules of EventBridge Scheduler and rules with a schedule, as one list; and running one now.

Owns what no operation shows: instants to come, expressions in words, the last outcome. Changes go by the operations.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import tzinfo
from typing import Final

from statewright.api.operations import App, Call, perform
from statewright.console.asked import Asked, document, needed, text_of
from statewright.console.context import Console
from statewright.console.services.expression_words import in_words
from statewright.console.services.lists import begin_write, filtered, page_size
from statewright.errors import ApiError
from statewright.events.bus_records import Rule
from statewright.events.expressions import ExpressionError, read_given, upcoming, zone_named
from statewright.events.outcomes import Outcome
from statewright.events.schedule_records import Schedule, shown
from statewright.payload import Json, JsonMapping, JsonObject

NEXT: Final = 5
_STATE_MACHINE: Final = ":stateMachine:"
_PAGE: Final = 500
_KEPT: Final = frozenset({
    "Name", "GroupName", "ScheduleExpression", "ScheduleExpressionTimezone", "StartDate", "EndDate", "Description",
    "KmsKeyArn", "Target", "FlexibleTimeWindow", "ActionAfterCompletion",
})  # fmt: skip
"""Members of a schedule that UpdateSchedule takes."""


async def schedules(console: Console, asked: Asked) -> JsonObject:
    """A page of schedules by name: `{rows, next}`. A row has `{kind, id, name, group, expression, words, zone, state,
    nextMs, targets, last}`; `id` is what `schedule` takes.
    """
    app = console.app_of(asked)
    wanted, text = asked.given.get("state", ""), filtered(asked.given)
    most, after = page_size(asked.given), asked.given.get("cursor", "")
    found: list[Schedule | Rule] = []
    async for one in _in_order(app, after):
        if (not wanted or one.state == wanted) and text in one.name.lower():
            found.append(one)
        if len(found) > most:
            break
    following = _id_of(found[most - 1]) if len(found) > most else None
    return {"rows": [_row(app, one, 1) for one in found[:most]], "next": following}


async def schedule(console: Console, asked: Asked) -> JsonObject:
    """One schedule by `id`: its row with the next instants, and `request`, the members of its own operations.

    Raises: ApiError (`ResourceNotFoundException`).
    """
    app = console.app_of(asked)
    found = await _found(app, needed(asked.given, "id"))
    own = shown(found, app.config) if isinstance(found, Schedule) else _rule_members(found)
    shown_own: JsonObject = console.redactor.answer({**_row(app, found, NEXT), "request": own})
    return shown_own


async def preview(console: Console, asked: Asked) -> JsonObject:
    """An expression in words and its next instants: `{words, nextMs}`; for `kind=rule` as rules read it.

    Raises: ApiError (`ValidationException`).
    """
    rules = asked.given.get("kind") == "rule"
    try:
        zone = zone_named(asked.given.get("zone") or "UTC")
        expression = read_given(needed(asked.given, "expression"), zone, rules=rules)
    except ExpressionError as problem:
        raise ApiError("ValidationException", f"{str(problem)[:1].upper()}{str(problem)[1:]}.") from None
    now_ms = console.app.clock.now_ms()
    return {"words": in_words(expression), "nextMs": list(upcoming(expression, now_ms, now_ms, NEXT))}


async def run(console: Console, asked: Asked) -> JsonObject:
    """Invoke the targets of a schedule once, now: `{id}` to `{invocations, execution}`, the latter the ARN of the
    execution that a delivery starts, if it starts one.

    Raises: ApiError.
    """
    body = document(asked)
    app = console.app_in(text_of(body, "region", ""))
    id_ = text_of(body, "id")
    begin_write(asked, f"running {id_[:200]} now")
    found = await _found(app, id_)
    if isinstance(found, Schedule):
        deliveries = [await app.services.scheduler.run_now(found.group, found.name)]
    else:
        deliveries = await app.services.buses.rules.run_now(found.name, found.bus)
    started = [_execution(one.target["Arn"], one.call_id) for one in deliveries]
    return {"invocations": len(deliveries), "execution": next((one for one in started if one), None)}


async def turn(console: Console, asked: Asked) -> JsonObject:
    """Enable or disable a schedule, which stays the same otherwise: `{id, isOn}` to `{}`.

    UpdateSchedule replaces the whole, of which the page may not see all.

    Raises: ApiError.
    """
    body = document(asked)
    app = console.app_in(text_of(body, "region", ""))
    id_, is_on = text_of(body, "id"), body.get("isOn")
    if not isinstance(is_on, bool):
        raise ApiError("BadRequest", "The request needs isOn, true or false.")
    begin_write(asked, f"{'enabling' if is_on else 'disabling'} {id_[:200]}")
    found = await _found(app, id_)
    key = asked.caller.access_key or None
    if isinstance(found, Rule):
        named: JsonObject = {"Name": found.name, "EventBusName": found.bus}
        call = Call("events", "EnableRule" if is_on else "DisableRule", asked.request_id, access_key=key)
        await perform(app, call, named)
    else:
        kept = {name: value for name, value in shown(found, app.config).items() if name in _KEPT and value is not None}
        # Instants in requests are seconds.
        dates: JsonObject = {name: kept[name] / 1000 for name in ("StartDate", "EndDate") if name in kept}
        request: JsonObject = {**kept, **dates, "State": "ENABLED" if is_on else "DISABLED"}
        await perform(app, Call("scheduler", "UpdateSchedule", asked.request_id, access_key=key), request)
    return {}


async def _in_order(app: App, after: str) -> AsyncIterator[Schedule | Rule]:
    """Schedules by group and name, then rules with a schedule by bus and name; those after an id."""
    kind, _, key = after.partition(":")
    place: str | None = key or None
    while kind in ("", "schedule"):
        found, place = await app.services.scheduler.list_schedules(None, "", None, place, _PAGE)
        for one in found:
            yield one
        # Reads of the catalogue do not let the loop go on by themselves.
        await asyncio.sleep(0)
        if place is None:
            break
    buses = app.services.buses
    for bus in buses.all():
        for rule in buses.rules.of(bus.name):
            if rule.expression is not None and (kind != "rule" or f"{rule.bus}/{rule.name}" > key):
                yield rule


async def _found(app: App, id_: str) -> Schedule | Rule:
    """A schedule or rule by the id of its row. Raises: ApiError."""
    kind, _, rest = id_.partition(":")
    group, _, name = rest.partition("/")
    if kind == "schedule":
        return await app.services.scheduler.get(group, name)
    if kind == "rule":
        rule = app.services.buses.rules.get(name, group)
        if rule.expression is not None:
            return rule
    raise ApiError("ResourceNotFoundException", f"There is no schedule {id_[:100]}.")


def _id_of(found: Schedule | Rule) -> str:
    if isinstance(found, Schedule):
        return f"schedule:{found.group}/{found.name}"
    return f"rule:{found.bus}/{found.name}"


def _row(app: App, found: Schedule | Rule, count: int) -> JsonObject:
    is_rule = isinstance(found, Rule)
    zone = "UTC" if isinstance(found, Rule) else found.timezone
    targets: list[JsonMapping] = list(found.targets.values()) if isinstance(found, Rule) else [found.target]
    if isinstance(found, Rule):
        last = app.services.buses.rules.last_outcome(found)
    else:
        last = app.services.scheduler.last_outcome(found)
    return {
        "kind": "rule" if is_rule else "schedule", "id": _id_of(found), "name": found.name,
        "group": found.bus if isinstance(found, Rule) else found.group, "arn": found.arn(app.config),
        "expression": found.expression, "words": _words(found.expression or "", zone_named(zone), rules=is_rule),
        "zone": zone, "state": found.state, "description": found.description,
        "nextMs": _instants(found, count), "targets": [_target(one, with_input=count > 1) for one in targets],
        "last": _last(last),
    }  # fmt: skip


def _words(text: str, zone: tzinfo, *, rules: bool) -> str:
    try:
        return in_words(read_given(text, zone, rules=rules))
    except ExpressionError:
        return text


def _instants(found: Schedule | Rule, count: int) -> list[Json]:
    """The next instants of an enabled schedule; the first one is that which it is armed for."""
    if found.next_ms is None:
        return []
    instants: list[Json] = [found.next_ms]
    if isinstance(found, Schedule):
        after = found.next_ms
        while len(instants) < count and (following := found.following(after)) is not None:
            after = following[0]
            instants.append(after)
        return instants
    expression = found.compiled()
    if expression is not None:
        instants += upcoming(expression, found.next_ms, found.anchor_ms, count - 1)
    return instants


def _target(target: JsonMapping, *, with_input: bool) -> JsonObject:
    return {
        "arn": target["Arn"], "input": target.get("Input") if with_input else None,
        "deadLetters": (target.get("DeadLetterConfig") or {}).get("Arn"),
    }  # fmt: skip


def _last(outcome: Outcome | None) -> Json:
    if outcome is None:
        return None
    return {
        "atMs": outcome.at_ms, "what": outcome.what, "attempts": outcome.attempts, "target": outcome.target,
        "error": outcome.error, "message": outcome.message, "execution": _execution(outcome.target, outcome.call_id),
    }  # fmt: skip


def _execution(target: str, call_id: str) -> str | None:
    """The ARN of the execution that a delivery starts; None if its target is no Standard state machine's ARN."""
    before, mark, machine = target.partition(_STATE_MACHINE)
    return f"{before}:execution:{machine.partition(':')[0]}:{call_id}" if mark else None


def _rule_members(rule: Rule) -> JsonObject:
    return {
        "Name": rule.name, "EventBusName": rule.bus, "ScheduleExpression": rule.expression, "State": rule.state,
        "Description": rule.description, "Targets": list(rule.targets.values()),
    }  # fmt: skip


READS: Final = {"schedules": schedules, "schedule": schedule, "schedules/preview": preview}
ACTIONS: Final = {"schedule/run": run, "schedule/turn": turn}
