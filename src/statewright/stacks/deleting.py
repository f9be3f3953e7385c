"""Deletion of a stack's resources: users before what they use, each in its row before it begins.

Owns what is kept (`DeletionPolicy`, `UpdateReplacePolicy`), and which deletions fail. When anything is deleted is
`running.py`'s.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from statewright.clock import Clock
from statewright.stacks.journal import Journal, Live, Said
from statewright.stacks.records import ResourceEntry
from statewright.stacks.resources import ResourceFailed, Resources
from statewright.stores import fail_points

_SKIPPING: Final = ("Retain", "RetainExceptOnCreate", "Snapshot")


class Deleting:
    """Deletes resources of one stack."""

    def __init__(self, live: Live, journal: Journal, resources: Resources, clock: Clock) -> None:
        self._live = live
        self._journal = journal
        self._resources = resources
        self._clock = clock

    async def old(self) -> None:
        """Delete what was replaced."""
        for row in sorted(self._live.rows.values(), key=lambda one: -one.number):
            for old in row.old:
                current = self._live.rows[row.id]
                rest = [one for one in current.old if one != old]
                said = Said("DELETE_IN_PROGRESS", "", row.id, old.ref, old.type, old.resolved)
                if old.replacing in _SKIPPING:
                    await self._journal.save(
                        self._live, rows=[replace(current, old=rest)], events=[replace(said, status="DELETE_SKIPPED")]
                    )
                    continue
                if current.deleting != old.ref:
                    current = replace(current, deleting=old.ref)
                    await self._journal.save(self._live, rows=[current], events=[said])
                    current = self._live.rows[row.id]
                fail_points.passed(fail_points.BEFORE_RESOURCE)
                try:
                    await self._resources.delete(self._live.stack, row.id, old)
                    end = replace(said, status="DELETE_COMPLETE")
                except ResourceFailed as problem:
                    # An update does not fail for what it leaves behind.
                    end = replace(said, status="DELETE_FAILED", reason=str(problem))
                fail_points.passed(fail_points.AFTER_RESOURCE)
                await self._journal.save(self._live, rows=[replace(current, old=rest, deleting="")], events=[end])

    async def rows(
        self, rows: Iterable[ResourceEntry], *, retain: Iterable[str] = (), forgets: bool = False,
        is_rollback: bool = False,
    ) -> list[str]:  # fmt: skip
        """Delete resources, users before what they use; returns the ids that stay. `forgets` drops the rows."""
        failed: list[str] = []
        kept = set(retain)
        for row in _users_first(rows):
            now = row.now
            if row.status in ("DELETE_COMPLETE", "DELETE_SKIPPED") or now is None:
                continue
            said = Said("DELETE_IN_PROGRESS", "", row.id, now.ref, now.type, now.resolved)
            policy = ("Retain", "Snapshot") if is_rollback else _SKIPPING
            if row.id in kept or (now.deletion in policy and now.ref):
                await self._gone(row, replace(said, status="DELETE_SKIPPED"), forgets)
                continue
            if not now.ref:
                # A creation that failed before it made anything, or that ended before its row said what it made.
                now = now if row.status == "CREATE_FAILED" else await self._resources.found(row.id, now)
                if not now.ref:
                    await self._gone(row, None, forgets)
                    continue
                said = replace(said, physical=now.ref)
            if row.status != "DELETE_IN_PROGRESS":
                begun = replace(row, status="DELETE_IN_PROGRESS", reason="", updated_ms=self._clock.now_ms())
                await self._journal.save(self._live, rows=[begun], events=[said])
            fail_points.passed(fail_points.BEFORE_RESOURCE)
            try:
                await self._resources.delete(self._live.stack, row.id, now)
            except ResourceFailed as problem:
                failed.append(row.id)
                current = self._live.rows[row.id]
                end = replace(current, status="DELETE_FAILED", reason=str(problem), updated_ms=self._clock.now_ms())
                await self._journal.save(
                    self._live, rows=[end], events=[replace(said, status="DELETE_FAILED", reason=str(problem))]
                )
                continue
            fail_points.passed(fail_points.AFTER_RESOURCE)
            await self._gone(self._live.rows[row.id], replace(said, status="DELETE_COMPLETE"), forgets)
        return failed

    async def _gone(self, row: ResourceEntry, said: Said | None, forgets: bool) -> None:
        events = [said] if said is not None else []
        if forgets:
            await self._journal.save(self._live, delete=[row], events=events)
            return
        status = said.status if said is not None else "DELETE_COMPLETE"
        ended = replace(row, status=status, reason="", updated_ms=self._clock.now_ms())
        await self._journal.save(self._live, rows=[ended], events=events)


def _users_first(rows: Iterable[ResourceEntry]) -> list[ResourceEntry]:
    """Resources so that each comes before those that it needs; otherwise the last made first."""
    by_id = {one.id: one for one in rows}
    ordered: list[ResourceEntry] = []
    done: set[str] = set()
    for first in sorted(by_id.values(), key=lambda one: one.number):
        pending = [first]
        while pending:
            one = pending[-1]
            needs = one.now.needs if one.now is not None else ()
            left = [by_id[id_] for id_ in needs if id_ in by_id and id_ not in done and by_id[id_] not in pending]
            if left and one.id not in done:
                pending.extend(left)
                continue
            pending.pop()
            if one.id not in done:
                done.add(one.id)
                ordered.append(one)
    return ordered[::-1]
