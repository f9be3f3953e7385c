"""A definition as a graph: scopes of nodes and edges, with the texts that a drawing shows.

Owns reading a plain definition value, and the overlay of a run. Tolerant by design, since users draw unfinished
definitions: any JSON value gives a graph, a missing target becomes a red node, unknown fields are ignored. Leaves
positions to `graph.layout`, sentences to `graph.summary`, and checks to `asl.validate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, get_args

from statewright.graph import summary
from statewright.graph.services import Service, Waiting, service_of, waiting_of
from statewright.payload import Json, JsonMapping

Status = Literal["ok", "fail", "run", "wait", "caught", "idle"]
DEFAULT: Final = "Default"
"""The label of the exit that a Choice takes when no rule matches."""

STATUS_WORDS: Final[Mapping[Status, str]] = {
    "ok": "Succeeded",
    "fail": "Failed",
    "run": "Running",
    "wait": "Waiting",
    "caught": "Caught",
    "idle": "Not reached",
}
StateType = Literal["Task", "Pass", "Choice", "Wait", "Succeed", "Fail", "Parallel", "Map"]
Kind = Literal[StateType, "Unknown", "Missing", "Folded"]
"""`Missing` stands for a missing target of a transition, `Folded` for scopes nested deeper than `DEEPEST_SCOPE`."""
EdgeKind = Literal["next", "choice", "catch"]

DEEPEST_SCOPE: Final = 10
_STATE_TYPES: Final = frozenset(get_args(StateType))
_MAY_CATCH: Final = frozenset({"Task", "Parallel", "Map", "Unknown"})
_MAY_CHOOSE: Final = frozenset({"Choice", "Unknown"})
_NO_NEXT: Final = frozenset({"Choice", "Succeed", "Fail"})

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Overlay:
    """A run to be drawn on the graph.

    `status` by state name, `counts` how often a state was entered, `taken` how often a transition (source name,
    target name) was. A state without a status was not reached.
    """

    status: Mapping[str, Status] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    taken: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def status_of(self, name: str) -> Status:
        """The status of a state; `idle` when the run did not reach it."""
        found = self.status.get(name, "idle")
        return found if found in STATUS_WORDS else "idle"


@dataclass(frozen=True, slots=True)
class Node:
    """One state, or its placeholder. `path` leads to it from the root of the definition.

    `service` is what a Task calls, `waiting` how it waits for the answer.
    """

    id: str
    name: str
    kind: Kind
    path: Path
    detail: str = ""
    scopes: tuple[Scope, ...] = ()
    retries: tuple[str, ...] = ()
    comment: str = ""
    ends: bool = False
    reachable: bool = True
    service: Service | None = None
    waiting: Waiting = ""

    @property
    def is_box(self) -> bool:
        """True if the node is drawn round scopes of its own."""
        return bool(self.scopes)


@dataclass(frozen=True, slots=True)
class Edge:
    """A transition between two nodes of one scope, by id; equal ends of one kind are merged, hence several labels."""

    source: str
    target: str
    kind: EdgeKind
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scope:
    """One `States` object: the definition itself, a branch, or an item processor. `start` is a node id."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    start: str | None


@dataclass(frozen=True, slots=True)
class Graph:
    """A whole definition; `overlay` is the run drawn on it, if any."""

    root: Scope
    comment: str = ""
    overlay: Overlay | None = None

    def with_overlay(self, overlay: Overlay | None) -> Graph:
        """The same graph with another run as its overlay."""
        return replace(self, overlay=overlay)

    def nodes(self) -> Iterator[Node]:
        """Every node of every scope, in reading order."""
        pending = list(reversed(self.root.nodes))
        while pending:
            node = pending.pop()
            yield node
            for scope in reversed(node.scopes):
                pending.extend(reversed(scope.nodes))


def build_graph(definition: Json, overlay: Overlay | None = None) -> Graph:
    """Read a definition value (the `value` of an `asl.reader.Document`). Never raises, for any value."""
    comment = definition.get("Comment") if isinstance(definition, Mapping) else None
    builder = _Builder(_all_state_names(definition))
    return Graph(builder.scope(definition, (), 0), comment if isinstance(comment, str) else "", overlay)


def _inner_definitions(state: Json) -> list[tuple[Path, Json]]:
    """The scopes that a state holds, each with its path below the state."""
    if not isinstance(state, Mapping):
        return []
    kind = state.get("Type")
    if kind == "Parallel":
        branches = state.get("Branches")
        return [
            (("Branches", index), branch) for index, branch in enumerate(branches if isinstance(branches, list) else [])
        ]
    if kind == "Map":
        for name in ("ItemProcessor", "Iterator"):
            if name in state:
                return [((name,), state[name])]
    return []


def _states_of(definition: Json) -> JsonMapping:
    states = definition.get("States") if isinstance(definition, Mapping) else None
    return states if isinstance(states, Mapping) else {}


def _all_state_names(*definitions: Json) -> frozenset[str]:
    names: set[str] = set()
    pending = list(definitions)
    while pending:
        states = _states_of(pending.pop())
        names.update(states)
        for state in states.values():
            pending.extend(inner for _, inner in _inner_definitions(state))
    return frozenset(names)


