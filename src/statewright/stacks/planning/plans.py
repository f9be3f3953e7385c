"""The plan of a template, given its parameters: resources in the order in which they are made, and outputs.

Owns which template becomes which plan, and the service's words where it cannot. Evaluation is the readers' of projects
(`projects.stacks`), so that a template means the same in a file and in a stack.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from statewright.errors import ApiError
from statewright.payload import Json, JsonObject
from statewright.projects.cloudformation import Identity, Stack
from statewright.projects.evaluation import NO_VALUE, Unresolved, references, text_of, waits
from statewright.projects.ordering import arrange, cycles
from statewright.projects.resources import Resource
from statewright.projects.sources import Sources
from statewright.projects.stacks import Setting, read_stack
from statewright.stacks.errors import invalid
from statewright.stacks.planning.templates import Template, unresolved

_PATH: Final = Path("template")
_KEPT: Final = ("Condition", "DeletionPolicy", "UpdateReplacePolicy", "Metadata")
POLICIES: Final = ("Delete", "Retain", "RetainExceptOnCreate", "Snapshot")


@dataclass(frozen=True, slots=True)
class Planned:
    """A resource as a template asks for it; `written` are its properties before evaluation."""

    resource: Resource
    written: Json = None
    metadata: Json = None
    deletion: str = "Delete"
    replacing: str = "Delete"


@dataclass(frozen=True, slots=True)
class PlannedOutput:
    """An output whose value may still need resources."""

    value: Json
    description: str | None = None
    export: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a template asks for. `resources` are in the order in which they are made."""

    resources: Mapping[str, Planned]
    outputs: Mapping[str, PlannedOutput]
    description: str | None = None
    imports: tuple[str, ...] = ()
    """The exports that it uses."""
    lacking: tuple[str, ...] = ()
    """Those of them that do not exist."""
    processed: JsonObject = field(default_factory=dict)
    """The template after its transforms."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The values that a plan needs besides its template: the stack, its parameters, exports of other stacks."""

    identity: Identity
    parameters: Mapping[str, str]
    resolved: Mapping[str, str]
    exports: Mapping[str, str]
    imports: dict[str, None]
    """Gets the names of the exports that the template uses, also if it is refused."""
    include: Callable[[Json], Json] | None = None
    """Returns the value at the location of an include. Raises: Unresolved."""


def plan_of(template: Template, given: Circumstances) -> Plan:
    """The plan of a template. Raises: ApiError."""
    imports = given.imports
    lacking: dict[str, None] = {}

    def imported(name: str) -> Json:
        imports[name] = None
        if name not in given.exports:
            lacking[name] = None
            # Execution fails for the lack of it, unless the export exists by then.
            return f"No export named {name} found."
        return given.exports[name]

    sources = Sources(_PATH.parent)
    document = sources.given(_PATH, template.document)
    setting = Setting(sources, imports=imported, stored=given.resolved, is_served=True, include=given.include)
    stack = read_stack(document, given.identity, setting, given.parameters)
    _refuse(sources)
    _check_conditions(stack)
    _check_rules(stack)
    _check_names(stack)
    _check_cycles(stack)
    resources, order = arrange(
        stack.resources, sources, spoilt=stack.spoilt, missing=stack.missing, place_of=stack.place_of_use
    )
    _refuse(sources)
    return Plan(
        {id_: _planned(stack, resources[id_]) for id_ in order},
        _outputs(stack),
        template.description,
        tuple(imports),
        tuple(lacking),
        _processed(stack, template),
    )


def _processed(stack: Stack, template: Template) -> JsonObject:
    """A template after its transforms: their resources have plain types, all others are as they are written."""
    if not template.transforms:
        return dict(template.value)
    written = stack.section("Resources")
    resources: JsonObject = {id_: body for id_, body in written.items() if not _is_serverless(body)}
    for id_, one in stack.resources.items():
        if id_ not in resources:
            body = stack.body(id_)
            resources[id_] = {
                **{name: body[name] for name in _KEPT if name in body},
                "Type": one.type, "Properties": one.properties,
                **({"DependsOn": list(one.depends_on)} if one.depends_on else {}),
            }  # fmt: skip
    rest = {name: value for name, value in stack.value.items() if name not in ("Transform", "Globals")}
    return {**rest, "Resources": resources}


def _is_serverless(body: Json) -> bool:
    return isinstance(body, dict) and str(body.get("Type")).startswith("AWS::Serverless::")


def _planned(stack: Stack, resource: Resource) -> Planned:
    body = stack.body(resource.id)
    metadata = body.get("Metadata")
    return Planned(
        resource,
        body.get("Properties"),
        stack.fold(metadata, (*stack.steps(resource.id), "Metadata")) if metadata is not None else None,
        _policy(stack, resource, body, "DeletionPolicy"),
        _policy(stack, resource, body, "UpdateReplacePolicy"),
    )


def _policy(stack: Stack, resource: Resource, body: Mapping[str, Json], name: str) -> str:
    """Raises: ApiError."""
    found = stack.fold(body.get(name, "Delete"), (*stack.steps(resource.id), name))
    if found is NO_VALUE:
        return "Delete"
    if found not in POLICIES:
        raise invalid(f"Template error: {name} of {resource.id} must be one of {', '.join(POLICIES)}.")
    return str(found)


