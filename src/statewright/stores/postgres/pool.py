"""Connections that threads borrow for one statement each: as many as there are threads at once, the idle ones kept."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from statewright.errors import Unavailable
from statewright.stores.postgres.connection import Connection, Idle, connect, explained

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

    @contextmanager
    def lent(self) -> Iterator[Connection]:
        """A connection for the block, in any thread. Raises: Unavailable, StoreError for what the database refuses."""
        with explained(self._place):
            connection, idle = self._taken() or self._opened()
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
        with self._lock:
            if not self._is_closed and len(self._idle) < MOST_IDLE:
                self._idle.append((connection, idle))
                return
        connection.close()

    def close(self) -> None:
        """Close the idle connections; a lent one is closed when it comes back."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()

    def _taken(self) -> tuple[Connection, Idle] | None:
        while True:
            with self._lock:
                if self._is_closed:
                    raise Unavailable(f"the store {self._place} is closed")
                if not self._idle:
                    return None
                connection, idle = self._idle.pop()
            if not idle.is_broken():
                return connection, idle
            connection.close()

    def _opened(self) -> tuple[Connection, Idle]:
        connection = connect(self._address, self._timeout_ms)
        return connection, Idle(connection)
