"""Summaries of definition fields: Choice rules, Retry, Catch, the work of a state.

Owns every sentence that a drawing shows. Reads raw definition values, which may be invalid in any way: an unknown part
is shown as `?`, nothing here raises. Leaves checks to `asl.validate`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TypeGuard

from statewright.payload import Json, JsonMapping

LONGEST = 240
"""Characters of a summary that are kept; a drawing shows fewer still and puts these in a tooltip."""
DEEPEST_RULE = 4
MOST_OPERANDS = 5
UNPUBLISHED = ":$LATEST"
"""The qualifier that the service's editor writes for a function without a version; it carries no information."""

_COMPARISONS = {
    "Equals": "=",
    "LessThan": "<",
    "GreaterThan": ">",
    "LessThanEquals": "≤",
    "GreaterThanEquals": "≥",
}
_TYPE_TESTS = {
    "IsNull": "null",
    "IsPresent": "present",
    "IsNumeric": "a number",
    "IsString": "a string",
    "IsBoolean": "a boolean",
    "IsTimestamp": "a timestamp",
}
_COMPARISON = re.compile(
    r"(?:String|Numeric|Boolean|Timestamp)(Equals|LessThan|GreaterThan|LessThanEquals|GreaterThanEquals)(Path)?"
)
_BLANKS = re.compile(r"\s+")
_UNITS = ((86_400, "day"), (3_600, "h"), (60, "min"))


def rule_words(rule: Json) -> str:
    """The condition of a Choice rule in words: `$.total > 100 and $.vip is present`."""
    if not isinstance(rule, Mapping):
        return "?"
    if "Condition" in rule:
        condition = rule["Condition"]
        return _clip(_expression(condition) if isinstance(condition, str) else _value(condition))
    return _clip(_predicate(rule, 0, nested=False))


def _predicate(rule: Json, depth: int, *, nested: bool) -> str:
    """One rule in words; `nested` asks for brackets round anything with its own `and` or `or`."""
    if not isinstance(rule, Mapping):
        return "?"
    if depth > DEEPEST_RULE:
        return "…"
    for field, word in (("And", " and "), ("Or", " or ")):
        operands = rule.get(field)
        if isinstance(operands, list):
            parts = [_predicate(part, depth + 1, nested=len(operands) > 1) for part in operands[:MOST_OPERANDS]]
            if len(operands) > MOST_OPERANDS:
                parts.append(f"… {len(operands) - MOST_OPERANDS} more")
            joined = word.join(parts) or "?"
            return f"({joined})" if nested and len(parts) > 1 else joined
    if "Not" in rule:
        return _negation(rule["Not"], depth)
    return _comparison(rule, negated=False)


def _negation(rule: Json, depth: int) -> str:
    if isinstance(rule, Mapping) and not {"And", "Or", "Not"} & rule.keys():
        flipped = _comparison(rule, negated=True)
        if flipped:
            return flipped
    return "not " + _predicate(rule, depth + 1, nested=True)


def _comparison(rule: JsonMapping, *, negated: bool) -> str:
    """`$.a ≥ 3`; a negation only if it reads well without brackets, else an empty text."""
    variable = rule.get("Variable")
    left = _BLANKS.sub(" ", variable) if isinstance(variable, str) else "?"
    for field, operand in rule.items():
        if field in _TYPE_TESTS:
            positive = (operand is not False) != negated
            if field == "IsPresent":
                return f"{left} is {'present' if positive else 'absent'}"
            return f"{left} is {'' if positive else 'not '}{_TYPE_TESTS[field]}"
        if field == "StringMatches":
            return f"{left} {'does not match' if negated else 'matches'} {_value(operand)}"
        match = _COMPARISON.fullmatch(field)
        if match:
            sign = _COMPARISONS[match[1]]
            if negated:
                if sign != "=":
                    return ""
                sign = "≠"
            bare = match[2] or field.startswith("Timestamp")
            return f"{left} {sign} {operand if bare and isinstance(operand, str) else _value(operand)}"
    return "" if negated else (f"{left} ?" if left != "?" else "?")


def error_words(catcher: Json) -> str:
    """The error names a catcher or retrier matches: `States.Timeout, Declined`."""
    names = catcher.get("ErrorEquals") if isinstance(catcher, Mapping) else None
    if not isinstance(names, list) or not names:
        return "?"
    said = [name if isinstance(name, str) else "?" for name in names]
    return _clip(", ".join(said[:3]) + (f" +{len(said) - 3}" if len(said) > 3 else ""))


def retry_words(retriers: Json) -> Iterator[str]:
    """One line per retrier: `3 times (2 s, 4 s, 8 s) on States.Timeout`."""
    for retrier in retriers if isinstance(retriers, list) else ():
        if isinstance(retrier, Mapping):
            yield _clip(f"{_attempts(retrier)} on {error_words(retrier)}")


