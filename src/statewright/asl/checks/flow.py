"""Transitions: missing targets, unreachable states, scopes without an end, names of states.

Source: observed codes, wording, location and order: all dangling targets first; then per scope either the missing
end, or the states to which no transition leads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from statewright.asl.findings import (
    DUPLICATE_NAME,
    INVALID_NAME,
    MISSING_END,
    MISSING_TARGET,
    Findings,
    Path,
    has_placeholder,
)
from statewright.asl.outline import ScopeOutline, StateOutline, states_of
from statewright.limits import STATE_NAME_CHARACTERS

_ONE_LEFT_CUTOFF = 0.3
"""Least similarity of a missing target to the only unreachable state for the hint that it means that state."""


def check_names(findings: Findings, scopes: list[ScopeOutline]) -> None:
    """Check the names of all states: their length, and that each is unique in the document."""
    first: dict[str, Path] = {}
    for state in states_of(scopes):
        name = state.name
        if not name:
            findings.error(INVALID_NAME, "Invalid State name: a State name cannot be empty", state.path)
        elif len(name) > STATE_NAME_CHARACTERS and not has_placeholder(name):
            message = (
                f"Invalid State name: State '{name}' exceeds the {STATE_NAME_CHARACTERS}-character limit "
                "allowed by the service"
            )
            findings.error(INVALID_NAME, message, state.path)
        if name in first:
            hint = f"names are unique in the whole document; the first is at {_shown(first[name])}"
            findings.error(DUPLICATE_NAME, f"Duplicate State name: {name}", state.path, hint)
        else:
            first[name] = state.path


def check_flow(findings: Findings, lints: Findings, scopes: list[ScopeOutline]) -> None:
    """Check all transitions of a document."""
    homes: dict[str, StateOutline] = {}
    for state in states_of(scopes):
        homes.setdefault(state.name, state)
    for scope in scopes:
        _check_targets(findings, scope, homes)
    for scope in scopes:
        _check_ends(findings, lints, scope)


def _check_targets(findings: Findings, scope: ScopeOutline, homes: dict[str, StateOutline]) -> None:
    unused = [state.name for state in _without_incoming(scope)]
    for name, path in _missing(scope):
        hint = _elsewhere(name, homes) or _suggestion(findings, name, scope, unused)
        findings.error(MISSING_TARGET, f"Missing 'Next' target: {name}", path, hint)


def _missing(scope: ScopeOutline) -> list[tuple[str, Path]]:
    known = scope.node.get("States")
    if not isinstance(known, dict):
        return []
    return [(name, path) for name, path in _targets(scope) if name not in known and not has_placeholder(name)]


def _targets(scope: ScopeOutline) -> Iterator[tuple[str, Path]]:
    if scope.start is not None:
        yield scope.start, (*scope.path, "StartAt")
    for state in scope.states.values():
        for edge in state.edges:
            yield edge.target, edge.path


def _elsewhere(name: str, homes: dict[str, StateOutline]) -> str | None:
    if name not in homes:
        return None
    return f"{name} is at {_shown(homes[name].path)}; a transition cannot leave its own States object"


def _suggestion(findings: Findings, name: str, scope: ScopeOutline, unused: list[str]) -> str | None:
    likely = _meant(findings, name, unused) or findings.closest(name, scope.states)
    return f"did you mean {likely}?" if likely is not None else None


def _meant(findings: Findings, name: str, unused: list[str]) -> str | None:
    """The unreachable state that a missing target probably means, even if the names are not very similar."""
    return findings.closest(name, unused, _ONE_LEFT_CUTOFF if len(unused) == 1 else 0.6)


def _check_ends(findings: Findings, lints: Findings, scope: ScopeOutline) -> None:
    states = scope.states.values()
    if not states or not scope.complete:
        return
    if not any(state.terminal or state.type is None for state in states):
        hint = 'give the last state "End": true, or add a Succeed or Fail state'
        findings.error(MISSING_END, "Workflow has no terminal state", scope.path or None, hint)
        return
    if scope.start is None:
        return
    unused = _without_incoming(scope)
    names = [state.name for state in unused]
    meant = {_meant(findings, name, names): (name, path) for name, path in reversed(_missing(scope))} if unused else {}
    for state in unused:
        hint = "add a transition to it, or remove it"
        if state.name in meant:
            name, path = meant[state.name]
            hint = f"{_shown(path)} names {name}, which probably means this state"
        findings.error(MISSING_TARGET, f'State "{state.name}" is not reachable.', state.path, hint)
    if scope.start not in scope.states:
        return
    entered = reachable(scope, [str(scope.start)])
    for state in states:
        if state.name not in entered and state not in unused:
            message = f"{state.name} is never entered: only states that are never entered themselves lead to it"
            lints.warn("NEVER_ENTERED", message, state.path)


def reachable(scope: ScopeOutline, start: Iterable[str]) -> set[str]:
    """The names of the states that can be entered from the given ones, these included."""
    found = {name for name in start if name in scope.states}
    pending = list(found)
    while pending:
        for edge in scope.states[pending.pop()].edges:
            if edge.target in scope.states and edge.target not in found:
                found.add(edge.target)
                pending.append(edge.target)
    return found


def _without_incoming(scope: ScopeOutline) -> list[StateOutline]:
    # The service looks only for states that no transition names: after a dangling StartAt it reports the first
    # state of the chain, not those behind it.
    named = {name for name, _path in _targets(scope)}
    return [state for state in scope.states.values() if state.name not in named]


def _shown(path: Path) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f"/{step}" for step in path)
