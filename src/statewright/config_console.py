"""`[console]` of `statewright.toml`: what the console shows of payloads.

Owns the settings and the form of patterns of redaction. What a pattern hides is `console/redaction.py`'s.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Protocol

from statewright.config_tables import Keys, Reader
from statewright.payload import JsonObject

PAYLOADS: Final = ("shown", "hidden")
MOST_PATTERNS: Final = 100
MOST_STEPS: Final = 20
_STEP: Final = re.compile(r"\*\*|[^.\[\]\s\x00-\x1f\x7f]{1,200}")


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """`redact` are patterns of members whose values are shown as dots; with `payloads` `hidden` no payload is shown."""

    redact: tuple[str, ...] = ()
    payloads: str = "shown"


class ConsoleReader(Reader, Protocol):
    """Used by checks of this table: a reader that knows lists, too."""

    def list_of_texts(self, keys: Keys, value: object) -> list[str]:
        """A list of strings. Raises: ConfigError."""
        ...


def steps_of(pattern: str) -> tuple[str, ...]:
    """The steps of a pattern: names, in which `*` stands for any characters, and `**` for any number of steps.

    Raises: ValueError, which says what is wrong.
    """
    if not pattern:
        raise ValueError("it is empty")
    steps = tuple(pattern.split("."))
    if len(steps) > MOST_STEPS:
        raise ValueError(f"it has more than {MOST_STEPS} steps")
    for step in steps:
        if not step:
            raise ValueError("a step between its dots is empty")
        if _STEP.fullmatch(step) is None:
            raise ValueError(f"{step!r} is no name: lists need no brackets, their items have the path of the list")
        if "**" in step and step != "**":
            raise ValueError(f"'**' stands alone between dots, not within {step!r}")
    if set(steps) == {"**"}:
        raise ValueError('it would hide everything: payloads = "hidden" does that')
    return steps


def checked_console(reader: ConsoleReader, value: object) -> ConsoleSettings:
    """`[console]`. Raises: ConfigError, which names a pattern that is malformed."""
    table: JsonObject = reader.table(("console",), value, ("redact", "payloads"))
    patterns = reader.list_of_texts(("console", "redact"), table.get("redact", []))
    if len(patterns) > MOST_PATTERNS:
        reader.refuse(("console", "redact"), f"has {len(patterns)} patterns, of at most {MOST_PATTERNS}")
    for pattern in patterns:
        try:
            steps_of(pattern)
        except ValueError as problem:
            reader.refuse(("console", "redact"), f'has the pattern "{pattern[:200]}", which cannot be used: {problem}')
    payloads = table.get("payloads", "shown")
    if not isinstance(payloads, str) or payloads not in PAYLOADS:
        reader.refuse(("console", "payloads"), f"must be {' or '.join(PAYLOADS)}")
    return ConsoleSettings(tuple(patterns), payloads)
