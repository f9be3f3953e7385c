"""INSERT, UPDATE, DELETE and EXISTS as writes, which the same path carries out as those of other requests.

Source: developer guide, "PartiQL statements for DynamoDB"; API reference, ExecuteStatement; texts observed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from statewright.errors import ApiError
from statewright.tables.expressions.conditions import Compiler, Test
from statewright.tables.expressions.updates import Update as Changed
from statewright.tables.partiql.keys import needed_key
from statewright.tables.partiql.tree import Delete, Insert, Select, Statement, Update
from statewright.tables.table import Table
from statewright.tables.values import Item, checked_item, invalid
from statewright.tables.writes import Write, delete_key, put_item, update_key

CONDITION: Final = "ConditionExpression"
"""The parameter whose name errors in the condition of a write have."""


def write_of(statement: Statement, find: Callable[[str], Table], *, in_transaction: bool = False) -> Write:
    """The write of a statement. Raises: ApiError."""
    table = find(statement.table)
    if isinstance(statement, Insert):
        item, size = checked_item(statement.item)
        return put_item(table, item, size, _is_absent)
    if isinstance(statement, Update):
        return _update(table, statement)
    if isinstance(statement, Delete):
        return _delete(table, statement)
    return _check(table, statement, in_transaction=in_transaction)


def _is_absent(item: Item) -> bool:
    if item:
        raise ApiError("DuplicateItemException", "Duplicate primary key exists in table")
    return True


def _update(table: Table, statement: Update) -> Write:
    key = needed_key(table.definition.keys, statement.where, statement.bindings)
    changed = Changed(statement.actions, statement.bindings, table.definition.keys)
    # An item that is not there has no key, so it fails the condition.
    return update_key(table, key, changed, _test(statement))


def _delete(table: Table, statement: Delete) -> Write:
    key = needed_key(table.definition.keys, statement.where, statement.bindings)
    holds = _test(statement)
    return delete_key(table, key, lambda item: not item or holds(item))


def _check(table: Table, statement: Select, *, in_transaction: bool) -> Write:
    if not statement.only_exists:
        raise invalid("A SELECT statement cannot be among writes")
    if not in_transaction:
        raise invalid("EXISTS can only be used in ExecuteTransaction")
    if statement.index is not None:
        raise invalid("EXISTS cannot be used with an index")
    key, place = table.key(needed_key(table.definition.keys, statement.where, statement.bindings))
    return Write(table, key, place, _test(statement), None, False)


def _test(statement: Update | Delete | Select) -> Test:
    assert statement.where is not None
    return Compiler(CONDITION, statement.bindings).test(statement.where)
