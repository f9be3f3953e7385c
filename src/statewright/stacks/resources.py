"""Single resources of stacks: made, changed, restored and deleted by the appliers of their types.

Owns names, placeholders, and the texts of failures. The order, and what becomes of the stack, is `running.py`'s.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import DefinitionError, StoreError
from statewright.payload import Json, dump_json
from statewright.projects.deploy.calls import Call, CallRefused
from statewright.projects.deploy.kinds import CannotApply, Kind, Known, LeftOut, Site, Wanted, text_of
from statewright.projects.deploy.making import Making, made
from statewright.projects.deploy.registry import IGNORED, kind_of
from statewright.projects.evaluation import Unresolved
from statewright.projects.functions import CodeError
from statewright.projects.resources import Place, Resource
from statewright.projects.supported import is_custom, is_evaluated
from statewright.stacks.journal import STACK_TYPE
from statewright.stacks.names import MOST_NAME, physical_name
from statewright.stacks.nested import Nested, NestedFailed
from statewright.stacks.operations import BUG
from statewright.stacks.planning.plans import Planned
from statewright.stacks.providers import Providers, Refused
from statewright.stacks.records import Made, StackEntry
from statewright.stacks.references import References, known_of, no_call
from statewright.stacks.threads import Invoke, with_calls
from statewright.stacks.types import is_fixed, lacking
from statewright.tags import tags_of_stacks

T = TypeVar("T")
log = logging.getLogger("statewright.stacks")
_PLACE: Final = Place(Path("template"))


class ResourceFailed(Exception):
    """A resource could not be made, changed or deleted. `partly` is what exists of it nevertheless."""

    def __init__(self, text: str, partly: Made | None = None) -> None:
        super().__init__(text)
        self.partly = partly


class Resources:
    """Makes, changes and deletes resources of one region."""

    def __init__(self, invoke: Invoke, clock: Clock, config: Config, providers: Providers, nested: Nested) -> None:
        self._invoke = invoke
        self.nested: Final = nested
        self.providers: Final = providers
        self._clock = clock
        self._config = config

    async def wanted(self, stack: StackEntry, planned: Planned, refs: References, name: str = "") -> Made:
        """A resource as it is to be made, with a name: the given one, or one that it has already.

        Raises: ResourceFailed.
        """
        resource = planned.resource
        kind = kind_of(resource.type)
        try:
            properties = await self._resolved(resource, refs)
        except (Unresolved, CallRefused) as problem:
            raise ResourceFailed(str(problem)) from None
        given = properties.get(kind.name) if kind.name else None
        is_nested = resource.type == STACK_TYPE
        longest = MOST_NAME if is_nested else kind.longest
        chosen = text_of(given) if given else name or physical_name(stack.name, resource.id, resource.type, longest)
        is_made = is_nested or (resource.type not in IGNORED and (not kind.lost or is_custom(resource.type)))
        return Made(
            resource.type,
            chosen,
            self.nested.arn(stack, resource.id, chosen) if is_nested else "",
            # What has no effect was not evaluated.
            folded=resource.properties if is_made and resource.properties else planned.written,
            resolved=properties,
            needs=resource.depends_on,
            deletion=planned.deletion,
            replacing=planned.replacing,
            metadata=planned.metadata,
        )

    async def exists(self, id: str, target: Made) -> bool:
        """True if a resource with the name that a template gives exists before it is made."""
        kind = kind_of(target.type)
        if not kind.name or kind.lost or not (isinstance(target.resolved, dict) and target.resolved.get(kind.name)):
            return False

        def look(call: Call) -> bool:
            site = self._site(call, is_dry=True)
            try:
                kind.apply(site, self._as_wanted(kind, id, target, None, {}))
            except (
                CallRefused,
                CannotApply,
                LeftOut,
                DefinitionError,
                KeyError,
                TypeError,
                ValueError,
                AttributeError,
            ):
                return False
            return not site.created and not site.replaced

        return await self._run(look)

    async def found(self, id: str, target: Made) -> Made:
        """A resource whose creation was under way, with its reference if it exists."""
        kind = kind_of(target.type)
        if not target.name or kind.lost or target.type in IGNORED:
            return target
        found = await self._run(lambda call: self._found(call, self._as_wanted(kind, id, target, None, {}), kind))
        return target if found is None else replace(target, ref=found.ref, attributes=dict(found.attributes))

    async def make(
        self, stack: StackEntry, id: str, target: Made, before: Made | None, refs: References, *,
        is_resumed: bool = False,
    ) -> Made:  # fmt: skip
        """Make a resource, or change it into what it is to be. Raises: ResourceFailed.

        What an interrupted creation (`is_resumed`) has made already is found again.
        """
        kind = kind_of(target.type)
        if target.type in IGNORED:
            return replace(target, ref=target.name)
        if is_custom(target.type):
            try:
                return await self.providers.make(stack, id, target, before)
            except Refused as refused:
                raise ResourceFailed(str(refused)) from None
        if target.type == STACK_TYPE:
            try:
                return await self.nested.make(stack, id, target, before)
            except NestedFailed as failed:
                raise ResourceFailed(str(failed), target if failed.exists else None) from None
        if kind.lost:
            return self._placeholder(kind, target, kind.lost)
        missing = lacking(target.type, target.resolved)
        if missing and is_evaluated(target.type, target.resolved):
            words = ", ".join(f"The property {{/{name}}} is required" for name in missing)
            raise ResourceFailed(f"Property validation failure: [{words}]")
        tags = {**(stack.source.tags if stack.source is not None else {}), **_own_tags(stack, id)}
        known = known_of(before) if before is not None else None

        def apply(call: Call) -> Known | str:
            site = self._site(call)
            site.resumes = is_resumed
            wanted = self._as_wanted(kind, id, target, known, tags)
            try:
                return made(site, wanted, kind)
            except LeftOut as left:
                return str(left)
            except CallRefused as refused:
                if refused.is_unserved:
                    return refused.message or refused.code
                lost = next((one for one in target.needs if one in refs.noted), None)
                if lost is not None:
                    return f"it uses {lost}, which is a placeholder: {refused.message}"
                raise self._failure(site, kind, wanted, target, refused.message or refused.code) from None
            except DefinitionError as problem:
                words = "; ".join(f"{one.code}: {one.message}" for one in problem.diagnostics[:5])
                raise self._failure(site, kind, wanted, target, words) from None
            except (CannotApply, Unresolved, CodeError, OSError) as problem:
                raise self._failure(site, kind, wanted, target, str(problem)) from None
            except (KeyError, TypeError, ValueError, AttributeError) as problem:
                words = f"its properties do not have the expected form ({type(problem).__name__}: {problem})"
                raise self._failure(site, kind, wanted, target, words) from None

        found = await self._run(apply, stack.operation.host if stack.operation is not None else "")
        if isinstance(found, str):
            return self._placeholder(kind, target, found)
        return replace(target, ref=found.ref, attributes=dict(found.attributes), lost="")

    async def delete(self, stack: StackEntry, id: str, one: Made) -> None:
        """Delete a resource; one that does not exist is deleted. Raises: ResourceFailed."""
        kind = kind_of(one.type)
        if is_custom(one.type) and one.ref:
            try:
                await self.providers.delete(stack, id, one)
            except Refused as refused:
                raise ResourceFailed(str(refused)) from None
            return
        if one.type == STACK_TYPE and one.ref:
            try:
                await self.nested.delete(stack, one)
            except NestedFailed as failed:
                raise ResourceFailed(str(failed)) from None
            return
        remove = kind.remove
        if one.lost or kind.lost or remove is None or one.type in IGNORED or not one.ref:
            return

        def take(call: Call) -> None:
            try:
                remove(self._site(call), known_of(one))
            except CallRefused as refused:
                if not refused.is_missing:
                    raise ResourceFailed(refused.message or refused.code) from None
            except (KeyError, ValueError, IndexError) as problem:
                raise ResourceFailed(f"its row cannot be used: {problem!r}") from None

        await self._run(take)

    async def output(self, value: Json, refs: References) -> str:
        """The value of an output. Raises: Unresolved; CallRefused."""
        found = await self._value(value, refs)
        return "" if found is None else text_of(found)

    # ------------------------------------------------------------------ appliers

    async def _resolved(self, resource: Resource, refs: References) -> dict[str, Json]:
        found = await self._value(resource.properties, refs)
        if not isinstance(found, dict):
            raise Unresolved("its properties must be an object")
        return found

    async def _value(self, value: Json, refs: References) -> Json:
        """A value without functions; the services are asked only for dynamic references."""
        if "{{resolve:" not in dump_json(value, max_depth=1_000):
            return self._making(no_call, refs).value(value)
        return await self._run(lambda call: self._making(call, refs).value(value))

    def _making(self, call: Call, refs: References) -> Making:
        return Making(call, self._config.account, self._config.region, refs.known, refs.noted)

    def _site(self, call: Call, *, is_dry: bool = False) -> Site:
        return Site(call, self._config.account, self._config.region, Path(), is_dry)

    def _as_wanted(self, kind: Kind, id: str, target: Made, before: Known | None, tags: Mapping[str, str]) -> Wanted:
        resource = Resource(id, target.type, target.resolved, tuple(target.needs), _PLACE)
        arn = Making(no_call, self._config.account, self._config.region, {}).arn(kind, target.name)
        return Wanted(resource, target.resolved, target.name, arn, before, tags)

    def _placeholder(self, kind: Kind, target: Made, lost: str) -> Made:
        arn = Making(no_call, self._config.account, self._config.region, {}).arn(kind, target.name)
        ref = arn if kind.ref == "arn" and arn else target.name
        return replace(target, ref=ref, attributes={"Arn": arn} if arn else {}, lost=lost)

    def _failure(self, site: Site, kind: Kind, wanted: Wanted, target: Made, text: str) -> ResourceFailed:
        """The failure of an applier. What it made before is looked up, so that a rollback deletes it."""
        if not site.created or wanted.before is not None:
            return ResourceFailed(text)
        found = self._found(site.call, wanted, kind)
        if found is None:
            return ResourceFailed(text)
        return ResourceFailed(text, replace(target, ref=found.ref, attributes=dict(found.attributes)))

    def _found(self, call: Call, wanted: Wanted, kind: Kind) -> Known | None:
        """A resource that exists already by the name that it was to get."""
        look = self._site(call, is_dry=True)
        try:
            found = made(look, wanted, kind)
        except Exception:
            return None
        return None if look.created else found

    async def _run(self, work: Callable[[Call], T], host: str = "") -> T:
        try:
            with tags_of_stacks():
                return await with_calls(self._clock, self._invoke, work, host)
        except (ResourceFailed, CallRefused, Unresolved, StoreError):
            raise
        except Exception:
            log.exception("a resource of a stack failed")
            raise ResourceFailed(BUG) from None


def _own_tags(stack: StackEntry, id: str) -> dict[str, str]:
    """The tags by which a resource names its stack. Source: user guide, "Resource tags"; recorded."""
    start = "aws:cloudformation:"
    return {f"{start}stack-name": stack.name, f"{start}stack-id": stack.arn, f"{start}logical-id": id}


def fixed_changes(before: Made, target: Made) -> list[str]:
    """The changed properties of a resource that cannot be changed in place."""
    was = before.resolved if isinstance(before.resolved, dict) else {}
    now = target.resolved if isinstance(target.resolved, dict) else {}
    changed = [name for name in dict.fromkeys((*was, *now)) if was.get(name) != now.get(name)]
    return [name for name in changed if is_fixed(target.type, name)]
