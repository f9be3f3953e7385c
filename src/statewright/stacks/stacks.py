"""The stacks of one region: created, updated, deleted, and found again.

Owns which operations a stack's status allows, and the tasks that run them. What an operation does is `running.py`'s,
change sets are `change_sets.py`'s.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from statewright import chance
from statewright.background import Background
from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import Conflict, Unavailable
from statewright.payload import JsonMapping
from statewright.stacks import errors
from statewright.stacks.changes import changes_of
from statewright.stacks.journal import Change, Journal, Live, Said
from statewright.stacks.planner import GONE, Planner, Prepared
from statewright.stacks.providers import Providers, Sign
from statewright.stacks.records import (
    CHANGE_SET,
    STACK,
    STACK_EVENT,
    STACK_RESOURCE,
    STACK_TEMPLATE,
    UNDER_WAY,
    EventEntry,
    Made,
    Operation,
    OperationKind,
    Phase,
    ResourceEntry,
    StackEntry,
)
from statewright.stacks.resources import Resources, references_of
from statewright.stacks.running import Halted, Running
from statewright.stacks.threads import Invoke
from statewright.stores.entries import Entries, rows_below
from statewright.stores.protocol import CatalogueStore, EntryRow

REVIEW: Final = "REVIEW_IN_PROGRESS"
UPDATABLE: Final = frozenset(
    {
        "CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "IMPORT_COMPLETE", "IMPORT_ROLLBACK_COMPLETE",
        "UPDATE_FAILED", "CREATE_FAILED",
    }
)  # fmt: skip
"""Statuses in which a stack can be updated; the failed ones only if rollback was disabled."""
KEPT_MS: Final = 90 * 86_400_000
"""How long deleted stacks are shown. Source: API reference, ListStacks."""
RETRY_MS: Final = 1_000

log = logging.getLogger("statewright.stacks")


@dataclass(frozen=True, slots=True)
class Terms:
    """How an operation is to run: what becomes of a failure, and by which change set and host it was asked for."""

    token: str | None = None
    keeps_failed: bool = False
    on_failure: str = ""
    change_set: str = ""
    host: str = ""

    def operation(self, kind: OperationKind, phase: Phase, now_ms: int) -> Operation:
        """A new operation on these terms."""
        return Operation(
            chance.uuid4(), kind, phase, now_ms, self.token, self.keeps_failed, self.on_failure, host=self.host
        )


def terms_of(request: JsonMapping, host: str, change_set: str = "", on_failure: str = "") -> Terms:
    """The terms of a request."""
    chosen = request.get("OnFailure") or on_failure
    keeps = bool(request.get("DisableRollback")) or chosen == "DO_NOTHING"
    return Terms(request.get("ClientRequestToken"), keeps, chosen, change_set, host)


class Stacks:
    """The stacks of one region."""

    def __init__(self, catalogue: CatalogueStore, clock: Clock, config: Config, invoke: Invoke, sign: Sign) -> None:
        """`sign` makes the addresses at which providers of custom resources answer."""
        self._catalogue = catalogue
        self._clock = clock
        self._config = config
        self._stacks = Entries(catalogue, STACK)
        self.planner: Final = Planner(catalogue, clock, config, invoke)
        self._journal = Journal(catalogue, clock)
        self._resources = Resources(invoke, clock, config, Providers(invoke, clock, config, sign))
        self._background = Background("an operation of a stack")
        self._live: dict[str, Live] = {}
        self.changing: Final = asyncio.Lock()
        self._ends: dict[str, asyncio.Future[None]] = {}

    async def start(self) -> None:
        """Continue the operations that were under way."""
        ids = [row.key async for row in rows_below(self._catalogue, UNDER_WAY.name)]
        for id_ in ids:
            stack = await self._stacks.get(id_)
            if stack is not None and stack.operation is not None:
                self._run(await self._journal.load(stack))

    async def stop(self) -> None:
        """Stop operations where they stand; the next start continues them."""
        await self._background.stop()

    # ------------------------------------------------------------------ finding

    async def find(self, name: str) -> StackEntry | None:
        """A stack by its name, or also a deleted one by its ARN or id; `None` if there is none."""
        if name.startswith("arn:") or "/" in name:
            return await self._by_id(name.rpartition("/")[2])
        found = None
        async for stack in self.walk():
            if stack.name == name and stack.status != GONE:
                found = stack
        return found

    async def _by_id(self, id_: str) -> StackEntry | None:
        live = self._live.get(id_)
        return live.stack if live is not None else await self._stacks.get(id_)

    async def walk(self) -> AsyncIterator[StackEntry]:
        """Yield every stack, the oldest first."""
        async for stack in self._stacks.walk():
            yield stack

    async def resources(self, stack: StackEntry) -> list[ResourceEntry]:
        """The resources of a stack by id."""
        found = await Entries(self._catalogue, STACK_RESOURCE).all(stack.id)
        return sorted(found, key=lambda one: one.id)

    async def remake(self, stack: StackEntry, id: str, target: Made, before: Made) -> Made:
        """Change a resource into another form of itself, past its stack. Raises: ResourceFailed."""
        rows = await self.resources(stack)
        made = {row.id: row.now for row in rows if row.now is not None and row.id != id}
        return await self._resources.make(stack, id, target, before, references_of(made))

    async def events(self, stack: StackEntry, before: int | None, limit: int) -> tuple[list[EventEntry], int | None]:
        """Events of a stack, the newest first, from behind one on; also the number to continue behind."""
        after = (before, f"{stack.id}/{before:08}") if before is not None else None
        found, place = await Entries(self._catalogue, STACK_EVENT).page(stack.id, after, limit, newest_first=True)
        return found, place[0] if place is not None else None

    async def protect(self, name: str, is_protected: bool) -> StackEntry:
        """Protect a stack from deletion, or no longer. Raises: ApiError."""
        return await self.alter(await self.existing(name), lambda one: replace(one, is_protected=is_protected))

    async def set_policy(self, name: str, text: str) -> None:
        """Keep the policy of a stack. Raises: ApiError."""
        await self.alter(await self.existing(name), lambda one: replace(one, policy=text))

    # ------------------------------------------------------------------ operations

    async def create(self, request: JsonMapping, host: str = "") -> StackEntry:
        """Create a stack and begin to make its resources. Raises: ApiError."""
        name = _checked_name(request["StackName"])
        text = await self.planner.text_of(request)
        if text is None:
            raise errors.invalid("Either Template URL or Template Body must be specified.")
        async with self.changing:
            there = await self.find(name)
            if there is not None and there.status != REVIEW:
                raise errors.taken(name)
            stack = there or self.named(name)
            prepared = await self.planner.prepared(stack, text, request, None)
            await self.planner.plan(stack, prepared.source, prepared.template)

            def settled(one: StackEntry) -> StackEntry:
                return replace(
                    one, is_protected=bool(request.get("EnableTerminationProtection")),
                    timeout_minutes=request.get("TimeoutInMinutes") or 0, policy=request.get("StackPolicyBody") or "",
                )  # fmt: skip

            return await self.begin_create(settled(stack), prepared, terms_of(request, host))

    async def begin_create(self, stack: StackEntry, prepared: Prepared, terms: Terms) -> StackEntry:
        """Begin to make a new stack what a template asks for. The caller holds the lock of changes."""
        operation = terms.operation("create", "apply", self._clock.now_ms())

        def begun(one: StackEntry) -> StackEntry:
            return replace(
                one, status="CREATE_IN_PROGRESS", reason="User Initiated", source=prepared.source, operation=operation,
                description=prepared.template.description, keeps_failed=terms.keeps_failed,
                change_set=terms.change_set, updated_ms=self._clock.now_ms() if terms.change_set else 0,
            )  # fmt: skip

        return await self._begin(stack, begun, prepared)

    async def begin_review(self, stack: StackEntry, change_set: str) -> StackEntry:
        """Write a stack that has nothing but a change set."""
        live = await self._journal.load(stack)
        await self._journal.save(
            live, lambda one: replace(one, change_set=change_set), events=[Said(REVIEW, "User Initiated")]
        )
        return live.stack

    async def update(self, request: JsonMapping, host: str = "") -> StackEntry:
        """Begin to change a stack. Raises: ApiError."""
        async with self.changing:
            stack = await self.existing(request["StackName"])
            self.check_updatable(stack)
            assert stack.source is not None
            text = await self.planner.text_of(request)
            if text is None:
                if not request.get("UsePreviousTemplate"):
                    raise errors.invalid("Either Template URL or Template Body must be specified.")
                text = (await self.planner.entry(stack.source.template)).text
            prepared = await self.planner.prepared(stack, text, request, stack.source)
            if await self.is_unchanged(stack, prepared):
                raise errors.invalid("No updates are to be performed.")
            return await self.begin_update(stack, prepared, terms_of(request, host))

    async def begin_update(self, stack: StackEntry, prepared: Prepared, terms: Terms) -> StackEntry:
        """Begin to make a stack what a template asks for. The caller holds the lock of changes."""
        operation = terms.operation("update", "apply", self._clock.now_ms())

        def begun(one: StackEntry) -> StackEntry:
            return replace(
                one, status="UPDATE_IN_PROGRESS", reason="User Initiated", before=one.source, source=prepared.source,
                operation=operation, updated_ms=self._clock.now_ms(), change_set=terms.change_set or one.change_set,
            )  # fmt: skip

        return await self._begin(stack, begun, prepared)

    async def delete(self, request: JsonMapping) -> StackEntry | None:
        """Begin to delete a stack; one that does not exist is deleted. Raises: ApiError."""
        async with self.changing:
            stack = await self.find(request["StackName"])
            if stack is None or stack.status in (GONE, "DELETE_IN_PROGRESS"):
                return None
            if stack.is_protected:
                raise errors.invalid(f"Stack [{stack.name}] cannot be deleted while TerminationProtection is enabled")
            await self._check_exports(stack)
            retain = tuple(request.get("RetainResources") or ())
            if retain and stack.status != "DELETE_FAILED":
                raise errors.invalid(
                    f"Invalid operation on stack [{stack.arn}]. The specified resources to retain must be in a valid "
                    "state: only a stack in DELETE_FAILED can retain resources."
                )
            live = self._live.get(stack.id)
            if live is not None:
                raise errors.invalid(f"Stack [{stack.name}] cannot be deleted while in status {stack.status}")
            operation = Operation(
                chance.uuid4(), "delete", "delete", self._clock.now_ms(), request.get("ClientRequestToken"),
                retain=retain,
            )  # fmt: skip

            def begun(one: StackEntry) -> StackEntry:
                return replace(one, status="DELETE_IN_PROGRESS", reason="User Initiated", operation=operation)

            await self._forget_old()
            return await self._begin(stack, begun, None)

    async def cancel(self, name: str) -> StackEntry:
        """Have an update that is under way rolled back, before its next resource. Raises: ApiError."""
        stack = await self.existing(name)
        if stack.status != "UPDATE_IN_PROGRESS" or stack.operation is None:
            raise errors.invalid("CancelUpdateStack cannot be called from current stack status")
        return await self.alter(stack, _cancelled)

    async def continue_rollback(self, name: str, skipped: Sequence[str]) -> StackEntry:
        """Continue a rollback that has failed; resources to skip stay as they are. Raises: ApiError."""
        async with self.changing:
            stack = await self.existing(name)
            operation = stack.operation
            if stack.status != "UPDATE_ROLLBACK_FAILED" or operation is None:
                raise errors.invalid(
                    f"Stack:{stack.arn} is in {stack.status} state and can not continue update rollback."
                )

            def begun(one: StackEntry) -> StackEntry:
                going = replace(operation, skipped=tuple(skipped))
                return replace(one, status="UPDATE_ROLLBACK_IN_PROGRESS", reason="User Initiated", operation=going)

            return await self._begin(stack, begun, None)

    async def _check_exports(self, stack: StackEntry) -> None:
        """Refuse the deletion of a stack whose exports others use. Raises: ApiError."""
        for output in stack.outputs:
            users = (
                [one for one in await self.planner.users_of(output.export) if one != stack.name]
                if output.export
                else []
            )
            if users:
                raise errors.invalid(
                    f"Export {output.export} cannot be deleted as it is in use by {' and '.join(users)}"
                )

    def named(self, name: str) -> StackEntry:
        """A new stack, which is not written yet. Raises: ApiError for a name that stacks cannot have."""
        _checked_name(name)
        id_ = chance.uuid4()
        return StackEntry(
            id_, name, self._config.arn("cloudformation", f"stack/{name}/{id_}"), self._clock.now_ms(), REVIEW,
            "User Initiated",
        )  # fmt: skip

    async def existing(self, name: str) -> StackEntry:
        """A stack that is not deleted. Raises: ApiError."""
        stack = await self.find(name)
        if stack is None:
            raise errors.no_stack(name)
        return stack

    def check_updatable(self, stack: StackEntry) -> None:
        """Refuse a change that a stack's status does not allow. Raises: ApiError."""
        if stack.status not in UPDATABLE or stack.id in self._live:
            raise errors.busy(stack.arn, stack.status)

    async def is_unchanged(self, stack: StackEntry, prepared: Prepared) -> bool:
        """True if a source asks for nothing that a stack is not already."""
        plan = await self.planner.plan(stack, prepared.source, prepared.template)
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

    async def alter(self, stack: StackEntry, change: Change) -> StackEntry:
        """Change a stack's settings, whether an operation is under way or not."""
        live = self._live.get(stack.id)
        if live is None:
            live = await self._journal.load(stack)
        await self._journal.save(live, change)
        return live.stack

    # ------------------------------------------------------------------ running

    async def _begin(self, stack: StackEntry, change: Change, prepared: Prepared | None) -> StackEntry:
        live = await self._journal.load(stack)
        if prepared is not None:
            await self.keep_template(prepared)
        status = change(stack)
        await self._journal.save(live, change, events=[Said(status.status, status.reason)], also={stack.id: True})
        self._run(live)
        return live.stack

    async def keep_template(self, prepared: Prepared) -> None:
        """Store the text of a template, unless it is there already."""
        templates = Entries(self._catalogue, STACK_TEMPLATE)
        if await templates.get(prepared.entry.key) is None:
            await templates.write(prepared.entry)

    def _run(self, live: Live) -> None:
        self._live[live.stack.id] = live
        self._ends[live.stack.id] = asyncio.get_running_loop().create_future()
        self._background.spawn(self._to_its_end(live))

    async def _to_its_end(self, live: Live) -> None:
        id_ = live.stack.id
        try:
            while True:
                try:
                    await Running(live, self._journal, self.planner, self._resources, self._clock).run()
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

    async def _reloaded(self, id_: str) -> Live | None:
        while True:
            try:
                stack = await self._stacks.get(id_)
                return await self._journal.load(stack) if stack is not None and stack.operation is not None else None
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

    async def _forget_old(self) -> None:
        """Drop the rows of stacks that were deleted long ago."""
        before_ms = self._clock.now_ms() - KEPT_MS
        async for stack in self.walk():
            if stack.status == GONE and stack.deleted_ms < before_ms:
                await self.forget(stack)

    async def forget(self, stack: StackEntry) -> None:
        """Drop all rows of a stack."""
        for kind in (STACK_EVENT, STACK_RESOURCE, STACK_TEMPLATE, CHANGE_SET):
            await self._catalogue.write([], [(one.kind, one.key) async for one in self._rows(kind.name, stack.id)])
        await self._stacks.delete(stack)

    def _rows(self, kind: str, parent: str) -> AsyncIterator[EntryRow]:
        return rows_below(self._catalogue, kind, parent)


def _checked_name(name: str) -> str:
    """Raises: ApiError."""
    start = (
        f"1 validation error detected: Value '{name[:128]}' at 'stackName' failed to satisfy constraint: Member must"
    )
    if not (name[:1].isalpha() and name.isascii() and name.replace("-", "").isalnum()):
        raise errors.invalid(f"{start} satisfy regular expression pattern: [a-zA-Z][-a-zA-Z0-9]*")
    if len(name) > 128:
        raise errors.invalid(f"{start} have length less than or equal to 128")
    return name


def _cancelled(stack: StackEntry) -> StackEntry:
    operation = stack.operation
    return stack if operation is None else replace(stack, operation=replace(operation, cancelled=True))
