"""Texts of templates: read, and refused in the service's words where their form is wrong.

Owns the form of a template, before anything in it is evaluated. What its functions give is `plans.py`'s.

Source: recorded answers to CreateStack, CreateChangeSet and ValidateTemplate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from statewright.asl.reader import read_document
from statewright.asl.text.document import Document, ReadError
from statewright.errors import ApiError
from statewright.payload import Json, JsonMapping
from statewright.projects.evaluation import target_of
from statewright.projects.expansion import SERVERLESS, transforms_of
from statewright.stacks.errors import invalid

MOST_BODY: Final = 51_200
MOST_BYTES: Final = 1_048_576
"""Source: CloudFormation quotas: template body in a request, and in an object of a bucket."""
MOST_RESOURCES: Final = 500
MOST_PARAMETERS: Final = 200
MOST_OUTPUTS: Final = 200
MOST_MAPPINGS: Final = 200
"""Source: CloudFormation quotas."""
MOST_DEPTH: Final = 120
EXTENSIONS: Final = "AWS::LanguageExtensions"
INCLUDE: Final = "AWS::Include"
_SECTIONS: Final = (
    "AWSTemplateFormatVersion", "Description", "Metadata", "Parameters", "Rules", "Mappings", "Conditions", "Transform",
    "Resources", "Outputs", "Globals", "Hooks",
)  # fmt: skip
_MEMBERS: Final = (
    "Type", "Properties", "DependsOn", "Condition", "DeletionPolicy", "UpdateReplacePolicy", "UpdatePolicy",
    "CreationPolicy", "Metadata", "Description", "Connectors", "IgnoreGlobals", "Version",
)  # fmt: skip
_NAME: Final = re.compile(r"[A-Za-z0-9]+")
_VARIABLE: Final = re.compile(r"\$\{([^!{}][^{}]*)\}")
_LOOP: Final = "Fn::ForEach::"
_VERSION: Final = "2010-09-09"
_NAMED: Final = {
    "AWS::IAM::Group": "GroupName", "AWS::IAM::InstanceProfile": "InstanceProfileName",
    "AWS::IAM::ManagedPolicy": "ManagedPolicyName", "AWS::IAM::Role": "RoleName", "AWS::IAM::User": "UserName",
}  # fmt: skip
"""Types that need a capability, and the property whose use needs the greater one. Source: API reference."""
_ALSO: Final = ("AWS::IAM::AccessKey", "AWS::IAM::Policy", "AWS::IAM::UserToGroupAddition")


@dataclass(frozen=True, slots=True)
class Template:
    """A template whose form is right. `text` is as it was sent."""

    text: str
    document: Document
    value: JsonMapping

    @property
    def is_json(self) -> bool:
        """True if its text is JSON."""
        return self.text.lstrip("\ufeff \t\r\n").startswith("{")

    @property
    def transforms(self) -> list[str]:
        """The names of its transforms."""
        return transforms_of(self.value)

    @property
    def description(self) -> str | None:
        """Its description."""
        found = self.value.get("Description")
        return found if isinstance(found, str) else None

    def inner_transforms(self) -> list[str]:
        """The names of transforms of parts, `Fn::Transform`, in any order."""
        found: dict[str, None] = {}
        pending: list[Json] = [self.value] if "Fn::Transform" in self.text else []
        while pending:
            part = pending.pop()
            if isinstance(part, dict):
                for name, inner in part.items():
                    if name.startswith("Fn::Transform"):
                        called = inner.get("Name") if isinstance(inner, dict) else None
                        found[called if isinstance(called, str) else name] = None
            pending.extend(part.values() if isinstance(part, dict) else part if isinstance(part, list) else ())
        return list(found)

    def section(self, name: str) -> JsonMapping:
        """A section; empty if it is missing."""
        found = self.value.get(name)
        return found if isinstance(found, dict) else {}

    def capabilities(self) -> tuple[list[str], str]:
        """The capabilities that its resources need, and the types of these, as an answer lists them."""
        found: dict[str, bool] = {}
        for body in self.section("Resources").values():
            kind = body.get("Type") if isinstance(body, dict) else None
            if kind in _NAMED or kind in _ALSO:
                properties = body.get("Properties")
                is_named = isinstance(properties, dict) and _NAMED.get(kind) in properties
                found[kind] = found.get(kind, False) or is_named
        if not found:
            return [], ""
        word = "CAPABILITY_NAMED_IAM" if any(found.values()) else "CAPABILITY_IAM"
        return [word], f"The following resource(s) require capabilities: [{', '.join(found)}]"


def read_template(text: str) -> Template:
    """Read a template, and check its form. Raises: ApiError."""
    starts = text.lstrip("\ufeff \t\r\n")
    try:
        document = read_document(
            text, name="template.json" if starts.startswith("{") else "template.yaml", max_characters=MOST_BYTES,
            max_depth=MOST_DEPTH, placeholders=False, template=True, old_words=True,
        )  # fmt: skip
    except ReadError as problem:
        raise _unreadable(problem, is_json=starts.startswith("{")) from None
    if not isinstance(document.value, dict):
        raise invalid("Template format error: unsupported structure.")
    if has_long_number(document.value):
        raise invalid("Template format error: a number has more than 64 bits; write it as a string.")
    template = Template(text, document, document.value)
    _check_sections(template)
    _check_resources(template)
    if not _has_loops(template):
        _check_references(template)
    return template


def _unreadable(problem: ReadError, *, is_json: bool) -> ApiError:
    first = problem.diagnostics[0]
    if is_json:
        return invalid(f"Template format error: JSON not well-formed. (line {first.line}, column {first.column})")
    where = f" (line {first.line}, column {first.column})" if first.line else ""
    return invalid(f"Template format error: YAML not well-formed.{where}")


def has_long_number(value: Json) -> bool:
    """True if a value has an integer that rows and answers cannot have."""
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, (dict, list)):
            pending.extend(part.values() if isinstance(part, dict) else part)
        elif isinstance(part, int) and not -(2**63) <= part < 2**64:
            return True
    return False


def _check_sections(template: Template) -> None:
    unknown = [name for name in template.value if name not in _SECTIONS and not name.startswith("Fn::Transform")]
    if unknown:
        raise invalid(f"Invalid template property or properties [{', '.join(unknown)}]")
    version = template.value.get("AWSTemplateFormatVersion")
    if version is not None and str(version) != _VERSION:
        raise invalid(f"Template format error: {version} is not a supported value for AWSTemplateFormatVersion.")
    description = template.value.get("Description")
    if description is not None and not isinstance(description, str):
        raise invalid("Template format error: Every Description must be a string.")
    if isinstance(description, str) and len(description.encode()) > 1024:
        raise invalid("Template format error: 'Description' length is greater than 1024.")
    for name in ("Parameters", "Mappings", "Conditions", "Resources", "Outputs"):
        found = template.value.get(name)
        if found is not None and not isinstance(found, dict):
            raise invalid(f"Template format error: {name} must be an object.")
    if not template.section("Resources"):
        raise invalid("Template format error: At least one Resources member must be defined.")
    for name, most in (
        ("Resources", MOST_RESOURCES), ("Parameters", MOST_PARAMETERS), ("Outputs", MOST_OUTPUTS),
        ("Mappings", MOST_MAPPINGS),
    ):  # fmt: skip
        count = len(template.section(name))
        if count > most:
            raise invalid(
                f"Template format error: Number of {name.lower()}, {count}, is greater than maximum allowed, {most}"
            )
    for name, found in template.section("Mappings").items():
        if not isinstance(found, dict) and name != "Fn::Transform":
            raise invalid(f"Template format error: Every Mappings member {name} must be a map")
    for name, body in template.section("Parameters").items():
        if not _NAME.fullmatch(name):
            raise invalid(f"Template format error: Parameter name {name} is non alphanumeric.")
        if not isinstance(body, dict):
            raise invalid(f"Template format error: Every Parameters member must be an object: {name}")
        if not isinstance(body.get("Type"), str):
            raise invalid("Template format error: Every Parameters object must contain a Type member.")


def _check_resources(template: Template) -> None:
    for name, body in template.section("Resources").items():
        if name.startswith((_LOOP, "Fn::Transform")):
            continue
        if not isinstance(body, dict):
            raise invalid("Template format error: Every Resources member must be an object.")
        if not isinstance(body.get("Type"), str):
            raise invalid(
                f"Template format error: [/Resources/{name}] Every Resources object must contain a Type member."
            )
        if not _NAME.fullmatch(name):
            raise invalid(f"Template format error: Resource name {name} is non alphanumeric.")
        for member in body:
            if member not in _MEMBERS and not member.startswith("Fn::"):
                raise invalid(f"Invalid template resource property '{member}'")
        _refuse_nulls(body.get("Properties"), f"/Resources/{name}/Properties")
    for name, body in template.section("Outputs").items():
        if name.startswith((_LOOP, "Fn::Transform")):
            continue
        _refuse_nulls(body, f"/Outputs/{name}")
        if not isinstance(body, dict) or "Value" not in body:
            raise invalid(f"Template format error: Output {name} must contain a Value member.")


def _refuse_nulls(value: Json, path: str) -> None:
    """Refuse members without a value within a value, which may itself be missing. Raises: ApiError."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        if part is None:
            raise invalid(f"[{path}/{name}] 'null' values are not allowed in templates")
        _refuse_nulls(part, f"{path}/{name}")


