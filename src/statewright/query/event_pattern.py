"""Event patterns: JSON that selects events, compiled to a predicate.

Owns the language of event source mappings' filters and of rules. A pattern is an object; each of its leaves lists the
accepted values of one field. Fields that the pattern does not name are ignored.

Source: EventBridge user guide, "Event patterns" and "Comparison operators"; Lambda developer guide, "Event filtering".
The messages for invalid patterns follow the service's published rule library and reports of users.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from statewright.payload import Json, dump_json
from statewright.query.matching import Matching
from statewright.query.pattern_leaves import Accepted, ArrayTest, Leaf, Span, Test, compile_leaf
from statewright.query.wildcards import Wildcards, is_complex

MOST_OTHERS: Final = 32
"""Wildcards and negations in one leaf. Ours: each is tried on each element of an array."""

_COMPLEX: Final = (
    "Rule is too complex - try using fewer wildcard characters or fewer repeating character sequences after a wildcard "
    "character"
)

MISSING: Final = object()
NUMBER_BOUND: Final = 5e9
"""Numbers in patterns lie within plus and minus five thousand million. Source: EventBridge user guide."""
DEPTH: Final = 100
_OBJECT: Final = 3
"""The cost of matching an element of an array with an object, in comparisons; its members cost their own."""
_CHARACTERS: Final = 32
"""Characters that are searched in the time of one comparison, at least."""


Place = tuple[str | int, ...]
"""A value's place in a pattern: names and indices from the top."""


Pattern = Callable[[Json, Matching], bool]
"""True if an event matches. Raises: TooMuchWork, if that cannot be found out within the bound of the matching."""
Accept = Callable[[Accepted, Json, Place], None]
"""Adds what an operator accepts, given its argument and its place. Raises: PatternError."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Rules that differ between services.

    `objects_below_dots`: the value of an event's name with dots may be an object. `digits` after the point count in
    numeric comparisons, all if None.
    """

    objects_below_dots: bool = False
    digits: int | None = None


EVENTS: Final = Dialect()
TOPICS: Final = Dialect(objects_below_dots=True, digits=5)
"""Source: observed; SNS developer guide, "Filter policy constraints"."""


class PatternError(ValueError):
    """Raised for an invalid pattern. `reason` says why, the text also where.

    The fault was noticed as the value at `place` began, or at the end of it if `closed`; the service names no place for
    it unless `is_located`.
    """

    def __init__(self, reason: str, place: Place = (), *, closed: bool = False, is_located: bool = True) -> None:
        where = ".".join(str(step) for step in place)
        super().__init__(f"Event pattern is not valid. Reason: {reason}" + (f" at '{where}'" if where else ""))
        self.reason = reason
        self.place = place
        self.closed = closed
        self.is_located = is_located


def compile_pattern(pattern: Json, *, leaves: bool = True, dialect: Dialect = EVENTS) -> Pattern:
    """A predicate for whole events.

    `leaves` is false if the top of the pattern must be an object, as in rules. A name with dots is a path, in patterns
    and in events.

    Raises: PatternError.
    """
    if not isinstance(pattern, dict):
        raise PatternError("Filter is not an object")
    if not pattern and not leaves:
        raise PatternError("Empty objects are not allowed", closed=True)
    return _object(pattern, (), dialect)


def refuse_complex(pattern: Json) -> None:
    """Refuse a compiled pattern that has a wildcard of too much complexity. Raises: PatternError."""
    if isinstance(pattern, dict):
        for inner in pattern.values():
            refuse_complex(inner)
    elif isinstance(pattern, list):
        for choice in pattern:
            if isinstance(choice, dict):
                _refuse_complex_choice(choice)


def _refuse_complex_choice(choice: Mapping[str, Json]) -> None:
    """As `refuse_complex`, for an operator or an alternative of `$or`."""
    negated = choice.get("anything-but")
    refused = negated.get("wildcard") if isinstance(negated, dict) else None
    texts = [choice.get("wildcard"), *(refused if isinstance(refused, list) else [refused])]
    if any(isinstance(text, str) and is_complex(text) for text in texts):
        raise PatternError(_COMPLEX, is_located=False)
    refuse_complex(choice)


