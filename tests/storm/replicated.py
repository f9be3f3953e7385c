"""Two PostgreSQL servers, of which one follows the other; when the primary dies, its replica is promoted.

A commit is answered when the replica has it too, so a promotion loses nothing that was acknowledged. Clients name both
servers in one address, as libpq has it, and reach the one that takes writes.
"""

from __future__ import annotations

import signal

import psycopg

from tests.deadlines import until
from tests.postgres_server import Server

_SYNCHRONOUS = ("synchronous_standby_names=*", "synchronous_commit=on")


class Replicated:
    """A primary and its replica, which is synchronous unless said otherwise."""

    def __init__(self, *, is_synchronous: bool = True) -> None:
        """Raises: NoServer."""
        settings = _SYNCHRONOUS if is_synchronous else ()
        self._primary = Server(settings=settings)
        self._replica = Server(self._primary, settings)

    def new_database(self) -> str:
        """The address of a new database on the server that takes writes."""
        name = self._primary.new_database().split("/")[3].split("?")[0]
        folders = f"{self._primary.folder},{self._replica.folder}"
        return f"postgresql:///{name}?host={folders}&user=test&target_session_attrs=read-write"

    def stop(self, how: signal.Signals) -> None:
        """End the primary, and promote its replica."""
        self._primary.stop(how)
        self._primary, self._replica = self._replica, self._primary
        if not self._primary.is_running:
            self._primary.start()
        self._primary.promote()

    def hold_replica(self) -> None:
        """Let the replica receive nothing more until it is promoted; what was written so far it has."""
        with psycopg.connect(self._primary.address("postgres")) as connection:
            written = connection.execute("SELECT pg_current_wal_lsn()::text").fetchone()

        def has_it() -> bool:
            with psycopg.connect(self._replica.address("postgres")) as connection:
                asked = connection.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", written)
                return asked.fetchone() == (True,)

        until(has_it, "what the primary has written, at the replica")
        self._replica.stop()

    def start(self) -> None:
        """Let the server that was the primary follow the new one; until then, no commit is answered."""
        self._replica.follow(self._primary)

    def break_connections(self) -> None:
        """Break every connection with the primary off."""
        self._primary.break_connections()

    def remove(self) -> None:
        """End both, and delete what they have."""
        for server in (self._replica, self._primary):
            server.remove()
