"""Tier 0 of JSONata: a narrow subset as Python closures that read the data in place.

Owns: paths of plain names from `$states` or a variable, literals, `+ - *`, comparisons, `&`, `and or`, `a ? b : c`,
objects with constant keys, arrays, and `$count $exists $not`. It never guesses. Anything uncertain (a list on the way,
a number that doubles round, a value of an unexpected type, a missing variable) leaves the whole expression to the
library.

A closure takes the scope and returns a value or UNDEFINED, or raises `_Doubt`. A container at the end of a path is
returned unchanged, so its numbers keep their text; numbers that are results themselves are JSONata's.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Final

from statewright.payload import Json
from statewright.query.jsonata.analysis import ADDED, BUILT_INS
from statewright.query.jsonata.guards import MAX_STRING
from statewright.query.jsonata.parser import Node
from statewright.query.scope import UNDEFINED, Scope

Closure = Callable[[Scope], Json]

_MOST: Final = 1 << 53  # beyond, a double skips integers
_LEAST: Final = -_MOST
_PRINTED_EXACTLY: Final = 10**15  # JSONata rounds a number to 15 digits when it converts it to a string
_MAX_DEPTH: Final = 60
_FIELDS: Final = {"input": "input", "result": "result", "context": "context", "errorOutput": "error_output"}
_SCALARS: Final = frozenset((str, int, float, bool, type(None)))


class _Doubt(Exception):
    """Raised when tier 0 is not certain."""


def compile_closure(tree: Node, otherwise: Closure) -> Closure | None:
    """The expression as one function of a scope, or None if it is outside the subset.

    The function calls `otherwise` when it is not certain.
    """
    if tree.depth > _MAX_DEPTH:
        return None
    inner = _compile(tree)
    if inner is None:
        return None

    def evaluate(scope: Scope) -> Json:
        try:
            value = inner(scope)
        except _Doubt:
            return otherwise(scope)
        if type(value) is int and not _LEAST <= value <= _MOST:
            return otherwise(scope)
        if type(value) is float and value.is_integer():
            return int(value) if _LEAST <= value <= _MOST else otherwise(scope)
        return value

    return evaluate


def _compile(node: Node) -> Closure | None:
    handler = _HANDLERS.get(node.kind)
    return None if handler is None else handler(node)


def _compile_all(nodes: Sequence[Node]) -> list[Closure] | None:
    closures = [_compile(node) for node in nodes]
    return None if None in closures else [closure for closure in closures if closure is not None]


# Values


def _literal(node: Node) -> Closure | None:
    value = node.value
    if isinstance(value, float):
        if not _LEAST <= value <= _MOST:
            return None
        value = int(value) if value.is_integer() else value
    elif isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return None
    return lambda _: value


def _block(node: Node) -> Closure | None:
    return _compile(node.items[0]) if len(node.items) == 1 else None


def _variable(node: Node) -> Closure | None:
    return _path(node)


def _path(node: Node) -> Closure | None:
    """`$states.field.name.name` or `$variable.name.name`."""
    names: list[str] = []
    while node.kind == "binary" and node.value == ".":
        step = node.items[1]
        if step.kind not in ("name", "string"):
            return None
        names.append(str(step.value))
        node = node.items[0]
    names.reverse()
    if node.kind != "variable" or node.value in ("", "$"):
        return None
    root = str(node.value)
    if root != "states":
        return None if root in BUILT_INS | ADDED else _variable_path(root, tuple(names))
    if not names or names[0] not in _FIELDS:
        return None
    if names[0] == "input":
        return _input_path(tuple(names[1:]))
    return _field_path(operator.attrgetter(_FIELDS[names[0]]), tuple(names[1:]))


def _member(value: Json, names: Sequence[str]) -> Json:
    """Follow the names down from `value`. Raises: _Doubt for a list on the way.

    JSON's objects are the only values that a name can index, so Python's own errors tell the cases apart.
    """
    try:
        for name in names:
            value = value[name]
    except KeyError:
        return UNDEFINED
    except TypeError:
        if type(value) in _SCALARS or value is UNDEFINED:
            return UNDEFINED
        raise _Doubt from None
    return value


def _input_path(names: tuple[str, ...]) -> Closure:
    if not names:
        return lambda scope: scope.input
    first = names[0]

    def one(scope: Scope) -> Json:
        try:
            return scope.input[first]
        except (KeyError, TypeError):
            return _member(scope.input, names)

    def many(scope: Scope) -> Json:
        value = scope.input
        try:
            for name in names:
                value = value[name]
        except (KeyError, TypeError):
            return _member(scope.input, names)
        return value

    return one if len(names) == 1 else many


def _field_path(field: Callable[[Scope], Json], names: tuple[str, ...]) -> Closure:
    return lambda scope: _member(field(scope), names)


def _variable_path(root: str, names: tuple[str, ...]) -> Closure:
    def whole(scope: Scope) -> Json:
        try:
            return scope.variables[root]
        except KeyError:
            raise _Doubt from None

    return (lambda scope: _member(whole(scope), names)) if names else whole


# Operators


def _binary(node: Node) -> Closure | None:
    symbol = str(node.value)
    if symbol == ".":
        return _path(node)
    if symbol == "&":
        return _concatenation(node)
    handler = _OPERATORS.get(symbol)
    if handler is None:
        return None
    left, right = _compile(node.items[0]), _compile(node.items[1])
    if left is None or right is None:
        return None
    constant = right(_NO_SCOPE) if node.items[1].kind in _CONSTANTS else UNDEFINED
    return handler(symbol, left, right, constant)


def _arithmetic(symbol: str, left: Closure, right: Closure, constant: Json) -> Closure:
    compute = _ARITHMETIC[symbol]
    varies = constant is UNDEFINED

    def arithmetic(scope: Scope) -> Json:
        a = left(scope)
        b = right(scope) if varies else constant
        if type(a) is int and type(b) is int:
            # Integers are exact in a double up to 2^53, and so is the result of two such operands, if it is in range,
            # too.
            if _LEAST <= a <= _MOST and _LEAST <= b <= _MOST:
                value = compute(a, b)
                if _LEAST <= value <= _MOST:
                    return value
            raise _Doubt
        if _is_number(a) and _is_number(b):
            value = float(compute(float(a), float(b)))
            if _LEAST < value < _MOST:  # false if not finite
                return value
            raise _Doubt
        if (a is UNDEFINED or _is_number(a)) and (b is UNDEFINED or _is_number(b)):
            return UNDEFINED
        raise _Doubt

    return arithmetic


def _is_number(value: Json) -> bool:
    return type(value) is float or (type(value) is int and _LEAST <= value <= _MOST)


def _comparison(symbol: str, left: Closure, right: Closure, constant: Json) -> Closure:
    compare = _COMPARISONS[symbol]
    varies = constant is UNDEFINED

    def comparison(scope: Scope) -> Json:
        a = left(scope)
        b = right(scope) if varies else constant
        if type(a) is int and type(b) is int:
            if _LEAST <= a <= _MOST and _LEAST <= b <= _MOST:
                return compare(a, b)
            raise _Doubt
        if _is_number(a) and _is_number(b):
            return compare(a, b)
        if type(a) is str and type(b) is str and a.isascii() and b.isascii():
            return compare(a, b)
        raise _Doubt

    return comparison


def _equality(symbol: str, left: Closure, right: Closure, constant: Json) -> Closure:
    expected = symbol == "="
    varies = constant is UNDEFINED

    def equality(scope: Scope) -> Json:
        a = left(scope)
        b = right(scope) if varies else constant
        if type(a) is str and type(b) is str:
            return (a == b) is expected
        if a is UNDEFINED or b is UNDEFINED:
            return False
        if _is_number(a):
            if _is_number(b):
                return (a == b) is expected
        elif type(a) not in _EQUAL_BY_VALUE:
            raise _Doubt
        if type(b) not in _EQUAL_BY_VALUE and not _is_number(b):
            raise _Doubt
        return (type(a) is type(b) and a == b) is expected

    return equality


def _concatenation(node: Node) -> Closure | None:
    """`a & b & ...` in one closure."""
    parts: list[Node] = []
    while node.kind == "binary" and node.value == "&":
        parts.append(node.items[1])
        node = node.items[0]
    closures = _compile_all([node, *reversed(parts)])
    if closures is None:
        return None

    def concatenation(scope: Scope) -> Json:
        text = ""
        for closure in closures:
            value = closure(scope)
            text += value if type(value) is str else _text(value)
            if len(text) > MAX_STRING:
                raise _Doubt
        return text

    return concatenation


def _text(value: Json) -> str:
    """A scalar as JSONata's `$string` writes it."""
    if value is UNDEFINED:
        return ""
    if type(value) is int and -_PRINTED_EXACTLY < value < _PRINTED_EXACTLY:
        return str(value)
    if type(value) is bool:
        return "true" if value else "false"
    if value is None:
        return "null"
    raise _Doubt