def _object(pattern: Mapping[str, Json], where: Place, dialect: Dialect) -> Test:
    if len(where) > DEPTH:
        raise PatternError("The pattern is nested too deep")
    tests: list[_Part] = []
    alternatives: list[Test] | None = None
    for name, part in pattern.items():
        at = (*where, name)
        first, *path = name.split(".", DEPTH)
        if name == "$or":
            alternatives = _alternatives(part, at, dialect)
        elif isinstance(part, dict):
            if not part:
                raise PatternError("Empty objects are not allowed", at, closed=True)
            tests.append(_below(first, path, _object(part, at, dialect), None, dialect.objects_below_dots))
        elif isinstance(part, list):
            tests.append(_below(first, path, *_any_of(part, at, dialect), dialect.objects_below_dots))
        else:
            raise PatternError(f'"{name}" must be an object or an array', at)
    return _all_of(tests, alternatives, dialect.objects_below_dots)


_NAMES: Final = 8
"""Names that are joined in the time of one comparison."""
_Part = tuple[str, Test, ArrayTest | None]
"""A name, the test of its value, and for a leaf the test of its value if that is an array."""


def _below(first: str, path: Sequence[str], test: Test, of_array: ArrayTest | None, objects_below_dots: bool) -> _Part:
    """The test of a name with dots: of an object in an object."""
    for name in reversed(path):
        test, of_array = _all_of([(name, test, of_array)], None, objects_below_dots), None
    return first, test, of_array


