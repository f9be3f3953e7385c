"""The differences between a stack and a plan, as a change set shows them.

Source: recorded answers to DescribeChangeSet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from statewright.payload import Json, JsonObject, dump_json
from statewright.projects.deploy.kinds import Known
from statewright.projects.deploy.making import Making
from statewright.projects.evaluation import Unresolved, target_of
from statewright.projects.intrinsics import resolve
from statewright.stacks.journal import STACK_TYPE
from statewright.stacks.planning.plans import Plan, Planned
from statewright.stacks.planning.templates import names_in
from statewright.stacks.records import Made, ResourceEntry
from statewright.stacks.references import known_of, no_call
from statewright.stacks.types import is_fixed

LATER: Final = "{{changeSet:KNOWN_AFTER_APPLY}}"
_ALWAYS: Final = "Always"
_REPLACEMENT: Final = {
    (False, False): "False", (False, True): "False", (True, True): "True", (True, False): "Conditional",
}  # fmt: skip
"""Source: API reference, ResourceChange."""
_AUTOMATIC: Final[JsonObject] = {
    "ChangeSource": "Automatic", "Evaluation": "Dynamic",
    "Target": {"Attribute": "Properties", "RequiresRecreation": "Never"},
}  # fmt: skip
"""The template of a nested stack may have changed. Source: API reference, ResourceChangeDetail."""
_RETAINED: Final = ("Retain", "RetainExceptOnCreate", "Snapshot")


@dataclass(frozen=True, slots=True)
class Difference:
    """The parameters whose values change, and whether changes show the values of properties."""

    parameters: Collection[str] = ()
    with_values: bool = False


@dataclass(slots=True)
class _Comparing:
    """Resources of a plan that change, in its order: by id, whether another one takes their place."""

    rows: Mapping[str, Made]
    given: Difference
    replaced: dict[str, bool] = field(default_factory=dict)

    def later(self) -> dict[str, Known]:
        """The values of references that are known before the change."""
        return {id_: known_of(one) for id_, one in self.rows.items() if not self.replaced.get(id_, False)}


def changes_of(plan: Plan, rows: Mapping[str, ResourceEntry], given: Difference | None = None) -> list[JsonObject]:
    """The changes that make a stack's resources those of a plan, by id."""
    made = {id_: row.now for id_, row in rows.items() if row.now is not None and row.now.ref}
    comparing = _Comparing(made, given or Difference())
    found: dict[str, JsonObject] = {}
    for id_, planned in plan.resources.items():
        before = made.get(id_)
        if before is None:
            found[id_] = _added(planned, comparing)
            comparing.replaced[id_] = True
            continue
        change = _modified(planned, before, comparing)
        if change is not None:
            found[id_] = change
    for id_, before in made.items():
        if id_ not in plan.resources:
            found[id_] = _removed(id_, before, comparing)
    return [{"Type": "Resource", "ResourceChange": found[id_]} for id_ in sorted(found)]


def _added(planned: Planned, comparing: _Comparing) -> JsonObject:
    change: JsonObject = {
        "Action": "Add", "LogicalResourceId": planned.resource.id, "ResourceType": planned.resource.type,
        "Scope": [], "Details": [],
    }  # fmt: skip
    if comparing.given.with_values:
        change["AfterContext"] = _context(_after(planned, comparing), planned.metadata)
    return change


def _removed(id_: str, before: Made, comparing: _Comparing) -> JsonObject:
    change: JsonObject = {
        "Action": "Remove", "LogicalResourceId": id_, "PhysicalResourceId": before.ref, "ResourceType": before.type,
        "PolicyAction": "Retain" if before.deletion in _RETAINED else "Delete", "Scope": [], "Details": [],
    }  # fmt: skip
    if comparing.given.with_values:
        change["BeforeContext"] = _context(before.resolved, before.metadata)
    return change


def _modified(planned: Planned, before: Made, comparing: _Comparing) -> JsonObject | None:
    resource = planned.resource
    after = _after(planned, comparing)
    details: list[JsonObject] = []
    is_another, is_certain = before.type != resource.type, True
    for name in _changed(planned, before, after, comparing):
        fixed = is_fixed(resource.type, name)
        target = _target(name, before, after, fixed, comparing.given.with_values)
        found = list(_details(name, planned, before, target, comparing))
        details += found
        if fixed:
            is_certain = is_certain and any(one["Evaluation"] == "Static" for one in found)
            is_another = True
    if resource.type == STACK_TYPE:
        details.append(_AUTOMATIC)
    scope = list(dict.fromkeys(one["Target"]["Attribute"] for one in details))
    if before.type != resource.type and "Properties" not in scope:
        scope.insert(0, "Properties")
    if before.metadata != planned.metadata:
        scope.append("Metadata")
        details.append(
            {
                "ChangeSource": "DirectModification", "Evaluation": "Static",
                "Target": {"Attribute": "Metadata", "RequiresRecreation": "Never"},
            }
        )  # fmt: skip
    if not scope:
        return None
    comparing.replaced[resource.id] = is_another
    change: JsonObject = {
        "Action": "Modify", "LogicalResourceId": resource.id, "PhysicalResourceId": before.ref,
        "ResourceType": resource.type, "Replacement": _REPLACEMENT[is_another, is_certain], "Scope": scope,
        "Details": details,
    }  # fmt: skip
    if is_another:
        retained = planned.replacing in _RETAINED
        change["PolicyAction"] = "ReplaceAndRetain" if retained else "ReplaceAndDelete"
    if comparing.given.with_values:
        change["BeforeContext"] = _context(before.resolved, before.metadata)
        change["AfterContext"] = _context(after, planned.metadata)
    return change


