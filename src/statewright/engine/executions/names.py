"""From the ARN of an execution to its row.

The store names an execution by its machine's id; an ARN has the machine's name. Which ids a name has had is kept in the
catalogue, written before a machine's first execution, so that executions outlive their machine.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import orjson

from statewright.arn import EXECUTION, EXPRESS, StatesArn, parse_arn
from statewright.errors import ApiError
from statewright.stores.entries import MarkKind, rows_below
from statewright.stores.protocol import EntryRow, Row
from statewright.stores.store import Store

MACHINE_IDS: Final = "executionsOf"
"""Kind of the catalogue's entries: a machine's ARN and the ids it has had, newest last."""
_CACHED: Final = 4_096


WriteEntries = Callable[[Sequence[EntryRow]], Awaitable[bool]]
"""Writes entries of the catalogue as `CatalogueStore.write` does."""


class ExecutionNames:
    """Finds executions by ARN.

    `write` writes the entries that names need, if the store itself must not. `are_shared`: other engines start
    executions of the same store, so that an ARN may have come to mean a later execution.
    """

    def __init__(self, store: Store, write: WriteEntries | None = None, *, are_shared: bool = False) -> None:
        self._store = store
        self._write = write or store.catalogue.write
        self._are_shared = are_shared
        self._noted: set[int] = set()
        self._ids: OrderedDict[str, int] = OrderedDict()

    async def note_machine(self, machine_arn: str, machine_id: int) -> None:
        """Have the catalogue know that this machine has executions."""
        if machine_id in self._noted:
            return
        while True:
            entry = await self._store.catalogue.get(MACHINE_IDS, machine_arn)
            ids: list[int] = orjson.loads(entry.body) if entry is not None else []
            version = entry.version if entry is not None else 0
            if machine_id in ids or await self._write(
                [EntryRow(MACHINE_IDS, machine_arn, "", 0, version + 1, orjson.dumps([*ids, machine_id]))]
            ):
                self._noted.add(machine_id)
                return

    async def note_map_run(self, map_run_arn: str, run_id: int) -> None:
        """Have the catalogue know a Map Run by its ARN."""
        row = MAP_RUN_IDS.row(map_run_arn, parent=labelled(parse_arn(map_run_arn)), sort=run_id)
        # Ids follow time, so this list begins with the oldest run.
        dated = MAP_RUN_DATES.row(map_run_arn, sort=run_id)
        await self._write([row, dated])

    def remember(self, execution_arn: str, execution: int) -> None:
        """An execution that was used just now."""
        ids = self._ids
        ids[execution_arn] = execution
        if len(ids) > _CACHED:
            ids.popitem(last=False)

    async def id_of(self, execution_arn: str) -> int:
        """The id of a STANDARD execution or a Map Run's child.

        Raises: ApiError (`InvalidArn`, `ExecutionDoesNotExist`).
        """
        known = self._ids.get(execution_arn)
        if known is not None and not self._are_shared:
            return known
        return (await self.row_of(execution_arn)).id

    async def row_of(self, execution_arn: str) -> Row:
        """The row of an execution. Raises: see `id_of`."""
        arn = parse_arn(execution_arn, EXECUTION)
        known = self._ids.get(execution_arn)
        row = await self._store.executions.row(known) if known is not None else None
        if row is None or (self._are_shared and row.status != "RUNNING"):
            row = await self._find(arn)
        if row is None:
            raise does_not_exist(execution_arn)
        self.remember(execution_arn, row.id)
        return row

    async def express_row_of(self, execution_arn: str) -> Row:
        """The row of an asynchronous EXPRESS execution.

        Raises: ApiError (`InvalidArn`, `ExecutionDoesNotExist`).
        """
        arn = parse_arn(execution_arn, EXPRESS)
        row = await self._by_name(arn.machine, f"{arn.rest}:{arn.run}")
        if row is None:
            raise does_not_exist(execution_arn)
        return row

    async def _find(self, arn: StatesArn) -> Row | None:
        if arn.label is not None:
            return await self._find_child(arn)
        return await self._by_name(arn.machine, arn.rest or "")

    async def _by_name(self, machine_arn: str, name: str) -> Row | None:
        entry = await self._store.catalogue.get(MACHINE_IDS, machine_arn)
        ids: list[int] = orjson.loads(entry.body) if entry is not None else []
        for machine_id in reversed(ids):
            row = await self._store.executions.find(machine_id, name)
            if row is not None:
                return row
        return None

    async def _find_child(self, arn: StatesArn) -> Row | None:
        """Child executions are named below their run; a label may have had several."""
        async for run in rows_below(self._store.catalogue, MAP_RUN_IDS.name, labelled(arn), newest_first=True):
            row = await self._store.executions.find(run.sort, arn.rest or "")
            if row is not None:
                return row
        return None


MAP_RUN_IDS: Final = MarkKind("mapRun")
"""Kind of the catalogue's entries for Map Runs: key is the ARN, parent the labelled machine, sort the run's id."""
MAP_RUN_DATES: Final = MarkKind("mapRunDate")
"""Kind of the catalogue's entries that list Map Runs by age: key is the ARN, sort the run's id."""
_NOTES: Final = frozenset({MACHINE_IDS, MAP_RUN_IDS.name, MAP_RUN_DATES.name})


def are_notes(entries: Sequence[EntryRow]) -> bool:
    """True if entries are of the kinds that `ExecutionNames` writes."""
    return all(entry.kind in _NOTES for entry in entries)


def labelled(arn: StatesArn) -> str:
    """The labelled machine of an ARN, region and account included."""
    return f"{arn.machine}/{arn.label}"


def does_not_exist(execution_arn: str) -> ApiError:
    """The service's answer to an ARN without execution (observed)."""
    return ApiError("ExecutionDoesNotExist", f"Execution Does Not Exist: '{execution_arn}'")
