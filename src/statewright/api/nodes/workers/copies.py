"""Copies that workers keep of what the home changes: functions, state machines, the limits of these.

A worker reads the rows of the database, and keeps what it has found for a second (`Invoker.known_for_ms`,
`records.RECENT_MS`). All workers drop their copies before the caller that changes something is answered. That second is
what a node that does not answer the home may be late by.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Final

from statewright.api.nodes.apps import Apps
from statewright.api.nodes.workers.asking import AllNodes
from statewright.api.operations import App, Around, Call, Run
from statewright.background import Background
from statewright.payload import Json

DROP: Final = "/_statewright/node/drop-copies"
"""Something has changed: it is to be read again."""
_ASKING: Final[ContextVar[list[asyncio.Task[None]] | None]] = ContextVar("asking", default=None)
"""The calls at nodes that changes of the operation at hand have begun."""


def drop_copies(apps: Apps) -> None:
    """Drop the copies that the worker of this process has."""
    if apps.worker is not None:
        apps.worker.services.functions.invoker.resolve_again()
        apps.worker.engine.catalogue.records.forget()


class DroppedCopies:
    """An `Around` of the home, around another one."""

    is_free = False

    def __init__(self, inner: Around, apps: Apps, nodes: AllNodes) -> None:
        self._inner = inner
        self._apps = apps
        self._nodes = nodes
        self._background = Background("telling nodes of changes")

    def follow(self, home: App) -> None:
        """Have all workers drop their copies after each change at the home."""
        home.services.functions.definitions.subscribe(self._function_changed)
        home.engine.catalogue.records.subscribe(self.changed)

    def _function_changed(self, name: str, *, latest: bool, everything: bool = False) -> None:
        del name, latest, everything
        self.changed()

    def changed(self) -> None:
        """Have all workers drop their copies; the operation at hand is answered once they have."""
        drop_copies(self._apps)
        task = self._background.spawn(self._nodes.ask(DROP))
        asking = _ASKING.get()
        if asking is not None:
            asking.append(task)

    async def __call__(self, call: Call, request: Json, run: Run, /) -> Json:
        """Answer a call. Raises: ApiError, StoreError."""
        asking: list[asyncio.Task[None]] = []
        before = _ASKING.set(asking)
        try:
            return await self._inner(call, request, run)
        finally:
            _ASKING.reset(before)
            if asking:
                await asyncio.wait(asking)

    async def stop(self) -> None:
        """Make no more calls."""
        await self._background.stop()
