"""All rows of one store in the other, and the list of tables that says which those are."""

from __future__ import annotations

import gc
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from statewright.errors import InUse, StoreError
from statewright.stores.postgres.connection import place_of
from statewright.stores.postgres.lease import Lease
from statewright.stores.sqlite.file import migrate
from statewright.stores.statements import SqlRow
from statewright.stores.transfer import rows as transfer_rows
from statewright.stores.transfer.mapping import AS_FILES, LEFT, MADE_ANEW, TABLES, Table
from statewright.stores.transfer.postgres_rows import empty, owned, snapshot
from statewright.stores.transfer.rows import Progress, Rows, counted, transfer
from statewright.stores.transfer.sqlite_rows import NewFile, new_file, reading
from tests.postgres_server import server_or_skip

EVERY_TABLE = {table.name: list(table.columns) for table in TABLES}
_TEXTS = ("a", "Z", "é", "\U0001f600", "")
_NUMBERS = (0, -1, 2**62, -(2**62), 7)
_BYTES = (b"", b"\x00\xff", b"a" * 70_000, b"\n\t\\N", b"{}")


def compare(found: dict[str, list[str]], what: str) -> None:
    known = {name: columns for name, columns in found.items() if name not in {*MADE_ANEW, *AS_FILES, *LEFT}}
    assert known == EVERY_TABLE, f"{what} and stores/transfer/mapping.py differ: add the table or column there"


def test_every_table_of_the_file_is_moved_or_known_to_stay():
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, Path("memory"))
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        found = {name: [row[1] for row in connection.execute(f"PRAGMA table_info({name})")] for name in tables}
    compare({name: columns for name, columns in found.items() if not name.startswith("sqlite_")}, "the file's schema")


def test_every_table_of_postgresql_is_moved_or_known_to_stay():
    server = server_or_skip()
    found: dict[str, list[str]] = {}
    with psycopg.connect(server.new_database(server.template)) as connection:
        columns = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' "
        for name, column in connection.execute(columns + "ORDER BY table_name, ordinal_position").fetchall():
            found.setdefault(name, []).append(column)
    compare(found, "PostgreSQL's schema")


def test_a_list_that_forgets_a_column_is_noticed():
    with pytest.raises(AssertionError, match="differ"):
        compare({**EVERY_TABLE, "outbox": [*EVERY_TABLE["outbox"], "priority"]}, "it")
    with pytest.raises(AssertionError, match="differ"):
        compare({**EVERY_TABLE, "outbox_of_tomorrow": ["id"]}, "it")


def fill(file: Path, many: int = 5) -> dict[str, int]:
    """A store with rows of every table and type; returns their numbers."""
    with new_file(file) as store, closing(sqlite3.connect(":memory:", isolation_level=None)) as schema:
        migrate(schema, file)
        for table in TABLES:
            kinds = {row[1]: (row[2], row[3]) for row in schema.execute(f"PRAGMA table_info({table.name})")}
            store.put(table, (row_of(table, kinds, number) for number in range(many)))
        store.make_anew(41)
    return dict.fromkeys(EVERY_TABLE, many)