def _all_of(tests: Sequence[_Part], alternatives: Sequence[Test] | None, objects_below_dots: bool) -> Test:
    def matches(value: Json, matching: Matching) -> bool:
        if isinstance(value, list):
            # An array matches if one of its elements does.
            matching.spend(len(value) * _OBJECT)
            return any(matches(element, matching) for element in value if isinstance(element, (dict, list)))
        here = value if isinstance(value, dict) else {}
        has_dots: bool | None = None
        for name, test, of_array in tests:
            found = here.get(name, MISSING)
            if of_array is None:
                if has_dots is None:
                    matching.spend(len(here) // _NAMES)
                    # A join of all names is the quickest look for a dot.
                    has_dots = "." in "\n".join(here)
                if has_dots:
                    found = _joined(here, name, found, objects_below_dots, matching)
                if not test(found, matching):
                    return False
            elif not isinstance(found, list):
                if not test(found, matching):
                    return False
            elif not of_array(matching.leaves(found) or _NOTHING, matching):
                return False
        return alternatives is None or any(one(value, matching) for one in alternatives)

    return matches


def _joined(here: Mapping[str, Json], name: str, found: Json, with_objects: bool, matching: Matching) -> Json:
    """The members below a name: those of its value, and the values of names that begin with the name and a dot."""
    below = _below_dots(here, name, with_objects, matching)
    if below is MISSING or found is MISSING:
        return found if below is MISSING else below
    if isinstance(found, dict):
        return {**below, **found}
    # One of the two has the value, as with an array.
    return [*found, below] if isinstance(found, list) else below


def _below_dots(here: Mapping[str, Json], name: str, with_objects: bool, matching: Matching) -> Json:
    """The object whose members an object has under names with dots: `b` of `{"a.b": 1}` is below `a`."""
    matching.spend(len(here))
    start = f"{name}."
    found = {
        other[len(start) :]: value
        for other, value in here.items()
        if other.startswith(start) and (with_objects or not isinstance(value, dict))
    }
    return found or MISSING


_NOTHING: Final[Sequence[Json]] = (MISSING,)
"""An array without leaves has none at its place, so that nothing exists there (observed)."""


def _alternatives(part: Json, at: Place, dialect: Dialect) -> list[Test]:
    if not isinstance(part, list):
        raise PatternError("It must be an Array followed with $or.", at)
    found: list[Test] = []
    for number, one in enumerate(part):
        if not isinstance(one, dict):
            raise PatternError("Only JSON object is allowed in array of $or relationship.", (*at, number))
        if not one:
            raise PatternError("Empty objects are not allowed", (*at, number), closed=True)
        found.append(_object(one, (*at, number), dialect))
    if len(found) < 2:
        raise PatternError("There must have at least 2 Objects in $or relationship.", at, closed=True)
    return found


def _any_of(choices: list[Json], where: Place, dialect: Dialect) -> tuple[Test, ArrayTest]:
    if not choices:
        raise PatternError("Empty arrays are not allowed", where, closed=True)
    accepted = Accepted()
    for number, choice in enumerate(choices):
        _accept(accepted, choice, (*where, number))
    if len(accepted.others) > MOST_OTHERS:
        raise PatternError("Rule is too complex. Try using fewer wildcard characters or fewer rules", where)
    if dialect.digits is not None:
        accepted.spans = [_rounded(span, dialect.digits) for span in accepted.spans]
    return compile_leaf(accepted)


def _accept(accepted: Accepted, choice: Json, where: Place) -> None:
    if isinstance(choice, dict):
        if not choice:
            raise PatternError("Match expression name not found", where, closed=True)
        (name, argument), *others = choice.items()
        accept = _OPERATORS.get(name)
        if accept is None:
            raise PatternError(f"Unrecognized match type {name}", (*where, name))
        accept(accepted, argument, (*where, name))
        if others:
            raise PatternError("Only one key allowed in match expression", (*where, others[0][0]))
    elif isinstance(choice, list):
        raise PatternError("Match value must be String, number, true, false, or null", where)
    else:
        accepted.equal.append(choice)


# ------------------------------------------------------------------ operators


def _text(argument: Json, name: str, where: Place) -> str:
    if not isinstance(argument, str):
        raise PatternError(f"{name} match pattern must be a string", where)
    return argument


def _affix(name: str, plain: str, folded: str) -> Accept:
    """Prefixes or suffixes; `plain` and `folded` are the fields of `Accepted` for both ways to compare."""

    def accept(accepted: Accepted, argument: Json, where: Place) -> None:
        folds = isinstance(argument, dict) and list(argument) == ["equals-ignore-case"]
        text = argument["equals-ignore-case"] if folds and isinstance(argument, dict) else argument
        if not isinstance(text, str):
            raise PatternError(f"{name} match pattern must be a string", where)
        getattr(accepted, folded if folds else plain).append(text)

    return accept


def _exists(accepted: Accepted, argument: Json, where: Place) -> None:
    if not isinstance(argument, bool):
        raise PatternError("exists match pattern must be either true or false.", where)
    # Only leaves exist: an object does not count.
    if argument:
        accepted.others.append(lambda value, _: value is not MISSING and not isinstance(value, dict))
    else:
        accepted.others.append(lambda value, _: value is MISSING or isinstance(value, dict))


def _ignoring_case(accepted: Accepted, argument: Json, where: Place) -> None:
    accepted.folded.append(_text(argument, "equals-ignore-case", where))


def _wildcard(accepted: Accepted, argument: Json, where: Place) -> None:
    text = _text(argument, "wildcard", where)
    if "**" in text:
        raise PatternError(f"Consecutive wildcard characters at pos {text.index('**') + 1}", where)
    accepted.others.append(_like(Wildcards(text)))


def _like(wildcards: Wildcards) -> Test:
    matches = wildcards.matches

    def test(value: Json, matching: Matching) -> bool:
        if not isinstance(value, str):
            return False
        if len(value) > _CHARACTERS:
            matching.spend(wildcards.comparisons(value) // _CHARACTERS)
        return matches(value)

    return test


_SPANS: Final[dict[str, Callable[[float], Span]]] = {
    "=": lambda bound: (bound, True, bound, True),
    "<": lambda bound: (-math.inf, True, bound, False),
    "<=": lambda bound: (-math.inf, True, bound, True),
    ">": lambda bound: (bound, False, math.inf, True),
    ">=": lambda bound: (bound, True, math.inf, True),
}


def _comparison(argument: list[Json], at: int, where: Place) -> Span:
    """The numbers that satisfy the comparison at an index of a list."""
    operator = argument[at] if at < len(argument) else None
    if not isinstance(operator, str):
        # At the end of the list the service's parser is at its bracket.
        member = dump_json(operator) if at < len(argument) else "]"
        raise PatternError(f"Invalid member in numeric match: {member}", where, closed=True)
    bound = argument[at + 1] if at + 1 < len(argument) else None
    place, closed = ((*where, at + 1), False) if at + 1 < len(argument) else (where, True)
    if operator not in _SPANS:
        raise PatternError(f"Unrecognized numeric range operator: {operator}", place, closed=closed)
    if isinstance(bound, bool) or not isinstance(bound, (int, float)):
        named = "equals" if operator == "=" else operator
        raise PatternError(f"Value of {named} must be numeric", place, closed=closed)
    if not abs(bound) <= NUMBER_BOUND:
        raise PatternError(_OUT_OF_BOUNDS, place)
    return _SPANS[operator](bound)


def _rounded(span: Span, digits: int) -> Span:
    """The numbers that lie in a span once they and its ends are rounded to so many digits after the point."""
    low, has_low, high, has_high = span
    half = 0.5 * 10.0**-digits
    low, high = round(low, digits) + (-half if has_low else half), round(high, digits) + (half if has_high else -half)
    return low, has_low, high, has_high


_TOO_MANY: Final = "Too many elements in numeric expression"
_OUT_OF_BOUNDS: Final = "Value must be between -5.0E9 and 5.0E9, inclusive"


def _numeric(accepted: Accepted, argument: Json, where: Place) -> None:
    if not isinstance(argument, list):
        raise PatternError("Value of numeric must be an array.", where)
    span = _comparison(argument, 0, where)
    used = 2
    if len(argument) > 2 and argument[0] in (">", ">="):
        if not isinstance(argument[2], str):
            raise PatternError(f"Bad value in numeric range: {dump_json(argument[2])}", (*where, 2))
        if argument[2] not in ("<", "<="):
            raise PatternError(f"Bad numeric range operator: {argument[2]}", (*where, 2))
        upper = _comparison(argument, 2, where)
        if span[0] >= upper[2]:
            raise PatternError("Bottom must be less than top", (*where, 3))
        span = (*span[:2], *upper[2:])
        used = 4
    if len(argument) > used:
        what = "Too many terms in numeric range expression" if used == 4 else _TOO_MANY
        raise PatternError(what, (*where, used))
    accepted.spans.append(span)


def _plain(argument: Json, where: Place) -> list[Json]:
    """The strings or numbers of an anything-but."""
    if not isinstance(argument, list):
        if isinstance(argument, bool) or not isinstance(argument, (str, int, float)):
            raise PatternError("Value of anything-but must be an array or single string/number value.", where)
        return [argument]
    for number, one in enumerate(argument):
        if isinstance(one, bool) or not isinstance(one, (str, int, float)):
            raise PatternError("Inside anything but list, start|null|boolean is not supported.", (*where, number))
    if len({isinstance(one, str) for one in argument}) != 1:
        raise PatternError(
            "Inside anything but list, either all values are number or string, mixed type is not supported",
            where, closed=True,
        )  # fmt: skip
    return argument


def _anything_but(accepted: Accepted, argument: Json, where: Place) -> None:
    refused = Accepted()
    if isinstance(argument, dict):
        if not argument:
            raise PatternError("Anything-But expression name not found", where, closed=True)
        (name, inner), *others = argument.items()
        if name not in ("prefix", "suffix", "equals-ignore-case", "wildcard"):
            raise PatternError(f"Unsupported anything-but pattern: {name}", (*where, name))
        for text in _refused_texts(inner, name, (*where, name)):
            _OPERATORS[name](refused, text, (*where, name))
        if others:
            raise PatternError("Only one key allowed in match expression", (*where, others[0][0]))
        if len(refused.others) > MOST_OTHERS:
            raise PatternError("Rule is too complex. Try using fewer wildcard characters or fewer rules", where)
    else:
        refused.equal += _plain(argument, where)
    leaf = Leaf(refused)
    accepted.others.append(
        lambda value, matching: value is not MISSING and not isinstance(value, dict) and not leaf(value, matching)
    )


def _refused_texts(argument: Json, name: str, where: Place) -> list[Json]:
    """The texts of an operator inside of anything-but: one, or a list."""
    found = argument if isinstance(argument, list) else [argument]
    if name in ("prefix", "suffix"):
        if isinstance(argument, dict):
            raise PatternError("Value of anything-but must be an array or single string/number value.", where)
        if not all(isinstance(one, str) for one in found):
            raise PatternError("prefix/suffix match pattern must be a string", where)
        if "" in found:
            raise PatternError("Null prefix/suffix not allowed", where)
    elif name == "equals-ignore-case" and not all(isinstance(one, str) for one in found):
        words = "Inside anything-but/equals-ignore-case list, number|start|null|boolean is not supported."
        raise PatternError(words, where)
    return found


def _cidr(accepted: Accepted, argument: Json, where: Place) -> None:
    if not isinstance(argument, str):
        raise PatternError("prefix match pattern must be a string", where)
    address, slash, bits = argument.partition("/")
    if not slash or "/" in bits:
        raise PatternError("Malformed CIDR, one '/' required", where, is_located=False)
    if not (bits.isascii() and bits.isdigit()):
        raise PatternError("Malformed CIDR, mask bits must be an integer", where, is_located=False)
    try:
        ipaddress.ip_address(address)
    except ValueError:
        raise PatternError(f"Nonstandard IP address: {address}", where, is_located=False) from None
    try:
        accepted.networks.append(ipaddress.ip_network(argument, strict=False))
    except ValueError:
        # The text for this was never recorded.
        raise PatternError("Malformed CIDR, mask bits must not exceed the address", where, is_located=False) from None


_OPERATORS: Final[dict[str, Accept]] = {
    "anything-but": _anything_but,
    "cidr": _cidr,
    "equals-ignore-case": _ignoring_case,
    "exists": _exists,
    "numeric": _numeric,
    "prefix": _affix("prefix", "prefixes", "folded_prefixes"),
    "suffix": _affix("suffix", "suffixes", "folded_suffixes"),
    "wildcard": _wildcard,
}
