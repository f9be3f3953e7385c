"""Parses condition, key condition, filter, projection and update expressions; the same text is parsed once.

Owns the grammar and the errors in a text by itself: syntax, reserved words, unknown functions, wrong numbers of
operands. Leaves the meaning of names and values to `bindings`.

Source: developer guide, "Using expressions in DynamoDB"; texts observed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeVar

from statewright.errors import ApiError
from statewright.tables.expressions.reserved_words import RESERVED
from statewright.tables.expressions.symbols import (
    ALIAS,
    END,
    NAME,
    NUMBER,
    SIGN,
    VALUE,
    BadCharacter,
    Symbol,
    symbols_of,
)
from statewright.tables.expressions.tree import (
    Action,
    All,
    Among,
    Between,
    Call,
    Compare,
    Condition,
    Either,
    Literal,
    Not,
    Operand,
    Path,
    Step,
    Sum,
)
from statewright.tables.values import DETECTED, invalid

T = TypeVar("T")

LONGEST_BYTES: Final = 4096
MOST_OPERATORS: Final = 300
"""Source of both: service quotas, "Expression parameters"."""
DEEPEST: Final = 150
"""Deepest nesting of parentheses and NOTs. Source: ours; it keeps a text from exhausting the stack."""

_COMPARATORS: Final = frozenset({"=", "<>", "<", "<=", ">", ">="})
_OPERANDS: Final = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
    "size": 1,
    "if_not_exists": 2,
    "list_append": 2,
}
_OF_UPDATES: Final = frozenset({"if_not_exists", "list_append"})
_SECTIONS: Final = ("SET", "REMOVE", "ADD", "DELETE")


def fault(parameter: str, message: str) -> ApiError:
    """The service's error for an expression: `Invalid FilterExpression: ...`."""
    before = DETECTED if parameter == "UpdateExpression" else ""
    return invalid(f"{before}Invalid {parameter}: {message}")


@lru_cache(maxsize=2048)
def condition(parameter: str, text: str) -> Condition:
    """A condition, filter or key condition. `parameter` is the name of the request's member.

    Raises: ApiError.
    """
    return _parsed(parameter, text, _Parser.condition)


@lru_cache(maxsize=2048)
def projection(parameter: str, text: str) -> tuple[Path, ...]:
    """The paths of a projection. Raises: ApiError."""
    return _parsed(parameter, text, _Parser.paths)


@lru_cache(maxsize=2048)
def update(parameter: str, text: str) -> tuple[Action, ...]:
    """The actions of an update, in their order. Raises: ApiError."""
    return _parsed(parameter, text, _Parser.update)


def _parsed(parameter: str, text: str, rule: Callable[[_Parser], T]) -> T:
    if not text.strip():
        raise fault(parameter, "The expression can not be empty;")
    size = len(text.encode("utf-8", "replace"))
    if size > LONGEST_BYTES:
        raise fault(parameter, f"Expression size has exceeded the maximum allowed size; expression size: {size}")
    parser = _Parser(parameter, text)
    found = rule(parser)
    parser.expect_end()
    if parser.operators > MOST_OPERATORS:
        raise fault(parameter, f"The expression contains too many operators; operator count: {parser.operators}")
    return found


