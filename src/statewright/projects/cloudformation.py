"""CloudFormation templates: sections, parameters, conditions, and the stack that they make.

Owns what a template's sections mean, and the names that its functions may use. The functions themselves are in
`intrinsics.py`, loops and includes in `expansion.py`, nested stacks in `nested.py`, the order in `ordering.py`.

Source: CloudFormation user guide, "Template sections".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from statewright import chance
from statewright.payload import Json
from statewright.projects.constraints import LIST_TYPE, PATTERN, TYPE, VALUES, allowed_texts, violated
from statewright.projects.evaluation import LATER, NO_VALUE, Allowance, Lookup, Refused, Unresolved, text_of, waits
from statewright.projects.intrinsics import condition_of, fold, resolve
from statewright.projects.resources import Place, Resource
from statewright.projects.sources import Sources, Steps, Template, meant
from statewright.projects.supported import NESTED, is_custom, is_evaluated, name_property

__all__ = ["Identity", "Lookup", "Stack", "Unresolved", "resolve"]

MOST_CONDITIONS: Final = 50
"""Conditions that are open while another one is evaluated. Ours."""
_SSM: Final = re.compile(r"AWS::SSM::Parameter::Value<(.*)>")
_RETAINED: Final = ("Retain", "RetainExceptOnCreate", "Snapshot")
_CONTROL_ATTRIBUTES: Final = ("Type", "Properties", "DependsOn", "Condition", "DeletionPolicy", "Metadata")


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of a stack. `partition` and `suffix` follow from the region.

    `stack_id` is the ARN of a stack that a server has; that of any other is derived from its name.
    """

    name: str
    account: str
    region: str
    stack_id: str = ""
    notified: tuple[str, ...] = ()

    @property
    def partition(self) -> str:
        """The part of the cloud that ARNs name."""
        if self.region.startswith("cn-"):
            return "aws-cn"
        return "aws-us-gov" if self.region.startswith("us-gov-") else "aws"

    def pseudo(self) -> dict[str, Json]:
        """The pseudo parameters, the same for every reading."""
        unique = chance.uuid_of_name(f"{self.account}/{self.region}/{self.name}")
        arn = f"arn:{self.partition}:cloudformation:{self.region}:{self.account}:stack/{self.name}/{unique}"
        return {
            "AWS::AccountId": self.account,
            "AWS::Region": self.region,
            "AWS::Partition": self.partition,
            "AWS::StackName": self.name,
            "AWS::StackId": self.stack_id or arn,
            "AWS::URLSuffix": "amazonaws.com.cn" if self.partition == "aws-cn" else "amazonaws.com",
            "AWS::NotificationARNs": list(self.notified),
        }


def home_of(path: Path) -> Path:
    """The folder of a project: that of its file, without the hidden folders of a build (`.aws-sam/build`)."""
    folder = path if path.is_dir() else path.parent
    if folder.name == "build" and folder.parent.name == ".aws-sam":
        folder = folder.parent
    return folder.parent if folder.name in (".aws-sam", ".serverless") else folder


def stack_name(path: Path) -> str:
    """The default name of a project: its folder's name, without characters that the service does not allow."""
    folder = home_of(path)
    name = re.sub(r"[^A-Za-z0-9]+", "-", folder.name).strip("-")
    return name if name[:1].isalpha() else f"project-{name}".strip("-")


@dataclass(slots=True)
class _Uses:
    """The places at which each resource refers to others."""

    current: str = ""
    places: dict[tuple[str, str], Steps] = field(default_factory=dict)


