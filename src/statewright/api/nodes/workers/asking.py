"""One question to all other nodes at once, for an answer that waits for theirs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

from statewright.api.nodes.client import NodeClient
from statewright.api.nodes.links import NotSent, Unanswered
from statewright.api.nodes.messages import DONE
from statewright.api.nodes.peers import Peer, time_limit
from statewright.clock import Clock

ASK_SECONDS: Final = 1.0
"""Longest wait for a node: a call at the home waits so long for one that is frozen, until its lease ends."""

log = logging.getLogger("statewright.nodes")


class AllNodes:
    """Asks all nodes but this one. `peers` returns those that live."""

    def __init__(self, peers: Callable[[], Iterable[Peer]], client: NodeClient, clock: Clock) -> None:
        self._peers = peers
        self._client = client
        self._clock = clock

    async def ask(self, path: str) -> None:
        """Make a call without a body everywhere; returns once each node has answered it, or `ASK_SECONDS` are over."""
        await asyncio.gather(*(self._ask(peer, path) for peer in self._peers()))

    async def _ask(self, peer: Peer, path: str) -> None:
        try:
            # With the time that a connection takes.
            with time_limit(self._clock, round(ASK_SECONDS * 1000)):
                status, _ = await self._client.call(peer, path, b"", ASK_SECONDS)
        except (NotSent, Unanswered, TimeoutError) as problem:
            log.debug("%s does not answer %s: %s", peer.name, path, problem or "it took too long")
            return
        if status != DONE:
            log.warning("%s cannot answer %s: it says %d", peer.name, path, status)
