"""A look at the lease of a store from outside: who has it, and for how long still. Takes no lock and writes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import psycopg
from psycopg import errors as failures

from statewright.stores.postgres.connection import WRITE_TIMEOUT_MS, Connection, connect, explained, run
from statewright.stores.statements import statements

_SQL: Final = statements("postgres_lease")


@dataclass(frozen=True, slots=True)
class Seen:
    """The lease as it was seen: its owner, and how long it runs still by the database's time; zero or less: free."""

    owner: str | None = None
    left_ms: int = 0

    @property
    def is_free(self) -> bool:
        """True if the lease can be taken."""
        return self.owner is None or self.left_ms <= 0


class LeaseWatch:
    """Looks again and again, on one connection. For one thread at a time."""

    def __init__(self, address: str, place: str) -> None:
        """Nothing is touched before the first look."""
        self._address = address
        self._place = place
        self._connection: Connection | None = None

    def look(self) -> Seen:
        """The lease as it is now; free in a database that has no tables yet. Blocks.

        Raises: Unavailable, StoreError.
        """
        with explained(self._place):
            if self._connection is None:
                self._connection = connect(self._address, WRITE_TIMEOUT_MS)
            try:
                found = run(self._connection, _SQL["look"]).fetchone()
            except failures.UndefinedTable:
                return Seen()
            except psycopg.Error:
                self.close()
                raise
        return Seen() if found is None else Seen(found[0], found[1] - found[2])

    def close(self) -> None:
        """Close the connection; the next look opens another one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
