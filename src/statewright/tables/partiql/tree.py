"""Statements as trees. Conditions, paths and actions are those of expressions; values are bound already."""

from __future__ import annotations

from dataclasses import dataclass

from statewright.payload import Json
from statewright.tables.expressions.bindings import Bindings
from statewright.tables.expressions.tree import Action, Condition, Path


@dataclass(frozen=True, slots=True)
class Column:
    """A projected path, and the name of its value in an answer."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class Order:
    """An attribute by which items are ordered."""

    attribute: str
    descends: bool


@dataclass(frozen=True, slots=True)
class Select:
    """`SELECT`. Without columns, it reads all attributes."""

    table: str
    index: str | None
    columns: tuple[Column, ...]
    where: Condition | None
    orders: tuple[Order, ...]
    bindings: Bindings
    only_exists: bool = False
    """True for `EXISTS(SELECT ...)`, a condition of a transaction."""


@dataclass(frozen=True, slots=True)
class Insert:
    """`INSERT INTO`; the item is as in a request, not checked yet."""

    table: str
    item: Json


@dataclass(frozen=True, slots=True)
class Update:
    """`UPDATE`. `returning` is as the ReturnValues of UpdateItem."""

    table: str
    actions: tuple[Action, ...]
    where: Condition | None
    returning: str
    bindings: Bindings


@dataclass(frozen=True, slots=True)
class Delete:
    """`DELETE FROM`. `returning` is as the ReturnValues of DeleteItem."""

    table: str
    where: Condition | None
    returning: str
    bindings: Bindings


Statement = Select | Insert | Update | Delete


def is_read(statement: Statement) -> bool:
    """True for a statement that reads items; a condition of a transaction belongs to its writes."""
    return isinstance(statement, Select) and not statement.only_exists
