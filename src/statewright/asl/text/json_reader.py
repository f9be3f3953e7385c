"""Reads JSON text into a value with the offset of every part, without recursion.

Owns the grammar, repeated names, depth and the bare `${...}` values of template engines. The messages for text that
does not fit are in `json_faults.py`.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from math import isinf
from typing import Final, NoReturn

from statewright.asl.text import json_faults
from statewright.asl.text.document import (
    MAX_DIGITS,
    MAX_FINDINGS,
    Document,
    Finding,
    Marks,
    Offsets,
    Path,
    SourceText,
    repeated_name,
    too_deep,
)
from statewright.payload import Json

# Trailing blanks belong to each match, so that every step starts at a token. Repetitions are possessive, so that no
# hostile text makes them backtrack.
_BLANK: Final = r"[ \t\n\r]*+"
_STRING: Final = r'"([^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+)"'
_NAME: Final = re.compile(rf"{_STRING}{_BLANK}:{_BLANK}")
_VALUE: Final = re.compile(
    rf"(?:{_STRING}"
    r"|([\[{])"
    r"|(true|false|null)(?!\w)"
    r"|(-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][-+]?[0-9]++)?)(?![\w.+-])"
    r"|(\$\{(?:[^{}\r\n]|\{[^{}\r\n]*+\})++\})"
    rf"){_BLANK}"
)
_TEXT, _OPEN, _WORD, _NUMBER, _FRACTION, _EXPONENT, _PLACEHOLDER = range(1, 8)
_SKIP: Final = re.compile(_BLANK)
_WORDS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def read_json(source: SourceText, *, max_depth: int, placeholders: bool, template: bool = False) -> Document:
    """Read one JSON value; `placeholders` says whether a bare `${...}` may stand for one.

    Of a name that a `template` repeats in an object, the last value counts, and the document lists the repetition.

    Raises:
        ReadError: the text is not JSON, repeats a name in an object, or nests deeper than `max_depth`. It lists every
            repeated name, and the first break of the grammar.
    """
    return _Reading(source, max_depth, placeholders).document(template)


class _Reading:
    """One pass over a text.

    `stack` holds the containers around the current one: each with its offsets, the bracket that ends it, and the name
    of the member being read. A container is part of its parent before it is filled. At the bottom is a list that
    receives the root value.
    """

    def __init__(self, source: SourceText, max_depth: int, placeholders: bool) -> None:
        self.source = source
        self.max_depth = max_depth
        self.takes_placeholders = placeholders
        self.stack: list[tuple[Json, Json, str, str]] = []
        self.containers: dict[int, Offsets] = {}
        self.placeholders: list[Path] = []
        self.repeated: list[Finding] = []

    def document(self, may_repeat: bool) -> Document:
        root: list[Json] = []
        starts: list[int] = []
        try:
            self.read(root, starts)
        except json_faults.Fault as fault:
            raise self.source.error([*self.repeated, fault.finding], "json") from None
        if self.repeated and not may_repeat:
            raise self.source.error(self.repeated, "json")
        marks = Marks(starts[0], self.containers)
        noted = tuple(self.placeholders)
        return Document(root[0], self.source.name, "json", noted, self.source, marks, tuple(self.repeated))

    def read(self, container: Json, offsets: Json) -> None:
        text, stack, value_at, name_at, skip = self.source.text, self.stack, _VALUE.match, _NAME.match, _SKIP.match
        name, closer, name_start = "", "", 0
        at = skip(text, text.startswith("\ufeff")).end()  # type: ignore[union-attr]
        while True:
            match = value_at(text, at)
            if match is None:
                self.fail(json_faults.at_value, at, container, name)
            kind = match.lastindex
            value: Json
            if kind == _TEXT:
                value = match[1]
                if "\\" in value:
                    value = self.unescaped(value, at, container, name)
            elif kind == _OPEN:
                value = {} if match[2] == "{" else []
            elif kind == _WORD:
                value = _WORDS[match[3]]
            else:
                value = self.number_or_placeholder(match, container, name)
            if closer == "}":
                container[name] = value
                offsets[name] = (name_start, at)
            else:
                container.append(value)
                offsets.append(at)
            at = match.end()
            if kind == _OPEN:
                stack.append((container, offsets, closer, name))
                container, offsets, closer = value, *(([], "]") if match[2] == "[" else ({}, "}"))
                self.containers[id(container)] = offsets
                if len(stack) > self.max_depth:
                    raise json_faults.Fault(too_deep(match.start(), self.max_depth))
            if kind != _OPEN or text.startswith(closer, at):
                # After a value comes a comma, or the end of its container, which is itself a value. The root's
                # container ends where the text does.
                while (char := text[at : at + 1]) == closer:
                    if not stack:
                        return
                    at = skip(text, at + 1).end()  # type: ignore[union-attr]
                    container, offsets, closer, name = stack.pop()
                if char != "," or not stack:
                    self.fail(json_faults.after_value, at, container, None)
                at = skip(text, at + 1).end()  # type: ignore[union-attr]
            if closer == "}":
                match = name_at(text, at)
                if match is None:
                    self.fail(json_faults.at_name, at, container, None)
                name, name_start, at = match[1], at, match.end()
                if "\\" in name:
                    name = self.unescaped(name, name_start, container, None)
                if name in container:
                    self.note_repeated(name, name_start, offsets[name][0])

    def number_or_placeholder(self, match: re.Match[str], container: Json, name: str) -> Json:
        digits = match[_NUMBER]
        if digits is None:
            if not self.takes_placeholders:
                self.fail(json_faults.at_value, match.start(), container, name)
            self.placeholders.append(self.here(container, name))
            return match[_PLACEHOLDER]
        if len(digits) > MAX_DIGITS:
            self.fail(json_faults.long_number, match.start(), container, name)
        if match.lastindex == _NUMBER and not match[_FRACTION] and not match[_EXPONENT]:
            return int(digits)
        number = float(digits)
        if isinf(number):
            self.fail(json_faults.big_number, match.start(), container, name)
        return number

    def unescaped(self, raw: str, start: int, container: Json, name: str | None) -> str:
        decoded: str = json.loads(f'"{raw}"')
        if not decoded.isascii() and _SURROGATE.search(decoded):
            self.fail(json_faults.half_pair, start, container, name)
        return decoded

    def note_repeated(self, name: str, start: int, first: int) -> None:
        if len(self.repeated) < MAX_FINDINGS:
            self.repeated.append(repeated_name(self.source, name, start, first, (*self.enclosing(), name)))

    def fail(self, explain: json_faults.Explain, at: int, container: Json, name: str | None) -> NoReturn:
        opened = None
        if self.stack:
            _, offsets, _, member = self.stack[-1]
            opened = offsets[member][1] if isinstance(offsets, dict) else offsets[-1]
        raise json_faults.Fault(replace(explain(self.source, at, opened), path=self.here(container, name)))

    def here(self, container: Json, name: str | None) -> Path:
        """The path of the value that comes next; without a name, of what surrounds it."""
        if not self.stack or name is None:
            return self.enclosing()
        return (*self.enclosing(), name if isinstance(container, dict) else len(container))

    def enclosing(self) -> Path:
        """The path of the current container."""
        frames = self.stack[1:]
        return tuple(name if closer == "}" else len(container) - 1 for container, _, closer, name in frames)
