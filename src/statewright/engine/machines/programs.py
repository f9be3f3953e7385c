"""Programs: the compiled definitions of revisions, kept while they are used.

Owns which of them stay in memory. A revision never changes, so neither does its program.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from statewright.asl.program import Program
from statewright.clock import Clock
from statewright.engine.executions.logs import LogSettings
from statewright.engine.machines.definitions import compiled
from statewright.engine.machines.long_definitions import worked_on
from statewright.engine.machines.records import Activity, Records, Revision, revision_key
from statewright.engine.retrying import Retry

PROGRAMS_KEPT: Final = 1_000
"""Compiled revisions held in memory; the one longest unused goes first."""


Refine = Callable[[int, Program], Program]
"""Makes the program that runs of the one that was compiled, and the machine's id: a test counts which states run."""


class Programs:
    """The revisions of one catalogue with their programs."""

    def __init__(self, records: Records, clock: Clock, refine: Refine | None = None) -> None:
        self._records = records
        self._clock = clock
        self._refine = refine
        self._kept: OrderedDict[tuple[int, str], tuple[Revision, Program]] = OrderedDict()

    async def prepared(self, machine_id: int, revision_id: str) -> tuple[Revision, Program]:
        """A revision, also of a machine that is gone, and its program, compiled once. Raises: KeyError."""
        key = (machine_id, revision_id)
        found = self._kept.get(key)
        if found is None:
            revision = await self._records.get(Revision, revision_key(machine_id, revision_id))
            if revision is None:
                raise KeyError(f"machine {machine_id} has no revision {revision_id}")
            text = revision.definition
            program = await worked_on(self._clock, text, compiled, text)
            if self._refine is not None:
                program = self._refine(machine_id, program)
            # Another caller may have been as quick: all of them share one program.
            found = self._kept.setdefault(key, (revision, program))
            if len(self._kept) > PROGRAMS_KEPT:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
        return found

    async def program_of(self, machine_id: int, revision_id: str) -> Program:
        """The program of a revision. Raises: KeyError."""
        return (await self.prepared(machine_id, revision_id))[1]

    async def revision_of(self, machine_id: int, revision_id: str) -> Revision:
        """A revision, also of a machine that is gone. Raises: KeyError."""
        return (await self.prepared(machine_id, revision_id))[0]

    async def definition_of(self, machine_id: int, revision_id: str) -> str:
        """The text of a revision. Raises: KeyError."""
        return (await self.prepared(machine_id, revision_id))[0].definition

    async def gone_activities(self, program: Program) -> frozenset[str]:
        """The activities that a program names and that do not exist."""
        return frozenset([arn for arn in program.activities if await self._records.get(Activity, arn) is None])

    def log_settings(self, machine_id: int, revision_id: str) -> LogSettings | None:
        """The logging settings of a revision's executions; for one whose program is in use."""
        found = self._kept.get((machine_id, revision_id))
        return LogSettings.of(found[0].logging) if found is not None else None


class RetryingPrograms:
    """Programs, however long the store takes to give them: for work that no caller waits for."""

    def __init__(self, programs: Programs, retry: Retry) -> None:
        self._programs = programs
        self._retry = retry

    async def program_of(self, machine_id: int, revision_id: str) -> Program:
        """The program of a revision. Raises: KeyError."""
        return await self._retry(self._programs.program_of, machine_id, revision_id)

    async def definition_of(self, machine_id: int, revision_id: str) -> str:
        """The text of a revision. Raises: KeyError."""
        return await self._retry(self._programs.definition_of, machine_id, revision_id)

    async def gone_activities(self, program: Program) -> frozenset[str]:
        """The activities that a program names and that do not exist."""
        return await self._retry(self._programs.gone_activities, program)
