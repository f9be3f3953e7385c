"""Attribute values: the rules on them, their stored form, their size, and their comparison.

A value is the JSON of the wire, an object with one member named by its type: `{"N": "1"}`, binary as base64 text. An
item is an object of such values. Both are checked and normalised once, on arrival, and never mutated; afterwards
equal values have equal JSON, except for the order of sets.

Source: developer guide, "Supported data types and naming rules", "Item sizes and formats"; texts observed.
"""

from __future__ import annotations

import binascii
import math
import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any, Final

from statewright.errors import ApiError
from statewright.payload import Json, JsonObject

Value = JsonObject
Item = dict[str, Value]

TYPES: Final = ("B", "NULL", "SS", "BOOL", "L", "BS", "N", "NS", "S", "M")
DEEPEST: Final = 32
"""Source: service quotas, nested attribute depth."""
LARGEST_ITEM_BYTES: Final = 400 * 1024
"""Source: service quotas."""
_DIGITS: Final = 38
_GREATEST_EXPONENT: Final = 125
_LEAST_EXPONENT: Final = -130
EXACT: Final = Context(prec=400)
"""Precise enough for the sum of any two numbers."""

_SMALL_INTEGER: Final = re.compile(r"-?[1-9][0-9]{0,37}|0")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,9})?")
_LONGEST_NUMBER: Final = 1_000
"""Characters: the longest with 38 digits have 130 zeros, and callers may write more of them."""
_INVALID: Final = "One or more parameter values were invalid: "
DETECTED: Final = "1 validation error detected: "
"""Stands before the errors that the service finds in a request by itself. Source: observed, in August 2026."""


def invalid(message: str) -> ApiError:
    """A `ValidationException`."""
    return ApiError("ValidationException", message)


# ------------------------------------------------------------------ checks on arrival


def checked_item(item: Json) -> tuple[Item, int]:
    """The stored form of an item, and its size in bytes.

    Raises: ApiError.
    """
    found: Item = {}
    size = 0
    for name, given in item.items():
        value, more = checked(given)
        found[name] = value
        size += utf8_length(name) + more
    return found, size


def checked(given: Json, depth: int = 0) -> tuple[Value, int]:
    """The stored form of a value, and its size in bytes.

    Raises: ApiError (`ValidationException`, `SerializationException`).
    """
    if not isinstance(given, dict):
        raise wrong_type(given, "a structure")
    kind, content = _only_member(given)
    if kind == "S":
        if type(content) is not str:
            raise wrong_type(content, "a String")
        return {"S": content}, utf8_length(content)
    if kind == "N":
        text = number_text(content)
        return {"N": text}, number_size(text)
    if depth >= DEEPEST and kind in ("L", "M"):
        raise invalid("Nesting Levels have exceeded supported limits")
    return _CHECKS[kind](content, depth)


def _only_member(given: JsonObject) -> tuple[str, Json]:
    found = [(kind, content) for kind, content in given.items() if kind in _KNOWN and content is not None]
    if len(found) == 1:
        return found[0]
    if not found:
        raise invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
    raise invalid(
        "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
    )


def _checked_null(content: Json, _depth: int) -> tuple[Value, int]:
    if not isinstance(content, bool):
        raise wrong_type(content, "a Boolean")
    if not content:
        raise invalid(_INVALID + "Null attribute value types must have the value of true")
    return {"NULL": True}, 1


def _checked_boolean(content: Json, _depth: int) -> tuple[Value, int]:
    if not isinstance(content, bool):
        raise wrong_type(content, "a Boolean")
    return {"BOOL": content}, 1


def _checked_binary(content: Json, _depth: int) -> tuple[Value, int]:
    text, size = _binary(content)
    return {"B": text}, size


def _checked_list(content: Json, depth: int) -> tuple[Value, int]:
    elements, size = [], 3
    for given in _listed(content):
        value, more = checked(given, depth + 1)
        elements.append(value)
        size += more + 1
    return {"L": elements}, size


