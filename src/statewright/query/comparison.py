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
