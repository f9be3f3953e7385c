"""The queues of an SQL store: each call is a task for its writer. What a group of them becomes is in `queue_plan`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from statewright.stores.completion import Completion
from statewright.stores.ids import first_id, shard_of_id
from statewright.stores.queue_plan import (
    ClaimTask,
    DropTask,
    HideTask,
    MoveTask,
    ProofTask,
    QueueSql,
    QueueTask,
    QueueWork,
    SendTask,
    drop_gone,
)
from statewright.stores.queue_protocol import (
    Claim,
    Claimed,
    Gone,
    GroupChange,
    Held,
    LoadedQueue,
    MessageRow,
    Move,
    Note,
    Once,
)
from statewright.stores.statements import SqlRow

_FORGET_STEP: Final = 5_000
_NEVER: Final = 2**62
"""Later than any instant."""


class SqlQueues:
    """See `QueueStore`. Reads that must see every call before them go through the writer."""

    def __init__(self, submit: Callable[[QueueTask], Awaitable[Any]]) -> None:
        self._submit = submit

    async def send(
        self, rows: Sequence[MessageRow], onces: Sequence[Once] = (), completion: Completion[list[int]] | None = None
    ) -> list[int]:
        ids: list[int] = await self._submit(SendTask(rows, onces, completion))
        return ids

    async def claim(self, claim: Claim) -> list[list[Claimed]]:
        found: list[list[Claimed]] = await self._submit(ClaimTask(claim))
        return found

    async def drop(
        self, ids: Sequence[int], groups: Sequence[GroupChange] = (), *, proofs: Sequence[tuple[int, int]] = ()
    ) -> list[Gone]:
        if ids or groups:
            await self._submit(DropTask(ids, groups))
        gone: list[Gone] = await self._submit(ProofTask(proofs)) if proofs else []
        return gone

    async def hide(
        self,
        changes: Sequence[tuple[int, int]],
        groups: Sequence[GroupChange] = (),
        completion: Completion[None] | None = None,
    ) -> None:
        await self._submit(HideTask(changes, groups, completion))

    async def hide_again(self, proofs: Sequence[tuple[int, int, int]]) -> list[int]:
        def work(sql: QueueSql) -> list[int]:
            instants = {number: visible_ms for number, _, visible_ms in proofs}
            hidden: list[int] = [row[0] for row in sql.match("proven", [proof[:2] for proof in proofs])]
            sql.write("hide", [(number, instants[number]) for number in hidden])
            return hidden

        hidden: list[int] = await self._submit(QueueWork(work)) if proofs else []
        return hidden

    async def move(self, moves: Sequence[Move], groups: Sequence[GroupChange] = ()) -> None:
        await self._submit(MoveTask(moves, groups))

    async def expire(self, queue: int, before_ms: int, limit: int) -> list[Gone]:
        def work(sql: QueueSql) -> list[Gone]:
            gone = [Gone(*columns) for columns in sql.fetch("outdated", queue, before_ms, limit)]
            drop_gone(sql, [(one, queue) for one in gone])
            return gone

        gone: list[Gone] = await self._submit(QueueWork(work))
        return gone

    async def load(self, queue: int, now_ms: int) -> LoadedQueue:
        def work(sql: QueueSql) -> LoadedQueue:
            sql.take_time()
            ((total,),) = sql.fetch("count", queue)
            held = sql.fetch("held", queue)
            delayed = sql.fetch("delayed", queue, now_ms)
            return LoadedQueue(total, [Held(*columns) for columns in held], [instant for (instant,) in delayed])

        loaded: LoadedQueue = await self._submit(QueueWork(work))
        return loaded

    async def get(self, ids: Sequence[int]) -> list[Held]:
        def work(sql: QueueSql) -> list[Held]:
            return [Held(*columns) for columns in sql.fetch_ids("look", ids)]

        found: list[Held] = await self._submit(QueueWork(work))
        return found

    async def peek(self, queue: int, limit: int) -> list[Claimed]:
        def work(sql: QueueSql) -> list[Claimed]:
            return [row._replace(receives=row.receives - 1) for row in sql.claim(queue, _NEVER, limit, 0)]

        found: list[Claimed] = await self._submit(QueueWork(work))
        return found

    async def forget(self, now_ms: int, notes_before: int) -> None:
        def work(sql: QueueSql) -> int:
            notes = sql.run("forget_notes", first_id(shard_of_id(notes_before)), notes_before, _FORGET_STEP)
            return max(notes, sql.run("forget_dedups", now_ms, _FORGET_STEP))

        while await self._submit(QueueWork(work)) == _FORGET_STEP:
            pass

    async def note(self, notes: Sequence[Note]) -> None:
        await self._submit(QueueWork(lambda sql: sql.write("put_notes", notes)))

    async def trail(self, message: int) -> list[Note]:
        found: list[SqlRow] = await self._submit(QueueWork(lambda sql: sql.fetch("trail", message)))
        return [Note(*columns) for columns in found]
