"""Objects in the SQLite store: how its statements are run. What they do together is in `sql_objects`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from statewright.stores.completion import Completion
from statewright.stores.sql_objects import Sql
from statewright.stores.sqlite.completing import completing
from statewright.stores.sqlite.opened import SqliteFile
from statewright.stores.statements import SqlRow, statements

T = TypeVar("T")

_TEXTS: Final = {
    name: text.replace("{ids}", "SELECT value FROM json_each(?)") for name, text in statements("objects").items()
}


class SqliteSql:
    """See `Sql`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(self, name: str, *given: object) -> list[SqlRow]:
        return self._connection.execute(_TEXTS[name], given).fetchall()

    def ids(self, ids: Iterable[int]) -> str:
        return f"[{','.join(map(str, ids))}]"


class SqliteRunner:
    """See `Runner`."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file

    async def write(self, work: Callable[[Sql], T], completion: Completion[T] | None = None) -> T:
        def run(connection: sqlite3.Connection) -> T:
            return work(SqliteSql(connection))

        completed_too: Callable[[sqlite3.Connection], T] = completing(run, completion)
        found: T = await self._file.opened.writer.submit(completed_too)
        return found

    async def point(self, work: Callable[[Sql], T]) -> T:
        """See `Runner.point`: on the event loop, which costs less than a hop."""
        return self._file.opened.read(lambda on: work(SqliteSql(on)))

    async def scan(self, work: Callable[[Sql], T]) -> T:
        return await self._file.opened.scan(lambda on: work(SqliteSql(on)))
