"""Comparisons in filter patterns: numbers, texts with wildcards, regular expressions.

Source: CloudWatch Logs user guide, "Filter pattern syntax".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from statewright.errors import ApiError
from statewright.query.linear_regex import RegexSyntaxError, compile_regex

Test = Callable[[str], bool]
"""True if a text matches."""

NUMBERS: Final[dict[str, Callable[[float, float], bool]]] = {
    "=": lambda value, bound: value == bound,
    "!=": lambda value, bound: value != bound,
    "<": lambda value, bound: value < bound,
    "<=": lambda value, bound: value <= bound,
    ">": lambda value, bound: value > bound,
    ">=": lambda value, bound: value >= bound,
}


def invalid_pattern() -> ApiError:
    """The error for a pattern that cannot be parsed."""
    return ApiError("InvalidParameterException", "Invalid filter pattern")


def compare(operator: str, kind: str, wanted: str) -> Test:
    """The comparison of a text with a `word`, a `text` in quotes or a `regex`. Raises: ApiError."""
    bound = number(wanted) if kind == "word" else None
    if bound is not None:
        test = NUMBERS[operator]

        def compared(text: str) -> bool:
            value = number(text)
            return value is not None and test(value, bound)

        return compared
    if operator not in ("=", "!="):
        raise invalid_pattern()
    matches = regex(wanted) if kind == "regex" else wildcard(re.sub(r"\\(.)", r"\1", wanted))
    return lambda text: matches(text) == (operator == "=")


def regex(text: str) -> Test:
    """A regular expression that may match anywhere. Raises: ApiError."""
    try:
        compiled = compile_regex(rf"[\s\S]*({text})[\s\S]*")
    except RegexSyntaxError:
        raise invalid_pattern() from None
    return compiled.fullmatch


def wildcard(text: str) -> Test:
    """A text in which `*` stands for any characters."""
    if "*" not in text:
        return lambda value: value == text
    first, *between, last = text.split("*")

    def matches(value: str) -> bool:
        if not value.startswith(first) or not value.endswith(last) or len(value) < len(first) + len(last):
            return False
        place, end = len(first), len(value) - len(last)
        for part in between:
            found = value.find(part, place, end)
            if found < 0:
                return False
            place = found + len(part)
        return True

    return matches


def number(text: str) -> float | None:
    """A decimal number; None for other texts."""
    return float(text) if re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", text) else None
