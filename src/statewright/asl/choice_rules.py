"""JSONPath Choice rules, compiled to predicates over a `Scope`.

Owns the comparison operators, their types and what they mean; leaves transitions, Assign and Output of a rule to the
Choice state, and messages about malformed rules to `validate`. A value of another type than the operator's makes a
comparison false; a Variable that finds nothing fails the execution with any operator but IsPresent. `And`, `Or` and
`Not` nest to any depth: they become jumps between tests, so neither compiling nor evaluating recurses.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Final, Literal

from statewright.asl.timestamps import parse_timestamp
from statewright.errors import RUNTIME, ExecutionFailure
from statewright.payload import Json
from statewright.query.comparison import EXACT_INTEGER, as_double, is_number, text_less
from statewright.query.jsonpath import PathNotFound, compile_path
from statewright.query.scope import Scope
from statewright.query.wildcards import Wildcards

OperandType = Literal["string", "number", "boolean", "timestamp", "path"]
"""The JSON type of an operator's operand; a timestamp is a string that `parse_timestamp` accepts."""

RulePredicate = Callable[[Scope], bool]

CONNECTIVES: Final = ("And", "Or", "Not")

_ORDERINGS: Final = ("Equals", "LessThan", "GreaterThan", "LessThanEquals", "GreaterThanEquals")
_TYPE_TESTS: Final = ("IsNull", "IsPresent", "IsNumeric", "IsString", "IsBoolean", "IsTimestamp")
_ORDERED_TYPES: Final[Mapping[str, OperandType]] = {"String": "string", "Numeric": "number", "Timestamp": "timestamp"}

OPERATORS: Final[Mapping[str, OperandType]] = {
    **{prefix + ordering: operand for prefix, operand in _ORDERED_TYPES.items() for ordering in _ORDERINGS},
    **{prefix + ordering + "Path": "path" for prefix in _ORDERED_TYPES for ordering in _ORDERINGS},
    "BooleanEquals": "boolean",
    "BooleanEqualsPath": "path",
    "StringMatches": "string",
    **dict.fromkeys(_TYPE_TESTS, "boolean"),
}
"""The 39 comparison operators with the types of their operands."""


def compile_rule(rule: dict[str, Json]) -> RulePredicate:
    """The predicate of one rule, or of one part of it; `Next`, `Assign`, `Output` and `Comment` are ignored.

    The predicate raises `ExecutionFailure` (States.Runtime) when a path it needs finds nothing.
    Raises: `ValueError` (`PathSyntaxError` for a path) when the rule is malformed.
    """
    kind = _kind(rule)
    if kind not in CONNECTIVES:
        return _comparison(rule, kind)
    tests, entries = _jumps(rule)
    program = tuple((test, entries[yes], entries[no]) for test, yes, no in tests)

    def decide(scope: Scope) -> bool:
        at = 0
        while at >= 0:
            test, yes, no = program[at]
            at = yes if test(scope) else no
        return at == _TRUE

    return decide


def rule_paths(rule: dict[str, Json]) -> list[str]:
    """The path texts of a rule, Variables and operands of `...Path`, in the order written, also of malformed rules."""
    paths: list[str] = []
    pending: list[Json] = [rule]
    while pending:
        part = pending.pop()
        if not isinstance(part, dict):
            continue
        inner: list[Json] = []
        for name, value in part.items():
            if isinstance(value, str) and (name == "Variable" or OPERATORS.get(name) == "path"):
                paths.append(value)
            elif name == "Not":
                inner.append(value)
            elif name in CONNECTIVES and isinstance(value, list):
                inner.extend(value)
        pending.extend(reversed(inner))
    return paths


# Connectives

_TRUE: Final = -1
_FALSE: Final = -2


def _jumps(rule: dict[str, Json]) -> tuple[list[tuple[RulePredicate, int, int]], dict[int, int]]:
    """Tests with the labels to go to when true and when false, and the position of each label.

    A part is pending with its own label and the labels of both outcomes; its first test takes its label.
    """
    tests: list[tuple[RulePredicate, int, int]] = []
    entries = {_TRUE: _TRUE, _FALSE: _FALSE}
    labels = 0
    pending: list[tuple[Json, int, int, int]] = [(rule, 0, _TRUE, _FALSE)]
    while pending:
        part, own, yes, no = pending.pop()
        kind = _kind(part)
        if kind not in CONNECTIVES:
            entries[own] = len(tests)
            tests.append((_comparison(part, kind), yes, no))
            continue
        if kind == "Not":
            pending.append((part["Not"], own, no, yes))
            continue
        parts = part[kind]
        if not isinstance(parts, list) or not parts:
            raise ValueError(f"{kind} needs a non-empty array of rules")
        starts = [own, *range(labels + 1, labels + len(parts))]
        labels += len(parts) - 1
        following = [*starts[1:], yes if kind == "And" else no]
        if kind == "And":
            inner = [(p, start, then, no) for p, start, then in zip(parts, starts, following, strict=True)]
        else:
            inner = [(p, start, yes, then) for p, start, then in zip(parts, starts, following, strict=True)]
        pending.extend(reversed(inner))
    return tests, entries


def _kind(rule: Json) -> str:
    """The connective or operator of a rule."""
    if not isinstance(rule, dict):
        raise ValueError("A Choice rule is an object")
    kinds: list[str] = [name for name in rule if name in OPERATORS or name in CONNECTIVES]
    if len(kinds) != 1:
        raise ValueError(f"A Choice rule has one comparison, And, Or or Not; this one has {len(kinds)}")
    return kinds[0]


# Comparisons