def _checked_map(content: Json, depth: int) -> tuple[Value, int]:
    if not isinstance(content, dict):
        raise wrong_type(content, "a map")
    members, size = {}, 3
    for name, given in content.items():
        value, more = checked(given, depth + 1)
        members[name] = value
        size += utf8_length(name) + more + 1
    return {"M": members}, size


def _checked_strings(content: Json, _depth: int) -> tuple[Value, int]:
    texts = _listed(content)
    for text in texts:
        if type(text) is not str:
            raise wrong_type(text, "a String")
    if not texts:
        raise invalid(f"{DETECTED}{_INVALID}An string set  may not be empty")
    if len(set(texts)) < len(texts):
        raise invalid(_INVALID + f"Input collection [{', '.join(texts)}] contains duplicates.")
    if "" in texts:
        raise invalid(_INVALID + "An string set may not have a empty string as a member")
    return {"SS": texts}, sum(map(utf8_length, texts))


def _checked_numbers(content: Json, _depth: int) -> tuple[Value, int]:
    texts = [number_text(text) for text in _listed(content)]
    if not texts:
        raise invalid(_INVALID + "An number set  may not be empty")
    if len(set(texts)) < len(texts):
        raise invalid("Input collection contains duplicates")
    return {"NS": texts}, sum(map(number_size, texts))


def _checked_binaries(content: Json, _depth: int) -> tuple[Value, int]:
    found = [_binary(one) for one in _listed(content)]
    texts = [text for text, _ in found]
    if not texts:
        raise invalid(_INVALID + "Binary sets should not be empty")
    if len(set(texts)) < len(texts):
        raise invalid(_INVALID + f"Input collection [{', '.join(texts)}]of type BS contains duplicates.")
    if "" in texts:
        raise invalid(_INVALID + "Binary sets may not contain empty values")
    return {"BS": texts}, sum(size for _, size in found)


_CHECKS: Final[dict[str, Callable[[Json, int], tuple[Value, int]]]] = {
    "NULL": _checked_null,
    "BOOL": _checked_boolean,
    "B": _checked_binary,
    "L": _checked_list,
    "M": _checked_map,
    "SS": _checked_strings,
    "NS": _checked_numbers,
    "BS": _checked_binaries,
}
_KNOWN: Final = frozenset(TYPES)


def _listed(content: Json) -> list[Json]:
    if not isinstance(content, list):
        raise wrong_type(content, "a list")
    return content


def _binary(content: Json) -> tuple[str, int]:
    """Bytes as base64 text, and their number. Calls inside the process pass bytes."""
    if isinstance(content, str):
        try:
            raw = b64decode(content, validate=True)
        except (binascii.Error, ValueError):
            raise ApiError("SerializationException", "A blob is not base64 text") from None
    elif isinstance(content, (bytes, bytearray)):
        raw = bytes(content)
    else:
        raise wrong_type(content, "a Blob")
    return b64encode(raw).decode(), len(raw)


def wrong_type(value: Json, wanted: str) -> ApiError:
    """The error of the service's parser for a JSON value of another type."""
    if isinstance(value, dict):
        text = "Start of structure or map found where not expected"
    elif isinstance(value, list):
        text = "Start of list found where not expected"
    elif isinstance(value, bool):
        text = f"{str(value).upper()}_VALUE cannot be converted to {wanted.split()[-1]}"
    elif isinstance(value, str):
        text = f"STRING_VALUE cannot be converted to {wanted.split()[-1]}"
    elif value is None:
        text = "Unexpected null"
    else:
        text = f"NUMBER_VALUE cannot be converted to {wanted.split()[-1]}"
    return ApiError("SerializationException", text)


# ------------------------------------------------------------------ numbers


