"""Expressions as trees. Names and values are still as written; `bindings` resolves them for one request."""

from __future__ import annotations

from dataclasses import dataclass

Step = str | int
"""A name, an alias (`#n`) or the index of an element."""


@dataclass(frozen=True, slots=True)
class Path:
    """A document path."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Literal:
    """The placeholder of a value, `:v`."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function with its arguments."""

    function: str
    arguments: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """Two numbers added or subtracted."""

    sign: str
    left: Operand
    right: Operand


Operand = Path | Literal | Call | Sum


@dataclass(frozen=True, slots=True)
class Compare:
    """Two operands compared."""

    sign: str
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Between:
    """An operand between two others, inclusive."""

    operand: Operand
    low: Operand
    high: Operand


@dataclass(frozen=True, slots=True)
class Among:
    """An operand that is equal to one of a list."""

    operand: Operand
    choices: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class All:
    """Conditions that hold together."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """Conditions of which one holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """A condition that does not hold."""

    part: Condition


Condition = Compare | Between | Among | All | Either | Not | Call


@dataclass(frozen=True, slots=True)
class Action:
    """One action of an update: `SET`, `REMOVE`, `ADD` or `DELETE` at a path. `REMOVE` has no operand."""

    section: str
    path: Path
    operand: Operand | None
