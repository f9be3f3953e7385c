"""A Ray cluster as `ray_bridge.py` knows it: its actors, and their loss.

`ray_cluster.py` has the real one; tests have one without Ray. Uses the standard library alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

BEGUN: Final = "begun"
"""The file in a job's folder that says that its process may have begun."""

Message = dict[str, Any]
Reply = tuple[bytes, bytes, "Message | None"]


class Lost(Exception):
    """Raised when an actor, its node or the cluster is gone; the text says which."""


class Unreachable(Exception):
    """Raised when the cluster cannot be used; the text says why, for the operator."""


class Actor(Protocol):
    """A `ray_host.Host` somewhere in the cluster. Raises (all methods but `kill`): Lost."""

    async def place(self) -> str:
        """Wait until the actor has a place; return its node."""

    async def start(self, message: Message, parcels: list[str]) -> Reply:
        """Start its worker; `parcels` are names that `Cluster.keep` was given."""

    async def call(self, frame: bytes) -> Reply:
        """Run an invocation."""

    async def read(self) -> bytes:
        """The output so far."""

    async def end(self, grace_seconds: float) -> Reply:
        """End its worker."""

    async def ping(self) -> None:
        """Answer."""

    def kill(self) -> None:
        """End the actor at once; harmless when repeated."""


class JobActor(Protocol):
    """A `ray_job_host.JobHost` somewhere in the cluster. Raises (all methods but `kill`): Lost."""

    async def place(self) -> str:
        """Wait until the actor has a place; return its node."""

    async def begin(self, order: Message, parcels: list[str]) -> Message | None:
        """Start its process, once; return its end if it could not be started."""

    async def follow(self, offset: int, seconds: float) -> tuple[bytes, Message | None]:
        """The output of the process from an offset on, and its end once all output was read.

        Answers after some seconds, or earlier if there is something to tell.
        """

    async def stop(self) -> None:
        """Ask the process to end: SIGTERM, and SIGKILL after its grace."""

    async def clear(self) -> None:
        """Delete the files of a process that has ended."""

    def kill(self) -> None:
        """End the actor at once; harmless when repeated."""


class Cluster(Protocol):
    """A Ray cluster."""

    async def connect(self) -> None:
        """Connect. Raises: Unreachable."""

    async def look(self) -> Message:
        """Living nodes, and CPUs of all together: `nodes`, `cpus`. Raises: Unreachable."""

    def lacks(self, needs: Mapping[str, Any]) -> str:
        """Why no living node could ever have a place for a worker; empty if one could."""

    def keep(self, name: str, data: bytes) -> None:
        """Offer a parcel to the nodes."""

    def actor(self, needs: Mapping[str, Any]) -> Actor:
        """Make an actor, which waits for its place. Raises: Unreachable."""

    async def job(self, name: str, needs: Mapping[str, Any], *, is_kept: bool) -> JobActor:
        """Make the actor of a job, which waits for its place. With `is_kept` it outlives this process, and an actor
        that has the name already is returned. Raises: Unreachable."""

    async def find(self, name: str) -> JobActor | None:
        """The actor of a job that is kept, by its name. Raises: Unreachable."""
