"""Comparison of JSON values: strict equality, text order and numbers as doubles.

In Python `True == 1`, text orders by code point and integers are unbounded; for the service a boolean is no number,
text orders by UTF-16 code unit (Java) and numbers are IEEE doubles. Filters and Choice rules share these rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from statewright.payload import Json

EXACT_INTEGER: Final = 1 << 53
"""Integers up to this size, either way from zero, are doubles already."""

VALUE_DEPTH: Final = 200
"""Deepest nesting of arrays and objects in a value that a function reads as a whole. Ours: keeps recursion far from the
interpreter's own limit for any caller, and below the limit of the payload encoder."""


def json_equal(left: Json, right: Json, spend: Callable[[int], None] | None = None) -> bool:
    """True if two JSON values are the same value; `1` is `1.0`, but never `true`. Any depth.

    `spend` is called with the number of members and elements compared; it may raise to stop.
    """
    pending = [(left, right)]
    while pending:
        one, other = pending.pop()
        if one is other:
            continue
        if isinstance(one, dict):
            if not isinstance(other, dict) or len(one) != len(other):
                return False
            if spend is not None:
                spend(len(one))
            for name, member in one.items():
                if name not in other:
                    return False
                pending.append((member, other[name]))
        elif isinstance(one, list):
            if not isinstance(other, list) or len(one) != len(other):
                return False
            if spend is not None:
                spend(len(one))
            pending.extend(zip(one, other, strict=True))
        elif isinstance(one, bool) or isinstance(other, bool) or one != other:
            return False
    return True


class NestedTooDeep(ValueError):
    """Raised for a value that nests arrays and objects deeper than `VALUE_DEPTH`."""


class _Flag:
    """Stands for a boolean where 1 and true must differ, although they are equal in Python."""

    __slots__ = ()


_TRUE: Final = _Flag()
_FALSE: Final = _Flag()


def frozen(value: Json, room: int = VALUE_DEPTH) -> object:
    """Turn a JSON value into something hashable that is equal exactly where the JSON values are.

    Arrays become tuples and objects frozen sets of pairs, so neither can be taken for the other or for a scalar.

    Raises: NestedTooDeep.
    """
    kind = type(value)
    if kind is str or value is None:
        return value
    if kind is bool:
        return _TRUE if value else _FALSE
    if kind is int or kind is float:
        exact = -EXACT_INTEGER < value < EXACT_INTEGER
        if exact and room == VALUE_DEPTH:
            return value
        # Python's hash of a large integer, or of a tuple of integers, is one that a sender can choose; of text it is
        # not. Adding 0.0 turns -0.0 into 0.0.
        return (EXACT_INTEGER, repr(value + 0.0) if exact else hex(int(value)))
    if room == 0:
        raise NestedTooDeep
    if kind is list:
        items = []
        for item in value:
            items.append(frozen(item, room - 1))  # noqa: PERF401 - a comprehension doubles the frames
        return tuple(items)
    members = set()
    for name, member in value.items():
        members.add((name, frozen(member, room - 1)))
    return frozenset(members)


def is_number(value: Json) -> bool:
    """True if the value is a JSON number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def as_double(number: float) -> float:
    """The number as the service holds it. An integer that is a double already is returned as it is."""
    if isinstance(number, float) or -EXACT_INTEGER <= number <= EXACT_INTEGER:
        return number
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def text_less(left: str, right: str) -> bool:
    """True if `left` comes before `right` by UTF-16 code units."""
    # If one text is ASCII both orders agree: a first difference outside ASCII comes later in either order.
    if left.isascii() or right.isascii():
        return left < right
    return left.encode("utf-16-be", "surrogatepass") < right.encode("utf-16-be", "surrogatepass")


def kind_of(value: Json) -> str:
    """The JSON type with its article, for messages: `an object`."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"an array of {len(value)}"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, bool):
        return "a boolean"
    return "null" if value is None else "a number"
