"""Entries of the catalogue that a worker needs to have written: by the home, in its process or at another node."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Final

import orjson

from statewright.api.nodes.apps import Apps
from statewright.api.nodes.client import NodeClient
from statewright.api.nodes.links import NotSent, Unanswered
from statewright.api.nodes.messages import DONE, MOVED
from statewright.api.nodes.peers import NO_OWNER, Directory
from statewright.errors import Unavailable, Unreadable
from statewright.stores.protocol import EntryRow

NOTE: Final = "/_statewright/node/note"
_SECONDS: Final = 10.0


def encode_entries(entries: Sequence[EntryRow]) -> bytes:
    """The body of a message."""
    return orjson.dumps(
        [[one.kind, one.key, one.parent, one.sort, one.version, base64.b64encode(one.body).decode()] for one in entries]
    )


def decode_entries(body: bytes) -> list[EntryRow]:
    """Read the body of a message. Raises: Unreadable."""
    try:
        return [
            EntryRow(kind, key, parent, sort, version, base64.b64decode(text))
            for kind, key, parent, sort, version, text in orjson.loads(body)
        ]
    except (TypeError, ValueError) as problem:
        raise Unreadable(f"it has no entries: {problem!r}") from None


class NotesAtHome:
    """Has the home write entries; see `EngineSettings.note`."""

    def __init__(self, apps: Apps, directory: Directory, client: NodeClient) -> None:
        self._apps = apps
        self._directory = directory
        self._client = client

    async def __call__(self, entries: Sequence[EntryRow]) -> bool:
        """Write entries: all of them, or none if one has changed meanwhile. Raises: Unavailable, StoreError."""
        home = self._apps.at_home(self._directory)
        if home is not None:
            return await home.engine.note(entries)
        peer = self._directory.home()
        if peer is None:
            raise Unavailable(NO_OWNER)
        try:
            status, answer = await self._client.call(peer, NOTE, encode_entries(entries), _SECONDS)
        except (NotSent, Unanswered) as problem:
            # Writing them again does no harm: the second time they are there.
            raise Unavailable(f"the home does not answer: {problem}") from None
        if status == MOVED:
            await self._directory.refresh()
        if status != DONE:
            raise Unavailable(f"{peer.name} cannot write entries now")
        return bool(orjson.loads(answer))
