"""Mocked task results: rules that select calls, and the answers they give.

Owns the data model, which rule answers a call, and what to say when none does. The file formats are in `script.py`
(ours) and `mock_config.py` (the published one); carrying an answer out (delays, heartbeats, task tokens) is the
caller's business.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Final, Literal

from statewright.asl.findings import closest, did_you_mean
from statewright.asl.program import MapDef, Program
from statewright.asl.resources import Resource, parse_resource
from statewright.errors import DefinitionError, Diagnostic
from statewright.payload import Json, dump_json


@dataclass(frozen=True, slots=True)
class TaskCall:
    """One call that a task makes.

    `resource` is the Task's `Resource`; `parameters` what it sends. `iteration` holds the indexes of the Map items
    around the state, outermost first; `attempt` counts retries from 0, and `visit` earlier entries into the state.
    """

    state: str
    resource: str
    parameters: Json = None
    iteration: tuple[int, ...] = ()
    attempt: int = 0
    visit: int = 0
    now_ms: int = 0


@dataclass(frozen=True, slots=True)
class Returned:
    """The task succeeds with the integration's whole result."""

    value: Json


@dataclass(frozen=True, slots=True)
class Threw:
    """The task fails, as Retry and Catch see it."""

    error: str | None
    cause: str | None


@dataclass(frozen=True, slots=True)
class Hung:
    """The task never answers; only a timeout, a stop or a failing sibling ends it."""


Outcome = Returned | Threw | Hung


@dataclass(frozen=True, slots=True)
class Answer:
    """The course of one call. Times count in milliseconds from its start.

    `submitted` is what a `.sync` or `.waitForTaskToken` call gets from the service at once; None leaves it to the
    caller. `heartbeats` ascend and come before the outcome.
    """

    delay_ms: int
    outcome: Outcome
    submitted: Json = None
    heartbeats: tuple[int, ...] = ()


Compute = Callable[[TaskCall], Outcome]
"""An outcome that depends on the call. Raises: DefinitionError when the mock itself is wrong."""


@dataclass(frozen=True, slots=True)
class Result:
    """One item of a rule's sequence, given `times` times. An `outcome` of None leaves the call unanswered."""

    outcome: Outcome | Compute | None
    times: int = 1
    delay_ms: int = 0
    submitted: Json = None
    heartbeats: tuple[int, ...] = ()

    def answer(self, call: TaskCall) -> Answer | None:
        """The effect of this result on a call."""
        outcome = self.outcome(call) if callable(self.outcome) else self.outcome
        return None if outcome is None else Answer(self.delay_ms, outcome, self.submitted, self.heartbeats)


@dataclass(frozen=True, slots=True)
class Spans:
    """Which numbers are meant: inclusive ranges, the last of which may be open. `text` is how it was written."""

    ranges: tuple[tuple[int, int | None], ...]
    text: str

    def __contains__(self, number: int) -> bool:
        return any(low <= number and (high is None or number <= high) for low, high in self.ranges)


Ending = Literal["repeat", "cycle", "stop"]
"""The continuation of a sequence: its last result again, the whole sequence again, or a call without an answer."""


@dataclass(frozen=True)
class Rule:
    """Answers for the calls it selects: by state name or by resource (either may hold `*`), and by numbers.

    `iterations` are compared with the innermost Map indexes of a call, one level each; None at a level means any.
    `place` is the line and column of the rule in its file, 0 when it has none.
    """

    results: Sequence[Result]
    state: str | None = None
    resource: str | None = None
    iterations: tuple[Spans | None, ...] | None = None
    attempts: Spans | None = None
    visits: Spans | None = None
    ending: Ending = "repeat"
    place: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        if not self.results or (self.state is None) == (self.resource is None):
            raise ValueError("a rule needs results, and either a state or a resource")

    @cached_property
    def target(self) -> str:
        """The state or the resource, as a mock file writes it."""
        return self.state if self.state is not None else f"resource:{self.resource}"

    @cached_property
    def label(self) -> str:
        """The rule in words: `Notify (iteration 3, attempt 0-1)`."""
        conditions = []
        if self.iterations is not None:
            conditions.append(
                "iteration " + "/".join("*" if level is None else level.text for level in self.iterations)
            )
        if self.attempts is not None:
            conditions.append(f"attempt {self.attempts.text}")
        if self.visits is not None:
            conditions.append(f"visit {self.visits.text}")
        return f"{self.target} ({', '.join(conditions)})" if conditions else self.target

    @cached_property
    def ends(self) -> list[int]:
        """Per result, the number of calls that are answered once it is used up."""
        return list(accumulate(result.times for result in self.results))

    def rank(self, call: TaskCall, names: Sequence[str]) -> tuple[int, int] | None:
        """How closely the rule's target fits a call, lowest first; None when it does not.

        `names` are the names of the call's resource, the most exact first.
        """
        if self.state is not None:
            if self.state == call.state:
                return 0, 0
            return (1, 0) if "*" in self.state and _matches(self.state, call.state) else None
        pattern = self.resource or ""
        if pattern in names:
            return 2, names.index(pattern)
        return (3, 0) if "*" in pattern and any(_matches(pattern, name) for name in names) else None

    def covers(self, call: TaskCall) -> bool:
        """True if the numbers of a call are among those that the rule is for."""
        if self.attempts is not None and call.attempt not in self.attempts:
            return False
        if self.visits is not None and call.visit not in self.visits:
            return False
        levels = self.iterations
        if levels is None:
            return True
        if len(call.iteration) < len(levels):
            return False
        indexes = call.iteration[-len(levels) :]
        return all(level is None or index in level for level, index in zip(levels, indexes, strict=True))

    def result(self, number: int) -> Result | None:
        """The result for the rule's call `number`, from 0; None when the sequence has ended for good."""
        ends = self.ends
        if number >= ends[-1]:
            if self.ending == "repeat":
                return self.results[-1]
            if self.ending == "stop":
                return None
            number %= ends[-1]
        return self.results[bisect_right(ends, number)]


