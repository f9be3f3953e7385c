"""The 18 intrinsic functions (`States.*`) as plain functions over JSON values, with the rules for their arguments.

Owns the result of each function, its arguments and the errors for wrong ones. The text of a call, its paths and its
nesting belong to `query.intrinsics`; the size of a payload to the code that accepts payloads, so the 256 KiB that the
service guide names for the array functions are not counted again here.

Every function raises `ExecutionFailure` with `States.IntrinsicFailure` when an argument breaks a rule. The cause
starts as the service's own does, `Invalid arguments in States.MathAdd`, and then names the argument and the rule.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from statewright.errors import INTRINSIC_FAILURE, ExecutionFailure
from statewright.payload import Json
from statewright.query.comparison import VALUE_DEPTH, NestedTooDeep, frozen
from statewright.query.scope import Entropy

ARRAY_RANGE_ITEMS: Final = 1000
"""Source: Step Functions developer guide, States.ArrayRange."""
ENCODING_CHARACTERS: Final = 10_000
"""Source: Step Functions developer guide, States.Base64Encode, States.Base64Decode and States.Hash."""
MATH_ADD_LOWEST: Final = -(2**31)
MATH_ADD_HIGHEST: Final = 2**31 - 1
"""Source: Step Functions developer guide, States.MathAdd."""


@dataclass(frozen=True, slots=True)
class Function:
    """One intrinsic function: its full name, how many arguments it takes (`most` None: any number), and its body.

    With `draws` the body takes the scope's `Entropy` before the arguments. `reads_whole`: it reads its first argument
    down to the last character, so that its work is in proportion to that.
    """

    name: str
    least: int
    most: int | None
    body: Callable[..., Json]
    draws: bool = False
    reads_whole: bool = False


# Generic and string functions


def format_pattern(pieces: Sequence[str]) -> str:
    """Make a pattern for `%` of the pieces of a template, with `%s` between them for texts from `format_text`."""
    return "%s".join([piece.replace("%", "%%") for piece in pieces])


def format_text(value: Json) -> str:
    """Write one argument of `States.Format`.

    Raises:
        ExecutionFailure: the value nests too deep, or is an integer of thousands of digits.
    """
    return value if type(value) is str else _java_text(value, VALUE_DEPTH)


def _format(template: Json, *arguments: Json) -> str:
    # Escapes belong to the text of a call: a template from data has none.
    pieces = _string("States.Format", "argument 1, the template,", template).split("{}")
    if len(pieces) - 1 != len(arguments):
        _fail(
            "States.Format",
            f"the template has {len(pieces) - 1} placeholders {{}}, but {len(arguments)} arguments follow it",
        )
    return format_pattern(pieces) % tuple([format_text(value) for value in arguments])


def _string_to_json(text: Json) -> Json:
    text = _string("States.StringToJson", "argument 1", text)
    if not text.strip(" \t\r\n"):
        return None
    if _nests_deeper_than(VALUE_DEPTH, text):
        _fail("States.StringToJson", f"argument 1 nests arrays and objects deeper than {VALUE_DEPTH} levels")
    try:
        value = _DECODER.decode(text)
        if "\\ud" in text or "\\uD" in text:
            _encode(value).encode()  # half a surrogate pair is not text: it could not be stored or sent
    except ValueError as error:
        _fail("States.StringToJson", f"argument 1 is not valid JSON: {error}")
    return value


def _json_to_string(value: Json) -> str:
    try:
        text = _encode(value)
        too_deep = _nests_deeper_than(VALUE_DEPTH, text)
    except RecursionError:
        too_deep = True
    if too_deep:
        _fail("States.JsonToString", f"argument 1 nests arrays and objects deeper than {VALUE_DEPTH} levels")
    return text


def _string_split(text: Json, delimiters: Json) -> list[str]:
    text = _string("States.StringSplit", "argument 1", text)
    delimiters = _string("States.StringSplit", "argument 2, the delimiters,", delimiters)
    if not delimiters:
        return [text] if text else []
    first = delimiters[0]
    if len(delimiters) > 1:
        text = text.translate(dict.fromkeys(map(ord, delimiters), first))
    return [piece for piece in text.split(first) if piece]


def _uuid(entropy: Entropy) -> str:
    return entropy.uuid4()


# Arrays


def _array_of(*items: Json) -> list[Json]:
    return list(items)


def _array_partition(array: Json, size: Json) -> list[Json]:
    array = _array("States.ArrayPartition", array)
    size = _integer("States.ArrayPartition", "argument 2, the chunk size,", size)
    if size < 1:
        _fail(
            "States.ArrayPartition", f"argument 2, the chunk size, must be a positive integer, but was {_shown(size)}"
        )
    return [array[start : start + size] for start in range(0, len(array), size)]


def _array_contains(array: Json, wanted: Json) -> bool:
    array = _array("States.ArrayContains", array)
    kind = type(wanted)
    if kind is str or wanted is None:
        return wanted in array
    if kind is bool:
        return any(item is wanted for item in array)
    if kind is int or kind is float:
        return any(item == wanted and type(item) is not bool for item in array)
    wanted_frozen = _frozen("States.ArrayContains", wanted)
    return any(
        _frozen("States.ArrayContains", item) == wanted_frozen
        for item in array
        if type(item) is kind and len(item) == len(wanted)
    )


def _array_range(first: Json, last: Json, step: Json) -> list[int]:
    first = _integer("States.ArrayRange", "argument 1, the first element,", first)
    last = _integer("States.ArrayRange", "argument 2, the last element,", last)
    step = _integer("States.ArrayRange", "argument 3, the step,", step)
    if step == 0:
        _fail("States.ArrayRange", "argument 3, the step, must not be 0")
    if (last - first) // step + 1 > ARRAY_RANGE_ITEMS:
        _fail("States.ArrayRange", f"the array would have more than {ARRAY_RANGE_ITEMS} items")
    return list(range(first, last + (1 if step > 0 else -1), step))


def _array_get_item(array: Json, index: Json) -> Json:
    array = _array("States.ArrayGetItem", array)
    if type(index) is not int:
        if type(index) is not float or not index.is_integer():
            _fail("States.ArrayGetItem", f"argument 2, the index, must be an integer, but was {_kind(index)}")
        index = int(index)
    if not 0 <= index < len(array):
        _fail(
            "States.ArrayGetItem",
            f"argument 2, the index, is {_shown(index)}, which is outside an array of {len(array)} items",
        )
    return array[index]


def _array_length(array: Json) -> int:
    return len(_array("States.ArrayLength", array))


def _array_unique(array: Json) -> list[Json]:
    first_seen: dict[object, Json] = {}
    for item in _array("States.ArrayUnique", array):
        first_seen.setdefault(_frozen("States.ArrayUnique", item), item)
    return list(first_seen.values())


# Encoding and hashing


def _base64_encode(text: Json) -> str:
    text = _short_string("States.Base64Encode", text)
    return base64.b64encode(text.encode(errors="replace")).decode("ascii")


def _base64_decode(text: Json) -> str:
    # MIME decoding ignores characters outside its alphabet, mainly line breaks.
    symbols = _NOT_BASE64.sub("", _short_string("States.Base64Decode", text)).rstrip("=")
    if "=" in symbols or len(symbols) % 4 == 1:
        _fail("States.Base64Decode", "argument 1 is not Base64 text")
    return base64.b64decode(symbols + "=" * (-len(symbols) % 4)).decode(errors="replace")


def _hash(data: Json, algorithm: Json) -> str:
    data = _short_string("States.Hash", data)
    digest = _DIGESTS.get(algorithm) if type(algorithm) is str else None
    if digest is None:
        _fail("States.Hash", f"argument 2, the algorithm, must be one of {', '.join(_DIGESTS)}")
    return hashlib.new(digest, data.encode(errors="replace"), usedforsecurity=False).hexdigest()


# Objects and numbers


def _json_merge(first: Json, second: Json, deep: Json) -> Json:
    if type(first) is not dict:
        _fail("States.JsonMerge", f"argument 1 must be an object, but was {_kind(first)}")
    if type(second) is not dict:
        _fail("States.JsonMerge", f"argument 2 must be an object, but was {_kind(second)}")
    if deep is not False:
        _fail("States.JsonMerge", "argument 3, the deep merging mode, must be false: only shallow merging is supported")
    return {**first, **second}


def _math_add(first: Json, second: Json) -> int:
    if type(first) is not int:
        first = _integer("States.MathAdd", "argument 1", first)
    if type(second) is not int:
        second = _integer("States.MathAdd", "argument 2", second)
    total: int = first + second
    if not (
        MATH_ADD_LOWEST <= first <= MATH_ADD_HIGHEST
        and MATH_ADD_LOWEST <= second <= MATH_ADD_HIGHEST
        and MATH_ADD_LOWEST <= total <= MATH_ADD_HIGHEST
    ):
        _refuse_sum(first, second, total)
    return total


def _refuse_sum(first: int, second: int, total: int) -> NoReturn:
    named = (("argument 1", first), ("argument 2", second), ("the sum", total))
    subject, value = next((s, v) for s, v in named if not MATH_ADD_LOWEST <= v <= MATH_ADD_HIGHEST)
    _fail(
        "States.MathAdd",
        f"{subject} must be from {MATH_ADD_LOWEST} to {MATH_ADD_HIGHEST}, but was {_shown(value)}",
    )


def _math_random(entropy: Entropy, start: Json, end: Json, seed: Json = None) -> int:
    lowest = _integer("States.MathRandom", "argument 1, the start,", start)
    beyond = _integer("States.MathRandom", "argument 2, the end,", end)
    if lowest >= beyond:
        _fail(
            "States.MathRandom",
            f"argument 1, the start, must be less than argument 2, the end, but {_shown(lowest)} is not less than "
            f"{_shown(beyond)}",
        )
    if seed is not None:
        number = _integer("States.MathRandom", "argument 3, the seed,", seed)
        entropy = Entropy(hashlib.sha256(hex(number).encode("ascii")).digest())
    # 256 random bits: the bias of the remainder is immeasurable for any range that fits a payload's numbers.
    return lowest + int.from_bytes(entropy.next_bytes(), "big") % (beyond - lowest)


FUNCTIONS: Final[dict[str, Function]] = {
    function.name: function
    for function in (
        Function("States.Format", 1, None, _format),
        Function("States.StringToJson", 1, 1, _string_to_json, reads_whole=True),
        Function("States.JsonToString", 1, 1, _json_to_string, reads_whole=True),
        Function("States.Array", 0, None, _array_of),
        Function("States.ArrayPartition", 2, 2, _array_partition),
        Function("States.ArrayContains", 2, 2, _array_contains, reads_whole=True),
        Function("States.ArrayRange", 3, 3, _array_range),
        Function("States.ArrayGetItem", 2, 2, _array_get_item),
        Function("States.ArrayLength", 1, 1, _array_length),
        Function("States.ArrayUnique", 1, 1, _array_unique, reads_whole=True),
        Function("States.Base64Encode", 1, 1, _base64_encode),
        Function("States.Base64Decode", 1, 1, _base64_decode),
        Function("States.Hash", 2, 2, _hash),
        Function("States.JsonMerge", 3, 3, _json_merge),
        Function("States.MathRandom", 2, 3, _math_random, draws=True),
        Function("States.MathAdd", 2, 2, _math_add),
        Function("States.StringSplit", 2, 2, _string_split, reads_whole=True),
        Function("States.UUID", 0, 0, _uuid, draws=True),
    )
}
"""Every function by its full name. Source: Step Functions developer guide, Intrinsic functions."""


# Argument rules


def _fail(function: str, reason: str) -> NoReturn:
    raise ExecutionFailure(INTRINSIC_FAILURE, f"Invalid arguments in {function}: {reason}")


def _string(function: str, argument: str, value: Json) -> str:
    if type(value) is not str:
        _fail(function, f"{argument} must be a string, but was {_kind(value)}")
    return value


def _short_string(function: str, value: Json) -> str:
    text = _string(function, "argument 1", value)
    if len(text) > ENCODING_CHARACTERS:
        _fail(function, f"argument 1 has {len(text)} characters, more than {ENCODING_CHARACTERS}")
    return text


def _array(function: str, value: Json) -> list[Json]:
    if type(value) is not list:
        _fail(function, f"argument 1 must be an array, but was {_kind(value)}")
    return value


def _integer(function: str, argument: str, value: Json) -> int:
    """Take an integer as it is and round any other number to the nearest, halves up: 1.5 to 2, -1.5 to -1."""
    if type(value) is int:
        return value
    if type(value) is not float or not math.isfinite(value):
        _fail(function, f"{argument} must be a number, but was {_kind(value)}")
    # Adding 0.5 first would round 0.49999999999999994 up; the difference to the floor is exact.
    floor = math.floor(value)
    return floor + (value - floor >= 0.5)


def _kind(value: Json) -> str:
    if type(value) is float:
        return f"the number {value!r}"
    return _KINDS.get(type(value), "something else")


def _shown(number: int) -> str:
    # Python refuses to print integers of thousands of digits; an error text does not need them either.
    return str(number) if abs(number) < 10**30 else "a number of over 30 digits"


_KINDS: Final = {
    str: "a string",
    int: "an integer",
    bool: "a boolean",
    type(None): "null",
    list: "an array",
    dict: "an object",
}

_DIGESTS: Final = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}

_NOT_BASE64: Final = re.compile(r"[^A-Za-z0-9+/=]+")


# Values as text


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"the number {text[:30]} is out of range")
    return number


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON value")


_DECODER: Final = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant)

_encode: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode

# Possessive, and content with an open end, so that every text is read once.
_QUOTED: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NOT_BRACKET: Final = re.compile(r"[^\[\]{}]++")
_TO_SQUARE: Final = str.maketrans("{}", "[]")


def _nests_deeper_than(limit: int, text: str) -> bool:
    """True if arrays and objects of a JSON text nest deeper; the answer for other text does not matter."""
    if text.count("[") + text.count("{") <= limit:
        return False
    brackets = _NOT_BRACKET.sub("", _QUOTED.sub("", text)).translate(_TO_SQUARE)
    for _ in range(limit):
        shorter = brackets.replace("[]", "")
        if len(shorter) == len(brackets):
            break
        brackets = shorter
    return brackets.count("[") > 0


def _frozen(function: str, value: Json) -> object:
    try:
        return frozen(value)
    except NestedTooDeep:
        _fail(function, f"a value nests arrays and objects deeper than {VALUE_DEPTH} levels")


def _java_text(value: Json, room: int) -> str:
    """Write a value as the service does in a formatted text, which is what Java's `toString` gives.

    `{name=Ann, tags=[a, b]}`, strings bare at any depth, floats as `Double.toString`: plain from 0.001 up to
    10,000,000 and `1.0E7` beyond. Source: observed for objects and arrays; the form of large floats is assumed.
    """
    kind = type(value)
    if kind is int:
        try:
            return str(value)
        except ValueError:  # more digits than Python writes in one go
            _fail("States.Format", "an argument is an integer with too many digits")
    if kind is str:
        return str(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is float:
        return _java_double(value)
    if room == 0:
        _fail("States.Format", f"an argument nests arrays and objects deeper than {VALUE_DEPTH} levels")
    parts = []
    if kind is list:
        for item in value:
            parts.append(_java_text(item, room - 1))  # noqa: PERF401
        return "[" + ", ".join(parts) + "]"
    for name, member in value.items():
        parts.append(f"{name}={_java_text(member, room - 1)}")
    return "{" + ", ".join(parts) + "}"


def _java_double(number: float) -> str:
    magnitude = abs(number)
    text = repr(magnitude)
    sign = "-" if math.copysign(1.0, number) < 0 else ""
    if magnitude == 0 or 1e-3 <= magnitude < 1e7:
        return sign + text
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    power = len(whole) - (len(whole + fraction) - len(digits)) + int(exponent or 0) - 1
    digits = digits.rstrip("0")
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power}"
