"""Named semaphores: limit the executions that are in a critical section at a time, first come, first served.

A Task asks for a permit and waits in its outbox row until it has one; nothing is polled, and no transition is made
meanwhile. Every permit, granted or waited for, is an entry of the catalogue. What changes is gathered and written
together, and the Task that got a permit is answered once that is durable. A permit goes back when its execution
releases it, when the task that waited for it is over, when an operator takes it away, and in any case when its
execution ends: an end that a crash hid is found at the next start.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import orjson

from statewright.engine.dispatch import ScheduledCall, Succeeded, TaskResult
from statewright.engine.executions.history_pages import decode_page
from statewright.engine.executions.live import LiveExecution
from statewright.engine.executions.names import ExecutionNames
from statewright.engine.executions.work import Batch
from statewright.engine.shard import Shard
from statewright.errors import ApiError
from statewright.formats import damaged, members_in
from statewright.payload import JsonMapping, parse_json
from statewright.stores.entries import rows_below
from statewright.stores.protocol import EntryRow, Row

PERMIT: Final = "permit"
PERMIT_FORMAT: Final = 1
_PAGES_AT_ONCE: Final = 20
_MOST_SPARED: Final = 16

log = logging.getLogger("statewright.semaphores")


@dataclass(slots=True)
class Permit:
    """One permit of a semaphore, or one wait for it. `number` says who came first; instants are epoch milliseconds."""

    number: int
    execution_arn: str
    state: str
    call_key: str
    asked_ms: int
    granted_ms: int | None = None
    written: int = 0
    call: ScheduledCall | None = None
    """The call that waits for its answer, while it does."""
    spared_by: tuple[str, ...] = ()
    """Calls of release that gave back another permit of the same execution: one that is repeated finds itself here."""
    is_over: bool = False


@dataclass(slots=True)
class Semaphore:
    """The holders and the waiters of a semaphore, in order. `key` tells semaphores of one name apart.

    `limit` is the limit of the latest request.
    """

    name: str
    key: str
    limit: int
    holders: OrderedDict[int, Permit] = field(default_factory=OrderedDict)
    waiters: OrderedDict[int, Permit] = field(default_factory=OrderedDict)
    """Ordered: finding the first entry of a plain dict scans over all removed ones."""


class Semaphores:
    """Every semaphore of one engine. One without holders and waiters is not there.

    `settle` answers the call of a Task that waits for a permit.
    """

    def __init__(
        self, shard: Shard, names: ExecutionNames, settle: Callable[[ScheduledCall, TaskResult], bool]
    ) -> None:
        self._shard = shard
        self._names = names
        self._settle = settle
        self._semaphores: dict[tuple[str, str], Semaphore] = {}
        self._by_call: dict[tuple[str, str], tuple[Semaphore, Permit]] = {}
        self._by_execution: dict[str, dict[int, tuple[Semaphore, Permit]]] = {}
        self._changed: dict[int, tuple[Semaphore, Permit]] = {}
        self._writing: asyncio.Task[None] | None = None
        self._written: list[asyncio.Future[None]] = []

    # ------------------------------------------------------------------ life

    async def recover(self, open_calls: Iterable[ScheduledCall]) -> None:
        """Read what the store has; permits of what has ended, or is not among `open_calls` any more, are given back."""
        waiting = {(call.execution_arn, call.idempotency_key) for call in open_calls}
        async for entry in rows_below(self._shard.store.catalogue, PERMIT):
            self._read(entry)
            self._shard.ids.pass_by(entry.sort)
        for arn, permits in list(self._by_execution.items()):
            row = await self._row_of(arn)
            if row is None or row.status != "RUNNING":
                taken: set[str] = set()
            else:
                settled = [one.number for _, one in permits.values() if (arn, one.call_key) not in waiting]
                taken = await self._taken(row.id) if settled else set()
            for semaphore, permit in list(permits.values()):
                waits = row is not None and row.status == "RUNNING" and (arn, permit.call_key) in waiting
                if not waits and (permit.granted_ms is None or str(permit.number) not in taken):
                    self._end(semaphore, permit)
        for semaphore in list(self._semaphores.values()):
            self._grant(semaphore)

    async def _row_of(self, arn: str) -> Row | None:
        try:
            return await self._names.row_of(arn)
        except ApiError:
            return None

    async def _taken(self, execution: int) -> set[str]:
        """The permits that an execution knows it has, since it was started or last redriven.

        A grant may be durable while its task has timed out or was aborted: no execution knows of such a permit.
        """
        found: set[str] = set()
        at = 0
        store = self._shard.store.executions
        while pages := await store.history(execution, first=at, pages=_PAGES_AT_ONCE, reverse=True):
            for page in pages:
                for event in reversed(decode_page(page)):
                    if event.type == "ExecutionRedriven":
                        return found
                    details = event.details or {}
                    if event.type == "TaskSucceeded" and details.get("resourceType") == "statewright":
                        answer = parse_json(str(details.get("output")))
                        if isinstance(answer, dict) and isinstance(permit := answer.get("Permit"), str):
                            found.add(permit)
            at = pages[-1].first - 1
            if at < 1:
                break
        return found

    def _read(self, row: EntryRow) -> None:
        what = f"{PERMIT} {row.key}"
        try:
            self._take(row, members_in(row.body, what, PERMIT_FORMAT))
        except (KeyError, TypeError, ValueError) as problem:
            raise damaged(what, problem) from None

    def _take(self, row: EntryRow, body: JsonMapping) -> None:
        arn, state, call_key, asked_ms, granted_ms = body["permit"][:5]
        permit = Permit(row.sort, arn, state, call_key, asked_ms, granted_ms, row.version)
        permit.spared_by = tuple(body.get("spared by", ()))
        name, key, limit = body["semaphore"][:3]
        semaphore = self._named(name, key, limit)
        # They come by number, and who asked last says how many there may be.
        semaphore.limit = limit
        self._keep(semaphore, permit)

    def stop(self) -> None:
        """Write and grant nothing any more."""
        if self._writing is not None:
            self._writing.cancel()
        for future in self._written:
            future.cancel()
        for table in (self._semaphores, self._by_call, self._by_execution, self._changed):
            table.clear()

    # ------------------------------------------------------------------ asking and giving back

    def acquire(self, call: ScheduledCall, name: str, key: str, limit: int) -> None:
        """Ask for a permit; the call is answered when it has one. A repeated call keeps its place."""
        there = self._by_call.get((call.execution_arn, call.idempotency_key))
        if there is not None:
            semaphore, permit = there
            permit.call = call
            if permit.granted_ms is not None:
                self._note(semaphore, permit)
            return
        semaphore = self._named(name, key, limit)
        now_ms = self._shard.clock.now_ms()
        number = self._shard.ids.next()
        permit = Permit(number, call.execution_arn, call.state, call.idempotency_key, now_ms, call=call)
        self._keep(semaphore, permit)
        self._note(semaphore, permit)
        semaphore.limit = limit
        self._grant(semaphore)

    async def release(self, call: ScheduledCall, name: str, key: str, number: int | None = None) -> bool:
        """Give back the oldest permit that an execution holds, or the one of that number; whether there was one.

        A repeated call does not release a second one.
        """
        semaphore = self._semaphores.get((name, key))
        if semaphore is None:
            return False
        every = [one for there, one in self._by_execution.get(call.execution_arn, {}).values() if there is semaphore]
        # One whose task has no answer yet is not held as far as the execution knows.
        held = [one for one in every if one.granted_ms is not None and one.call is None]
        chosen = next((one for one in held if number in (None, one.number)), None)
        if any(call.idempotency_key in one.spared_by for one in held):
            await self._durable()
            return True
        if chosen is None:
            return False
        held.remove(chosen)
        if held:
            held[0].spared_by = (*held[0].spared_by, *chosen.spared_by, call.idempotency_key)[-_MOST_SPARED:]
            self._note(semaphore, held[0])
        self._end(semaphore, chosen)
        await self._durable()
        return True

    def withdraw(self, call: ScheduledCall) -> None:
        """A call waits no longer: its permit, granted or not, goes."""
        there = self._by_call.get((call.execution_arn, call.idempotency_key))
        if there is not None:
            self._end(*there)

    def after_commit(self, live: LiveExecution, batch: Batch) -> None:
        """See `CommitListener`."""
        if batch.closed:
            self.ended(live.head.execution_arn)

    def ended(self, execution_arn: str) -> None:
        """An execution has ended."""
        for semaphore, permit in list(self._by_execution.get(execution_arn, {}).values()):
            self._end(semaphore, permit)

    async def take_away(self, name: str, key: str, number: int, reason: str) -> Permit | None:
        """Release a permit for an operator, even while its holder runs; the permit, or `None` if it does not exist."""
        semaphore = self._semaphores.get((name, key))
        permit = None if semaphore is None else semaphore.holders.get(number)
        if semaphore is None or permit is None:
            return None
        log.warning("a permit of %s is taken from %s: %s", name, permit.execution_arn, reason)
        call = permit.call
        self._end(semaphore, permit)
        if call is not None:
            # Its task has no answer yet, and waits on.
            self.acquire(call, name, key, semaphore.limit)
        await self._durable()
        return permit

    def standing(self) -> Sequence[Semaphore]:
        """Every semaphore with holders or waiters, by name and key; `every` does not sort them."""
        return [self._semaphores[name] for name in sorted(self._semaphores)]

    def every(self) -> Collection[Semaphore]:
        """Every semaphore with holders or waiters, in no order; a live view, not to be held over an await."""
        return self._semaphores.values()

    def find(self, name: str, key: str) -> Semaphore | None:
        """The semaphore of a name and key, if it has holders or waiters."""
        return self._semaphores.get((name, key))

    # ------------------------------------------------------------------ the tables

    def _named(self, name: str, key: str, limit: int = 1) -> Semaphore:
        found = self._semaphores.get((name, key))
        if found is None:
            found = self._semaphores[name, key] = Semaphore(name, key, limit)
        return found

    def _keep(self, semaphore: Semaphore, permit: Permit) -> None:
        table = semaphore.waiters if permit.granted_ms is None else semaphore.holders
        table[permit.number] = permit
        self._by_call[permit.execution_arn, permit.call_key] = (semaphore, permit)
        self._by_execution.setdefault(permit.execution_arn, {})[permit.number] = (semaphore, permit)

    def _end(self, semaphore: Semaphore, permit: Permit) -> None:
        permit.is_over = True
        semaphore.waiters.pop(permit.number, None)
        semaphore.holders.pop(permit.number, None)
        self._by_call.pop((permit.execution_arn, permit.call_key), None)
        mine = self._by_execution.get(permit.execution_arn, {})
        mine.pop(permit.number, None)
        if not mine:
            self._by_execution.pop(permit.execution_arn, None)
        self._note(semaphore, permit)
        self._grant(semaphore)
        if not semaphore.holders and not semaphore.waiters:
            self._semaphores.pop((semaphore.name, semaphore.key), None)

    def _grant(self, semaphore: Semaphore) -> None:
        while semaphore.waiters and len(semaphore.holders) < semaphore.limit:
            number, permit = semaphore.waiters.popitem(last=False)
            permit.granted_ms = self._shard.clock.now_ms()
            semaphore.holders[number] = permit
            self._note(semaphore, permit)

    # ------------------------------------------------------------------ the store

    def _note(self, semaphore: Semaphore, permit: Permit) -> None:
        """A permit is not what the store says, or its call has not been answered."""
        self._changed[permit.number] = (semaphore, permit)
        if self._writing is None:
            self._writing = self._shard.spawn(self._write())
            self._writing.add_done_callback(self._done_writing)

    def _done_writing(self, task: asyncio.Task[None]) -> None:
        if self._writing is task:
            self._writing = None

    async def _durable(self) -> None:
        """Wait until what has changed is written."""
        if self._writing is None:
            return
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._written.append(written)
        await written

    async def _write(self) -> None:
        while self._changed:
            changed, self._changed = self._changed, {}
            waiting, self._written = self._written, []
            put, deleted = [], []
            for semaphore, permit in changed.values():
                if not permit.is_over:
                    put.append(_row(semaphore, permit))
                    # From here on the store may have it, also if it ends while it is written.
                    permit.written += 1
                elif permit.written:
                    deleted.append((PERMIT, str(permit.number)))
            if put or deleted:
                await self._shard.retrying.catalogue.write(put, deleted)
            for semaphore, permit in changed.values():
                self._answer(semaphore, permit)
            for future in waiting:
                if not future.done():
                    future.set_result(None)
        # Immediately, not in a later callback: a change in between would never be written.
        self._writing = None

    def _answer(self, semaphore: Semaphore, permit: Permit) -> None:
        """Answer the call of a permit whose grant is durable."""
        # The call of a grant that came while this was written is answered when that is written itself.
        if permit.is_over or permit.granted_ms is None or permit.number in self._changed or permit.call is None:
            return
        call, permit.call = permit.call, None
        waited_ms = permit.granted_ms - permit.asked_ms
        answer = {
            "Name": semaphore.name,
            **({"Key": semaphore.key} if semaphore.key else {}),
            "Permit": str(permit.number),
            "Limit": semaphore.limit,
            "WaitedSeconds": waited_ms / 1000,
        }
        self._settle(call, Succeeded(answer))


def _row(semaphore: Semaphore, permit: Permit) -> EntryRow:
    body = {
        "semaphore": [semaphore.name, semaphore.key, semaphore.limit],
        "permit": [permit.execution_arn, permit.state, permit.call_key, permit.asked_ms, permit.granted_ms],
        **({"spared by": permit.spared_by} if permit.spared_by else {}),
    }
    return EntryRow(PERMIT, str(permit.number), "", permit.number, permit.written + 1, orjson.dumps(body))