@dataclass(frozen=True)
class Script:
    """Rules in the order of their file. Immutable: a driver calls `start` and keeps the counts there.

    A mock for the state's name goes before one for its resource, a name before a pattern, a function before the action
    that invokes it; then the order of the file decides. `remedy` ends the hint for calls that no rule is for; None
    means an example of our own format.
    """

    rules: tuple[Rule, ...] = ()
    remedy: str | None = field(default=None, kw_only=True)

    def start(self) -> ScriptRun:
        """Begin to answer the calls of one execution."""
        return ScriptRun(self)

    def unknown_states(self, states: Iterable[str]) -> list[Diagnostic]:
        """Warnings for rules whose state is none of `states`, the Task states of the machine that is to run."""
        known = list(states)
        found = {}
        for rule in self.rules:
            name = rule.state
            if name is None or name in found or any(_matches(name, state) for state in known):
                continue
            hint = did_you_mean(name, known)
            if hint is None and ":" in name:
                hint = f"for a resource write resource:{name}"
            line, column = rule.place
            message = f"there is no Task state '{name}' to mock"
            found[name] = Diagnostic("MOCK_UNKNOWN_STATE", message, None, "WARNING", line, column, hint)
        return list(found.values())


class ScriptRun:
    """A script at work in one execution: each rule counts the calls that it has answered."""

    __slots__ = ("_answered", "_applicable", "script")

    def __init__(self, script: Script) -> None:
        self.script = script
        self._answered = [0] * len(script.rules)
        self._applicable: dict[tuple[str, str, str], tuple[int, ...]] = {}

    def answer(self, call: TaskCall) -> Answer | None:
        """The answer of the first rule that is for the call; None when there is none, or its sequence has stopped.

        Raises: DefinitionError when the mock itself fails, as an expression can.
        """
        index = self._rule_for(call)
        if index is None:
            return None
        result = self.script.rules[index].result(self._answered[index])
        answer = None if result is None else result.answer(call)
        if answer is not None:
            self._answered[index] += 1
        return answer

    def unused(self) -> tuple[Rule, ...]:
        """The rules that have answered no call yet."""
        return tuple(rule for rule, count in zip(self.script.rules, self._answered, strict=True) if count == 0)

    def hint(self, call: TaskCall) -> str:
        """A sentence for a call that got no answer: what is missing, and how to add it."""
        index = self._rule_for(call)
        if index is not None:
            count = self._answered[index]
            given = {0: "no answer", 1: "1 answer"}.get(count, f"{count} answers")
            label = self.script.rules[index].label
            return f"No mock for {_described(call)}: the one for {label} has given {given} and has none for this call."
        return f"No mock for {_described(call)}: {self._remedy(call)}"

    def _remedy(self, call: TaskCall) -> str:
        rules = self.script.rules
        partial = [rules[index] for index in self._candidates(call)]
        if partial:
            labels = ", ".join(rule.label for rule in partial[:3]) + (", ..." if len(partial) > 3 else "")
            return f"there is only {labels}; a `default` beside it would cover the rest."
        near = closest(call.state, [rule.state for rule in rules if rule.state is not None])
        if near is not None:
            return f"there is one for '{near}'; is it misspelt?"
        resources = {rule.resource for rule in rules if rule.resource is not None}
        for name in resource_names(call):
            misspelt = closest(name, resources, 0.85)
            if misspelt is not None:
                return f"there is one for 'resource:{misspelt}'; is it misspelt?"
        if self.script.remedy is not None:
            return self.script.remedy
        key = f"state:{call.state}" if call.state.startswith(("resource:", "state:", "arn:")) else call.state
        if _PLAIN_KEY.fullmatch(key) is None or key.casefold() in ("true", "false", "null"):
            key = dump_json(key)
        resource = parse_resource(call.resource)
        result = "returns_payload: {}" if resource.kind == "lambda" or _invokes_function(resource) else "returns: {}"
        return f"add one under `mocks`, for example `{key}: {{{result}}}`."

    def _rule_for(self, call: TaskCall) -> int | None:
        rules = self.script.rules
        for index in self._candidates(call):
            if rules[index].covers(call):
                return index
        return None

    def _candidates(self, call: TaskCall) -> tuple[int, ...]:
        parameters = call.parameters
        function = parameters.get("FunctionName") if isinstance(parameters, dict) else None
        key = (call.state, call.resource, function if isinstance(function, str) else "")
        found = self._applicable.get(key)
        if found is None:
            names = resource_names(call)
            ranked = []
            for index, rule in enumerate(self.script.rules):
                rank = rule.rank(call, names)
                if rank is not None:
                    ranked.append((rank, index))
            found = self._applicable[key] = tuple(index for _, index in sorted(ranked))
        return found


