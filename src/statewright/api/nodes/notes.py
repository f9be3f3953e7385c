"""Entries of the catalogue that a worker needs to have written: by the home, in its process or at another node."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Final

import orjson

from statewright.api.nodes.apps import Apps
from statewright.api.nodes.client import NodeClient
from statewright.api.nodes.home_calls import ask_home
from statewright.api.nodes.peers import Directory
from statewright.errors import Unreadable
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
        """Write entries: all of them, or none if one has changed meanwhile.

        Raises: Unavailable, after which they may be there; StoreError.
        """
        home = self._apps.at_home(self._directory)
        if home is not None:
            return await home.engine.note(entries)
        answer = await ask_home(self._directory, self._client, NOTE, encode_entries(entries), _SECONDS)
        return bool(orjson.loads(answer))
