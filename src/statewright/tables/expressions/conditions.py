"""Conditions and filters compiled for one request: predicates on items.

Source: developer guide, "Condition and filter expressions, operators, and functions"; texts observed.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Sequence
from typing import Any, Final

from statewright.errors import ApiError
from statewright.tables.expressions.bindings import Bindings
from statewright.tables.expressions.parser import fault
from statewright.tables.expressions.tree import (
    All,
    Among,
    Between,
    Call,
    Compare,
    Condition,
    Either,
    Literal,
    Not,
    Operand,
    Path,
    Step,
)
from statewright.tables.values import TYPES, Item, Value, binary_length, equal, kind_of, ordered, shown

Test = Callable[[Item], bool]
Read = Callable[[Item], Value | None]

_ORDERED: Final = frozenset({"S", "N", "B"})
_MANY: Final = 32
"""Elements of a list from which `contains` looks them up, because an expression may ask for many."""
_REMEMBERED: Final = 32
"""Lists and pairs of values that the conditions of a request remember. Ours: an item may be 400 KB."""
_SIZED: Final = frozenset({"S", "B", "SS", "NS", "BS", "L", "M"})


def look_up(item: Item, steps: Sequence[Step]) -> Value | None:
    """The value at a path of an item; `None` if there is none."""
    value = item.get(str(steps[0]))
    for step in steps[1:]:
        if value is None:
            return None
        if isinstance(step, int):
            elements = value.get("L")
            value = elements[step] if elements is not None and step < len(elements) else None
        else:
            members = value.get("M")
            value = members.get(step) if members is not None else None
    return value


def shown_path(steps: Sequence[Step]) -> str:
    """A path as messages show it: `[a, [0], b]`."""
    return "[" + ", ".join(f"[{step}]" if isinstance(step, int) else step for step in steps) + "]"


class Compiler:
    """Compiles the conditions of one parameter of a request."""

    def __init__(self, parameter: str, bindings: Bindings) -> None:
        self._parameter = parameter
        self._bindings = bindings
        self._known = _Known()

    def test(self, condition: Condition) -> Test:
        """The test of a condition. Raises: ApiError."""
        if isinstance(condition, All):
            parts = [self.test(part) for part in condition.parts]
            return lambda item: all(part(item) for part in parts)
        if isinstance(condition, Either):
            parts = [self.test(part) for part in condition.parts]
            return lambda item: any(part(item) for part in parts)
        if isinstance(condition, Not):
            inner = self.test(condition.part)
            return lambda item: not inner(item)
        if isinstance(condition, Compare):
            return self._compare(condition)
        if isinstance(condition, Between):
            return self._between(condition)
        if isinstance(condition, Among):
            operand = self._read(condition.operand)
            choices = [self._read(choice) for choice in condition.choices]
            known = self._known
            return lambda item: known.is_among(operand(item), choices, item)
        return self._call(condition)

    # ------------------------------------------------------------------ operands

    def _read(self, operand: Operand) -> Read:
        if isinstance(operand, Path):
            steps = self._bindings.path(self._parameter, operand)
            if len(steps) == 1:
                name = str(steps[0])
                return lambda item: item.get(name)
            return lambda item: look_up(item, steps)
        if isinstance(operand, Literal):
            value = self._bindings.value(self._parameter, operand)
            return lambda _item: value
        # The parser refuses every other function here.
        assert isinstance(operand, Call)
        return self._size(operand)

    def _size(self, call: Call) -> Read:
        (argument,) = call.arguments
        if isinstance(argument, Literal):
            kind = kind_of(self._bindings.value(self._parameter, argument))
            if kind not in _SIZED:
                raise self._wrong_operand("size", kind)
        inner = self._read(self._not_nested(argument, "size"))

        def size(item: Item) -> Value | None:
            value = inner(item)
            length = _length(value) if value is not None else None
            return {"N": str(length)} if length is not None else None

        return size

    def _not_nested(self, operand: Operand, function: str) -> Operand:
        """Check that an argument is not itself a function, and return it."""
        if isinstance(operand, Call) and not (operand.function == "size" and function == "contains"):
            raise fault(
                self._parameter,
                f"The function is not allowed to be used this way in an expression; function: {operand.function}",
            )
        return operand

    def _literal_kind(self, operand: Operand) -> str | None:
        """The type of an operand that does not depend on the item; `None` if it does."""
        if isinstance(operand, Literal):
            return kind_of(self._bindings.value(self._parameter, operand))
        return None

    def _wrong_operand(self, operator: str, kind: str) -> ApiError:
        return fault(
            self._parameter,
            f"Incorrect operand type for operator or function; operator or function: {operator}, operand type: {kind}",
        )

    def _refuse_same(self, operator: str, first: Operand, *others: Operand) -> None:
        if not isinstance(first, Path):
            return
        steps = self._bindings.path(self._parameter, first)
        for other in others:
            if isinstance(other, Path) and self._bindings.path(self._parameter, other) == steps:
                raise fault(
                    self._parameter,
                    "The first operand must be distinct from the remaining operands for this operator or function; "
                    f"operator: {operator}, first operand: {shown_path(steps)}",
                )

    # ------------------------------------------------------------------ comparisons

    def _compare(self, node: Compare) -> Test:
        left, right = self._read(node.left), self._read(node.right)
        self._refuse_same(node.sign, node.left, node.right)
        known = self._known
        if node.sign == "=":
            return lambda item: known.same(left(item), right(item))
        if node.sign == "<>":
            return lambda item: not known.same(left(item), right(item))
        for operand in (node.left, node.right):
            kind = self._literal_kind(operand)
            if kind is not None and kind not in _ORDERED:
                raise self._wrong_operand(node.sign, kind)
        decides = _ORDERS[node.sign]

        def compare(item: Item) -> bool:
            pair = _comparable(left(item), right(item))
            return pair is not None and decides(*pair)

        return compare

    def _between(self, node: Between) -> Test:
        operand, low, high = self._read(node.operand), self._read(node.low), self._read(node.high)
        if isinstance(node.low, Literal) and isinstance(node.high, Literal):
            self.check_bounds(
                self._bindings.value(self._parameter, node.low), self._bindings.value(self._parameter, node.high)
            )
        for part in (node.operand, node.low, node.high):
            kind = self._literal_kind(part)
            if kind is not None and kind not in _ORDERED:
                raise self._wrong_operand("BETWEEN", kind)

        def between(item: Item) -> bool:
            value = operand(item)
            from_low, to_high = _comparable(low(item), value), _comparable(value, high(item))
            return (
                from_low is not None
                and to_high is not None
                and bool(from_low[0] <= from_low[1])
                and bool(to_high[0] <= to_high[1])
            )

        return between

    def check_bounds(self, low: Value, high: Value) -> None:
        """Refuse bounds with no value between them. Raises: ApiError."""
        what = None
        if kind_of(low) != kind_of(high):
            what = "same data type for lower and upper bounds"
        elif kind_of(low) in _ORDERED and ordered(low) > ordered(high):
            what = "upper bound to be greater than or equal to lower bound"
        if what is not None:
            raise fault(
                self._parameter,
                f"The BETWEEN operator requires {what}; "
                f"lower bound operand: AttributeValue: {shown(low)}, "
                f"upper bound operand: AttributeValue: {shown(high)}",
            )

    # ------------------------------------------------------------------ functions

    def _call(self, call: Call) -> Test:
        if call.function in ("attribute_exists", "attribute_not_exists"):
            return self._exists(call)
        first, second = (self._not_nested(argument, call.function) for argument in call.arguments)
        if call.function == "attribute_type":
            return self._type(first, second)
        kind = self._literal_kind(second)
        if call.function == "begins_with":
            for literal in (self._literal_kind(first), kind):
                if literal is not None and literal not in ("S", "B"):
                    raise self._wrong_operand("begins_with", literal)
            return self._pair(first, second, _begins)
        self._refuse_same("contains", first, second)
        if (whole := self._literal_kind(first)) is not None and whole not in ("S", "B", "SS", "NS", "BS", "L"):
            raise self._wrong_operand("contains", whole)
        return self._pair(first, second, self._known.contains)

    def _pair(self, first: Operand, second: Operand, decides: Callable[[Value, Value], bool]) -> Test:
        left, right = self._read(first), self._read(second)

        def test(item: Item) -> bool:
            whole, part = left(item), right(item)
            return whole is not None and part is not None and decides(whole, part)

        return test

    def _path_of(self, call: str, operand: Operand) -> Read:
        if not isinstance(operand, Path):
            raise fault(self._parameter, f"Operator or function requires a document path; operator or function: {call}")
        return self._read(operand)

    def _exists(self, call: Call) -> Test:
        read = self._path_of(call.function, call.arguments[0])
        if call.function == "attribute_exists":
            return lambda item: read(item) is not None
        return lambda item: read(item) is None

    def _type(self, first: Operand, second: Operand) -> Test:
        read = self._path_of("attribute_type", first)
        if not isinstance(second, Literal):
            raise self._wrong_operand("attribute_type", "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}")
        value = self._bindings.value(self._parameter, second)
        if "S" not in value:
            raise self._wrong_operand("attribute_type", kind_of(value))
        wanted = value["S"]
        if wanted not in TYPES:
            raise fault(
                self._parameter,
                f"Invalid attribute type name found; type: {wanted}, valid types: {{{','.join(TYPES)}}}",
            )

        def is_of_type(item: Item) -> bool:
            found = read(item)
            return found is not None and wanted in found

        return is_of_type


_ORDERS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": lambda left, right: bool(left < right),
    "<=": lambda left, right: bool(left <= right),
    ">": lambda left, right: bool(left > right),
    ">=": lambda left, right: bool(left >= right),
}


def _comparable(left: Value | None, right: Value | None) -> tuple[Any, Any] | None:
    """The sort keys of both, `None` if the values have no common order."""
    if left is None or right is None or kind_of(left) != kind_of(right):
        return None
    return (ordered(left), ordered(right)) if kind_of(left) in _ORDERED else None


def _length(value: Value) -> int | None:
    kind = kind_of(value)
    if kind == "B":
        return binary_length(value["B"])
    return len(value[kind]) if kind in _SIZED else None


def _begins(whole: Value, part: Value) -> bool:
    kind = kind_of(whole)
    if kind != kind_of(part) or kind not in ("S", "B"):
        return False
    beginning = ordered(part)
    if kind == "B":
        # Four characters are three bytes: only as many are decoded as the part has.
        return b64decode(whole["B"][: -(-len(beginning) // 3) * 4]).startswith(beginning)
    return bool(whole["S"].startswith(beginning))


class _Known:
    """Remembers the lists that the conditions of one request searched and the pairs of values that they compared."""

    def __init__(self) -> None:
        self._members: dict[int, tuple[list[Value], frozenset[object]]] = {}
        self._pairs: dict[tuple[int, int], tuple[Value, Value, bool]] = {}

    def same(self, left: Value | None, right: Value | None) -> bool:
        """True if both values are there and equal."""
        if left is None or right is None:
            return False
        ((kind, content),) = left.items()
        if kind not in _COLLECTIONS or len(content) < _MANY or kind not in right:
            return equal(left, right)
        pair = id(left), id(right)
        known = self._pairs.get(pair)
        if known is None:
            if len(self._pairs) == _REMEMBERED:
                self._pairs.clear()
            # Values that are kept cannot lend their ids to others.
            known = self._pairs[pair] = left, right, equal(left, right)
        return known[2]

    def is_among(self, value: Value | None, choices: Sequence[Read], item: Item) -> bool:
        """True if a value equals one of the choices."""
        return value is not None and any(self.same(value, choice(item)) for choice in choices)

    def contains(self, whole: Value, part: Value) -> bool:
        """True if a text or bytes contain others, or a set or list an element."""
        kind, of_part = kind_of(whole), kind_of(part)
        if kind in ("S", "B"):
            return kind == of_part and bool(ordered(part) in ordered(whole))
        if kind in ("SS", "NS", "BS"):
            return kind[0] == of_part and part[of_part] in whole[kind]
        if kind != "L":
            return False
        elements = whole["L"]
        if len(elements) < _MANY:
            return any(equal(element, part) for element in elements)
        return _key_of(part) in self._members_of(elements)

    def _members_of(self, elements: list[Value]) -> frozenset[object]:
        known = self._members.get(id(elements))
        if known is None:
            if len(self._members) == _REMEMBERED:
                self._members.clear()
            known = self._members[id(elements)] = elements, frozenset(map(_key_of, elements))
        return known[1]


_COLLECTIONS: Final = frozenset({"SS", "NS", "BS", "L", "M"})


def _key_of(value: Value) -> object:
    """Something hashable that is equal exactly where `equal` holds. Values nest 32 deep at most."""
    ((kind, content),) = value.items()
    if kind == "L":
        return kind, tuple(map(_key_of, content))
    if kind == "M":
        return kind, frozenset((name, _key_of(member)) for name, member in content.items())
    return kind, frozenset(content) if kind in _COLLECTIONS else content