def _logic(symbol: str, left: Closure, right: Closure, _: Json) -> Closure:
    decisive = symbol == "or"

    def logic(scope: Scope) -> Json:
        if _truth(left(scope)) is decisive:
            return decisive
        return _truth(right(scope))

    return logic


def _truth(value: Json) -> bool:
    if type(value) is bool:
        return value
    if value is UNDEFINED:
        return False
    raise _Doubt


def _condition(node: Node) -> Closure | None:
    if len(node.items) != 3:
        return None
    closures = _compile_all(node.items)
    if closures is None:
        return None
    test, then, otherwise = closures

    return lambda scope: then(scope) if _truth(test(scope)) else otherwise(scope)


# Constructors and functions


def _object(node: Node) -> Closure | None:
    keys = [str(key.value) for key in node.items[::2] if key.kind == "string"]
    closures = _compile_all(node.items[1::2])
    if closures is None or len(keys) * 2 != len(node.items) or len(set(keys)) != len(keys):
        return None
    if not all(key.isascii() for key in keys):
        return None
    members = tuple(zip(keys, closures, strict=True))

    def construct(scope: Scope) -> Json:
        built: dict[str, Json] = {}
        for key, closure in members:
            value = closure(scope)
            kind = type(value)
            if kind is str or kind is dict:
                built[key] = value
            elif kind is int or kind is float:
                built[key] = _exact(value)
            elif value is not UNDEFINED:
                built[key] = value
        return built

    return construct


