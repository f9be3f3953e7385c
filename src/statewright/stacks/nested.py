"""Nested stacks: stacks that are resources of another one, their parent.

1. The ARN of a nested stack derives from the operation that creates it, so that it is known before the stack is made,
   and the stack is found again after a restart.
2. A nested stack runs operations of its own; its row names the parent's operation that began the last one (`under`).
3. An update keeps what it replaced until the parent's update is done: the nested stack halts before its cleanup, and
   the parent has it cleaned up (`release`) or rolled back.

Source: CloudFormation user guide, "Embed stacks within other stacks using nested stacks"; observed events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from statewright.errors import ApiError
from statewright.payload import Json, JsonObject
from statewright.projects.deploy.kinds import text_of
from statewright.stacks.errors import invalid
from statewright.stacks.index import GONE
from statewright.stacks.journal import STACK_TYPE, Journal
from statewright.stacks.operations import Operations, Terms
from statewright.stacks.planning.planner import Planner, Prepared
from statewright.stacks.records import Made, Phase, ResourceEntry, StackEntry

DEEPEST: Final = 5
"""How many stacks may be nested in each other, as in projects. Ours."""
MOST_MINUTES: Final = 2**31 - 1
HELD: Final = "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"
_ROLLED_BACK: Final = "UPDATE_ROLLBACK_COMPLETE"


class NestedFailed(Exception):
    """A nested stack did not become what it was to be. `exists` if it is there nevertheless."""

    def __init__(self, text: str, *, exists: bool = False) -> None:
        super().__init__(text)
        self.exists = exists


def id_of(arn: str) -> str:
    """The id of a stack, by its ARN."""
    return arn.rpartition("/")[2]


class Nested:
    """Makes, changes, restores and deletes nested stacks."""

    def __init__(self, operations: Operations, planner: Planner, journal: Journal) -> None:
        self._operations = operations
        self._planner = planner
        self._journal = journal

    def arn(self, parent: StackEntry, id: str, name: str) -> str:
        """The ARN of a nested stack that the operation under way creates."""
        operation = parent.operation
        assert operation is not None
        return self._operations.derived_arn(name, f"{operation.id} {id} {name}")

    async def make(self, parent: StackEntry, id: str, target: Made, before: Made | None) -> Made:
        """Create a nested stack, change it, or restore it if the parent rolls back. Raises: NestedFailed."""
        operation = parent.operation
        assert operation is not None
        ref = before.ref if before is not None else target.ref
        try:
            if before is None:
                stack = await self._created(parent, target)
            elif operation.phase == "rollback":
                stack = await self._restored(parent, id, ref)
            else:
                stack = await self._updated(parent, target, ref)
        except ApiError as refused:
            raise NestedFailed(refused.message) from None
        return replace(target, ref=ref, attributes={f"Outputs.{one.name}": one.value for one in stack.outputs}, lost="")

    async def delete(self, parent: StackEntry, made: Made) -> None:
        """Delete a nested stack; one that does not exist is deleted. Raises: NestedFailed."""
        id_ = id_of(made.ref)
        await self._operations.ended(id_)
        try:
            async with self._operations.changing:
                stack = await self._operations.by_id(id_)
                if stack is None or stack.status == GONE:
                    return
                await self._planner.check_exports(stack)
                if not self._operations.is_live(id_):
                    await self._operations.begin_delete(stack, self._terms(parent))
        except ApiError as refused:
            raise NestedFailed(refused.message) from None
        stack = await self._at_rest(id_)
        if stack.status != GONE:
            raise NestedFailed(f"Embedded stack {stack.arn} was not successfully deleted: {stack.reason.strip()}")

    async def release(self, parent: StackEntry, rows: Iterable[ResourceEntry]) -> None:
        """Have the nested stacks that wait with their cleanup for the parent's update clean up."""
        for row in rows:
            if row.now is None or row.now.type != STACK_TYPE or not row.now.ref:
                continue
            stack = await self._operations.by_id(id_of(row.now.ref))
            if stack is not None and self._is_held(parent, stack):
                await self._operations.begin(stack, lambda one: one, None, is_told=False)
            if stack is not None:
                await self._operations.ended(stack.id)

    async def cancel(self, rows: Iterable[ResourceEntry]) -> None:
        """Have the updates of nested stacks that are under way end before their next resource."""
        for row in rows:
            if row.now is not None and row.now.type == STACK_TYPE and row.now.ref:
                stack = await self._operations.by_id(id_of(row.now.ref))
                if stack is not None and self._operations.is_live(stack.id):
                    await self._operations.cancel(stack)
                    await self.cancel(await self._operations.resources(stack))

    # ------------------------------------------------------------------ the operations of one

    async def _created(self, parent: StackEntry, target: Made) -> StackEntry:
        id_ = id_of(target.ref)
        if await self._operations.by_id(id_) is None:
            async with self._operations.changing:
                fresh = replace(
                    self._operations.named(target.name, id_), parent=parent.arn, root=parent.root or parent.arn,
                    timeout_minutes=_minutes(target),
                )  # fmt: skip
                prepared = await self._prepared(parent, fresh, target)
                await self._check_depth(parent, prepared)
                await self._planner.plan(fresh, prepared.source, prepared.template)
                await self._operations.begin_create(fresh, prepared, replace(self._terms(parent), keeps_failed=True))
        stack = await self._at_rest(id_)
        if stack.status != "CREATE_COMPLETE":
            words = f"Embedded stack {stack.arn} was not successfully created: {stack.reason.strip()}"
            raise NestedFailed(words, exists=True)
        return stack

    async def _updated(self, parent: StackEntry, target: Made, ref: str) -> StackEntry:
        terms = self._terms(parent)
        stack = await self._existing(ref)
        if stack.under != terms.under:
            async with self._operations.changing:
                stack = await self._existing(ref)
                self._operations.check_updatable(stack)
                prepared = await self._prepared(parent, stack, target)
                await self._check_depth(parent, prepared)
                if await self._operations.is_unchanged(stack, prepared):
                    return stack
                await self._operations.begin_update(stack, prepared, terms)
        stack = await self._at_rest(stack.id)
        if stack.status not in (HELD, "UPDATE_COMPLETE"):
            raise NestedFailed(await self._not_updated(stack))
        return stack

    async def _restored(self, parent: StackEntry, id: str, ref: str) -> StackEntry:
        """Roll back what the parent's update changed."""
        assert parent.operation is not None
        await self._operations.ended(id_of(ref))
        stack = await self._existing(ref)
        skipped = tuple(
            one.partition(".")[2] for one in parent.operation.skipped if one.partition(".")[0] in (id, stack.name)
        )
        if self._is_held(parent, stack):
            await self._roll_back(stack, "rollback", skipped)
        elif stack.status == "UPDATE_ROLLBACK_FAILED" and stack.operation is not None:
            await self._roll_back(stack, stack.operation.phase, skipped)
        stack = await self._at_rest(stack.id)
        if stack.status == "UPDATE_ROLLBACK_FAILED":
            raise NestedFailed(await self._not_updated(stack))
        return stack

    async def _roll_back(self, stack: StackEntry, phase: Phase, skipped: tuple[str, ...]) -> None:
        def begun(one: StackEntry) -> StackEntry:
            assert one.operation is not None
            going = replace(one.operation, phase=phase, skipped=skipped)
            return replace(one, status="UPDATE_ROLLBACK_IN_PROGRESS", reason="", operation=going)

        await self._operations.begin(stack, begun, None)

    def _is_held(self, parent: StackEntry, stack: StackEntry) -> bool:
        return (
            stack.status == HELD
            and stack.operation is not None
            and stack.under == self._terms(parent).under
            and not self._operations.is_live(stack.id)
        )

    async def _at_rest(self, id_: str) -> StackEntry:
        """A nested stack once nothing of it is under way. Raises: NestedFailed."""
        await self._operations.ended(id_)
        stack = await self._operations.by_id(id_)
        if stack is None:
            raise NestedFailed(f"Stack with id {id_} does not exist")
        return stack

    async def _existing(self, ref: str) -> StackEntry:
        stack = await self._operations.by_id(id_of(ref))
        if stack is None or stack.status == GONE:
            raise NestedFailed(f"Stack [{ref}] does not exist")
        return stack

    async def _not_updated(self, stack: StackEntry) -> str:
        status, reason = stack.status, stack.reason
        if status == _ROLLED_BACK:
            # The rollback has ended since: its first event says why it began.
            status = "UPDATE_ROLLBACK_IN_PROGRESS"
            reason = await self._journal.last_reason(stack, status)
        words = f"Embedded stack {stack.arn} was not successfully updated."
        return f"{words} Currently in {status} with reason: {reason.strip()}"

    # ------------------------------------------------------------------ what one is made of

    def _terms(self, parent: StackEntry) -> Terms:
        operation = parent.operation
        assert operation is not None
        return Terms(
            operation.token, operation.keeps_failed, host=operation.host, under=operation.id, due_ms=operation.due_ms
        )

    async def _prepared(self, parent: StackEntry, stack: StackEntry, target: Made) -> Prepared:
        """The source of a nested stack, from its properties. Raises: ApiError."""
        given = target.resolved if isinstance(target.resolved, dict) else {}
        url = given.get("TemplateURL")
        if not isinstance(url, str):
            raise invalid("Property TemplateURL cannot be empty.")
        source = parent.source
        assert source is not None
        parameters, tags = given.get("Parameters"), {**source.tags, **_tags(given.get("Tags"))}
        notified = given.get("NotificationARNs") or []
        if not isinstance(notified, list):
            raise invalid("Value of property NotificationARNs must be of type List")
        request: JsonObject = {
            "Parameters": [
                {"ParameterKey": name, "ParameterValue": _text(value)}
                for name, value in (parameters.items() if isinstance(parameters, dict) else ())
            ],
            "Capabilities": list(source.capabilities),
            "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
            "NotificationARNs": [text_of(one) for one in notified],
            "RoleARN": source.role,
        }  # fmt: skip
        return await self._planner.prepared(stack, await self._planner.at_url(url), request, stack.source)

    async def _check_depth(self, parent: StackEntry, prepared: Prepared) -> None:
        """Refuse a stack that is nested too deeply, or in itself. Raises: ApiError."""
        above: StackEntry | None = parent
        depth = 0
        while above is not None:
            depth += 1
            source = above.source
            if source is not None and _is_same(prepared, source.template, source.parameters):
                raise invalid(f"Template error: the template of {above.arn} contains itself with the same parameters.")
            above = await self._operations.by_id(id_of(above.parent)) if above.parent else None
        if depth > DEEPEST:
            raise invalid(f"Stacks are nested more than {DEEPEST} deep.")


def _is_same(prepared: Prepared, template: str, parameters: Mapping[str, str]) -> bool:
    return id_of(template) == prepared.entry.id and dict(parameters) == dict(prepared.source.parameters)


def _minutes(target: Made) -> int:
    given = target.resolved.get("TimeoutInMinutes") if isinstance(target.resolved, dict) else None
    try:
        minutes = max(int(given), 1) if given is not None else 0
    except (TypeError, ValueError):
        minutes = MOST_MINUTES + 1
    if minutes > MOST_MINUTES:
        raise invalid("Value of property TimeoutInMinutes must be of type Integer")
    return minutes


def _text(value: Json) -> str:
    return ",".join(text_of(one) for one in value) if isinstance(value, list) else text_of(value)


def _tags(given: Json) -> dict[str, str]:
    if isinstance(given, dict):
        return {name: text_of(value) for name, value in given.items()}
    return {
        text_of(one.get("Key")): text_of(one.get("Value"))
        for one in (given if isinstance(given, list) else ())
        if isinstance(one, dict)
    }
