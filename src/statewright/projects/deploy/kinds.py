"""The deployment's knowledge of a resource type, and the tools of the functions that apply one.

Owns the values that appliers share (`Kind`, `Wanted`, `Site`) and the comparison of what is wanted with what is there.
`registry.py` lists the types.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from statewright.errors import Diagnostic
from statewright.payload import Json
from statewright.projects.deploy.calls import Answer, Call, CallRefused, made_before
from statewright.projects.deploy.scalars import converted
from statewright.projects.functions import FunctionSource, find_functions
from statewright.projects.resources import Resource
from statewright.tags import tag_list

Outcome = Literal[
    "created", "updated", "replaced", "unchanged", "noted", "failed", "skipped", "removed", "gone"
]  # fmt: skip
"""`noted` is referred to by others but not created here; `gone` was deployed before and is no longer wanted."""

TO_COME: Final = "(known after deployment)"
"""Stands for what a server gives at creation, in a dry run."""


class CannotApply(Exception):
    """A resource that cannot be made as it is asked for. The text is a sentence for the user."""


class LeftOut(Exception):
    """A resource that is of no use here. The text says why; others may refer to it."""


@dataclass(frozen=True, slots=True)
class Known:
    """A resource that was deployed: what `Ref` and `Fn::GetAtt` give for it."""

    type: str
    ref: str
    attributes: Mapping[str, Json]
    retain: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """A resource as it is to be: its properties without functions, its name and its ARN.

    `before` is what the last deployment made of it. `shared` are tags that all resources of a stack get.
    """

    resource: Resource
    properties: Mapping[str, Json]
    name: str
    arn: str
    before: Known | None = None
    shared: Mapping[str, str] = field(default_factory=dict)

    def text(self, member: str, default: str = "") -> str:
        """A property as text; objects as JSON."""
        found = self.properties.get(member)
        if found is None:
            return default
        return text_of(found)

    def number(self, member: str) -> int | None:
        """A property as a whole number. Raises: CannotApply."""
        found = self.properties.get(member)
        return None if found is None else number_of(found, member)

    def truth(self, member: str) -> bool:
        """A property as a truth value."""
        return self.properties.get(member) in (True, "true", "True")

    def table(self, member: str) -> dict[str, Json]:
        """A property that is an object; an empty one if it is missing. Raises: CannotApply."""
        found = self.properties.get(member)
        if found is None:
            return {}
        if not isinstance(found, dict):
            raise CannotApply(f"{member} must be an object")
        return found

    def items(self, member: str) -> list[Json]:
        """A property that is a list; a single value counts as a list of one."""
        found = self.properties.get(member)
        if found is None:
            return []
        return found if isinstance(found, list) else [found]

    def given(self, *members: str) -> dict[str, Json]:
        """Those of the properties that are set."""
        return {member: self.properties[member] for member in members if self.properties.get(member) is not None}

    def tags(self) -> dict[str, str]:
        """The property `Tags`, whether it is an object or a list of keys and values."""
        found = self.properties.get("Tags")
        if isinstance(found, dict):
            return {**self.shared, **{str(key): text_of(value) for key, value in found.items()}}
        listed = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
        return {**self.shared, **{str(one.get("Key")): text_of(one.get("Value", "")) for one in listed}}

    def tag_list(self) -> list[Json] | None:
        """The tags as a list of keys and values; `None` if there are none."""
        return tag_list(self.tags()) or None


@dataclass(slots=True)
class Site:
    """The target of a deployment: calls that read, calls that change, and notes for the user.

    In a dry run nothing is changed, and calls that would change something answer nothing.
    """

    call: Call
    account: str
    region: str
    root: Path
    is_dry: bool = False
    created: bool = False
    replaced: bool = False
    takes_over: bool = False
    resumes: bool = False
    """True if a creation was interrupted, and may have made the resource already."""
    endpoint: str = ""
    """The address of the server, for notes with addresses on it."""
    owner: Callable[[str], str | None] = lambda _arn: None
    """Which other project a resource belongs to, by its ARN."""
    changes: int = 0
    notes: list[str] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)
    _functions: dict[str, FunctionSource] | None = None

    def found(self, service: str, operation: str, **request: object) -> Answer | None:
        """The answer to a question, `None` if its subject does not exist. Raises: CallRefused."""
        try:
            return self.asked(service, operation, **request)
        except CallRefused as refused:
            if refused.is_missing:
                return None
            raise

    def make_own(self, wanted: Wanted) -> None:
        """Ensure that an existing resource belongs to this project. Raises: CannotApply."""
        if wanted.before is not None and wanted.before.attributes.get("Arn") == wanted.arn:
            return
        other = self.owner(wanted.arn)
        if other is None:
            return
        if not self.takes_over:
            raise CannotApply(f"it belongs to the project {other}: rename it, or take it over with --take-over")
        self.note(f"taken over from the project {other}")

    def asked(self, service: str, operation: str, **request: object) -> Answer:
        """The answer to a question. Raises: CallRefused."""
        return self.call(service, operation, converted(service, operation, request))

    def create(self, service: str, operation: str, **request: object) -> Answer:
        """Create a resource that does not exist. Raises: CallRefused."""
        there = made_before(self.asked, service, operation, request) if self.resumes else None
        if there is not None:
            return there
        self.created = True
        return self.change(service, operation, **request)

    def change(self, service: str, operation: str, **request: object) -> Answer:
        """Change something. Raises: CallRefused."""
        self.changes += 1
        if self.is_dry:
            return {}
        given = {key: value for key, value in request.items() if value is not None}
        return self.call(service, operation, converted(service, operation, given))

    def take_away(self, service: str, operation: str, **request: object) -> None:
        """Change something that may be gone already. Raises: CallRefused."""
        try:
            self.change(service, operation, **request)
        except CallRefused as refused:
            if not refused.is_missing:
                raise

    def note(self, text: str) -> None:
        """Tell the user something about the resource at hand."""
        if text not in self.notes:
            self.notes.append(text)

    def ignored(self, wanted: Wanted, *members: str) -> None:
        """Note the properties that have no effect here."""
        there = [member for member in members if wanted.properties.get(member)]
        if there:
            self.note(f"{', '.join(there)} {'changes' if len(there) == 1 else 'change'} nothing here")

    def function_source(self, name: str) -> FunctionSource | None:
        """The files of a plain folder's function; they are looked for once."""
        if self._functions is None:
            self._functions = find_functions(self.root).functions
        return self._functions.get(name)

    def begin(self) -> None:
        """Forget what was done for the resource before."""
        self.created = self.replaced = False
        self.changes = 0
        self.notes = []
        self.warnings = []

    @property
    def outcome(self) -> Outcome:
        """The outcome since `begin`."""
        if self.replaced:
            return "replaced"
        if self.created:
            return "created"
        return "updated" if self.changes else "unchanged"


