"""One template from its file to a finished stack, with the stacks nested in it.

Owns the order of the steps: parameters, loops, nested stacks, resources, serverless types, outputs, local files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from statewright.payload import Json
from statewright.projects import expansion
from statewright.projects.artifacts import Locate, attach, local_path
from statewright.projects.cloudformation import Identity, Stack
from statewright.projects.evaluation import LATER, Unresolved
from statewright.projects.sam import template as sam
from statewright.projects.sources import Sources, Steps, Template, meant
from statewright.projects.supported import NESTED

DEEPEST: Final = 5
"""How many stacks may be nested in each other. Ours."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The context that all stacks of a project share. `imports` gives the value of another stack's export.

    `stored` are the values of parameters that name an entry of the parameter store; without them deployment looks.
    A template that `is_served` was sent to a server: it names no local files, and stacks in it are resources.
    """

    sources: Sources
    locate: Locate | None = None
    imports: Callable[[str], Json] | None = None
    stored: Mapping[str, str] | None = None
    is_served: bool = False
    include: Callable[[Json], Json] | None = None
    """Returns the value at the location of an `AWS::Include` of a served template. Raises: Unresolved."""


def read_stack(
    template: Template,
    identity: Identity,
    setting: Setting,
    parameters: Mapping[str, Json] | None = None,
    *,
    prefix: str = "",
    depth: int = 0,
    value: Mapping[str, Json] | None = None,
    origins: Mapping[str, Steps] | None = None,
    generated: Mapping[str, str] | None = None,
) -> Stack:
    """Read a template; its problems are reported to the sources.

    `prefix` stands before the ids of a nested stack's resources. `value` is the template that the file stands for where
    it is none itself; `origins` then gives the places of its resources in the file, and `generated` which other names
    they have.
    """
    stack = Stack(
        template, identity, setting.sources, parameters=parameters, imports=setting.imports, stored=setting.stored,
        is_served=setting.is_served,
        prefix=prefix,
    )  # fmt: skip
    stack.origins.update(origins or {})
    if value is not None:
        stack.value = value
    elif not isinstance(template.value, dict):
        setting.sources.error(template.place(), "a template must be an object with Resources")
        return stack
    own = stack.section("Resources")
    stack.generated.update({name: id_ for name, id_ in (generated or {}).items() if name not in own})
    stack.read_parameters()
    expansion.expand(stack, setting.include, is_served=setting.is_served)
    children = None if setting.is_served else _Children(stack, setting, depth)
    sam.name_generated(stack)
    sam.without_lost(stack)
    stack.read_resources()
    is_serverless = sam.is_serverless(stack)
    if is_serverless:
        sam.transform(stack)
        if setting.is_served:
            sam.add_roles(stack)
    if children is not None:
        children.read_all()
    stack.read_outputs()
    if is_serverless:
        sam.add_referenced(stack)
    attach(stack, setting.locate, is_served=setting.is_served)
    if children is not None:
        children.merge()
    return stack


class _Children:
    """The stacks nested in one, each read when an output is first needed, at the latest in the end."""

    def __init__(self, parent: Stack, setting: Setting, depth: int) -> None:
        self._parent = parent
        self._setting = setting
        self._depth = depth
        self._read: dict[str, Stack | None] = {}
        self._remote: set[str] = set()
        for id_, body in parent.section("Resources").items():
            kind = body.get("Type") if isinstance(body, dict) else None
            if isinstance(kind, str) and kind in NESTED:
                parent.nested[id_] = partial(self._output, id_)

    def read_all(self) -> None:
        """Read those whose condition keeps them."""
        for id_ in self._parent.nested:
            if self._parent.prefix + id_ in self._parent.resources:
                self._child(id_)

    def merge(self) -> None:
        """Put the nested resources in the place of their stacks."""
        parent = self._parent
        inner: dict[str, tuple[str, ...]] = {}
        for id_, child in self._read.items():
            own = parent.prefix + id_
            if own not in parent.resources or child is None:
                continue
            waited = parent.resources.pop(own).depends_on
            parent.missing[own] = "which is a nested stack: refer to its Outputs"
            inner[own] = tuple(child.resources)
            for resource in child.resources.values():
                # What the whole nested stack waits for, each of its resources waits for.
                needs = tuple(dict.fromkeys((*resource.depends_on, *waited)))
                parent.resources[resource.id] = replace(resource, depends_on=needs)
            parent.spoilt |= child.spoilt
            parent.missing = {**child.missing, **parent.missing}
        for resource in list(parent.resources.values()):
            if any(need in inner for need in resource.depends_on):
                needs = tuple(other for need in resource.depends_on for other in inner.get(need, (need,)))
                parent.resources[resource.id] = replace(resource, depends_on=needs)

    def _output(self, id_: str, name: str) -> Json:
        child = self._child(id_)
        if id_ in self._remote:
            return LATER
        if child is None:
            raise Unresolved(f"the nested stack {id_} cannot be read, so its output {name} is not known")
        if name not in child.outputs:
            raise Unresolved(f"the nested stack {id_} has no output {name}{meant(name, child.outputs)}")
        return child.outputs[name]

    def _child(self, id_: str) -> Stack | None:
        if id_ not in self._read:
            # A stack that needs its own output while it is read finds nothing.
            self._read[id_] = None
            self._read[id_] = self._nested(id_)
        return self._read[id_]

    def _nested(self, id_: str) -> Stack | None:
        parent = self._parent
        body = parent.body(parent.prefix + id_)
        steps = (*parent.steps(id_), "Properties")
        place = parent.place(steps)
        given = body.get("Properties")
        given = given if isinstance(given, dict) else {}
        member = NESTED[body["Type"]]
        location = parent.fold(given.get(member), (*steps, member), parent.prefix + id_)
        path = local_path(parent, parent.prefix + id_, location, self._setting.locate)
        if path is None:
            parent.sources.warning(place, f"the nested stack {id_} has no local template: its resources are missing")
            self._remote.add(id_)
            return None
        properties: Json = parent.fold(given, steps, parent.prefix + id_)
        if self._depth >= DEEPEST:
            parent.sources.error(place, f"stacks are nested more than {DEEPEST} deep, at {id_}")
            return None
        template = parent.sources.template(Path(path), place)
        if template is None:
            return None
        identity = replace(parent.identity, name=f"{parent.identity.name}-{id_}")
        values = properties.get("Parameters")
        return read_stack(
            template,
            identity,
            self._setting,
            values if isinstance(values, dict) else {},
            prefix=f"{parent.prefix}{id_}",
            depth=self._depth + 1,
        )
