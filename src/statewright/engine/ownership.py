"""Ownership: which shards this process runs, and what happens when another process has taken one.

The lease itself is the store's: `Store.open` takes it (the lock of a data folder proves the old owner dead; the lease
of a database is renewed each second on the real clock), every group of commits is fenced by it, and a store whose lease
is two thirds gone writes nothing more. Here is what the engine makes of that: the shards it holds, and the one way in
which it lets go of a shard, whoever notices the loss first.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from statewright.errors import OwnershipLost
from statewright.stores.store import Store

logger = logging.getLogger(__name__)

SHARD: Final = 0
"""The only shard of an embedded store."""


class Ownership:
    """The shards of one engine. `let_go` drops everything in memory that belongs to a shard.

    `on_lost` is told once a shard has been let go of. With one shard there is nothing left to run: the server ends.
    """

    def __init__(self, store: Store, let_go: Callable[[int], None]) -> None:
        self._store = store
        self._let_go = let_go
        self._held: list[int] = []
        self.on_lost: Callable[[int], None] = _nothing

    @property
    def shards(self) -> Sequence[int]:
        """The shards that are held."""
        return tuple(self._held)

    def hold(self, shard: int) -> None:
        """The shard's lease is ours: what its rows ask for is done here from now on."""
        if shard not in self._held:
            self._held.append(shard)

    def holds(self, shard: int) -> bool:
        """Whether the shard is held."""
        return shard in self._held

    def check(self) -> None:
        """Ask whether the lease still stands; for a process that has nothing to commit.

        Raises: Unavailable while nobody can say.
        """
        try:
            self._store.check_lease()
        except OwnershipLost:
            for shard in self.shards:
                self.lose(shard)

    def lose(self, shard: int) -> None:
        """Another process has the shard: forget it at once; harmless when repeated."""
        if shard not in self._held:
            return
        self._held.remove(shard)
        logger.error("shard %s was taken over by another process; nothing of it is done here any more", shard)
        self._let_go(shard)
        self.on_lost(shard)


def _nothing(_shard: int) -> None:
    """What happens unless somebody asks to be told."""
