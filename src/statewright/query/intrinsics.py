"""Calls of intrinsic functions (`States.Format('{}', $.a)`), compiled from their text to callables.

Owns the syntax: names, quoted strings with their escapes, numbers, the end of a path inside a call, the depth of calls.
Leaves the functions to `query.intrinsic_functions`, and paths to `query.jsonpath`.

`PathNotFound` of a path passes through unchanged, with the path's text: only the field's owner knows the field's name
and the state's input, which the service quotes in the cause.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from statewright.payload import MOST_CHARACTERS, Json, size_of, too_large
from statewright.query.fence import charge
from statewright.query.intrinsic_functions import FUNCTIONS, Function, format_pattern, format_text
from statewright.query.jsonpath import JsonPath, PathSyntaxError, compile_path
from statewright.query.scope import Scope

NESTED_CALLS: Final = 10
"""Deepest nesting of calls, the outermost included. Source: Step Functions developer guide, Intrinsic functions."""
CACHED_CALLS: Final = 4096
"""Number of texts that stay compiled. Ours."""

Evaluate = Callable[[Scope], Json]


class IntrinsicSyntaxError(ValueError):
    """Raised for a text that is not a call of an intrinsic function. `position` counts characters from 0."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"{message} (at offset {position})")
        self.message = message
        self.position = position


@dataclass(frozen=True, slots=True, eq=False)
class Intrinsic:
    """A compiled call: `intrinsic(scope)` gives its value.

    `functions` names every call in the order of the text, so its length is the number of calls. `paths` has the paths
    among the arguments in the order of their evaluation; `variables` includes those that their filters read.
    """

    text: str
    evaluate: Evaluate
    functions: tuple[str, ...]
    paths: tuple[JsonPath, ...]
    variables: frozenset[str]
    unquoted: tuple[str, ...]
    uses_context: bool

    def __call__(self, scope: Scope) -> Json:
        """Evaluate the call.

        Raises:
            ExecutionFailure: `States.IntrinsicFailure`, an argument breaks a rule of its function.
            PathNotFound: a path among the arguments finds nothing.
        """
        return self.evaluate(scope)


@lru_cache(maxsize=CACHED_CALLS)
def compile_intrinsic(text: str) -> Intrinsic:
    """Compile a call such as `States.MathAdd($.count, 1)`; white space around it is allowed.

    Raises:
        IntrinsicSyntaxError: not a call, an unknown function, a wrong number of arguments (for `States.Format` also
            against the placeholders of a literal template), too many nested calls, or an invalid path.

    Source: Step Functions developer guide, Intrinsic functions, Reserved characters.
    """
    parser = _Parser(text)
    evaluate = parser.whole()
    return Intrinsic(
        text=text,
        evaluate=evaluate,
        functions=tuple(parser.functions),
        paths=tuple(parser.paths),
        variables=frozenset().union(*[path.variables for path in parser.paths]),
        unquoted=tuple(word for path in parser.paths for word in path.unquoted),
        uses_context=any(path.uses_context for path in parser.paths),
    )


@dataclass(frozen=True, slots=True)
class _Argument:
    """One compiled argument. `pieces` are the parts of a quoted string between its `{}`, None for any other
    argument."""

    evaluate: Evaluate
    pieces: tuple[str, ...] | None = None


