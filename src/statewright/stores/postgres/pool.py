"""Connections that threads borrow for one statement each: as many as there are threads at once, the idle ones kept."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, TypeVar

import psycopg

from statewright.errors import Unavailable
from statewright.stores.postgres.connection import Connection, Idle, connect, explained

T = TypeVar("T")

MOST_IDLE: Final = 8


class ConnectionPool:
    """Connections to one database, all with the same limit on the time of a statement."""

    def __init__(self, address: str, place: str, timeout_ms: int) -> None:
        """Nothing is opened before it is needed."""
        self._address = address
        self._place = place
        self._timeout_ms = timeout_ms
        self._idle: list[tuple[Connection, Idle]] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def run(self, work: Callable[[Connection], T]) -> T:
        """Run a statement that may be run twice, in any thread.

        Raises: Unavailable; StoreError for what the database refuses.
        """
        with explained(self._place):
            connection, idle, is_new = self._taken()
            try:
                found = work(connection)
            except psycopg.OperationalError:
                if is_new or not connection.closed:
                    connection.close()
                    raise
            except BaseException:
                connection.close()
                raise
            else:
                self._put_back(connection, idle)
                return found
            # The server closed the connection while it was idle, and that was not seen yet.
            self._drop_idle()
            return self.run(work)

    def close(self) -> None:
        """Close the idle connections; one that is in use is closed afterwards."""
        self._is_closed = True
        self._drop_idle()

    def _taken(self) -> tuple[Connection, Idle, bool]:
        while True:
            with self._lock:
                if self._is_closed:
                    raise Unavailable(f"the store {self._place} is closed")
                found = self._idle.pop() if self._idle else None
            if found is None:
                connection = connect(self._address, self._timeout_ms)
                return connection, Idle(connection), True
            connection, idle = found
            if not idle.is_broken():
                return connection, idle, False
            connection.close()

    def _put_back(self, connection: Connection, idle: Idle) -> None:
        with self._lock:
            if not self._is_closed and len(self._idle) < MOST_IDLE:
                self._idle.append((connection, idle))
                return
        connection.close()

    def _drop_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()
