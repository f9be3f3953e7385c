"""Values of templates and their texts, as Java would write them.

A value is JSON. Lists that a template makes are `Items`, because Java writes them otherwise than those of the body.
Writing and comparing values is counted as work of the rendering: they may share structure.

Source: observed: `$input.path` prints an object as `{a=b}`, a list as JSON, null and what is missing as nothing.
"""

from __future__ import annotations

import math
from typing import Final

from statewright.apis.templates.failures import RenderingFailed
from statewright.apis.templates.rendering import DEEPEST, LONGEST_TEXT, Rendering
from statewright.payload import Json, dump_json, size_of
from statewright.query.comparison import is_number, json_equal

MOST_BITS: Final = 512
"""Bits of a number. Ours: Java's numbers grow without bound here."""


class Items(list[Json]):
    """A list made by a template: printed as `[a, b]`."""


class Entry:
    """A member of `$map.entrySet()`."""

    __slots__ = ("key", "value")

    def __init__(self, key: str, value: Json) -> None:
        self.key = key
        self.value = value


def text_of(value: Json, run: Rendering) -> str:
    """A value's text; nothing for null."""
    kind = value.__class__
    if kind is str:
        return str(value)
    if value is None:
        return ""
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return str(value)
    if kind is float:
        return double_text(value)
    run.spend_text(_length(value, run), 2)
    return _container_text(value, 0)


def _length(value: Json, run: Rendering) -> int:
    """About the length of a container's text; counts its parts."""
    size = 0
    pending = [value]
    while pending:
        item = pending.pop()
        size += 4
        if isinstance(item, dict):
            run.spend(1 + len(item))
            size += sum(map(len, item))
            pending.extend(item.values())
        elif isinstance(item, list):
            run.spend(1 + len(item))
            pending.extend(item)
        elif isinstance(item, Entry):
            run.spend(1)
            pending.extend((item.key, item.value))
        elif isinstance(item, str):
            size += len(item)
        if size > LONGEST_TEXT:
            break
    return size


def _container_text(value: Json, depth: int) -> str:
    if depth > DEEPEST:
        raise RenderingFailed(f"a value is nested more than {DEEPEST} levels deep")
    if isinstance(value, dict):
        members = (f"{name}={_container_text(item, depth + 1)}" for name, item in value.items())
        return "{" + ", ".join(members) + "}"
    if isinstance(value, Items):
        return "[" + ", ".join(_container_text(item, depth + 1) for item in value) + "]"
    if isinstance(value, list):
        return json_text(value)
    if isinstance(value, Entry):
        return f"{value.key}={_container_text(value.value, depth + 1)}"
    if value is None:
        return "null"
    if value.__class__ is bool:
        return "true" if value else "false"
    if isinstance(value, float):
        return double_text(value)
    return str(value) if isinstance(value, str | int) else ""


def json_text(value: Json) -> str:
    """A value as JSON text, of entries of maps their texts. The caller has counted it."""
    return dump_json(_plain(value, 0) if isinstance(value, list | dict) else value)


def _plain(value: Json, depth: int) -> Json:
    if depth > DEEPEST:
        raise RenderingFailed(f"a value is nested more than {DEEPEST} levels deep")
    if isinstance(value, Entry):
        return _container_text(value, depth)
    if isinstance(value, dict):
        return {name: _plain(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, depth + 1) for item in value]
    return value if value is None or isinstance(value, str | int | float) else ""


def counted_json(value: Json, run: Rendering) -> str:
    """A value of the body as JSON text."""
    if value.__class__ in _CONTAINERS:
        run.spend_text(size_of(value, LONGEST_TEXT), 2)
    return dump_json(value)


_CONTAINERS: Final = frozenset({dict, list})


def double_text(number: float) -> str:
    """A number as `Double.toString` writes it: `1.0E7` from ten million, `1.0E-4` below a thousandth."""
    if number != number or number in (float("inf"), float("-inf")):
        return "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(number)
    digits, _, exponent = f"{abs(number)!r}".partition("e")
    whole, _, fraction = digits.partition(".")
    fraction = "" if fraction == "0" else fraction
    power = int(exponent or 0) + len(whole) - 1
    figures = (whole + fraction).lstrip("0")
    if whole == "0":
        power = int(exponent or 0) - (len(fraction) - len(fraction.lstrip("0"))) - 1
    figures = figures.rstrip("0") or "0"
    mantissa = f"{figures[0]}.{figures[1:] or '0'}"
    return f"{'-' if number < 0 else ''}{mantissa}E{power}"


def is_true(value: Json) -> bool:
    """The truth of a value: all but null and false are true, also an empty text."""
    return value is not None and value is not False


def equal(left: Json, right: Json, run: Rendering) -> bool:
    """`==`: numbers by value, values of one type by it, all others by their texts; null equals an empty text."""
    if left is None or right is None:
        other = right if left is None else left
        return other is None or other == ""
    if left.__class__ is str and right.__class__ is str:
        run.spend(1 + min(len(left), len(right)) // 256)
        return bool(left == right)
    if is_number(left) and is_number(right):
        return bool(left == right)
    if isinstance(left, dict | list) and isinstance(right, dict | list):
        run.spend(_length(left, run) // 32)
        return json_equal(left, right, run.spend)
    return text_of(left, run) == text_of(right, run)


def less(left: Json, right: Json) -> bool | None:
    """`<`; None for what is not two numbers, of which no comparison is true."""
    return left < right if is_number(left) and is_number(right) else None


def arithmetic(operator: str, left: Json, right: Json, run: Rendering) -> Json:
    """`+ - * / %`; null without two numbers, and for a division by zero. `+` joins texts."""
    if operator == "+" and (isinstance(left, str) or isinstance(right, str)):
        first, second = text_of(left, run), text_of(right, run)
        run.spend_text(len(first) + len(second))
        return first + second
    if not is_number(left) or not is_number(right):
        return None
    try:
        result = _calculated(operator, left, right)
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    if isinstance(result, int) and result.bit_length() > MOST_BITS:
        raise RenderingFailed(f"a number has more than {MOST_BITS} bits")
    return result


def _calculated(operator: str, left: float, right: float) -> float:
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    if operator == "*":
        return left * right
    if isinstance(left, int) and isinstance(right, int):
        # Java cuts towards zero, and the remainder has the sign of the dividend.
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if operator == "/" else left - quotient * right
    if operator == "/":
        return left / right
    return math.fmod(left, right)
