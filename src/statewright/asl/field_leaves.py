"""Leaves for fields that are neither templates nor plain paths: times, counts, items, error texts.

Each function takes the part of the definition that holds the field and returns an `Evaluate`, or `None` where the
field is absent. The causes are the service's own (observed, unless a comment says otherwise).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Final

from statewright.asl.choice_rules import rule_paths
from statewright.asl.program import Evaluate
from statewright.asl.templates import (
    compile_dynamic,
    compile_jsonata,
    compile_jsonata_typed,
    compile_path_field,
    compile_template,
    expression_text,
    is_expression,
    type_name,
    unexpected_type,
)
from statewright.asl.timestamps import parse_timestamp
from statewright.errors import QUERY_EVALUATION, RUNTIME, EvaluationFailure, ExecutionFailure
from statewright.limits import LONGEST_WAIT_MS, TASK_TIMEOUT_SECONDS
from statewright.payload import Json, JsonObject, dump_json, parse_json
from statewright.query.jsonpath import PathNotFound, compile_path
from statewright.query.scope import Scope

Node = JsonObject

RESERVED_VARIABLE: Final = "states"
"""The one name that no workflow variable may have. Source: open specification, "Variables"."""


def path_or_empty(node: Node, field: str, reads: set[str]) -> Evaluate | None:
    """InputPath and OutputPath: absent or `$` selects the whole value, null the empty object."""
    text = node.get(field, "$")
    if text is None:
        return lambda _scope: {}
    return None if text == "$" else compile_path_field(text, reads)


def variables_of_rule(rule: Node) -> Iterator[str]:
    """The workflow variables that a JSONPath Choice rule reads."""
    for text in rule_paths(rule):
        yield from compile_path(text).variables


# ------------------------------------------------------------------ Wait


def wait_due(node: Node, *, jsonata: bool, reads: set[str]) -> Callable[[Scope], int]:
    """The instant at which a Wait ends, in epoch milliseconds."""
    if "SecondsPath" in node:
        return _seconds_path(node["SecondsPath"], reads)
    if "TimestampPath" in node:
        return _timestamp_path(node["TimestampPath"], reads)
    if "Timestamp" in node:
        return _timestamp(node["Timestamp"], jsonata=jsonata, reads=reads)
    seconds = node["Seconds"]
    if not (jsonata and is_expression(seconds)):
        delay_ms = round(float(seconds) * 1000) if not isinstance(seconds, str) else 0
        return lambda scope: _within_reach(scope, scope.now_ms + delay_ms)
    evaluate = compile_jsonata_typed(seconds, "Seconds", "number", reads)

    def due(scope: Scope) -> int:
        value = evaluate(scope)
        if value < 0:
            # The service's cause for a negative number was never recorded; ours follows that of SecondsPath.
            cause = f"The Seconds parameter references a negative value: {dump_json(value)}"
            raise EvaluationFailure(cause, "Seconds", from_entry=True)
        return _within_reach(scope, scope.now_ms + math.floor(value) * 1000)

    return due


def _seconds_path(text: str, reads: set[str]) -> Callable[[Scope], int]:
    path = compile_path(text)
    reads.update(path.variables)

    def due(scope: Scope) -> int:
        try:
            value = path(scope)
        except PathNotFound:
            value = None
        if value is None:
            raise ExecutionFailure(RUNTIME, f"The SecondsPath parameter does not reference an input value: {text}")
        if type(value) is float and value.is_integer():
            value = int(value)
        if type(value) is not int:
            shown = value if isinstance(value, str) else dump_json(value)
            raise ExecutionFailure(
                RUNTIME, f"The SecondsPath parameter cannot be parsed as a long value: {text} == {shown}"
            )
        if value < 0:
            raise ExecutionFailure(RUNTIME, f"The SecondsPath parameter references a negative value: {text} == {value}")
        return _within_reach(scope, scope.now_ms + value * 1000)

    return due


def _timestamp_path(text: str, reads: set[str]) -> Callable[[Scope], int]:
    path = compile_path(text)
    reads.update(path.variables)

    def due(scope: Scope) -> int:
        try:
            value = path(scope)
        except PathNotFound:
            raise ExecutionFailure(
                RUNTIME, f"The TimestampPath parameter does not reference an input value: {text}"
            ) from None
        instant = parse_timestamp(value) if isinstance(value, str) else None
        if instant is None:
            shown = value if isinstance(value, str) else dump_json(value)
            what = "does not reference a valid ISO-8601 extended offset date-time format string"
            raise ExecutionFailure(RUNTIME, f"The TimestampPath parameter {what}: {text} == {shown}")
        return _within_reach(scope, _ceil_ms(instant))

    return due


def _timestamp(value: Json, *, jsonata: bool, reads: set[str]) -> Callable[[Scope], int]:
    instant = parse_timestamp(value) if isinstance(value, str) else None
    if instant is not None:
        due_ms = _ceil_ms(instant)
        return lambda scope: _within_reach(scope, due_ms)
    evaluate = compile_jsonata_typed(value, "Timestamp", "string", reads) if jsonata else (lambda _scope: value)

    def due(scope: Scope) -> int:
        text = evaluate(scope)
        found = parse_timestamp(text)
        if found is None:
            cause = (
                f"The Timestamp field cannot be parsed as an ISO-8601 extended offset date-time format string: {text}"
            )
            raise EvaluationFailure(cause, "Timestamp", from_entry=True)
        return _within_reach(scope, _ceil_ms(found))

    return due


def _ceil_ms(nanoseconds: int) -> int:
    return -(-nanoseconds // 1_000_000)


def _within_reach(scope: Scope, due_ms: int) -> int:
    if due_ms - scope.now_ms > LONGEST_WAIT_MS:
        raise ExecutionFailure(RUNTIME, "Wait state delay is too long.")
    return due_ms


# ------------------------------------------------------------------ Task


def positive_seconds(node: Node, field: str, *, jsonata: bool, reads: set[str]) -> Evaluate | None:
    """TimeoutSeconds and HeartbeatSeconds with their Path variants: whole seconds, at least 1 and within range."""
    path_field = f"{field}Path"
    if path_field in node:
        text = node[path_field]
        return _checked(compile_path_field(text, reads), RUNTIME, path_field, text)
    if field not in node:
        return None
    value = node[field]
    if jsonata and is_expression(value):
        numbers = compile_jsonata_typed(value, field, "number", reads)
        return _checked(numbers, QUERY_EVALUATION, field, expression_text(value))
    seconds = int(value)
    return lambda _scope: seconds


def _checked(evaluate: Evaluate, error: str, field: str, shown: str) -> Evaluate:
    # The service's causes for these were never recorded; ours follow those of SecondsPath.
    def seconds(scope: Scope) -> Json:
        value = evaluate(scope)
        if type(value) is float and value.is_integer():
            value = int(value)
        if type(value) is not int:
            problem = f"The {field} parameter cannot be parsed as a long value: {shown} == {dump_json(value)}"
        elif not 1 <= value <= TASK_TIMEOUT_SECONDS:
            bounds = f"1 to {TASK_TIMEOUT_SECONDS}"
            problem = f"The {field} parameter references a value outside {bounds}: {shown} == {value}"
        else:
            return value
        raise EvaluationFailure(problem, field) if error == QUERY_EVALUATION else ExecutionFailure(error, problem)

    return seconds


def role_arn(node: Node, *, jsonata: bool, reads: set[str]) -> Evaluate | None:
    """The role of Credentials; always a string."""
    credentials = node.get("Credentials")
    if credentials is None:
        return None
    if jsonata:
        return _jsonata_role(credentials, reads)
    if "RoleArn.$" in credentials:
        evaluate = compile_dynamic("RoleArn.$", credentials["RoleArn.$"], reads)
    else:
        evaluate = compile_template(credentials["RoleArn"], reads)

    def role(scope: Scope) -> Json:
        value = evaluate(scope)
        if not isinstance(value, str):
            # The service's cause for this was never recorded.
            raise ExecutionFailure(RUNTIME, f"The RoleArn of Credentials must be a string, but is: {dump_json(value)}")
        return value

    return role


def _jsonata_role(credentials: Json, reads: set[str]) -> Evaluate:
    if not is_expression(credentials):
        return compile_jsonata_typed(credentials["RoleArn"], "Credentials/RoleArn", "string", reads)
    evaluate = compile_jsonata_typed(credentials, "Credentials", "object", reads)

    def role(scope: Scope) -> Json:
        value = evaluate(scope).get("RoleArn")
        if not isinstance(value, str):
            raise EvaluationFailure(
                f"The RoleArn of Credentials must be a string, but is: {dump_json(value)}", "Credentials"
            )
        return value

    return role


# ------------------------------------------------------------------ Assign


def assignments(value: Json, field: str, reads: set[str]) -> Evaluate:
    """A JSONata Assign: an object of variables by name, or an expression that returns one."""
    if not is_expression(value):
        return compile_jsonata(value, field, reads)
    evaluate = compile_jsonata_typed(value, field, "object", reads)

    def assigned(scope: Scope) -> Json:
        found = evaluate(scope)
        if RESERVED_VARIABLE in found:
            raise EvaluationFailure(f"The variable name '{RESERVED_VARIABLE}' is reserved.", field)
        return found

    return assigned


# ------------------------------------------------------------------ Map


def map_items(node: Node, *, jsonata: bool, distributed: bool, reads: set[str]) -> Evaluate:
    """The items of a Map: a list, or in DISTRIBUTED mode also an object."""
    allowed = (list, dict) if distributed else (list,)
    if not jsonata:
        return _items_path(node.get("ItemsPath", "$"), allowed, reads)
    if "Items" not in node:

        def default(scope: Scope) -> Json:
            if not isinstance(scope.input, allowed):
                cause = f"Map state input must be an array but was: {dump_json(scope.input)}"
                raise EvaluationFailure(cause, "")
            return scope.input

        return default
    value = node["Items"]
    evaluate = compile_jsonata(value, "Items", reads)
    shown = expression_text(value) if is_expression(value) else ""

    def items(scope: Scope) -> Json:
        result = evaluate(scope)
        if not isinstance(result, allowed):
            raise unexpected_type(shown, "Items", "array", result)
        return result

    return items


def _items_path(text: str, allowed: tuple[type, ...], reads: set[str]) -> Evaluate:
    evaluate = compile_path_field(text, reads)
    # A path into the context object is shown with one dollar sign (observed).
    shown = text[1:] if text.startswith("$$") else text

    def items(scope: Scope) -> Json:
        result = evaluate(scope)
        if not isinstance(result, allowed):
            raise ExecutionFailure(RUNTIME, f'Reference path "{shown}" must point to array.')
        return result

    return items


def whole_number(node: Node, name: str, *, jsonata: bool, reads: set[str], field: str = "") -> Evaluate | None:
    """A count that is a literal, a path (`<name>Path`) or an expression."""
    if f"{name}Path" in node:
        return _number_path(node[f"{name}Path"], f"{name}Path", "integer", reads)
    if name not in node:
        return None
    value = node[name]
    if not (jsonata and is_expression(value)):
        literal = int(value)
        return lambda _scope: literal
    place = f"{field}/{name}" if field else name
    evaluate = _numeric_expression(value, place, reads)

    def number(scope: Scope) -> Json:
        result = evaluate(scope)
        if result < 0:
            raise EvaluationFailure(f"{name} cannot be negative.", place)
        return math.floor(result)

    return number


def _numeric_expression(value: Json, place: str, reads: set[str]) -> Evaluate:
    evaluate = compile_jsonata(value, place, reads)
    shown = expression_text(value)

    def number(scope: Scope) -> Json:
        result = numeric(evaluate(scope))
        if type_name(result) != "number":
            raise unexpected_type(shown, place, "number", result)
        return result

    return number


def numeric(value: Json) -> Json:
    """The number that a text consists of, which a count may be written as (observed); any other value unchanged."""
    return parse_json(value) if isinstance(value, str) and _NUMERAL.fullmatch(value) else value


_NUMERAL: Final = re.compile(r"-?(0|[1-9][0-9]{0,15})(\.[0-9]{1,15})?")


def _number_path(text: str, field: str, kind: str, reads: set[str]) -> Evaluate:
    evaluate = compile_path_field(text, reads)

    def number(scope: Scope) -> Json:
        value = numeric(evaluate(scope))
        good = type(value) is int or (type(value) is float and (kind == "float" or value.is_integer()))
        if not good:
            shown = value if isinstance(value, str) else dump_json(value)
            cause = f'The {field} field refers to value "{shown}" which is not a valid {kind}: {text}'
            raise ExecutionFailure(RUNTIME, cause)
        return int(value) if kind == "integer" else value

    return number


def max_concurrency(node: Node, *, jsonata: bool, reads: set[str]) -> Evaluate | None:
    """MaxConcurrency and its Path variant."""
    evaluate = whole_number(node, "MaxConcurrency", jsonata=jsonata, reads=reads)
    return _in_range(evaluate, "MaxConcurrency", "cannot be negative.", None, jsonata=jsonata)


def tolerated_count(node: Node, *, jsonata: bool, reads: set[str]) -> Evaluate | None:
    """ToleratedFailureCount and its Path variant."""
    evaluate = whole_number(node, "ToleratedFailureCount", jsonata=jsonata, reads=reads)
    return _in_range(evaluate, "ToleratedFailureCount", "cannot be negative.", None, jsonata=jsonata)


def tolerated_percentage(node: Node, *, jsonata: bool, reads: set[str]) -> Evaluate | None:
    """ToleratedFailurePercentage and its Path variant: a number from 0 to 100."""
    name = "ToleratedFailurePercentage"
    evaluate: Evaluate | None = None
    if f"{name}Path" in node:
        evaluate = _number_path(node[f"{name}Path"], f"{name}Path", "float", reads)
    elif name in node:
        value = node[name]
        typed = jsonata and is_expression(value)
        evaluate = _numeric_expression(value, name, reads) if typed else (lambda _scope: value)
    return _in_range(evaluate, name, "must be between 0 and 100.", 100, jsonata=jsonata)


def _in_range(evaluate: Evaluate | None, name: str, rule: str, most: float | None, *, jsonata: bool) -> Evaluate | None:
    if evaluate is None:
        return None

    def number(scope: Scope) -> Json:
        value = evaluate(scope)
        if value < 0 or (most is not None and value > most):
            cause = f"{name} {rule}"
            raise EvaluationFailure(cause, name) if jsonata else ExecutionFailure(RUNTIME, cause)
        return value

    return number


# ------------------------------------------------------------------ Fail


def fail_text(node: Node, field: str, *, jsonata: bool, reads: set[str]) -> Evaluate | None:
    """Error and Cause of a Fail state, with their Path variants; always a string."""
    path_field = f"{field}Path"
    if path_field in node:
        evaluate = compile_dynamic(path_field, node[path_field], reads)

        def text(scope: Scope) -> Json:
            value = evaluate(scope)
            if not isinstance(value, str):
                # The service's cause for this was never recorded.
                cause = f"The {path_field} field must give a string, but gave: {dump_json(value)}"
                raise ExecutionFailure(RUNTIME, cause)
            return value

        return text
    if field not in node:
        return None
    value = node[field]
    if jsonata and is_expression(value):
        return compile_jsonata_typed(value, field, "string", reads)
    return lambda _scope: value