def _changed(planned: Planned, before: Made, after: Json, comparing: _Comparing) -> Iterator[str]:
    """The properties that change or may change."""
    was = before.resolved if isinstance(before.resolved, dict) else {}
    now = after if isinstance(after, dict) else {}
    folded = planned.resource.properties if isinstance(planned.resource.properties, dict) else {}
    for name in dict.fromkeys((*was, *now)):
        if was.get(name) != now.get(name) or any(_moved(folded.get(name), comparing)):
            yield name


def _moved(value: Json, comparing: _Comparing) -> Iterator[tuple[str, bool]]:
    """The attributes in a value that change with their resource, `Foo.Arn`, and whether that is certain."""
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            pending.extend(part)
        elif isinstance(part, dict):
            target = target_of(part["Fn::GetAtt"]) if len(part) == 1 and "Fn::GetAtt" in part else None
            if target is not None and target[0] in comparing.replaced and target[0] in comparing.rows:
                yield f"{target[0]}.{target[1]}", comparing.replaced[target[0]]
            pending.extend(part.values())


def _details(
    name: str, planned: Planned, before: Made, target: JsonObject, comparing: _Comparing
) -> Iterator[JsonObject]:
    folded = planned.resource.properties if isinstance(planned.resource.properties, dict) else {}
    written = planned.written if isinstance(planned.written, dict) else {}
    moved = list(_moved(folded.get(name), comparing))
    for entity, is_certain in moved:
        evaluation = "Static" if is_certain else "Dynamic"
        yield {
            "CausingEntity": entity, "ChangeSource": "ResourceAttribute", "Evaluation": evaluation, "Target": target,
        }  # fmt: skip
    used = names_in(written.get(name))
    replaced = [one for one in used if comparing.replaced.get(one) and one in comparing.rows]
    for entity in replaced if not moved else ():
        yield {
            "CausingEntity": entity, "ChangeSource": "ResourceReference", "Evaluation": "Static", "Target": target,
        }  # fmt: skip
    was = before.folded if isinstance(before.folded, dict) else {}
    if was.get(name) == folded.get(name) and (replaced or moved):
        return
    causes = [one for one in used if one in comparing.given.parameters]
    for entity in causes:
        yield {
            "CausingEntity": entity, "ChangeSource": "ParameterReference", "Evaluation": "Static", "Target": target,
        }  # fmt: skip
    yield {
        "ChangeSource": "DirectModification", "Evaluation": "Dynamic" if causes else "Static", "Target": target,
    }  # fmt: skip


def _target(name: str, before: Made, after: Json, fixed: bool, with_values: bool) -> JsonObject:
    again = _ALWAYS if fixed else "Never"
    target: JsonObject = (
        {"Attribute": "Tags", "RequiresRecreation": again}
        if name == "Tags"
        else {"Attribute": "Properties", "Name": name, "RequiresRecreation": again}
    )
    if with_values:
        was = before.resolved.get(name) if isinstance(before.resolved, dict) else None
        now = after.get(name) if isinstance(after, dict) else None
        kind = "Add" if was is None else "Remove" if now is None else "Modify"
        target.update(Path=f"/Properties/{name}", AttributeChangeType=kind)
        if was is not None:
            target["BeforeValue"] = was if isinstance(was, str) else dump_json(was)
        if now is not None:
            target["AfterValue"] = now if isinstance(now, str) else dump_json(now)
    return target


def _after(planned: Planned, comparing: _Comparing) -> Json:
    """The properties as they will be, with a text for what is known only later."""
    try:
        return _Guess(comparing.later()).value(planned.resource.properties)
    except Unresolved:
        return planned.resource.properties


def _context(properties: Json, metadata: Json) -> str:
    shown: JsonObject = {"Properties": properties if properties is not None else {}}
    if metadata is not None:
        shown["Metadata"] = metadata
    return dump_json(shown)


class _Guess:
    """References before the change: a text stands for those that it makes known."""

    def __init__(self, known: Mapping[str, Known]) -> None:
        self._known = known
        self._making = Making(no_call, "", "", known)

    def value(self, value: Json) -> Json:
        """A value without functions. Raises: Unresolved."""
        return resolve(value, self)

    def ref(self, id: str) -> Json:
        """The value of `Ref`."""
        return self._making.ref(id) if id in self._known else LATER

    def attribute(self, id: str, name: str) -> Json:
        """The value of `Fn::GetAtt`."""
        try:
            return self._making.attribute(id, name) if id in self._known else LATER
        except Unresolved:
            return LATER
