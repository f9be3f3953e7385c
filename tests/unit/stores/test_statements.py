from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise

import pytest

from statewright.stores.postgres.connection import SCHEMA_VERSION as NEWEST_OF_POSTGRES
from statewright.stores.sqlite.file import SCHEMA_VERSION, split_script
from statewright.stores.statements import LENGTHS, RowStatement, read_sql, row_statements, statements

FIRST_BESIDE_OTHERS = 11
"""The migration before it brought nodes."""
FILES = ("writes", "executions", "catalogue", "queues", "tables")
EVERY = [(file, name) for file in FILES for name in statements(file)]


@pytest.fixture(scope="module")
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        for number in range(1, SCHEMA_VERSION + 1):
            for statement in split_script(read_sql(f"schema_{number:04}")):
                connection.execute(statement)
        yield connection


def test_migrations_leave_programs_that_run_their_tables():
    """Nodes of the version before go on while a newer one migrates, so migrations only add what they can do without."""
    takes_away = re.compile(
        r"\b(DROP|RENAME|TRUNCATE|DELETE|ALTER COLUMN|ADD CONSTRAINT|CREATE UNIQUE|TRIGGER)\b", re.IGNORECASE
    )
    for number in range(FIRST_BESIDE_OTHERS, NEWEST_OF_POSTGRES + 1):
        statements_of = re.sub(r"--[^\n]*", "", read_sql(f"postgres_{number:04}"))
        assert not takes_away.findall(statements_of)
        for column in re.findall(r"ADD COLUMN[^,;]*", statements_of):
            assert "NOT NULL" not in column or "DEFAULT" in column


@pytest.mark.parametrize(("file", "name"), EVERY)
def test_no_statement_reads_a_whole_table(database, file, name):
    text = statements(file)[name]
    if "{rows:" in text:
        text, values = next(RowStatement(text).runs([(1,) * RowStatement(text).columns] * 3))
    else:
        numbered = [int(number) for number in re.findall(r"\?(\d)", text)]
        values = [None] * (max(numbered) if numbered else text.count("?"))
    plan = [row[3] for row in database.execute("EXPLAIN QUERY PLAN " + text, values)]
    tables = {row[0] for row in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    assert not [line for line in plan if line.startswith("SCAN ") and line.split()[1] in tables | {"e", "h"}]
    assert not [line for line in plan if "TEMP B-TREE" in line]


@pytest.mark.parametrize("many", [1, 2, 5, 100, 512, 513, 1024, 1500])
def test_rows_are_filled_up_to_a_prepared_length(many):
    statement = RowStatement("INSERT INTO t SELECT * FROM (VALUES {rows:2}) WHERE column1 IS NOT NULL")
    rows = [(number, None if number % 2 else "x") for number in range(many)]
    lengths = []
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE t (a, b)")
        for text, values in statement.runs(rows):
            lengths.append(text.count("(?, ?)"))
            database.execute(text, values)
        assert database.execute("SELECT * FROM t ORDER BY a").fetchall() == rows
    assert set(lengths) <= set(LENGTHS)
    assert len(lengths) == -(-many // 512)


def test_a_length_has_one_text_object():
    statement = row_statements("writes")["put_frames"]
    first = next(statement.runs([(1, 1, b"")]))[0]
    assert next(statement.runs([(2, 2, b"")]))[0] is first


def test_a_statement_without_rows_is_refused():
    with pytest.raises(ValueError, match="rows:N"):
        RowStatement("SELECT 1")


def test_lengths_rise_and_waste_at_most_half():
    assert list(LENGTHS) == sorted(set(LENGTHS))
    assert all(after <= 2 * before for before, after in pairwise(LENGTHS))
