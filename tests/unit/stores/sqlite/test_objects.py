from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from statewright.stores.sqlite.file import SCHEMA_VERSION, split_script
from statewright.stores.sqlite.objects import _TEXTS
from statewright.stores.statements import read_sql

WHOLE = {"buckets", "doomed"}
"""They are there to read a whole table: one of few rows, and a page of one by its key."""


@pytest.fixture(scope="module")
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        for number in range(1, SCHEMA_VERSION + 1):
            for statement in split_script(read_sql(f"schema_{number:04}")):
                connection.execute(statement)
        yield connection


@pytest.mark.parametrize("name", sorted(set(_TEXTS) - WHOLE))
def test_no_statement_reads_a_whole_table(database, name):
    text = _TEXTS[name]
    plan = [row[3] for row in database.execute("EXPLAIN QUERY PLAN " + text, [None] * text.count("?"))]
    tables = {row[0] for row in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")} | {"o", "b"}
    assert not [line for line in plan if line.startswith("SCAN ") and line.split()[1] in tables]
    assert not [line for line in plan if "TEMP B-TREE" in line]
