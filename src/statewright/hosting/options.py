"""The options of a server, and its report once it serves."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from statewright.api.http.connections import ConnectionTimeouts
from statewright.assembly import NO_HOOKS, Hooks, System
from statewright.config import DEFAULT_PORT, Config
from statewright.console.console import PATH as CONSOLE_PATH
from statewright.console.project import ProjectBoard

DATA_FOLDER: Final = ".statewright"
STORES: Final = ("sqlite", "memory")
NODE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """The options of a server that is a node of a cluster: its name, and the address at which the other nodes reach it,
    that of its port unless given. `cells` are those of a cluster that this node begins.
    """

    name: str
    advertise: str | None = None
    cells: int = 32


class CannotServe(Exception):
    """The server cannot start, or cannot go on; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Options of a server. `data` is the folder for durable files, used with the store `sqlite` only.

    `store` is one of `STORES`, or the address of a PostgreSQL database. `origins` are those of web pages that may call,
    beside those of the settings.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    data: Path = Path(DATA_FOLDER)
    store: str = "sqlite"
    config: Config = field(default_factory=Config)
    origins: frozenset[str] = frozenset()
    timeouts: ConnectionTimeouts = field(default_factory=ConnectionTimeouts)
    bucket: str | None = None
    """The address of the S3-compatible bucket that has the large bytes of a store in PostgreSQL."""
    standby: bool = False
    """Wait while another server has the store in PostgreSQL, take over when its lease ends, and wait again when the
    lease is lost."""
    node: NodeOptions | None = None
    """Be one of several servers on one PostgreSQL."""
    hooks: Hooks = NO_HOOKS
    """Test cases of a mock file stand here; otherwise nothing."""
    project: ProjectBoard | None = None
    """The problems that `statewright dev` finds in its folder, for the console."""
    prepare: Callable[[System], Awaitable[None]] | None = None
    """Called once the system is assembled, before it starts. Raises: CannotServe, StoreError."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A server that has started: its address, the place of its state, and its process."""

    endpoint: str
    place: str
    pid: int
    isolation: str = "none"
    """Level of isolation of handlers."""
    node: str | None = None
    """Its name, if it is a node."""

    @property
    def lines(self) -> tuple[str, str]:
        """The lines that `serve` and `dev` print: the ready line, and the address of the console."""
        return self.line, f"The console is at {self.console}"

    @property
    def console(self) -> str:
        """The address of the console."""
        return self.endpoint + CONSOLE_PATH

    @property
    def line(self) -> str:
        """The ready line on standard output, which people and scripts read."""
        node = f"node: {self.node}, " if self.node is not None else ""
        facts = f"{node}data: {self.place}, handlers: {self.isolation}, pid {self.pid}"
        return f"Statewright is ready on {self.endpoint} ({facts})"
