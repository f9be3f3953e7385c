"""Parses the parts that all PartiQL statements share: names, paths, values, parameters, conditions.

A condition becomes the tree that condition expressions become, so that their compiler evaluates it. Values and
parameters get placeholders in their order. Owns the bounds of a statement: its nesting, its operators, its IN lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from statewright.errors import ApiError
from statewright.payload import Json
from statewright.tables.expressions.bindings import Bindings
from statewright.tables.expressions.tree import (
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
)
from statewright.tables.partiql.symbols import (
    END,
    NUMBER,
    QUOTED,
    SIGN,
    TEXT,
    WORD,
    Symbol,
    malformed,
    symbols_of,
)
from statewright.tables.values import Value, checked, invalid, kind_of

LONGEST: Final = 8_192
"""Characters. Source: API reference, ExecuteStatement."""
DEEPEST: Final = 60
"""Deepest nesting of parentheses, NOTs and values. Ours; it keeps a statement from exhausting the stack."""
MOST_OPERATORS: Final = 300
"""Source: service quotas, "Expression parameters"."""
MOST_CHOICES: Final = 100
"""Source: developer guide, "PartiQL operators", IN."""
LONGEST_INDEX: Final = 9

_COMPARATORS: Final = {"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_OPERANDS: Final = {"attribute_type": 2, "begins_with": 2, "contains": 2, "size": 1}
_IS_TYPE: Final = {"NULL": "NULL", "STRING": "S", "NUMBER": "N", "BOOLEAN": "BOOL", "BOOL": "BOOL", "LIST": "L"}
_RESERVED: Final = frozenset(
    {
        *("SELECT", "FROM", "WHERE", "ORDER", "BY", "INSERT", "INTO", "VALUE", "UPDATE", "SET", "REMOVE", "DELETE"),
        *("RETURNING", "EXISTS", "AND", "OR", "NOT", "IN", "BETWEEN", "IS", "NULL", "MISSING", "TRUE", "FALSE"),
    }
)


class Terms:
    """The symbols of one statement, and what has been read of them."""

    def __init__(self, text: str, parameters: Sequence[Json] | None) -> None:
        """`parameters` are the values of its question marks. Raises: ApiError."""
        if len(text) > LONGEST:
            raise invalid(
                f"1 validation error detected: Value '{text[:50]}...' at 'statement' failed to satisfy constraint: "
                f"Member must have length less than or equal to {LONGEST}"
            )
        self._symbols = symbols_of(text)
        self._place = 0
        self._depth = 0
        self._operators = 0
        self._given = parameters or ()
        self._taken = 0
        self._values: dict[str, Value] = {}
        self._names: dict[str, str] = {}

    # ------------------------------------------------------------------ symbols

    @property
    def symbol(self) -> Symbol:
        """The next symbol."""
        return self._symbols[self._place]

    def is_word(self, *words: str) -> bool:
        """True if the next symbols are these words, in any case."""
        found = self._symbols[self._place : self._place + len(words)]
        return [(one.kind, one.text.upper()) for one in found] == [(WORD, word) for word in words]

    def take_if(self, *words: str) -> bool:
        """Pass these words if they are next."""
        there = self.is_word(*words)
        self._place += len(words) if there else 0
        return there

    def take(self, *words: str) -> None:
        """Pass these words. Raises: ApiError if they are not next."""
        if not self.take_if(*words):
            raise self.unexpected(f"expected {' '.join(words)}")

    def is_sign(self, sign: str) -> bool:
        """True if the next symbol is a sign."""
        return self.symbol.kind == SIGN and self.symbol.text == sign

    def take_sign_if(self, sign: str) -> bool:
        """Pass a sign if it is next."""
        there = self.is_sign(sign)
        self._place += there
        return there

    def take_sign(self, sign: str) -> None:
        """Pass a sign. Raises: ApiError if it is not next."""
        if not self.take_sign_if(sign):
            raise self.unexpected(f"expected {sign}")

    def unexpected(self, wanted: str) -> ApiError:
        """The error for the next symbol."""
        symbol = self.symbol
        if symbol.kind == END:
            return malformed(f"Unexpected end of statement, {wanted}")
        return malformed(f"Unexpected {symbol.text} at {symbol.start + 1}, {wanted}")

    def end(self) -> Bindings:
        """The values of a statement that ends here. Raises: ApiError for further symbols or parameters."""
        self.take_sign_if(";")
        if self.symbol.kind != END:
            raise self.unexpected("expected the end of the statement")
        if self._taken != len(self._given):
            raise _wrong_count()
        return Bindings.of_checked(self._names, self._values)

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise malformed("The statement is nested too deeply")

    def _count_operator(self) -> None:
        self._operators += 1
        if self._operators > MOST_OPERATORS:
            raise malformed(f"The statement has more than {MOST_OPERATORS} operators")

    # ------------------------------------------------------------------ names and values

    def name(self) -> str:
        """A name, bare or quoted. Raises: ApiError."""
        symbol = self.symbol
        if symbol.kind not in (WORD, QUOTED) or not symbol.text:
            raise self.unexpected("expected a name")
        if symbol.kind == WORD and symbol.text.upper() in _RESERVED:
            raise self.unexpected("expected a name; a keyword needs double quotation marks")
        self._place += 1
        return symbol.text

    def path(self) -> Path:
        """`a.b[0]`. Raises: ApiError."""
        steps: list[Step] = [self._step()]
        while True:
            if self.take_sign_if("."):
                steps.append(self._step())
            elif self.take_sign_if("["):
                symbol = self.symbol
                if symbol.kind == NUMBER and symbol.text.isdigit() and len(symbol.text) <= LONGEST_INDEX:
                    steps.append(int(symbol.text))
                elif symbol.kind == TEXT and symbol.text:
                    steps.append(self._alias(symbol.text))
                else:
                    raise self.unexpected("expected the index of an element")
                self._place += 1
                self.take_sign("]")
            else:
                return Path(tuple(steps))

    def _step(self) -> str:
        return self._alias(self.name())

    def _alias(self, name: str) -> str:
        """The step of a name. One that begins as a placeholder does becomes one."""
        if name[0] != "#":
            return name
        alias = f"#n{len(self._names)}"
        self._names[alias] = name
        return alias

    def shown(self, path: Path) -> str:
        """The name of a path's value in an answer: the last name, and the indexes behind it."""
        name = ""
        for step in path.steps:
            name = f"{name}[{step}]" if isinstance(step, int) else self._names.get(step, step)
        return name

    def value(self) -> Json:
        """A value or parameter, as requests have it; not checked. Raises: ApiError."""
        symbol = self.symbol
        self._enter()
        try:
            if symbol.kind == SIGN and symbol.text in ("[", "{", "<<"):
                return self._collection(symbol.text)
            return self._scalar(symbol)
        finally:
            self._depth -= 1

    def _scalar(self, symbol: Symbol) -> Json:
        self._place += 1
        if symbol.kind == TEXT:
            return {"S": symbol.text}
        if symbol.kind == NUMBER:
            return {"N": symbol.text}
        if symbol.kind == SIGN and symbol.text in ("-", "+") and self.symbol.kind == NUMBER:
            self._place += 1
            return {"N": symbol.text + self._symbols[self._place - 1].text}
        if symbol.kind == SIGN and symbol.text == "?":
            if self._taken >= len(self._given):
                raise _wrong_count()
            self._taken += 1
            return self._given[self._taken - 1]
        word = symbol.text.upper() if symbol.kind == WORD else ""
        if word in ("TRUE", "FALSE"):
            return {"BOOL": word == "TRUE"}
        if word == "NULL":
            return {"NULL": True}
        self._place -= 1
        raise self.unexpected("expected a value")

    def _collection(self, opening: str) -> Json:
        self._place += 1
        if opening == "{":
            return {"M": self._members()}
        elements: list[Json] = []
        closing = "]" if opening == "[" else ">>"
        if not self.take_sign_if(closing):
            elements.append(self.value())
            while self.take_sign_if(","):
                elements.append(self.value())
            self.take_sign(closing)
        return {"L": elements} if opening == "[" else _set_of(elements)

    def _members(self) -> dict[str, Json]:
        members: dict[str, Json] = {}
        while not self.take_sign_if("}"):
            if members:
                self.take_sign(",")
            symbol = self.symbol
            if symbol.kind != TEXT:
                raise self.unexpected("expected a name in single quotation marks")
            if symbol.text in members:
                raise malformed(f"The name {symbol.text} is there twice")
            self._place += 1
            self.take_sign(":")
            members[symbol.text] = self.value()
        return members

    def literal(self) -> Literal:
        """The placeholder of a value. Raises: ApiError."""
        value, _ = checked(self.value())
        placeholder = f":{len(self._values)}"
        self._values[placeholder] = value
        return Literal(placeholder)

    # ------------------------------------------------------------------ conditions

    def condition(self) -> Condition:
        """`a OR b`. Raises: ApiError."""
        parts = [self._conjunction()]
        while self.take_if("OR"):
            self._count_operator()
            parts.append(self._conjunction())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _conjunction(self) -> Condition:
        parts = [self._negation()]
        while self.take_if("AND"):
            self._count_operator()
            parts.append(self._negation())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _negation(self) -> Condition:
        if not self.take_if("NOT"):
            return self._primary()
        self._count_operator()
        self._enter()
        part = self._negation()
        self._depth -= 1
        return Not(part)

    def _primary(self) -> Condition:
        if not self.take_sign_if("("):
            return self._comparison()
        self._enter()
        inner = self.condition()
        self.take_sign(")")
        self._depth -= 1
        return inner

    def _comparison(self) -> Condition:
        left = self.operand()
        symbol = self.symbol
        self._count_operator()
        if symbol.kind == SIGN and symbol.text in _COMPARATORS:
            self._place += 1
            return Compare(_COMPARATORS[symbol.text], _compared(left), _compared(self.operand()))
        if self.take_if("IS"):
            return self._is(left)
        is_not = self.take_if("NOT")
        found: Condition
        if self.take_if("BETWEEN"):
            low = _compared(self.operand())
            self.take("AND")
            found = Between(_compared(left), low, _compared(self.operand()))
        elif self.take_if("IN"):
            found = Among(_compared(left), self._choices())
        elif isinstance(left, Call) and left.function != "size" and not is_not:
            found = left
        else:
            raise self.unexpected("expected a comparison")
        return Not(found) if is_not else found

    def _is(self, operand: Operand) -> Condition:
        is_not = self.take_if("NOT")
        if not isinstance(operand, Path):
            raise self.unexpected("expected an attribute before IS")
        word = self.symbol.text.upper() if self.symbol.kind == WORD else ""
        if word == "MISSING":
            found = Call("attribute_not_exists", (operand,))
        elif word in _IS_TYPE:
            placeholder = f":{len(self._values)}"
            self._values[placeholder] = {"S": _IS_TYPE[word]}
            found = Call("attribute_type", (operand, Literal(placeholder)))
        else:
            raise self.unexpected("expected MISSING, NULL or a type")
        self._place += 1
        return Not(found) if is_not else found

    def _choices(self) -> tuple[Operand, ...]:
        closing = "]" if self.is_sign("[") else ")"
        self.take_sign("[" if closing == "]" else "(")
        choices = [_compared(self.operand())]
        while self.take_sign_if(","):
            choices.append(_compared(self.operand()))
        self.take_sign(closing)
        if len(choices) > MOST_CHOICES:
            raise invalid(f"The IN operator is provided with too many values; values: {len(choices)}")
        return tuple(choices)

    def operand(self) -> Operand:
        """A path, a value or a function. Raises: ApiError."""
        symbol = self.symbol
        follower = self._symbols[min(self._place + 1, len(self._symbols) - 1)]
        is_name = symbol.kind == WORD and symbol.text.upper() not in _RESERVED
        if is_name and follower.kind == SIGN and follower.text == "(":
            return self._call()
        return self.path() if is_name or symbol.kind == QUOTED else self.literal()

    def _call(self) -> Call:
        name = self.symbol.text.lower()
        known = _OPERANDS.get(name)
        if known is None:
            raise invalid(f"Unsupported function: {self.symbol.text}")
        arguments = self.arguments()
        if len(arguments) != known:
            raise invalid(f"The function {name} takes {known} argument{'' if known == 1 else 's'}")
        return Call(name, arguments)

    def arguments(self) -> tuple[Operand, ...]:
        """The arguments of a function, whose name is passed. Raises: ApiError."""
        self._place += 1
        self.take_sign("(")
        self._enter()
        self._count_operator()
        found: list[Operand] = []
        if not self.is_sign(")"):
            found.append(self.operand())
            while self.take_sign_if(","):
                found.append(self.operand())
        self.take_sign(")")
        self._depth -= 1
        return tuple(found)


def _compared(operand: Operand) -> Operand:
    if isinstance(operand, Call) and operand.function != "size":
        raise invalid(f"The function {operand.function} is not allowed to be used this way in a condition")
    return operand


def _set_of(elements: list[Json]) -> Json:
    kinds = {kind_of(one) if isinstance(one, dict) and len(one) == 1 else "" for one in elements} or {"S"}
    kind = kinds.pop()
    if kinds or kind not in ("S", "N", "B"):
        raise invalid("The elements of a set must be all texts, all numbers or all binary values")
    return {f"{kind}S": [one[kind] for one in elements]}


def _wrong_count() -> ApiError:
    return invalid("Number of parameters in request and statement don't match.")
