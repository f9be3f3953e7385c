"""The skeleton of a definition: its scopes and their states, found without recursion, however broken the rest is.

Owns the scope of each state, its query language, and the targets of transitions. Reports no findings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from statewright.asl.checks.fields import JSONATA, JSONPATH, STATE_SHAPES, Language
from statewright.asl.findings import Path, has_placeholder
from statewright.payload import Json, JsonObject

Node = JsonObject
EdgeKind = Literal["next", "rule", "default", "catch"]


@dataclass(frozen=True, slots=True)
class Edge:
    """One transition as written: its place, and the name of its target. `index` counts rules and catchers."""

    kind: EdgeKind
    target: str
    path: Path
    index: int = 0


GENERATED: Final = "Written by statewright export."
"""The Comment of states that `statewright export` adds to a definition."""


@dataclass(eq=False, slots=True)
class StateOutline:
    """A state that is at least an object. `type` is `None` unless it is one of the eight."""

    name: str
    path: Path
    node: Node
    type: str | None
    language: Language
    scope: ScopeOutline
    edges: list[Edge] = field(default_factory=list)

    @property
    def jsonata(self) -> bool:
        """True if the state's fields are JSONata."""
        return self.language == JSONATA

    @property
    def generated(self) -> bool:
        """True if `statewright export` wrote the state: its waits and ends are intended."""
        return self.node.get("Comment") == GENERATED

    @property
    def terminal(self) -> bool:
        """True if the scope can end here. A state whose next state is missing or unknown counts as well."""
        if self.type in ("Succeed", "Fail"):
            return True
        if self.type == "Choice":
            return False
        end = self.node.get("End")
        return end is True or isinstance(end, str) or ("Next" not in self.node and end is None)


@dataclass(eq=False, slots=True)
class ScopeOutline:
    """One `States` object: the machine, a branch or an item processor.

    `express`: its executions are Express ones, which cannot wait for jobs and tokens. `distributed`: its
    executions are child executions, which see no variable from outside.
    """

    path: Path
    node: Node
    owner: StateOutline | None
    distributed: bool
    express: bool
    states: dict[str, StateOutline] = field(default_factory=dict)
    complete: bool = True
    """True if every state is an object and every target is known text, so that the flow can be checked."""

    @property
    def start(self) -> str | None:
        """The name in StartAt, if it is text."""
        start = self.node.get("StartAt")
        return start if isinstance(start, str) else None

    @property
    def enclosing(self) -> ScopeOutline | None:
        """The scope of the state that holds this one."""
        return self.owner.scope if self.owner is not None else None


_Found = tuple[Node, Path, StateOutline | None, bool, bool]
"""A scope before it is entered: its object, path, owner, and whether it is distributed and Express."""


def outline(machine: Node, *, express: bool) -> list[ScopeOutline]:
    """List the scopes of a definition, outer before inner, otherwise in the order of the text."""
    language = top_language(machine)
    found: list[ScopeOutline] = []
    pending: list[_Found] = [(machine, (), None, False, express)]
    while pending:
        node, path, owner, distributed, is_express = pending.pop()
        scope = ScopeOutline(path, node, owner, distributed, is_express)
        found.append(scope)
        inner: list[_Found] = []
        states = node.get("States")
        for name, value in states.items() if isinstance(states, dict) else ():
            if not isinstance(value, dict):
                scope.complete = False
                continue
            state = _state(name, value, scope, language)
            scope.states[name] = state
            inner.extend(_inner_scopes(state, is_express))
        if has_placeholder(node.get("StartAt")) or any(
            has_placeholder(edge.target) for state in scope.states.values() for edge in state.edges
        ):
            scope.complete = False
        pending.extend(reversed(inner))
    return found


def top_language(machine: Node) -> Language:
    """The machine's query language: every value but exactly `JSONPath` counts as JSONata. Source: observed."""
    return _language(machine, JSONPATH)


def states_of(scopes: list[ScopeOutline]) -> Iterator[StateOutline]:
    """Every state of the given scopes."""
    for scope in scopes:
        yield from scope.states.values()


def nodes_by_name(definition: Json) -> dict[str, Node]:
    """The states of a whole definition by name, as they are written."""
    return {state.name: state.node for state in states_of(outline(definition, express=False))}


def _language(node: Node, default: Language) -> Language:
    written = node.get("QueryLanguage", default)
    if has_placeholder(written):
        return default
    return JSONPATH if written == JSONPATH else JSONATA


def _state(name: str, node: Node, scope: ScopeOutline, language: Language) -> StateOutline:
    kind = node.get("Type")
    known = kind if isinstance(kind, str) and kind in STATE_SHAPES else None
    state = StateOutline(name, (*scope.path, "States", name), node, known, _language(node, language), scope)
    state.edges = list(_edges(state))
    return state


def _edges(state: StateOutline) -> Iterator[Edge]:
    node, path = state.node, state.path
    if isinstance(node.get("Next"), str) and state.type not in ("Choice", "Succeed", "Fail"):
        yield Edge("next", node["Next"], (*path, "Next"))
    if state.type == "Choice":
        yield from _listed_edges(node.get("Choices"), "rule", (*path, "Choices"))
        if isinstance(node.get("Default"), str):
            yield Edge("default", node["Default"], (*path, "Default"))
        else:
            yield from _misplaced_default(node.get("Choices"), (*path, "Choices"))
    if state.type in ("Task", "Parallel", "Map"):
        yield from _listed_edges(node.get("Catch"), "catch", (*path, "Catch"))


def _listed_edges(entries: Json, kind: EdgeKind, path: Path) -> Iterator[Edge]:
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict) and isinstance(entry.get("Next"), str):
            yield Edge(kind, entry["Next"], (*path, index, "Next"), index)


def _misplaced_default(entries: Json, path: Path) -> Iterator[Edge]:
    # A Default that was indented into Choices is an error of its own; its target is still meant to be reached.
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict) and isinstance(entry.get("Default"), str):
            yield Edge("default", entry["Default"], (*path, index, "Default"))


def _inner_scopes(state: StateOutline, express: bool) -> Iterator[_Found]:
    branches = state.node.get("Branches")
    if state.type == "Parallel" and isinstance(branches, list):
        for index, branch in enumerate(branches):
            if isinstance(branch, dict):
                yield branch, (*state.path, "Branches", index), state, False, express
    if state.type != "Map":
        return
    for key in ("ItemProcessor", "Iterator"):
        processor = state.node.get(key)
        if isinstance(processor, dict):
            config = processor.get("ProcessorConfig")
            config = config if isinstance(config, dict) else {}
            distributed = config.get("Mode") == "DISTRIBUTED"
            child_express = config.get("ExecutionType") == "EXPRESS" if distributed else express
            yield processor, (*state.path, key), state, distributed, child_express
