"""The functions that the service adds to JSONata, and those of JSONata that would read the outside world.

Owns `$partition`, `$range`, `$hash`, `$parse`, `$uuid` and `$random`, and the definitions that make `$now` and
`$millis` read the scope's clock. `library` decides when an expression gets them.
Source: the service's JSONata page; integer parameters are rounded down there.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from typing import Final, NoReturn

from statewright.payload import Json
from statewright.query.comparison import NestedTooDeep, frozen
from statewright.query.jsonata.errors import JsonataError, JsonataMemory, JsonataStackOverflow
from statewright.query.jsonata.guards import MAX_SEQUENCE
from statewright.query.scope import Entropy

DEFINITIONS: Final[Mapping[str, str]] = {
    "now": "function($p,$z){$fromMillis($$.now,$p,$z)}",
    "millis": "function(){$$.now}",
    "clone": "function($v){$v}",
    "random": "function($s){$exists($s)?$random__($s):$random__()}",
    "uuid": "function(){$uuid__()}",
    "distinct": (
        'function($a)<x:x>{$type($a)="array" and $count($a)>64'
        "?($d:=$distinct__($a);$count($d)>1?$d:$library_distinct__($a)):$library_distinct__($a)}"
    ),
    "partition": "function($a,$n){$exists($a)?$partition__($a,$n)}",
    "range": "function($a,$b,$d){$range__($a,$b,$d)}",
    "hash": "function($s,$a){$exists($s)?$hash__($s,$a)}",
    "parse": "function($s){$exists($s)?$parse__($s)}",
}
"""The value of `$name` where an expression mentions it. `$name__` is the Python function below.

The library's own `$distinct` compares every item with every other; one value, which JSONata may return without its
array, is left to it. The library does not distinguish undefined from null when it calls Python functions, so these
definitions do. It lacks `$clone`; values are never changed in place, so the value itself is returned.
"""

KEPT: Final[Mapping[str, str]] = {"distinct": "library_distinct__"}
"""Built-ins that their definition above calls, by the name that they keep for it."""

_ALGORITHMS: Final = {
    "MD5": "md5",
    "SHA-1": "sha1",
    "SHA-256": "sha256",
    "SHA-384": "sha384",
    "SHA-512": "sha512",
}


class Host:
    """The Python side of the functions for one compiled expression. `entropy` is set before each evaluation."""

    __slots__ = ("entropy",)

    def __init__(self) -> None:
        self.entropy = Entropy(b"")

    def functions(self) -> dict[str, Callable[..., Json]]:
        """By the name in a definition above."""
        return {
            "random": self.random,
            "uuid": self.uuid,
            "distinct": distinct,
            "partition": partition,
            "range": number_range,
            "hash": hash_text,
            "parse": parse_json,
        }

    def random(self, *arguments: Json) -> float:
        """From 0 (inclusive) to 1 (exclusive); the same for the same seed."""
        if not arguments:
            return self.entropy.uniform()
        seed = _integer("random", 1, arguments[0])
        return Entropy(hashlib.sha256(str(seed).encode()).digest()).uniform()

    def uuid(self) -> str:
        """A version 4 UUID."""
        return self.entropy.uuid4()


def partition(*arguments: Json) -> list[Json]:
    """The array in pieces of `size`; the last may be shorter. A single value is an array of one."""
    array, given_size = _exactly("partition", 2, arguments)
    items = array if isinstance(array, list) else [array]
    size = _integer("partition", 2, given_size)
    if size < 1:
        _mismatch("partition", 2)
    return [items[start : start + size] for start in range(0, len(items), size)]


def distinct(*arguments: Json) -> list[Json]:
    """The items of an array without repetitions, in the order of their first occurrence."""
    (array,) = _exactly("distinct", 1, arguments)
    assert isinstance(array, list)
    first_seen: dict[object, Json] = {}
    try:
        for item in array:
            first_seen.setdefault(frozen(item), item)
    except NestedTooDeep:
        raise JsonataStackOverflow from None
    return list(first_seen.values())


def number_range(*arguments: Json) -> list[int] | int:
    """The numbers from `first` to `last`, both included, `delta` apart; a single one stands alone (observed)."""
    given = _exactly("range", 3, arguments)
    first, last, delta = (_integer("range", position, value) for position, value in enumerate(given, 1))
    if delta == 0:
        _mismatch("range", 3)
    numbers = range(first, last + (1 if delta > 0 else -1), delta)
    # len() of so long a range would overflow: the bounds are floats and may be far apart.
    if (last - first) // delta >= MAX_SEQUENCE:
        raise JsonataMemory
    return list(numbers) if len(numbers) != 1 else numbers[0]


def hash_text(*arguments: Json) -> str:
    """The digest of the text's UTF-8 bytes, in lower-case hexadecimal."""
    text, algorithm = _exactly("hash", 2, arguments)
    if not isinstance(text, str):
        _mismatch("hash", 1)
    name = _ALGORITHMS.get(algorithm) if isinstance(algorithm, str) else None
    if name is None:
        _mismatch("hash", 2)
    return hashlib.new(name, text.encode("utf-8"), usedforsecurity=False).hexdigest()


def parse_json(*arguments: Json) -> Json:
    """The value that a JSON text stands for."""
    (text,) = _exactly("parse", 1, arguments)
    if not isinstance(text, str):
        _mismatch("parse", 1)
    try:
        return json.loads(text, parse_int=_parse_integer, parse_constant=_no_constant)
    except RecursionError:
        raise JsonataStackOverflow from None
    except ValueError as error:
        raise JsonataError("D3120", f"The argument of the parse function is not valid JSON: {error}") from None


def _parse_integer(text: str) -> int | float:
    """JSONata's numbers are doubles; the library takes no integer beyond 64 bits."""
    return int(text) if len(text) <= 16 else float(text)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _exactly(function: str, count: int, arguments: tuple[Json, ...]) -> tuple[Json, ...]:
    if len(arguments) != count:
        _mismatch(function, min(len(arguments), count) + 1)
    return arguments


def _integer(function: str, position: int, value: Json) -> int:
    """The number rounded down."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        _mismatch(function, position)
    return math.floor(value)


def _mismatch(function: str, position: int) -> NoReturn:
    raise JsonataError("T0410", f'Argument {position} of function "{function}" does not match function signature')
