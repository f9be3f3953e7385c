"""The stacks of one region: created, updated, deleted, and found again.

Owns which operations a request may begin, and what a deletion after long forgets. How they run is `operations.py`'s,
change sets are `change_sets.py`'s.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Final

from statewright.clock import Clock
from statewright.config import Config
from statewright.payload import JsonMapping
from statewright.stacks import errors
from statewright.stacks.index import GONE
from statewright.stacks.journal import Journal, Live, Said
from statewright.stacks.nested import HELD, Nested
from statewright.stacks.operations import REVIEW, Operations, Terms, terms_of
from statewright.stacks.planning.planner import Planner
from statewright.stacks.policies import check_policy
from statewright.stacks.providers import Providers, Sign
from statewright.stacks.records import (
    CHANGE_SET,
    STACK,
    STACK_EVENT,
    STACK_RESOURCE,
    STACK_TEMPLATE,
    EventEntry,
    Made,
    ResourceEntry,
    StackEntry,
)
from statewright.stacks.references import references_of
from statewright.stacks.resources import Resources
from statewright.stacks.running import Running
from statewright.stacks.threads import Invoke
from statewright.stores.entries import Entries, Place, rows_below
from statewright.stores.protocol import CatalogueStore, EntryRow

KEPT_MS: Final = 90 * 86_400_000
"""How long deleted stacks are shown. Source: API reference, ListStacks."""


class Stacks:
    """The stacks of one region."""

    def __init__(self, catalogue: CatalogueStore, clock: Clock, config: Config, invoke: Invoke, sign: Sign) -> None:
        """`sign` makes the addresses at which providers of custom resources answer."""
        self._catalogue = catalogue
        self._clock = clock
        self._stacks = Entries(catalogue, STACK)
        self.planner: Final = Planner(catalogue, clock, config, invoke)
        self._journal = Journal(catalogue, clock)
        self.operations: Final = Operations(catalogue, clock, config, self.planner, self._journal, self._carry_out)
        self._nested = Nested(self.operations, self.planner, self._journal)
        providers = Providers(invoke, clock, config, sign, self.operations.by_id)
        self._resources = Resources(invoke, clock, config, providers, self._nested)

    async def start(self) -> None:
        """Continue the operations that were under way."""
        await self.planner.index.complete()
        await self.operations.start()

    async def stop(self) -> None:
        """Stop operations where they stand; the next start continues them."""
        await self.operations.stop()

    async def _carry_out(self, live: Live) -> None:
        await Running(live, self._journal, self.planner, self._resources, self._clock).run()

    @property
    def changing(self) -> asyncio.Lock:
        """Held while it is decided whether an operation may begin."""
        return self.operations.changing

    # ------------------------------------------------------------------ finding

    async def find(self, name: str) -> StackEntry | None:
        """A stack by its name, or also a deleted one by its ARN or id; `None` if there is none."""
        if name.startswith("arn:") or "/" in name:
            return await self.operations.by_id(name.rpartition("/")[2])
        id_ = await self.planner.index.named(name)
        return await self.operations.by_id(id_) if id_ is not None else None

    async def walk(self) -> AsyncIterator[StackEntry]:
        """Yield every stack, the oldest first."""
        async for stack in self._stacks.walk():
            yield stack

    async def page(
        self, wanted: Callable[[StackEntry], bool], after: Place | None, limit: int
    ) -> tuple[list[StackEntry], Place | None]:
        """Some of the stacks that are wanted, the newest first; also the place to continue from."""
        return await self._stacks.chosen(wanted, after, limit, newest_first=True)

    async def resources(self, stack: StackEntry) -> list[ResourceEntry]:
        """The resources of a stack by id."""
        return await self.operations.resources(stack)

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
        stack = await self.existing(name)
        if stack.parent:
            raise errors.invalid(
                f"Termination protection of the nested stack [{stack.name}] is that of its root stack: {stack.root}"
            )
        return await self.operations.alter(stack, lambda one: replace(one, is_protected=is_protected))

    async def policy_of(self, request: JsonMapping, member: str) -> str:
        """A stack policy that a request gives, or names in a bucket; empty if neither. Raises: ApiError."""
        body, url = request.get(f"{member}Body"), request.get(f"{member}URL")
        if body is not None and url is not None:
            name = member[0].lower() + member[1:]
            raise errors.invalid(f"You must specify either {name}Body or {name}URL, but not both.")
        text = str(body) if body is not None else await self.planner.at_url(url) if url is not None else ""
        if text:
            check_policy(text)
        return text

    async def set_policy(self, name: str, text: str) -> None:
        """Keep the policy of a stack. Raises: ApiError."""
        await self.operations.alter(await self.existing(name), lambda one: replace(one, policy=text))

    # ------------------------------------------------------------------ operations

    async def create(self, request: JsonMapping, host: str = "") -> StackEntry:
        """Create a stack and begin to make its resources. Raises: ApiError."""
        name = request["StackName"]
        text = await self.planner.text_of(request)
        if text is None:
            raise errors.invalid("Either Template URL or Template Body must be specified.")
        async with self.changing:
            there = await self.find(name)
            if there is not None and there.status != REVIEW:
                raise errors.taken(name)
            stack = there or self.operations.named(name)
            policy = await self.policy_of(request, "StackPolicy")
            prepared = await self.planner.prepared(stack, text, request, None)
            await self.planner.plan(stack, prepared.source, prepared.template)

            def settled(one: StackEntry) -> StackEntry:
                return replace(
                    one, is_protected=bool(request.get("EnableTerminationProtection")),
                    timeout_minutes=request.get("TimeoutInMinutes") or 0, policy=policy,
                )  # fmt: skip

            return await self.operations.begin_create(settled(stack), prepared, terms_of(request, host))

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
            self.operations.check_updatable(stack)
            assert stack.source is not None
            text = await self.planner.text_of(request)
            if text is None:
                if not request.get("UsePreviousTemplate"):
                    raise errors.invalid("Either Template URL or Template Body must be specified.")
                text = (await self.planner.entry(stack.source.template)).text
            prepared = await self.planner.prepared(stack, text, request, stack.source)
            if await self.operations.is_unchanged(stack, prepared):
                raise errors.invalid("No updates are to be performed.")
            terms = replace(
                terms_of(request, host), policy=await self.policy_of(request, "StackPolicyDuringUpdate"),
                policy_after=await self.policy_of(request, "StackPolicy"),
            )  # fmt: skip
            return await self.operations.begin_update(stack, prepared, terms)

    async def delete(self, request: JsonMapping) -> StackEntry | None:
        """Begin to delete a stack; one that does not exist is deleted. Raises: ApiError."""
        async with self.changing:
            stack = await self.find(request["StackName"])
            if stack is None or stack.status in (GONE, "DELETE_IN_PROGRESS"):
                return None
            root = await self.find(stack.root) if stack.root else None
            if stack.is_protected or (root is not None and root.is_protected):
                raise errors.invalid(f"Stack [{stack.name}] cannot be deleted while TerminationProtection is enabled")
            await self.planner.check_exports(stack)
            retain = tuple(request.get("RetainResources") or ())
            if retain and stack.status != "DELETE_FAILED":
                raise errors.invalid(
                    f"Invalid operation on stack [{stack.arn}]. The specified resources to retain must be in a valid "
                    "state: only a stack in DELETE_FAILED can retain resources."
                )
            if stack.status == "CREATE_IN_PROGRESS" and self.operations.is_live(stack.id):
                rows = await self.resources(stack)
                stack = await self.operations.turn_to_deletion(stack)
                await self._nested.cancel(rows)
                return stack
            if self.operations.is_live(stack.id) or stack.status == HELD:
                raise errors.invalid(f"Stack [{stack.name}] cannot be deleted while in status {stack.status}")
            await self._forget_old()
            return await self.operations.begin_delete(stack, Terms(request.get("ClientRequestToken")), retain)

    async def cancel(self, name: str) -> StackEntry:
        """Have an update that is under way rolled back, before its next resource. Raises: ApiError."""
        stack = await self.existing(name)
        if stack.status != "UPDATE_IN_PROGRESS" or stack.operation is None:
            raise errors.invalid("CancelUpdateStack cannot be called from current stack status")
        stack = await self.operations.cancel(stack)
        await self._nested.cancel(await self.resources(stack))
        return stack

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

            return await self.operations.begin(stack, begun, None)

    async def existing(self, name: str) -> StackEntry:
        """A stack that is not deleted. Raises: ApiError."""
        stack = await self.find(name)
        if stack is None:
            raise errors.no_stack(name)
        return stack

    async def ended(self, id_: str, within_ms: int | None = None) -> None:
        """Wait until no operation of a stack is under way, or for so long."""
        await self.operations.ended(id_, within_ms)

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
