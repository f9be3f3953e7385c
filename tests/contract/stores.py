"""The stores under contract, and short ways to make what is put into them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from statewright.stores.memory.store import MemoryStore
from statewright.stores.postgres.store import PostgresStore
from statewright.stores.protocol import Commit, HistoryPage, Row
from statewright.stores.sqlite.store import SqliteStore
from statewright.stores.store import Store
from tests.emptied_databases import emptied_database


def _postgres(folder: Path) -> Store:
    # The folder stands for the database: the same one for every store that a test makes.
    address = folder / "address"
    if not address.exists():
        address.write_text(emptied_database())
    return PostgresStore(address.read_text())


MAKERS: dict[str, Callable[[Path], Store]] = {
    "memory": lambda _: MemoryStore(),
    "postgres": _postgres,
    "sqlite": lambda folder: SqliteStore(folder / "data", durability="process"),
}
"""Makes a closed, empty store. A new store joins the suite by a line here."""

START_MS = 1_767_225_600_000


def row(number: int, name: str | None = None, **changes: Any) -> Row:
    """A running execution of machine 7, unless told otherwise; started a millisecond after the one before it."""
    made = Row(number, 0, 7, name or f"run-{number}", "RUNNING", START_MS + number, None, b"head", b"")
    return replace(made, **changes)


def start(number: int, name: str | None = None, **changes: Any) -> Commit:
    """A commit that starts an execution with one page of history. Fields of the row go by their names."""
    of_row = {key: changes.pop(key) for key in list(changes) if key in Row.__dataclass_fields__ and key != "state"}
    commit = Commit(row(number, name, **of_row), 0, b"state 1", history=page(1, 2))
    return replace(commit, **changes)


def step(before: Commit, expected: int, **changes: Any) -> Commit:
    """A commit that goes on from another one's row. Fields of the row go by their names."""
    of_row = {key: changes.pop(key) for key in list(changes) if key in Row.__dataclass_fields__ and key != "state"}
    commit = Commit(replace(before.row, **of_row), expected, b"state %d" % (expected + 1))
    return replace(commit, **changes)


def end(before: Commit, expected: int, status: str = "SUCCEEDED", stopped_ms: int = START_MS + 9_999) -> Commit:
    """A commit that closes an execution; success clears its state."""
    commit = step(before, expected, status=status, stopped_ms=stopped_ms, tail=b"output")
    return replace(commit, state=None) if status == "SUCCEEDED" else commit


def page(first: int, count: int) -> HistoryPage:
    """A page whose body says which one it is."""
    return HistoryPage(first, count, START_MS, b"events from %d" % first)
