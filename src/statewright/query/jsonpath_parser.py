"""Parses JSONPath text into a tree of steps and filter conditions, in the dialect of Jayway JsonPath.

Owns the grammar and its limits, and `PathSyntaxError`. Evaluation is `jsonpath`, `jsonpath_steps` and
`jsonpath_filters`. Only filters, groups and list literals nest; they are limited to `MAX_NESTING`, so that no hostile
text exhausts the stack here or later.
"""

from __future__ import annotations

import re
from typing import Final, NoReturn

from statewright.payload import Json, join_surrogates
from statewright.query.jsonpath_functions import FUNCTIONS
from statewright.query.jsonpath_tree import (
    WORD_OPERATORS,
    AllOf,
    AnyOf,
    Call,
    Comparison,
    Condition,
    Constant,
    Existence,
    Filter,
    Index,
    Indexes,
    Name,
    Names,
    Negation,
    Operand,
    ParsedPath,
    Path,
    Pattern,
    Root,
    Scan,
    Slice,
    Step,
    Wildcard,
    is_definite,
)
from statewright.query.linear_regex import RegexSyntaxError, compile_regex

MAX_NESTING: Final = 32
MAX_INDEX_DIGITS: Final = 10


class PathSyntaxError(ValueError):
    """Raised for a text that is not a path. `position` counts characters from 0 in the text."""

    def __init__(self, message: str, text: str, position: int) -> None:
        shown = text if len(text) <= 200 else text[:200] + "..."
        super().__init__(f"{message} at position {position} of '{shown}'")
        self.message = message
        self.text = text
        self.position = position


