"""The conditions of `[?(...)]`, compiled to predicates.

Owns the meaning of comparisons: types are compared before values, nothing is converted, a missing member equals no
value and is less than none. Leaves reading paths inside a condition to `jsonpath_steps`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Final

from statewright.errors import RUNTIME, ExecutionFailure
from statewright.payload import Json
from statewright.query.comparison import is_number, json_equal, text_less
from statewright.query.fence import FENCE, LeavesTheLoop
from statewright.query.jsonpath_tree import (
    AllOf,
    Comparison,
    Condition,
    Constant,
    Existence,
    Name,
    Negation,
    Operand,
    Path,
    Pattern,
    is_definite,
)
from statewright.query.linear_regex import LinearRegex
from statewright.query.scope import Scope

MAX_VISITS: Final = 500_000
"""Most values that one evaluation visits. Ours: a path of a few dozen characters can multiply a document endlessly, and
the largest payload has some 130,000 values."""


class _Missing:
    __slots__ = ()


MISSING: Final[Json] = _Missing()
"""The result of a definite path inside a filter that finds nothing; null is a value."""


class Run:
    """One evaluation: the document, the scope if there is one, cached results, and the remaining work."""

    __slots__ = ("computed", "left", "root", "scope", "text")

    def __init__(self, text: str, root: Json, scope: Scope | None, left: int = MAX_VISITS) -> None:
        self.text = text
        self.root = root
        self.scope = scope
        self.left = left
        self.computed: dict[int, tuple[object, Json]] = {}
        """By the id of the value it was computed from, which the first part keeps alive."""

    def spend(self, visits: int) -> None:
        """Count work. Raises: `ExecutionFailure` (States.Runtime) above the limit, LeavesTheLoop above an allowance."""
        self.left -= visits
        if self.left < 0:
            if FENCE.allowance is not None:
                raise LeavesTheLoop
            raise ExecutionFailure(RUNTIME, f"The path '{self.text}' visits more than {MAX_VISITS} values")


Reader = Callable[[Json, Run], Json]
"""Reads an operand for the current item; `MISSING` if there is nothing."""
Predicate = Callable[[Json, Run], bool]
ValueTest = Callable[[Json], bool]
Relation = Callable[[Json, Json, Run], bool]


def compile_condition(condition: Condition, read_path: Callable[[Path], Reader]) -> Predicate:
    """The predicate of a condition. The tree is at most `MAX_NESTING` deep, so recursion is safe."""
    if isinstance(condition, Comparison):
        return _comparison(condition, read_path)
    if isinstance(condition, Existence):
        return _existence(condition, read_path)
    if isinstance(condition, Constant):
        outcome = condition.value is True
        return lambda item, run: outcome  # noqa: ARG005
    if isinstance(condition, Negation):
        inner = compile_condition(condition.condition, read_path)
        return lambda item, run: not inner(item, run)
    parts = tuple(compile_condition(part, read_path) for part in condition.conditions)
    return _all_of(parts) if isinstance(condition, AllOf) else _any_of(parts)


def _all_of(parts: tuple[Predicate, ...]) -> Predicate:
    if len(parts) == 2:
        first, second = parts
        return lambda item, run: first(item, run) and second(item, run)

    def every(item: Json, run: Run) -> bool:
        for part in parts:  # noqa: SIM110 - a generator would double the cost
            if not part(item, run):
                return False
        return True

    return every


def _any_of(parts: tuple[Predicate, ...]) -> Predicate:
    def some(item: Json, run: Run) -> bool:
        for part in parts:  # noqa: SIM110
            if part(item, run):
                return True
        return False

    return some


def _existence(condition: Existence, read_path: Callable[[Path], Reader]) -> Predicate:
    read = read_path(condition.path)
    if is_definite(condition.path.steps):
        return lambda item, run: read(item, run) is not MISSING
    return lambda item, run: bool(read(item, run))


def _comparison(condition: Comparison, read_path: Callable[[Path], Reader]) -> Predicate:
    left, right, name = condition.left, condition.right, condition.operator
    if isinstance(right, Pattern):
        return _matching(right.regex, _reader(left, read_path))
    if isinstance(left, Pattern):
        return _matching(left.regex, _reader(right, read_path))
    if isinstance(left, Constant) and name in _MIRRORED:
        left, right, name = right, left, _MIRRORED[name]
    if isinstance(right, Constant):
        test = _test_against(name, right.value)
        if test is not None:
            return _tested(test, left, read_path)
    read_left, read_right = _reader(left, read_path), _reader(right, read_path)
    relation = _RELATIONS[name]
    return lambda item, run: relation(read_left(item, run), read_right(item, run), run)


def _reader(operand: Operand, read_path: Callable[[Path], Reader]) -> Reader:
    if isinstance(operand, Path):
        return read_path(operand)
    value = operand.value if isinstance(operand, Constant) else MISSING
    return lambda item, run: value  # noqa: ARG005


def _tested(test: ValueTest, left: Operand, read_path: Callable[[Path], Reader]) -> Predicate:
    if isinstance(left, Path) and left.root == "current" and len(left.steps) == 1 and isinstance(left.steps[0], Name):
        # Nearly every filter compares `@.name` with a constant.
        name = left.steps[0].name
        return lambda item, run: test(item.get(name, MISSING) if isinstance(item, dict) else MISSING)  # noqa: ARG005
    read = _reader(left, read_path)
    return lambda item, run: test(read(item, run))


def _test_against(name: str, constant: Json) -> ValueTest | None:
    """A test of one value, for the operators and constants that most filters use."""
    if name in ("==", "!=") and not isinstance(constant, list | dict):
        equal = _equal_to(constant)
        return equal if name == "==" else lambda value: not equal(value)
    if name in _ORDER and is_number(constant):
        compare = _ORDER[name]
        return lambda value: isinstance(value, int | float) and value.__class__ is not bool and compare(value, constant)
    return None


def _equal_to(constant: Json) -> ValueTest:
    if constant is None or isinstance(constant, bool):
        return lambda value: value is constant
    if isinstance(constant, str):
        return lambda value: bool(value == constant)
    return lambda value: bool(value == constant) and value.__class__ is not bool


def _equal(left: Json, right: Json, run: Run) -> bool:
    return left is not MISSING and right is not MISSING and json_equal(left, right, run.spend)


def _unequal(left: Json, right: Json, run: Run) -> bool:
    return not _equal(left, right, run)


def _less(left: Json, right: Json, _: Run) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        return text_less(left, right)
    return is_number(left) and is_number(right) and bool(left < right)


def _at_most(left: Json, right: Json, _: Run) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        return not text_less(right, left)
    return is_number(left) and is_number(right) and bool(left <= right)


def _greater(left: Json, right: Json, run: Run) -> bool:
    return _less(right, left, run)


def _at_least(left: Json, right: Json, run: Run) -> bool:
    return _at_most(right, left, run)


def _has_size(value: Json, size: Json, _: Run) -> bool:
    return isinstance(value, str | list | dict) and is_number(size) and len(value) == size


def _is_empty(value: Json, wanted: Json, _: Run) -> bool:
    return isinstance(value, str | list | dict) and (not value) is wanted


_ORDER: Final[Mapping[str, Callable[[Json, Json], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MIRRORED: Final[Mapping[str, str]] = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

# Membership


class _Members:
    """The elements of an array, indexed for many look-ups."""

    __slots__ = ("containers", "scalars")

    def __init__(self, elements: list[Json]) -> None:
        self.scalars: set[Json] = set()
        self.containers: list[Json] = []
        for element in elements:
            if isinstance(element, list | dict):
                self.containers.append(element)
            else:
                self.scalars.add(_key(element))

    def has(self, value: Json, run: Run) -> bool:
        if not isinstance(value, list | dict):
            return _key(value) in self.scalars
        run.spend(len(self.containers))
        return any(json_equal(value, container, run.spend) for container in self.containers)


def _key(scalar: Json) -> Json:
    """A key that is equal for `1` and `1.0`, and another one for `true`."""
    return ("boolean", scalar) if isinstance(scalar, bool) else scalar


def _members(elements: list[Json], run: Run) -> _Members:
    known = run.computed.get(id(elements))
    if known is None:
        run.spend(len(elements))
        known = run.computed[id(elements)] = (elements, _Members(elements))
    members: _Members = known[1]
    return members


def _in(value: Json, elements: Json, run: Run) -> bool:
    return isinstance(elements, list) and value is not MISSING and _members(elements, run).has(value, run)


def _not_in(value: Json, elements: Json, run: Run) -> bool:
    return not _in(value, elements, run)


def _contains(value: Json, wanted: Json, run: Run) -> bool:
    if isinstance(value, str):
        run.spend(len(value) // 256)
        return isinstance(wanted, str) and wanted in value
    return _in(wanted, value, run)


def _all_in(values: Json, elements: Json, run: Run) -> bool:
    if not isinstance(values, list) or not isinstance(elements, list):
        return False
    run.spend(len(values))
    members = _members(elements, run)
    return all(members.has(value, run) for value in values)


def _has_all(values: Json, wanted: Json, run: Run) -> bool:
    return _all_in(wanted, values, run)


def _any_in(values: Json, elements: Json, run: Run) -> bool:
    if not isinstance(values, list) or not isinstance(elements, list):
        return False
    run.spend(len(values))
    members = _members(elements, run)
    return any(members.has(value, run) for value in values)


def _none_in(values: Json, elements: Json, run: Run) -> bool:
    return isinstance(values, list) and isinstance(elements, list) and not _any_in(values, elements, run)


_RELATIONS: Final[Mapping[str, Relation]] = {
    "==": _equal,
    "!=": _unequal,
    "<": _less,
    "<=": _at_most,
    ">": _greater,
    ">=": _at_least,
    "size": _has_size,
    "empty": _is_empty,
    "in": _in,
    "nin": _not_in,
    "contains": _contains,
    "subsetof": _all_in,
    "all": _has_all,
    "anyof": _any_in,
    "noneof": _none_in,
}


# Regular expressions


def _matching(regex: LinearRegex, read: Reader) -> Predicate:
    def matches(item: Json, run: Run) -> bool:
        value = read(item, run)
        if isinstance(value, list):
            run.spend(len(value))
            return any(regex.fullmatch(_subject(element), run.spend) for element in value)
        return regex.fullmatch(_subject(value), run.spend)

    return matches


def _subject(value: Json) -> str:
    """The text that a pattern is matched with. As in Jayway, a value other than a string, number or boolean is the
    empty string."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else ""
