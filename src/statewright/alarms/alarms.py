"""All alarms of a server: their settings, their evaluation, and what a change of state does.

1. Alarms are few: all are in memory. Every change is written before it takes effect.
2. An alarm is evaluated at the ends of its periods while its data points can change. One whose range is empty, or whose
   level stays the same, has no timer: the recorder announces the next value. No alarm costs nothing.
3. A change of state, its history and the deliveries of its actions are one transaction: a killed server repeats the
   actions, and never a change of state without them.

Source: CloudWatch user guide, "Using CloudWatch alarms"; API reference.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from statewright.alarms import history, notices
from statewright.alarms.evaluation import judged
from statewright.alarms.history import History
from statewright.alarms.measuring import Reading, read, step_of
from statewright.alarms.records import ALARM_HISTORY, METRIC_ALARM, Alarm, HistoryItem
from statewright.alarms.settings import Rule, check_actions, invalid, rule_of
from statewright.alarms.wording import instant_text, reason_data, reason_of
from statewright.background import Background
from statewright.clock import Clock, Timer
from statewright.config import Config
from statewright.errors import ApiError, StoreError
from statewright.events.deliveries import Deliveries
from statewright.events.delivery_records import Delivery
from statewright.metrics.expressions import ExpressionError
from statewright.metrics.recorder import Recorder
from statewright.payload import Json, JsonMapping, JsonObject, dump_json
from statewright.stores.entries import Entries, Name
from statewright.stores.protocol import CatalogueStore, EntryRow
from statewright.tags import retagged

MOST_ALARMS: Final = 5_000
"""Source: CloudWatch quotas, alarms for each region."""
RETRY_MS: Final = 1_000
OF_ALARM: Final = "Alarm"
"""The member of a delivery's target that names the alarm whose action it is."""

log = logging.getLogger("statewright.alarms")


class OwnEvents(Protocol):
    """Makes the deliveries of an event that a service of this server puts on the default bus."""

    def __call__(self, source: str, detail_type: str, detail: Json, resources: Iterable[str], /) -> list[Delivery]:
        """The deliveries; the caller writes them."""


@dataclass(slots=True)
class _Watch:
    """An alarm in memory, and its timer."""

    alarm: Alarm
    rule: Rule
    unwatch: Sequence[Callable[[], None]] = ()
    timer: Timer | None = None
    due_ms: int = 0


