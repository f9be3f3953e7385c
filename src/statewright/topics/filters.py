"""Filter policies: which messages a subscription wants.

The language is that of event patterns (`query/event_pattern.py`); here are the service's bounds on it, and what a
pattern is held against: the message's attributes, or its body as JSON.

Source: SNS developer guide, "Filter policy constraints", "AND/OR logic", "String value matching".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from statewright.query.event_pattern import PatternError, compile_pattern
from statewright.topics.refusals import invalid

ATTRIBUTES: Final = "MessageAttributes"
BODY: Final = "MessageBody"
MOST_KEYS: Final = 5
MOST_COMBINATIONS: Final = 150
MOST_BYTES: Final = 262_144
BOUND: Final = 1e9
"""Numbers lie within plus and minus a thousand million."""

Attributes = Mapping[str, Mapping[str, Any]]
Filter = Callable[[Attributes, str], bool]
"""Judges a message by its attributes and its body."""


def compile_filter(text: str, scope: str) -> Filter | None:
    """What judges messages by a policy; None for one that takes all.

    Raises: ApiError (`InvalidParameter`).
    """
    if len(text.encode()) > MOST_BYTES:
        raise invalid("FilterPolicy: Filter policy is too large")
    try:
        policy = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise invalid("FilterPolicy: failed to parse JSON.") from None
    if not isinstance(policy, dict):
        raise invalid("FilterPolicy: Filter policy must be a JSON object")
    if not policy:
        return None
    if scope == ATTRIBUTES:
        _refuse_nesting(policy)
    if _keys(policy) > MOST_KEYS:
        raise invalid(f"FilterPolicy: Filter policy can not have more than {MOST_KEYS} keys")
    if _combinations(policy, 1) > MOST_COMBINATIONS:
        raise invalid("FilterPolicy: Filter policy is too complex")
    _check_numbers(policy)
    try:
        matches = compile_pattern(policy)
    except PatternError as problem:
        raise invalid(f"FilterPolicy: {str(problem).partition('Reason: ')[2] or problem}") from None
    if scope == ATTRIBUTES:
        return lambda attributes, _body: matches(_document(attributes))
    return lambda _attributes, body: _matches_body(matches, body)


def _matches_body(matches: Callable[[Any], bool], body: str) -> bool:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return False
    return isinstance(document, dict) and matches(document)


def _document(attributes: Attributes) -> dict[str, Any]:
    """Message attributes as a pattern sees them; those of the type Binary are not seen."""
    found: dict[str, Any] = {}
    for name, given in attributes.items():
        kind = given["DataType"].partition(".")[0]
        text = given.get("StringValue", "")
        if given["DataType"] == "String.Array":
            found[name] = _array(text)
        elif kind == "Number":
            number = float(text)
            found[name] = int(number) if number.is_integer() and math.isfinite(number) else number
        elif kind == "String":
            found[name] = text
    return found


def _array(text: str) -> Any:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    return found if isinstance(found, list) else [found]


def _alternatives(name: str, part: Any) -> list[Any] | None:
    return part if name == "$or" and isinstance(part, list) and all(isinstance(one, dict) for one in part) else None


def _refuse_nesting(policy: Mapping[str, Any]) -> None:
    for name, part in policy.items():
        for alternative in _alternatives(name, part) or ():
            _refuse_nesting(alternative)
        if isinstance(part, dict):
            raise invalid("FilterPolicy: Filter policy scope MessageAttributes does not support nested filter policy")


def _keys(policy: Mapping[str, Any]) -> int:
    count = 0
    for name, part in policy.items():
        alternatives = _alternatives(name, part)
        if alternatives is not None:
            count += sum(_keys(one) for one in alternatives)
        else:
            count += _keys(part) if isinstance(part, dict) else 1
    return count


def _combinations(policy: Mapping[str, Any], level: int) -> int:
    """Values multiplied with the depth of their key over keys that all must match, added over alternatives."""
    total = 1
    for name, part in policy.items():
        alternatives = _alternatives(name, part)
        if alternatives is not None:
            total *= sum(_combinations(one, level) for one in alternatives)
        elif isinstance(part, dict):
            total *= _combinations(part, level + 1)
        elif isinstance(part, list):
            total *= max(len(part), 1) * level
    return total


def _check_numbers(part: Any) -> None:
    if isinstance(part, dict):
        for name, inner in part.items():
            if name == "numeric" and isinstance(inner, list):
                for one in inner:
                    if isinstance(one, (int, float)) and abs(one) > BOUND:
                        raise invalid("FilterPolicy: Value of numeric must be from -1.0E9 to 1.0E9")
            else:
                _check_numbers(inner)
    elif isinstance(part, list):
        for one in part:
            _check_numbers(one)