def _comparison(rule: dict[str, Json], name: str) -> RulePredicate:
    variable = rule.get("Variable")
    if not isinstance(variable, str):
        raise ValueError(f"{name} needs a Variable, which is a path")
    operand = rule[name]
    _check_operand(name, operand)
    if name == "IsPresent":
        return _is_present(variable, operand)
    if OPERATORS[name] == "path":
        return _related(variable, _RELATIONS[name.removesuffix("Path")], operand)
    read_path, test = compile_path(variable).read, _test(name, operand)

    def compare(scope: Scope) -> bool:
        try:
            value = read_path(scope)
        except PathNotFound:
            raise _invalid(variable) from None
        return test(value)

    return compare


def _related(variable: str, relation: Callable[[Json, Json], bool], other: str) -> RulePredicate:
    """A comparison of two paths."""
    read_variable, read_other = compile_path(variable).read, compile_path(other).read

    def compare(scope: Scope) -> bool:
        try:
            left = read_variable(scope)
        except PathNotFound:
            raise _invalid(variable) from None
        try:
            right = read_other(scope)
        except PathNotFound:
            raise _invalid(other) from None
        return relation(left, right)

    return compare


def _invalid(path: str) -> ExecutionFailure:
    return ExecutionFailure(
        RUNTIME, f"Invalid path '{path}': The choice state's condition path references an invalid value."
    )


def _check_operand(name: str, operand: Json) -> None:
    expected = OPERATORS[name]
    if expected == "number":
        good = is_number(operand)
    elif expected == "boolean":
        good = isinstance(operand, bool)
    else:
        good = isinstance(operand, str)
    if not good or (expected == "timestamp" and parse_timestamp(operand) is None):
        raise ValueError(f"{name} needs a {expected}")


def _is_present(text: str, wanted: bool) -> RulePredicate:
    read_path = compile_path(text).read

    def is_present(scope: Scope) -> bool:
        try:
            read_path(scope)
        except PathNotFound:
            return not wanted
        return wanted

    return is_present


def _test(name: str, operand: Json) -> Callable[[Json], bool]:
    """The test of one value against a constant operand."""
    if name in _TYPE_TESTS:
        has_type = _HAS_TYPE[name]
        return has_type if operand else lambda value: not has_type(value)
    if name == "StringMatches":
        matches = Wildcards(operand).matches
        return lambda value: isinstance(value, str) and matches(value)
    if name in ("StringEquals", "BooleanEquals"):
        return lambda value: value.__class__ is operand.__class__ and bool(value == operand)
    if name.startswith("Numeric"):
        return _number_test(_ORDER[name.removeprefix("Numeric")], as_double(operand))
    if name.startswith("Timestamp"):
        compare, instant = _ORDER[name.removeprefix("Timestamp")], parse_timestamp(operand)
        return lambda value: _compared_to_instant(compare, value, instant)
    relation = _RELATIONS[name]
    return lambda value: relation(value, operand)


def _number_test(compare: Callable[[Json, Json], bool], number: float) -> Callable[[Json], bool]:
    def test(value: Json) -> bool:
        if value.__class__ is float or (value.__class__ is int and -EXACT_INTEGER <= value <= EXACT_INTEGER):
            return compare(value, number)
        return is_number(value) and compare(as_double(value), number)

    return test


def _compared_to_instant(compare: Callable[[Json, Json], bool], value: Json, instant: int | None) -> bool:
    other = parse_timestamp(value) if isinstance(value, str) else None
    return other is not None and compare(other, instant)


# The operators


def _is_timestamp(value: Json) -> bool:
    return isinstance(value, str) and parse_timestamp(value) is not None


_HAS_TYPE: Final[Mapping[str, Callable[[Json], bool]]] = {
    "IsNull": lambda value: value is None,
    "IsNumeric": is_number,
    "IsString": lambda value: isinstance(value, str),
    "IsBoolean": lambda value: isinstance(value, bool),
    "IsTimestamp": _is_timestamp,
}

_ORDER: Final[Mapping[str, Callable[[Json, Json], bool]]] = {
    "Equals": operator.eq,
    "LessThan": operator.lt,
    "GreaterThan": operator.gt,
    "LessThanEquals": operator.le,
    "GreaterThanEquals": operator.ge,
}

_TEXT_ORDER: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "Equals": operator.eq,
    "LessThan": text_less,
    "GreaterThan": lambda left, right: text_less(right, left),
    "LessThanEquals": lambda left, right: not text_less(right, left),
    "GreaterThanEquals": lambda left, right: not text_less(left, right),
}


def _texts(compare: Callable[[str, str], bool]) -> Callable[[Json, Json], bool]:
    return lambda left, right: isinstance(left, str) and isinstance(right, str) and compare(left, right)


def _numbers(compare: Callable[[Json, Json], bool]) -> Callable[[Json, Json], bool]:
    return lambda left, right: is_number(left) and is_number(right) and compare(as_double(left), as_double(right))


def _instants(compare: Callable[[Json, Json], bool]) -> Callable[[Json, Json], bool]:
    def relation(left: Json, right: Json) -> bool:
        instant = parse_timestamp(right) if isinstance(right, str) else None
        return instant is not None and _compared_to_instant(compare, left, instant)

    return relation


_RELATIONS: Final[Mapping[str, Callable[[Json, Json], bool]]] = {
    **{f"String{name}": _texts(compare) for name, compare in _TEXT_ORDER.items()},
    **{f"Numeric{name}": _numbers(compare) for name, compare in _ORDER.items()},
    **{f"Timestamp{name}": _instants(compare) for name, compare in _ORDER.items()},
    "BooleanEquals": lambda left, right: isinstance(left, bool) and left is right,
}
