"""The tree of a JSONPath: steps, filter conditions and operands.

`jsonpath_parser` builds these values; `jsonpath`, `jsonpath_steps`, `jsonpath_filters` and `refpath` read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from statewright.payload import Json
from statewright.query.linear_regex import LinearRegex

Root = Literal["data", "context", "variable", "current"]
"""The start of a path: `$`, `$$`, `$name`, and inside a filter `@`."""

WORD_OPERATORS: Final = ("in", "nin", "subsetof", "anyof", "noneof", "all", "contains", "size", "empty")
OPERATORS: Final = ("==", "!=", "<", "<=", ">", ">=", "=~", *WORD_OPERATORS)


@dataclass(frozen=True, slots=True)
class Name:
    """A member. `plain` is false when it was written with a character that Reference Paths refuse."""

    name: str
    plain: bool = True


@dataclass(frozen=True, slots=True)
class Index:
    """An array element; a negative one counts from the end."""

    index: int


@dataclass(frozen=True, slots=True)
class Names:
    """A union of members."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Indexes:
    """A union of array elements."""

    indexes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Slice:
    """`[start:stop]`, either of which may be missing or negative."""

    start: int | None
    stop: int | None


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`*`: every member or element."""


@dataclass(frozen=True, slots=True)
class Scan:
    """`..`: the step that follows, applied at every depth."""

    step: Step


@dataclass(frozen=True, slots=True)
class Filter:
    """`[?(condition)]`."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class Call:
    """A function at the end of a path. Its arguments are literals and paths."""

    name: str
    arguments: tuple[Operand, ...]


Step = Name | Index | Names | Indexes | Slice | Wildcard | Scan | Filter | Call


@dataclass(frozen=True, slots=True)
class Path:
    """A root and the steps from it. `variable` is the name after `$`, where the root is a variable."""

    root: Root
    variable: str | None
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal operand; also `true` or `false` as a condition."""

    value: Json


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression operand."""

    regex: LinearRegex


Operand = Path | Constant | Pattern


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left operator right`; the operator is one of `OPERATORS`."""

    operator: str
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Existence:
    """A path alone as a condition."""

    path: Path


@dataclass(frozen=True, slots=True)
class Negation:
    """`!condition`."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class AllOf:
    """`a && b && ...`."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """`a || b || ...`."""

    conditions: tuple[Condition, ...]


Condition = Comparison | Existence | Negation | AllOf | AnyOf | Constant


@dataclass(frozen=True, slots=True)
class ParsedPath:
    """A whole path text: the path, and the variables and features that it uses."""

    path: Path
    variables: frozenset[str]
    """Every variable read, at the root and inside filters."""
    uses_context: bool
    features: frozenset[str]
    """The features of `UNCONFIRMED` that the text uses."""
    unquoted: tuple[str, ...] = ()
    """Words without quotes that filters compare with, read as texts."""


def is_definite(steps: tuple[Step, ...]) -> bool:
    """True if the steps give one value or nothing, rather than a list of matches."""
    if not steps or isinstance(steps[-1], Call):
        return True
    return isinstance(steps[-1], Name | Index | Names) and all(isinstance(step, Name | Index) for step in steps[:-1])


def plain_keys(steps: tuple[Step, ...]) -> tuple[str | int, ...] | None:
    """Member names and array indexes, if the steps are nothing else."""
    keys: list[str | int] = []
    for step in steps:
        if isinstance(step, Name):
            keys.append(step.name)
        elif isinstance(step, Index):
            keys.append(step.index)
        else:
            return None
    return tuple(keys)
