"""Metric math: parses the text of an expression into a tree.

Owns the grammar; leaves the functions to `evaluation.py`. Source: CloudWatch user guide, "Math expressions with
metrics".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

LONGEST: Final = 2_048
"""Characters. Source: service model, `MetricExpression`."""
DEEPEST: Final = 50
MOST_OPERATORS: Final = 300
"""Ours, as the bound on levels."""


class ExpressionError(ValueError):
    """Raised for an expression that cannot be parsed or evaluated, with a sentence for its author."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number."""

    value: float


@dataclass(frozen=True, slots=True)
class Text:
    """A text in quotes."""

    value: str


@dataclass(frozen=True, slots=True)
class Name:
    """The id of another query, or a keyword such as REPEAT."""

    name: str


@dataclass(frozen=True, slots=True)
class Listed:
    """Several in brackets."""

    elements: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """Two values and their operator; a unary `-` has a zero as its left value."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Function:
    """A call."""

    name: str
    arguments: tuple[Node, ...]


Node = Number | Text | Name | Listed | Operation | Function
Kind = Literal["number", "text", "name", "sign", "end"]

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<text>'[^']*'|\"[^\"]*\")|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>&&|\|\||==|!=|<=|>=|[-+*/^<>()\[\],]))"
)
_LEVELS: Final = (
    frozenset({"||"}),
    frozenset({"&&"}),
    frozenset({"==", "!=", "<", ">", "<=", ">="}),
    frozenset({"+", "-"}),
    frozenset({"*", "/"}),
)
"""Binary operators, loosest first."""
_OPERATORS: Final = frozenset({"^"}.union(*_LEVELS))


def parse(text: str) -> Node:
    """The tree of an expression. Raises: ExpressionError."""
    if len(text) > LONGEST:
        raise ExpressionError(f"it has more than {LONGEST} characters")
    return _Parser(text).whole()


def calls_of(node: Node, name: str) -> Iterator[Function]:
    """Every call of a function in a tree."""
    if isinstance(node, Function):
        if node.name == name:
            yield node
        for argument in node.arguments:
            yield from calls_of(argument, name)
    elif isinstance(node, Listed):
        for element in node.elements:
            yield from calls_of(element, name)
    elif isinstance(node, Operation):
        yield from calls_of(node.left, name)
        yield from calls_of(node.right, name)


def names_of(node: Node) -> Iterator[str]:
    """Every id in a tree."""
    if isinstance(node, Name):
        yield node.name
    elif isinstance(node, Function):
        for argument in node.arguments:
            yield from names_of(argument)
    elif isinstance(node, Listed):
        for element in node.elements:
            yield from names_of(element)
    elif isinstance(node, Operation):
        yield from names_of(node.left)
        yield from names_of(node.right)


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[Kind, str]] = []
        place = 0
        end = len(text.rstrip())
        while place < end:
            found = _TOKEN.match(text, place)
            if found is None:
                raise ExpressionError(f"unexpected character at {place + 1}: {text[place : place + 20].strip()}")
            kind: Kind = found.lastgroup  # type: ignore[assignment]
            word = found[kind]
            # Source: user guide: AND and OR stand for the signs.
            if kind == "name" and word in ("AND", "OR"):
                kind, word = "sign", "&&" if word == "AND" else "||"
            self._tokens.append((kind, word))
            place = found.end()
        self._tokens.append(("end", "the end"))
        if sum(kind == "sign" and word in _OPERATORS for kind, word in self._tokens) > MOST_OPERATORS:
            raise ExpressionError(f"it has more than {MOST_OPERATORS} operators")
        self._next = 0
        self._depth = 0

    def whole(self) -> Node:
        node = self._binary(0)
        kind, word = self._tokens[self._next]
        if kind != "end":
            raise ExpressionError(f"unexpected {word}")
        return node

    def _binary(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._unary()
        if level == 0:
            self._depth += 1
            if self._depth > DEEPEST:
                raise ExpressionError(f"it is more than {DEEPEST} levels deep")
        node = self._binary(level + 1)
        while (word := self._sign()) in _LEVELS[level]:
            self._next += 1
            node = Operation(word, node, self._binary(level + 1))
        if level == 0:
            self._depth -= 1
        return node

    def _unary(self) -> Node:
        signs = 0
        while (sign := self._sign()) in ("-", "+"):
            self._next += 1
            signs += sign == "-"
        node = self._power()
        return Operation("-", Number(0), node) if signs % 2 else node

    def _power(self) -> Node:
        node = self._value()
        if self._sign() == "^":
            self._next += 1
            return Operation("^", node, self._unary())
        return node

    def _sign(self) -> str:
        kind, word = self._tokens[self._next]
        return word if kind == "sign" else ""

    def _value(self) -> Node:
        kind, word = self._tokens[self._next]
        self._next += 1
        if kind == "number":
            return Number(float(word))
        if kind == "text":
            return Text(word[1:-1])
        if kind == "name":
            if self._sign() == "(":
                self._next += 1
                return Function(word, self._until(")"))
            return Name(word)
        if word == "(":
            node = self._binary(0)
            self._expect(")")
            return node
        if word == "[":
            return Listed(self._until("]"))
        raise ExpressionError(f"unexpected {word}")

    def _until(self, closing: str) -> tuple[Node, ...]:
        if self._sign() == closing:
            self._next += 1
            return ()
        found = [self._binary(0)]
        while self._sign() == ",":
            self._next += 1
            found.append(self._binary(0))
        self._expect(closing)
        return tuple(found)

    def _expect(self, sign: str) -> None:
        kind, word = self._tokens[self._next]
        if kind != "sign" or word != sign:
            raise ExpressionError(f"{sign} is missing before {word}")
        self._next += 1
