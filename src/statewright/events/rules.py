"""Rules: the targets of matching events, and the scheduled events of rules with a schedule.

Rules and buses are few, so all of them are in memory, with their patterns compiled and indexed by the sources that they
name: an event that no rule matches costs one lookup in a table. Every change is written before it takes effect. Events
are put by `buses.py`; the inputs of targets are made in `inputs.py`, and delivered by `deliveries.py`.

Source: EventBridge user guide, "Rules" and "Creating a scheduled rule".
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from statewright.clock import Clock
from statewright.config import Config
from statewright.engine.catalogue_timers import timer_key
from statewright.errors import ApiError
from statewright.events.bus_records import (
    MOST_RULES,
    MOST_TARGETS,
    RULE,
    RULE_DUE,
    Rule,
    check_rule,
    check_target,
    invalid,
    no_rule,
    read_pattern,
    sources_of,
    too_many,
)
from statewright.events.deliveries import MOST_AGE_SECONDS, Deliveries
from statewright.events.delivery_records import Delivery, call_id_of
from statewright.events.due_work import DueWork
from statewright.events.expressions import Rate
from statewright.events.inputs import InvalidInput, payload_of, with_paths
from statewright.events.meter import BusMeter
from statewright.events.outcomes import Outcome
from statewright.events.targets import INVALID_INPUT
from statewright.instants import iso_seconds
from statewright.metrics.recorder import Recorder
from statewright.payload import JsonMapping, JsonObject, dump_json
from statewright.query.event_pattern import Pattern
from statewright.query.matching import Matching
from statewright.stores.entries import Entries
from statewright.stores.protocol import CatalogueStore
from statewright.tags import retagged, tags_by_key

PAGE: Final = 500
MOST_HOPS: Final = 1
"""How often an event may be forwarded to another bus. Source: user guide, "Sending events between event buses"."""

log = logging.getLogger("statewright.events")

Event = JsonObject
Match = tuple[Rule, int]
"""A rule that an event matches, and how many buses the event came from."""


class Rules:
    """The rules of one store, by bus and name."""

    def __init__(
        self,
        catalogue: CatalogueStore,
        clock: Clock,
        config: Config,
        deliveries: Deliveries,
        recorder: Recorder | None,
    ) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._config = config
        self._deliveries = deliveries
        self._rules: dict[str, dict[str, Rule]] = {}
        self._matching: dict[str, Pattern] = {}
        """Compiled patterns by the key of their rule."""
        self._listening: dict[str, dict[str | None, list[str]]] = {}
        """By bus, filled at its first use: names of rules with targets by the sources they name, None for any."""
        self.meter: Final = BusMeter(recorder) if recorder is not None else None
        self._due = DueWork(catalogue, RULE_DUE, clock, "rule", self._fire)

    async def load(self) -> None:
        """Load the rules from the store."""
        async for rule in Entries(self._catalogue, RULE).walk():
            self._hold(rule)

    async def start(self) -> None:
        """Start the schedules of rules. Deliveries must have been started."""
        await self._due.start()

    async def stop(self) -> None:
        """Stop firing."""
        await self._due.stop()

    # ------------------------------------------------------------------ the catalogue

    async def put(self, name: str, bus: str, request: JsonMapping) -> Rule:
        """Create a rule, or replace one except for its targets. The request has the members of PutRule.

        Raises: ApiError.
        """
        there = self._rules.get(bus, {}).get(name)
        if there is None and len(self._rules.get(bus, {})) >= MOST_RULES:
            raise too_many()
        number = there.number if there is not None else await self._catalogue.next_number("rule")
        now_ms = self._clock.now_ms()
        expression = request.get("ScheduleExpression") or None
        tags = tags_by_key(request.get("Tags"))
        made = Rule(
            name, bus, number, request.get("EventPattern") or None, expression, request.get("State", "ENABLED"),
            request.get("Description"), request.get("RoleArn"),
            targets=there.targets if there is not None else {},
            tags=there.tags if there is not None else tags,
            anchor_ms=there.anchor_ms if there is not None and there.expression == expression else now_ms,
            stored=there.stored if there is not None else 0,
        )  # fmt: skip
        check_rule(made)
        if there is None:
            self._deliveries.outcomes.forget(made.arn(self._config))
        return await self._write(made)

    async def set_state(self, name: str, bus: str, state: str) -> None:
        """Enable or disable a rule. Raises: ApiError."""
        await self._write(replace(self.get(name, bus), state=state))

    async def delete(self, name: str, bus: str) -> None:
        """Delete a rule without targets; succeeds if it does not exist. Raises: ApiError."""
        rule = self._rules.get(bus, {}).get(name)
        if rule is None:
            return
        if rule.targets:
            raise invalid("Rule can't be deleted since it has targets.")
        await self._catalogue.write([], [RULE.name_of(rule), (RULE_DUE, timer_key(rule.number))])
        self._due.disarm(rule.number)
        self._rules[bus].pop(name, None)
        self._matching.pop(rule.key, None)
        self._forget_listeners(bus)

    def get(self, name: str, bus: str) -> Rule:
        """A rule. Raises: ApiError (`ResourceNotFoundException`)."""
        found = self._rules.get(bus, {}).get(name)
        if found is None:
            raise no_rule(name, bus)
        return found

    def of(self, bus: str) -> list[Rule]:
        """The rules of a bus by name."""
        return [rule for _, rule in sorted(self._rules.get(bus, {}).items())]

    async def put_targets(self, name: str, bus: str, targets: Sequence[JsonMapping]) -> None:
        """Add targets to a rule, or replace those of the same ids. Raises: ApiError."""
        rule = self.get(name, bus)
        for target in targets:
            check_target(target, self._config)
        changed = {**rule.targets, **{target["Id"]: target for target in targets}}
        if len(changed) > MOST_TARGETS:
            raise too_many()
        await self._write(replace(rule, targets=changed))

    async def remove_targets(self, name: str, bus: str, ids: Sequence[str]) -> list[str]:
        """Remove targets from a rule; returns the ids that it does not have. Raises: ApiError."""
        rule = self.get(name, bus)
        await self._write(replace(rule, targets={key: one for key, one in rule.targets.items() if key not in ids}))
        return [one for one in ids if one not in rule.targets]

    async def tag(self, name: str, bus: str, tags: Mapping[str, str], remove: Iterable[str] = ()) -> None:
        """Add tags to a rule and remove others. Raises: ApiError."""
        rule = self.get(name, bus)
        await self._write(replace(rule, tags=retagged(rule.tags, tags, remove)))

    async def _write(self, rule: Rule) -> Rule:
        rule = replace(rule, next_ms=self._next_ms(rule, self._clock.now_ms()))
        if not await self._catalogue.write([RULE.row(rule), rule.timer()]):
            raise ApiError("ConcurrentModificationException", f"Rule {rule.name} was changed concurrently; try again.")
        rule = replace(rule, stored=rule.stored + 1)
        self._due.disarm(rule.number)
        self._hold(rule)
        self._arm(rule)
        return rule

    def _hold(self, rule: Rule) -> None:
        self._rules.setdefault(rule.bus, {})[rule.name] = rule
        self._matching.pop(rule.key, None)
        if rule.pattern is not None and rule.enabled:
            self._matching[rule.key] = read_pattern(rule.pattern)
        self._forget_listeners(rule.bus)

    def _forget_listeners(self, bus: str) -> None:
        # A thread that fills the table of the rules as they were keeps it in the mapping that it began with.
        self._listening = {name: table for name, table in self._listening.items() if name != bus}

    def _listeners(self, bus: str, source: str) -> list[str]:
        """Names of rules of a bus that may match events of a source."""
        listening = self._listening
        table = listening.get(bus)
        if table is None:
            table = {None: []}
            for rule in list(self._rules.get(bus, {}).values()):
                if rule.key in self._matching and rule.targets:
                    for name in sources_of(rule):
                        table.setdefault(name, []).append(rule.name)
            listening[bus] = table
        return [*table.get(source, ()), *table[None]]

    # ------------------------------------------------------------------ events

    def expects(self, bus: str, source: str) -> bool:
        """True if any rule of a bus may match events of a source."""
        return bool(self._listeners(bus, source))

    def matched(self, bus: str, event: Event, matching: Matching, only: Collection[str] = ()) -> list[Match]:
        """The rules that an event matches, those of buses that it is forwarded to included.

        `only` names the rules of the bus that may see it, if not all.

        May be called in a thread: it changes nothing but the matching.

        Raises: TooMuchWork.
        """
        found: list[Match] = []
        self._match(bus, event, matching, 0, found, only)
        return found

    def _match(
        self, bus: str, event: Event, matching: Matching, hops: int, found: list[Match], only: Collection[str] = ()
    ) -> None:
        for name in self._listeners(bus, event["source"]):
            if only and name not in only:
                continue
            # The rule may be deleted meanwhile, if this is a thread.
            rule = self._rules[bus].get(name)
            matches = self._matching.get(rule.key) if rule is not None else None
            if rule is not None and matches is not None and matches(event, matching):
                self._follow(rule, event, matching, hops, found)

    def _follow(self, rule: Rule, event: Event, matching: Matching, hops: int, found: list[Match]) -> None:
        found.append((rule, hops))
        if hops < MOST_HOPS:
            for target in rule.targets.values():
                bus = self._own_bus(target["Arn"])
                if bus is not None:
                    self._match(bus, event, matching, hops + 1, found)

    def deliveries_of(self, event: Event, matches: Iterable[Match]) -> list[Delivery]:
        """The deliveries that matching rules make of an event."""
        found: list[Delivery] = []
        for rule, hops in matches:
            found.extend(self._to_targets(rule, event, hops))
        return found

    def _to_targets(self, rule: Rule, event: Event, hops: int) -> list[Delivery]:
        now_ms = self._clock.now_ms()
        arn = rule.arn(self._config)
        whole = dump_json(event)
        predefined = {
            "aws.events.rule-arn": arn,
            "aws.events.rule-name": rule.name,
            "aws.events.event.ingestion-time": iso_seconds(now_ms),
            "aws.events.event": _without_detail(event),
            "aws.events.event.json": event,
        }
        found: list[Delivery] = []
        forwards = 0
        for target in rule.targets.values():
            if self._own_bus(target["Arn"]) is not None:
                if hops < MOST_HOPS:
                    forwards += 1
                else:
                    log.warning("rule %s does not forward an event that was forwarded from another bus", rule.key)
                continue
            number = self._deliveries.next_number()
            filled = with_paths(target, event)
            try:
                payload = payload_of(target, event, predefined)
            except InvalidInput as problem:
                payload, filled = "", {**filled, INVALID_INPUT: str(problem)}
            found.append(Delivery(number, filled, payload, now_ms, now_ms, {"RULE_ARN": arn}, dead_body=whole))
        if self.meter is not None:
            self.meter.matched(rule.bus, rule.name, len(found) + forwards, by_pattern=rule.pattern is not None)
        return found

    def _own_bus(self, arn: str) -> str | None:
        """The bus of this server that an ARN names, if it does."""
        before = self._config.arn("events", "event-bus/")
        return arn.removeprefix(before) if arn.startswith(before) else None

    # ------------------------------------------------------------------ schedules

    def _next_ms(self, rule: Rule, after_ms: int) -> int | None:
        expression = rule.compiled() if rule.enabled else None
        if expression is None:
            return None
        if isinstance(expression, Rate):
            # A rate fires for the first time after one interval.
            after_ms = max(after_ms, rule.anchor_ms)
        return expression.after(after_ms, rule.anchor_ms)

    def _arm(self, rule: Rule) -> None:
        if rule.next_ms is not None:
            self._due.arm(rule.number, rule.next_ms)

    async def _fire(self, number: int) -> None:
        while not await self._advance(number):
            pass

    async def _advance(self, number: int) -> bool:
        """Fire a rule once and move it to its next instant; False if it was changed meanwhile."""
        timer = await self._catalogue.get(RULE_DUE, timer_key(number))
        bus, _, name = timer.body.decode().partition(":") if timer is not None else ("", "", "")
        rule = self._rules.get(bus, {}).get(name)
        now_ms = self._clock.now_ms()
        if rule is None or rule.number != number or rule.next_ms is None or rule.next_ms > now_ms:
            return True
        oldest_ms = now_ms - 1000 * MOST_AGE_SECONDS
        fires = rule.next_ms >= oldest_ms
        if not fires:
            log.warning("rule %s was due while no server ran: events older than a day are dropped", rule.key)
        moved = replace(rule, next_ms=self._next_ms(rule, rule.next_ms if fires else oldest_ms - 1))
        deliveries: list[Delivery] = []
        if fires:
            event = self._scheduled_event(rule)
            matches: list[Match] = []
            self._follow(rule, event, Matching(), 0, matches)
            deliveries = self.deliveries_of(event, matches)
        if not await self._deliveries.accept(deliveries, [RULE.row(moved), moved.timer()]):
            return False
        moved = replace(moved, stored=moved.stored + 1)
        self._rules[rule.bus][rule.name] = moved
        self._arm(moved)
        return True

    async def run_now(self, name: str, bus: str) -> list[Delivery]:
        """Invoke the targets of a rule with a schedule once, as if it were due now; its instants stay the same.

        Returns once the deliveries are durable. Raises: ApiError.
        """
        rule = self.get(name, bus)
        if rule.expression is None:
            raise invalid(f"Rule {name} has no schedule.")
        event = self._scheduled_event(replace(rule, next_ms=self._clock.now_ms()))
        matches: list[Match] = []
        self._follow(rule, event, Matching(), 0, matches)
        deliveries = self.deliveries_of(event, matches)
        await self._deliveries.accept(deliveries)
        return deliveries

    def last_outcome(self, rule: Rule) -> Outcome | None:
        """The outcome of the last delivery of a rule, since the server started."""
        return self._deliveries.outcomes.of(rule.arn(self._config))

    def _scheduled_event(self, rule: Rule) -> Event:
        assert rule.next_ms is not None
        return {
            "version": "0", "id": call_id_of(self._deliveries.next_number()), "detail-type": "Scheduled Event",
            "source": "aws.events", "account": self._config.account, "time": iso_seconds(rule.next_ms),
            "region": self._config.region, "resources": [rule.arn(self._config)], "detail": {},
        }  # fmt: skip


def _without_detail(event: Event) -> JsonObject:
    """An event as the variable `aws.events.event` has it: without its detail, and with `detailType` (observed)."""
    return {"detailType" if name == "detail-type" else name: one for name, one in event.items() if name != "detail"}
