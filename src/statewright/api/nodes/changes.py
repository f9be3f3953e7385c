"""Changes of status of a worker's executions, on their way to the home, whose event buses and tasks follow them.

Sent in batches, in order, best effort as inside one process: what a process has not sent when it dies is not sent.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from dataclasses import asdict
from typing import Final

import orjson

from statewright.api.nodes.apps import Apps
from statewright.api.nodes.client import NodeClient
from statewright.api.nodes.home_calls import tell_home
from statewright.api.nodes.peers import LOOK_SECONDS, Directory
from statewright.background import Background
from statewright.engine.executions.views import ExecutionView, StatusChange
from statewright.errors import Unreadable

CHANGES: Final = "/_statewright/node/changes"
MOST_HELD: Final = 10_000
"""Changes that wait for a home; further ones push out the oldest."""
BATCH: Final = 200
_SECONDS: Final = 10.0


def encode_changes(changes: Iterable[StatusChange]) -> bytes:
    """The body of a message."""
    return orjson.dumps([[one.status, one.stopped_ms, asdict(one.view)] for one in changes])


def decode_changes(body: bytes) -> list[StatusChange]:
    """Read the body of a message. Raises: Unreadable."""
    try:
        return [
            _change(status, stopped_ms, ExecutionView(**view)) for status, stopped_ms, view in orjson.loads(body)
        ]  # fmt: skip
    except (TypeError, ValueError) as problem:
        raise Unreadable(f"it has no changes of status: {problem!r}") from None


def _change(status: str, stopped_ms: int | None, view: ExecutionView) -> StatusChange:
    return StatusChange(view.execution_arn, status, stopped_ms, lambda: view)


class ChangeFeed:
    """Takes the changes of a worker (`status_changed` is a subscriber of its engine) to the home."""

    def __init__(self, apps: Apps, directory: Directory, client: NodeClient) -> None:
        self._apps = apps
        self._directory = directory
        self._client = client
        self._held: deque[StatusChange] = deque(maxlen=MOST_HELD)
        self._sending: asyncio.Task[None] | None = None
        self._background = Background("passing changes of status on")

    def status_changed(self, change: StatusChange) -> None:
        """Take a change."""
        home = self._apps.at_home(self._directory)
        if home is not None and not self._held:
            home.engine.status_changes.publish(change)
            return
        self._held.append(change)
        if self._sending is None or self._sending.done():
            self._sending = self._background.spawn(self._send())

    async def _send(self) -> None:
        while self._held:
            batch = [self._held.popleft() for _ in range(min(BATCH, len(self._held)))]
            if not await self._sent(batch):
                self._held.extendleft(reversed(batch[: MOST_HELD - len(self._held)]))
                await self._directory.wait_for_change(LOOK_SECONDS)

    async def _sent(self, batch: list[StatusChange]) -> bool:
        """True if the home has a batch, or may have it."""
        home = self._apps.at_home(self._directory)
        if home is not None:
            for change in batch:
                home.engine.status_changes.publish(change)
            return True
        # An event twice is worse than one that is missing: tasks look for themselves.
        return await tell_home(self._directory, self._client, CHANGES, encode_changes(batch), _SECONDS)

    async def stop(self) -> None:
        """Send nothing more."""
        await self._background.stop()
