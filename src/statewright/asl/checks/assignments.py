"""Checks of variables: their names, the scopes that may assign them, and reads of variables that no state assigns.

Source: developer guide, "Passing data between states with variables"; a rule that the service is not known to enforce
when a definition is created yields a warning.
"""

from __future__ import annotations

from collections.abc import Iterator

from statewright.asl.checks.field_values import VariableRead
from statewright.asl.checks.fields import VARIABLE_CHARACTERS
from statewright.asl.findings import Findings, Path, has_placeholder
from statewright.asl.outline import ScopeOutline, StateOutline
from statewright.payload import Json

_RESERVED = "states"


def check_assignments(
    findings: Findings, lints: Findings, scopes: list[ScopeOutline], reads: list[VariableRead]
) -> None:
    """Check every Assign of a document, then every variable that was read."""
    assigned: dict[ScopeOutline, dict[str, Path]] = {}
    for scope in scopes:
        assigned[scope] = {}
        for state in scope.states.values():
            for name, path in assignments_of(state):
                _check_name(findings, name, path)
                assigned[scope].setdefault(name, path)
    for scope in scopes:
        _check_shadowing(findings, scope, assigned)
    homes = {state.path: scope for scope in scopes for state in scope.states.values()}
    for read in reads:
        _check_read(lints, read, homes, assigned)


def assignments_of(state: StateOutline) -> Iterator[tuple[str, Path]]:
    """Every variable that a state assigns, with its place: its own Assign, its rules' and its catchers'."""
    yield from _names(state.node.get("Assign"), (*state.path, "Assign"), state.jsonata)
    for key in ("Choices", "Catch"):
        entries = state.node.get(key)
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(entry, dict):
                yield from _names(entry.get("Assign"), (*state.path, key, index, "Assign"), state.jsonata)


def _names(assign: Json, path: Path, jsonata: bool) -> Iterator[tuple[str, Path]]:
    if isinstance(assign, dict):
        for key in assign:
            yield (key[:-2] if key.endswith(".$") and not jsonata else key), (*path, key)


def _check_name(findings: Findings, name: str, path: Path) -> None:
    if has_placeholder(name):
        return
    if name == _RESERVED:
        findings.schema("A variable cannot be called 'states', which is reserved", path)
    elif len(name) > VARIABLE_CHARACTERS:
        findings.schema(f"A variable name has at most {VARIABLE_CHARACTERS} characters", path)
    elif not name.isidentifier():
        hint = "a name is letters, digits and '_', and does not begin with a digit"
        if name.startswith("$"):
            hint = "only references begin with '$': write the bare name here"
        elif "." in name or "[" in name:
            hint = "only whole variables can be assigned, not parts of them"
        findings.schema(f"'{name}' is not a variable name", path, hint)


def _check_shadowing(findings: Findings, scope: ScopeOutline, assigned: dict[ScopeOutline, dict[str, Path]]) -> None:
    inner, outer = scope, None if scope.distributed else scope.enclosing
    while outer is not None:
        # What a Parallel's or Map's own catchers assign is no variable of its branches (observed).
        elsewhere = _assigned_outside_catchers(outer, inner.owner)
        for name, path in assigned[scope].items():
            if name in elsewhere:
                message = f"The variable '{name}' is assigned in an outer scope and cannot be assigned here"
                findings.schema(message, path, "choose another name: an inner scope cannot reassign outer variables")
        inner, outer = outer, None if outer.distributed else outer.enclosing


def _assigned_outside_catchers(scope: ScopeOutline, owner: StateOutline | None) -> set[str]:
    """Variables that the states of a scope assign, except those that only the catchers of `owner` assign."""
    return {
        name
        for state in scope.states.values()
        for name, path in assignments_of(state)
        if state is not owner or path[len(state.path)] != "Catch"
    }


def _check_read(
    lints: Findings,
    read: VariableRead,
    homes: dict[Path, ScopeOutline],
    assigned: dict[ScopeOutline, dict[str, Path]],
) -> None:
    scope = _home(read.path, homes)
    if scope is None or has_placeholder(read.name):
        return
    within_run: set[str] = set()
    place: ScopeOutline | None = scope
    while place is not None:
        if read.name in assigned[place]:
            return
        within_run.update(assigned[place])
        if place.distributed and _assigned_outside(read.name, place, assigned):
            message = f"A distributed Map's states cannot see the variable '{read.name}', which is assigned outside"
            lints.warn("DISTRIBUTED_MAP_VARIABLE", message, read.path, "pass it in with ItemSelector or BatchInput")
            return
        place = None if place.distributed else place.enclosing
    message = f"No state in scope assigns the variable '{read.name}'"
    lints.warn("UNASSIGNED_VARIABLE", message, read.path, lints.did_you_mean(read.name, sorted(within_run)))


def _assigned_outside(name: str, scope: ScopeOutline, assigned: dict[ScopeOutline, dict[str, Path]]) -> bool:
    outer = scope.enclosing
    while outer is not None:
        if name in assigned[outer]:
            return True
        outer = outer.enclosing
    return False


def _home(path: Path, homes: dict[Path, ScopeOutline]) -> ScopeOutline | None:
    # The innermost state around a place is the longest prefix that is a state's path.
    for length in range(len(path), 1, -1):
        if path[:length] in homes:
            return homes[path[:length]]
    return None
