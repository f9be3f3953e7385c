"""Filter policies: the rules that select messages for a subscription.

The language is that of event patterns (`query/event_pattern.py`). This module owns the service's limits on it, and the
document that a pattern is matched against: the message's attributes, or its body as JSON.

Source: SNS developer guide, "Filter policy constraints", "AND/OR logic", "String value matching".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Final

import orjson

from statewright.asl.text.jackson import first_fault
from statewright.events.patterns import BadPattern, pattern_of
from statewright.payload import Json, JsonMapping, JsonObject
from statewright.query.event_pattern import TOPICS, Pattern
from statewright.query.matching import Matching
from statewright.topics.refusals import invalid

ATTRIBUTES: Final = "MessageAttributes"
BODY: Final = "MessageBody"
MOST_KEYS: Final = 5
MOST_COMBINATIONS: Final = 150
MOST_BYTES: Final = 262_144
NESTED: Final = "Filter policy scope MessageAttributes does not support nested filter policy"
_REDACTED: Final = "REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled)"
BOUND: Final = 1e9
"""The largest magnitude of a number in a policy."""

Attributes = Mapping[str, Mapping[str, str]]
"""Message attributes by name, with the members of the API; bytes are in base64."""
_PARSED: Final = 4
"""Characters of JSON that are parsed in the time of one comparison, at least."""


class Candidate:
    """A message as filters see it, under a bound on the work of all of them; its parts are parsed once."""

    def __init__(self, attributes: Attributes, matching: Matching) -> None:
        self._attributes = attributes
        self._bodies: dict[str, Json] = {}
        self.matching = matching

    @cached_property
    def attributes(self) -> JsonObject:
        """The message's attributes. Raises: TooMuchWork."""
        self.matching.spend(sum(len(one.get("StringValue", "")) for one in self._attributes.values()) // _PARSED)
        return _document(self._attributes)

    def body(self, text: str) -> Json:
        """A body of the message; None if it is not JSON. Raises: TooMuchWork."""
        if text not in self._bodies:
            self.matching.spend(len(text) // _PARSED)
            try:
                self._bodies[text] = orjson.loads(text)
            except orjson.JSONDecodeError:
                self._bodies[text] = None
        return self._bodies[text]


Filter = Callable[[Candidate, str], bool]
"""Takes a message and its body; True if the subscription gets the message. Raises: TooMuchWork."""


def compile_filter(text: str, scope: str) -> Filter | None:
    """Compile a filter policy; None for one that accepts every message.

    Raises: ApiError (`InvalidParameter`).
    """
    if len(text.encode()) > MOST_BYTES:
        raise invalid("FilterPolicy: Filter policy is too large")
    try:
        policy = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise invalid(f"FilterPolicy: failed to parse JSON.{_fault(text)}") from None
    if not isinstance(policy, dict):
        raise invalid("FilterPolicy: Filter policy must be a JSON object")
    if not policy:
        return None
    if _keys(policy) > MOST_KEYS:
        raise invalid(f"FilterPolicy: Filter policy can not have more than {MOST_KEYS} keys")
    if _combinations(policy, 1) > MOST_COMBINATIONS:
        raise invalid("FilterPolicy: Filter policy is too complex")
    _check_numbers(policy)
    try:
        matches = pattern_of(text, dialect=TOPICS)
    except BadPattern as problem:
        raise invalid(f"FilterPolicy: {problem}") from None
    if scope == ATTRIBUTES:
        _refuse_nesting(policy)
        return lambda message, _: matches(message.attributes, message.matching)
    return lambda message, text: _matches_body(matches, message.body(text), message.matching)


def _fault(text: str) -> str:
    """The place of a fault in JSON. The service quotes no source here (observed)."""
    fault = first_fault(text)
    if fault is None:
        # Its parser reads no further than the end of the first value.
        return ""
    return f" {fault.reason}\n at [Source: {_REDACTED}; line: {fault.line}, column: {fault.column}]"


def _matches_body(matches: Pattern, document: Json, matching: Matching) -> bool:
    return isinstance(document, dict) and matches(document, matching)


def _document(attributes: Attributes) -> JsonObject:
    """Message attributes as a pattern sees them, without those of the type Binary."""
    found: JsonObject = {}
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


def _array(text: str) -> Json:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    return found if isinstance(found, list) else [found]


def _alternatives(name: str, part: Json) -> list[Json] | None:
    return part if name == "$or" and isinstance(part, list) and all(isinstance(one, dict) for one in part) else None


def _refuse_nesting(policy: JsonMapping) -> None:
    for name, part in policy.items():
        for alternative in _alternatives(name, part) or ():
            _refuse_nesting(alternative)
        if isinstance(part, dict):
            raise invalid(NESTED)


def _keys(policy: JsonMapping) -> int:
    count = 0
    for name, part in policy.items():
        alternatives = _alternatives(name, part)
        if alternatives is not None:
            count += sum(_keys(one) for one in alternatives)
        else:
            count += _keys(part) if isinstance(part, dict) else 1
    return count


def _combinations(policy: JsonMapping, level: int) -> int:
    """The complexity of a policy: the product over keys of (values times depth), summed over alternatives."""
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


def _check_numbers(part: Json) -> None:
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
