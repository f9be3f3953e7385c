"""The text of an event pattern: compiled, or refused in the service's words with the place of the fault.

The language is `query/event_pattern.py`'s, and the places are those of the service's parser
(`asl/text/jackson.py`). What a rule, a filter of a topic or a mapping adds to a refusal is its own.
"""

from __future__ import annotations

import json
import re
from typing import Final

from statewright.asl.text.jackson import fault_at, first_fault
from statewright.payload import JsonTextError, parse_json
from statewright.query.event_pattern import EVENTS, Dialect, Pattern, PatternError, compile_pattern, refuse_complex

_DECODER: Final = json.JSONDecoder()
_BLANK: Final = re.compile(r"[ \t\r\n]*")


class BadPattern(ValueError):
    """A text is no pattern; the message is the service's reason."""


def pattern_of(text: str, *, leaves: bool = True, dialect: Dialect = EVENTS, is_new: bool = False) -> Pattern:
    """Compile the text of a pattern; the options are those of `compile_pattern`.

    A pattern that `is_new` is refused if its wildcards are too complex; a stored one keeps working.

    Raises: BadPattern.
    """
    fault = first_fault(text)
    if fault is not None:
        raise BadPattern(fault.message)
    try:
        pattern = parse_json(text)
        compiled = compile_pattern(pattern, leaves=leaves, dialect=dialect)
        if is_new:
            refuse_complex(pattern)
        return compiled
    except JsonTextError as problem:
        raise BadPattern(str(problem)) from None
    except PatternError as problem:
        if not problem.is_located:
            raise BadPattern(problem.reason) from None
        raise BadPattern(fault_at(text, problem.reason, _offset(text, problem)).message) from None


def _offset(text: str, problem: PatternError) -> int:
    """The offset at which the service's parser reports a problem: after a container or scalar, or one into a value."""
    at = _after_blanks(text, 0)
    for step in problem.place:
        at = _member(text, at, step)
    if problem.closed or text[at] not in '"[{':
        return _DECODER.raw_decode(text, at)[1]
    return at + 1


def _member(text: str, at: int, step: str | int) -> int:
    """The offset of a member of the object or array at an offset."""
    at = _after_blanks(text, at + 1)
    number = 0
    while True:
        name: str | int = number
        if isinstance(step, str):
            name, at = _DECODER.raw_decode(text, at)
            at = _after_blanks(text, _after_blanks(text, at) + 1)
        if name == step:
            return at
        _, at = _DECODER.raw_decode(text, at)
        at = _after_blanks(text, _after_blanks(text, at) + 1)
        number += 1


def _after_blanks(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found is not None else at
