"""The functions that may end a JSONPath (`$.items.length()`), and the features that no recording confirms.

On fidelity: Jayway documents these functions, the service's guide bars them only from Reference
Paths, and no published source shows the service's results. They are therefore accepted, and marked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from statewright.payload import Json
from statewright.query.comparison import as_double


class PathFunctionError(Exception):
    """Raised by a function that has no result for its value; the message completes "No results for path"."""


@dataclass(frozen=True, slots=True)
class PathFunction:
    """`apply(value, arguments)` returns the result or raises `PathFunctionError`."""

    apply: Callable[[Json, list[Json]], Json]
    min_arguments: int = 0
    max_arguments: int | None = 0
    """None means any number."""
    confirmed: bool = False
    """True if a recording of the service shows it; lints may warn about the others."""


def _length(value: Json, _: list[Json]) -> Json:
    if isinstance(value, list | dict | str):
        return len(value)
    raise PathFunctionError("length() needs an array, an object or a string")


def _keys(value: Json, _: list[Json]) -> Json:
    if isinstance(value, dict):
        return list(value)
    raise PathFunctionError("keys() needs an object")


def _elements(value: Json, name: str) -> list[Json]:
    if isinstance(value, list):
        return value
    raise PathFunctionError(f"{name}() needs an array")


def _first(value: Json, _: list[Json]) -> Json:
    return _index(value, [0])


def _last(value: Json, _: list[Json]) -> Json:
    return _index(value, [-1])


def _index(value: Json, arguments: list[Json]) -> Json:
    elements = _elements(value, "index")
    position = arguments[0]
    if type(position) is not int or not -len(elements) <= position < len(elements):
        raise PathFunctionError(f"the array has {len(elements)} elements")
    return elements[position]


def _append(value: Json, arguments: list[Json]) -> Json:
    return [*_elements(value, "append"), *arguments]


def _concat(value: Json, arguments: list[Json]) -> Json:
    elements = value if isinstance(value, list) else []
    return "".join(piece for piece in [*elements, *arguments] if isinstance(piece, str))


def _numbers(value: Json, arguments: list[Json]) -> list[float]:
    """The numbers of the array and of the arguments, including those inside array arguments."""
    found = [
        as_double(element)
        for source in (value, *arguments)
        for element in (source if isinstance(source, list) else (source,))
        if isinstance(element, int | float) and not isinstance(element, bool)
    ]
    if not found:
        raise PathFunctionError("there is no number to aggregate")
    return found


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise PathFunctionError("the result is not a finite number")
    return number


def _min(value: Json, arguments: list[Json]) -> Json:
    return _finite(min(_numbers(value, arguments)))


def _max(value: Json, arguments: list[Json]) -> Json:
    return _finite(max(_numbers(value, arguments)))


def _sum(value: Json, arguments: list[Json]) -> Json:
    return _finite(sum(_numbers(value, arguments)))


def _avg(value: Json, arguments: list[Json]) -> Json:
    numbers = _numbers(value, arguments)
    return _finite(sum(numbers) / len(numbers))


def _stddev(value: Json, arguments: list[Json]) -> Json:
    numbers = [_finite(number) for number in _numbers(value, arguments)]
    mean = sum(numbers) / len(numbers)
    return _finite(math.sqrt(sum((number - mean) * (number - mean) for number in numbers) / len(numbers)))


FUNCTIONS: Final[Mapping[str, PathFunction]] = {
    "length": PathFunction(_length),
    "size": PathFunction(_length),
    "keys": PathFunction(_keys),
    "first": PathFunction(_first),
    "last": PathFunction(_last),
    "index": PathFunction(_index, 1, 1),
    "append": PathFunction(_append, 1, None),
    "concat": PathFunction(_concat, 0, None),
    "min": PathFunction(_min, 0, None),
    "max": PathFunction(_max, 0, None),
    "sum": PathFunction(_sum, 0, None),
    "avg": PathFunction(_avg, 0, None),
    "stddev": PathFunction(_stddev, 0, None),
}

UNCONFIRMED: Final[Mapping[str, str]] = {
    "function": "a function; on an indefinite path it is applied to the array of matches",
    "negative index": "[-1] counts from the end",
    "negative slice": "[1:-1] counts from the end on both sides",
    "index union": "[0,9]: indexes past the end are left out",
    "name union": "['a','b'] at the end gives one object with the members found, as Jayway does",
    "membership": "in, nin, subsetof, anyof, noneof, all, contains, size, empty",
    "negation": "!(...) and !@.x",
    "double-quoted text": "a text in double quotes inside a filter",
    "escaped quote": "a backslash before a quote in a bracketed name",
    "regular expression": "=~ with the syntax of `linear_regex`",
    "existence of many": "[?(@.a[*])] asks for at least one match; Jayway asks only that the parent exists",
    "outer value": "$$ or $name inside a filter",
}
"""Features of paths that no recording of the service shows, by the name that `JsonPath.unconfirmed` lists."""
