"""Statements that hold the fence themselves, run from any thread: those of blobs and of minutes.

Such a statement begins with the owner and epoch of the lease, locked FOR KEY SHARE, and answers first how many rows
that were. A take-over waits for a statement under way, and none of a lost owner comes after it.
"""

from __future__ import annotations

from statewright.stores.postgres.connection import run
from statewright.stores.postgres.opened import PostgresDatabase
from statewright.stores.statements import SqlRow


def write_fenced(database: PostgresDatabase, statement: str, given: SqlRow) -> SqlRow:
    """Run a statement behind the fence: what it answers besides. It may be run twice.

    Raises: OwnershipLost, Unavailable.
    """
    opened = database.opened
    lease = opened.lease
    lease.check()
    behind_fence = (lease.owner, lease.epoch, *given)
    found = opened.write_connections.run(lambda on: run(on, statement, behind_fence).fetchone())
    if found is None or not found[0]:
        raise lease.taken_over()
    return found[1:]
