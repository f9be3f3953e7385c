"""Records of event buses and rules, the checks of requests about them, and their refusals.

Source: EventBridge API reference and quotas; texts as SDK users report them unless a comment says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson

from statewright.config import Config
from statewright.engine.catalogue_timers import timer_row
from statewright.errors import ApiError
from statewright.events.expressions import Expression, ExpressionError, parse, read_given
from statewright.events.inputs import PREDEFINED, variables_of
from statewright.events.patterns import BadPattern, pattern_of
from statewright.events.targets import UNIVERSAL, Unsupported, call_of
from statewright.payload import Json, JsonMapping
from statewright.query.event_pattern import Pattern
from statewright.stores.entries import EntryKind
from statewright.stores.protocol import EntryRow

RULE_DUE: Final = "rule-due"
DEFAULT_BUS: Final = "default"
MOST_RULES: Final = 300
MOST_TARGETS: Final = 5
MOST_BUSES: Final = 100
"""Source: EventBridge quotas."""


@dataclass(frozen=True, slots=True)
class Bus:
    """An event bus. `shown` and the policy's statements are stored and returned, and have no other effect."""

    name: str
    created_ms: int
    modified_ms: int
    description: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    shown: JsonMapping = field(default_factory=dict)
    statements: tuple[Json, ...] = ()
    stored: int = 0

    def arn(self, config: Config) -> str:
        """Its ARN."""
        return config.arn("events", f"event-bus/{self.name}")

    @property
    def policy(self) -> str | None:
        """Its policy as JSON, if it has any."""
        document = {"Version": "2012-10-17", "Statement": self.statements}
        return orjson.dumps(document).decode() if self.statements else None