def _exact(value: float) -> int | float:
    """A number as JSONata returns it: whole ones without a fraction. Raises: _Doubt if JSONata would round it."""
    if not _LEAST <= value <= _MOST:
        raise _Doubt
    return int(value) if type(value) is float and value.is_integer() else value


def _array(node: Node) -> Closure | None:
    closures = _compile_all(node.items)
    if closures is None:
        return None
    members = tuple((closure, item.kind == "array") for closure, item in zip(closures, node.items, strict=True))

    def construct(scope: Scope) -> Json:
        built: list[Json] = []
        for closure, nested in members:
            value = closure(scope)
            kind = type(value)
            if kind is int or kind is float:
                value = _exact(value)
            elif value is UNDEFINED:
                continue
            elif kind is not str and kind is not dict and kind is not bool and value is not None and not nested:
                raise _Doubt
            built.append(value)
        return built

    return construct


def _call(node: Node) -> Closure | None:
    procedure, arguments = node.items[0], node.items[1:]
    name = str(procedure.value)
    handler = _FUNCTIONS.get(name)
    if procedure.kind != "variable" or handler is None or len(arguments) != 1:
        return None
    argument = _compile(arguments[0])
    if argument is None:
        return None

    def call(scope: Scope) -> Json:
        if name in scope.variables:  # a variable hides the built-in
            raise _Doubt
        return handler(argument(scope))

    return call


def _count(value: Json) -> Json:
    if type(value) is list:
        return len(value)
    return 0 if value is UNDEFINED else 1


def _exists(value: Json) -> Json:
    return value is not UNDEFINED


def _not(value: Json) -> Json:
    if value is UNDEFINED:
        return UNDEFINED
    return not _truth(value)


_CONSTANTS: Final = frozenset(("string", "number", "value"))
_NO_SCOPE: Final = Scope(None)
_EQUAL_BY_VALUE: Final = frozenset((str, bool, type(None)))
_ARITHMETIC: Final[dict[str, Callable[[Json, Json], Json]]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_COMPARISONS: Final[dict[str, Callable[[Json, Json], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_OPERATORS: Final[dict[str, Callable[[str, Closure, Closure, Json], Closure]]] = {
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    **dict.fromkeys(_COMPARISONS, _comparison),
    "=": _equality,
    "!=": _equality,
    "and": _logic,
    "or": _logic,
}
_FUNCTIONS: Final[dict[str, Callable[[Json], Json]]] = {"count": _count, "exists": _exists, "not": _not}
_HANDLERS: Final[dict[str, Callable[[Node], Closure | None]]] = {
    "string": _literal,
    "number": _literal,
    "value": _literal,
    "variable": _variable,
    "block": _block,
    "binary": _binary,
    "condition": _condition,
    "object": _object,
    "array": _array,
    "call": _call,
}