class Alarms:
    """The alarms of one store."""

    def __init__(
        self,
        catalogue: CatalogueStore,
        clock: Clock,
        config: Config,
        deliveries: Deliveries,
        recorder: Recorder,
        own_events: OwnEvents,
    ) -> None:
        self._catalogue = catalogue
        self._entries = Entries(catalogue, METRIC_ALARM)
        self.history = History(catalogue)
        self._clock = clock
        self._config = config
        self._deliveries = deliveries
        self._recorder = recorder
        self._own_events = own_events
        self._watches: dict[str, _Watch] = {}
        self._change = asyncio.Lock()
        self._background = Background("evaluating an alarm")
        deliveries.subscribe(self._settled)

    async def start(self) -> None:
        """Read the alarms; each is evaluated at the end of its next period."""
        async for alarm in self._entries.walk():
            try:
                self._hold(alarm, rule_of(alarm.settings))
            except ApiError as problem:
                log.error("the alarm %s is not evaluated: %s", alarm.name, problem)

    async def stop(self) -> None:
        """Stop evaluating."""
        for watch in self._watches.values():
            self._release(watch)
        self._watches.clear()
        await self._background.stop()

    # ------------------------------------------------------------------ the catalogue

    def get(self, name: str) -> Alarm | None:
        """An alarm."""
        found = self._watches.get(name)
        return found.alarm if found is not None else None

    def all(self) -> list[Alarm]:
        """Every alarm by name."""
        return [watch.alarm for _, watch in sorted(self._watches.items())]

    def rule(self, name: str) -> Rule:
        """The rule of an alarm that exists."""
        return self._watches[name].rule

    async def put(self, name: str, settings: JsonMapping, *, actions_enabled: bool, tags: Mapping[str, str]) -> None:
        """Create an alarm, or replace its settings; its state and tags stay. Raises: ApiError."""
        if any(ord(char) < 32 or ord(char) == 127 for char in name):
            raise invalid("AlarmName must not contain ASCII control characters.")
        rule = rule_of(settings)
        check_actions(settings, self._config)
        async with self._change:
            before = self.get(name)
            if before is None and len(self._watches) >= MOST_ALARMS:
                raise ApiError("LimitExceededFault", f"There are {MOST_ALARMS} alarms, which is the limit.")
            now_ms = self._clock.now_ms()
            if before is None:
                number = await self._catalogue.next_number("alarm")
                alarm = Alarm(
                    name, number, settings, now_ms, now_ms, now_ms, actions_enabled=actions_enabled, tags=dict(tags)
                )
            else:
                alarm = replace(before, settings=settings, updated_ms=now_ms, actions_enabled=actions_enabled)
            operation = "Create" if before is None else "Update"
            item = history.changed_settings(self._deliveries.next_number(), now_ms, alarm, operation)
            alarm = await self._write(alarm, [item], self._configured(alarm, operation.lower()))
            self._hold(alarm, rule)

    async def delete(self, names: Sequence[str]) -> None:
        """Delete alarms, those that exist. Source: observed: missing ones among others are no error."""
        async with self._change:
            gone = [alarm for name in dict.fromkeys(names) if (alarm := self.get(name)) is not None]
            if not gone:
                return
            now_ms = self._clock.now_ms()
            items, deliveries = [], []
            for alarm in gone:
                items.append(history.changed_settings(self._deliveries.next_number(), now_ms, alarm, "Delete"))
                deliveries += self._configured(alarm, "delete")
            await self._commit([ALARM_HISTORY.row(one) for one in items], deliveries, map(METRIC_ALARM.name_of, gone))
            for alarm in gone:
                self._release(self._watches.pop(alarm.name))

    async def enable(self, names: Sequence[str], *, actions_enabled: bool) -> None:
        """Have actions of alarms executed, or not. Alarms that do not exist are ignored."""
        async with self._change:
            for name in names:
                alarm = self.get(name)
                if alarm is not None and alarm.actions_enabled != actions_enabled:
                    changed = replace(alarm, actions_enabled=actions_enabled)
                    number = self._deliveries.next_number()
                    item = history.changed_settings(number, self._clock.now_ms(), changed, "Update")
                    self._watches[name].alarm = await self._write(changed, [item], [])

    async def tag(self, name: str, put: Mapping[str, str], drop: Iterable[str] = ()) -> None:
        """Add tags to an alarm and remove others. Raises: ApiError."""
        async with self._change:
            watch = self._watches.get(name)
            if watch is None:
                raise ApiError("ResourceNotFoundException", "", status=404)
            tagged = replace(watch.alarm, tags=retagged(watch.alarm.tags, put, drop))
            watch.alarm = await self._write(tagged, [], [])

    async def set_state(self, name: str, state: str, reason: str, data: str | None) -> None:
        """Set a state, with its actions if it differs; the next evaluation may set another one.

        Raises: ApiError (`ResourceNotFound`).
        """
        async with self._change:
            watch = self._watches.get(name)
            if watch is None:
                raise ApiError("ResourceNotFound", "", status=404)
            await self._move(watch, state, reason, data)
            self._arm(watch, self._clock.now_ms())

    # ------------------------------------------------------------------ changes

    async def _move(self, watch: _Watch, state: str, reason: str, data: str | None) -> None:
        """Give an alarm a state, and decide its actions in the same transaction."""
        before, now_ms = watch.alarm, self._clock.now_ms()
        changes = state != before.state
        transition_ms = now_ms if changes else before.transition_ms
        alarm = replace(
            before, state=state, reason=reason, reason_data=data, state_ms=now_ms, transition_ms=transition_ms
        )
        if not changes:
            watch.alarm = await self._write(alarm, [], [])
            return
        item = history.changed_state(self._deliveries.next_number(), now_ms, before, alarm)
        arns = [notices.alarm_arn(self._config, alarm.name)]
        deliveries = self._own_events(notices.SOURCE, notices.STATE_CHANGE, notices.state_detail(alarm, before), arns)
        if alarm.actions_enabled:
            deliveries = [*deliveries, *self._actions(alarm, before)]
        watch.alarm = await self._write(alarm, [item], deliveries)

    def _actions(self, alarm: Alarm, before: Alarm) -> list[Delivery]:
        now_ms = self._clock.now_ms()
        found = []
        for arn in alarm.actions(alarm.state):
            target: JsonObject = {"Arn": arn, OF_ALARM: alarm.name}
            if ":sns:" in arn:
                target["Subject"] = notices.subject(self._config, alarm)
                payload = notices.message(self._config, alarm, before)
            else:
                payload = notices.function_event(self._config, alarm, before)
            found.append(Delivery(self._deliveries.next_number(), target, payload, now_ms, now_ms))
        return found

    def _configured(self, alarm: Alarm, operation: str) -> list[Delivery]:
        """The deliveries of the event about changed settings."""
        detail = {
            "alarmName": alarm.name,
            "operation": operation,
            "state": {"value": alarm.state, "timestamp": instant_text(alarm.state_ms)},
            "configuration": {**notices.configuration(alarm), "actionsEnabled": alarm.actions_enabled},
        }
        arns = [notices.alarm_arn(self._config, alarm.name)]
        return self._own_events(notices.SOURCE, notices.CONFIGURATION_CHANGE, detail, arns)

    async def _write(self, alarm: Alarm, items: Sequence[HistoryItem], deliveries: Sequence[Delivery]) -> Alarm:
        rows = [METRIC_ALARM.row(alarm), *map(ALARM_HISTORY.row, items)]
        await self._commit(rows, deliveries)
        return replace(alarm, stored=alarm.stored + 1)

    async def _commit(
        self, rows: Sequence[EntryRow], deliveries: Sequence[Delivery], delete: Iterable[Name] = ()
    ) -> None:
        old = await self.history.old(self._clock.now_ms())
        if not await self._deliveries.accept(deliveries, rows, [*delete, *old]):
            raise ApiError("ConcurrentModificationException", "The alarm was changed concurrently; try again.")

    def _settled(self, target: JsonMapping, outcome: str) -> None:
        """Note in the history how an action ended."""
        name = target.get(OF_ALARM)
        if name is not None and outcome in ("delivered", "failed"):
            number = self._deliveries.next_number()
            now_ms = self._clock.now_ms()
            item = history.executed_action(number, now_ms, name, target["Arn"], succeeded=outcome == "delivered")
            self._background.spawn(self._commit([ALARM_HISTORY.row(item)], []))

    # ------------------------------------------------------------------ evaluation

    def _hold(self, alarm: Alarm, rule: Rule) -> None:
        former = self._watches.get(alarm.name)
        if former is not None:
            self._release(former)
        watch = self._watches[alarm.name] = _Watch(alarm, rule)
        watch.unwatch = [
            self._recorder.watch(one.metric, lambda second: self._arm(watch, second * 1000))
            for one in rule.measure.inputs.values()
        ]
        self._arm(watch, self._clock.now_ms())

    def _release(self, watch: _Watch) -> None:
        for unwatch in watch.unwatch:
            unwatch()
        if watch.timer is not None:
            watch.timer.cancel()
            watch.timer = None

    def _arm(self, watch: _Watch, after_ms: int) -> None:
        """Evaluate an alarm at the end of the period that an instant is in, which may be over."""
        step_ms = 1000 * step_of(watch.rule.measure, watch.rule.condition)
        # A value of a second that is over may belong to a period that is over, too.
        self._arm_at(watch, max((after_ms // step_ms + 1) * step_ms, self._clock.now_ms()))

    def _arm_at(self, watch: _Watch, due_ms: int) -> None:
        if watch.timer is not None:
            if watch.due_ms <= due_ms:
                return
            watch.timer.cancel()
        watch.due_ms = due_ms
        watch.timer = self._clock.call_at(due_ms, lambda: self._due(watch))

    def _due(self, watch: _Watch) -> None:
        watch.timer = None
        self._background.spawn(self._evaluate(watch))

    async def _evaluate(self, watch: _Watch) -> None:
        step = step_of(watch.rule.measure, watch.rule.condition)
        now = self._clock.now_ms() // 1000
        try:
            found = await read(self._recorder, watch.rule.measure, watch.rule.condition, now - now % step)
            async with self._change:
                # The alarm may have been deleted or put meanwhile.
                if self._watches.get(watch.alarm.name) is watch:
                    await self._judge(watch, found)
                    if found.wakes_at is not None:
                        self._arm_at(watch, found.wakes_at * 1000)
        except (StoreError, ApiError) as problem:
            log.warning("the alarm %s could not be evaluated, which will be repeated: %s", watch.alarm.name, problem)
            self._arm_at(watch, self._clock.now_ms() + RETRY_MS)
        except ExpressionError as problem:
            log.warning("the expression of the alarm %s has no result: %s", watch.alarm.name, problem)

    async def _judge(self, watch: _Watch, found: Reading) -> None:
        rule, alarm = watch.rule, watch.alarm
        if rule.ignores_few_samples and found.is_vague:
            return
        verdict = judged(rule.condition, found.points, alarm.state)
        if verdict.state == alarm.state:
            return
        single = rule.measure.single
        data = reason_data(
            rule.condition,
            verdict,
            self._clock.now_ms(),
            period=rule.measure.period,
            statistic=single.statistic if single is not None else None,
            unit=single.unit if single is not None else None,
        )
        reason = reason_of(rule.condition, verdict, says_needed=rule.says_needed)
        await self._move(watch, verdict.state, reason, dump_json(data))
