"""A store in memory as several nodes share it: who has which cell, and what the fence of each node lets through."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from statewright.errors import OwnershipLost, StoreError
from statewright.stores.ids import shard_of_id
from statewright.stores.memory.store import MemoryStore
from statewright.stores.protocol import Commit, InboxRow, Outcome, TimerRow


class Leases:
    """The owner of each shard by its name; `""` while there is none."""

    def __init__(self) -> None:
        self.owners: dict[int, str] = {}
        self.handed_over: set[tuple[int, str]] = set()
        """Shards that a node has handed over in good order: it writes nothing there any more."""
        self.late: list[str] = []
        """What was written all the same."""

    def give(self, shard: int, node: str) -> None:
        self.owners[shard] = node
        self.handed_over.discard((shard, node))

    def check(self, node: str, ids: Iterable[int], what: str) -> None:
        """Raises: OwnershipLost for ids of a shard that a node does not have."""
        for shard in {shard_of_id(number) for number in ids}:
            if (shard, node) in self.handed_over:
                self.late.append(f"{node} {what} in shard {shard}")
            if self.owners.get(shard) != node:
                raise OwnershipLost(f"{node} does not have shard {shard}")


class NodeStore:
    """A store as one node writes it: executions of its own cells, and, but for the home, nothing else."""

    def __init__(self, real: MemoryStore, leases: Leases, node: str, *, is_home: bool = False) -> None:
        self._real: Final = real
        self.executions: Any = _Executions(real.executions, leases, node)
        self.catalogue: Any = real.catalogue if is_home else _ReadOnly(real.catalogue)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class _Executions:
    def __init__(self, real: Any, leases: Leases, node: str) -> None:
        self._real = real
        self._leases = leases
        self._node = node

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def commit(self, commit: Commit) -> Outcome:
        self._leases.check(self._node, [commit.row.id], "commits")
        outcome: Outcome = await self._real.commit(commit)
        return outcome

    async def put_inbox(self, row: InboxRow) -> None:
        self._leases.check(self._node, [row.id], "leaves inputs")
        await self._real.put_inbox(row)

    async def discard(self, timers: Sequence[TimerRow], outbox: Sequence[int], inbox: Sequence[int]) -> None:
        self._leases.check(self._node, [*(one.execution for one in timers), *outbox, *inbox], "discards")
        await self._real.discard(timers, outbox, inbox)


class _ReadOnly:
    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        if name not in ("get", "list_entries"):
            raise StoreError(f"a worker does not ask the catalogue to {name}")
        return getattr(self._real, name)