def _outputs(stack: Stack) -> dict[str, PlannedOutput]:
    found = {}
    for name, value in stack.outputs.items():
        body = stack.section("Outputs").get(name)
        body = body if isinstance(body, dict) else {}
        description, export = body.get("Description"), body.get("Export")
        exported = None
        if isinstance(export, dict) and "Name" in export:
            folded = stack.fold(export["Name"], ("Outputs", name, "Export", "Name"))
            if waits(folded):
                words = "The Name field of its Export must not refer to a resource."
                raise invalid(f"Template error: Output {name} is malformed. {words}")
            exported = _text(folded, f"[/Outputs/{name}/Export/Name]")
        found[name] = PlannedOutput(value, description if isinstance(description, str) else None, exported)
    return found


def _text(value: Json, where: str) -> str:
    try:
        return text_of(value)
    except Unresolved:
        raise invalid(f"Template format error: {where} must be a string.") from None


def _check_names(stack: Stack) -> None:
    """Refuse references to resources that the plan does not have. Raises: ApiError."""
    lost: dict[str, None] = {}
    for resource in stack.resources.values():
        for name in (*resource.depends_on, *references(resource.properties)):
            if name not in stack.resources:
                lost[name] = None
    if lost:
        raise unresolved(list(lost), "Resources")
    for value in stack.outputs.values():
        missing = [name for name in references(value) if name not in stack.resources]
        if missing:
            raise unresolved(missing, "Outputs")


def _check_conditions(stack: Stack) -> None:
    """Refuse a condition that has no value, even if nothing uses it. Raises: ApiError."""
    for name in stack.section("Conditions"):
        try:
            stack.condition(name)
        except Unresolved as problem:
            raise _refusal(str(problem)) from None


def _check_rules(stack: Stack) -> None:
    """Refuse parameters that violate a rule of the template. Raises: ApiError."""
    for name, rule in stack.section("Rules").items():
        if not isinstance(rule, dict):
            raise invalid(f"Template format error: Every Rules member must be an object: {name}")
        if "RuleCondition" in rule and not _holds(stack, name, rule["RuleCondition"]):
            continue
        for one in rule.get("Assertions") or ():
            if not isinstance(one, dict) or "Assert" not in one:
                raise invalid(f"Template format error: every assertion of the rule {name} needs an Assert.")
            if not _holds(stack, name, one["Assert"]):
                words = one.get("AssertDescription") or "an assertion does not hold"
                raise invalid(f"Template validation error: rule {name}: {words}")


def _holds(stack: Stack, rule: str, condition: Json) -> bool:
    """The value of a rule's condition, which may have `Fn::Contains` in it at any depth. Raises: ApiError."""
    name, given = next(iter(condition.items())) if isinstance(condition, dict) and len(condition) == 1 else ("", None)
    if name == "Fn::Contains":
        given = stack.fold(given, ("Rules", rule))
        if not (isinstance(given, list) and len(given) == 2 and isinstance(given[0], list)):
            raise invalid(f"Template error: Fn::Contains of the rule {rule} needs a list and a value.")
        return given[1] in given[0]
    if name == "Fn::Not" and isinstance(given, list) and len(given) == 1:
        return not _holds(stack, rule, given[0])
    if name in ("Fn::And", "Fn::Or") and isinstance(given, list) and 1 <= len(given) <= 10:
        values = [_holds(stack, rule, one) for one in given]
        return all(values) if name == "Fn::And" else any(values)
    try:
        return stack.holds(condition)
    except Unresolved as problem:
        raise invalid(f"Template error: the rule {rule} cannot be evaluated: {problem}") from None


def _check_cycles(stack: Stack) -> None:
    needs = {
        one.id: list(dict.fromkeys((*one.depends_on, *references(one.properties)))) for one in stack.resources.values()
    }
    own = [id_ for id_, found in needs.items() if id_ in found]
    found = cycles({id_: [name for name in names if name != id_] for id_, names in needs.items()})
    named = [*own, *(name for cycle in found for name in cycle)]
    if named:
        raise invalid(f"Circular dependency between resources: [{', '.join(dict.fromkeys(named))}]")


_WORDS: Final[tuple[tuple[str, Callable[[str], str]], ...]] = (
    ("there is no condition ", lambda rest: f"unresolved condition dependency {_first(rest)} in Fn::If"),
    ("Fn::Equals needs", lambda _: "every Fn::Equals object requires a list of 2 string parameters."),
    (
        "Fn::Select needs",
        lambda _: "Fn::Select requires a list argument with two elements: an integer index and a list",
    ),
    (
        "Fn::Split needs",
        lambda _: (
            "every Fn::Split object requires two parameters, (1) a string delimiter and (2) a string to be split "
            "or a function that returns a string to be split."
        ),
    ),
    (
        "Fn::GetAtt needs",
        lambda _: (
            "every Fn::GetAtt object requires two non-empty parameters, the resource name and the resource attribute"
        ),
    ),
)
"""The service's words for findings of the readers, by how these begin. Source: recorded."""


def _first(text: str) -> str:
    return text.partition(";")[0]


def _refuse(sources: Sources) -> None:
    """Refuse a template with its first error. Raises: ApiError."""
    first = next((one for one in sources.findings if one.severity == "ERROR"), None)
    if first is not None:
        raise _refusal(first.message)


def _refusal(message: str) -> ApiError:
    if message.startswith("Transform "):
        return invalid(message)
    for start, words in _WORDS:
        at = message.find(start)
        if at >= 0:
            return invalid(f"Template error: {words(message[at + len(start) :])}")
    return invalid(f"Template error: {message}")