def _attempts(retrier: JsonMapping) -> str:
    attempts = retrier.get("MaxAttempts", 3)
    if attempts == 0:
        return "never"
    count = "once" if attempts == 1 else f"{_value(attempts)} times"
    interval, rate = retrier.get("IntervalSeconds", 1), retrier.get("BackoffRate", 2.0)
    if not (_is_number(attempts) and _is_number(interval) and _is_number(rate)) or rate < 1 or interval < 0:
        return count
    limit = retrier.get("MaxDelaySeconds")
    delays = []
    for turn in range(int(min(attempts, 3))):
        delay = min(float(interval), 1e9) * min(float(rate), 1e9) ** turn
        delays.append(min(delay, limit) if _is_number(limit) else delay)
    if not delays:
        return count
    if len(set(delays)) == 1:
        return f"{count} ({seconds_words(delays[0])}{' each' if attempts > 1 else ''})"
    return f"{count} ({', '.join(seconds_words(delay) for delay in delays)}{', …' if attempts > 3 else ''})"


def seconds_words(seconds: float) -> str:
    """A duration in its largest whole unit: 90 is `90 s`, 300 is `5 min`."""
    for size, unit in _UNITS:
        if seconds >= size and seconds % size == 0:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if unit == 'day' and count > 1 else ''}"
    return f"{seconds:g} s" if seconds < 1e6 else f"{int(seconds)} s"


def detail_words(state: JsonMapping) -> str:
    """A state's work in a few words, beside its name and type: the resource, the delay, the error. May be empty."""
    kind = state.get("Type")
    describe = _DETAILS.get(kind) if isinstance(kind, str) else None
    return _clip(describe(state)) if describe else ""


def _task_detail(state: JsonMapping) -> str:
    resource = state.get("Resource")
    if not isinstance(resource, str):
        return ""
    # arn:partition:service:region:account:rest
    parts = resource.split(":", 5)
    if len(parts) < 6 or parts[0] != "arn":
        return _BLANKS.sub(" ", resource)
    service, rest = parts[2], parts[5]
    if service == "states" and rest.startswith("activity:"):
        return "activity " + rest.removeprefix("activity:")
    if service == "states":
        action = rest.removeprefix("aws-sdk:")
        function = _function_name(state) if action.startswith("lambda:invoke") else ""
        return f"{action} {function}".rstrip()
    if service == "lambda":
        return "lambda " + rest.removeprefix("function:").removesuffix(UNPUBLISHED)
    return f"{service} {rest}"


def _function_name(state: JsonMapping) -> str:
    for field in ("Parameters", "Arguments"):
        arguments = state.get(field)
        name = arguments.get("FunctionName") if isinstance(arguments, Mapping) else None
        if isinstance(name, str):
            tail = name.split(":function:", 1)[-1] if name.startswith("arn:") else name
            return _expression(tail.removesuffix(UNPUBLISHED))
    return ""


def _wait_detail(state: JsonMapping) -> str:
    seconds = state.get("Seconds")
    if _is_number(seconds):
        return seconds_words(seconds)
    if isinstance(seconds, str):
        return f"{_expression(seconds)} seconds"
    if isinstance(state.get("SecondsPath"), str):
        return f"{state['SecondsPath']} seconds"
    for field in ("Timestamp", "TimestampPath"):
        if isinstance(state.get(field), str):
            return f"until {_expression(state[field])}"
    return ""


def _fail_detail(state: JsonMapping) -> str:
    error = state.get("Error", state.get("ErrorPath"))
    return _expression(error) if isinstance(error, str) else ""


def _map_detail(state: JsonMapping) -> str:
    parts = []
    processor = state.get("ItemProcessor")
    config = processor.get("ProcessorConfig") if isinstance(processor, Mapping) else None
    if isinstance(config, Mapping) and config.get("Mode") == "DISTRIBUTED":
        parts.append("distributed")
    source = state.get("ItemsPath", state.get("Items"))
    reader = state.get("ItemReader")
    if isinstance(source, str):
        parts.append(f"each of {_expression(source)}")
    elif isinstance(source, list):
        parts.append(f"each of {len(source)} items")
    elif isinstance(reader, Mapping) and isinstance(reader.get("Resource"), str):
        parts.append(f"items from {reader['Resource'].rsplit(':::', 1)[-1]}")
    else:
        parts.append("each item")
    limit = state.get("MaxConcurrency")
    if limit == 1:
        parts.append("one at a time")
    elif _is_number(limit) and limit:
        parts.append(f"{_value(limit)} at once")
    return ", ".join(parts)


def _parallel_detail(state: JsonMapping) -> str:
    branches = state.get("Branches")
    count = len(branches) if isinstance(branches, list) else 0
    return f"{count} branch{'' if count == 1 else 'es'}"


_DETAILS = {
    "Task": _task_detail,
    "Wait": _wait_detail,
    "Fail": _fail_detail,
    "Map": _map_detail,
    "Parallel": _parallel_detail,
}


def _expression(text: str) -> str:
    """A JSONata field without its delimiters; blanks and line ends become single blanks."""
    stripped = text.strip()
    if stripped.startswith("{%") and stripped.endswith("%}") and len(stripped) >= 4:
        stripped = stripped[2:-2]
    return _BLANKS.sub(" ", stripped[: 4 * LONGEST]).strip()


def _value(value: Json) -> str:
    """A JSON value as JSON; arrays and objects only in short, since they have no limit."""
    if isinstance(value, str):
        return json.dumps(value[:LONGEST], ensure_ascii=False)
    if isinstance(value, (list, Mapping)):
        return "[…]" if isinstance(value, list) else "{…}"
    try:
        return json.dumps(value)
    except (TypeError, ValueError):  # a huge integer, or a value that is not JSON at all
        return "?"


def _is_number(value: Json) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -1e12 < value < 1e12


def _clip(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
