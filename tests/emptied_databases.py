"""Databases with the store's tables, which tests use one after the other: emptying one takes a fifth of making one.

For tests that change rows alone. A database whose tables are not those of the template any more is made anew.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import psycopg

from tests.postgres_server import Server, server_or_skip

MANY = 8
"""A database lives until so many others have been asked for."""
_SHAPE = """
SELECT relname, relkind::text, relnatts, relacl::text, relhastriggers,
    (SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace)
FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY relname
"""
_END_OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


class EmptiedDatabases:
    """The databases of one server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._count = 0
        with psycopg.connect(server.address(server.template), autocommit=True) as connection:
            self._shape: list[tuple[Any, ...]] = connection.execute(_SHAPE).fetchall()
            tables = [row[0] for row in self._shape if row[1] == "r"]
            rows = {name: _rows_of(connection, name) for name in tables}
        self._kept = {name: found for name, found in rows.items() if found}
        # Without triggers, and so in any order.
        deletions = (f"DELETE FROM {name}" for name, found in rows.items() if not found)
        self._empty = "SET session_replication_role = replica; " + "; ".join(deletions)

    def next(self) -> str:
        """The address of an empty one."""
        number, is_new = self._count % MANY, self._count < MANY
        self._count += 1
        name = f"emptied_{number}"
        if is_new or not self._is_emptied(self._server.address(name)):
            with psycopg.connect(self._server.address("postgres"), autocommit=True) as connection:
                connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())
                connection.execute(f"CREATE DATABASE {name} TEMPLATE {self._server.template}".encode())
        return self._server.address(name)

    def _is_emptied(self, address: str) -> bool:
        """Delete the rows of a database; False for one with other tables, or other rows where the template has some."""
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(_END_OTHERS)
            if connection.execute(_SHAPE).fetchall() != self._shape:
                return False
            if any(_rows_of(connection, name) != rows for name, rows in self._kept.items()):
                return False
            connection.execute(self._empty.encode())
            return True


def _rows_of(connection: psycopg.Connection[Any], table: str) -> list[tuple[Any, ...]]:
    return connection.execute(f"SELECT * FROM {table} ORDER BY 1".encode()).fetchall()


@cache
def _of_server(server: Server) -> EmptiedDatabases:
    return EmptiedDatabases(server)


def emptied_database() -> str:
    """The address of an empty database of the server that tests share; skips the test if there is no server."""
    return _of_server(server_or_skip()).next()
