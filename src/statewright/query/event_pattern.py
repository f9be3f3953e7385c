"""Event patterns: JSON that says which events are meant, compiled to a predicate.

Owns the language that event source mappings filter with and that rules match with. A pattern is an object; each of its
leaves is a list of what the value there may be. Fields that the pattern does not name do not matter.

Source: EventBridge user guide, "Event patterns" and "Comparison operators"; Lambda developer guide, "Event filtering".
"""

from __future__ import annotations

import fnmatch
import ipaddress
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from statewright.query.scope import Json

Test = Callable[[Any], bool]
"""Judges one value; `MISSING` stands for none."""

MISSING: Final = object()
NUMBER_BOUND: Final = 5e9
"""Numbers in patterns lie within plus and minus five thousand million. Source: EventBridge user guide."""
DEPTH: Final = 100


class PatternError(ValueError):
    """A pattern that is none; the text says where and why."""


def compile_pattern(pattern: Json, *, leaves: bool = True) -> Callable[[Json], bool]:
    """A predicate for whole events.

    `leaves` is false where an object must be given at the top, as rules want it.

    Raises: PatternError.
    """
    if not isinstance(pattern, dict):
        raise PatternError("Event pattern is not valid. Reason: Filter is not an object")
    if not pattern and not leaves:
        raise PatternError("Event pattern is not valid. Reason: Empty object is not allowed")
    return _object(pattern, "", 0)


def _object(pattern: Mapping[str, Json], where: str, depth: int) -> Test:
    if depth > DEPTH:
        raise PatternError(f"Event pattern is not valid. Reason: '{where}' is nested too deep")
    tests: list[tuple[str, Test, bool]] = []
    alternatives: list[Test] | None = None
    for name, part in pattern.items():
        at = f"{where}.{name}" if where else name
        if name == "$or":
            if not isinstance(part, list) or len(part) < 2 or not all(isinstance(one, dict) for one in part):
                raise PatternError(f"Event pattern is not valid. Reason: '{at}' must be a list of two or more objects")
            alternatives = [_object(one, at, depth + 1) for one in part]
        elif isinstance(part, dict):
            if not part:
                raise PatternError(f"Event pattern is not valid. Reason: Empty object is not allowed at '{at}'")
            tests.append((name, _object(part, at, depth + 1), True))
        elif isinstance(part, list):
            tests.append((name, _any_of(part, at), False))
        else:
            raise PatternError(f"Event pattern is not valid. Reason: '{name}' must be an object or an array")

    def matches(value: Any) -> bool:
        if isinstance(value, list):
            # An array matches if one of its elements does.
            return any(matches(element) for element in value if isinstance(element, dict))
        here = value if isinstance(value, dict) else {}
        for name, test, nested in tests:
            found = here.get(name, MISSING)
            if not (test(found) if nested or not isinstance(found, list) else _of_list(test, found)):
                return False
        return alternatives is None or any(one(value) for one in alternatives)

    return matches


def _of_list(test: Test, values: list[Any]) -> bool:
    """Whether a leaf matches an array: one of its elements must, or the array's being there must."""
    return any(test(value) for value in values) or (not values and test(_EMPTY))


_EMPTY: Final = object()
"""Stands for an empty array: it is there, and equal to nothing."""


def _any_of(choices: list[Json], where: str) -> Test:
    if not choices:
        raise PatternError(f"Event pattern is not valid. Reason: Empty arrays are not allowed at '{where}'")
    tests = [_choice(choice, where) for choice in choices]
    if len(tests) == 1:
        return tests[0]
    return lambda value: any(test(value) for test in tests)


def _choice(choice: Json, where: str) -> Test:
    if isinstance(choice, dict):
        if len(choice) != 1:
            raise PatternError(
                f"Event pattern is not valid. Reason: Only one key allowed in match expression at '{where}'"
            )
        ((name, argument),) = choice.items()
        make = _OPERATORS.get(name)
        if make is None:
            raise PatternError(f"Event pattern is not valid. Reason: Unrecognized match type {name} at '{where}'")
        return make(argument, where)
    if isinstance(choice, list):
        raise PatternError(f"Event pattern is not valid. Reason: Match value must be a primitive at '{where}'")
    return _equal(choice)


def _equal(wanted: Json) -> Test:
    if isinstance(wanted, bool) or wanted is None:
        return lambda value: value is wanted
    if isinstance(wanted, (int, float)):
        return lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and value == wanted
    return lambda value: isinstance(value, str) and value == wanted


# ------------------------------------------------------------------ operators


def _bad(name: str, where: str, wanted: str) -> PatternError:
    return PatternError(f"Event pattern is not valid. Reason: {name} at '{where}' must be {wanted}")


def _texts(argument: Json, name: str, where: str) -> list[str]:
    found = argument if isinstance(argument, list) else [argument]
    if not found or not all(isinstance(one, str) and one for one in found):
        raise _bad(name, where, "a text that is not empty, or a list of such")
    return found


