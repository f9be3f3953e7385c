"""Key conditions: the range of one partition that a query reads.

Source: API reference, Query; texts observed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from statewright.errors import ApiError
from statewright.stores.table_protocol import BEHIND_ALL
from statewright.tables.expressions.bindings import Bindings
from statewright.tables.expressions.conditions import Compiler
from statewright.tables.expressions.parser import fault
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
)
from statewright.tables.keys import beginning, behind, encoded, part_key
from statewright.tables.values import Value, invalid, kind_of

PARAMETER: Final = "KeyConditionExpression"
WRONG_TYPE: Final = "One or more parameter values were invalid: Condition parameter type does not match schema type"
_TURNED: Final = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class KeyRange(NamedTuple):
    """A range of encoded keys: from `low`, inclusive, to `high`, exclusive."""

    part: bytes
    low: bytes
    high: bytes


class _Term(NamedTuple):
    """The condition on one key attribute."""

    name: str
    operator: str
    values: tuple[Value, ...]


def key_range(
    condition: Condition, bindings: Bindings, hashes: Sequence[str], ranges: Sequence[str], types: Mapping[str, str]
) -> KeyRange:
    """The range that a key condition selects, for a table or index with this key. Raises: ApiError.

    Every attribute of the partition key needs an equality. Those of the sort key are given from the left, all but the
    last one by an equality.
    """
    parts = list(_conjuncts(condition))
    terms = [_term(part, bindings) for part in parts]
    if len({term.name for term in terms}) < len(terms):
        raise fault(PARAMETER, "KeyConditionExpressions must only contain one condition per key")
    by_name = {term.name: term for term in terms}
    of_hash: list[_Term] = []
    for name in hashes:
        if name not in by_name:
            raise invalid(f"Query condition missed key schema element: {name}")
        of_hash.append(by_name.pop(name))
    of_range: list[_Term] = []
    for name in ranges:
        if name not in by_name:
            break
        of_range.append(by_name.pop(name))
    if by_name:
        if len(of_range) < len(ranges):
            raise invalid(f"Query condition missed key schema element: {ranges[len(of_range)]}")
        raise invalid("Query key condition not supported")
    if any(term.operator != "=" for term in (*of_hash, *of_range[:-1])):
        raise invalid("Query key condition not supported")
    for term in (*of_hash, *of_range):
        for value in term.values:
            if kind_of(value) != types[term.name]:
                raise invalid(WRONG_TYPE)
            if value[kind_of(value)] == "":
                words = {"S": "string", "B": "binary"}[kind_of(value)]
                raise invalid(
                    "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain "
                    f"an empty {words} value. Key: {term.name}"
                )
    part = part_key(*(term.values[0] for term in of_hash))
    if not of_range:
        return KeyRange(part, b"", BEHIND_ALL)
    low, high = _bounds(of_range[-1])
    prefix = b"".join(encoded(term.values[0]) for term in of_range[:-1])
    if prefix:
        return KeyRange(part, prefix + low, prefix + high if high != BEHIND_ALL else behind(prefix))
    return KeyRange(part, low, high)


def _conjuncts(condition: Condition) -> Iterator[Condition]:
    if isinstance(condition, All):
        for part in condition.parts:
            yield from _conjuncts(part)
    else:
        yield condition


def _term(node: Condition, bindings: Bindings) -> _Term:
    if isinstance(node, Either | Not | Among):
        name = {Either: "OR", Not: "NOT", Among: "IN"}[type(node)]
        raise _unsupported(name)
    if isinstance(node, Between):
        name = _name(node.operand, bindings)
        low, high = _value(node.low, bindings), _value(node.high, bindings)
        Compiler(PARAMETER, bindings).check_bounds(low, high)
        return _Term(name, "BETWEEN", (low, high))
    if isinstance(node, Call):
        if node.function != "begins_with":
            raise _unsupported(node.function)
        value = _value(node.arguments[1], bindings)
        if kind_of(value) not in ("S", "B"):
            raise fault(
                PARAMETER,
                "Incorrect operand type for operator or function; operator or function: begins_with, "
                f"operand type: {kind_of(value)}",
            )
        return _Term(_name(node.arguments[0], bindings), "begins_with", (value,))
    assert isinstance(node, Compare)
    if node.sign == "<>":
        raise _unsupported("<>")
    if isinstance(node.left, Literal) and isinstance(node.right, Path):
        return _Term(_name(node.right, bindings), _TURNED[node.sign], (_value(node.left, bindings),))
    return _Term(_name(node.left, bindings), node.sign, (_value(node.right, bindings),))


def _unsupported(operator: str) -> ApiError:
    return fault(PARAMETER, f"Invalid operator used in KeyConditionExpression: {operator}")


def _name(operand: Operand, bindings: Bindings) -> str:
    if not isinstance(operand, Path):
        raise fault(PARAMETER, "Invalid condition in KeyConditionExpression: a key attribute must be compared")
    steps = bindings.path(PARAMETER, operand)
    if len(steps) != 1:
        raise fault(PARAMETER, "KeyConditionExpressions cannot have conditions on nested attributes")
    return str(steps[0])


def _value(operand: Operand, bindings: Bindings) -> Value:
    if not isinstance(operand, Literal):
        raise fault(PARAMETER, f"Invalid condition in {PARAMETER}: Multiple attribute names used in one condition")
    return bindings.value(PARAMETER, operand)


def _bounds(term: _Term) -> tuple[bytes, bytes]:
    first = term.values[0]
    begin = encoded(first)
    if term.operator == "=":
        return begin, behind(begin)
    if term.operator == "<":
        return b"", begin
    if term.operator == "<=":
        return b"", behind(begin)
    if term.operator == ">":
        return behind(begin), BEHIND_ALL
    if term.operator == ">=":
        return begin, BEHIND_ALL
    if term.operator == "BETWEEN":
        return begin, behind(encoded(term.values[1]))
    prefix = beginning(first)
    return prefix, behind(prefix)