class _Builder:
    """Numbers the nodes in reading order while it walks down; its recursion ends at `DEEPEST_SCOPE`."""

    def __init__(self, known_names: frozenset[str]) -> None:
        self._known_names = known_names
        self._count = 0

    def scope(self, definition: Json, path: Path, depth: int) -> Scope:
        states = _states_of(definition)
        start = definition.get("StartAt") if isinstance(definition, Mapping) else None
        ids = {name: self._new_id() for name in states}
        missing: dict[str, Node] = {}

        def target_id(target: Json) -> str:
            name = target if isinstance(target, str) else "\0a name"
            if name in ids and isinstance(target, str):
                return ids[name]
            if name not in missing:
                missing[name] = self._missing(
                    name, "in another scope" if name in self._known_names else "missing state"
                )
            return missing[name].id

        edges: list[Edge] = []
        for name, state in states.items():
            edges.extend(_merged((ids[name], target_id(target), kind, label) for target, kind, label in _exits(state)))
            if _is_dangling(state):
                node = self._missing("Choices" if _kind(state) == "Choice" else "Next or End", "missing field")
                missing[f"\0{name}"] = node
                edges.append(Edge(ids[name], node.id, "next"))
        if not states:
            start_id = target_id("no states")
        elif "StartAt" in definition:
            start_id = target_id(start)
        else:
            missing["\0StartAt"] = self._missing("StartAt", "missing field")
            start_id = missing["\0StartAt"].id
        # If the start itself is wrong, every state would be unreachable, which is no information.
        reached = _reached(start_id, edges) if start_id in ids.values() else frozenset(ids.values())
        nodes = [
            self._node(name, state, (*path, "States", name), ids[name], ids[name] in reached, depth)
            for name, state in states.items()
        ]
        return Scope((*nodes, *missing.values()), tuple(edges), start_id)

    def _node(self, name: str, state: Json, path: Path, node_id: str, reachable: bool, depth: int) -> Node:
        if not isinstance(state, Mapping):
            return Node(node_id, name, "Unknown", path, "not an object", reachable=reachable)
        kind = _kind(state)
        inner = _inner_definitions(state)
        scopes: tuple[Scope, ...] = ()
        if inner and depth + 1 >= DEEPEST_SCOPE:
            scopes = (self._folded([definition for _, definition in inner], (*path, *inner[0][0])),)
        elif inner:
            scopes = tuple(self.scope(definition, (*path, *below), depth + 1) for below, definition in inner)
        detail = summary.detail_words(state)
        if kind == "Unknown":
            said = state.get("Type")
            detail = f"unknown type {said[:40]}" if isinstance(said, str) else "no type"
        comment = state.get("Comment")
        return Node(
            node_id,
            name,
            kind,
            path,
            detail,
            scopes,
            tuple(summary.retry_words(state.get("Retry"))) if kind in _MAY_CATCH else (),
            comment if isinstance(comment, str) else "",
            ends=kind not in _NO_NEXT and state.get("End") is True and not isinstance(state.get("Next"), str),
            reachable=reachable,
            service=service_of(state),
            waiting=waiting_of(state),
        )

    def _folded(self, definitions: Iterable[Json], path: Path) -> Scope:
        count = len(_all_state_names(*definitions))
        words = f"{count} state{'' if count == 1 else 's'}, nested deeper than {DEEPEST_SCOPE}"
        node = Node(self._new_id(), "…", "Folded", path, words)
        return Scope((node,), (), node.id)

    def _missing(self, name: str, detail: str) -> Node:
        return Node(self._new_id(), name.removeprefix("\0"), "Missing", (), detail)

    def _new_id(self) -> str:
        self._count += 1
        return f"n{self._count}"


def _kind(state: Json) -> Kind:
    said = state.get("Type") if isinstance(state, Mapping) else None
    return said if isinstance(said, str) and said in _STATE_TYPES else "Unknown"  # type: ignore[return-value]


def _exits(state: Json) -> Iterator[tuple[Json, EdgeKind, str]]:
    """The transitions of a state, in the order of evaluation: (target, kind, label)."""
    if not isinstance(state, Mapping):
        return
    kind = _kind(state)
    if kind in _MAY_CHOOSE:
        rules = state.get("Choices")
        for rule in rules if isinstance(rules, list) else ():
            yield (rule.get("Next") if isinstance(rule, Mapping) else None), "choice", summary.rule_words(rule)
        if "Default" in state:
            yield state["Default"], "choice", DEFAULT
    if kind not in _NO_NEXT and "Next" in state:
        yield state["Next"], "next", ""
    if kind in _MAY_CATCH:
        catchers = state.get("Catch")
        for catcher in catchers if isinstance(catchers, list) else ():
            yield (catcher.get("Next") if isinstance(catcher, Mapping) else None), "catch", summary.error_words(catcher)


def _merged(exits: Iterable[tuple[str, str, EdgeKind, str]]) -> list[Edge]:
    """One edge for each target and kind, with every label once, in order of first mention."""
    labels: dict[tuple[str, str, EdgeKind], dict[str, None]] = {}
    for source, target, kind, label in exits:
        found = labels.setdefault((source, target, kind), {})
        if label:
            found[label] = None
    return [Edge(source, target, kind, tuple(found)) for (source, target, kind), found in labels.items()]


def _is_dangling(state: Json) -> bool:
    if not isinstance(state, Mapping):
        return False
    kind = _kind(state)
    if kind == "Choice":
        return not any(True for _ in _exits(state))
    return kind not in _NO_NEXT and kind != "Unknown" and "Next" not in state and state.get("End") is not True


def _reached(start: str, edges: Iterable[Edge]) -> frozenset[str]:
    exits: dict[str, list[str]] = {}
    for edge in edges:
        exits.setdefault(edge.source, []).append(edge.target)
    seen = {start}
    pending = [start]
    while pending:
        for target in exits.get(pending.pop(), ()):
            if target not in seen:
                seen.add(target)
                pending.append(target)
    return frozenset(seen)
