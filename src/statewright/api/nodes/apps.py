"""The applications of a node's process: the worker's, and the home's while the process has it.

Also the calls whose place is decided: the routers run these where they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from statewright.api.nodes.peers import Directory
from statewright.api.operations import App, Call, perform
from statewright.payload import Json
from statewright.stores.ids import SHARD


@dataclass(slots=True)
class Apps:
    """The applications. `worker` is set once, before the first call; `home` while this process has the home."""

    worker: App | None = None
    home: App | None = None
    _decided: set[int] = field(default_factory=set)

    def at(self, shard: int, directory: Directory) -> App | None:
        """The application that has a cell; `None` if another process has it."""
        if shard == SHARD:
            return self.at_home(directory)
        return self.worker if directory.has(shard) else None

    def at_home(self, directory: Directory) -> App | None:
        """The application of the home; `None` if another process has it."""
        return self.home if directory.is_home() else None

    async def perform(self, app: App, call: Call, request: Json) -> Json:
        """Run a call at this application and nowhere else. Raises: as `operations.perform`."""
        # By identity: calls of one task have one request id.
        key = id(call)
        self._decided.add(key)
        try:
            return await perform(app, call, request)
        finally:
            self._decided.discard(key)

    def is_decided(self, call: Call) -> bool:
        """True if a call runs where it is: `perform` has brought it there."""
        return id(call) in self._decided
