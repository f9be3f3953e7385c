"""The tree of a template: statements and expressions.

`parser.py` and `expressions.py` build these values, `compiling.py` reads them. `at` is an offset in the template.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from statewright.payload import Json

BinaryOperator = Literal["||", "&&", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%"]


@dataclass(frozen=True, slots=True)
class Property:
    """`.name`."""

    name: str


@dataclass(frozen=True, slots=True)
class Method:
    """`.name(arguments)`."""

    name: str
    arguments: tuple[Expression, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Index:
    """`[expression]`."""

    index: Expression


Step = Property | Method | Index


@dataclass(frozen=True, slots=True)
class Reference:
    """`$root` and the steps from it."""

    root: str
    steps: tuple[Step, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, a boolean or a text without references."""

    value: Json


@dataclass(frozen=True, slots=True)
class Interpolated:
    """A text in double quotes that is a template itself."""

    body: Block


@dataclass(frozen=True, slots=True)
class ListOf:
    """`[a, b]`."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """`[first..last]`, in either direction."""

    first: Expression
    last: Expression
    at: int


@dataclass(frozen=True, slots=True)
class MapOf:
    """`{key: value}`."""

    members: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True, slots=True)
class Not:
    """`!value`."""

    value: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    """`left operator right`; the words (`and`, `lt` and so on) are written as signs."""

    operator: BinaryOperator
    left: Expression
    right: Expression
    at: int


Expression = Reference | Constant | Interpolated | ListOf | Range | MapOf | Not | Binary


@dataclass(frozen=True, slots=True)
class Text:
    """Text that is written as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class Print:
    """A reference in the text."""

    reference: Reference


@dataclass(frozen=True, slots=True)
class Set:
    """`#set(target = value)`."""

    target: Reference
    value: Expression


@dataclass(frozen=True, slots=True)
class If:
    """`#if`, its `#elseif`s, and `#else`, which may be empty."""

    branches: tuple[tuple[Expression, Block], ...]
    otherwise: Block


@dataclass(frozen=True, slots=True)
class Foreach:
    """`#foreach(name in items)`."""

    name: str
    items: Expression
    body: Block
    at: int


@dataclass(frozen=True, slots=True)
class Leave:
    """`#break` or `#stop`."""

    kind: Literal["break", "stop"]


@dataclass(frozen=True, slots=True)
class CallMacro:
    """`#name(arguments)` of a macro of the same template."""

    name: str
    arguments: tuple[Expression, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Define:
    """`#define($name)`: the body is rendered at each reference."""

    name: str
    body: Block
    at: int


Statement = Text | Print | Set | If | Foreach | Leave | CallMacro | Define
Block = tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Macro:
    """`#macro(name parameters)`; a parameter may have a default value."""

    parameters: tuple[tuple[str, Expression | None], ...]
    body: Block


@dataclass(frozen=True, slots=True)
class Parsed:
    """A whole template. `defined` has at least the variables of its `#define`s."""

    body: Block
    macros: dict[str, Macro]
    defined: frozenset[str]