def _has_loops(template: Template) -> bool:
    """True if transforms will add names that the text does not have."""
    text = template.document.source.text
    return "Fn::ForEach" in text or "Fn::Transform" in text or not {SERVERLESS, INCLUDE}.isdisjoint(template.transforms)


def _check_references(template: Template) -> None:
    known = {*template.section("Resources"), *template.section("Parameters")}
    resources = template.section("Resources")
    lost: dict[str, None] = {}
    for body in resources.values():
        needs = body.get("DependsOn")
        for name in [needs] if isinstance(needs, str) else needs if isinstance(needs, list) else ():
            if isinstance(name, str) and name not in resources:
                lost[name] = None
        for name in names_in(body.get("Properties")):
            if name not in known:
                lost[name] = None
    if lost:
        raise unresolved(list(lost), "Resources")
    for body in template.section("Outputs").values():
        missing = [name for name in names_in(body) if name not in known]
        if missing:
            raise unresolved(missing, "Outputs")


def unresolved(names: list[str], section: str) -> ApiError:
    """The error for names that a section refers to and that do not exist."""
    words = f"Unresolved resource dependencies [{', '.join(names)}] in the {section} block of the template"
    return invalid(f"Template format error: {words}" if section == "Resources" else words)


def names_in(value: Json) -> list[str]:
    """The names of resources and parameters that a value as it is written refers to."""
    found: dict[str, None] = {}
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            pending.extend(part)
            continue
        if not isinstance(part, dict):
            continue
        for name, argument in part.items():
            if name == "Ref" and isinstance(argument, str) and len(part) == 1:
                found[argument] = None
            elif name == "Fn::GetAtt" and (target := target_of(argument)) is not None:
                found[target[0]] = None
            elif name == "Fn::Sub":
                for used in _names_in_text(argument):
                    found[used] = None
                if isinstance(argument, list):
                    pending.extend(argument[1:])
            else:
                pending.append(argument)
    return [name for name in found if not name.startswith("AWS::")]


def _names_in_text(argument: Json) -> Iterator[str]:
    text = argument[0] if isinstance(argument, list) and argument else argument
    own = argument[1] if isinstance(argument, list) and len(argument) == 2 and isinstance(argument[1], Mapping) else {}
    for variable in _VARIABLE.findall(text) if isinstance(text, str) else ():
        name = variable.strip()
        if name not in own:
            yield name if name.startswith("AWS::") else name.partition(".")[0]
