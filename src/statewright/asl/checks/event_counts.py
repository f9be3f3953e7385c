"""How many history events states cost at least, from the definition alone.

Counts only what is certain: the cheapest way through a scope, and items that the definition itself lists.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable

from statewright.asl.checks.field_values import is_expression
from statewright.asl.checks.loops import Loop, leading_names
from statewright.asl.outline import ScopeOutline, StateOutline
from statewright.payload import Json
from statewright.query.jsonpath import PathSyntaxError, compile_path

_RANGE = re.compile(r"\[\s*(\d{1,9})\s*\.\.\s*(\d{1,9})\s*\]")


class EventWeights:
    """The least number of history events that states cost, with what they hold."""

    def __init__(self, scopes: list[ScopeOutline]) -> None:
        self.scopes_of: dict[StateOutline, list[ScopeOutline]] = {}
        for scope in scopes:
            if scope.owner is not None:
                self.scopes_of.setdefault(scope.owner, []).append(scope)
        self.by_scope: dict[ScopeOutline, int] = {}
        self.by_state: dict[StateOutline, int] = {}
        for scope in reversed(scopes):
            self.by_scope[scope] = self.shortest_run(scope)

    def of(self, state: StateOutline) -> int:
        """The events of one visit to a state. Inner scopes must have been weighed before."""
        if state not in self.by_state:
            self.by_state[state] = self.weigh(state)
        return self.by_state[state]

    def weigh(self, state: StateOutline) -> int:
        """Entered and Exited, and what the type adds. Source: API reference, history events; observed order."""
        if state.type == "Task":
            resource = state.node.get("Resource")
            submits = isinstance(resource, str) and resource.endswith((".sync", ".sync:2", ".waitForTaskToken"))
            return 6 if submits else 5
        inner = sum(self.by_scope.get(scope, 0) for scope in self.scopes_of.get(state, ()))
        if state.type == "Parallel":
            return 4 + inner
        if state.type == "Map":
            if any(scope.distributed for scope in self.scopes_of.get(state, ())):
                return 6
            return 4 + (literal_item_count(state) or 0) * (2 + inner)
        return 1 if state.type == "Fail" else 2

    def shortest_run(self, scope: ScopeOutline) -> int:
        """The least number of events from a scope's start to any of its ends; 0 if it has none."""
        if scope.start not in scope.states:
            return 0
        first = scope.states[str(scope.start)]
        best = self.shortest(first, lambda state: state.terminal, set(scope.states))
        return sum(self.of(state) for state in best) if best else 0

    def shortest_turn(self, loop: Loop, through: StateOutline) -> list[StateOutline] | None:
        """The cheapest way round a loop that passes a state, that state once."""
        inside = loop.names
        for edge in through.edges:
            if edge.target == through.name:
                return [through]
        ways = [
            self.shortest(
                loop.scope.states[edge.target], lambda state: leads_to(state, through.name), inside - {through.name}
            )
            for edge in through.edges
            if edge.target in inside
        ]
        found = [way for way in ways if way]
        return [through, *min(found, key=lambda way: sum(map(self.of, way)))] if found else None

    def shortest(
        self, first: StateOutline, is_last: Callable[[StateOutline], bool], inside: set[str]
    ) -> list[StateOutline] | None:
        """The cheapest path of states from one to any that `is_last` accepts (Dijkstra's algorithm)."""
        states = first.scope.states
        came_from: dict[str, str | None] = {}
        heap: list[tuple[int, int, str, str | None]] = [(self.of(first), 0, first.name, None)]
        pushed = 0
        while heap:
            cost, _order, name, origin = heapq.heappop(heap)
            if name in came_from:
                continue
            came_from[name] = origin
            if is_last(states[name]):
                way: list[StateOutline] = []
                step: str | None = name
                while step is not None:
                    way.append(states[step])
                    step = came_from[step]
                return way[::-1]
            for edge in states[name].edges:
                if edge.target in inside and edge.target in states and edge.target not in came_from:
                    pushed += 1
                    heapq.heappush(heap, (cost + self.of(states[edge.target]), pushed, edge.target, name))
        return None


def leads_to(state: StateOutline, name: str) -> bool:
    """True if a transition of the state goes to that name."""
    return any(edge.target == name for edge in state.edges)


def literal_item_count(state: StateOutline) -> int | None:
    """How many items a Map has, where the definition itself says so."""
    if state.jsonata:
        items = state.node.get("Items")
        if isinstance(items, list):
            return len(items)
        match = _RANGE.fullmatch(items[2:-2].strip()) if is_expression(items) else None
        return max(0, int(match[2]) - int(match[1]) + 1) if match else None
    sources = [before for before in state.scope.states.values() if leads_to(before, state.name)]
    if len(sources) != 1 or state.scope.start == state.name or "InputPath" in state.node:
        return None
    return _literal_array_length(sources[0], state.node.get("ItemsPath", "$"))


def _literal_array_length(source: StateOutline, path: Json) -> int | None:
    node = source.node
    place = node.get("ResultPath", "$")
    if source.type != "Pass" or "Result" not in node or "OutputPath" in node:
        return None
    if not isinstance(place, str) or not isinstance(path, str):
        return None
    written, wanted = _plain_names(place), _plain_names(path)
    if written is None or wanted is None or wanted[: len(written)] != written:
        return None
    value: Json = node["Result"]
    for step in wanted[len(written) :]:
        value = value.get(step) if isinstance(value, dict) else None
    return len(value) if isinstance(value, list) else None


def _plain_names(text: str) -> tuple[str, ...] | None:
    """The member names of a path into the state's data that is made of nothing else."""
    try:
        path = compile_path(text)
    except PathSyntaxError:
        return None
    if path.root != "data":
        return None
    names = leading_names(text)
    return names if len(names) == len(path.steps) else None
