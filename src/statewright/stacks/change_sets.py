"""Change sets: made, shown, executed and deleted.

Owns their rows and statuses. What they change is `changes.py`'s; execution is an operation of the stack.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from statewright import chance
from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.payload import JsonMapping, JsonObject
from statewright.stacks import errors
from statewright.stacks.changes import Difference, changes_of
from statewright.stacks.index import GONE
from statewright.stacks.operations import REVIEW, terms_of
from statewright.stacks.planning.includes import FAILED as INCLUDE_FAILED
from statewright.stacks.planning.planner import Prepared
from statewright.stacks.records import CHANGE_SET, ChangeSetEntry, StackEntry
from statewright.stacks.stacks import Stacks
from statewright.stores.entries import Entries
from statewright.stores.protocol import CatalogueStore

NOTHING: Final = (
    "The submitted information didn't contain changes. Submit different information to create a change set."
)


class ChangeSets:
    """The change sets of one region."""

    def __init__(self, catalogue: CatalogueStore, clock: Clock, config: Config, stacks: Stacks) -> None:
        self._clock = clock
        self._config = config
        self._stacks = stacks
        self._sets = Entries(catalogue, CHANGE_SET)

    async def find(self, name: str, stack_name: str | None) -> tuple[ChangeSetEntry, StackEntry]:
        """A change set by its ARN, or by its name in a stack. Raises: ApiError."""
        if name.startswith("arn:"):
            found = await self._sets.get(name.rpartition("/")[2])
            stack = await self._stacks.find(_stack_arn(found.stack)) if found is not None else None
            if found is None or stack is None:
                raise errors.no_change_set(name)
            return found, stack
        if not stack_name:
            raise errors.invalid("StackName must be specified if ChangeSetName is not specified as an ARN.")
        stack = await self._stacks.find(stack_name)
        if stack is None:
            raise errors.no_stack(stack_name)
        for one in await self._sets.all(stack.id):
            if one.name == name:
                return one, stack
        raise errors.no_change_set(name)

    async def of(self, stack: StackEntry) -> list[ChangeSetEntry]:
        """The change sets of a stack."""
        return await self._sets.all(stack.id)

    async def create(self, request: JsonMapping) -> tuple[ChangeSetEntry, StackEntry]:
        """Make a change set; one for a new stack makes the stack, in review. Raises: ApiError."""
        async with self._stacks.changing:
            stack = await self._stack_for(request)
            name = request["ChangeSetName"]
            if any(one.name == name for one in await self._sets.all(stack.id)):
                raise ApiError(
                    "AlreadyExistsException",
                    f"ChangeSet {name} cannot be created due to a mismatch with existing attribute Name",
                )
            text = await self._stacks.planner.text_of(request)
            if text is None:
                if not request.get("UsePreviousTemplate") or stack.source is None:
                    raise errors.invalid("Either Template URL or Template Body must be specified.")
                text = (await self._stacks.planner.entry(stack.source.template)).text
            prepared = await self._stacks.planner.prepared(stack, text, request, stack.source, is_reviewed=True)
            id_ = chance.uuid4()
            entry = ChangeSetEntry(
                id_, name, self._config.arn("cloudformation", f"changeSet/{name}/{id_}"), stack.id,
                self._clock.now_ms(), prepared.source, request.get("ChangeSetType") or "UPDATE",
                description=request.get("Description"), on_failure=request.get("OnStackFailure") or "",
                nested=bool(request.get("IncludeNestedStacks")),
            )  # fmt: skip
            try:
                entry = await self._compared(entry, stack, prepared)
            except ApiError as problem:
                if not problem.message.startswith(INCLUDE_FAILED):
                    raise
                entry = replace(entry, status="FAILED", execution="UNAVAILABLE", reason=problem.message)
            if not stack.stored:
                stack = await self._stacks.begin_review(stack, entry.arn)
            await self._stacks.operations.keep_template(prepared)
            await self._sets.write(entry)
            return entry, stack

    async def _stack_for(self, request: JsonMapping) -> StackEntry:
        """The stack that a change set is for. Raises: ApiError."""
        name, kind = request["StackName"], request.get("ChangeSetType") or "UPDATE"
        stack = await self._stacks.find(name)
        if kind == "IMPORT":
            raise errors.invalid("Resources are not imported into stacks here: ChangeSetType is CREATE or UPDATE.")
        if kind == "CREATE":
            if stack is not None and (stack.status != REVIEW):
                raise errors.invalid(
                    f"Stack [{stack.name}] already exists and cannot be created again with the changeSet "
                    f"[{request['ChangeSetName']}]."
                )
            return stack or self._stacks.operations.named(name)
        if stack is None:
            raise errors.no_stack(name)
        if stack.status == GONE:
            raise errors.busy(stack.arn, stack.status)
        if stack.status == REVIEW:
            raise errors.no_stack(name)
        self._stacks.operations.check_updatable(stack)
        return stack

    async def _compared(self, entry: ChangeSetEntry, stack: StackEntry, prepared: Prepared) -> ChangeSetEntry:
        changes = await self.changes(entry, stack, prepared)
        is_update = entry.kind != "CREATE"
        if is_update and not changes and await self._stacks.operations.is_unchanged(stack, prepared):
            return replace(entry, status="FAILED", execution="UNAVAILABLE", reason=NOTHING)
        return replace(entry, changes=changes)

    async def changes(
        self, entry: ChangeSetEntry, stack: StackEntry, prepared: Prepared | None = None, *, with_values: bool = False
    ) -> list[JsonObject]:
        """The changes of a change set, compared with the stack as it is. Raises: ApiError."""
        planner = self._stacks.planner
        template = prepared.template if prepared is not None else None
        plan = await planner.plan(stack, entry.source, template)
        before = stack.source.parameters if stack.source is not None else {}
        given = Difference(_changed(before, entry.source.parameters), with_values)
        rows = {one.id: one for one in await self._stacks.resources(stack)} if stack.stored else {}
        return changes_of(plan, rows, given)

    async def execute(self, request: JsonMapping, host: str = "") -> StackEntry:
        """Begin to do what a change set says. Raises: ApiError."""
        async with self._stacks.changing:
            entry, stack = await self.find(request["ChangeSetName"], request.get("StackName"))
            if entry.execution != "AVAILABLE":
                shown = entry.execution if entry.status != "FAILED" else entry.status
                raise ApiError(
                    "InvalidChangeSetStatus",
                    f"ChangeSet [{entry.arn}] cannot be executed in its current status of [{shown}]",
                )
            template = await self._stacks.planner.template(entry.source.template)
            text = await self._stacks.planner.entry(entry.source.template)
            prepared = Prepared(template, entry.source, text)
            terms = terms_of(request, host, entry.arn, entry.on_failure)
            if stack.status == REVIEW:
                stack = await self._stacks.operations.begin_create(stack, prepared, terms)
            else:
                self._stacks.operations.check_updatable(stack)
                stack = await self._stacks.operations.begin_update(stack, prepared, terms)
            await self._sets.write(replace(entry, execution="EXECUTE_COMPLETE"))
            await self.outdate(stack, besides=entry.id)
            return stack

    async def outdate(self, stack: StackEntry, besides: str = "") -> None:
        """Mark the other change sets of a stack as made for what it is no longer."""
        for one in await self._sets.all(stack.id):
            if one.id != besides and one.execution == "AVAILABLE":
                await self._sets.write(replace(one, execution="OBSOLETE"))

    async def delete(self, request: JsonMapping) -> None:
        """Delete a change set. Raises: ApiError."""
        name, stack_name = request["ChangeSetName"], request.get("StackName")
        try:
            entry, _ = await self.find(name, stack_name)
        except ApiError as error:
            if error.code == "ChangeSetNotFound":
                return
            raise
        await self._sets.delete(entry)


def _stack_arn(id_: str) -> str:
    return f"stack/{id_}"


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> set[str]:
    return {name for name in (*before, *after) if before.get(name) != after.get(name)}