Applier = Callable[[Site, Wanted], Mapping[str, Json]]
"""Makes a resource as it is wanted; answers attributes, `Ref` among them where it is not what the kind says.

Raises: CallRefused; CannotApply; LeftOut; DefinitionError; OSError.
"""

Remover = Callable[[Site, Known], None]
"""Takes a resource away. Raises: CallRefused."""


def removal(service: str, operation: str, member: str, **more: object) -> Remover:
    """Takes a resource away by one call, whose request names it by what `Ref` gives."""

    def remove(site: Site, known: Known) -> None:
        site.change(service, operation, **{member: known.ref}, **more)

    return remove


@dataclass(frozen=True, slots=True)
class Kind:
    """One type of resource.

    `name` is the property with its name, and `longest` how long one may be. `arn` is the form of its ARN:
    `sqs:{region}:{account}:{name}`. `ref` says what `Ref` gives; `attributes` are what `Fn::GetAtt` gives besides
    `Arn`, in the same form, with `{arn}`. `lost` says why resources of a type are never made: nothing of theirs is
    evaluated but their name, and references to them get a text.
    """

    noun: str
    apply: Applier
    remove: Remover | None = None
    name: str | None = None
    longest: int = 64
    arn: str = ""
    ref: Literal["name", "arn"] = "name"
    attributes: Mapping[str, str] = field(default_factory=dict)
    lost: str = ""


