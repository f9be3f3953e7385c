"""The bucket of a database, as its row of identity names it: see `binding.py` for the rules."""

from __future__ import annotations

import logging
from typing import Final

from statewright.stores.bucket.binding import Bound, check, claim, is_settled
from statewright.stores.bucket.client import Bucket
from statewright.stores.postgres.connection import Connection, explained, run
from statewright.stores.postgres.lease import Lease
from statewright.stores.statements import statements

_SQL: Final = statements("postgres_lease")

log = logging.getLogger("statewright.bucket")


def bound_of(connection: Connection, place: str) -> Bound:
    """The id and the bucket of a database, by its own word. Raises: Unavailable."""
    with explained(place):
        found = run(connection, _SQL["bucket"]).fetchone()
    return Bound(*found) if found is not None else Bound(None, None)


class BucketBinding:
    """Checks the bucket of a database, and makes both know each other. `bucket` is None for a start without one."""

    def __init__(self, bucket: Bucket | None, place: str) -> None:
        """`place` is the database as messages show it."""
        self._bucket = bucket
        self._place = place
        self._is_checked = False

    def check(self, connection: Connection) -> None:
        """Check the bucket before the lease is asked for. Raises: StoreError; Unavailable."""
        check(self._bucket, bound_of(connection, self._place), self._place)
        self._is_checked = True

    def bind(self, connection: Connection, lease: Lease) -> None:
        """Check the bucket; bind one that is new to the database. Raises: StoreError; Unavailable, OwnershipLost."""
        bound = bound_of(connection, self._place)
        is_known = self._bucket is not None and is_settled(self._bucket, bound)
        if is_known and self._is_checked:
            # A standby that takes over loses no time, and during an outage of the bucket serves what does not need it.
            return
        check(self._bucket, bound, self._place)
        if self._bucket is None or is_known:
            return
        claim(self._bucket, bound, self._place)
        given = (lease.owner, lease.epoch, self._bucket.address.text)
        with explained(self._place):
            if run(connection, _SQL["bind_bucket"], given).fetchone() is None:
                raise lease.taken_over()
        if bound.address is None:
            log.info(
                "the bodies of objects and the code of functions of %s are kept in the bucket %s from now on",
                self._place, self._bucket.place,
            )  # fmt: skip
