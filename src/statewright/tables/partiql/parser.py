"""Parses PartiQL statements: SELECT, INSERT, UPDATE, DELETE, and EXISTS around a SELECT.

Owns the grammar of whole statements. Leaves names, values and conditions to `terms`, and their meaning for a table to
the modules that carry statements out.

Source: developer guide, "PartiQL statements for DynamoDB"; texts observed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from statewright.payload import Json
from statewright.tables.expressions.tree import Action, Call, Condition, Literal, Operand, Path, Sum
from statewright.tables.partiql.symbols import WORD, malformed
from statewright.tables.partiql.terms import Terms
from statewright.tables.partiql.tree import Column, Delete, Insert, Order, Select, Statement, Update
from statewright.tables.values import invalid, wrong_type

_RETURNING: Final = {
    ("ALL", "OLD"): "ALL_OLD",
    ("MODIFIED", "OLD"): "UPDATED_OLD",
    ("ALL", "NEW"): "ALL_NEW",
    ("MODIFIED", "NEW"): "UPDATED_NEW",
}
_SETS: Final = {"set_add": "ADD", "set_delete": "DELETE"}
"""Functions on sets, and the actions of updates that do the same."""


def statement(text: str, parameters: Sequence[Json] | None = None) -> Statement:
    """A statement with its values. `parameters` are those of a request. Raises: ApiError."""
    terms = Terms(text, parameters)
    if terms.take_if("SELECT"):
        return _select(terms, only_exists=False)
    if terms.take_if("EXISTS"):
        terms.take_sign("(")
        terms.take("SELECT")
        return _select(terms, only_exists=True)
    if terms.take_if("INSERT", "INTO"):
        return _insert(terms)
    if terms.take_if("UPDATE"):
        return _update(terms)
    if terms.take_if("DELETE", "FROM"):
        return _delete(terms)
    raise malformed("Expected data manipulation")


def _select(terms: Terms, *, only_exists: bool) -> Select:
    columns: list[Column] = []
    if not terms.take_sign_if("*"):
        columns.append(_column(terms))
        while terms.take_sign_if(","):
            columns.append(_column(terms))
    terms.take("FROM")
    table = terms.name()
    index = terms.name() if terms.take_sign_if(".") else None
    if terms.is_sign(",") or terms.is_word("JOIN"):
        raise invalid("Only select from a single table or index is supported.")
    where = _where(terms)
    orders: list[Order] = []
    if terms.take_if("ORDER", "BY"):
        orders.append(_order(terms))
        while terms.take_sign_if(","):
            orders.append(_order(terms))
    if only_exists:
        terms.take_sign(")")
    return Select(table, index, tuple(columns), where, tuple(orders), terms.end(), only_exists)


def _column(terms: Terms) -> Column:
    operand = terms.operand()
    if not isinstance(operand, Path):
        raise invalid("Statewright supports only attributes and document paths in the projection of SELECT")
    return Column(terms.shown(operand), operand)


def _order(terms: Terms) -> Order:
    attribute = terms.name()
    descends = terms.take_if("DESC")
    if not descends:
        terms.take_if("ASC")
    return Order(attribute, descends)


def _where(terms: Terms) -> Condition | None:
    return terms.condition() if terms.take_if("WHERE") else None


def _insert(terms: Terms) -> Insert:
    table = terms.name()
    terms.take("VALUE")
    value = terms.value()
    terms.end()
    members = value.get("M") if isinstance(value, dict) else None
    if members is None:
        raise invalid("Expected a tuple as the value of INSERT")
    if not isinstance(members, dict):
        raise wrong_type(members, "a map")
    return Insert(table, members)


def _update(terms: Terms) -> Update:
    table = terms.name()
    actions: list[Action] = []
    while True:
        if terms.take_if("SET"):
            actions.append(_set(terms))
            while terms.take_sign_if(","):
                actions.append(_set(terms))
        elif terms.take_if("REMOVE"):
            actions.append(Action("REMOVE", terms.path(), None))
            while terms.take_sign_if(","):
                actions.append(Action("REMOVE", terms.path(), None))
        else:
            break
    if not actions:
        raise malformed("Expected data manipulation")
    where = _where(terms)
    returning = _returning(terms)
    return Update(table, tuple(actions), where, returning, terms.end())


def _set(terms: Terms) -> Action:
    path = terms.path()
    terms.take_sign("=")
    symbol = terms.symbol
    section = _SETS.get(symbol.text.lower()) if symbol.kind == WORD else None
    if section is None:
        return Action("SET", path, _sum(terms))
    first, *others = terms.arguments()
    if first != path or len(others) != 1 or not isinstance(others[0], Literal):
        raise invalid(
            f"The function {symbol.text} takes the attribute that it changes and a set: "
            f"SET {terms.shown(path)} = {symbol.text}({terms.shown(path)}, <<...>>)"
        )
    return Action(section, path, others[0])


def _sum(terms: Terms) -> Operand:
    left = _changed(terms)
    sign = "+" if terms.is_sign("+") else "-" if terms.is_sign("-") else None
    if sign is None:
        return left
    terms.take_sign(sign)
    return Sum(sign, left, _changed(terms))


def _changed(terms: Terms) -> Operand:
    if terms.is_word("LIST_APPEND"):
        arguments = terms.arguments()
        if len(arguments) != 2 or any(isinstance(one, Call) for one in arguments):
            raise invalid("The function list_append takes two lists")
        return Call("list_append", arguments)
    operand = terms.operand()
    if isinstance(operand, Call):
        raise invalid(f"The function {operand.function} is not allowed in SET")
    return operand


def _delete(terms: Terms) -> Delete:
    table = terms.name()
    where = _where(terms)
    returning = _returning(terms)
    if returning not in ("NONE", "ALL_OLD"):
        raise invalid("DELETE returns only ALL OLD *")
    return Delete(table, where, returning, terms.end())


def _returning(terms: Terms) -> str:
    if not terms.take_if("RETURNING"):
        return "NONE"
    for words, returned in _RETURNING.items():
        if terms.take_if(*words):
            terms.take_sign("*")
            return returned
    raise terms.unexpected("expected ALL OLD *, MODIFIED OLD *, ALL NEW * or MODIFIED NEW *")
