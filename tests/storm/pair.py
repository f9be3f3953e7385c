"""Two PostgreSQL servers, of which one follows the other; when the primary dies, its replica is promoted.

A commit is answered when the replica has it too, so a promotion loses nothing that was acknowledged. Clients name both
servers in one address, as libpq has it, and reach the one that takes writes.
"""

from __future__ import annotations

import signal

from tests.postgres_server import Server

_SYNCHRONOUS = ("synchronous_standby_names=*", "synchronous_commit=on")


class Pair:
    """A primary and its synchronous replica."""

    def __init__(self) -> None:
        """Raises: NoServer."""
        self._primary = Server(settings=_SYNCHRONOUS)
        self._replica = Server(self._primary, _SYNCHRONOUS)

    def new_database(self) -> str:
        """The address of a new database on the server that takes writes."""
        name = self._primary.new_database().split("/")[3].split("?")[0]
        folders = f"{self._primary.folder},{self._replica.folder}"
        return f"postgresql:///{name}?host={folders}&user=test&target_session_attrs=read-write"

    def stop(self, how: signal.Signals) -> None:
        """End the primary, and promote its replica."""
        self._primary.stop(how)
        self._primary, self._replica = self._replica, self._primary
        self._primary.promote()

    def start(self) -> None:
        """Let the server that was the primary follow the new one; until then, no commit is answered."""
        self._replica.follow(self._primary)

    def break_connections(self) -> None:
        """Break every connection with the primary off."""
        self._primary.break_connections()
