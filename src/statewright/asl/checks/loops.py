"""Loops of a scope: which states they consist of, what their exits depend on, and which states can change that.

Static and cautious: "no state changes it" is said only where the definition proves it; a task whose result replaces
the whole document can change anything. The messages are in `lints.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from statewright.asl.checks.assignments import assignments_of
from statewright.asl.checks.field_values import is_expression
from statewright.asl.choice_rules import rule_paths
from statewright.asl.outline import Edge, ScopeOutline, StateOutline
from statewright.payload import Json, JsonObject
from statewright.query.jsonata import JsonataSyntaxError, compile_expression
from statewright.query.jsonpath import PathSyntaxError, compile_path
from statewright.query.jsonpath_tree import Name

MAX_LOOP_DEPTH = 8
"""Deepest nesting of loops that is examined. Ours: each level costs one more pass over the scope."""

Root = Literal["data", "variable", "time", "constant"]
_REFERENCE = re.compile(r"\$(\w+)")
_CONTEXT_PART = re.compile(r"\$states\.context\b\.?(\w*)")
_VOLATILE_CALL = re.compile(r"\$(now|millis|random|uuid)\b")


@dataclass(frozen=True, slots=True)
class Dependency:
    """One value that a condition reads. `steps` are the leading members of a path into the state's data."""

    text: str
    root: Root
    name: str | None = None
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Exit:
    """One way out of a loop: the transition, and what the decision for it depends on (none: nothing known)."""

    state: StateOutline
    edge: Edge
    dependencies: tuple[Dependency, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """States that lead to each other, in the order of a walk from the first one entered."""

    scope: ScopeOutline
    states: tuple[StateOutline, ...]
    exits: tuple[Exit, ...]

    @property
    def names(self) -> set[str]:
        """The names of the states."""
        return {state.name for state in self.states}

    def changers(self, dependency: Dependency) -> list[StateOutline]:
        """The states of the loop that may change a value before the loop comes round again."""
        inside = self.names
        return [state for state in self.states if may_change(state, dependency, inside)]

    @property
    def shown(self) -> str:
        """The loop as messages show it: `A -> B -> A`, shortened when long."""
        names = [state.name for state in self.states]
        if len(names) > 8:
            names = [*names[:7], "..."]
        return " -> ".join([*names, names[0]])


def loops_of(scope: ScopeOutline) -> list[Loop]:
    """The loops of a scope, each outer loop before those inside it."""
    found: list[Loop] = []
    assigned = {name for state in scope.states.values() for name, _path in assignments_of(state)}
    pending: list[tuple[set[str], int]] = [(set(scope.states), 0)]
    while pending:
        names, depth = pending.pop()
        for component in _components(scope, names):
            entries = _entries(scope, component)
            found.append(_loop(scope, component, entries[0], assigned))
            if depth < MAX_LOOP_DEPTH:
                pending.append((component - {entries[0]}, depth + 1))
    return found


def _loop(scope: ScopeOutline, component: set[str], entry: str, assigned: set[str]) -> Loop:
    order = {entry: None}
    queue = [entry]
    for name in queue:
        for edge in scope.states[name].edges:
            if edge.target in component and edge.target not in order:
                order[edge.target] = None
                queue.append(edge.target)
    states = tuple(scope.states[name] for name in order)
    exits = tuple(
        Exit(state, edge, tuple(decision_dependencies(state, edge, assigned)))
        for state in states
        for edge in state.edges
        if edge.target not in component
    )
    return Loop(scope, states, exits)


def _entries(scope: ScopeOutline, component: set[str]) -> list[str]:
    outside = {
        edge.target
        for state in scope.states.values()
        if state.name not in component
        for edge in state.edges
        if edge.target in component
    }
    if scope.start in component:
        outside.add(str(scope.start))
    return [name for name in scope.states if name in (outside or component)]


def _components(scope: ScopeOutline, names: set[str]) -> Iterator[set[str]]:
    """Sets of states that all lead to each other (Tarjan's algorithm, with a stack of its own)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    following = {
        name: [edge.target for edge in scope.states[name].edges if edge.target in names]
        for name in scope.states
        if name in names
    }
    for root in following:
        if root in index:
            continue
        work: list[tuple[str, int]] = [(root, 0)]
        while work:
            name, position = work.pop()
            if position == 0:
                index[name] = low[name] = len(index)
                stack.append(name)
                on_stack.add(name)
            else:
                low[name] = min(low[name], low[following[name][position - 1]])
            targets = following[name]
            while position < len(targets) and targets[position] in index:
                if targets[position] in on_stack:
                    low[name] = min(low[name], index[targets[position]])
                position += 1
            if position < len(targets):
                work.append((name, position + 1))
                work.append((targets[position], 0))
            elif low[name] == index[name]:
                component: set[str] = set()
                while name not in component:
                    member = stack.pop()
                    on_stack.discard(member)
                    component.add(member)
                if len(component) > 1 or name in targets:
                    yield component


# ------------------------------------------------------------------ what decisions depend on


def decision_dependencies(state: StateOutline, edge: Edge, assigned: set[str]) -> Iterator[Dependency]:
    """The values by which a Choice takes this transition: those of its own rule and of the rules before it."""
    rules = state.node.get("Choices")
    if state.type != "Choice" or not isinstance(rules, list):
        return
    for rule in rules[: edge.index + 1] if edge.kind == "rule" else rules:
        if isinstance(rule, dict):
            yield from _rule_dependencies(rule, state.jsonata, assigned)


def _rule_dependencies(rule: JsonObject, jsonata: bool, assigned: set[str]) -> Iterator[Dependency]:
    if jsonata:
        yield from _condition_dependencies(rule.get("Condition"), assigned)
        return
    for text in rule_paths(rule):
        yield path_dependency(text)


def _condition_dependencies(condition: Json, assigned: set[str]) -> Iterator[Dependency]:
    if not is_expression(condition):
        return
    text = condition[2:-2].strip()
    try:
        compiled = compile_expression(text)
    except JsonataSyntaxError:
        yield Dependency(text, "time")
        return
    if _VOLATILE_CALL.search(text):
        yield Dependency(text, "time")
    # A variable may have the name of a built-in function, which hides it from the expression's own list.
    for name in sorted(compiled.variables | assigned.intersection(_REFERENCE.findall(text))):
        yield Dependency(f"${name}", "variable", name)
    if "context" in compiled.states_fields:
        parts = set(_CONTEXT_PART.findall(text))
        yield Dependency("$states.context", "constant" if parts <= {"Execution", "StateMachine"} else "time")
    if "input" in compiled.states_fields:
        yield Dependency("$states.input", "data")


def path_dependency(text: str) -> Dependency:
    """The data that a JSONPath reads, as a dependency."""
    try:
        path = compile_path(text)
    except PathSyntaxError:
        return Dependency(text, "time")
    if path.root == "context":
        return Dependency(
            text, "constant" if leading_names(text)[:1] in (("Execution",), ("StateMachine",)) else "time"
        )
    if path.root == "variable":
        return Dependency(text, "variable", path.variable)
    return Dependency(text, "data", steps=leading_names(text))


def leading_names(text: str) -> tuple[str, ...]:
    """The leading member names of a path, up to the first other step; none for a text that is not a path."""
    try:
        steps = compile_path(text).steps
    except PathSyntaxError:
        return ()
    names: list[str] = []
    for step in steps:
        if not isinstance(step, Name):
            break
        names.append(step.name)
    return tuple(names)


# ------------------------------------------------------------------ what states change


def may_change(state: StateOutline, dependency: Dependency, inside: set[str]) -> bool:
    """True if a state can change a value on its way to one of the states `inside`."""
    if dependency.root == "time":
        return True
    if dependency.root == "constant":
        return False
    if dependency.root == "variable":
        return any(name == dependency.name for name, _path in assignments_of(state))
    caught = [edge for edge in state.edges if edge.kind == "catch" and edge.target in inside]
    if any(_catcher_changes(state, edge, dependency) for edge in caught):
        return True
    if all(edge.kind == "catch" for edge in state.edges if edge.target in inside):
        return False
    return _jsonata_changes(state) if state.jsonata else _jsonpath_changes(state, dependency)


def _catcher_changes(state: StateOutline, edge: Edge, dependency: Dependency) -> bool:
    catcher = state.node["Catch"][edge.index]
    if state.jsonata:
        return not _is_input(catcher.get("Output"))
    return _writes(catcher.get("ResultPath", "$"), dependency)


def _jsonata_changes(state: StateOutline) -> bool:
    rules = state.node.get("Choices")
    outputs = [rule.get("Output") for rule in rules if isinstance(rule, dict)] if isinstance(rules, list) else []
    outputs.append(state.node.get("Output"))
    if any(output is not None and not _is_input(output) for output in outputs):
        return True
    return state.type in ("Task", "Parallel", "Map") and "Output" not in state.node


def _is_input(output: Json) -> bool:
    return is_expression(output) and output[2:-2].strip() == "$states.input"


def _jsonpath_changes(state: StateOutline, dependency: Dependency) -> bool:
    node = state.node
    if node.get("OutputPath", "$") != "$":
        return True
    narrowed: bool = node.get("InputPath", "$") != "$"
    if state.type not in ("Task", "Parallel", "Map", "Pass"):
        return narrowed
    place = node.get("ResultPath", "$")
    if place == "$" and state.type == "Pass" and "Result" not in node:
        return narrowed or not _passes_on(node.get("Parameters"), dependency)
    return _writes(place, dependency)


def _passes_on(parameters: object, dependency: Dependency) -> bool:
    """True if a Pass without Result keeps the value in its place."""
    if parameters is None:
        return True
    if not isinstance(parameters, dict) or not dependency.steps:
        return False
    first = dependency.steps[0]
    return parameters.get(first + ".$") in (f"$.{first}", f"$['{first}']")


def _writes(place: Json, dependency: Dependency) -> bool:
    """True if a write at a reference path reaches the value: one of the two paths leads through the other."""
    if place is None:
        return False
    steps = leading_names(place) if isinstance(place, str) else ()
    shorter = min(len(steps), len(dependency.steps))
    return steps[:shorter] == dependency.steps[:shorter]
