"""The surroundings of a database: connection poolers in front of it, and replicas behind it.

Owns what is refused or warned of at the start because of them. Whether the database itself can be used is `migrate`'s
to say.
"""

from __future__ import annotations

import logging
from typing import Final

from statewright.errors import StoreError
from statewright.stores.postgres.connection import (
    WRITE_TIMEOUT_MS,
    Connection,
    connect,
    explained,
    run,
)
from statewright.stores.statements import statements

ROUNDS: Final = 3
"""How often a connection through a pooler is asked which backend it has."""
_NOT_SYNCHRONOUS: Final = ("off", "local")

_SQL: Final = statements("postgres_surroundings")

log = logging.getLogger("statewright.server")


def examine(address: str, place: str) -> None:
    """Refuse a pooler that keeps no sessions, and warn of replication that loses acknowledged calls.

    Raises: StoreError, Unavailable.
    """
    with explained(place), connect(address, WRITE_TIMEOUT_MS) as connection:
        if _shares_backends(connection, address):
            raise StoreError(
                f"the store {place} is reached through a connection pooler that gives each transaction another "
                "session (PgBouncer: pool_mode = transaction): a lease and prepared statements need a session of their "
                "own. Use pool_mode = session, or name the database's own address"
            )
        found = run(connection, _SQL["replication"]).fetchone()
    if found is not None:
        problem = replication_problem(*found)
        if problem is not None:
            log.warning("the store %s: %s", place, problem)


def replication_problem(commit: str, names: str, replicas: int) -> str | None:
    """The losses that `synchronous_commit` and `synchronous_standby_names` allow, if any."""
    if commit == "off":
        return (
            "synchronous_commit is off, so a crash of PostgreSQL loses the last acknowledged calls: set it to on for "
            "this database or role"
        )
    if replicas and (not names.strip() or commit in _NOT_SYNCHRONOUS):
        wanted = "synchronous_standby_names is empty" if not names.strip() else f"synchronous_commit is {commit}"
        return (
            f"{replicas} replica{'s follow' if replicas > 1 else ' follows'} it asynchronously ({wanted}): if one is "
            "promoted, the last acknowledged calls may be missing"
        )
    return None


def _shares_backends(first: Connection, address: str) -> bool:
    """True if transactions of a connection run in different sessions of the database."""
    backend = _backend_of(first)
    if backend == first.info.backend_pid:
        # The database itself answers: a pooler makes up the number of the session that it greets with.
        return False
    with connect(address, WRITE_TIMEOUT_MS) as second, second.transaction():
        if _backend_of(second) == backend:
            return True
    return any(_backend_of(first) != backend for _ in range(ROUNDS))


def _backend_of(connection: Connection) -> int:
    # Not prepared: a session may have another connection's statement of that name.
    found = connection.execute(_SQL["backend"].encode(), prepare=False).fetchone()
    assert found is not None
    return int(found[0])