def text_of(value: Json) -> str:
    """A property as an API has it that knows texts only."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return str(value)


def number_of(value: Json, member: str) -> int:
    """A property that is a whole number, perhaps as text. Raises: CannotApply."""
    try:
        return int(float(value)) if isinstance(value, str) and "." in value else int(value)
    except (TypeError, ValueError):
        raise CannotApply(f"{member} must be a number, not {text_of(value)[:80]}") from None


def holds(shown: Json, wanted: Json) -> bool:
    """True if the existing value has everything that is wanted; extra members are no difference.

    Numbers and truth values may be texts on either side, and JSON texts are compared by what they say.
    """
    if shown is None and wanted in ([], {}):
        return True
    if isinstance(wanted, Mapping):
        found = _parsed(shown) if isinstance(shown, str) else shown
        return isinstance(found, Mapping) and all(holds(found.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        found = _parsed(shown) if isinstance(shown, str) else shown
        return (
            isinstance(found, list)
            and len(found) == len(wanted)
            and all(holds(one, other) for one, other in zip(found, wanted, strict=True))
        )
    if shown == wanted:
        return True
    if shown is None or wanted is None:
        return shown in (None, "", [], {}) and wanted in (None, "", [], {})
    if isinstance(shown, (dict, list)):
        # SDKs give documents of IAM as values, also those that were sent as text.
        meant = _parsed(wanted) if isinstance(wanted, str) else None
        return meant is not None and shown == meant
    one, other = text_of(shown), text_of(wanted)
    if one == other:
        return True
    if one[:1] in "{[" and one[:1] == other[:1]:
        left, right = _parsed(one), _parsed(other)
        return left is not None and left == right
    try:
        return float(one) == float(other)
    except ValueError:
        return False


def _parsed(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return None


_FREE: Final = frozenset({"Tags", "Parameters", "DockerLabels", "Options", "Variables"})
"""Objects whose keys are the user's own, and stay as they are."""


def lowered(value: Json) -> Json:
    """Properties with names as services write them that begin members in lower case: `LogGroupArn`, `logGroupArn`."""
    if isinstance(value, list):
        return [lowered(one) for one in value]
    if isinstance(value, dict):
        return {
            key[:1].lower() + key[1:]: (one if key in _FREE and isinstance(one, dict) else lowered(one))
            for key, one in value.items()
        }
    return value


def typed(value: Json, numbers: Iterable[str] = (), truths: Iterable[str] = ()) -> Json:
    """Properties in which the named members, wherever they stand, are numbers and truth values rather than texts."""
    as_numbers, as_truths = frozenset(numbers), frozenset(truths)

    def walk(part: Json) -> Json:
        if isinstance(part, list):
            return [walk(one) for one in part]
        if not isinstance(part, dict):
            return part
        made = {}
        for key, one in part.items():
            if isinstance(one, str) and key in as_numbers:
                made[key] = number_of(one, key)
            elif isinstance(one, str) and key in as_truths:
                made[key] = one.lower() == "true"
            else:
                made[key] = walk(one)
        return made

    return walk(value)


def nothing(_site: Site, _known: Known) -> None:
    """The remover of resources that need no call."""


def never_made(noun: str, lost: str, *, arn: str = "", name: str | None = None) -> Kind:
    """The kind of resources that are left out, and the reason."""

    def apply(_site: Site, _wanted: Wanted) -> Mapping[str, Json]:
        raise LeftOut(lost)

    return Kind(noun, apply, nothing, name, 512, arn, lost=lost)
