"""The operations of the stacks of one region: begun, run as tasks, continued after a restart, and waited for.

Owns the rows with which an operation begins, and which tasks run. Which operations a request may begin is
`stacks.py`'s, those of nested stacks `nested.py`'s; what an operation does is `running.py`'s.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

from statewright import chance
from statewright.background import Background
from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import Conflict, StoreError, Unavailable
from statewright.payload import JsonMapping
from statewright.stacks import errors
from statewright.stacks.changes import changes_of
from statewright.stacks.journal import Change, Journal, Live, Said
from statewright.stacks.planning.planner import Planner, Prepared
from statewright.stacks.records import (
    STACK,
    STACK_RESOURCE,
    STACK_TEMPLATE,
    UNDER_WAY,
    Operation,
    OperationKind,
    Phase,
    ResourceEntry,
    StackEntry,
)
from statewright.stores.entries import Entries, rows_below
from statewright.stores.protocol import CatalogueStore

REVIEW: Final = "REVIEW_IN_PROGRESS"
UPDATABLE: Final = frozenset(
    {
        "CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "IMPORT_COMPLETE", "IMPORT_ROLLBACK_COMPLETE",
        "UPDATE_FAILED", "CREATE_FAILED",
    }
)  # fmt: skip
"""Statuses in which a stack can be updated; the failed ones only if rollback was disabled."""
RETRY_MS: Final = 1_000
BUG: Final = "failed because of a bug in Statewright; see its log"

log = logging.getLogger("statewright.stacks")


class Halted(Exception):
    """The operation has stopped where only a request, or the operation of its parent, continues it."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How an operation is to run: what becomes of a failure, and by which change set and host it was asked for.

    `under` is the operation of the parent stack that began it, `due_ms` the end of its time. `policy` is the stack
    policy for an update alone, `policy_after` the one from its end on.
    """

    token: str | None = None
    keeps_failed: bool = False
    on_failure: str = ""
    change_set: str = ""
    host: str = ""
    under: str = ""
    due_ms: int = 0
    policy: str = ""
    policy_after: str = ""

    def operation(self, kind: OperationKind, phase: Phase, now_ms: int) -> Operation:
        """A new operation on these terms."""
        return Operation(
            chance.uuid4(), kind, phase, now_ms, self.token, self.keeps_failed, self.on_failure, host=self.host,
            due_ms=self.due_ms, policy=self.policy, policy_after=self.policy_after,
        )  # fmt: skip


def terms_of(request: JsonMapping, host: str, change_set: str = "", on_failure: str = "") -> Terms:
    """The terms of a request."""
    chosen = request.get("OnFailure") or on_failure
    keeps = bool(request.get("DisableRollback")) or chosen == "DO_NOTHING"
    return Terms(request.get("ClientRequestToken"), keeps, chosen, change_set, host)


class Operations:
    """The operations of the stacks of one region."""

    def __init__(
        self, catalogue: CatalogueStore, clock: Clock, config: Config, planner: Planner, journal: Journal,
        carry_out: Callable[[Live], Awaitable[None]],
    ) -> None:  # fmt: skip
        """`carry_out` runs the operation of a stack to its end; it raises `Halted` and `StoreError`."""
        self._catalogue = catalogue
        self._clock = clock
        self._config = config
        self._planner = planner
        self._journal = journal
        self._carry_out = carry_out
        self._stacks = Entries(catalogue, STACK)
        self._background = Background("an operation of a stack")
        self._live: dict[str, Live] = {}
        self._ends: dict[str, asyncio.Future[None]] = {}
        self.changing: Final = asyncio.Lock()

    async def start(self) -> None:
        """Continue the operations that were under way."""
        found = []
        for id_ in [row.key async for row in rows_below(self._catalogue, UNDER_WAY.name)]:
            stack = await self._stacks.get(id_)
            if stack is not None and stack.operation is not None:
                found.append(await self._journal.load(stack))
        # A parent waits for the operations of its nested stacks, so that all are there before any goes on.
        for live in found:
            self._run(live)

    async def stop(self) -> None:
        """Stop operations where they stand; the next start continues them."""
        await self._background.stop()

    # ------------------------------------------------------------------ rows

    async def by_id(self, id_: str) -> StackEntry | None:
        """A stack by the last part of its ARN."""
        live = self._live.get(id_)
        return live.stack if live is not None else await self._stacks.get(id_)

    async def resources(self, stack: StackEntry) -> list[ResourceEntry]:
        """The resources of a stack by id."""
        found = await Entries(self._catalogue, STACK_RESOURCE).all(stack.id)
        return sorted(found, key=lambda one: one.id)

    def is_live(self, id_: str) -> bool:
        """True if an operation of a stack is under way."""
        live = self._live.get(id_)
        return live is not None and not live.is_over

    def named(self, name: str, id_: str = "") -> StackEntry:
        """A new stack, which is not written yet. Raises: ApiError for a name that stacks cannot have."""
        _check_name(name)
        own = id_ or chance.uuid4()
        return StackEntry(own, name, self._arn(name, own), self._clock.now_ms(), REVIEW, "User Initiated")

    def _arn(self, name: str, id_: str) -> str:
        return self._config.arn("cloudformation", f"stack/{name}/{id_}")

    def derived_arn(self, name: str, seed: str) -> str:
        """The ARN of a stack whose id derives from a text."""
        return self._arn(name, chance.uuid_of_name(seed))

    async def alter(self, stack: StackEntry, change: Change) -> StackEntry:
        """Change a stack's settings, whether an operation is under way or not."""
        live = self._live.get(stack.id)
        if live is None:
            live = await self._journal.load(stack)
        await self._journal.save(live, change)
        return live.stack

    async def cancel(self, stack: StackEntry) -> StackEntry:
        """Have the operation of a stack end before its next resource."""

        def cancelled(one: StackEntry) -> StackEntry:
            operation = one.operation
            return one if operation is None else replace(one, operation=replace(operation, cancelled=True))

        return await self.alter(stack, cancelled)

    async def keep_template(self, prepared: Prepared) -> None:
        """Store the text of a template, unless it is there already."""
        templates = Entries(self._catalogue, STACK_TEMPLATE)
        if await templates.get(prepared.entry.key) is None:
            await templates.write(prepared.entry)

    # ------------------------------------------------------------------ beginning

    def check_updatable(self, stack: StackEntry) -> None:
        """Refuse a change that a stack's status does not allow. Raises: ApiError."""
        if stack.status not in UPDATABLE or self.is_live(stack.id):
            raise errors.busy(stack.arn, stack.status)

    async def is_unchanged(self, stack: StackEntry, prepared: Prepared) -> bool:
        """True if a source asks for nothing that a stack is not already."""
        plan = await self._planner.plan(stack, prepared.source, prepared.template)
        if stack.source is None or prepared.source.tags != stack.source.tags:
            return False
        changes = changes_of(plan, {one.id: one for one in await self.resources(stack)})
        if changes:
            return False
        shown = {(one.name, one.description, one.export) for one in stack.outputs}
        if shown != {(name, one.description, one.export) for name, one in plan.outputs.items()}:
            return False
        return prepared.source.template == stack.source.template and (
            prepared.source.parameters == stack.source.parameters
        )

    async def begin_create(self, stack: StackEntry, prepared: Prepared, terms: Terms) -> StackEntry:
        """Begin to make a new stack what a template asks for. The caller holds the lock of changes."""
        now_ms = self._clock.now_ms()
        operation = terms.operation("create", "apply", now_ms)
        if stack.timeout_minutes:
            own_ms = now_ms + 60_000 * stack.timeout_minutes
            operation = replace(operation, due_ms=min(own_ms, operation.due_ms or own_ms))

        def begun(one: StackEntry) -> StackEntry:
            return replace(
                one, status="CREATE_IN_PROGRESS", reason="User Initiated", source=prepared.source, operation=operation,
                description=prepared.template.description, keeps_failed=terms.keeps_failed and not terms.under,
                change_set=terms.change_set, updated_ms=now_ms if terms.change_set else 0,
                under=terms.under,
            )  # fmt: skip

        return await self.begin(stack, begun, prepared)

    async def begin_update(self, stack: StackEntry, prepared: Prepared, terms: Terms) -> StackEntry:
        """Begin to make a stack what a template asks for. The caller holds the lock of changes."""
        operation = terms.operation("update", "apply", self._clock.now_ms())

        def begun(one: StackEntry) -> StackEntry:
            return replace(
                one, status="UPDATE_IN_PROGRESS", reason="User Initiated", before=one.source, source=prepared.source,
                operation=operation, updated_ms=self._clock.now_ms(), change_set=terms.change_set or one.change_set,
                under=terms.under,
            )  # fmt: skip

        return await self.begin(stack, begun, prepared)

    async def begin_delete(self, stack: StackEntry, terms: Terms, retain: tuple[str, ...] = ()) -> StackEntry:
        """Begin to delete a stack. The caller holds the lock of changes."""
        operation = replace(terms.operation("delete", "delete", self._clock.now_ms()), retain=retain)

        def begun(one: StackEntry) -> StackEntry:
            return replace(
                one, status="DELETE_IN_PROGRESS", reason="User Initiated", operation=operation, under=terms.under
            )

        return await self.begin(stack, begun, None)

    async def turn_to_deletion(self, stack: StackEntry) -> StackEntry:
        """Have a creation that is under way end before its next resource, and delete what it made."""
        live = self._live[stack.id]

        def turned(one: StackEntry) -> StackEntry:
            assert one.operation is not None
            going = replace(one.operation, kind="delete", phase="delete", cancelled=True)
            return replace(one, status="DELETE_IN_PROGRESS", reason="User Initiated", operation=going)

        await self._journal.save(live, turned, events=[Said("DELETE_IN_PROGRESS", "User Initiated")])
        return live.stack

    async def begin(
        self, stack: StackEntry, change: Change, prepared: Prepared | None, *, is_told: bool = True
    ) -> StackEntry:
        """Write that an operation is under way, with its event if it `is_told`, and run it."""
        # The one before may have ended in the store, and still be at its last steps.
        await self.ended(stack.id)
        live = await self._journal.load(stack)
        if prepared is not None:
            await self.keep_template(prepared)
        begun = change(stack)
        events = [Said(begun.status, begun.reason)] if is_told else []
        await self._journal.save(live, change, events=events, under_way=True)
        self._run(live)
        return live.stack

    # ------------------------------------------------------------------ running

    def _run(self, live: Live) -> None:
        self._live[live.stack.id] = live
        self._ends[live.stack.id] = asyncio.get_running_loop().create_future()
        self._background.spawn(self._to_its_end(live))

    async def _to_its_end(self, live: Live) -> None:
        id_ = live.stack.id
        try:
            while True:
                try:
                    await self._carry_out_or_fail(live)
                    return
                except Halted:
                    return
                except (Unavailable, Conflict) as problem:
                    log.warning("stack %s continues when the store answers: %s", live.stack.name, problem)
                    await self._clock.sleep_until(self._clock.now_ms() + RETRY_MS)
                    fresh = await self._reloaded(id_)
                    if fresh is None:
                        return
                    live = self._live[id_] = fresh
        finally:
            self._live.pop(id_, None)
            end = self._ends.pop(id_, None)
            if end is not None and not end.done():
                end.set_result(None)

    async def _carry_out_or_fail(self, live: Live) -> None:
        """Run an operation to its end. Raises: Halted; StoreError."""
        try:
            await self._carry_out(live)
        except (Halted, StoreError):
            raise
        except Exception:
            if live.is_over:
                raise
            log.exception("the operation of the stack %s failed", live.stack.name)
            # Otherwise the stack would be busy, and could not even be deleted.
            await self._journal.save(live, _given_up, events=[Said(_failed_status(live.stack), BUG)], under_way=False)

    async def _reloaded(self, id_: str) -> Live | None:
        """A stack whose operation is still under way: the write that failed may have ended it all the same."""
        while True:
            try:
                stack = await self._stacks.get(id_)
                is_marked = await self._catalogue.get(UNDER_WAY.name, id_) is not None
                return await self._journal.load(stack) if stack is not None and is_marked else None
            except Unavailable:
                await self._clock.sleep_until(self._clock.now_ms() + RETRY_MS)

    async def ended(self, id_: str, within_ms: int | None = None) -> None:
        """Wait until no operation of a stack is under way, or for so long."""
        end = self._ends.get(id_)
        if end is None:
            return
        waiting = asyncio.shield(end)
        timer = self._clock.call_at(self._clock.now_ms() + within_ms, waiting.cancel) if within_ms is not None else None
        try:
            await waiting
        except asyncio.CancelledError:
            if not waiting.cancelled() or within_ms is None:
                raise
        finally:
            if timer is not None:
                timer.cancel()


def _failed_status(stack: StackEntry) -> str:
    operation = stack.operation
    assert operation is not None
    if operation.phase == "delete":
        return "DELETE_FAILED"
    if operation.phase in ("apply", "cleanup"):
        return f"{operation.kind.upper()}_FAILED"
    return "ROLLBACK_FAILED" if operation.kind == "create" else "UPDATE_ROLLBACK_FAILED"


def _given_up(stack: StackEntry) -> StackEntry:
    status = _failed_status(stack)
    # A request may continue a rollback of an update.
    operation = stack.operation if status == "UPDATE_ROLLBACK_FAILED" else None
    return replace(stack, status=status, reason=BUG, operation=operation)


def _check_name(name: str) -> None:
    """Raises: ApiError."""
    start = (
        f"1 validation error detected: Value '{name[:128]}' at 'stackName' failed to satisfy constraint: Member must"
    )
    if not (name[:1].isalpha() and name.isascii() and name.replace("-", "").isalnum()):
        raise errors.invalid(f"{start} satisfy regular expression pattern: [a-zA-Z][-a-zA-Z0-9]*")
    if len(name) > 128:
        raise errors.invalid(f"{start} have length less than or equal to 128")
