"""Typed reading of a scenario's values: every mistake becomes a finding with its place, none of them stops the reading.

Owns types, units and findings. Which keys there are and what they mean is `scenario.py`'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from statewright.asl.findings import closest
from statewright.asl.text.document import Document
from statewright.errors import Diagnostic, Step
from statewright.functions.workers.models import Model
from statewright.instants import parse_duration_ms
from statewright.payload import Json, JsonMapping, JsonObject

At = tuple[Step, ...]

UNKNOWN_KEY: Final = "SIMULATION_UNKNOWN_KEY"
MISSING_KEY: Final = "SIMULATION_MISSING_KEY"
INVALID_VALUE: Final = "SIMULATION_INVALID_VALUE"
UNKNOWN_NAME: Final = "SIMULATION_UNKNOWN_NAME"
NO_FILE: Final = "SIMULATION_MISSING_FILE"

_RATE: Final = re.compile(
    r"\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*(?:/\s*|per\s+)(ms|s|sec|second|m|min|minute|h|hour|d|day)\s*"
)
_PER_SECOND: Final = {
    "ms": 1000.0, "s": 1.0, "sec": 1.0, "second": 1.0, "m": 1 / 60, "min": 1 / 60, "minute": 1 / 60,
    "h": 1 / 3600, "hour": 1 / 3600, "d": 1 / 86_400, "day": 1 / 86_400,
}  # fmt: skip


class Reader:
    """One scenario's values while they are read. `folder` is where its relative paths begin."""

    def __init__(self, document: Document, folder: Path) -> None:
        self.folder = folder
        self.findings: list[Diagnostic] = []
        self._document = document

    def bad(
        self, at: At, message: str, hint: str | None = None, *, code: str = INVALID_VALUE, key: bool = False
    ) -> None:
        """Note a mistake; `key` places it at a member's name rather than at its value."""
        line, column = self._document.key_position(at) if key else self._document.position(at)
        self.findings.append(Diagnostic(code, message, at, line=line, column=column, hint=hint))

    def place(self, at: At) -> tuple[int, int]:
        """The line and column of a value, or of the nearest that is there."""
        return self._document.position(at)

    def members(self, at: At, value: Json, known: Iterable[str], what: str) -> JsonObject:
        """The members of an object that are known; others are findings."""
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.bad(at, f"{what} must be an object, not {shown(value)}")
            return {}
        names = list(known)
        found = {}
        for key, member in value.items():
            if key in names:
                found[key] = member
                continue
            close = closest(str(key), names)
            hint = f"did you mean {close}?" if close else f"there are: {', '.join(names)}"
            self.bad((*at, key), f"{what} has no '{key}'", hint, code=UNKNOWN_KEY, key=True)
        return found

    def each(self, at: At, value: Json, what: str) -> list[tuple[At, str, Json]]:
        """The members of an object whose keys are names."""
        if value is None:
            return []
        if not isinstance(value, dict):
            self.bad(at, f"{what} must be an object by name, not {shown(value)}")
            return []
        return [((*at, key), str(key), member) for key, member in value.items()]

    def entries(self, at: At, value: Json, what: str) -> list[tuple[At, Json]]:
        """The entries of a list; one object may stand for a list of one."""
        if value is None:
            return []
        if isinstance(value, dict):
            return [(at, value)]
        if not isinstance(value, list):
            self.bad(at, f"{what} must be a list, not {shown(value)}")
            return []
        return [((*at, number), entry) for number, entry in enumerate(value)]

    def missing(self, at: At, what: str, key: str, hint: str | None = None) -> None:
        """Note that a key is not there."""
        self.bad(at, f"{what} needs '{key}'", hint, code=MISSING_KEY)

    def text(self, at: At, value: Json, default: str = "") -> str:
        """A text."""
        if value is None:
            return default
        if isinstance(value, (dict, list, bool)):
            self.bad(at, f"expected a text, not {shown(value)}")
            return default
        return str(value)

    def whole(self, at: At, value: Json, default: int, least: int = 0, most: int | None = None) -> int:
        """A whole number within bounds; `1_000` and `"1,000"` are one, too."""
        if value is None:
            return default
        if isinstance(value, str) and re.fullmatch(r"[0-9][0-9_,]*", value):
            value = int(value.replace(",", "").replace("_", ""))
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            self.bad(at, f"expected a whole number, not {shown(value)}")
        elif value < least or (most is not None and value > most):
            self.bad(
                at, f"{value} must be {f'between {least} and {most}' if most is not None else f'at least {least}'}"
            )
        else:
            return value
        return default

    def share(self, at: At, value: Json) -> float:
        """A part of a whole: `0.01`, or `1%`."""
        if value is None:
            return 0.0
        if isinstance(value, str) and value.strip().endswith("%"):
            try:
                value = float(value.strip()[:-1]) / 100
            except ValueError:
                value = None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            self.bad(at, f"expected a share between 0 and 1, or 0% and 100%, not {shown(value)}")
            return 0.0
        return float(value)

    def number(self, at: At, value: Json) -> float:
        """A number that is not negative."""
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            self.bad(at, f"expected a number of at least 0, not {shown(value)}")
            return 0.0
        return float(value)

    def truth(self, at: At, value: Json, default: bool) -> bool:
        """Yes or no."""
        if value is None:
            return default
        known = {
            "on": True,
            "off": False,
            "yes": True,
            "no": False,
            "aws": True,
            "open": False,
            "true": True,
            "false": False,
        }
        found = value if isinstance(value, bool) else known.get(str(value).lower())
        if found is None:
            self.bad(at, f"expected on or off, not {shown(value)}")
            return default
        return found

    def milliseconds(self, at: At, value: Json, default: int) -> int:
        """A length of time."""
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            self.bad(at, f"expected a length of time such as 90s, 2m or 1h30m, not {shown(value)}")
            return default
        try:
            return parse_duration_ms(value)
        except ValueError as problem:
            self.bad(at, str(problem))
            return default

    def rate(self, at: At, value: Json) -> float:
        """How often, in a second: `100/s`, `10/min`; a number is for a second."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            if value > 0:
                return float(value)
        elif isinstance(value, str):
            found = _RATE.fullmatch(value)
            if found is not None and float(found[1]) > 0:
                return float(found[1]) * _PER_SECOND[found[2]]
        self.bad(at, f"{shown(value)} is not a rate above nothing", "write it like 100/s, 10/min or 3/h")
        return 1.0

    def choice(self, at: At, value: Json, known: Iterable[str], default: str) -> str:
        """One of some words."""
        if value is None:
            return default
        names = list(known)
        if value not in names:
            close = closest(str(value), names)
            self.bad(
                at,
                f"expected one of {', '.join(names)}, not {shown(value)}",
                f"did you mean {close}?" if close else None,
            )
            return default
        return str(value)

    def name(self, at: At, value: Json, known: Iterable[str], what: str) -> str:
        """The name of something that the scenario has."""
        name = self.text(at, value)
        names = list(known)
        if name and name not in names:
            close = closest(name, names)
            hint = f"did you mean {close}?" if close else f"there are: {', '.join(names)}" if names else None
            self.bad(at, f"there is no {what} '{name}' in this scenario", hint, code=UNKNOWN_NAME)
        return name

    def file(self, at: At, value: Json, *, folders: bool = False) -> Path:
        """A file beside the scenario."""
        path = self.folder / self.text(at, value)
        if not (path.is_file() or (folders and path.is_dir())):
            near = closest(path.name, [one.name for one in path.parent.iterdir()]) if path.parent.is_dir() else None
            self.bad(at, f"there is no file {value}", f"did you mean {near}?" if near else None, code=NO_FILE)
        return path

    def model(self, at: At, given: JsonMapping) -> None:
        """Check what a function's model says of durations and failures."""
        duration = given.get("duration")
        if isinstance(duration, int | float) and duration < 0:
            self.bad((*at, "duration"), f"a duration of {duration} seconds is less than nothing")
            return
        try:
            Model.read({key: value for key, value in given.items() if key in ("duration", "failure_rate", "error")})
        except (ValueError, TypeError) as problem:
            self.bad((*at, "duration"), str(problem))


def shown(value: Json) -> str:
    """A value as findings quote it."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return (
        {True: "true", False: "false", None: "null"}.get(value, repr(value))
        if not isinstance(value, str)
        else f"'{value}'"
    )
