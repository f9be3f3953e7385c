"""Stack policies: which resources an update of a stack may modify, replace or delete.

Source: CloudFormation user guide, "Prevent updates to stack resources".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, Literal

from statewright.payload import Json, parse_json
from statewright.stacks.errors import invalid

Verb = Literal["Modify", "Replace", "Delete"]
MOST_CHARACTERS: Final = 16_384
"""Source: API reference, SetStackPolicy."""
_PREFIX: Final = "LogicalResourceId/"
_CONDITIONS: Final = ("StringEquals", "StringLike")


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement of a policy, its single values as lists."""

    denies: bool
    actions: Sequence[str]
    is_other_action: bool
    resources: Sequence[str]
    is_other_resource: bool
    types: Sequence[str] | None

    def covers(self, verb: Verb, id_: str, type_: str) -> bool:
        """True if the statement is about an action on a resource."""
        is_action = any(fnmatchcase(f"Update:{verb}", one) for one in self.actions)
        is_resource = any(fnmatchcase(_PREFIX + id_, one) for one in self.resources)
        if is_action == self.is_other_action or is_resource == self.is_other_resource:
            return False
        return self.types is None or any(fnmatchcase(type_, one) for one in self.types)


def check_policy(text: str) -> None:
    """Refuse a policy whose form is wrong. Raises: ApiError."""
    _statements(text)


def denial(text: str, verb: Verb, id_: str, type_: str) -> str:
    """The reason why a policy denies an action on a resource; empty if it allows it, or if there is no policy."""
    if not text:
        return ""
    is_allowed = False
    for number, one in enumerate(_statements(text), 1):
        if not one.covers(verb, id_, type_):
            continue
        if one.denies:
            actions, resources = ", ".join(one.actions), ", ".join(one.resources)
            words = f"Statement [#{number}] does not allow [{actions}] for resource [{resources}]"
            return f"Action denied by stack policy: {words}"
        is_allowed = True
    return "" if is_allowed else "Action not allowed by stack policy"


def _statements(text: str) -> list[_Statement]:
    """Raises: ApiError."""
    if len(text) > MOST_CHARACTERS:
        raise invalid(f"Error validating stack policy: it has more than {MOST_CHARACTERS} characters")
    try:
        found = parse_json(text.encode())
    except ValueError:
        raise invalid("Error validating stack policy: Invalid stack policy") from None
    given = found.get("Statement") if isinstance(found, dict) else None
    listed = [given] if isinstance(given, dict) else given
    if not isinstance(listed, list) or not listed:
        raise invalid("Error validating stack policy: Invalid stack policy")
    return [_statement(one) for one in listed]


def _statement(given: Json) -> _Statement:
    if not isinstance(given, dict) or given.get("Effect") not in ("Allow", "Deny"):
        raise _wrong("Effect must be Allow or Deny")
    if given.get("Principal") not in ("*", {"AWS": "*"}):
        raise _wrong("Principal must be *")
    actions = _one_of(given, "Action", "NotAction")
    unknown = [one for one in actions if one != "*" and not one.startswith("Update:")]
    if unknown:
        raise _wrong(f"unknown action {unknown[0]}")
    return _Statement(
        given["Effect"] == "Deny", actions, "NotAction" in given, _one_of(given, "Resource", "NotResource"),
        "NotResource" in given, _types(given.get("Condition")),
    )  # fmt: skip


def _one_of(given: Mapping[str, Json], name: str, other: str) -> list[str]:
    found = given.get(name, given.get(other))
    texts = [found] if isinstance(found, str) else found
    if (name in given) == (other in given) or not isinstance(texts, list) or not texts:
        raise _wrong(f"either {name} or {other} is needed")
    return [str(one) for one in texts]


def _types(condition: Json) -> list[str] | None:
    if condition is None:
        return None
    found: list[str] = []
    for name, body in condition.items() if isinstance(condition, dict) else ():
        if name not in _CONDITIONS or not isinstance(body, dict) or set(body) != {"ResourceType"}:
            raise _wrong("a Condition is StringEquals or StringLike of ResourceType")
        texts = body["ResourceType"]
        found += [texts] if isinstance(texts, str) else [str(one) for one in texts or ()]
    return found


def _wrong(text: str) -> Exception:
    return invalid(f"Error validating stack policy: {text}")
