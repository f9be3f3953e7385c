"""A definition guessed from a history alone: the states that it entered, and the transitions that it took.

For histories that come without their definition. What was not entered is not in it, and conditions are not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from statewright.interpreter.history import HistoryEvent
from statewright.payload import Json, JsonObject

_ENDS: Final = frozenset({"Succeed", "Fail"})
_UNKNOWN: Final = "arn:aws:states:::statewright:unknown"


@dataclass(eq=False, slots=True)
class _Scope:
    """States that follow each other: of the execution, a branch, or the items of a Map."""

    states: dict[str, _State] = field(default_factory=dict)
    start: str = ""


@dataclass(eq=False, slots=True)
class _State:
    name: str
    type: str
    scope: _Scope
    next: dict[str, None] = field(default_factory=dict)
    resource: str = ""
    inner: dict[str, _Scope] = field(default_factory=dict)


def outline(events: Sequence[HistoryEvent]) -> JsonObject:
    """A definition that has the states and transitions of these events."""
    root = _Scope()
    places: dict[int, tuple[_Scope, _State | None]] = {0: (root, None)}
    states: dict[str, _State] = {}
    for event in events:
        scope, state = places.get(event.previous_id, (root, None))
        details = event.details or {}
        name = str(details.get("name", ""))
        if event.type.endswith("StateEntered"):
            kind = event.type.removesuffix("StateEntered")
            if state is not None and state.type == "Parallel" and _is_inside(events, event):
                scope, state = _branch(state, name), None
            known = states.get(name)
            if known is None:
                known = states[name] = _State(name, kind, scope)
                scope.states[name] = known
            scope.start = scope.start or name
            if state is not None:
                state.next[name] = None
            state, scope = known, known.scope
        elif event.type.endswith("StateExited") and name in states:
            state, scope = states[name], states[name].scope
        elif event.type == "MapIterationStarted" and name in states:
            scope, state = states[name].inner.setdefault("", _Scope()), None
        elif event.type.startswith("MapIteration") and name in states:
            state, scope = states[name], states[name].scope
        elif event.type.endswith("Scheduled") and state is not None and not state.resource:
            state.resource = _resource(details)
        places[event.id] = (scope, state)
    if not root.states:
        return {"StartAt": "Nothing", "States": {"Nothing": {"Type": "Succeed", "Comment": "No state was entered."}}}
    return _scope(root)


def _is_inside(events: Sequence[HistoryEvent], event: HistoryEvent) -> bool:
    """True for the first state of a branch, which follows the start of its Parallel."""
    before = events[event.previous_id - 1] if 0 < event.previous_id <= len(events) else None
    return before is not None and before.type == "ParallelStateStarted"


def _branch(state: _State, first: str) -> _Scope:
    return state.inner.setdefault(first, _Scope())


def _resource(details: JsonObject) -> str:
    kind, resource = details.get("resourceType"), str(details.get("resource", ""))
    if kind is None:
        return resource or _UNKNOWN
    return f"arn:aws:states:::{kind}:{resource}"


def _scope(scope: _Scope) -> JsonObject:
    states = {state.name: _state(state) for state in scope.states.values()}
    return {"StartAt": scope.start, "States": states}


def _state(state: _State) -> JsonObject:
    shown: JsonObject = {"Type": state.type}
    following = list(state.next)
    if state.type == "Task":
        shown["Resource"] = state.resource or _UNKNOWN
    elif state.type == "Wait":
        shown["SecondsPath"] = "$"
    elif state.type == "Parallel":
        shown["Branches"] = [_scope(one) for one in state.inner.values()] or [_nothing()]
    elif state.type == "Map":
        shown["ItemProcessor"] = _scope(state.inner[""]) if state.inner else _nothing()
    if state.type in _ENDS:
        return shown
    if state.type == "Choice":
        shown["Choices"] = [{"Variable": "$", "IsPresent": True, "Next": one} for one in following]
        if not following:
            shown["Choices"] = [{"Variable": "$", "IsPresent": True, "Next": state.name}]
        return shown
    if not following:
        return {**shown, "End": True}
    if len(following) > 1 and state.type in ("Task", "Parallel", "Map"):
        # The history itself says which of them followed an error.
        shown["Catch"] = [{"ErrorEquals": ["States.ALL"], "Next": one} for one in following[1:]]
    return {**shown, "Next": following[0]}


def _nothing() -> Json:
    return {"StartAt": "…", "States": {"…": {"Type": "Pass", "End": True}}}
