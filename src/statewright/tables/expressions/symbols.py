"""Lexer of expressions: names, placeholders, numbers and signs, each with its place in the text."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

NAME: Final = "name"
ALIAS: Final = "alias"
"""`#name`, the placeholder of an attribute's name."""
VALUE: Final = "value"
"""`:name`, the placeholder of a value."""
NUMBER: Final = "number"
SIGN: Final = "sign"
END: Final = "end"

_SYMBOL: Final = re.compile(
    r"\s*(?:(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<alias>#[A-Za-z0-9_]+)|(?P<value>:[A-Za-z0-9_]+)"
    r"|(?P<number>[0-9]+)|(?P<sign><>|<=|>=|[=<>()\[\].,+\-])|(?P<bad>\S))"
)


class Symbol(NamedTuple):
    """A symbol. `text` is as written."""

    kind: str
    text: str
    start: int
    end: int


class BadCharacter(Exception):
    """A character that begins no symbol."""

    def __init__(self, symbol: Symbol) -> None:
        super().__init__(symbol.text)
        self.symbol = symbol


def symbols_of(text: str) -> list[Symbol]:
    """The symbols of an expression, and an end mark behind them. Raises: BadCharacter."""
    found: list[Symbol] = []
    place = 0
    while match := _SYMBOL.match(text, place):
        kind = match.lastgroup
        assert kind is not None
        symbol = Symbol(kind, match[kind], match.start(kind), match.end(kind))
        if kind == "bad":
            raise BadCharacter(symbol)
        found.append(symbol)
        place = match.end()
    found.append(Symbol(END, "<EOF>", len(text), len(text)))
    return found
