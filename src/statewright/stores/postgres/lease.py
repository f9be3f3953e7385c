"""The lease on a PostgreSQL store: one process owns it at a time, and proves it once a second.

The lease is a row: owner, epoch, and until when by the database's own time. A thread renews it on the real monotonic
clock, even if the engine's clock is another one and the event loop is busy. What protects the data is not this thread
but the fence: every group of commits looks for its owner and epoch in the row first.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import Final

import psycopg

from statewright import chance
from statewright.errors import InUse, OwnershipLost, Unavailable
from statewright.lease_end import LeaseEnd
from statewright.stores.postgres.connection import WRITE_TIMEOUT_MS, Connection, connect, explained, run
from statewright.stores.statements import statements

LEASE_MS: Final = 3_000
RENEW_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 0.2
LAST_GROUP_SECONDS: Final = 10.0
"""How long a process waits for a transaction of an owner whose lease has run out."""
TRUST_SECONDS: Final = LEASE_MS * 2 / 3 / 1_000
"""A process that could not renew its lease for so long writes nothing more until it can."""

_SQL: Final = statements("postgres_lease")


class Lease:
    """A lease, taken when made. `owner` and `epoch` are what the fence asks for."""

    def __init__(self, address: str, place: str, owner: str, end: LeaseEnd | None = None) -> None:
        """Take the store, waiting for the lease of an owner that died to run out: at most about three seconds.

        `end` is moved with each renewal.

        Raises: InUse, naming the process that has it; Unavailable. Blocks: not for the event loop.
        """
        self._address = address
        self._place = place
        self.owner = f"{owner} on {socket.gethostname()} ({chance.secret_bytes(4).hex()})"
        self._stopping = threading.Event()
        self._is_lost = False
        with explained(place):
            self._connection: Connection | None = connect(address, WRITE_TIMEOUT_MS)
            try:
                self.epoch = self._take(self._connection)
            except BaseException:
                self._connection.close()
                raise
        self._end = end
        self._note_renewed(time.monotonic())
        self._thread = threading.Thread(target=self._keep, name="statewright-lease", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Check the lease. Raises: OwnershipLost once another process has it; Unavailable while that is not known."""
        if self._is_lost:
            raise self.taken_over()
        if time.monotonic() - self._renewed > TRUST_SECONDS:
            raise Unavailable(f"the store {self._place} does not answer: the lease could not be renewed")

    def taken_over(self) -> OwnershipLost:
        """Note that the fence has found another owner; the error to raise."""
        self._note_lost()
        return OwnershipLost(f"the store {self._place} was taken over by another process")

    def _note_renewed(self, begun: float) -> None:
        self._renewed = begun
        if self._end is not None:
            self._end.move(begun + TRUST_SECONDS)

    def _note_lost(self) -> None:
        self._is_lost = True
        if self._end is not None:
            self._end.move(0.0)

    def release(self) -> None:
        """Stop renewing and let others take the store at once. Blocks for a moment."""
        self._stopping.set()
        self._thread.join()
        with (
            contextlib.suppress(psycopg.Error),
            self._connection or connect(self._address, WRITE_TIMEOUT_MS) as connection,
        ):
            run(connection, _SQL["release"], (self.owner, self.epoch))

    def _take(self, connection: Connection) -> int:
        run(connection, _SQL["prepare"])
        seen: int | None = None
        free_since: float | None = None
        while True:
            found = run(connection, _SQL["look"]).fetchone()
            if found is None:
                raise Unavailable(f"the store {self._place} has lost the row of its lease")
            holder, until_ms, now_ms = found
            if holder is None or until_ms <= now_ms:
                epoch = self._take_free(connection)
                if epoch is not None:
                    return epoch
                free_since = free_since or time.monotonic()
                if time.monotonic() - free_since > LAST_GROUP_SECONDS:
                    raise Unavailable(
                        f"the store {self._place} cannot be taken: its lease is free, but a transaction still holds it"
                    )
            elif seen is not None and until_ms != seen:
                raise InUse(f"the store {self._place} is in use by {holder}")
            seen = until_ms
            # An owner that lives renews within a second.
            self._stopping.wait(min(max(until_ms - now_ms, 0) / 1_000 + 0.01, RETRY_SECONDS))

    def _take_free(self, connection: Connection) -> int | None:
        """Take a store that looked free; the new epoch, or None if another process was first or still writes."""
        with connection.transaction():
            if run(connection, _SQL["lock_free"]).fetchone() is None:
                return None
            taken = run(connection, _SQL["take"], (self.owner, LEASE_MS)).fetchone()
            return int(taken[0]) if taken is not None else None

    def _keep(self) -> None:
        pause = RENEW_SECONDS
        while not self._stopping.wait(pause):
            begun = time.monotonic()
            try:
                if self._connection is None:
                    self._connection = connect(self._address, WRITE_TIMEOUT_MS)
                given = (self.owner, self.epoch, LEASE_MS)
                if run(self._connection, _SQL["renew"], given).fetchone() is None:
                    self._note_lost()
                    return
                # Counted from before the call: the answer may have been long under way.
                self._note_renewed(begun)
                pause = RENEW_SECONDS
            except psycopg.Error:
                if self._connection is not None:
                    self._connection.close()
                self._connection = None
                pause = RETRY_SECONDS