def _affix(name: str, starts: bool) -> Callable[[Json, str], Test]:
    def make(argument: Json, where: str) -> Test:
        folded = isinstance(argument, dict) and list(argument) == ["equals-ignore-case"]
        text = argument["equals-ignore-case"] if folded and isinstance(argument, dict) else argument
        if not isinstance(text, str):
            raise _bad(name, where, "a text")
        wanted = text.casefold() if folded else text

        def test(value: Any) -> bool:
            if not isinstance(value, str):
                return False
            seen = value.casefold() if folded else value
            return seen.startswith(wanted) if starts else seen.endswith(wanted)

        return test

    return make


def _exists(argument: Json, where: str) -> Test:
    if not isinstance(argument, bool):
        raise _bad("exists", where, "true or false")
    # Only leaves exist: an object in that place does not count.
    if argument:
        return lambda value: value is not MISSING and not isinstance(value, dict)
    return lambda value: value is MISSING


def _ignoring_case(argument: Json, where: str) -> Test:
    wanted = {text.casefold() for text in _texts(argument, "equals-ignore-case", where)}
    return lambda value: isinstance(value, str) and value.casefold() in wanted


def _wildcard(argument: Json, where: str) -> Test:
    patterns = []
    for text in _texts(argument, "wildcard", where):
        if "**" in text:
            raise _bad("wildcard", where, "a text without consecutive wildcard characters")
        # Only the asterisk is special, and a backslash takes that from it.
        parts = re.split(r"(\\[*\\]|\*)", text)
        patterns.append("".join(_glob(part) for part in parts))
    compiled = [re.compile(fnmatch.translate(pattern), re.DOTALL) for pattern in patterns]
    return lambda value: isinstance(value, str) and any(one.match(value) is not None for one in compiled)


def _glob(part: str) -> str:
    if part == "*":
        return part
    plain = part[1] if part in (r"\*", r"\\") else part
    return re.sub(r"([*?\[])", r"[\1]", plain)


_COMPARE: Final[dict[str, Callable[[float, float], bool]]] = {
    "=": lambda value, bound: value == bound,
    "<": lambda value, bound: value < bound,
    "<=": lambda value, bound: value <= bound,
    ">": lambda value, bound: value > bound,
    ">=": lambda value, bound: value >= bound,
}


def _numeric(argument: Json, where: str) -> Test:
    if not isinstance(argument, list) or len(argument) not in (2, 4):
        raise _bad("numeric", where, "a list of one or two comparisons")
    bounds = []
    for comparison, bound in zip(argument[::2], argument[1::2], strict=True):
        if comparison not in _COMPARE:
            raise PatternError(f"Event pattern is not valid. Reason: Unrecognized numeric range operator at '{where}'")
        if isinstance(bound, bool) or not isinstance(bound, (int, float)) or not abs(bound) <= NUMBER_BOUND:
            raise _bad("numeric", where, "compared with numbers between -5.0E9 and 5.0E9")
        bounds.append((_COMPARE[comparison], bound))
    if len(bounds) == 2 and not (argument[0] in (">", ">=") and argument[2] in ("<", "<=")):
        raise _bad("numeric", where, "a range with its lower bound first")

    def test(value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
            return False
        return all(compare(value, bound) for compare, bound in bounds)

    return test


def _anything_but(argument: Json, where: str) -> Test:
    if isinstance(argument, dict):
        if len(argument) != 1:
            raise _bad("anything-but", where, "one operator")
        ((name, inner),) = argument.items()
        if name not in ("prefix", "suffix", "equals-ignore-case", "wildcard"):
            raise PatternError(
                f"Event pattern is not valid. Reason: Unsupported anything-but pattern: {name} at '{where}'"
            )
        texts = _texts(inner, name, where)
        refused = [_OPERATORS[name](text, where) for text in texts]
    else:
        choices = argument if isinstance(argument, list) else [argument]
        if not choices or any(isinstance(one, (dict, list)) or one is None for one in choices):
            raise _bad("anything-but", where, "values, or one operator")
        refused = [_equal(choice) for choice in choices]
    return lambda value: (
        value is not MISSING and not isinstance(value, dict) and not any(test(value) for test in refused)
    )


def _cidr(argument: Json, where: str) -> Test:
    try:
        network = ipaddress.ip_network(argument, strict=False)
    except (ValueError, TypeError):
        raise _bad("cidr", where, "a range of addresses") from None

    def test(value: Any) -> bool:
        try:
            return isinstance(value, str) and ipaddress.ip_address(value) in network
        except ValueError:
            return False

    return test


_OPERATORS: Final[dict[str, Callable[[Json, str], Test]]] = {
    "anything-but": _anything_but,
    "cidr": _cidr,
    "equals-ignore-case": _ignoring_case,
    "exists": _exists,
    "numeric": _numeric,
    "prefix": _affix("prefix", starts=True),
    "suffix": _affix("suffix", starts=False),
    "wildcard": _wildcard,
}
