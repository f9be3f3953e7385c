"""Splits JSONata 2.0.6 text into tokens, one at a time, because the meaning of `/` depends on the token before it.

Owns the lexical rules and their errors. The grammar is `parser`'s.
Source: behaviour of the JSONata 2.0.6 tokenizer; positions here are those of a token's first character.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from statewright.payload import join_surrogates
from statewright.query.jsonata.errors import JsonataSyntaxError

BINDING_POWER: Final = {
    ".": 75, "[": 80, "]": 0, "{": 70, "}": 0, "(": 80, ")": 0, ",": 0, "@": 80, "#": 80, ";": 0, ":": 0,
    "?": 20, "+": 50, "-": 50, "*": 60, "/": 60, "%": 60, "|": 0, "=": 40, "<": 40, ">": 40, "^": 40,
    "**": 0, "..": 0, ":=": 10, "!=": 40, "<=": 40, ">=": 40, "~>": 40, "and": 30, "or": 25, "in": 40,
    "&": 50, "!": 0, "~": 0,
}  # fmt: skip
"""How tightly each operator binds to its left operand; 0 for those that only close or separate."""

END: Final = "(end)"

_DOUBLE: Final = frozenset(("..", ":=", "!=", ">=", "<=", "**", "~>"))
_SINGLE: Final = frozenset(name for name in BINDING_POWER if len(name) == 1)
_SPACE: Final = " \t\n\r\v"
_NUMBER: Final = re.compile(r"(0|([1-9][0-9]*))(\.[0-9]+)?([Ee][-+]?[0-9]+)?", re.ASCII)
_NAME: Final = re.compile("[^" + re.escape(_SPACE + "".join(_SINGLE)) + "]*")
_HEX: Final = re.compile(r"[0-9a-fA-F]{4}")
_ESCAPES: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_KEYWORDS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is operator, name, variable, string, number, value, regex or end. A quoted name has `quoted` set."""

    kind: str
    value: object
    start: int
    end: int
    quoted: bool = False


class Lexer:
    """Reads tokens from one text, in order."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def next(self, *, after_operand: bool = False) -> Token:
        """The next token. `after_operand` says that a `/` here divides; elsewhere it opens a regular expression.

        Raises: JsonataSyntaxError.
        """
        text = self.text
        self._skip_space()
        start = self.position
        if start >= len(text):
            return Token("end", END, len(text), len(text))
        char = text[start]
        if char == "/" and not after_operand:
            return self._regex(start)
        if text[start : start + 2] in _DOUBLE:
            return self._take("operator", text[start : start + 2], start, start + 2)
        if char in _SINGLE:
            return self._take("operator", char, start, start + 1)
        if char in "\"'":
            return self._string(start, char)
        number = _NUMBER.match(text, start)
        if number is not None:
            value = float(number[0])
            if value in (float("inf"), float("-inf")):
                raise JsonataSyntaxError("S0102", start, token=number[0])
            return self._take("number", value, start, number.end())
        if char == "`":
            end = text.find("`", start + 1)
            if end < 0:
                raise JsonataSyntaxError("S0105", len(text))
            token = Token("name", text[start + 1 : end], start, end + 1, quoted=True)
            self.position = end + 1
            return token
        return self._word(start)

    def _take(self, kind: str, value: object, start: int, end: int) -> Token:
        self.position = end
        return Token(kind, value, start, end)

    def _skip_space(self) -> None:
        text, length = self.text, len(self.text)
        while True:
            while self.position < length and text[self.position] in _SPACE:
                self.position += 1
            if not text.startswith("/*", self.position):
                return
            end = text.find("*/", self.position + 2)
            if end < 0:
                raise JsonataSyntaxError("S0106", self.position)
            self.position = end + 2

    def _word(self, start: int) -> Token:
        match = _NAME.match(self.text, start)
        end = match.end() if match is not None else start
        word = self.text[start:end]
        if word.startswith("$"):
            return self._take("variable", word[1:], start, end)
        if word in ("or", "in", "and"):
            return self._take("operator", word, start, end)
        if word in _KEYWORDS:
            return self._take("value", _KEYWORDS[word], start, end)
        return self._take("name", word, start, end)

    def _string(self, start: int, quote: str) -> Token:
        text, length = self.text, len(self.text)
        parts: list[str] = []
        position = start + 1
        while position < length:
            char = text[position]
            if char == quote:
                return self._take("string", join_surrogates("".join(parts)), start, position + 1)
            if char != "\\":
                parts.append(char)
                position += 1
                continue
            position += 1
            escape = text[position : position + 1]
            if escape == "u":
                code = _HEX.match(text, position + 1)
                if code is None:
                    raise JsonataSyntaxError("S0104", position)
                parts.append(chr(int(code[0], 16)))
                position += 5
            elif escape in _ESCAPES:
                parts.append(_ESCAPES[escape])
                position += 1
            else:
                raise JsonataSyntaxError("S0103", position, token=escape)
        raise JsonataSyntaxError("S0101", length)

    def _regex(self, slash: int) -> Token:
        text, length = self.text, len(self.text)
        start = position = slash + 1
        depth = 0
        while position < length:
            char = text[position]
            if char == "/" and depth == 0 and not _escaped(text, position):
                if position == start:
                    raise JsonataSyntaxError("S0301", position)
                end = position + 1
                while end < length and text[end] in "im":
                    end += 1
                return self._take("regex", text[start:position], slash, end)
            if text[position - 1] != "\\":
                if char in "([{":
                    depth += 1
                elif char in ")]}":
                    depth -= 1
            position += 1
        raise JsonataSyntaxError("S0302", length)


def _escaped(text: str, position: int) -> bool:
    """True if an odd number of backslashes directly precedes `position`."""
    backslashes = 0
    while position - backslashes > 0 and text[position - backslashes - 1] == "\\":
        backslashes += 1
    return backslashes % 2 == 1
