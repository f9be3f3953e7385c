"""The process that is killed in a migration: opens a data folder as a program would that knows one version more."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from statewright.stores.sqlite import file as sqlite_file
from statewright.stores.sqlite import opened
from statewright.stores.sqlite.store import SqliteStore

NEXT = sqlite_file.SCHEMA_VERSION + 1


def next_schema(number: int) -> str:
    """A script that touches every execution."""
    assert number == NEXT
    return "ALTER TABLE execution ADD COLUMN note TEXT;\nUPDATE execution SET note = 'migrated ' || name;\n"


async def main() -> None:
    sqlite_file._migration = next_schema
    vars(opened)["migrate"] = lambda connection, file: sqlite_file.migrate(connection, file, NEXT)
    store = SqliteStore(Path(sys.argv[1]))
    await store.open("newer")
    await store.close()


if __name__ == "__main__":
    asyncio.run(main())
