"""The reports of a node: its state for the others, the list of nodes for clients, its part of health and metrics."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from typing import Final

import orjson

from statewright import __version__
from statewright.api.nodes.client import NodeClient
from statewright.api.nodes.links import NotSent, Unanswered
from statewright.api.nodes.messages import DONE
from statewright.api.nodes.peers import Peer
from statewright.api.nodes.serving import HELLO
from statewright.api.status.prometheus import Sample
from statewright.clock import Clock
from statewright.errors import StoreError
from statewright.hosting.nodes.cells import NodeCells
from statewright.hosting.nodes.guards import clock_ahead_ms
from statewright.payload import JsonObject
from statewright.stores.ids import SHARD
from statewright.stores.postgres.cells.membership import Membership

HELLO_SECONDS: Final = 1.0
"""For a node to answer how it is."""
SHOWN: Final = ("executionsInMemory", "clockAheadMs", "version", "newestFormat")
"""Members of that answer which `ListNodes` shows."""


class NodeReports:
    """The reports of a node, which are the `Nodes` of its process. `in_memory` counts the executions that the process
    has in memory.
    """

    def __init__(
        self,
        cells: NodeCells,
        membership: Membership,
        clock: Clock,
        own: Peer,
        client: NodeClient,
        in_memory: Callable[[], int],
    ) -> None:
        self._cells = cells
        self._membership = membership
        self._clock = clock
        self._own = own
        self._client = client
        self._in_memory = in_memory

    async def shown(self) -> list[JsonObject]:
        """See `Nodes.shown`."""
        seen, home = self._cells.seen, self._cells.home()
        if seen is None:
            return []
        cells = Counter(cell.node for cell in seen.cells if cell.left_ms > 0 and cell.shard != SHARD)
        living = sorted((node for node in seen.nodes if node.left_ms > 0), key=lambda one: one.name)
        answers = await asyncio.gather(*(self._answer_of(Peer(node.name, node.address, 0)) for node in living))
        return [
            {
                "name": node.name,
                "address": node.address,
                "isHome": home is not None and home.name == node.name,
                "cells": cells[node.name],
                "isAnswering": answer is not None,
                **{name: answer[name] for name in SHOWN if answer is not None and name in answer},
            }
            for node, answer in zip(living, answers, strict=True)
        ]

    async def _answer_of(self, peer: Peer) -> JsonObject | None:
        """The answer of a node to the question how it is; None if it does not answer."""
        if peer.name == self._own.name:
            return await self.hello()
        try:
            status, body = await self._client.call(peer, HELLO, b"", HELLO_SECONDS)
            found = orjson.loads(body)
        except (NotSent, Unanswered, orjson.JSONDecodeError):
            return None
        return found if status == DONE and isinstance(found, dict) else None

    async def hello(self) -> JsonObject:
        """The answer of this node; without the difference of its clock while the database does not answer."""
        found: JsonObject = {"name": self._own.name, "incarnation": self._membership.incarnation}
        found["executionsInMemory"] = self._in_memory()
        found |= {"version": __version__, "newestFormat": self._membership.newest_format}
        with contextlib.suppress(StoreError):
            found["clockAheadMs"] = await clock_ahead_ms(self._clock, self._membership.database_ms)
        return found

    @property
    def format(self) -> int:
        """See `Nodes.format`."""
        return self._membership.format

    def node_of(self, shard: int) -> str | None:
        """See `Nodes.node_of`."""
        owner = self._cells.owner_of(shard)
        return owner.name if owner is not None else None

    def health(self) -> JsonObject:
        """The members of `/health` about this node: its name, how many cells it has, and which node has the home."""
        home = self._cells.home()
        return {"node": self._own.name, "cells": self._cells.count(), "home": home.name if home is not None else None}

    def samples(self) -> list[Sample]:
        """The figures for `/metrics`."""
        is_home = int(self._cells.is_home())
        return [
            Sample("statewright_node_cells", "gauge", "The cells that this node has.", self._cells.count()),
            Sample("statewright_node_has_home", "gauge", "1 while this node has the home.", is_home),
            Sample("statewright_node_calls_total", "counter", "Calls at other nodes.", self._client.calls),
        ]
