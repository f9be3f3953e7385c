"""The metrics of schedules, rules and buses: invocations and their outcomes, events and the rules that they match.

Source: EventBridge Scheduler user guide, "Monitoring with Amazon CloudWatch"; EventBridge user guide, "Monitoring".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from statewright.errors import ApiError
from statewright.events.delivery_records import Delivery
from statewright.events.targets import is_throttled
from statewright.metrics.recorder import Recorder

SCHEDULES: Final = "AWS/Scheduler"
EVENTS: Final = "AWS/Events"
_WHOLE: Final[Mapping[str, str]] = {}
"""The dimensions of metrics of the whole account."""


class DeliveryMeter:
    """The metrics of deliveries. Those of topics have no schedule and no rule, and are not counted here."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def attempted(self, delivery: Delivery, problem: ApiError | None, now_ms: int) -> None:
        """Count a call of a target, and its failure if there is a `problem`."""
        dimensions = _group_of(delivery)
        if dimensions is not None:
            self._add(SCHEDULES, "InvocationAttemptCount", dimensions)
            if problem is not None:
                self._add(SCHEDULES, "TargetErrorCount", dimensions)
                if is_throttled(problem):
                    self._add(SCHEDULES, "TargetErrorThrottledCount", dimensions)
            return
        for dimensions in _rule_of(delivery):
            self._add(EVENTS, "InvocationAttempts", dimensions)
            if delivery.attempts:
                self._add(EVENTS, "RetryInvocationAttempts", dimensions)
            if problem is None:
                self._add(EVENTS, "Invocations", dimensions)
                self._add(EVENTS, "SuccessfulInvocationAttempts", dimensions)
                took = now_ms - delivery.event_ms
                self._recorder.counter(EVENTS, "IngestionToInvocationSuccessLatency", dimensions, "Milliseconds").add(
                    took
                )

    def given_up(self, delivery: Delivery) -> None:
        """Count an invocation that failed permanently."""
        dimensions = _group_of(delivery)
        if dimensions is not None:
            self._add(SCHEDULES, "InvocationDroppedCount", dimensions)
            return
        for dimensions in _rule_of(delivery):
            self._add(EVENTS, "Invocations", dimensions)
            self._add(EVENTS, "FailedInvocations", dimensions)

    def dead_lettered(self, delivery: Delivery, *, is_sent: bool) -> None:
        """Count a dead letter that was sent, or that could not be."""
        dimensions = _group_of(delivery)
        if dimensions is not None:
            what = "InvocationsSentToDeadLetterCount" if is_sent else "InvocationsFailedToBeSentToDeadLetterCount"
            self._add(SCHEDULES, what, dimensions)
            return
        for dimensions in _rule_of(delivery):
            self._add(EVENTS, "InvocationsSentToDlq" if is_sent else "InvocationsFailedToBeSentToDlq", dimensions)

    def _add(self, namespace: str, name: str, dimensions: Mapping[str, str]) -> None:
        self._recorder.counter(namespace, name, dimensions).add()


class BusMeter:
    """The metrics of events put on buses, and of the rules that they trigger."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._calls = recorder.counter(EVENTS, "PutEventsApproximateCallCount", _WHOLE)
        self._entries = recorder.counter(EVENTS, "PutEventsEntriesCount", _WHOLE)
        self._failed = recorder.counter(EVENTS, "PutEventsFailedEntriesCount", _WHOLE)
        self._created = recorder.counter(EVENTS, "InvocationsCreated", _WHOLE)

    def put(self, entries: int, failed: int) -> None:
        """Count a request of so many entries."""
        self._calls.add()
        self._entries.add(entries)
        self._failed.add(failed)

    def matched(self, bus: str, rule: str, invocations: int, *, by_pattern: bool) -> None:
        """Count a trigger of a rule by an event or its schedule; `bus` and `rule` are names."""
        for dimensions in _dimensions(bus, rule):
            self._recorder.counter(EVENTS, "TriggeredRules", dimensions).add()
            if dimensions and by_pattern:
                self._recorder.counter(EVENTS, "MatchedEvents", dimensions).add()
        if invocations:
            self._created.add(invocations)


def _group_of(delivery: Delivery) -> Mapping[str, str] | None:
    arn = delivery.origin.get("SCHEDULE_ARN")
    return None if arn is None else {"ScheduleGroup": arn.split("/")[1]}


def _rule_of(delivery: Delivery) -> Iterable[Mapping[str, str]]:
    arn = delivery.origin.get("RULE_ARN")
    if arn is None:
        return ()
    bus, _, name = arn.partition(":rule/")[2].rpartition("/")
    return _dimensions(bus or "default", name)


def _dimensions(bus: str, name: str) -> Iterable[Mapping[str, str]]:
    """The account, and the rule: those of the default bus are named alone."""
    own = {"RuleName": name} if bus == "default" else {"EventBusName": bus, "RuleName": name}
    return _WHOLE, own
