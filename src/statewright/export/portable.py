"""Rewrites a definition with extensions into one that any Step Functions service accepts: the walk over its states.

Inner scopes are rewritten before outer ones. A replacement keeps the state's name, so that transitions to it remain
valid; if another state must come before it, they are redirected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from statewright.asl.outline import Node, ScopeOutline, StateOutline, outline, states_of
from statewright.asl.resources import parse_resource
from statewright.asl.text.document import Document
from statewright.export.deadlines import bounded, is_bounded
from statewright.export.edits import Edits, Note, commented, knowing_late, redirected
from statewright.export.polls import poll
from statewright.export.semaphores import acquire, guarded, release
from statewright.export.starts import paced

TABLE: Final = "statewright-semaphores"
WAIT_SECONDS: Final = 5
_OWN: Final = "statewright"
_ACQUIRE: Final = f"{_OWN}:acquire"


@dataclass(frozen=True, slots=True)
class Exported:
    """A portable definition, and notes on the changes, in the order of the text. `holds`: True if it takes permits."""

    definition: Node
    notes: list[Note]
    holds: bool

    @property
    def is_whole(self) -> bool:
        """True if everything could be rewritten."""
        return all(note.kind != "cannot" for note in self.notes)


def export(
    document: Document, *, table: str = TABLE, max_concurrent: int | None = None, per_second: float | None = None,
    wait_seconds: int = WAIT_SECONDS, express: bool = False,
) -> Exported:  # fmt: skip
    """Rewrite a valid definition.

    `table` is the DynamoDB table for permits, `max_concurrent` how many executions of the machine may run at once,
    `per_second` how many may begin in a second,
    `wait_seconds` the wait between two attempts to take a permit.
    """
    machine: Node = document.value
    walk = _Walk(Edits(machine, table, wait_seconds), outline(machine, express=express))
    made = walk.machine(max_concurrent, per_second)
    if per_second is not None:
        text = f"at most {per_second:g} executions begin in a second, by a row of the DynamoDB table {table}"
        walk.edits.notes.insert(0, Note("rewritten", None, (), text))
    if max_concurrent is not None:
        text = f"at most {max_concurrent} executions run at once, by a permit in the DynamoDB table {table}"
        walk.edits.notes.insert(0, Note("rewritten", None, (), text))
    holds = bool(walk.holding)
    if holds:
        text = (
            "an execution that is stopped, times out or fails with States.Runtime keeps its permits: "
            "use the machine of --cleanup to return them"
        )
        walk.edits.notes.append(Note("differs", None, (), text))
        walk.edits.notes.append(Note("differs", None, (), "permits are not granted in the order of requests"))
    return Exported(commented(made, walk.edits.added) if walk.edits.added else made, walk.edits.notes, holds)


class _Walk:
    def __init__(self, edits: Edits, scopes: list[ScopeOutline]) -> None:
        self.edits = edits
        self.scopes = {scope.path: scope for scope in scopes}
        self.holding = _holding(scopes)

    def machine(self, limit: int | None, per_second: float | None) -> Node:
        """The whole machine rewritten, with limits on how many executions run at once, and begin in a second."""
        scope = self.scopes[()]
        made, _entries = self.inside(scope)
        if per_second is not None:
            made = paced(self.edits, made, per_second)
        if limit is not None:
            self.holding.add(scope.path)
        return guarded(self.edits, made, limit=limit) if scope.path in self.holding else made

    def processor(self, scope: ScopeOutline) -> Node:
        """The rewritten processor of a Map's items."""
        made, _entries = self.inside(scope)
        return guarded(self.edits, made) if scope.path in self.holding else made

    def inside(self, scope: ScopeOutline) -> tuple[Node, dict[str, str]]:
        """A scope with its states rewritten, and the entry states of those that no longer begin with their own name."""
        states: dict[str, Node] = {}
        entries: dict[str, str] = {}
        own: set[str] = set()
        for name, node in scope.node["States"].items():
            outlined = scope.states.get(name)
            made = {name: node} if outlined is None else self.state(outlined)
            states.update(made)
            first = next(iter(made))
            if first != name:
                entries[name] = first
                own.add(first)
        if entries:
            states = {name: node if name in own else redirected(node, entries) for name, node in states.items()}
        start = scope.node["StartAt"]
        return {**scope.node, "StartAt": entries.get(start, start), "States": states}, entries

    def state(self, state: StateOutline) -> dict[str, Node]:
        """The states that replace a state, the one to enter first."""
        made = self.rewritten(state)
        if state.name in self.edits.late:
            made[state.name] = knowing_late(made[state.name])
        return made

    def rewritten(self, state: StateOutline) -> dict[str, Node]:
        """As `state`, without the errors that Retry and Catch do not handle yet."""
        node, path = state.node, state.path
        resource = node.get("Resource")
        if state.type == "Task" and isinstance(resource, str):
            named = parse_resource(resource)
            if named.resource_type == _OWN:
                return self.task(state, named.action)
        if state.type == "Map":
            for key in ("ItemProcessor", "Iterator"):
                if (*path, key) in self.scopes:
                    return {state.name: {**node, key: self.processor(self.scopes[*path, key])}}
        if state.type != "Parallel":
            return {state.name: node}
        branches: list[Node] = []
        entries: dict[str, str] = {}
        for index, _branch in enumerate(node["Branches"]):
            made, entries = self.inside(self.scopes[*path, "Branches", index])
            branches.append(made)
        changed = {**node, "Branches": branches}
        if is_bounded(state):
            found = bounded(self.edits, state, changed, self.scopes[*path, "Branches", 0], entries)
            if found is not None:
                return found
        return {state.name: changed}

    def task(self, state: StateOutline, action: str) -> dict[str, Node]:
        """Rewrite a Task with an extension's resource."""
        if state.node.get("HeartbeatSeconds") or state.node.get("HeartbeatSecondsPath"):
            self.edits.note("differs", state, "its heartbeat is left out")
        if action == "poll":
            return poll(self.edits, state) or {state.name: state.node}
        if state.scope.express:
            self.edits.note("cannot", state, "an EXPRESS execution cannot hold a permit")
            return {state.name: state.node}
        return acquire(self.edits, state) if action == "acquire" else release(self.edits, state)


def _holding(scopes: list[ScopeOutline]) -> set[tuple[str | int, ...]]:
    """The scopes of executions that take permits: the machine's, and those of distributed Maps."""
    found: set[tuple[str | int, ...]] = set()
    for state in states_of(scopes):
        resource = state.node.get("Resource")
        if state.scope.express or not isinstance(resource, str) or parse_resource(resource).short_name != _ACQUIRE:
            continue
        scope = state.scope
        while scope.enclosing is not None and not scope.distributed:
            scope = scope.enclosing
        found.add(scope.path)
    return found
