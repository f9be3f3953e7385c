"""Statements that hold the fence themselves, run from any thread: those of blobs and of minutes.

Such a statement first locks the row of the lease FOR KEY SHARE, by owner and epoch; the first column of its answer is
the number of rows that it locked, 0 after a take-over. A take-over waits for a statement under way, and none of a lost
owner comes after it.
"""

from __future__ import annotations

from statewright.stores.postgres.connection import run
from statewright.stores.postgres.opened import Database
from statewright.stores.statements import SqlRow


def write_fenced(database: Database, statement: str, given: SqlRow) -> SqlRow:
    """Run a statement behind the fence; the columns behind the first one. It may be run twice.

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
