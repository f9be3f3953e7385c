"""`statewright:poll`: one Task that polls a resource, with back-off, until an answer satisfies a condition.

The calls are those that a Task of its Resource would make; history shows one Task for all of them. Its deadline
is the state's TimeoutSeconds. Between two calls only a timer is held. After a restart the first call is immediate, and
MaxAttempts counts from zero.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from statewright.asl.checks.resource_kinds import is_task_resource
from statewright.asl.choice_rules import compile_rule
from statewright.asl.resources import Resource, parse_resource
from statewright.clock import Clock, Timer
from statewright.engine.dispatch import Failed, Later, ScheduledCall, Succeeded, TaskResult
from statewright.engine.retrying import Retry
from statewright.errors import ExecutionFailure, OwnershipLost, Unavailable, shortage
from statewright.payload import Json, JsonMapping, JsonObject, dump_json
from statewright.query.jsonata import JsonataError, JsonataSyntaxError, compile_expression
from statewright.query.scope import Scope

MEMBERS: Final = (
    "Resource", "Parameters", "Until", "IntervalSeconds", "BackoffRate", "MaxIntervalSeconds", "MaxAttempts",
)  # fmt: skip
SHORTEST_SECONDS: Final = 0.1
_LONGEST_SECONDS: Final = 99_999_999.0
"""As in a Retry."""
EXHAUSTED: Final = "Statewright.MaxAttemptsExceeded"
BAD: Final = "Statewright.InvalidParameters"
UNTIL_FAILED: Final = "Statewright.UntilFailed"
_FAULT: Final = "Statewright.InternalError"
_SHOWN: Final = 1_000
"""Characters of a value in a failure."""

log = logging.getLogger("statewright.integrations")

D = TypeVar("D")

LONGEST_UNTIL: Final = 10_000
"""Characters of a condition. Ours: it is compiled on the event loop."""

Until = str | JsonObject
"""A condition, checked: a JSONata text, or a Choice rule."""
Elsewhere = Callable[[Callable[[Until, Json, int], "bool | Failed"], Until, Json, int], Awaitable["bool | Failed"]]
"""Calls a function with its arguments, in another process if it is too heavy for this one."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The checked parameters of a poll. Seconds may have fractions."""

    resource: Resource
    parameters: Json
    until: Until
    interval_seconds: float
    backoff_rate: float
    longest_seconds: float | None
    attempts: int | None

    def pause_ms(self, asked: int) -> int:
        """The pause after so many calls."""
        longest = min(self.longest_seconds if self.longest_seconds is not None else 86_400.0, _LONGEST_SECONDS)
        try:
            seconds = self.interval_seconds * self.backoff_rate ** (asked - 1)
        except OverflowError:
            seconds = longest
        return round(1000 * min(seconds, longest))


def read_plan(given: Json) -> Plan:
    """Check the parameters of a poll. Raises: ValueError, with a text for the author of the machine."""
    if not isinstance(given, dict):
        raise ValueError("the parameters must be an object")
    foreign = [name for name in given if name not in MEMBERS]
    if foreign:
        raise ValueError(f"'{foreign[0]}' is not a parameter; the parameters are {', '.join(MEMBERS)}")
    resource = given.get("Resource")
    if not isinstance(resource, str) or not is_task_resource(resource):
        raise ValueError(f"Resource is the ARN of what is asked, as a Task has it, not {resource!r}")
    parsed = parse_resource(resource)
    if parsed.pattern != "request" or parsed.resource_type == "statewright":
        raise ValueError(f"{parsed.short_name} cannot be polled: only requests that answer at once can")
    attempts = given.get("MaxAttempts")
    if attempts is not None and (not isinstance(attempts, int) or isinstance(attempts, bool) or attempts < 1):
        raise ValueError(f"MaxAttempts is a whole number of at least 1, not {attempts!r}")
    return Plan(
        parsed,
        given.get("Parameters", {}),
        read_until(given.get("Until")),
        _number(given, "IntervalSeconds", 1.0, SHORTEST_SECONDS),
        _number(given, "BackoffRate", 1.0, 1.0),
        _number(given, "MaxIntervalSeconds", None, SHORTEST_SECONDS),
        attempts,
    )


def _number(given: JsonMapping, name: str, default: D, least: float) -> float | D:
    value = given.get(name, default)
    if value is default:
        return default
    if not isinstance(value, int | float) or isinstance(value, bool) or not value >= least:
        raise ValueError(f"{name} is a number of at least {least:g}, not {value!r}")
    return float(value)


def read_until(given: Json) -> Until:
    """The condition: a JSONata text over the answer, `$states.result`, or a Choice rule over it.

    Raises: ValueError.
    """
    if isinstance(given, dict):
        if len(dump_json(given)) > LONGEST_UNTIL:
            raise ValueError(f"Until has more than {LONGEST_UNTIL} characters")
        compile_rule(given)
        return given
    if not isinstance(given, str) or not given.strip():
        raise ValueError(
            "Until is a Choice rule, or a JSONata text on the answer without delimiters, as $states.result.Status = "
            f"'DONE', not {given!r}"
        )
    text = given.strip()
    if text.startswith("{%") and text.endswith("%}"):
        text = text[2:-2]
    if len(text) > LONGEST_UNTIL:
        raise ValueError(f"Until has more than {LONGEST_UNTIL} characters")
    try:
        compile_expression(text)
    except JsonataSyntaxError as problem:
        raise ValueError(f"Until is not JSONata: {problem}") from None
    return text


