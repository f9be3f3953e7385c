"""Lexer of PartiQL statements: words, quoted names, texts, numbers and signs, each with its place.

Source: developer guide, "PartiQL - a SQL-compatible query language for Amazon DynamoDB".
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from statewright.errors import ApiError
from statewright.tables.values import invalid

WORD: Final = "word"
QUOTED: Final = "quoted"
"""A name in double quotation marks; `text` is without them."""
TEXT: Final = "text"
"""A string in single quotation marks; `text` is without them."""
NUMBER: Final = "number"
SIGN: Final = "sign"
END: Final = "end"

_SYMBOL: Final = re.compile(
    r"""\s*(?:(?P<word>[A-Za-z_$][A-Za-z0-9_$]*)|(?P<quoted>"(?:[^"]|"")*")|(?P<text>'(?:[^']|'')*')"""
    r"""|(?P<number>[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)"""
    r"""|(?P<sign><<|>>|<>|!=|<=|>=|[=<>()\[\]{}.,:?*+\-;])|(?P<bad>\S))"""
)


class Symbol(NamedTuple):
    """A symbol of a statement; `start` is its place, from 0."""

    kind: str
    text: str
    start: int


def malformed(problem: str) -> ApiError:
    """The error for a statement that is no PartiQL."""
    return invalid(f"Statement wasn't well formed, can't be processed: {problem}")


def symbols_of(text: str) -> list[Symbol]:
    """The symbols of a statement, and an end mark behind them. Raises: ApiError."""
    found: list[Symbol] = []
    place = 0
    while match := _SYMBOL.match(text, place):
        kind = match.lastgroup
        assert kind is not None
        shown, start = match[kind], match.start(kind)
        if kind == "bad":
            raise malformed(f"Unexpected character {shown} at {start + 1}")
        if kind in (QUOTED, TEXT):
            mark = shown[0]
            shown = shown[1:-1].replace(mark * 2, mark)
        found.append(Symbol(kind, shown, start))
        place = match.end()
    found.append(Symbol(END, "end of statement", len(text)))
    return found
