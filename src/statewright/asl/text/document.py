"""The readers' result: a JSON value with the position of each of its parts in the text.

Owns offsets, lines and columns, and the error that explains why a text is not a definition. Leaves parsing to
`json_reader.py` and `yaml_reader.py`, and checks of the value to `validate.py`.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal

from statewright.asl.text import jackson
from statewright.errors import DefinitionError, Diagnostic, Step
from statewright.payload import Json

Path = tuple[Step, ...]
Syntax = Literal["json", "yaml"]

MAX_CHARACTERS: Final = 1_048_576
"""The longest definition. Source: service model, `definition` of CreateStateMachine."""
MAX_DEPTH: Final = 200
"""Deepest nesting of objects and arrays. Ours: the JSON encoder stops at 254 levels, of which the wrapping of a
definition needs some; a state machine uses three or four levels for each Map or Parallel inside another."""
MAX_DIGITS: Final = 1_000
"""The longest number, in characters. Source: the default of the service's parser."""
MAX_FINDINGS: Final = 1_000
"""Most findings that one error lists. Ours: a hostile text could otherwise cause hundreds of thousands."""

INVALID_TEXT: Final = "INVALID_JSON_DESCRIPTION"
TOO_DEEP: Final = "TOO_DEEPLY_NESTED"
NOT_AN_OBJECT: Final = "SCHEMA_VALIDATION_FAILED"

EMPTY_SERVICE_MESSAGE: Final = "Definition must be a valid JSON object"
"""The service's message for a blank definition. Source: observed."""

_LINE_BREAK: Final = re.compile(r"\r\n?|\n")


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault at one place of a text, before offsets are turned into lines."""

    offset: int
    message: str
    hint: str | None = None
    path: Path = ()
    code: str = INVALID_TEXT


class SourceText:
    """A text that converts offsets to lines and columns, both counted from 1 in characters."""

    __slots__ = ("_starts", "name", "text")

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self._starts: list[int] | None = None

    def place(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset."""
        starts = self._starts
        if starts is None:
            starts = self._starts = [0, *(match.end() for match in _LINE_BREAK.finditer(self.text))]
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def where(self, offset: int) -> str:
        """Return the place as messages show it: `line 3, column 7`."""
        line, column = self.place(offset)
        return f"line {line}, column {column}"

    def error(self, findings: list[Finding], syntax: Syntax | None = None) -> ReadError:
        """Return the error that lists the findings in the order of the text.

        Without `syntax` the text was never parsed: it is too long, or not text at all.
        """
        diagnostics = []
        for finding in sorted(findings, key=lambda found: found.offset)[:MAX_FINDINGS]:
            line, column = self.place(finding.offset)
            diagnostics.append(
                Diagnostic(
                    finding.code, finding.message, path=finding.path, line=line, column=column, hint=finding.hint
                )
            )
        return ReadError(diagnostics, self.name, self.text, syntax)


def repeated_name(source: SourceText, name: str, offset: int, first: int, path: Path) -> Finding:
    """Return the finding that an object names a member twice."""
    return Finding(
        offset,
        f"found {shown(name)} a second time in the same object (first at {source.where(first)}), "
        "expected each name once",
        "rename or remove one of the two; only one of them could take effect",
        path,
    )


def too_deep(offset: int, max_depth: int) -> Finding:
    """Return the finding that objects and arrays nest too deep."""
    return Finding(
        offset,
        f"found objects and arrays nested more than {max_depth} levels deep, expected at most {max_depth}",
        "flatten the value, or move the inner part into a separate state machine",
        code=TOO_DEEP,
    )


def empty(offset: int) -> Finding:
    """Return the finding that a text holds no value."""
    return Finding(
        offset, "found an empty text, expected a JSON object", "start with StartAt and States", (), NOT_AN_OBJECT
    )


def shown(text: str, limit: int = 40) -> str:
    """Return a piece of the text for a message: quoted, on one line, and short."""
    cut = text if len(text) <= limit else text[: limit - 3] + "..."
    return json.dumps(cut, ensure_ascii=False) if cut.isprintable() else json.dumps(cut)


class ReadError(DefinitionError):
    """Raised for a text that is not a definition; `diagnostics` say where and why in our words.

    `service_message` and `service_location` are the service's words for the same text, made on first use. Both are
    `None` where its parser reports nothing: it reads no YAML, and accepts repeated names, text after the end, and any
    depth.
    """

    def __init__(self, diagnostics: list[Diagnostic], name: str, text: str, syntax: Syntax | None) -> None:
        super().__init__(diagnostics)
        self.name = name
        self._text = text
        self._syntax = syntax

    @cached_property
    def _fault(self) -> jackson.Fault | None:
        return jackson.first_fault(self._text) if self._syntax == "json" else None

    @property
    def service_message(self) -> str | None:
        """The service's diagnostic message, its location included."""
        if self._syntax == "json" and not self._text.strip():
            return EMPTY_SERVICE_MESSAGE
        return self._fault.message if self._fault else None

    @property
    def service_location(self) -> str | None:
        """The service's diagnostic location: `[Source: (String)"..."; line: 1, column: 4]`."""
        return self._fault.location if self._fault else None


Offsets = dict[str, tuple[int, int]] | list[int]
"""Of an object: per member the offsets of its name and its value. Of an array: those of its elements."""


@dataclass(frozen=True, slots=True)
class Marks:
    """The offsets of a value's parts; lines and columns are computed on request.

    `containers` is keyed by the id of each object and array, which is safe because a document holds both.
    """

    root: int
    containers: dict[int, Offsets]

    def find(self, value: Json, path: Path) -> tuple[int, int]:
        """Return the offsets of the name and of the value at a path, or of the nearest ancestor that exists."""
        name = offset = self.root
        for step in path:
            offsets = self.containers.get(id(value))
            # The id may have belonged to an object that a YAML merge replaced.
            if isinstance(offsets, dict) and isinstance(value, dict) and isinstance(step, str) and step in offsets:
                name, offset = offsets[step]
            elif (
                isinstance(offsets, list)
                and isinstance(value, list)
                and isinstance(step, int)
                and 0 <= step < len(offsets)
            ):
                name = offset = offsets[step]
            else:
                break
            value = value[step]
        return name, offset


@dataclass(frozen=True, slots=True)
class Document:
    """A definition as a JSON value, with the place of every part.

    Objects keep their order, integers their digits, and `1.0` stays a float. `placeholders` are the paths of bare
    `${...}` values, which a template engine would replace before the service sees the text; the value there is the
    placeholder's text. The value may share structure (YAML aliases) and must not be mutated. `repeated` are the names
    that a template has twice in one object.
    """

    value: Json
    name: str
    syntax: Syntax
    placeholders: tuple[Path, ...]
    source: SourceText = field(repr=False, compare=False)
    marks: Marks = field(repr=False, compare=False)
    repeated: tuple[Finding, ...] = field(default=(), compare=False)

    def position(self, path: Path = ()) -> tuple[int, int]:
        """Return line and column, from 1, of the value at a path, or of its nearest ancestor that exists.

        A part that a YAML alias repeats stands where its anchor is.
        """
        return self.source.place(self.marks.find(self.value, path)[1])

    def key_position(self, path: Path) -> tuple[int, int]:
        """Return line and column, from 1, of the name of a member; of the value for what has no name."""
        return self.source.place(self.marks.find(self.value, path)[0])