def row_of(table: Table, kinds: dict[str, tuple[str, int]], number: int) -> tuple[object, ...]:
    """Rows differ in every column, so that keys do; columns that may be null are so in one row."""
    row: list[object] = []
    for column in table.columns:
        kind, is_needed = kinds[column]
        if column == "named":
            row.append(1)
        elif column in ("status", "shard", "machine"):
            row.append(number % 3)
        elif not is_needed and number == 3 and column != "id":
            row.append(None)
        elif kind == "INTEGER":
            row.append(_NUMBERS[number % 5] + number // 5)
        elif kind == "TEXT":
            row.append(_TEXTS[number % 5] + ("" if number < 5 else str(number)))
        else:
            row.append(_BYTES[number % 5] + (b"" if number < 5 else str(number).encode()))
    return tuple(row)


def contents(file: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(file)) as connection:
        names = [*EVERY_TABLE, "execution_count", "shard"]
        return {name: sorted(connection.execute(f"SELECT * FROM {name}").fetchall(), key=repr) for name in names}


def to_database(file: Path, address: str, progress: Progress = lambda _: None) -> dict[str, int]:
    with reading(file) as source, empty(address, "test") as target:
        target.mark("the move")
        with target.filling():
            return transfer(source, target, progress)


def _to_file(source: Rows, file: Path) -> None:
    with new_file(file) as target:
        transfer(source, target, lambda _: None)


def test_there_and_back_every_row_is_the_same(tmp_path):
    address = server_or_skip().new_database()
    wanted = fill(tmp_path / "before.db")
    seen: list[int] = []
    assert to_database(tmp_path / "before.db", address) == wanted
    with snapshot(address) as source, new_file(tmp_path / "after.db") as target:
        assert counted(source) == wanted
        assert source.epoch() == 41
        assert transfer(source, target, seen.append) == wanted
    assert sum(seen) == 2 * sum(wanted.values())
    assert contents(tmp_path / "after.db") == contents(tmp_path / "before.db")


def test_what_arrives_otherwise_is_noticed(tmp_path, monkeypatch):
    fill(tmp_path / "before.db")

    def forget(target: NewFile, table: Table, rows: Iterable[SqlRow]) -> None:
        put(target, table, rows)
        if table.name == lossy:
            list(target._found(f"DELETE FROM {lossy} WHERE rowid IN (SELECT min(rowid) FROM {lossy}) RETURNING 1"))

    put, lossy = NewFile.put, "inbox"
    monkeypatch.setattr(NewFile, "put", forget)
    with reading(tmp_path / "before.db") as source, pytest.raises(StoreError, match="of 5 rows of inbox, 4 rows arr"):
        _to_file(source, tmp_path / "after.db")
    assert not list(tmp_path.glob("after*"))


def test_a_text_that_postgresql_cannot_have_is_refused_and_the_database_stays_empty(tmp_path):
    address = server_or_skip().new_database()
    fill(tmp_path / "before.db")
    with closing(sqlite3.connect(tmp_path / "before.db")) as connection, connection:
        connection.execute("UPDATE message_body SET body = 'a' || char(0) WHERE id = 7")
    with pytest.raises(StoreError, match=r"PostgreSQL refuses a row: .*message_body"):
        to_database(tmp_path / "before.db", address)
    with pytest.raises(StoreError, match="is incomplete, because the move was interrupted"), snapshot(address):
        pass
    with closing(sqlite3.connect(tmp_path / "before.db")) as connection, connection:
        connection.execute("UPDATE message_body SET body = 'a' WHERE id = 7")
    assert to_database(tmp_path / "before.db", address) == dict.fromkeys(EVERY_TABLE, 5)


def test_a_database_in_use_or_with_rows_is_refused(tmp_path):
    address = server_or_skip().new_database()
    fill(tmp_path / "before.db")
    to_database(tmp_path / "before.db", address)
    with pytest.raises(StoreError, match="is not empty: it has rows in the table execution"):
        to_database(tmp_path / "before.db", address)
    lease = Lease(address, place_of(address), "somebody")
    try:
        with pytest.raises(InUse, match="in use by somebody"), owned(address, "test"):
            pass
        with snapshot(address) as rows:
            assert rows.count(TABLES[0]) == 5
    finally:
        lease.release()


@pytest.mark.parametrize("version", [4, 99])
def test_another_version_is_refused(tmp_path, version):
    address = server_or_skip().new_database()
    fill(tmp_path / "before.db")
    to_database(tmp_path / "before.db", address)
    with psycopg.connect(address) as connection:
        connection.execute("DELETE FROM statewright_schema WHERE version > %s", (min(version, 4),))
        if version > 4:
            connection.execute("INSERT INTO statewright_schema VALUES (%s)", (version,))
    with pytest.raises(StoreError, match=f"has version {version}"), snapshot(address):
        pass
    with closing(sqlite3.connect(tmp_path / "before.db")) as file, file:
        file.execute("DELETE FROM schema_version WHERE version > ?", (min(version, 4),))
        file.execute("INSERT INTO schema_version VALUES (?) ON CONFLICT DO NOTHING", (version,))
    with pytest.raises(StoreError, match=f"has version {version}"), reading(tmp_path / "before.db"):
        pass


def test_a_database_without_a_store_is_refused():
    with pytest.raises(StoreError, match="has no store of Statewright's"), snapshot(server_or_skip().new_database()):
        pass


def test_rows_are_those_of_one_instant(tmp_path):
    address = server_or_skip().new_database()
    fill(tmp_path / "before.db")
    to_database(tmp_path / "before.db", address)
    with snapshot(address) as source:
        with psycopg.connect(address) as writer:
            writer.execute("INSERT INTO number VALUES ('new', 1)")
            writer.execute("UPDATE entry SET body = ''")
            writer.execute("DELETE FROM history")
        # The other store may make it wait for longer than a server may.
        connection = source._connection
        assert connection.execute("SHOW idle_in_transaction_session_timeout").fetchone() == ("0",)
        _to_file(source, tmp_path / "after.db")
    assert contents(tmp_path / "after.db") == contents(tmp_path / "before.db")


def test_an_interrupt_leaves_no_reading_under_way(tmp_path, monkeypatch):
    monkeypatch.setattr(transfer_rows, "STEP_ROWS", 2)
    address = server_or_skip().new_database()
    fill(tmp_path / "before.db")

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        to_database(tmp_path / "before.db", address, interrupt)
    assert to_database(tmp_path / "before.db", address) == dict.fromkeys(EVERY_TABLE, 5)
    with pytest.raises(KeyboardInterrupt), snapshot(address) as source, new_file(tmp_path / "after.db") as target:
        transfer(source, target, interrupt)
    assert not list(tmp_path.glob("after*"))
    # A reading that is collected later warns, which fails the test.
    gc.collect()
