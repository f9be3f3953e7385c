"""Records of schedules and their groups, and the checks of a schedule.

Owns the records, the service's refusals and the next instant of a schedule. Firing is in `scheduler.py`.

Source: EventBridge Scheduler API reference; texts as SDK users report them unless a comment says otherwise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from statewright.config import Config
from statewright.engine.catalogue_timers import timer_row
from statewright.errors import ApiError
from statewright.events.expressions import At, Expression, ExpressionError, parse, read_given, zone_named
from statewright.events.targets import READ_ONLY, UNIVERSAL, CallService, Unsupported, call_of
from statewright.payload import JsonMapping, JsonObject
from statewright.stores.entries import EntryKind
from statewright.stores.protocol import EntryRow

DUE: Final = "schedule-due"
DEFAULT_GROUP: Final = "default"
MOST_LATE_START_MS: Final = 300_000

_KEPT: Final = {
    "ScheduleExpression": "expression",
    "ScheduleExpressionTimezone": "timezone",
    "StartDate": "start_ms",
    "EndDate": "end_ms",
    "Description": "description",
    "State": "state",
    "KmsKeyArn": "kms_key",
    "Target": "target",
    "FlexibleTimeWindow": "window",
    "ActionAfterCompletion": "after_completion",
}
"""Members of requests and answers by the fields that hold them."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule. `number` names its timer; `anchor_ms` is the instant from which its rate counts.

    `next_ms` is the next scheduled instant, `due_ms` the instant within its window at which it fires; both are None if
    there is no next one, or while it is disabled.
    """

    name: str
    group: str
    number: int
    expression: str
    target: JsonMapping
    window: JsonMapping
    created_ms: int
    modified_ms: int
    timezone: str = "UTC"
    start_ms: int | None = None
    end_ms: int | None = None
    description: str | None = None
    state: str = "ENABLED"
    kms_key: str | None = None
    after_completion: str = "NONE"
    anchor_ms: int = 0
    next_ms: int | None = None
    due_ms: int | None = None
    token: str | None = None
    stored: int = 0

    @property
    def key(self) -> str:
        """Its key in the catalogue."""
        return f"{self.group}/{self.name}"

    def timer(self) -> EntryRow:
        """Its timer, to be written with it."""
        return timer_row(DUE, self.number, self.due_ms, self.stored + 1, self.key.encode())

    def arn(self, config: Config) -> str:
        """Its ARN."""
        return config.arn("scheduler", f"schedule/{self.key}")

    def compiled(self) -> Expression:
        """Its expression, compiled."""
        return parse(self.expression, zone_named(self.timezone))

    def following(self, after_ms: int) -> tuple[int, int] | None:
        """The next scheduled instant later than one, and when it fires; None when there is no more."""
        expression = self.compiled()
        one_time = isinstance(expression, At)
        if self.start_ms is not None and not one_time:
            after_ms = max(after_ms, self.start_ms - 1)
        at_ms = expression.after(after_ms, self.anchor_ms)
        if at_ms is None or (self.end_ms is not None and not one_time and at_ms > self.end_ms):
            return None
        return at_ms, at_ms + self._offset_ms(at_ms)

    def _offset_ms(self, at_ms: int) -> int:
        """The offset of an invocation in its flexible window: evenly distributed, and the same at every call."""
        if self.window.get("Mode") != "FLEXIBLE":
            return 0
        width_ms: int = 60_000 * self.window["MaximumWindowInMinutes"]
        drawn = hashlib.blake2b(f"{self.number} {at_ms}".encode(), digest_size=8).digest()
        return int.from_bytes(drawn, "big") % width_ms


SCHEDULE: Final = EntryKind("schedule", Schedule, lambda schedule: schedule.key, parent=lambda schedule: schedule.group)


def shown(schedule: Schedule, config: Config) -> JsonObject:
    """A schedule as GetSchedule answers it."""
    view: JsonObject = {name: getattr(schedule, own) for name, own in _KEPT.items()}
    return {
        "Arn": schedule.arn(config), "GroupName": schedule.group, "Name": schedule.name,
        "CreationDate": schedule.created_ms, "LastModificationDate": schedule.modified_ms, **view,
    }  # fmt: skip


def requested(request: JsonMapping) -> JsonObject:
    """The fields of a schedule that a request gives; what it leaves out has the default."""
    return {own: request[name] for name, own in _KEPT.items() if request.get(name) is not None}


@dataclass(frozen=True, slots=True)
class Group:
    """A group of schedules."""

    name: str
    created_ms: int
    modified_ms: int
    state: str = "ACTIVE"
    tags: Mapping[str, str] = field(default_factory=dict)
    token: str | None = None
    stored: int = 0

    def arn(self, config: Config) -> str:
        """Its ARN."""
        return config.arn("scheduler", f"schedule-group/{self.name}")


GROUP: Final = EntryKind("schedule-group", Group, lambda group: group.name)


# ------------------------------------------------------------------ refusals


def invalid(text: str) -> ApiError:
    """A `ValidationException`."""
    return ApiError("ValidationException", text)


def check(
    schedule: Schedule, now_ms: int, calls: CallService | None, config: Config, before: Schedule | None = None
) -> None:
    """Check a schedule; dates that it had `before` may have passed.

    Raises: ApiError (`ValidationException`).
    """
    try:
        zone = zone_named(schedule.timezone)
    except ExpressionError:
        raise invalid(f"Invalid Schedule Expression Timezone {schedule.timezone}.") from None
    try:
        expression = read_given(schedule.expression, zone)
    except ExpressionError:
        raise invalid(f"Invalid Schedule Expression {schedule.expression}.") from None
    if not isinstance(expression, At):
        _check_dates(schedule, now_ms, before)
    _check_window(schedule.window)
    _check_target(schedule.target, calls, config)


def _check_dates(schedule: Schedule, now_ms: int, before: Schedule | None) -> None:
    start_ms, end_ms = schedule.start_ms, schedule.end_ms
    new_start = before is None or before.start_ms != start_ms
    if start_ms is not None and new_start and start_ms < now_ms - MOST_LATE_START_MS:
        raise invalid("The StartDate you specify cannot be earlier than 5 minutes ago.")
    # The next two texts are Statewright's own.
    if end_ms is not None and end_ms < now_ms and (before is None or before.end_ms != end_ms):
        raise invalid("The EndDate you specify cannot be in the past.")
    if start_ms is not None and end_ms is not None and end_ms < start_ms:
        raise invalid("The StartDate you specify must come before the EndDate you specify.")


def _check_window(window: JsonMapping) -> None:
    # The texts are Statewright's own.
    given = window.get("MaximumWindowInMinutes") is not None
    if window["Mode"] == "FLEXIBLE" and not given:
        raise invalid("MaximumWindowInMinutes must be provided when flexible time window mode is set to FLEXIBLE.")
    if window["Mode"] == "OFF" and given:
        raise invalid("MaximumWindowInMinutes must not be provided when flexible time window mode is set to OFF.")


_PARAMETERS: Final = {
    "EcsParameters": "ecs", "EventBridgeParameters": "events", "KinesisParameters": "kinesis",
    "SageMakerPipelineParameters": "sagemaker", "SqsParameters": "sqs",
}  # fmt: skip


def _check_target(target: JsonMapping, calls: CallService | None, config: Config) -> None:
    arn = target["Arn"]
    universal = UNIVERSAL.fullmatch(arn)
    if universal is not None:
        service, action = universal.groups()
        if any(action.lower().startswith(prefix.lower()) for prefix in READ_ONLY):
            raise invalid(f"The action {action} is not supported as a target: it only reads.")
        if calls is not None and not calls.knows(service, action):
            raise invalid(f"This version of Statewright does not have {service}:{action} as a target.")
        return
    parts = arn.split(":", 5)
    if len(parts) < 6 or parts[0] != "arn" or not parts[5]:
        raise invalid("Provided Arn is not in correct format.")
    try:
        call_of(target, "{}", "check")
    except Unsupported as problem:
        raise invalid(f"Provided Arn is not in correct format. {str(problem)[0].upper()}{str(problem)[1:]}.") from None
    if config.is_elsewhere(arn):
        # These texts are Statewright's own.
        raise invalid(f"{arn} is elsewhere: the target of a schedule is in its region, {config.here}.")
    for name, service in _PARAMETERS.items():
        if target.get(name) and parts[2] != service:
            raise invalid(f"{name} cannot be given for a target of {parts[2]}.")
    if parts[2] == "events" and not target.get("EventBridgeParameters"):
        raise invalid("EventBridgeParameters must be given for a target that is an event bus.")
    if (
        parts[2] == "sqs"
        and parts[5].endswith(".fifo")
        and not (target.get("SqsParameters") or {}).get("MessageGroupId")
    ):
        raise invalid("SqsParameters.MessageGroupId must be given for a target that is a FIFO queue.")
