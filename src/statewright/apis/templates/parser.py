"""Text and directives of a template: text to tree. Expressions are `expressions.py`.

White space is Velocity 1.7's: a directive with parentheses, `#else` and `#end` swallow the blanks and the line end
behind them, `#set` also the blanks before it, a line comment its line end.

A `#` before a word that is no directive is text, as in `#ff0000`; with parentheses it is refused, as are `#include`,
`#parse` and `#evaluate`.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import Final, Never

from statewright.apis.templates.expressions import NO_OPERATORS, Reader
from statewright.apis.templates.failures import syntax_error
from statewright.apis.templates.tree import (
    Block,
    CallMacro,
    Define,
    Expression,
    Foreach,
    If,
    Leave,
    Macro,
    Parsed,
    Print,
    Set,
    Statement,
    Text,
)

LONGEST_TEMPLATE: Final = 300 * 1024
"""Characters of a template. Source: quota "Maximum mapping template size", 300 KB."""

_SIGN: Final = re.compile(r"[$#]")
_REFERENCE: Final = re.compile(r"\$!?\{?[A-Za-z_]")
_DIRECTIVE: Final = re.compile(r"#(?:\{(\w+)\}|([A-Za-z_]\w*))")
_LINE_END: Final = re.compile(r"[ \t]*(?:\r\n|\r|\n)")
_COMMENT: Final = re.compile(r"##[^\r\n]*(?:\r\n|\r|\n)?")
_MACRO: Final = re.compile(r"#(?:\{macro\}|macro)\s*\(\s*([A-Za-z_]\w*)")
_DEFINE: Final = re.compile(r"#(?:\{define\}|define)\s*\(\s*\$!?\{?([A-Za-z_][\w-]*)")
_DIRECTIVES: Final = frozenset({"set", "if", "elseif", "else", "end", "foreach", "break", "stop", "macro", "define"})
_REFUSED: Final = frozenset({"include", "parse", "evaluate"})


def parse(text: str) -> Parsed:
    """The tree of a template. Raises: TemplateSyntaxError."""
    if len(text) > LONGEST_TEMPLATE:
        raise syntax_error(text, 0, f"the template has more than {LONGEST_TEMPLATE} characters")
    names = frozenset(match.group(1) for match in _MACRO.finditer(text))
    parser = _Parser(text, text, 0, 0, names, {})
    defined = frozenset(match.group(1) for match in _DEFINE.finditer(text))
    return Parsed(parser.whole(), parser.macros, defined)


class _Parser:
    """Parses a template, or a text in double quotes inside one, which begins at `origin` of the template."""

    def __init__(
        self, text: str, whole: str, origin: int, depth: int, names: frozenset[str], macros: dict[str, Macro]
    ) -> None:
        self.text = text
        self.names = names
        self.macros = macros
        self.reader = Reader(text, whole, origin, self._inner, depth)
        self.ended_by = ""
        """The directive that ended the last block; its position is the reader's."""

    def _inner(self, text: str, origin: int) -> Block:
        return _Parser(text, self.reader.whole, origin, self.reader.depth, self.names, self.macros).whole()

    def fail(self, message: str, at: int) -> Never:
        self.reader.fail(message, at)

    def whole(self) -> Block:
        body = self.block(None)
        if self.ended_by:
            self.fail(f"#{self.ended_by} ends nothing", self.reader.at)
        return body

    def block(self, opened: int | None) -> Block:
        """The statements up to a directive that ends them, which the reader is left before."""
        reader, text = self.reader, self.text
        reader.deeper()
        found: list[Statement] = []
        start = reader.at
        self.ended_by = ""
        while True:
            match = _SIGN.search(text, reader.at)
            if match is None:
                if opened is not None:
                    self.fail("#end is missing for this directive", opened)
                _add(found, text[start:])
                reader.at = len(text)
                break
            sign = match.start()
            if not self._means_something(sign):
                reader.at = sign + 1
                continue
            before = text[start:sign]
            backslashes = len(before) - len(before.rstrip("\\"))
            _add(found, before[: len(before) - (backslashes + 1) // 2])
            reader.at = sign
            if backslashes % 2:
                start = sign
                reader.at = sign + 1
                continue
            if text[sign] == "$":
                reference = reader.reference()
                assert reference is not None
                found.append(Print(reference))
            elif self._directive(found, sign):
                break
            start = reader.at
        reader.depth -= 1
        return _joined(found)

    def _means_something(self, sign: int) -> bool:
        text = self.text
        if text[sign] == "$":
            return _REFERENCE.match(text, sign) is not None
        if text.startswith(("##", "#*", "#[["), sign):
            return True
        match = _DIRECTIVE.match(text, sign)
        if match is None:
            return False
        name = match.group(1) or match.group(2)
        if name in _DIRECTIVES or name in self.names:
            return True
        opens = text.startswith("(", match.end())
        if name in _REFUSED and opens:
            self.fail(f"#{name} is not supported in mapping templates", sign)
        if opens:
            self.fail(f"#{name}() is neither a directive nor a macro of this template; write \\#{name} for text", sign)
        return False

    def _directive(self, found: list[Statement], sign: int) -> bool:
        """Read what a `#` begins; true, and nothing read, if it ends the block."""
        reader, text = self.reader, self.text
        if text.startswith("##", sign):
            match = _COMMENT.match(text, sign)
            assert match is not None
            reader.at = match.end()
            return False
        for opening, closing, what in (("#*", "*#", "comment"), ("#[[", "]]#", "unparsed text")):
            if text.startswith(opening, sign):
                end = text.find(closing, sign + len(opening))
                if end < 0:
                    self.fail(f"'{closing}' is missing at the end of this {what}", sign)
                if what != "comment":
                    _add(found, text[sign + 3 : end])
                reader.at = end + len(closing)
                return False
        match = _DIRECTIVE.match(text, sign)
        assert match is not None
        name = match.group(1) or match.group(2)
        if name in ("end", "else", "elseif"):
            self.ended_by = name
            return True
        reader.at = match.end()
        if name in ("break", "stop"):
            found.append(Leave("break" if name == "break" else "stop"))
        elif name == "macro":
            self._macro(sign)
        else:
            found.append(self._statement(name, sign, found))
        return False

    def _statement(self, name: str, sign: int, found: list[Statement]) -> Statement:
        if name == "set":
            return self._set(sign, found)
        if name == "if":
            return self._if(sign)
        if name == "foreach":
            return self._foreach(sign)
        if name == "define":
            return self._define(sign)
        return self._call(name, sign)

    def _open(self, name: str, sign: int) -> None:
        if not self.reader.take("("):
            self.fail(f"'(' is missing after #{name}", sign)

    def _close(self, name: str) -> None:
        self.reader.expect(")", f"#{name}")
        self._end_line()

    def _end_line(self) -> None:
        match = _LINE_END.match(self.text, self.reader.at)
        if match is not None:
            self.reader.at = match.end()

    def _set(self, sign: int, found: list[Statement]) -> Statement:
        if found and isinstance(found[-1], Text):
            before = found.pop()
            assert isinstance(before, Text)
            _add(found, before.text.rstrip(" \t"))
        reader = self.reader
        self._open("set", sign)
        reader.skip()
        at = reader.at
        target = reader.reference() if self.text.startswith("$", at) else None
        if target is None:
            self.fail("#set needs a reference before '='", at)
        reader.expect("=", "#set")
        value = reader.expression()
        self._close("set")
        return Set(target, value)

    def _if(self, sign: int) -> Statement:
        branches: list[tuple[Expression, Block]] = []
        otherwise: Block = ()
        name = "if"
        while name != "else":
            self._open(name, sign)
            condition = self.reader.expression()
            self._close(name)
            branches.append((condition, self.block(sign)))
            name = self._ending()
            if name == "end":
                return If(tuple(branches), otherwise)
        otherwise = self.block(sign)
        at = self.reader.at
        if self._ending() != "end":
            self.fail("#else is the last branch of #if", at)
        return If(tuple(branches), otherwise)

    def _ending(self) -> str:
        """Read the directive that ended a block."""
        match = _DIRECTIVE.match(self.text, self.reader.at)
        assert match is not None
        self.reader.at = match.end()
        name, self.ended_by = self.ended_by, ""
        if name != "elseif":
            self._end_line()
        return name

    def _body(self, name: str, sign: int) -> Block:
        body = self.block(sign)
        at = self.reader.at
        if self._ending() != "end":
            self.fail(f"#{name} is ended by #end", at)
        return body

    def _variable(self, directive: str) -> str:
        reader = self.reader
        reader.skip()
        at = reader.at
        reference = reader.reference() if self.text.startswith("$", at) else None
        if reference is None or reference.steps:
            self.fail(f"#{directive} needs a plain variable here", at)
        return reference.root

    def _foreach(self, sign: int) -> Statement:
        reader = self.reader
        self._open("foreach", sign)
        name = self._variable("foreach")
        reader.skip()
        at = reader.at
        if reader.word() != "in":
            self.fail("'in' is missing in #foreach", at)
        items = reader.expression()
        self._close("foreach")
        return Foreach(name, items, self._body("foreach", sign), self.reader.origin + sign)

    def _define(self, sign: int) -> Statement:
        self._open("define", sign)
        name = self._variable("define")
        self._close("define")
        return Define(name, self._body("define", sign), self.reader.origin + sign)

    def _macro(self, sign: int) -> None:
        reader = self.reader
        self._open("macro", sign)
        reader.skip()
        name = reader.word()
        if name is None or name not in self.names:
            self.fail("#macro needs a name", reader.at)
        if name in _DIRECTIVES or name in self.macros:
            self.fail(f"the name {name} is taken", sign)
        parameters: list[tuple[str, Expression | None]] = []
        while not reader.take(")"):
            reader.take(",")
            parameter = self._variable("macro")
            parameters.append((parameter, reader.expression() if reader.take("=") else None))
        self._end_line()
        self.macros[name] = Macro((), ())
        self.macros[name] = Macro(tuple(parameters), self._body("macro", sign))

    def _call(self, name: str, sign: int) -> Statement:
        reader = self.reader
        self._open(name, sign)
        arguments: list[Expression] = []
        while not reader.take(")"):
            reader.take(",")
            arguments.append(reader.expression(NO_OPERATORS))
        self._end_line()
        return CallMacro(name, tuple(arguments), reader.origin + sign)


def _add(found: list[Statement], text: str) -> None:
    if text:
        found.append(Text(text))


def _joined(found: list[Statement]) -> Block:
    """The statements, with texts that follow each other in one piece."""
    joined: list[Statement] = []
    for is_text, run in groupby(found, lambda one: isinstance(one, Text)):
        if is_text:
            joined.append(Text("".join(one.text for one in run if isinstance(one, Text))))
        else:
            joined.extend(run)
    return tuple(joined)
