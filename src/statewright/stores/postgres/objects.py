"""Objects in the PostgreSQL store: how its statements are run. What they do together is in `sql_objects`.

Writes go through one lane and only while this process owns the store, so no other write comes between two statements.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from statewright.stores.completion import Completion
from statewright.stores.postgres.arrays import BigintArray, bigints
from statewright.stores.postgres.completing import completing
from statewright.stores.postgres.connection import Connection, run
from statewright.stores.postgres.opened import Database
from statewright.stores.sql_objects import Sql
from statewright.stores.statements import SqlRow, statements

T = TypeVar("T")


def _numbered(text: str) -> str:
    count = itertools.count(1)
    return re.sub(r"\?", lambda _: f"${next(count)}", text.replace("{ids}", "SELECT unnest(?::bigint[])"))


TEXTS: Final = {name: _numbered(text) for name, text in statements("objects").items()}


class PostgresSql:
    """See `Sql`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def run(self, name: str, *given: object) -> list[SqlRow]:
        cursor = run(self._connection, TEXTS[name], given)
        return cursor.fetchall() if cursor.description is not None else []

    def ids(self, ids: Iterable[int]) -> BigintArray:
        return bigints(list(ids))


class PostgresRunner:
    """See `Runner`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def write(self, work: Callable[[Sql], T], completion: Completion[T] | None = None) -> T:
        return await self._database.write_owned(completing(lambda on: work(PostgresSql(on)), completion))

    async def point(self, work: Callable[[Sql], T]) -> T:
        return await self.scan(work)

    async def scan(self, work: Callable[[Sql], T]) -> T:
        return await self._database.opened.work(lambda on: work(PostgresSql(on)))
