"""Which executions run at the home: those that need a memory that all cells share.

These are executions of a machine with a limit, and of a definition that names an activity or one of Statewright's own
tasks (`statewright:acquire`, `release`, `poll`), also inside a Map. The compiler notes what a definition names, which
never changes. Limits are tags, and change.
"""

from __future__ import annotations

import asyncio

from statewright.clock import Clock
from statewright.engine.machines.machines import Target
from statewright.engine.machines.records import LIMITED, RECENT_MS, Records, TagSet


class Placement:
    """Tells which starts belong to the home. Knows the limits of machines as `Records.recent` does."""

    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._limited: frozenset[str] = frozenset()
        self._read_ms = -RECENT_MS
        self._read_changes = 0
        self._reading = asyncio.Lock()

    async def needs_home(self, target: Target) -> bool:
        """True if executions of a target must run at the home. Raises: StoreError."""
        program = target.program
        if program.has_own_tasks:
            return True
        # EXPRESS executions have no limits, and their tasks on activities fail.
        return target.type == "STANDARD" and (bool(program.activities) or await self._is_limited(target.machine_arn))

    async def _is_limited(self, machine_arn: str) -> bool:
        if self._is_old():
            # Of many starts one asks.
            async with self._reading:
                if self._is_old():
                    now_ms, changes = self._clock.now_ms(), self._records.changes
                    self._limited = frozenset([kept.arn for kept in await self._records.all(TagSet, LIMITED)])
                    self._read_ms, self._read_changes = now_ms, changes
        return machine_arn in self._limited

    def _is_old(self) -> bool:
        return self._records.changes != self._read_changes or self._clock.now_ms() - self._read_ms >= RECENT_MS
