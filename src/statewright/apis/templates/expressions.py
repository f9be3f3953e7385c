"""Expressions and references of a template: text to tree.

Owns the grammar inside the parentheses of directives and behind `$`. Blocks of text and directives are `parser.py`;
a text in double quotes goes back there, through `parse_inner`.

Source: the grammar of Velocity 1.7: a hyphen belongs to a name, quotes are doubled to stand in a text, a backslash
escapes nothing there except `\\uXXXX`, and null has no literal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Never

from statewright.apis.templates.failures import syntax_error
from statewright.apis.templates.tree import (
    Binary,
    BinaryOperator,
    Block,
    Constant,
    Expression,
    Index,
    Interpolated,
    ListOf,
    MapOf,
    Method,
    Not,
    Property,
    Range,
    Reference,
    Step,
)

MOST_NESTING: Final = 40
"""Deepest nesting of expressions and blocks. Ours: what is deeper would exhaust the interpreter's stack."""
MOST_DIGITS: Final = 18
"""Digits of a number in a template: those that fit into a long."""

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_BLANK: Final = re.compile(r"\s*")
_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]{1,3})?)?")
_TEXT: Final = re.compile(r"""'[^']*(?:''[^']*)*'|"[^"]*(?:""[^"]*)*\"""")
_NOT: Final = re.compile(r"not\b")
_UNICODE: Final = re.compile(r"\\u([0-9A-Fa-f]{4})")
_OPERATORS: Final[tuple[tuple[re.Pattern[str], dict[str, BinaryOperator]], ...]] = (
    (re.compile(r"\|\||or\b"), {"||": "||", "or": "||"}),
    (re.compile(r"&&|and\b"), {"&&": "&&", "and": "&&"}),
    (re.compile(r"==|!=|eq\b|ne\b"), {"==": "==", "!=": "!=", "eq": "==", "ne": "!="}),
    (
        re.compile(r"<=|>=|<|>|lt\b|le\b|gt\b|ge\b"),
        {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="},
    ),
    (re.compile(r"[+-]"), {"+": "+", "-": "-"}),
    (re.compile(r"[*/%]"), {"*": "*", "/": "/", "%": "%"}),
)
"""The levels of operators, from the loosest."""
NO_OPERATORS: Final = len(_OPERATORS)
"""The level of operands alone."""
MOST_IN_A_ROW: Final = 100
"""Operators of one level without parentheses, and members of one reference. Ours, as `MOST_NESTING`."""


class Reader:
    """Reads expressions of a text from `at` on, which moves behind what was read.

    The text is a part of the template `whole`, from `origin` on; offsets in the tree and of errors are those of the
    template.
    """

    def __init__(
        self, text: str, whole: str, origin: int, parse_inner: Callable[[str, int], Block], depth: int
    ) -> None:
        self.text = text
        self.whole = whole
        self.origin = origin
        self.at = 0
        self.depth = depth
        self._parse_inner = parse_inner

    def fail(self, message: str, at: int | None = None) -> Never:
        """Raise a `TemplateSyntaxError` here, or at another offset."""
        raise syntax_error(self.whole, self.origin + (self.at if at is None else at), message)

    def deeper(self) -> None:
        """Count one level of nesting; the caller takes it back."""
        self.depth += 1
        if self.depth > MOST_NESTING:
            self.fail(f"the template nests more than {MOST_NESTING} levels deep")

    def skip(self) -> None:
        """Skip white space."""
        match = _BLANK.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def take(self, sign: str) -> bool:
        """Skip white space, and a sign if it stands there."""
        self.skip()
        if self.text.startswith(sign, self.at):
            self.at += len(sign)
            return True
        return False

    def expect(self, sign: str, of: str) -> None:
        """Skip a sign. Raises: TemplateSyntaxError if it is missing."""
        if not self.take(sign):
            self.fail(f"'{sign}' is missing in {of}")

    def word(self) -> str | None:
        """A name, if one stands here."""
        match = NAME.match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        return match.group()

    def expression(self, level: int = 0) -> Expression:
        """An expression of the operators of a level and tighter ones."""
        if level == NO_OPERATORS:
            return self._unary()
        pattern, meanings = _OPERATORS[level]
        left = self.expression(level + 1)
        chain = 0
        while True:
            self.skip()
            match = pattern.match(self.text, self.at)
            if match is None:
                return left
            chain += 1
            if chain > MOST_IN_A_ROW:
                self.fail(f"an expression has more than {MOST_IN_A_ROW} operators in a row")
            at = self.origin + self.at
            self.at = match.end()
            left = Binary(meanings[match.group()], left, self.expression(level + 1), at)

    def _unary(self) -> Expression:
        self.skip()
        if self.text.startswith("!", self.at) and not self.text.startswith("!=", self.at):
            self.at += 1
        elif match := _NOT.match(self.text, self.at):
            self.at = match.end()
        else:
            return self._primary()
        self.deeper()
        inner = self._unary()
        self.depth -= 1
        return Not(inner)

    def _primary(self) -> Expression:
        self.deeper()
        try:
            return self._one()
        finally:
            self.depth -= 1

    def _one(self) -> Expression:
        self.skip()
        char = self.text[self.at : self.at + 1]
        if char == "$":
            found = self.reference()
            if found is None:
                self.fail("a name is missing after '$'")
            return found
        if char in ("'", '"') and char:
            return self._quoted()
        if char == "(":
            self.at += 1
            inner = self.expression()
            self.expect(")", "an expression")
            return inner
        if char == "[":
            return self._list()
        if char == "{":
            return self._map()
        if match := _NUMBER.match(self.text, self.at):
            return self._number(match.group())
        at = self.at
        word = self.word()
        if word in ("true", "false"):
            return Constant(word == "true")
        if word == "null":
            self.fail("there is no literal null; compare with $null, a variable that is never set", at)
        return self.fail("an expression is missing" if word is None else f"'{word}' is no expression", at)

    def _number(self, text: str) -> Constant:
        if len(text) > MOST_DIGITS + 10 or ("." not in text and len(text.lstrip("-")) > MOST_DIGITS):
            self.fail(f"a number has more than {MOST_DIGITS} digits")
        self.at += len(text)
        return Constant(float(text) if "." in text else int(text))

    def _quoted(self) -> Expression:
        match = _TEXT.match(self.text, self.at)
        if match is None:
            self.fail("a text has no end")
        start = self.at
        self.at = match.end()
        quote = match.group()[0]
        content = match.group()[1:-1].replace(quote + quote, quote)
        content = _UNICODE.sub(lambda found: chr(int(found.group(1), 16)), content)
        if quote == "'" or ("$" not in content and "#" not in content):
            return Constant(content)
        self.deeper()
        # A doubled quote before an error moves its column by one.
        body = self._parse_inner(content, self.origin + start + 1)
        self.depth -= 1
        return Interpolated(body)

    def _list(self) -> Expression:
        start = self.at
        self.at += 1
        if self.take("]"):
            return ListOf(())
        items = [self.expression()]
        if self.take(".."):
            last = self.expression()
            self.expect("]", "a range")
            return Range(items[0], last, self.origin + start)
        while self.take(","):
            items.append(self.expression())
        self.expect("]", "a list")
        return ListOf(tuple(items))

    def _map(self) -> Expression:
        self.at += 1
        members: list[tuple[Expression, Expression]] = []
        if self.take("}"):
            return MapOf(())
        while True:
            key = self.expression()
            self.expect(":", "a map")
            members.append((key, self.expression()))
            if not self.take(","):
                break
        self.expect("}", "a map")
        return MapOf(tuple(members))

    def reference(self) -> Reference | None:
        """The reference whose `$` stands here; None, and nothing read, if it is a mere sign."""
        start = self.at
        at = start + 1
        if self.text.startswith("!", at):
            at += 1
        formal = self.text.startswith("{", at)
        if formal:
            at += 1
        match = NAME.match(self.text, at)
        if match is None:
            return None
        self.at = match.end()
        steps = self._steps()
        if formal:
            if not self.text.startswith("}", self.at):
                self.fail(f"'}}' is missing in the reference ${{{match.group()}")
            self.at += 1
        return Reference(match.group(), steps, self.origin + start)

    def _steps(self) -> tuple[Step, ...]:
        steps: list[Step] = []
        while True:
            if len(steps) > MOST_IN_A_ROW:
                self.fail(f"a reference has more than {MOST_IN_A_ROW} members")
            if self.text.startswith("[", self.at):
                self.deeper()
                self.at += 1
                index = self.expression()
                self.expect("]", "an index")
                self.depth -= 1
                steps.append(Index(index))
                continue
            if not self.text.startswith(".", self.at):
                return tuple(steps)
            match = NAME.match(self.text, self.at + 1)
            if match is None:
                return tuple(steps)
            at = self.at + 1
            self.at = match.end()
            if self.text.startswith("(", self.at):
                steps.append(Method(match.group(), self._arguments(), self.origin + at))
            else:
                steps.append(Property(match.group()))

    def _arguments(self) -> tuple[Expression, ...]:
        self.deeper()
        self.at += 1
        arguments: list[Expression] = []
        if not self.take(")"):
            arguments.append(self.expression())
            while self.take(","):
                arguments.append(self.expression())
            self.expect(")", "a method's arguments")
        self.depth -= 1
        return tuple(arguments)