class _Parser:
    def __init__(self, parameter: str, text: str) -> None:
        self._parameter = parameter
        self._text = text
        try:
            self._symbols = symbols_of(text)
        except BadCharacter as bad:
            near = text[max(0, bad.symbol.start - 1) : bad.symbol.end + 1].strip()
            raise fault(parameter, f'Syntax error; token: "{bad.symbol.text}", near: "{near}"') from None
        self._place = 0
        self._depth = 0
        self.operators = 0

    # ------------------------------------------------------------------ words

    @property
    def _symbol(self) -> Symbol:
        return self._symbols[self._place]

    def _take(self) -> Symbol:
        symbol = self._symbols[self._place]
        self._place += 1
        return symbol

    def _is_sign(self, text: str) -> bool:
        return self._symbol.kind == SIGN and self._symbol.text == text

    def _is_word(self, word: str) -> bool:
        return self._symbol.kind == NAME and self._symbol.text.upper() == word

    def _take_sign(self, text: str) -> None:
        if not self._is_sign(text):
            raise self._syntax_error()
        self._place += 1

    def expect_end(self) -> None:
        """Refuse further symbols. Raises: ApiError."""
        if self._symbol.kind != END:
            raise self._syntax_error()

    def _syntax_error(self) -> ApiError:
        symbol = self._symbol
        before = self._symbols[max(0, self._place - (2 if symbol.kind == END else 1))]
        after = self._symbols[min(len(self._symbols) - 1, self._place + 1)]
        near = self._text[before.start : after.end].strip()
        return fault(self._parameter, f'Syntax error; token: "{symbol.text}", near: "{near}"')

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise fault(self._parameter, "The expression is nested too deeply")

    # ------------------------------------------------------------------ conditions

    def condition(self) -> Condition:
        """`a OR b`."""
        parts = [self._conjunction()]
        while self._is_word("OR"):
            self._place += 1
            self.operators += 1
            parts.append(self._conjunction())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _conjunction(self) -> Condition:
        parts = [self._negation()]
        while self._is_word("AND"):
            self._place += 1
            self.operators += 1
            parts.append(self._negation())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _negation(self) -> Condition:
        if not self._is_word("NOT"):
            return self._primary()
        self._place += 1
        self.operators += 1
        self._enter()
        part = self._negation()
        self._depth -= 1
        return Not(part)

    def _primary(self) -> Condition:
        if self._is_sign("(") and not self._encloses_operand():
            self._place += 1
            self._enter()
            twice = self._is_sign("(")
            begin = self._place
            inner = self.condition()
            if twice and self._closing(begin) == self._place - 1:
                raise fault(self._parameter, "The expression has redundant parentheses;")
            self._take_sign(")")
            self._depth -= 1
            return inner
        return self._comparison()

    def _closing(self, begin: int) -> int:
        """The index of the symbol that closes the parenthesis at an index; -1 if none does."""
        depth = 0
        for place in range(begin, len(self._symbols)):
            text = self._symbols[place].text
            depth += (text == "(") - (text == ")")
            if depth == 0:
                return place
        return -1

    def _encloses_operand(self) -> bool:
        """True if a parenthesis encloses an operand: a comparison follows it."""
        end = self._closing(self._place)
        follower = self._symbols[end + 1] if end >= 0 else self._symbol
        return end >= 0 and (follower.text in _COMPARATORS or follower.text.upper() in ("BETWEEN", "IN"))

    def _comparison(self) -> Condition:
        left = self._operand()
        symbol = self._symbol
        if symbol.kind == SIGN and symbol.text in _COMPARATORS:
            self._place += 1
            self.operators += 1
            return Compare(symbol.text, self._comparable(left), self._comparable(self._operand()))
        if self._is_word("BETWEEN"):
            self._place += 1
            self.operators += 1
            low = self._comparable(self._operand())
            if not self._is_word("AND"):
                raise self._syntax_error()
            self._place += 1
            return Between(self._comparable(left), low, self._comparable(self._operand()))
        if self._is_word("IN"):
            self._place += 1
            self.operators += 1
            return Among(self._comparable(left), self._choices())
        if not isinstance(left, Call):
            raise self._syntax_error()
        if left.function == "size":
            raise self._misused(left.function)
        return left

    def _choices(self) -> tuple[Operand, ...]:
        self._take_sign("(")
        choices = [self._comparable(self._operand())]
        while self._is_sign(","):
            self._place += 1
            choices.append(self._comparable(self._operand()))
        self._take_sign(")")
        if len(choices) > 100:
            raise fault(
                self._parameter,
                "Incorrect number of operands for operator or function; operator or function: IN, "
                f"number of operands: {len(choices) + 1}",
            )
        return tuple(choices)

    def _comparable(self, operand: Operand) -> Operand:
        """Check an operand of a comparison: `size` is the only function allowed."""
        if isinstance(operand, Call) and operand.function != "size":
            raise self._misused(operand.function)
        return operand

    def _misused(self, function: str) -> ApiError:
        return fault(
            self._parameter, f"The function is not allowed to be used this way in an expression; function: {function}"
        )

    # ------------------------------------------------------------------ operands

    def _operand(self) -> Operand:
        symbol = self._symbol
        if symbol.kind == VALUE:
            self._place += 1
            return Literal(symbol.text)
        if symbol.kind == SIGN and symbol.text == "(":
            self._place += 1
            self._enter()
            inner = self._sum() if self._parameter == "UpdateExpression" else self._operand()
            self._take_sign(")")
            self._depth -= 1
            return inner
        follower = self._symbols[min(self._place + 1, len(self._symbols) - 1)]
        if symbol.kind == NAME and follower.kind == SIGN and follower.text == "(":
            return self._call()
        return self._path()

    def _call(self) -> Call:
        name = self._take().text
        arguments: list[Operand] = []
        self._take_sign("(")
        self._enter()
        self.operators += 1
        known = _OPERANDS.get(name)
        if known is None:
            raise fault(self._parameter, f"Invalid function name; function: {name}")
        if not self._is_sign(")"):
            arguments.append(self._operand())
            while self._is_sign(","):
                self._place += 1
                arguments.append(self._operand())
        self._take_sign(")")
        self._depth -= 1
        if self._parameter == "UpdateExpression":
            if name not in _OF_UPDATES:
                raise fault(self._parameter, f"The function is not allowed in an update expression; function: {name}")
        elif name in _OF_UPDATES:
            raise fault(self._parameter, f"The function is not allowed in a condition expression; function: {name}")
        if len(arguments) != known:
            raise fault(
                self._parameter,
                "Incorrect number of operands for operator or function; operator or function: "
                f"{name}, number of operands: {len(arguments)}",
            )
        return Call(name, tuple(arguments))

    def _path(self) -> Path:
        steps: list[Step] = [self._step()]
        while True:
            if self._is_sign("."):
                self._place += 1
                steps.append(self._step())
            elif self._is_sign("["):
                self._place += 1
                if self._symbol.kind != NUMBER:
                    raise self._syntax_error()
                index = self._take().text
                if len(index) > 9:
                    raise fault(self._parameter, f"List index is not within the allowable range; index: [{index}]")
                steps.append(int(index))
                self._take_sign("]")
            else:
                return Path(tuple(steps))

    def _step(self) -> str:
        symbol = self._symbol
        if symbol.kind not in (NAME, ALIAS):
            raise self._syntax_error()
        self._place += 1
        if symbol.kind == NAME and symbol.text.upper() in RESERVED:
            raise fault(self._parameter, f"Attribute name is a reserved keyword; reserved keyword: {symbol.text}")
        return symbol.text

    # ------------------------------------------------------------------ projections and updates

    def paths(self) -> tuple[Path, ...]:
        """`a, b.c[0]`."""
        found = [self._path()]
        while self._is_sign(","):
            self._place += 1
            found.append(self._path())
        return tuple(found)

    def update(self) -> tuple[Action, ...]:
        """`SET ... REMOVE ... ADD ... DELETE ...`, each once, in any order."""
        actions: list[Action] = []
        seen: set[str] = set()
        while True:
            section = next((word for word in _SECTIONS if self._is_word(word)), None)
            if section is None:
                raise self._syntax_error()
            if section in seen:
                raise fault(self._parameter, f'The "{section}" section can only be used once in an update expression;')
            seen.add(section)
            self._place += 1
            actions.append(self._action(section))
            while self._is_sign(","):
                self._place += 1
                actions.append(self._action(section))
            if self._symbol.kind == END:
                return tuple(actions)

    def _action(self, section: str) -> Action:
        path = self._path()
        self.operators += 1
        if section == "REMOVE":
            return Action(section, path, None)
        if section == "SET":
            self._take_sign("=")
            return Action(section, path, self._sum())
        if self._symbol.kind != VALUE:
            raise self._syntax_error()
        return Action(section, path, Literal(self._take().text))

    def _sum(self) -> Operand:
        left = self._operand()
        if not (self._is_sign("+") or self._is_sign("-")):
            return left
        sign = self._take().text
        self.operators += 1
        return Sum(sign, left, self._operand())