def mockable_names(program: Program) -> list[str]:
    """The names that a mock may use in a machine: its tasks, the Maps that read items, and their writers."""
    names = []
    for scope in program.scopes:
        for state in scope.states.values():
            if state.type == "Task":
                names.append(state.name)
            elif isinstance(state.body, MapDef) and state.body.distributed is not None:
                names += [state.name] if state.body.distributed.reader is not None else []
                names += [f"{state.name}/ResultWriter"] if state.body.distributed.writer is not None else []
    return names


def resource_names(call: TaskCall) -> tuple[str, ...]:
    """The names that a mock may use for the resource of a call, the most exact first.

    A function goes by `lambda:Name` whether its ARN is the `Resource` or the `FunctionName` of `lambda:invoke`.
    """
    resource = parse_resource(call.resource)
    parameters = call.parameters
    names: list[str] = []
    if resource.kind == "lambda":
        names += _function_names(call.resource)
    elif (
        _invokes_function(resource) and isinstance(parameters, dict) and isinstance(parameters.get("FunctionName"), str)
    ):
        names += _function_names(parameters["FunctionName"])
    names += [call.resource, resource.short_name]
    if resource.pattern != "request" and resource.kind == "task":
        names.append(f"{resource.resource_type}:{resource.action.partition('.')[0]}")
    return tuple(dict.fromkeys(names))


def payload_result(value: Json, call: TaskCall) -> Json:
    """The whole result of a task whose function answered `value`.

    Raises: DefinitionError when the task calls no function.
    Source: observed (the members); the request id is made up, and the headers that carry the time are left out.
    """
    resource = parse_resource(call.resource)
    if resource.kind == "lambda":
        return value
    if not _invokes_function(resource):
        raise mock_failure(call, "returns_payload is for functions, and this task calls none: use `returns`")
    if resource.waits_for_token:
        # The answer comes with the token and is the result as it is.
        return value
    text = dump_json(value)
    if resource.resource_type != "lambda":
        return {"ExecutedVersion": "$LATEST", "Payload": text, "StatusCode": 200}
    headers = {
        "Connection": "keep-alive",
        "Content-Length": str(len(text.encode())),
        "Content-Type": "application/json",
        "X-Amz-Executed-Version": "$LATEST",
        "x-amzn-Remapped-Content-Length": "0",
        "x-amzn-RequestId": _REQUEST_ID,
    }
    return {
        "ExecutedVersion": "$LATEST",
        "Payload": value,
        "SdkHttpMetadata": {
            "AllHttpHeaders": {name: [header] for name, header in headers.items()},
            "HttpHeaders": headers,
            "HttpStatusCode": 200,
        },
        "SdkResponseMetadata": {"RequestId": _REQUEST_ID},
        "StatusCode": 200,
    }


def mock_failure(call: TaskCall, message: str, place: tuple[int, int] = (0, 0)) -> DefinitionError:
    """The error that a mock itself is wrong, found while it answered a call."""
    line, column = place
    return DefinitionError([Diagnostic("MOCK_FAILED", f"{message}; in {_described(call)}", line=line, column=column)])


_PLAIN_KEY: Final = re.compile(r"[A-Za-z](?:[\w -]*\w)?")
"""State names that YAML takes without quotes."""

_REQUEST_ID: Final = "00000000-0000-4000-8000-000000000000"


def _described(call: TaskCall) -> str:
    numbers = [parse_resource(call.resource).short_name]
    if call.iteration:
        numbers.append("iteration " + "/".join(map(str, call.iteration)))
    if call.attempt:
        numbers.append(f"attempt {call.attempt}")
    if call.visit:
        numbers.append(f"visit {call.visit}")
    return f"state '{call.state}' ({', '.join(numbers)})"


def _invokes_function(resource: Resource) -> bool:
    action = resource.action.partition(".")[0]
    return resource.kind == "task" and action == "invoke" and resource.resource_type in ("lambda", "aws-sdk:lambda")


def _function_names(function: str) -> list[str]:
    """The names of a function given by ARN, by part of one, or by name; each with or without a qualifier."""
    name, _, qualifier = function.rsplit("function:", 1)[-1].partition(":")
    names = [function] if function.startswith("arn:") else []
    if qualifier:
        names.append(f"lambda:{name}:{qualifier}")
    return [*names, f"lambda:{name}"]


def _matches(pattern: str, text: str) -> bool:
    """True if a pattern fits the whole text; `*` stands for any characters. Linear for every pattern."""
    first, *rest = pattern.split("*")
    if not rest:
        return pattern == text
    *middle, last = rest
    if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in middle:
        found = text.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True
