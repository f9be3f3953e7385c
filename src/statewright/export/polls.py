"""Rewrites polls as a loop of a Task that asks, a Choice, and a Wait of growing length."""

from __future__ import annotations

import re
from typing import Final

from statewright.asl.outline import Node, StateOutline
from statewright.export.edits import LATE, Edits, expression, picked
from statewright.export.stand_in import given, has_deadline, stand_in
from statewright.payload import Json, JsonObject

EXHAUSTED: Final = "Statewright.MaxAttemptsExceeded"
_ANSWER: Final = re.compile(r"\$states\s*\.\s*result\b")


def poll(edits: Edits, state: StateOutline) -> dict[str, Node] | None:
    """The states in place of a Task `statewright:poll`; `None`, with a note, where it cannot be rewritten."""
    problem = _problem(edits, state)
    if problem is not None:
        edits.note("cannot", state, problem)
        return None
    if has_deadline(state):
        edits.may_be_late(state)
    plan = state.node["Arguments" if state.jsonata else "Parameters"]
    numbers = {key: value for key, value in plan.items() if key.removesuffix(".$") not in ("Resource", "Until")}
    begun = given(state, numbers)
    edits.note("rewritten", state, "asks in a loop of Task, Choice and Wait")
    return stand_in(edits, state, begun, _asking(edits, state, plan))


def _problem(edits: Edits, state: StateOutline) -> str | None:
    plan = state.node.get("Arguments" if state.jsonata else "Parameters")
    if not isinstance(plan, dict):
        return "its parameters are not an object in the definition: Resource and Until must be constants"
    resource, until = plan.get("Resource"), plan.get("Until")
    if not isinstance(resource, str) or resource.startswith("{%"):
        return "its Resource is computed at run time: a Task's Resource must be a constant"
    if isinstance(until, dict) and edits.is_jsonata:
        return "its Until is a Choice rule, which a machine in JSONata cannot have: write it as a JSONata expression"
    if not isinstance(until, dict | str):
        return "its Until is computed at run time: a Choice's condition must be a constant"
    if "Credentials" in state.node and any(key.endswith(".$") for key in state.node["Credentials"]):
        return "its Credentials are computed from the state's input, which the call itself does not see"
    return None


def _asking(edits: Edits, state: StateOutline, plan: Node) -> Node:
    p, is_bounded, is_counted = edits.prefix(), has_deadline(state), _has(plan, "MaxAttempts")
    begin, ask, satisfied, wait, over, late, spent, answer = (
        edits.name(state.name, role)
        for role in ("begin", "ask", "satisfied?", "wait", "go on?", "too late", "too often", "answer")
    )
    kept: dict[str, Json] = {f"{p}given": expression("$states.input.Given"), f"{p}asked": 0}
    call: Node = {
        "Type": "Task", "Resource": plan["Resource"], "Arguments": _arguments(plan, p, is_jsonata=state.jsonata),
        **picked(state.node, "Credentials"), "Assign": {f"{p}asked": expression(f"${p}asked + 1")}, "Next": satisfied,
    }  # fmt: skip
    due = f"$millis() + 1000 * {_pause(plan, p)}"
    if is_bounded:
        kept[f"{p}until"] = expression("$millis() + 1000 * $number($states.input.TimeoutSeconds)")
        call["TimeoutSeconds"] = expression(f"$max([1, $ceil((${p}until - $millis()) / 1000)])")
        due = f"$min([{due}, ${p}until])"
    is_spent = {"Condition": expression(f"${p}asked >= $number(${p}given.MaxAttempts)"), "Next": spent}
    states: JsonObject = {
        begin: edits.jsonata({"Type": "Pass", "Assign": kept, "Next": ask}),
        ask: edits.jsonata(call),
        satisfied: {**_until(edits, plan["Until"], answer), "Default": over if is_counted else wait},
        over: edits.jsonata({"Type": "Choice", "Choices": [is_spent], "Default": wait}),
        wait: edits.jsonata({"Type": "Wait", "Timestamp": expression(f"$fromMillis({due})"), "Next": ask}),
        spent: {"Type": "Fail", "Error": EXHAUSTED, "Cause": "After all attempts the answer does not satisfy Until."},
        answer: {"Type": "Succeed"},
    }
    if not is_counted:
        del states[over], states[spent]
    if is_bounded:
        in_time = edits.name(state.name, "in time?")
        states[wait]["Next"] = in_time
        is_late = {"Condition": expression(f"$millis() >= ${p}until"), "Next": late}
        states[in_time] = edits.jsonata({"Type": "Choice", "Choices": [is_late], "Default": ask})
        states[late] = {"Type": "Fail", "Error": LATE, "Cause": "The answer has not satisfied Until in time."}
    return {"StartAt": begin, "States": states}


def _has(plan: Node, name: str) -> bool:
    return name in plan or f"{name}.$" in plan


def _pause(plan: Node, p: str) -> str:
    """JSONata for the seconds until the next call."""
    seconds = f"$number(${p}given.IntervalSeconds)" if _has(plan, "IntervalSeconds") else "1"
    if _has(plan, "BackoffRate"):
        # A rate to the power of many calls overflows.
        seconds = f"{seconds} * $power($number(${p}given.BackoffRate), $min([${p}asked - 1, 200]))"
    longest = f"$number(${p}given.MaxIntervalSeconds)" if _has(plan, "MaxIntervalSeconds") else "86400"
    return f"$min([{seconds}, {longest}])" if _has(plan, "BackoffRate") or longest[0] == "$" else f"({seconds})"


def _arguments(plan: Node, p: str, *, is_jsonata: bool) -> Json:
    """The call's Arguments: constants unchanged, the rest from the values computed at the start."""
    parameters = plan.get("Parameters", {})
    if "Parameters.$" in plan or not isinstance(parameters, dict):
        return expression(f"${p}given.Parameters")
    made: dict[str, Json] = {}
    for key, value in parameters.items():
        name = key if is_jsonata else key.removesuffix(".$")
        is_constant = name == key and not _is_worked_out(value, is_jsonata=is_jsonata)
        made[name] = value if is_constant else expression(f"${p}given.Parameters.`{name}`")
    return made


def _is_worked_out(value: Json, *, is_jsonata: bool) -> bool:
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            if not is_jsonata and any(key.endswith(".$") for key in part):
                return True
            pending.extend(part.values())
        elif isinstance(part, list):
            pending.extend(part)
        # Text that looks like an expression would be one in the new state, even if it is not in the old one.
        elif isinstance(part, str) and (part.startswith("{%") or part.endswith("%}")):
            return True
    return False


def _until(edits: Edits, until: Json, answer: str) -> Node:
    """The Choice that checks if the answer, its input, satisfies Until."""
    if isinstance(until, dict):
        return {"Type": "Choice", "Choices": [{**until, "Next": answer}]}
    text = until.strip()
    text = text[2:-2].strip() if text.startswith("{%") and text.endswith("%}") else text
    rule = {"Condition": expression(_ANSWER.sub("$states.input", text)), "Next": answer}
    return edits.jsonata({"Type": "Choice", "Choices": [rule]})