class _Parser:
    """Recursive-descent parser of one text. Only calls recurse, at most `NESTED_CALLS` deep."""

    __slots__ = ("at", "functions", "paths", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.functions: list[str] = []
        self.paths: list[JsonPath] = []

    def whole(self) -> Evaluate:
        self.skip_space()
        name = self.name()
        if name is None:
            raise IntrinsicSyntaxError("expected an intrinsic function such as States.Format(...)", self.at)
        evaluate = self.call(name, 1)
        self.skip_space()
        if self.at < len(self.text):
            raise IntrinsicSyntaxError("unexpected text after the call", self.at)
        return evaluate

    def call(self, name: str, level: int) -> Evaluate:
        start = self.at
        function = FUNCTIONS.get(name)
        if function is None:
            raise IntrinsicSyntaxError(_unknown(name), start)
        if level > NESTED_CALLS:
            raise IntrinsicSyntaxError(f"more than {NESTED_CALLS} nested calls", start)
        self.functions.append(name)
        self.at += len(name)
        self.skip_space()
        if not self.take("("):
            raise IntrinsicSyntaxError(f"expected '(' after {name}", self.at)
        arguments = self.arguments(level)
        if not function.least <= len(arguments) <= (len(arguments) if function.most is None else function.most):
            raise IntrinsicSyntaxError(f"{name} takes {_count(function)}, but has {len(arguments)}", start)
        if name == "States.Format" and (pieces := arguments[0].pieces) is not None:
            return _bind_format(pieces, [argument.evaluate for argument in arguments[1:]], start)
        return _bind(function, [argument.evaluate for argument in arguments])

    def arguments(self, level: int) -> list[_Argument]:
        found: list[_Argument] = []
        self.skip_space()
        if self.take(")"):
            return found
        while True:
            found.append(self.argument(level))
            self.skip_space()
            if self.take(")"):
                return found
            if not self.take(","):
                raise IntrinsicSyntaxError("expected ',' or ')' after an argument", self.at)
            self.skip_space()

    def argument(self, level: int) -> _Argument:
        first = self.text[self.at : self.at + 1]
        if first == "'":
            return self.quoted()
        if first == "$":
            return _Argument(self.path().read)
        if name := self.name():
            if name in _WORDS:
                self.at += len(name)
                return _Argument(_constant(_WORDS[name]))
            if name.startswith("States."):
                return _Argument(self.call(name, level + 1))
        elif number := _NUMBER.match(self.text, self.at):
            return _Argument(_constant(self.number(number)))
        elif first == '"':
            raise IntrinsicSyntaxError("a string needs single quotes", self.at)
        raise IntrinsicSyntaxError(
            "expected an argument: a string in single quotes, a number, true, false, null, a path or a call", self.at
        )

    def quoted(self) -> _Argument:
        start = self.at
        match = _QUOTED.match(self.text, start)
        if match is None:
            raise IntrinsicSyntaxError("a string without its closing quote", start)
        raw = match[1]
        self.at = match.end()
        if "\\" not in raw:
            return _Argument(_constant(raw), tuple(raw.split("{}")))
        value: list[str] = []
        pieces: list[list[str]] = [[]]
        for part in _STRING_PART.finditer(raw):
            text = part[0]
            if text == "{}":
                value.append(text)
                pieces.append([])
                continue
            if text[0] == "\\":
                text = text[1:]
                if text not in _ESCAPED:
                    raise IntrinsicSyntaxError(
                        f"a backslash may stand only before ' {{ }} or another backslash, not before {text!r}",
                        start + 1 + part.start(),
                    )
            value.append(text)
            pieces[-1].append(text)
        return _Argument(_constant("".join(value)), tuple("".join(piece) for piece in pieces))

    def number(self, match: re.Match[str]) -> int | float:
        start, text = self.at, match[0]
        self.at = match.end()
        if _DIGIT_OR_NAME.match(self.text, self.at):
            raise IntrinsicSyntaxError("not a number", start)
        if not match[1]:
            if len(text) > _INTEGER_DIGITS:
                raise IntrinsicSyntaxError("an integer with too many digits", start)
            return int(text)
        number = float(text)
        if math.isinf(number):
            raise IntrinsicSyntaxError("a number out of range", start)
        return number

    def path(self) -> JsonPath:
        start = self.at
        self.at = _path_end(self.text, start)
        text = self.text[start : self.at]
        try:
            path = compile_path(text)
        except PathSyntaxError as error:
            raise IntrinsicSyntaxError(
                f"invalid path '{_short(text)}': {error.message}", start + error.position
            ) from error
        self.paths.append(path)
        return path

    def name(self) -> str | None:
        match = _NAME.match(self.text, self.at)
        return match[0] if match else None

    def take(self, character: str) -> bool:
        if self.text.startswith(character, self.at):
            self.at += 1
            return True
        return False

    def skip_space(self) -> None:
        match = _SPACE.match(self.text, self.at)
        if match:
            self.at = match.end()


_SPACE: Final = re.compile(r"\s+")
_NAME: Final = re.compile(r"[A-Za-z_][\w.]*")
# Possessive: a string that is not closed is read once, not once for every way to split it.
_QUOTED: Final = re.compile(r"'((?:[^'\\]++|\\.)*+)'", re.DOTALL)
_STRING_PART: Final = re.compile(r"\\.|\{\}|\{|[^\\{]+", re.DOTALL)
_ESCAPED: Final = frozenset("'{}\\")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)((?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
_DIGIT_OR_NAME: Final = re.compile(r"[\w.]")
_INTEGER_DIGITS: Final = 1000
_WORDS: Final[dict[str, bool | None]] = {"null": None, "true": True, "false": False}


def _path_end(text: str, start: int) -> int:
    """Find where the path that starts at `start` ends: at a comma, space or `)` outside its own brackets."""
    at, open_brackets, length = start, 0, len(text)
    before = at  # the last character that is no space: `/` after `=~` opens a regular expression
    while at < length:
        character = text[at]
        if open_brackets == 0:
            if character in ",)" or character.isspace():
                return at
        elif character in "'\"" or (character == "/" and text[before - 1 : before + 1] == "=~"):
            at = _closing(text, at, character)
        if character == "\\":
            at += 1
        elif character in "[(":
            open_brackets += 1
        elif character in "])":
            open_brackets -= 1
        if not character.isspace():
            before = at
        at += 1
    if open_brackets > 0 or at > length:
        raise IntrinsicSyntaxError("a path whose bracket, parenthesis or quote is not closed", start)
    return length


def _closing(text: str, at: int, quote: str) -> int:
    """Find the quote that closes the one at `at`, passing over escaped characters; the text's end if none does."""
    at += 1
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" else 1
    return at


def _unknown(name: str) -> str:
    for known in FUNCTIONS:
        if known.lower() == name.lower():
            return f"unknown function {name}; the name is {known}, and case matters"
    return f"unknown function {_short(name)}"


def _short(text: str) -> str:
    return text if len(text) <= 100 else text[:100] + "..."


def _count(function: Function) -> str:
    if function.most is None:
        return f"{function.least} argument or more"
    if function.least != function.most:
        return f"{function.least} or {function.most} arguments"
    return f"{function.least} argument" + ("" if function.least == 1 else "s")


def _constant(value: Json) -> Evaluate:
    return lambda _scope: value


def _bind_format(pieces: tuple[str, ...], arguments: list[Evaluate], position: int) -> Evaluate:
    if len(pieces) - 1 != len(arguments):
        raise IntrinsicSyntaxError(
            f"the template of States.Format has {len(pieces) - 1} placeholders {{}}, "
            f"but {len(arguments)} arguments follow it",
            position,
        )
    pattern = format_pattern(pieces)
    if len(arguments) == 1:
        (only,) = arguments
        return lambda scope: pattern % _text_of(only(scope))
    if len(arguments) == 2:
        first, second = arguments
        return lambda scope: pattern % (_text_of(first(scope)), _text_of(second(scope)))

    def formatted(scope: Scope) -> Json:
        texts = []
        length = 0
        for argument in arguments:
            text = _text_of(argument(scope))
            length += len(text)
            if length > MOST_CHARACTERS:
                raise too_large()
            texts.append(text)
        return pattern % tuple(texts)

    return formatted


def _text_of(value: Json) -> str:
    if type(value) is str:
        return value
    text = format_text(value)
    if len(text) > _SMALL:
        charge(len(text) // _CHARACTERS)
    return text


def _bind(function: Function, arguments: list[Evaluate]) -> Evaluate:
    """Make one closure of a function and its arguments; the usual numbers of arguments need no list."""
    body = function.body
    if function.draws:
        return lambda scope: body(scope.entropy, *[argument(scope) for argument in arguments])
    if len(arguments) == 1:
        (only,) = arguments
        if not function.reads_whole:
            return lambda scope: body(only(scope))
        return lambda scope: body(_charged(only(scope)))
    if len(arguments) == 2:
        first, second = arguments
        if not function.reads_whole:
            return lambda scope: body(first(scope), second(scope))
        return lambda scope: body(_charged(first(scope)), second(scope))
    return lambda scope: body(*[argument(scope) for argument in arguments])


_SIZED: Final = frozenset((str, list, dict))
_SMALL: Final = 100
_CHARACTERS: Final = 16
"""Characters of a text that cost as much as a value visited. Ours: reading JSON is the slowest that is done to a
text."""


def _charged(value: Json) -> Json:
    """The value itself; counts the work of a function that reads the whole of it."""
    if type(value) in _SIZED and len(value) > _SMALL:
        charge(len(value) // _CHARACTERS if isinstance(value, str) else size_of(value) // _CHARACTERS)
    return value