def satisfies(until: Until, answer: Json, now_ms: int) -> bool | Failed:
    """True if an answer satisfies the condition at an instant; the failure of a condition that cannot tell."""
    scope = Scope(answer, now_ms=now_ms, result=answer)
    try:
        if not isinstance(until, str):
            return compile_rule(until)(scope)
        value = compile_expression(until).evaluate(scope)
    except ExecutionFailure as failure:
        return Failed(failure.error, failure.cause)
    except JsonataError as problem:
        return Failed(UNTIL_FAILED, f"Until could not be evaluated: {problem}")
    if not isinstance(value, bool):
        shown = repr(value)
        shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "..."
        return Failed(UNTIL_FAILED, f"Until yields {shown}, which is neither true nor false")
    return value


@dataclass(slots=True, eq=False)
class _Poll:
    task: ScheduledCall
    plan: Plan
    asked: int = 0
    timer: Timer | None = None
    asking: asyncio.Task[None] | None = None


class Polls:
    """The polls under way. `ask` makes one call; `settle` reports the result of a poll."""

    def __init__(
        self,
        clock: Clock,
        ask: Callable[[ScheduledCall], Awaitable[TaskResult | Later]],
        settle: Callable[[ScheduledCall, TaskResult], bool],
        elsewhere: Elsewhere,
    ) -> None:
        self._elsewhere = elsewhere
        self._clock = clock
        self._retry = Retry(clock)
        self._ask = ask
        self._settle = settle
        self._polls: dict[tuple[str, str], _Poll] = {}

    def begin(self, task: ScheduledCall) -> Later | Failed:
        """Start to poll; the result is reported by `settle`."""
        try:
            plan = read_plan(task.parameters)
        except (ValueError, ExecutionFailure) as problem:
            return Failed(BAD, f"{task.resource.arn}: {problem}")
        poll = self._polls[_name(task)] = _Poll(task, plan)
        self._call(poll)
        return Later()

    def cancel(self, task: ScheduledCall) -> None:
        """Stop polling for a task."""
        self._forget(self._polls.get(_name(task)))

    async def close(self) -> None:
        """Stop all polls; they begin again after the next start."""
        polls = list(self._polls.values())
        for poll in polls:
            self._forget(poll)
        await asyncio.gather(*(poll.asking for poll in polls if poll.asking is not None), return_exceptions=True)

    def _forget(self, poll: _Poll | None) -> None:
        if poll is None:
            return
        self._polls.pop(_name(poll.task), None)
        if poll.timer is not None:
            poll.timer.cancel()
        if poll.asking is not None:
            poll.asking.cancel()

    def _call(self, poll: _Poll) -> None:
        poll.timer = None
        poll.asking = asyncio.get_running_loop().create_task(self._poll_once(poll))

    async def _poll_once(self, poll: _Poll) -> None:
        plan, task = poll.plan, poll.task
        poll.asked += 1
        call = replace(
            task, resource=plan.resource, parameters=plan.parameters, token=None, outbox=0,
            idempotency_key=f"{task.idempotency_key}-{poll.asked}",
        )  # fmt: skip
        try:
            end = await self._outcome(poll, await self._retry(self._ask, call))
        except (Unavailable, OwnershipLost):
            # The engine stops, and the poll begins again after the next start; or another process has the store.
            return
        poll.asking = None
        if self._polls.get(_name(task)) is not poll:
            return
        if end is not None:
            del self._polls[_name(task)]
            self._settle(task, end)
            return
        due_ms = self._clock.now_ms() + plan.pause_ms(poll.asked)
        poll.timer = self._clock.call_at(due_ms, lambda: self._call(poll))

    async def _outcome(self, poll: _Poll, result: TaskResult | Later) -> TaskResult | None:
        """The task's result after an answer; `None` to continue."""
        if isinstance(result, Failed):
            return result
        assert isinstance(result, Succeeded), "a resource that can be polled answers immediately"
        try:
            satisfied = await self._elsewhere(satisfies, poll.plan.until, result.output, self._clock.now_ms())
        except Unavailable:
            raise
        except Exception as problem:
            lacking = shortage(problem)
            if lacking is not None:
                raise lacking from problem
            log.exception("a poll of %s failed because of a bug in Statewright", poll.task.execution_arn)
            return Failed(_FAULT, f"{poll.task.resource.arn} failed because of a bug in Statewright: {problem!r}")
        if satisfied is True:
            return result
        if isinstance(satisfied, Failed):
            return satisfied
        if poll.plan.attempts is not None and poll.asked >= poll.plan.attempts:
            return Failed(EXHAUSTED, f"After {poll.asked} attempts the answer does not satisfy Until.")
        return None


def _name(task: ScheduledCall) -> tuple[str, str]:
    return task.execution_arn, task.idempotency_key
