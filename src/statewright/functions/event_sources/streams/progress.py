"""The progress of one mapping through its stream: its position, stored before anything depends on it.

Owns the row. It outlives the pollers of a mapping, which are replaced when the mapping is changed.
"""

from __future__ import annotations

import asyncio

from statewright.errors import Conflict
from statewright.functions.event_sources.streams.position import POSITION, Position
from statewright.stores.entries import Entries, Name


class Progress:
    """The position of a mapping."""

    def __init__(self, entries: Entries[Position], position: Position) -> None:
        self._entries = entries
        self.position = position
        self.turn = asyncio.Lock()
        """Held by the poller that moves the position: its successor waits until it has ended."""
        self.is_gone = False
        """True once the mapping was deleted, and the row with it."""

    @property
    def row(self) -> Name:
        """The row by which it is deleted."""
        return POSITION.name_of(self.position)

    async def move(self, position: Position) -> None:
        """Store a new position. Raises: Unavailable."""
        if self.is_gone:
            return
        try:
            self.position = await self._entries.write(position)
        except Conflict:
            # A write whose answer was lost is in the store: its position is an earlier one of this process.
            found = await self._entries.get(position.uuid)
            if found is not None:
                self.position = found
