"""Cells that come to an engine and leave it while it runs: those of a worker.

1. A cell is found by the ids of its executions once its rows are read, and gets new ones once all of it is recovered.
2. One that is handed over gets no new executions at once; then it accepts nothing, writes what is under way, and ends.
   Afterwards nothing of it writes any more, and its lease may be released.
3. One that is lost is dropped: nothing is written. What it knew is in the store, for the next owner.
4. Callers who wait for a cell that leaves are answered `Unavailable`; what was acknowledged is in the store.

Who may have which cell, and the lease that proves it, is for the owner of the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from statewright.engine.cells import Cell, Cells
from statewright.engine.metering import ExecutionMeter
from statewright.errors import OwnershipLost, StoreError, Unavailable

IDS_AHEAD_MS: Final = 5_000
"""The ids of a cell that has come begin so far ahead of their clock (`EngineSettings.ids_ms`), which is the same for
all owners: the store does not have all ids that the last one made any more. A worker knows that clock as of an answer,
which may have been long under way, and the clock of a replica that has been promoted may be behind.
"""


class Moves:
    """Adds cells to an engine's `cells`, and takes them away. `make` makes the cell of a shard.

    `hot` is how many idle executions of all cells together stay in memory.
    """

    def __init__(self, cells: Cells, make: Callable[[int], Cell], hot: int, meter: ExecutionMeter | None) -> None:
        self._cells = cells
        self._make = make
        self._hot = hot
        self._meter = meter
        self._coming: dict[int, Cell] = {}
        self._going: set[int] = set()
        self._stopped = False

    async def add(self, shard: int) -> None:
        """Own a shard whose lease this process holds, and go on with what the store has of it.

        Raises: StoreError for one that is here; Unavailable while the store does not answer or the engine stops;
            OwnershipLost when it was lost or dropped meanwhile. Then nothing of it is here.
        """
        if self._stopped:
            raise Unavailable("the engine is stopping")
        if shard in self._coming or self._cells.of_shard(shard) is not None:
            raise StoreError(f"this engine has the cell of shard {shard} already")
        cell = self._coming[shard] = self._make(shard)
        try:
            found = await cell.take()
            if cell.open is not None:
                cell.open.count = await cell.shard.store.executions.count_open(shard)
            self._check(cell)
            cell.shard.ids.pass_now(IDS_AHEAD_MS)
            if self._meter is not None and cell.open is not None:
                self._meter.came(cell.open.count)
            self._cells.hold(cell)
            self._share_memory()
            await cell.start(found)
            self._check(cell)
        except BaseException:
            self._end(cell)
            raise
        finally:
            self._coming.pop(shard, None)
        self._cells.join(cell)

    def _check(self, cell: Cell) -> None:
        if not cell.shard.is_held:
            raise OwnershipLost(f"the cell of shard {cell.shard.number} was lost while it was taken")

    async def hand_over(self, shard: int) -> bool:
        """End a cell in good order; False if it was lost before that was done. Its lease may be released then.

        It takes as long as the store does; one that is cut short is dropped. Raises: StoreError for one that is not
        here, or is on its way.
        """
        cell = self._cells.of_shard(shard)
        if cell is None or shard in self._coming or shard in self._going:
            raise StoreError(f"this engine does not have the cell of shard {shard}, or not all of it")
        self._going.add(shard)
        self._cells.retire(cell)
        try:
            await cell.close()
            return cell.shard.is_held
        finally:
            self._going.discard(shard)
            self._end(cell)

    def drop(self, shard: int) -> bool:
        """Forget a cell that is lost, at once; False if it is not here."""
        cell = self._cells.of_shard(shard) or self._coming.get(shard)
        if cell is None:
            return False
        self._end(cell)
        return True

    def stop(self) -> None:
        """Let no more cells come."""
        self._stopped = True
        for cell in [one for one in self._coming.values() if self._cells.of_shard(one.shard.number) is None]:
            self._end(cell)

    def _end(self, cell: Cell) -> None:
        """Forget a cell; harmless when repeated."""
        cell.drop()
        cell.shard.background.end()
        if self._cells.of_shard(cell.shard.number) is cell:
            if self._meter is not None and cell.open is not None:
                self._meter.left(cell.shard.number, cell.open.count)
            self._cells.remove(cell)
            self._share_memory()

    def _share_memory(self) -> None:
        for cell in self._cells:
            cell.runner.keep_at_most(self._hot // len(self._cells))