def number_text(given: Json) -> str:
    """The canonical form of a number: plain digits, no zeros at its ends. Raises: ApiError."""
    if type(given) is not str:
        raise wrong_type(given, "a String")
    if _SMALL_INTEGER.fullmatch(given) is not None:
        return given
    if _NUMBER.fullmatch(given) is None:
        what = f": {given}" if given else ""
        raise invalid(f"The parameter cannot be converted to a numeric value{what}")
    if len(given) > _LONGEST_NUMBER:
        raise invalid("Attempting to store more than 38 significant digits in a Number")
    # Exact, and of any exponent; a context would raise its own errors, or round.
    return plain_text(Decimal(given))


def plain_text(number: Decimal) -> str:
    """The canonical form of a number. Raises: ApiError if it is too precise, too large or too small."""
    if not number:
        return "0"
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).lstrip("0")
    short = text.rstrip("0")
    exponent += len(text) - len(short)
    adjusted = exponent + len(short) - 1
    if adjusted > _GREATEST_EXPONENT:
        raise invalid("Number overflow. Attempting to store a number with magnitude larger than supported range")
    if adjusted < _LEAST_EXPONENT:
        raise invalid("Number underflow. Attempting to store a number with magnitude smaller than supported range")
    if len(short) > _DIGITS:
        raise invalid("Attempting to store more than 38 significant digits in a Number")
    if exponent >= 0:
        plain = short + "0" * exponent
    elif adjusted >= 0:
        plain = f"{short[: adjusted + 1]}.{short[adjusted + 1 :]}"
    else:
        plain = "0." + "0" * (-adjusted - 1) + short
    return f"-{plain}" if sign else plain


def number_size(text: str) -> int:
    """The size of a number in bytes: one for each two digits, one more, and one for a sign."""
    digits = text.lstrip("-").replace(".", "").strip("0")
    return (len(digits) + 1) // 2 + 1 + (text[0] == "-")


# ------------------------------------------------------------------ sizes and comparisons


def utf8_length(text: str) -> int:
    """The length of a text in bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def size_of(value: Value) -> int:
    """The size of a stored value in bytes."""
    ((kind, content),) = value.items()
    if kind == "S":
        return utf8_length(content)
    if kind == "N":
        return number_size(content)
    if kind == "B":
        return binary_length(content)
    if kind == "L":
        return 3 + sum(1 + size_of(element) for element in content)
    if kind == "M":
        return 3 + sum(1 + utf8_length(name) + size_of(member) for name, member in content.items())
    if kind in ("SS", "NS", "BS"):
        of_one = {"SS": utf8_length, "NS": number_size, "BS": binary_length}[kind]
        return sum(map(of_one, content))
    return 1


def item_size(item: Item, most: float = math.inf) -> int:
    """The size of a stored item in bytes; of one that has more than `most`, only that it is more."""
    size = 0
    for name, value in item.items():
        size += utf8_length(name) + size_of(value)
        if size > most:
            break
    return size


def binary_length(text: str) -> int:
    """The length in bytes of what is stored as base64."""
    return len(text) // 4 * 3 - text.count("=", -2)


def kind_of(value: Value) -> str:
    """The type of a value."""
    return next(iter(value))


def equal(one: Value, other: Value) -> bool:
    """True if two stored values are the same; the order of a set does not matter."""
    if one == other:
        return True
    kind = kind_of(one)
    if kind != kind_of(other):
        return False
    left, right = one[kind], other[kind]
    if kind in ("SS", "NS", "BS"):
        return len(left) == len(right) and set(left) == set(right)
    if kind == "L":
        return len(left) == len(right) and all(map(equal, left, right))
    if kind == "M":
        return left.keys() == right.keys() and all(equal(member, right[name]) for name, member in left.items())
    return False


def ordered(value: Value) -> Any:
    """The sort key of a text, a number or bytes; `None` for values without an order."""
    ((kind, content),) = value.items()
    if kind == "S":
        return content
    if kind == "N":
        return Decimal(content)
    return b64decode(content) if kind == "B" else None


def shown(value: Value) -> str:
    """A value as messages quote it: `{N:5}`."""
    ((kind, content),) = value.items()
    return f"{{{kind}:{content}}}"