BUS: Final = EntryKind("eventBus", Bus, lambda bus: bus.name)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with its targets, by their ids. `number` names the timer of one that has a schedule."""

    name: str
    bus: str
    number: int
    pattern: str | None = None
    expression: str | None = None
    state: str = "ENABLED"
    description: str | None = None
    role_arn: str | None = None
    targets: JsonMapping = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    anchor_ms: int = 0
    next_ms: int | None = None
    stored: int = 0

    @property
    def key(self) -> str:
        """Its key in the catalogue; no name of a rule or bus has a colon."""
        return f"{self.bus}:{self.name}"

    def timer(self) -> EntryRow:
        """Its timer, to be written with it."""
        return timer_row(RULE_DUE, self.number, self.next_ms, self.stored + 1, self.key.encode())

    def arn(self, config: Config) -> str:
        """Its ARN, which names the bus only if it is a custom one."""
        where = self.name if self.bus == DEFAULT_BUS else f"{self.bus}/{self.name}"
        return config.arn("events", f"rule/{where}")

    def compiled(self) -> Expression | None:
        """Its schedule, compiled; None for a rule without one."""
        return parse(self.expression, rules=True) if self.expression is not None else None

    @property
    def enabled(self) -> bool:
        """True unless it is disabled."""
        return self.state != "DISABLED"


RULE: Final = EntryKind("rule", Rule, lambda rule: rule.key)


# ------------------------------------------------------------------ refusals


def invalid(text: str) -> ApiError:
    """A `ValidationException`."""
    return ApiError("ValidationException", text)


def no_rule(name: str, bus: str) -> ApiError:
    """The refusal of a request for an unknown rule."""
    return ApiError("ResourceNotFoundException", f"Rule {name} does not exist on EventBus {bus}.")


def no_bus(name: str) -> ApiError:
    """The refusal of a request for an unknown bus."""
    return ApiError("ResourceNotFoundException", f"Event bus {name} does not exist.")


def too_many() -> ApiError:
    """The refusal of a request that exceeds a quota."""
    return ApiError("LimitExceededException", "The requested resource exceeds the maximum number allowed.")


def read_pattern(text: str, *, is_new: bool = False) -> Pattern:
    """Compile an event pattern; a new one is refused if its wildcards are too complex.

    Raises: ApiError (`InvalidEventPatternException`).
    """
    try:
        return pattern_of(text, leaves=False, is_new=is_new)
    except BadPattern as problem:
        reason = f"Event pattern is not valid. Reason: {problem}"
        raise ApiError("InvalidEventPatternException", reason) from None


def sources_of(rule: Rule) -> Iterable[str | None]:
    """The sources that the pattern of a rule names; None stands for any source."""
    named = orjson.loads(rule.pattern or "{}").get("source")
    if isinstance(named, list) and all(isinstance(one, str) for one in named):
        return dict.fromkeys(named)
    return (None,)


def check_rule(rule: Rule) -> None:
    """Check a rule. Raises: ApiError."""
    if rule.pattern is None and rule.expression is None:
        raise invalid("Parameter(s) EventPattern or ScheduleExpression must be specified.")
    if rule.pattern is not None:
        read_pattern(rule.pattern, is_new=True)
    if rule.expression is None:
        return
    if rule.bus != DEFAULT_BUS:
        raise invalid("ScheduleExpression is supported only on the default event bus.")
    try:
        read_given(rule.expression, rules=True)
    except ExpressionError:
        raise invalid("Parameter ScheduleExpression is not valid.") from None


_REFUSED: Final = (
    "KinesisParameters", "RunCommandParameters", "RedshiftDataParameters",
    "SageMakerPipelineParameters", "AppSyncParameters",
)  # fmt: skip


def check_target(target: JsonMapping, config: Config) -> None:
    """Check a target of a rule. Raises: ApiError (`ValidationException`)."""
    arn: str = target["Arn"]
    parts = arn.split(":", 5)
    if len(parts) < 6 or parts[0] != "arn" or not parts[5]:
        raise invalid(f"Parameter {arn} is not valid. Reason: Provided Arn is not in correct format.")
    ways = [name for name in ("Input", "InputPath", "InputTransformer") if target.get(name) is not None]
    if len(ways) > 1:
        raise invalid(f"Only one of Input, InputPath, or InputTransformer must be provided for target {target['Id']}.")
    if target.get("Input") is not None:
        try:
            orjson.loads(target["Input"])
        except orjson.JSONDecodeError:
            raise invalid(f"JSON syntax error in input for target {target['Id']}.") from None
    group = (target.get("SqsParameters") or {}).get("MessageGroupId")
    if parts[2] == "sqs" and parts[5].endswith(".fifo") and not group:
        raise invalid(f"Parameter(s) SqsParameters must be specified for target: {target['Id']}.")
    # The texts below are Statewright's own.
    for name in _REFUSED:
        if target.get(name):
            raise invalid(f"This version of Statewright has no targets with {name}.")
    try:
        call_of({**target, "EventBridgeParameters": {"Source": "s", "DetailType": "t"}}, "{}", "check")
    except Unsupported as problem:
        raise invalid(f"Parameter {arn} is not valid. Reason: {problem}.") from None
    if UNIVERSAL.fullmatch(arn):
        raise invalid(f"Parameter {arn} is not valid. Reason: rules have no universal targets.")
    if parts[2] == "events" and parts[4] != config.account:
        raise invalid(
            f"Parameter {arn} is not valid. Reason: buses are targets in their own account, {config.account}."
        )
    if config.is_elsewhere(arn):
        raise invalid(
            f"Parameter {arn} is not valid. Reason: this version of Statewright has targets in the rule's own region, "
            f"{config.here}, only."
        )
    _check_template(target)


def _check_template(target: JsonMapping) -> None:
    """Check that a template has no undefined variables. Raises: ApiError (`ValidationException`)."""
    transformer = target.get("InputTransformer") or {}
    known = {*(transformer.get("InputPathsMap") or ()), *PREDEFINED}
    for name in variables_of(transformer.get("InputTemplate") or ""):
        if name not in known:
            raise invalid(f"InputTemplate for target {target['Id']} contains invalid placeholder {name}.")
    for name in transformer.get("InputPathsMap") or ():
        if name in PREDEFINED:
            raise invalid(f"InputPathsMap for target {target['Id']} defines <{name}>, which is reserved.")