_SAME_AS: Final = {"===": "==", "!==": "!="}
"""Jayway's type-safe variants; here the plain ones do not convert either."""
_DOT_NAME: Final = re.compile(r"(?:[^\s.\[\]()\\]|\\.)+", re.DOTALL)
_FILTER_NAME: Final = re.compile(r"(?:[^\s.\[\]()\\,=<>!~&|'\"]|\\.)+", re.DOTALL)
_QUOTED: Final = {
    "'": re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL),
    '"': re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL),
}
_SPACE: Final = re.compile(r"\s*")
_INTEGER: Final = re.compile(r"-?[0-9]+")
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_OPERATOR: Final = re.compile(rf"===|!==|==|!=|<=|>=|=~|<|>|(?:{'|'.join(WORD_OPERATORS)})(?!\w)", re.IGNORECASE)
_KEYWORD: Final = re.compile(r"(true|false|null)(?!\w)")
_WORD: Final = re.compile(r"[^\W\d][\w-]*(?=\s*(?:\)|&&|\|\|))")
_REGEX: Final = re.compile(r"/((?:[^/\\]|\\.)*)/([A-Za-z]*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_NOT_IN_REFERENCE: Final = frozenset("@,:?*")
_CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_KEYWORDS: Final = {"true": True, "false": False, "null": None}


def parse_path(text: str) -> ParsedPath:
    """Parse a path that starts with `$`, `$$` or `$name`.

    Raises: `PathSyntaxError`.
    """
    parser = _Parser(text.rstrip())
    path = parser.path(in_filter=False)
    if parser.position < len(parser.text):
        parser.fail("A function ends a path" if isinstance(path.steps[-1], Call) else "Expected '.' or '['")
    return ParsedPath(
        path, frozenset(parser.variables), parser.uses_context, frozenset(parser.features), tuple(parser.unquoted)
    )


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.depth = 0
        self.filters = 0
        self.variables: set[str] = set()
        self.uses_context = False
        self.features: set[str] = set()
        self.unquoted: list[str] = []

    # Paths

    def path(self, *, in_filter: bool) -> Path:
        root, variable = self.root()
        if in_filter and root in ("context", "variable"):
            self.features.add("outer value")
        steps: list[Step] = []
        while self.position < len(self.text):
            char = self.text[self.position]
            if char == ".":
                steps.append(self.after_dot(in_filter))
            elif char == "[":
                steps.append(self.bracket())
            elif in_filter:
                break
            else:
                self.fail("Expected '.' or '['")
            if isinstance(steps[-1], Call):
                break
        return Path(root, variable, tuple(steps))

    def root(self) -> tuple[Root, str | None]:
        if self.take("@"):
            if self.filters == 0:
                self.position -= 1
                self.fail("'@' stands only inside a filter")
            return "current", None
        if not self.take("$"):
            self.fail("A path starts with '$'")
        if self.take("$"):
            self.uses_context = True
            return "context", None
        start = self.position
        while (char := self.peek()) and (char if self.position == start else "a" + char).isidentifier():
            self.position += 1
        if self.position == start:
            return "data", None
        variable = self.text[start : self.position]
        self.variables.add(variable)
        return "variable", variable

    def after_dot(self, in_filter: bool) -> Step:
        self.position += 1
        if not self.take("."):
            return self.named(in_filter)
        at = self.position
        step = self.named(in_filter)
        if isinstance(step, Call):
            self.position = at
            self.fail("A function cannot follow '..'")
        return Scan(step)

    def named(self, in_filter: bool) -> Step:
        """Parse what follows one or two dots: a name, a function, `*`, or a bracket (`$.['x']`)."""
        if self.peek() == "[":
            return self.bracket()
        if self.peek() == "*":
            self.position += 1
            return Wildcard()
        match = (_FILTER_NAME if in_filter else _DOT_NAME).match(self.text, self.position)
        if match is None:
            self.fail("A path must not end with '.'" if self.peek() == "" else "Expected a name")
        if self.text.startswith("(", match.end()):
            return self.call(match)
        self.position = match.end()
        written = match[0]
        if "\\" not in written:
            return Name(written, plain=_NOT_IN_REFERENCE.isdisjoint(written))
        return Name(
            join_surrogates(_ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else m[2], written)),
            plain=_NOT_IN_REFERENCE.isdisjoint(_ESCAPE.sub("", written)),
        )

    def call(self, match: re.Match[str]) -> Call:
        name = match[0]
        function = FUNCTIONS.get(name)
        if function is None:
            self.fail(f"There is no function {name[:40]}()")
        self.position = match.end() + 1
        self.enter()
        arguments: list[Operand] = []
        self.skip_space()
        while not self.take(")"):
            if arguments and not self.take(","):
                self.fail("Expected ',' or ')'")
            argument = self.operand()
            if isinstance(argument, Pattern):
                self.fail("A regular expression is not an argument")
            arguments.append(argument)
            self.skip_space()
        self.depth -= 1
        most = function.max_arguments
        if len(arguments) < function.min_arguments or (most is not None and len(arguments) > most):
            self.fail(f"{name}() does not take {len(arguments)} arguments")
        if not function.confirmed:
            self.features.add("function")
        return Call(name, tuple(arguments))

    def bracket(self) -> Step:
        self.position += 1
        self.skip_space()
        char = self.peek()
        step: Step
        if char in _QUOTED:
            step = self.names()
        elif char == "*":
            self.position += 1
            step = Wildcard()
        elif char == "?":
            step = self.filter()
        else:
            step = self.indexes()
        self.skip_space()
        if not self.take("]"):
            self.fail("Expected ']'")
        return step

    def names(self) -> Step:
        names: list[str] = []
        while True:
            self.skip_space()
            if self.peek() not in _QUOTED:
                self.fail("Expected a quoted name")
            names.append(self.quoted_name())
            self.skip_space()
            if not self.take(","):
                break
        if len(names) == 1:
            return Name(names[0])
        self.features.add("name union")
        return Names(tuple(names))

    def quoted_name(self) -> str:
        r"""A name in quotes, in which a backslash is literal unless the same quote or a backslash follows it.

        So `$['a\"b']` reads the member whose name has the backslash, as the service does (observed).
        """
        quote = self.peek()
        raw = self.quoted_text()
        if "\\" not in raw:
            return raw
        if "\\" + quote in raw:
            self.features.add("escaped quote")
        return _ESCAPE_IN_NAME[quote].sub(r"\1", raw)

    def indexes(self) -> Step:
        start = None if self.peek() == ":" else self.index()
        self.skip_space()
        if self.take(":"):
            self.skip_space()
            stop = None if self.peek() in ("]", ":") else self.index()
            self.skip_space()
            if self.peek() == ":":
                self.fail("A slice has no step")
            if ((start or 0) < 0 and stop is not None) or (stop or 0) < 0:
                self.features.add("negative slice")
            return Slice(start, stop)
        indexes = [start if start is not None else 0]
        while self.take(","):
            self.skip_space()
            indexes.append(self.index())
            self.skip_space()
        if min(indexes) < 0:
            self.features.add("negative index")
        if len(indexes) == 1:
            return Index(indexes[0])
        self.features.add("index union")
        return Indexes(tuple(indexes))

    def index(self) -> int:
        match = _INTEGER.match(self.text, self.position)
        if match is None:
            self.fail("Expected a quoted name, a number, '*' or '?('")
        if len(match[0]) > MAX_INDEX_DIGITS:
            self.fail(f"An index has at most {MAX_INDEX_DIGITS} digits")
        self.position = match.end()
        return int(match[0])

    # Filters

    def filter(self) -> Filter:
        self.position += 1
        self.skip_space()
        if self.peek() != "(":
            self.fail("A filter is written [?(...)]; expected '('")
        self.enter()
        self.filters += 1
        condition = self.any_of()
        self.filters -= 1
        self.depth -= 1
        return Filter(condition)

    def any_of(self) -> Condition:
        conditions = [self.all_of()]
        while self.take_symbol("||"):
            conditions.append(self.all_of())
        return conditions[0] if len(conditions) == 1 else AnyOf(tuple(conditions))

    def all_of(self) -> Condition:
        conditions = [self.term()]
        while self.take_symbol("&&"):
            conditions.append(self.term())
        return conditions[0] if len(conditions) == 1 else AllOf(tuple(conditions))

    def term(self) -> Condition:
        negated = False
        while self.take_symbol("!"):
            negated = not negated
            self.features.add("negation")
        condition: Condition
        if self.take_symbol("("):
            self.enter()
            condition = self.any_of()
            self.depth -= 1
            if not self.take_symbol(")"):
                self.fail("Expected ')'")
        else:
            condition = self.comparison()
        return Negation(condition) if negated else condition

    def comparison(self) -> Condition:
        at = self.position
        left = self.operand()
        self.skip_space()
        match = _OPERATOR.match(self.text, self.position)
        if match is None:
            return self.lone(left, at)
        self.position = match.end()
        operator = match[0].lower()
        operator = _SAME_AS.get(operator, operator)
        if operator in WORD_OPERATORS:
            self.features.add("membership")
        self.skip_space()
        if operator == "empty" and (not self.peek() or self.peek() in ")&|"):
            right: Operand = Constant(True)
        else:
            right = self.unquoted_text() or self.operand()
        patterns = isinstance(left, Pattern) + isinstance(right, Pattern)
        if patterns != (operator == "=~"):
            self.position = at
            self.fail("=~ compares a value with one /regular expression/, and nothing else does")
        return Comparison(operator, left, right)

    def lone(self, operand: Operand, at: int) -> Condition:
        """A condition without an operator."""
        if self.peek() == "=":
            self.fail("Equality is written '=='")
        if isinstance(operand, Path):
            if not is_definite(operand.steps):
                self.features.add("existence of many")
            return Existence(operand)
        if not isinstance(operand, Constant) or not isinstance(operand.value, bool):
            self.position = at
            self.fail("A literal alone is not a condition")
        return operand

    def operand(self) -> Operand:
        self.skip_space()
        char = self.peek()
        if char in ("@", "$"):
            return self.path(in_filter=True)
        if char == "/":
            return self.pattern()
        return Constant(self.literal())

    def unquoted_text(self) -> Constant | None:
        """A word without quotes at the right of an operator, which published definitions have: read as that text."""
        match = _WORD.match(self.text, self.position)
        if match is None or match[0] in _KEYWORDS:
            return None
        self.position = match.end()
        self.unquoted.append(match[0])
        return Constant(match[0])

    def pattern(self) -> Pattern:
        at = self.position
        match = _REGEX.match(self.text, at)
        if match is None:
            self.fail("The regular expression has no closing '/'")
        flags = set(match[2])
        if flags - set("isu"):
            self.fail("A regular expression takes the flags i and s")
        try:
            regex = compile_regex(match[1], ignore_case="i" in flags, dot_all="s" in flags)
        except RegexSyntaxError as error:
            self.position = at + 1 + error.position
            self.fail(error.message)
        self.features.add("regular expression")
        self.position = match.end()
        return Pattern(regex)

    def literal(self) -> Json:
        self.skip_space()
        char = self.peek()
        if char in _QUOTED:
            if char == '"':
                self.features.add("double-quoted text")
            return self.string()
        if char == "[":
            return self.array()
        if char == "{":
            return self.object()
        match = _KEYWORD.match(self.text, self.position)
        if match is not None:
            self.position = match.end()
            return _KEYWORDS[match[1]]
        return self.number()

    def number(self) -> int | float:
        match = _NUMBER.match(self.text, self.position)
        if match is None:
            self.fail("Expected a path or a literal")
        if len(match[0]) > 400:
            self.fail("The number is too long")
        self.position = match.end()
        if match[1] is None and match[2] is None:
            return int(match[0])
        number = float(match[0])
        if number in (float("inf"), float("-inf")):
            self.fail("The number is too large")
        return number

    def string(self) -> str:
        raw = self.quoted_text()
        if "\\" not in raw:
            return raw
        return join_surrogates(
            _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _CONTROLS.get(m[2], m[2]), raw),
        )

    def array(self) -> list[Json]:
        self.position += 1
        self.enter()
        elements: list[Json] = []
        while not self.take_symbol("]"):
            if elements and not self.take_symbol(","):
                self.fail("Expected ',' or ']'")
            elements.append(self.literal())
        self.depth -= 1
        return elements

    def object(self) -> dict[str, Json]:
        self.position += 1
        self.enter()
        members: dict[str, Json] = {}
        while not self.take_symbol("}"):
            if members and not self.take_symbol(","):
                self.fail("Expected ',' or '}'")
            self.skip_space()
            if self.peek() not in _QUOTED:
                self.fail("Expected a quoted name")
            name = self.string()
            if not self.take_symbol(":"):
                self.fail("Expected ':'")
            members[name] = self.literal()
        self.depth -= 1
        return members

    # Characters

    def quoted_text(self) -> str:
        match = _QUOTED[self.peek()].match(self.text, self.position)
        if match is None:
            self.fail("The quote is not closed")
        self.position = match.end()
        return match[1]

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.fail(f"Nested more than {MAX_NESTING} deep")

    def skip_space(self) -> None:
        match = _SPACE.match(self.text, self.position)
        if match is not None:
            self.position = match.end()

    def peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def take(self, expected: str) -> bool:
        if self.text.startswith(expected, self.position):
            self.position += len(expected)
            return True
        return False

    def take_symbol(self, expected: str) -> bool:
        self.skip_space()
        return self.take(expected)

    def fail(self, message: str) -> NoReturn:
        raise PathSyntaxError(message, self.text, self.position)


_ESCAPE_IN_NAME: Final = {quote: re.compile(rf"\\([{quote}\\])") for quote in _QUOTED}
