"""One operation of a stack, from any point at which it may have been interrupted, to its end.

1. The stack's row names the operation and its phase; each phase may be begun again.
2. A resource's row says that it is under way before anything is made, with the name that it gets: an applier that runs
   again finds what the first one made by that name.
3. A resource that is done names the operation, so that it is not touched again.
4. Nothing is deleted before the new resources are there: a rollback finds what was replaced or is no longer wanted.

Events are in the service's words. Source: recorded events; CloudFormation user guide, "Stack failure options".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from statewright.clock import Clock
from statewright.errors import ApiError
from statewright.projects.deploy.registry import kind_of
from statewright.projects.supported import is_custom
from statewright.stacks.deleting import Deleting
from statewright.stacks.index import GONE
from statewright.stacks.journal import STACK_TYPE, Change, Journal, Live, Said
from statewright.stacks.operations import Halted
from statewright.stacks.outputs import outputs_of
from statewright.stacks.planning.planner import Planner
from statewright.stacks.planning.plans import Plan, Planned
from statewright.stacks.policies import Verb, denial
from statewright.stacks.records import Kept, Made, Operation, Phase, ResourceEntry, StackEntry, is_stopped
from statewright.stacks.references import references_of
from statewright.stacks.resources import ResourceFailed, Resources, fixed_changes
from statewright.stores import fail_points

DONE: Final = frozenset({"CREATE_COMPLETE", "UPDATE_COMPLETE"})
ASKED: Final = "Rollback requested by user."
TOO_LONG: Final = f"Stack creation time exceeded the specified timeout. {ASKED}"
INITIATED: Final = "Resource creation Initiated"
REPLACING: Final = "Requested update requires the creation of a new physical resource; hence creating one."


class Running:
    """Runs the operation of one stack."""

    def __init__(self, live: Live, journal: Journal, planner: Planner, resources: Resources, clock: Clock) -> None:
        self._live = live
        self._journal = journal
        self._planner = planner
        self._resources = resources
        self._clock = clock
        self._deleting = Deleting(live, journal, resources, clock)

    async def run(self) -> None:
        """Run it to its end. Raises: StoreError."""
        phases = {
            "apply": self._apply,
            "cleanup": self._clean_up,
            "rollback": self._roll_back,
            "rollback-cleanup": self._clean_up_after_rollback,
            "delete": self._delete_all,
        }
        while self._live.stack.operation is not None:
            await phases[self._live.stack.operation.phase]()

    @property
    def _operation(self) -> Operation:
        operation = self._live.stack.operation
        assert operation is not None
        return operation

    # ------------------------------------------------------------------ making

    async def _apply(self) -> None:
        stack = self._live.stack
        assert stack.source is not None
        try:
            plan = await self._planner.plan(stack, stack.source)
        except ApiError as error:
            await self._failed(f"{error.message} {ASKED}")
            return
        if plan.lacking:
            await self._failed(f"No export named {plan.lacking[0]} found. {ASKED}")
            return
        for number, planned in enumerate(plan.resources.values()):
            if await self._is_ended():
                return
            try:
                await self._one(planned, number)
            except ResourceFailed:
                if await self._is_ended():
                    return
                verb = "create" if self._live.rows[planned.resource.id].status == "CREATE_FAILED" else "update"
                words = f"The following resource(s) failed to {verb}: [{planned.resource.id}]. "
                await self._failed(words if self._operation.keeps_failed else f"{words}{ASKED}")
                return
        if not await self._is_ended():
            await self._finish(plan)

    async def _is_ended(self) -> bool:
        """True if nothing more is to be made: the operation was cancelled, became a deletion, or took too long."""
        operation = self._operation
        if operation.phase != "apply":
            return True
        if not is_stopped(operation, self._clock.now_ms()):
            return False
        await self._failed("User Initiated" if operation.cancelled else TOO_LONG)
        return True

    async def _finish(self, plan: Plan) -> None:
        """The stack has its resources: its outputs follow, and the deletion of what it no longer has."""
        for row in list(self._live.rows.values()) if self._operation.kind == "update" else ():
            if row.id not in plan.resources and row.now is not None:
                try:
                    await self._allow("Delete", row, row.number, row.now)
                except ResourceFailed:
                    await self._failed(f"The following resource(s) failed to update: [{row.id}]. {ASKED}")
                    return
        try:
            outputs = await outputs_of(plan, self._live.stack, self._made(), self._planner, self._resources)
        except ResourceFailed as problem:
            await self._failed(f"{problem} {ASKED}")
            return
        now_ms = self._clock.now_ms()
        if self._operation.kind == "create":

            def complete(stack: StackEntry) -> StackEntry:
                return replace(
                    stack, status="CREATE_COMPLETE", reason="", outputs=outputs, imports=plan.imports, operation=None,
                    description=plan.description, before=None,
                )  # fmt: skip

            await self._end(complete, Said("CREATE_COMPLETE"))
            return

        is_held = bool(self._live.stack.under)

        def clean(stack: StackEntry) -> StackEntry:
            kept = Kept(stack.outputs, stack.imports, stack.description) if is_held else None
            return replace(
                stack, status="UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", reason="", outputs=outputs, imports=plan.imports,
                description=plan.description, updated_ms=now_ms, before=stack.before if is_held else None, kept=kept,
                operation=replace(self._operation, phase="cleanup"),
                policy=self._operation.policy_after or stack.policy,
            )  # fmt: skip

        gone = [row for id_, row in self._live.rows.items() if id_ not in plan.resources]
        marked = [replace(row, operation=f"{self._operation.id} gone") for row in gone]
        said = Said("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS")
        await self._journal.save(self._live, clean, rows=marked, events=[said], under_way=False if is_held else None)
        if is_held:
            # The update of the parent may still fail: what was replaced stays until the parent has this cleaned up.
            raise Halted

    async def _one(self, planned: Planned, number: int) -> None:
        """Make one resource what it is to be. Raises: ResourceFailed once its failure is written."""
        id_ = planned.resource.id
        row = self._live.rows.get(id_)
        is_resumed = row is not None and row.operation == self._operation.id
        if row is not None and is_resumed and row.status in DONE:
            return
        before = row.before if row is not None and is_resumed else row.now if row is not None else None
        if before is None or not before.ref:
            await self._create(planned, number, row if is_resumed else None, row)
        else:
            assert row is not None
            await self._change(planned, number, row, before, is_resumed=is_resumed)

    async def _create(
        self, planned: Planned, number: int, resumed: ResourceEntry | None, old: ResourceEntry | None
    ) -> None:
        stack, id_, kind = self._live.stack, planned.resource.id, planned.resource.type
        operation = self._operation.id
        fresh = ResourceEntry(
            stack.id, id_, number, "CREATE_IN_PROGRESS", self._clock.now_ms(), operation=operation,
            stored=old.stored if old is not None else 0,
        )  # fmt: skip
        refs = references_of(self._made(besides=id_))
        name = resumed.now.name if resumed is not None and resumed.now is not None else ""
        try:
            target = await self._resources.wanted(stack, planned, refs, name)
        except ResourceFailed as problem:
            begun = Said("CREATE_IN_PROGRESS", logical=id_, type=kind)
            await self._fail_one(replace(fresh, now=Made(kind, "")), "CREATE_FAILED", problem, begun)
            raise
        begun = Said("CREATE_IN_PROGRESS", logical=id_, type=kind, properties=target.resolved)
        if resumed is None:
            if await self._resources.exists(id_, target):
                taken = ResourceFailed(f"{target.name} already exists")
                await self._fail_one(replace(fresh, now=replace(target, name="")), "CREATE_FAILED", taken, begun)
                raise taken
            initiated = replace(begun, physical=target.ref, reason=INITIATED)
            events = [begun, initiated] if target.ref else [begun]
            await self._journal.save(self._live, rows=[replace(fresh, now=target)], events=events)
        fail_points.passed(fail_points.BEFORE_RESOURCE)
        try:
            made = await self._resources.make(stack, id_, target, None, refs, is_resumed=resumed is not None)
        except ResourceFailed as problem:
            await self._fail_one(self._live.rows[id_], "CREATE_FAILED", problem)
            raise
        fail_points.passed(fail_points.AFTER_RESOURCE)
        done = replace(begun, physical=made.ref, reason=made.lost)
        events = [done] if target.ref else [replace(done, reason=INITIATED), done]
        await self._done(made, "CREATE_COMPLETE", *events)

    async def _change(
        self, planned: Planned, number: int, row: ResourceEntry, before: Made, *, is_resumed: bool
    ) -> None:
        stack, id_, type_ = self._live.stack, planned.resource.id, planned.resource.type
        refs = references_of(self._made(besides=id_))
        known = row.now.name if is_resumed and row.now is not None else before.name if before.type == type_ else ""
        try:
            target = await self._resources.wanted(stack, planned, refs, known)
        except ResourceFailed as problem:
            begun = Said("UPDATE_IN_PROGRESS", logical=id_, type=type_, physical=before.ref)
            await self._fail_one(self._under_way(row, number, before, before), "UPDATE_FAILED", problem, begun)
            raise
        if before.type == type_ == STACK_TYPE:
            target = replace(target, ref=before.ref)
        if not is_resumed and type_ != STACK_TYPE and not _differs(before, target):
            await self._keep(row, number, before, target)
            return
        replaces = before.type != target.type or bool(fixed_changes(before, target))
        begun = Said(
            "UPDATE_IN_PROGRESS", REPLACING if replaces else "", id_, before.ref, type_, target.resolved
        )  # fmt: skip
        if not is_resumed and _differs(before, target):
            await self._allow("Replace" if replaces else "Modify", row, number, before, begun)
        if replaces and not is_resumed:
            target = await self._in_its_place(planned, row, before, target, begun)
        if not is_resumed:
            await self._journal.save(self._live, rows=[self._under_way(row, number, before, target)], events=[begun])
        fail_points.passed(fail_points.BEFORE_RESOURCE)
        try:
            made = await self._resources.make(
                stack, id_, target, None if replaces else before, refs, is_resumed=is_resumed and replaces
            )
        except ResourceFailed as problem:
            await self._fail_one(self._live.rows[id_], "UPDATE_FAILED", problem)
            raise
        fail_points.passed(fail_points.AFTER_RESOURCE)
        # A provider replaces a custom resource by another id.
        replaces = replaces or (is_custom(type_) and made.ref != before.ref)
        new = replace(begun, physical=made.ref, reason=made.lost)
        events = [replace(new, reason=INITIATED), new] if replaces else [new]
        await self._done(made, "UPDATE_COMPLETE", *events, old=[before] if replaces else ())

    async def _allow(self, verb: Verb, row: ResourceEntry, number: int, before: Made, *begun: Said) -> None:
        """Refuse what the stack policy denies. Raises: ResourceFailed once that is written."""
        policy = self._operation.policy or self._live.stack.policy
        reason = denial(policy, verb, row.id, before.type)
        if reason:
            denied = ResourceFailed(reason)
            await self._fail_one(self._under_way(row, number, before, before), "UPDATE_FAILED", denied, *begun)
            raise denied

    async def _in_its_place(
        self, planned: Planned, row: ResourceEntry, before: Made, target: Made, begun: Said
    ) -> Made:
        """A resource that takes another's place: under another name. Raises: ResourceFailed once that is written."""
        id_, kind = planned.resource.id, kind_of(target.type)
        refused = None
        if target.name == before.name and before.type == target.type and not before.lost:
            if isinstance(target.resolved, dict) and kind.name and target.resolved.get(kind.name):
                refused = ResourceFailed(
                    "CloudFormation cannot update a stack when a custom-named resource requires replacing. Rename "
                    f"{target.name} and update the stack again."
                )
            else:
                refs = references_of(self._made(besides=id_))
                target = await self._resources.wanted(self._live.stack, planned, refs)
        if refused is None and await self._resources.exists(id_, target):
            refused = ResourceFailed(f"{target.name} already exists")
        if refused is not None:
            under_way = self._under_way(row, row.number, before, before)
            await self._fail_one(under_way, "UPDATE_FAILED", refused, begun)
            raise refused
        return target

    def _under_way(self, row: ResourceEntry, number: int, before: Made, target: Made) -> ResourceEntry:
        return replace(
            row, number=number, status="UPDATE_IN_PROGRESS", updated_ms=self._clock.now_ms(), reason="",
            operation=self._operation.id, now=target, before=before,
        )  # fmt: skip

    async def _keep(self, row: ResourceEntry, number: int, before: Made, target: Made) -> None:
        """Nothing changes but what the stack itself knows of a resource."""
        kept = replace(
            before, folded=target.folded, needs=target.needs, deletion=target.deletion, replacing=target.replacing,
            metadata=target.metadata,
        )  # fmt: skip
        if kept != before or row.number != number:
            await self._journal.save(self._live, rows=[replace(row, number=number, now=kept)])

    async def _done(self, made: Made, status: str, *events: Said, old: Iterable[Made] = ()) -> None:
        id_ = events[-1].logical
        row = self._live.rows[id_]
        changed = replace(
            row, status=status, reason=made.lost, updated_ms=self._clock.now_ms(), now=made, old=[*row.old, *old]
        )
        last = replace(events[-1], status=status)
        await self._journal.save(self._live, rows=[changed], events=[*events[:-1], last])

    async def _fail_one(self, row: ResourceEntry, status: str, problem: ResourceFailed, *begun: Said) -> None:
        """Write the failure of a resource. What was made of it nevertheless is deleted with the rest."""
        now = problem.partly
        if now is None and row.now is not None:
            now = replace(row.now, ref="") if row.before is None else row.before
        failed = replace(row, status=status, reason=str(problem), updated_ms=self._clock.now_ms(), now=now)
        said = Said(
            status, str(problem), row.id, now.ref if now is not None else "",
            row.now.type if row.now is not None else "", row.now.resolved if row.now is not None else None,
        )  # fmt: skip
        await self._journal.save(self._live, rows=[failed], events=[*begun, said])

    # ------------------------------------------------------------------ failing

    async def _failed(self, reason: str) -> None:
        """The stack cannot become what it was to be: undo, delete or leave it, as its operation says."""
        operation = self._operation
        if operation.kind == "create" and operation.on_failure == "DELETE":
            await self._turn("delete", "DELETE_IN_PROGRESS", reason)
        elif operation.keeps_failed:
            status = "CREATE_FAILED" if operation.kind == "create" else "UPDATE_FAILED"
            await self._resources.nested.release(self._live.stack, self._live.rows.values())
            await self._end(
                lambda stack: replace(stack, status=status, reason=reason, operation=None), Said(status, reason)
            )
        elif operation.kind == "create":
            await self._turn("rollback", "ROLLBACK_IN_PROGRESS", reason)
        else:
            await self._turn("rollback", "UPDATE_ROLLBACK_IN_PROGRESS", reason)

    async def _turn(self, phase: Phase, status: str, reason: str = "") -> None:
        def turned(stack: StackEntry) -> StackEntry:
            return replace(stack, status=status, reason=reason, operation=replace(self._operation, phase=phase))

        await self._journal.save(self._live, turned, events=[Said(status, reason)])

    async def _end(self, change: Change, said: Said) -> None:
        """The operation has ended."""
        await self._journal.save(self._live, change, events=[said], under_way=False)
        await self._resources.providers.forget(self._live.stack.id)

    async def _halt(self, status: str, reason: str) -> None:
        """Stop at a failure from which a request may continue. Raises: Halted."""
        await self._end(lambda stack: replace(stack, status=status, reason=reason), Said(status, reason))
        raise Halted

    # ------------------------------------------------------------------ undoing

    async def _roll_back(self) -> None:
        if self._operation.kind == "create":
            await self._undo_creation()
        else:
            await self._undo_update()

    async def _undo_creation(self) -> None:
        failed = await self._deleting.rows(list(self._live.rows.values()), is_rollback=True)
        status = "ROLLBACK_FAILED" if failed else "ROLLBACK_COMPLETE"
        reason = _not_deleted(failed)
        await self._end(
            lambda stack: replace(stack, status=status, reason=reason, operation=None), Said(status, reason)
        )

    async def _undo_update(self) -> None:
        operation = self._operation
        undone = f"{operation.id} undone"
        own = (operation.id, _undoing(operation))
        touched = [one for one in self._live.rows.values() if one.operation in own and one.before is not None]
        for row in sorted(touched, key=lambda one: one.number):
            if row.id in operation.skipped:
                now = row.now
                await self._journal.save(
                    self._live, rows=[replace(row, status="UPDATE_COMPLETE", operation=undone, now=now, before=None)]
                )
                continue
            try:
                await self._restore(row, undone)
            except ResourceFailed as problem:
                now = row.before
                assert now is not None
                said = Said("UPDATE_FAILED", str(problem), row.id, now.ref, now.type, now.resolved)
                failed = replace(row, status="UPDATE_FAILED", reason=str(problem), updated_ms=self._clock.now_ms())
                reason = f"The following resource(s) failed to update: [{row.id}]. "
                await self._journal.save(self._live, rows=[failed], events=[said])
                await self._halt("UPDATE_ROLLBACK_FAILED", reason)
        await self._turn("rollback-cleanup", "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS")

    async def _restore(self, row: ResourceEntry, undone: str) -> None:
        """Make a resource what it was before the update. Raises: ResourceFailed."""
        before, now = row.before, row.now
        assert before is not None
        begun = Said("UPDATE_IN_PROGRESS", "", row.id, before.ref, before.type, before.resolved)
        is_replaced = before in row.old
        undoing = _undoing(self._operation)
        if row.operation != undoing:
            now_ms = self._clock.now_ms()
            under_way = replace(row, status="UPDATE_IN_PROGRESS", updated_ms=now_ms, operation=undoing)
            await self._journal.save(self._live, rows=[under_way], events=[begun])
        row = self._live.rows[row.id]
        fail_points.passed(fail_points.BEFORE_RESOURCE)
        old = [one for one in row.old if one != before]
        if is_replaced or (now is not None and (now.type, now.name) != (before.type, before.name)):
            # The old one is still there; the new one goes with the cleanup.
            made, old = before, [*old, *([now] if now is not None else [])]
        else:
            refs = references_of(self._made(besides=row.id))
            made = await self._resources.make(self._live.stack, row.id, before, now or before, refs)
        fail_points.passed(fail_points.AFTER_RESOURCE)
        restored = replace(
            row, status="UPDATE_COMPLETE", reason="", updated_ms=self._clock.now_ms(), now=made, before=None,
            operation=undone, old=old,
        )  # fmt: skip
        await self._journal.save(self._live, rows=[restored], events=[replace(begun, status="UPDATE_COMPLETE")])

    async def _clean_up_after_rollback(self) -> None:
        operation = self._operation
        created = [one for one in self._live.rows.values() if one.operation == operation.id and one.before is None]
        await self._deleting.rows(created, forgets=True, is_rollback=True)
        # One that the rollback skipped still waits with its cleanup.
        await self._resources.nested.release(self._live.stack, self._live.rows.values())
        await self._deleting.old()

        def restored(stack: StackEntry) -> StackEntry:
            kept = stack.kept or Kept(stack.outputs, stack.imports, stack.description)
            return replace(
                stack, status="UPDATE_ROLLBACK_COMPLETE", reason="", operation=None, source=stack.before, before=None,
                outputs=kept.outputs, imports=kept.imports, description=kept.description, kept=None,
                updated_ms=self._clock.now_ms(),
            )  # fmt: skip

        await self._end(restored, Said("UPDATE_ROLLBACK_COMPLETE"))

    # ------------------------------------------------------------------ deleting

    async def _clean_up(self) -> None:
        gone = [one for one in self._live.rows.values() if one.operation == f"{self._operation.id} gone"]
        await self._resources.nested.release(self._live.stack, self._live.rows.values())
        await self._deleting.old()
        await self._deleting.rows(gone, forgets=True)
        await self._end(
            lambda stack: replace(
                stack,
                status="UPDATE_COMPLETE",
                reason="",
                operation=None,
                updated_ms=self._clock.now_ms(),
                before=None,
                kept=None,
            ),
            Said("UPDATE_COMPLETE"),
        )

    async def _delete_all(self) -> None:
        await self._deleting.old()
        failed = await self._deleting.rows(list(self._live.rows.values()), retain=self._operation.retain)
        reason = _not_deleted(failed)
        if failed:
            await self._end(
                lambda stack: replace(stack, status="DELETE_FAILED", reason=reason, operation=None),
                Said("DELETE_FAILED", reason),
            )
            return
        now_ms = self._clock.now_ms()
        await self._end(
            lambda stack: replace(stack, status=GONE, reason="", operation=None, deleted_ms=now_ms), Said(GONE)
        )

    def _made(self, besides: str = "") -> Mapping[str, Made]:
        """The resources that exist."""
        return {
            id_: row.now
            for id_, row in self._live.rows.items()
            if id_ != besides and row.now is not None and row.now.ref
        }


def _undoing(operation: Operation) -> str:
    """The mark of a resource that a rollback is about to restore."""
    return f"{operation.id} undoing"


def _differs(before: Made, target: Made) -> bool:
    return (
        before.type != target.type
        or before.folded != target.folded
        or before.resolved != target.resolved
        or before.metadata != target.metadata
    )


def _not_deleted(failed: list[str]) -> str:
    return f"The following resource(s) failed to delete: [{', '.join(failed)}]. " if failed else ""
