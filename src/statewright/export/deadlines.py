"""Rewrites loops with a deadline as loops that check the clock, and count, in every turn.

The extension acts at any instant, the rewritten loop only at its head: a state that runs at the deadline continues
until the next turn.
"""

from __future__ import annotations

from typing import Final

from statewright.asl.checks.loops import loops_of
from statewright.asl.extensions import LOOP_FIELDS, MAX_TURNS
from statewright.asl.findings import has_placeholder
from statewright.asl.outline import Node, ScopeOutline, StateOutline
from statewright.export.edits import LATE, Edits, expression, picked, redirected
from statewright.payload import JsonObject

_SECONDS: Final = "seconds"


def is_bounded(state: StateOutline) -> bool:
    """True if a state is a loop with a deadline or a bound on turns."""
    return state.type == "Parallel" and any(name in state.node for name in LOOP_FIELDS)


def bounded(
    edits: Edits, state: StateOutline, node: Node, branch: ScopeOutline, entries: dict[str, str]
) -> dict[str, Node] | None:
    """The states in place of a Parallel with bounds, the one to enter first; `None` if that is impossible.

    `node` is the state with its branch already rewritten, `branch` the branch as it was, `entries` names the state by
    which one of its states is now entered.
    """
    p = edits.prefix()
    heads = list(dict.fromkeys(loop.states[0].name for loop in loops_of(branch)))
    has_deadline = "TimeoutSeconds" in node or "TimeoutSecondsPath" in node
    if not heads and has_deadline:
        edits.note(
            "cannot", state, "has a deadline but no loop that could check the clock: give its Task a TimeoutSeconds"
        )
        return None
    plain = {key: value for key, value in node.items() if key not in LOOP_FIELDS}
    before: dict[str, Node] = {}
    kept: JsonObject = {}
    if has_deadline:
        edits.may_be_late(state)
        seconds = node.get("TimeoutSeconds")
        # A template's ${Placeholder} becomes a number in the middle of the expression as well.
        if isinstance(seconds, int) or has_placeholder(seconds):
            kept[f"{p}until"] = expression(f"$millis() + 1000 * {seconds}")
        else:
            kept[f"{p}until"] = expression(f"$millis() + 1000 * ${p}{_SECONDS}")
            before = _worked_out(edits, state, p)
    made = _watched(edits, state, plain["Branches"][0], p, heads, entries, kept, node.get("MaxTurns"), has_deadline)
    edits.note(
        "rewritten",
        state,
        f"checks its bounds whenever it enters {' or '.join(map(repr, heads))}"
        if heads
        else "has no loop: MaxTurns is left out",
    )
    if has_deadline:
        edits.note(
            "differs",
            state,
            "a Task or Wait that runs at the deadline is not aborted: the loop ends at its next turn",
        )
    return {**before, state.name: {**plain, "Branches": [made]}}


def _worked_out(edits: Edits, state: StateOutline, p: str) -> dict[str, Node]:
    """A Pass before the Parallel that computes its TimeoutSeconds, unless it is a constant."""
    node = state.node
    name = edits.name(state.name, "how long")
    made = {"Type": "Pass", **picked(node, "QueryLanguage")}
    if state.jsonata:
        made["Assign"] = {f"{p}{_SECONDS}": node["TimeoutSeconds"]}
    else:
        path = {f"{p}{_SECONDS}.$": node["TimeoutSecondsPath"]}
        made |= {**picked(node, "InputPath"), "ResultPath": None, "Assign": path}
    return {name: {**made, "Next": state.name}}


def _watched(
    edits: Edits, state: StateOutline, branch: Node, p: str, heads: list[str], entries: dict[str, str],
    kept: JsonObject, most: int | None, has_deadline: bool,
) -> Node:  # fmt: skip
    """The branch with a Choice before each head of a loop."""
    if not heads:
        return branch
    begin, late, spent = (edits.name(state.name, role) for role in ("begin", "too late", "too many turns"))
    checks: dict[str, Node] = {}
    elsewhere: dict[str, str] = {}
    for number, head in enumerate(heads):
        entry = entries.get(head, head)
        turns = f"{p}turns{number}"
        rules = []
        check: Node = {"Type": "Choice"}
        if has_deadline:
            rules.append({"Condition": expression(f"$millis() >= ${p}until"), "Next": late})
        if most is not None:
            kept[turns] = 0
            rules.append({"Condition": expression(f"${turns} >= {most}"), "Next": spent})
            check["Assign"] = {turns: expression(f"${turns} + 1")}
        name = elsewhere[entry] = edits.name(head, "go on?")
        checks[name] = edits.jsonata({**check, "Choices": rules, "Default": entry})
    states = {name: redirected(node, elsewhere) for name, node in branch["States"].items()}
    start = elsewhere.get(branch["StartAt"], branch["StartAt"])
    first = {begin: edits.jsonata({"Type": "Pass", "Assign": kept, "Next": start})}
    ends: dict[str, Node] = {}
    if has_deadline:
        ends[late] = {"Type": "Fail", "Error": LATE, "Cause": "The loop has not ended in time."}
    if most is not None:
        ends[spent] = {
            "Type": "Fail",
            "Error": MAX_TURNS,
            "Cause": f"A state was to be entered more than {most} times.",
        }
    return {**branch, "StartAt": begin, "States": {**first, **checks, **states, **ends}}