class Stack:
    """One template, resolved as far as possible before deployment.

    `resources` are by id, with folded properties and explicit dependencies; `spoilt` are those that cannot be made for
    a reason already reported; `missing` says why names do not exist. `generated` maps names that a transform makes,
    such as `Price.Alias`, to ids; `implied` are resources that one makes only where something refers to them, and
    `used` those of them, and of the given values, that have a use. Ids of a nested stack begin with its `prefix`. It is
    the scope of its own functions.
    """

    def __init__(
        self,
        template: Template,
        identity: Identity,
        sources: Sources,
        *,
        parameters: Mapping[str, Json] | None = None,
        imports: Callable[[str], Json] | None = None,
        stored: Mapping[str, str] | None = None,
        prefix: str = "",
        is_served: bool = False,
    ) -> None:
        self.template = template
        self.prefix = prefix
        self.identity = identity
        self.sources = sources
        self.value: Mapping[str, Json] = template.value if isinstance(template.value, dict) else {}
        self.origins: dict[str, Steps] = {}
        self.resources: dict[str, Resource] = {}
        self.outputs: dict[str, Json] = {}
        self.exports: dict[str, Json] = {}
        self.spoilt: set[str] = set()
        self.missing: dict[str, str] = {}
        self.parameters: dict[str, Json] = {}
        self.nested: dict[str, Callable[[str], Json]] = {}
        self.generated: dict[str, str] = {}
        self.implied: dict[str, Resource] = {}
        self.allowance: Final = Allowance()
        self._imports = imports
        self._stored = stored
        self.is_served = is_served
        self._pseudo = identity.pseudo()
        self._conditions: dict[str, bool | None] = {}
        self._conditions_open = 0
        self._faults: dict[str, str] = {}
        self._unset: dict[str, Place] = {}
        self._is_quiet = False
        self.used: set[str] = set()
        self._uses = _Uses()
        self._given = dict(parameters or {})

    def read_parameters(self) -> None:
        """Give every parameter its value: the given one, else its default.

        One without a value is an error only where something that is evaluated uses it.
        """
        for name, body in self.section("Parameters").items():
            place = self.place(("Parameters", name))
            if not isinstance(body, dict):
                self.sources.error(place, f"the parameter {name} must be an object with a Type")
                continue
            value = self._given.get(name, body.get("Default"))
            if value is None:
                self.missing[name] = "a parameter without a value"
                self._unset[name] = place
                continue
            self.parameters[name] = self._parameter(name, body, value, place)

    def read_resources(self) -> None:
        """Fold every resource that its condition keeps."""
        for id_, body in self.section("Resources").items():
            place = self.place(self.steps(id_))
            if not isinstance(body, dict) or not isinstance(body.get("Type"), str):
                self.sources.error(place, f"the resource {id_} must be an object with a Type")
                self.missing[id_] = "which cannot be read"
                continue
            if self._kept(id_, body, place):
                self.resources[self.prefix + id_] = self._resource(id_, body, place)

    def read_outputs(self) -> None:
        """Fold the outputs, and note which values are exported under which names."""
        for name, body in self.section("Outputs").items():
            steps: Steps = ("Outputs", name)
            if not isinstance(body, dict) or "Value" not in body:
                self.sources.error(self.place(steps), f"the output {name} must be an object with a Value")
                continue
            try:
                if "Condition" in body and not self.condition(str(body["Condition"])):
                    continue
            except Unresolved as problem:
                self.sources.error(self.place((*steps, "Condition")), str(problem))
                continue
            value = self.fold(body["Value"], (*steps, "Value"))
            self.outputs[name] = None if value is NO_VALUE else value
            export = body.get("Export")
            if isinstance(export, dict) and "Name" in export:
                exported = self.fold(export["Name"], (*steps, "Export", "Name"))
                if isinstance(exported, str):
                    self.exports[exported] = self.outputs[name]

    def section(self, name: str) -> Mapping[str, Json]:
        """A section of the template; empty where it is missing or no object."""
        found = self.value.get(name)
        if found is None:
            return {}
        if not isinstance(found, dict):
            self.sources.error(self.place((name,)), f"the section {name} must be an object")
            return {}
        return found

    def steps(self, id_: str) -> Steps:
        """The place of a resource in the template."""
        id_ = id_.removeprefix(self.prefix)
        return self.origins.get(id_, ("Resources", id_))

    def body(self, id_: str) -> Mapping[str, Json]:
        """A resource as it is written; empty for one that a transform has made."""
        found = self.section("Resources").get(id_.removeprefix(self.prefix))
        return found if isinstance(found, dict) else {}

    def names_used(self) -> set[str]:
        """Every name that was left for later, in resources and outputs."""
        return {name for _, name in self._uses.places} | self.used

    def takes(self, parameter: str) -> bool:
        """True if a value given for a parameter, or for an export of another stack, has a use."""
        return parameter in self.section("Parameters") or parameter in self.used

    def place(self, steps: Steps) -> Place:
        """The line of a part of the template."""
        return self.template.place(steps)

    def place_of_use(self, id_: str, name: str) -> Place | None:
        """The line on which a resource names another."""
        places = self._uses.places
        steps = places.get((id_, name))
        if steps is None:
            steps = next((found for (_, used), found in places.items() if used == name), None)
        return self.place(steps) if steps else None

    def fold(self, value: Json, steps: Steps, owner: str = "") -> Json:
        """Work out a value that stands at a place of the template; mistakes in it spoil its owner."""
        before, self._uses.current = self._uses.current, owner

        def refuse(path: Steps, reason: str) -> None:
            self.sources.error(self.place(path), reason)
            if owner:
                self.spoilt.add(owner)

        def noted(path: Steps, name: str) -> None:
            self._uses.places.setdefault((self._uses.current, name), path)

        try:
            return fold(value, self, refuse, steps, noted)
        finally:
            self._uses.current = before

    def ref(self, name: str) -> Json:
        """Resolve a `Ref`; part of `Scope`."""
        if name in self.parameters:
            return self.parameters[name]
        if name in self._pseudo:
            return self._pseudo[name]
        if name.startswith("AWS::"):
            raise Unresolved(f"there is no pseudo parameter {name}{meant(name, (*self._pseudo, 'AWS::NoValue'))}")
        if name in self.section("Parameters"):
            if name in self._unset and not self._is_quiet:
                self.sources.error(
                    self._unset.pop(name),
                    f"the parameter {name} has no Default, and no value was given: --parameter {name}=VALUE",
                )
            raise Unresolved(f"the parameter {name} has no value")
        own = self.generated.get(name, self._own(name))
        if own in self.implied:
            self.used.add(own)
        return LATER if own == name else {"Ref": own}

    def attribute(self, id_: str, name: str) -> Json:
        """Resolve a `Fn::GetAtt`; part of `Scope`."""
        if f"{id_}.{name}" in self.generated:
            return self.ref(f"{id_}.{name}")
        nested = self.nested.get(id_)
        if nested is not None and name.startswith("Outputs."):
            found = nested(name.removeprefix("Outputs."))
            if found is not LATER:
                return found
        if id_ in self.section("Parameters"):
            raise Unresolved(f"{id_} is a parameter and has no attributes: use Ref")
        own = self.generated.get(id_, self._own(id_))
        return LATER if own == id_ else {"Fn::GetAtt": [own, name]}

    def condition(self, name: str) -> bool:
        """True if a condition holds; part of `Scope`."""
        section = self.section("Conditions")
        if name not in section:
            raise Unresolved(f"there is no condition {name}{meant(name, section)}")
        if name not in self._conditions:
            self._conditions[name] = None
            self._conditions_open += 1
            try:
                if self._conditions_open > MOST_CONDITIONS:
                    raise Unresolved(f"conditions refer to one another more than {MOST_CONDITIONS} levels deep")
                self._conditions[name] = self._truth(section[name])
            except Unresolved as problem:
                words = str(problem)
                is_inner = words.startswith("the condition ")
                self._faults[name] = words if is_inner else f"the condition {name} cannot be evaluated: {words}"
            finally:
                self._conditions_open -= 1
        found = self._conditions[name]
        if found is None:
            raise Unresolved(self._faults.get(name, f"the condition {name} depends on itself"))
        return found

    def mapping(self, name: str, first: str, second: str) -> Json:
        """A value of a mapping; part of `Scope`."""
        section = self.section("Mappings")
        found = section.get(name)
        row = found.get(first) if isinstance(found, dict) else None
        if self.is_served and not (isinstance(row, dict) and second in row):
            raise LookupError(f"Unable to get mapping for {name}::{first}::{second}")
        if not isinstance(found, dict):
            raise LookupError(f"there is no mapping {name}{meant(name, section)}")
        if not isinstance(row, dict):
            raise LookupError(f"the mapping {name} has no key {first}{meant(first, found)}")
        if second not in row:
            raise LookupError(f"the mapping {name} has no key {second} below {first}{meant(second, row)}")
        return row[second]

    def imported(self, name: str) -> Json:
        """The value of an export; part of `Scope`. An unknown export has its name for a value, with a warning."""
        if name in self._given:
            self.used.add(name)
            return self._given[name]
        try:
            if self._imports is not None:
                return self._imports(name)
            why = f"{name} is exported by another stack, which is not part of this project"
        except Unresolved as problem:
            why = str(problem)
        if not self._is_quiet:
            self.sources.warning(
                self.template.place_of_text(name),
                f"{why}: its name stands for its value; --parameter {name}=VALUE sets it",
            )
        return name

    def _is_evaluated(self, body: Mapping[str, Json]) -> bool:
        """True if the properties of a resource have an effect: a server calls the functions of custom resources."""
        kind = body["Type"]
        return is_evaluated(kind, body.get("Properties")) or (self.is_served and is_custom(kind))

    def _own(self, name: str) -> str:
        """The id in the project of a resource of this stack; other names as they are."""
        return self.prefix + name if self.prefix and name in self.section("Resources") else name

    def holds(self, value: Json) -> bool:
        """True if a condition that stands outside of `Conditions` holds. Raises: Unresolved."""
        return self._truth(value)

    def _truth(self, value: Json) -> bool:
        def refuse(_path: Steps, reason: str) -> None:
            raise Refused(reason)

        return condition_of(value, self, refuse)

    def _kept(self, id_: str, body: Mapping[str, Json], place: Place) -> bool:
        name = body.get("Condition")
        if name is None:
            return True
        if not self._is_evaluated(body):
            with self._quietly():
                try:
                    return self.condition(name) if isinstance(name, str) else True
                except Unresolved:
                    return True
        try:
            if not isinstance(name, str):
                raise Unresolved("Condition must be the name of a condition")
            if self.condition(name):
                return True
            self.missing[id_] = f"which the condition {name} leaves out"
        except Unresolved as problem:
            self.sources.error(place, f"{id_}: {problem}")
            self.missing[id_] = "whose condition cannot be evaluated"
        return False

    def _resource(self, id_: str, body: Mapping[str, Json], place: Place) -> Resource:
        steps = self.steps(id_)
        for name in body:
            if name not in _CONTROL_ATTRIBUTES and not name.endswith("Policy") and name != "Connectors":
                self.sources.warning(
                    self.place((*steps, name)),
                    f"{name} is not an attribute of a resource and is ignored{meant(name, _CONTROL_ATTRIBUTES)}",
                )
        own = self.prefix + id_
        kind = body["Type"]
        if not self._is_evaluated(body):
            # It is left out, so that nothing about it may fail.
            return Resource(own, kind, self._name_alone(kind, body), (), place)
        # The properties of a nested stack in a file are evaluated when it is read.
        written = {} if kind in NESTED and not self.is_served else body.get("Properties") or {}
        properties = self.fold(written, (*steps, "Properties"), own)
        if not isinstance(properties, dict):
            self.sources.error(self.place((*steps, "Properties")), f"the properties of {id_} must be an object")
            self.spoilt.add(own)
            properties = {}
        needs = body.get("DependsOn") or []
        needs = [needs] if isinstance(needs, str) else needs
        if not isinstance(needs, list) or not all(isinstance(need, str) for need in needs):
            self.sources.error(self.place((*steps, "DependsOn")), "DependsOn must be the id of a resource, or a list")
            needs = []
        kept = tuple(self._own(need) for need in needs if not self._left_out(need))
        policy = body.get("DeletionPolicy")
        return Resource(own, kind, properties, kept, place, retain=policy in _RETAINED)

    def _name_alone(self, kind: str, body: Mapping[str, Json]) -> Json:
        """The name of a resource that is left out, where it has one that is known."""
        member = name_property(kind)
        given = body.get("Properties")
        if member is None or not isinstance(given, dict) or member not in given:
            return {}
        faults: list[str] = []
        with self._quietly():
            found = fold(given[member], self, lambda _path, reason: faults.append(reason))
        return {} if faults or not isinstance(found, str) else {member: found}

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        """Report nothing meanwhile, and forget conditions that cannot be evaluated, so that other users report them."""
        self._is_quiet = True
        try:
            yield
        finally:
            self._is_quiet = False
            self._conditions = {name: found for name, found in self._conditions.items() if found is not None}

    def _left_out(self, id_: str) -> bool:
        """True if a resource is not made; a DependsOn may name such a resource."""
        body = self.section("Resources").get(id_)
        if isinstance(body, dict) and isinstance(body.get("Type"), str) and not self._is_evaluated(body):
            return True
        name = body.get("Condition") if isinstance(body, dict) else None
        with self._quietly():
            try:
                return isinstance(name, str) and not self.condition(name)
            except Unresolved:
                return False

    def _parameter(self, name: str, body: Mapping[str, Json], value: Json, place: Place) -> Json:
        kind = body.get("Type", "String")
        if not isinstance(kind, str):
            self.sources.error(place, f"the Type of the parameter {name} must be a text")
            kind = "String"
        if name in self._given and waits(value):
            # A nested stack is given what only deployment knows.
            return value
        try:
            text = ",".join(text_of(part) for part in value) if isinstance(value, list) else text_of(value)
        except Unresolved:
            self.sources.error(place, f"the value of the parameter {name} must be a text")
            text = ""
        stored = _SSM.fullmatch(kind)
        if stored and self._stored is not None:
            found = self._stored.get(name, "")
            return found.split(",") if LIST_TYPE.fullmatch(stored[1]) else found
        if stored:
            # The store is asked at deployment, by the dynamic reference that means the same.
            reference = "{{resolve:ssm:" + text + "}}"
            return [reference] if LIST_TYPE.fullmatch(stored[1]) else reference
        for problem in _unfit(kind, body, text):
            self.sources.error(place, f"the parameter {name} is {_quoted(name, body, text)}, but {problem}")
        if LIST_TYPE.fullmatch(kind):
            return [part.strip() for part in text.split(",")] if text else []
        return text


def _quoted(_name: str, body: Mapping[str, Json], text: str) -> str:
    return "hidden" if body.get("NoEcho") in (True, "true") else repr(text[:60])


def _unfit(kind: str, body: Mapping[str, Json], text: str) -> list[str]:
    """The constraints that a parameter's value violates, in words."""
    known = allowed_texts(body)
    words = {
        TYPE: "must be a number" if kind == "Number" else "must be numbers, separated by commas",
        VALUES: f"must be one of {', '.join(known[:20])}{meant(text, known)}",
        PATTERN: f"must match {body.get(PATTERN)}",
        "MinLength": f"must have at least {body.get('MinLength')} characters",
        "MaxLength": f"must have at most {body.get('MaxLength')} characters",
        "MinValue": f"must be at least {body.get('MinValue')}",
        "MaxValue": f"must be at most {body.get('MaxValue')}",
    }
    return [words[name] for name in violated(kind, body, text)]
