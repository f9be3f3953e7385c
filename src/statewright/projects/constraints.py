"""Constraints of template parameters: which of them a value violates.

Owns the rules; the words are those of `cloudformation.py` for files, of `stacks/planning/parameters.py` for stacks.
Patterns come from callers, so that they are matched without backtracking.

Source: CloudFormation user guide, "Parameters".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from statewright.payload import Json
from statewright.projects.evaluation import Unresolved, text_of
from statewright.query.linear_regex import RegexSyntaxError, compile_regex

TYPE: Final = "Type"
VALUES: Final = "AllowedValues"
PATTERN: Final = "AllowedPattern"
LIST_TYPE: Final = re.compile(r"CommaDelimitedList|List<.*>")
_BOUNDS: Final = ("MinLength", "MaxLength", "MinValue", "MaxValue")


def violated(kind: str, body: Mapping[str, Json], text: str) -> list[str]:
    """The constraints that a value of a parameter violates, by the names of their members."""
    parts = [part.strip() for part in text.split(",")] if LIST_TYPE.fullmatch(kind) else [text]
    numbers = [_number(part) for part in parts] if kind in ("Number", "List<Number>") else []
    found = [TYPE] if None in numbers else []
    if not set(parts) <= set(allowed_texts(body) or parts):
        found.append(VALUES)
    pattern = body.get(PATTERN)
    if isinstance(pattern, str) and not _fits(pattern, text):
        found.append(PATTERN)
    for name in _BOUNDS:
        bound = _number(body.get(name))
        value = float(len(text)) if name.endswith("Length") else numbers[0] if kind == "Number" else None
        if bound is not None and value is not None and (value < bound if name.startswith("Min") else value > bound):
            found.append(name)
    return found


def allowed_texts(body: Mapping[str, Json]) -> list[str]:
    """The allowed values of a parameter; none if any is."""
    found = body.get(VALUES)
    return [text_of(one) for one in found if isinstance(one, (str, int, float))] if isinstance(found, list) else []


def _fits(pattern: str, text: str) -> bool:
    try:
        return compile_regex(pattern).fullmatch(text)
    except RegexSyntaxError:
        # Patterns are written for another engine: what this one cannot read is not held against the value.
        return True


def _number(value: Json) -> float | None:
    try:
        return float(text_of(value)) if value is not None else None
    except (ValueError, Unresolved):
        return None
