"""Comparison of two definitions: states added, removed and changed, and the difference as text.

Owns what counts as a change of a state: its own fields, never those of the states inside it.
"""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from typing import Final

from statewright.asl.outline import nodes_by_name
from statewright.payload import Json

_INNER: Final = ("ItemProcessor", "Iterator")


@dataclass(frozen=True, slots=True)
class Difference:
    """The differences of two definitions: `changed` by state, `fields` of the machine itself, `text` a unified diff."""

    added: dict[str, str]
    removed: dict[str, str]
    changed: dict[str, list[str]]
    fields: list[str]
    text: list[str]

    @property
    def same(self) -> bool:
        """True if the two are equivalent."""
        return not self.text


def compare(before: Json, after: Json, name_before: str, name_after: str) -> Difference:
    """Compare two definitions; the order of members does not count."""
    old, new = nodes_by_name(before), nodes_by_name(after)
    changed = {}
    for name in old:
        if name in new:
            fields = _differing(_own_fields(old[name]), _own_fields(new[name]))
            if fields:
                changed[name] = fields
    text = difflib.unified_diff(_canonical(before), _canonical(after), name_before, name_after, lineterm="")
    return Difference(
        {name: _type_of(node) for name, node in new.items() if name not in old},
        {name: _type_of(node) for name, node in old.items() if name not in new},
        changed,
        _differing(_without(before, "States"), _without(after, "States")),
        list(text),
    )


def _canonical(definition: Json) -> list[str]:
    return json.dumps(definition, indent=2, sort_keys=True, ensure_ascii=False).splitlines()


def _type_of(node: Json) -> str:
    return str(node.get("Type", "?"))


def _own_fields(node: Json) -> Json:
    """A state without the states inside it, which are compared for themselves."""
    own = dict(node)
    for name in _INNER:
        if isinstance(own.get(name), dict):
            own[name] = _without(own[name], "States")
    if isinstance(own.get("Branches"), list):
        own["Branches"] = [_without(branch, "States") for branch in own["Branches"]]
    return own


def _without(value: Json, member: str) -> Json:
    return {name: item for name, item in value.items() if name != member} if isinstance(value, dict) else {}


def _differing(before: Json, after: Json) -> list[str]:
    names = [*before, *(name for name in after if name not in before)]
    return [name for name in names if not (name in before and name in after and _same(before[name], after[name]))]


def _same(before: Json, after: Json) -> bool:
    # Compared as texts: to Python, true is 1.
    return json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)
