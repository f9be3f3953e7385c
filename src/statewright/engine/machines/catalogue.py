"""The state that all parts of the state machines share: the entries of one store, the programs, pending deletions.

Owns finding a machine by its ARN, and removing one in DELETING once its last execution has ended. The operations on
machines are in `machines.py`; versions, aliases, tags and activities have modules of their own. All of them take this.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Final

import orjson

from statewright.arn import MACHINE, StatesArn, parse_arn
from statewright.clock import Clock
from statewright.config import Config
from statewright.engine.machines import records
from statewright.engine.machines.programs import Programs, Refine
from statewright.engine.machines.records import Alias, Machine, Records, Version, does_not_exist, is_deleting
from statewright.errors import ApiError, Conflict
from statewright.stores.entries import rows_below
from statewright.stores.protocol import EntryRow
from statewright.stores.store import Store

_ROWS: Final = 100
OPEN: Final = "open"
GONE: Final = "gone"
"""Parents of the notes on machines that are in DELETING, and on those that are gone but for their revisions."""


class MachineCatalogue:
    """The machines and activities of one store, as they are written down. A worker's (`is_worker`) writes nothing."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        config: Config | None = None,
        refine: Refine | None = None,
        *,
        is_worker: bool = False,
    ) -> None:
        self.store = store
        self.is_worker = is_worker
        self.clock = clock
        self.config = config or Config()
        self.records = Records(store.catalogue, clock.now_ms)
        self.programs = Programs(self.records, clock, refine)
        self.deleting: set[int] = set()
        """Ids of the machines in DELETING: their executions end at the next transition."""

    async def recover(self) -> None:
        """Learn, after a start, which machines are in DELETING; bring old rows into today's order."""
        for kind in (records.MACHINE.name, records.ACTIVITY.name):
            await self._order_by_name(kind)
        await self.look_for_deletions()

    async def look_for_deletions(self) -> None:
        """Learn which machines are in DELETING by now, and forget the others. A worker repeats this, because the home
        deletes machines. Raises: StoreError.
        """
        found = {note.sort async for note in rows_below(self.store.catalogue, records.DELETING, OPEN)}
        self.deleting.intersection_update(found)
        self.deleting.update(found)

    async def _order_by_name(self, kind: str) -> None:
        """Give the rows that an earlier version of Statewright ordered by creation their place by name."""
        while True:
            last = await self.store.catalogue.list_entries(kind, "", after=None, limit=_ROWS, newest_first=True)
            old = [replace(row, sort=0, version=row.version + 1) for row in last if row.sort]
            if not old:
                return
            await self.store.catalogue.write(old, [])

    async def load(self, arn: str) -> Machine | None:
        """The machine of an unqualified ARN. One in DELETING whose last execution has ended goes away here."""
        machine = await self.records.get(Machine, arn)
        while machine is not None and machine.deleting and not await self.open_executions(machine):
            if self.is_worker:
                return None
            await self.remove(machine)
            machine = await self.records.get(Machine, arn)
        return machine

    async def existing(self, arn: str, *, shown: str | None = None) -> Machine:
        """The machine of an unqualified ARN. Raises: ApiError (`StateMachineDoesNotExist`), naming `shown`."""
        machine = await self.load(arn)
        if machine is None:
            raise does_not_exist(shown or arn)
        return machine

    async def changeable(self, arn: str) -> Machine:
        """A machine that may be changed, by its own ARN: an ARN with more to it names none (observed).

        Raises: ApiError (`InvalidArn`, `StateMachineDoesNotExist`, `StateMachineDeleting`, `ValidationException`).
        """
        parsed = machine_of(arn)
        if parsed.rest is not None:
            raise does_not_exist(arn)
        machine = await self.existing(arn)
        if machine.deleting:
            raise is_deleting(arn)
        return machine

    async def open_executions(self, machine: Machine) -> int:
        """How many executions of a machine are open."""
        return (await self.store.executions.count_by_status(machine.id)).get("RUNNING", 0)

    async def entries_below(self, machine: Machine) -> list[tuple[str, str]]:
        """Kinds and keys of a machine's versions, aliases and tags."""
        parent = str(machine.id)
        versions = [(records.VERSION.name, one.arn) for one in await self.records.all(Version, parent)]
        aliases = [(records.ALIAS.name, one.arn) for one in await self.records.all(Alias, parent)]
        return [*versions, *aliases, (records.TAGS.name, machine.arn)]

    async def remove(self, machine: Machine) -> None:
        """Delete a machine's entries; its revisions stay for the executions that ran them."""
        # Only one caller moves the note on. A late second one would take away a new machine of the same name.
        gone = [(records.MACHINE.name, machine.arn), *await self.entries_below(machine)]
        with suppress(Conflict):
            await self.records.write(delete=gone, more=[deletion_note(machine, GONE, self.clock.now_ms())])
        self.deleting.discard(machine.id)


def deletion_note(machine: Machine, progress: str, now_ms: int) -> EntryRow:
    """The row that says that a machine is being deleted, or that it is gone and since when."""
    version = 1 if progress == OPEN else 2
    return EntryRow(records.DELETING, str(machine.id), progress, machine.id, version, orjson.dumps(now_ms))


def machine_of(arn: str) -> StatesArn:
    """The ARN of a machine, version or alias, taken apart.

    Raises: ApiError (`InvalidArn`; `ValidationException` for the labelled ARN of a Map's child machine).
    """
    parsed = parse_arn(arn, MACHINE)
    if parsed.label is not None:
        raise ApiError("ValidationException", f"API does not support labeled ARNs: {arn}")
    return parsed
