"""Shared parts of all rewriting: unused names, notes for the author, and redirected transitions.

Definitions are JSON values and never changed in place: each edit makes a new object.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Final, Literal

from statewright.asl.checks.fields import JSONATA
from statewright.asl.outline import GENERATED, Node, StateOutline, top_language
from statewright.asl.text.document import Path
from statewright.errors import ALL, TASK_FAILED, TIMEOUT
from statewright.payload import Json, JsonObject

LONGEST_NAME: Final = 80
"""Source: language specification: names of states have at most 80 characters."""
LATE: Final = "Statewright.Timeout"
"""The error of a deadline that states keep themselves. Source: developer guide: a Fail's error may not begin with
`States.`."""

NoteKind = Literal["rewritten", "differs", "cannot"]


@dataclass(frozen=True, slots=True)
class Note:
    """The change at one place of a definition. `state` is the state's name, `None` for the machine itself."""

    kind: NoteKind
    state: str | None
    path: Path
    message: str


@dataclass(slots=True)
class Edits:
    """One definition being rewritten. `wait_seconds` is the wait between two attempts to take a permit."""

    machine: Node
    table: str
    wait_seconds: int
    notes: list[Note] = field(default_factory=list)
    late: set[str] = field(default_factory=set)
    """States that may fail with `LATE`, because they hold one that does."""
    added: set[str] = field(default_factory=set)
    """Names of new states."""
    _names: set[str] = field(default_factory=set)
    _text: str = ""
    _count: int = 0

    def __post_init__(self) -> None:
        self._text = json.dumps(self.machine)
        self._names = set(_names_of(self.machine))

    @property
    def is_jsonata(self) -> bool:
        """True if the machine's own language is JSONata."""
        return top_language(self.machine) == JSONATA

    def note(self, kind: NoteKind, state: StateOutline, message: str) -> None:
        """Note something about a state for the author."""
        self.notes.append(Note(kind, state.name, state.path, message))

    def name(self, owner: str, role: str) -> str:
        """A name for a new state that belongs to another: `Enter: take`."""
        count = 1
        while True:
            ending = f": {role}" if count == 1 else f": {role} {count}"
            found = owner[: LONGEST_NAME - len(ending)] + ending
            if found not in self._names:
                self._names.add(found)
                self.added.add(found)
                return found
            count += 1

    def prefix(self) -> str:
        """A prefix of variable names that the definition does not use."""
        while True:
            self._count += 1
            found = f"sw{self._count}_"
            if found not in self._text:
                return found

    def jsonata(self, node: Node) -> Node:
        """A new state in JSONata, for any language of the machine."""
        if self.is_jsonata:
            return node
        kind = {"Type": node["Type"], "QueryLanguage": JSONATA}
        return {**kind, **node}

    def may_be_late(self, state: StateOutline) -> None:
        """Mark a state that may fail with `LATE`, and the states around it, which must handle that error."""
        at: StateOutline | None = state
        while at is not None:
            self.late.add(at.name)
            at = at.scope.owner


def _names_of(scope: Json) -> Iterator[str]:
    pending = [scope]
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending.extend(value)
        elif isinstance(value, dict):
            states = value.get("States")
            if isinstance(states, dict):
                yield from states
            pending.extend(value.values())


def commented(scope: Node, added: Set[str]) -> Node:
    """A machine whose new states say in a Comment what wrote them; `validate` then knows that they are intended."""

    def inside(value: Json) -> Json:
        if isinstance(value, list):
            return [inside(element) for element in value]
        if not isinstance(value, dict):
            return value
        found = {key: inside(member) for key, member in value.items()}
        states = found.get("States")
        if "StartAt" in found and isinstance(states, dict):
            found["States"] = {
                name: {"Type": node.get("Type"), "Comment": GENERATED, **node}
                if name in added and isinstance(node, dict)
                else node
                for name, node in states.items()
            }
        return found

    made: Node = inside(scope)
    return made


def onward(node: Node) -> Node:
    """A state's Next or End."""
    return {key: node[key] for key in ("Next", "End") if key in node}


def picked(node: Node, *names: str) -> Node:
    """Those of the named members that a state has."""
    return {key: node[key] for key in names if key in node}


def redirected(node: Node, elsewhere: Mapping[str, str]) -> Node:
    """A state with some transitions redirected."""

    def target(name: Json) -> Json:
        return elsewhere.get(name, name) if isinstance(name, str) else name

    def entries(listed: Json) -> Json:
        if not isinstance(listed, list):
            return listed
        return [{**e, "Next": target(e["Next"])} if isinstance(e, dict) and "Next" in e else e for e in listed]

    changed: JsonObject = {key: target(node[key]) for key in ("Next", "Default") if key in node}
    changed |= {key: entries(node[key]) for key in ("Choices", "Catch") if key in node}
    return {**node, **changed}


def knowing_late(node: Node) -> Node:
    """A state whose Retry and Catch treat `LATE` as they treat `States.Timeout`."""
    changed: JsonObject = {}
    for key in ("Retry", "Catch"):
        listed = node.get(key)
        if isinstance(listed, list):
            changed[key] = _knowing(listed, is_retry=key == "Retry")
    return {**node, **changed}


def _knowing(listed: list[Node], *, is_retry: bool) -> list[Node]:
    def errors(entry: Node) -> list[str]:
        named = entry.get("ErrorEquals")
        return named if isinstance(named, list) else []

    at = next((n for n, entry in enumerate(listed) if {TIMEOUT, ALL} & set(errors(entry))), None)
    # TaskFailed matches everything but a timeout, and would match ours.
    is_hidden = any(TASK_FAILED in errors(entry) for entry in listed[:at])
    if at is None:
        never = [{"ErrorEquals": [LATE], "MaxAttempts": 0}] if is_retry and is_hidden else []
        return [*never, *listed]
    if is_hidden:
        return [{**listed[at], "ErrorEquals": [LATE]}, *listed]
    if TIMEOUT in errors(listed[at]):
        known = {**listed[at], "ErrorEquals": [*errors(listed[at]), LATE]}
        return [*listed[:at], known, *listed[at + 1 :]]
    return listed


def quoted(text: str) -> str:
    """A text as a JSONata literal."""
    return json.dumps(text, ensure_ascii=False)


def expression(text: str) -> str:
    """A JSONata text between its delimiters."""
    return "{% " + text + " %}"
