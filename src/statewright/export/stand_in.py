"""A Parallel with one branch in place of a Task: several states that have one state's input, result, Retry and Catch.

The branch begins with the Task's parameters, and its output is the Task's result. A Parallel's own result is an array
of one, so in JSONPath a Pass follows that treats the element as the Task treated its result.
"""

from __future__ import annotations

import re
from typing import Final

from statewright.asl.outline import Node, StateOutline
from statewright.export.edits import Edits, expression, onward, picked
from statewright.payload import Json, JsonObject

_RESULT: Final = re.compile(r"\$states\s*\.\s*result\b")


def given(state: StateOutline, parameters: Json = None) -> Node:
    """The input of the branch: `Given`, the parameters of the Task, and `TimeoutSeconds` where it has one.

    `parameters` replaces the Task's own.
    """
    node = state.node
    begun: JsonObject = {}
    if state.jsonata:
        begun["Given"] = parameters or node.get("Arguments", expression("$states.input"))
    elif parameters is not None or "Parameters" in node:
        begun["Given"] = parameters if parameters is not None else node["Parameters"]
    else:
        begun["Given.$"] = "$"
    if "TimeoutSeconds" in node:
        begun["TimeoutSeconds"] = node["TimeoutSeconds"]
    elif "TimeoutSecondsPath" in node:
        begun["TimeoutSeconds.$"] = node["TimeoutSecondsPath"]
    return begun


def has_deadline(state: StateOutline) -> bool:
    """True if a Task has a TimeoutSeconds of its own."""
    return "TimeoutSeconds" in state.node or "TimeoutSecondsPath" in state.node


def stand_in(edits: Edits, state: StateOutline, begun: Node, branch: Node) -> dict[str, Node]:
    """The states that replace a Task, its name first."""
    node = state.node
    head = picked(node, "Type", "QueryLanguage", "Comment") | {"Type": "Parallel"}
    tail = {"Branches": [branch], **picked(node, "Retry", "Catch")}
    if state.jsonata:
        changed = {"Output": _of_one(node.get("Output", expression("$states.result")))}
        if "Assign" in node:
            changed["Assign"] = _of_one(node["Assign"])
        return {state.name: {**head, "Arguments": begun, **tail, **changed, **onward(node)}}
    kept = {**head, **picked(node, "InputPath"), "Parameters": begun, **tail, "ResultPath": None}
    after = picked(node, "ResultPath", "OutputPath")
    if after == {"ResultPath": None} and "Assign" not in node:
        return {state.name: {**kept, **onward(node)}}
    return {state.name: kept, **_after(edits, state, kept, after)}


def _after(edits: Edits, state: StateOutline, parallel: Node, after: Node) -> dict[str, Node]:
    """The Passes that follow the Parallel; they hold the transition, and the fields that shape the result."""
    node, variable = state.node, edits.prefix() + "result"
    result = edits.name(state.name, "result")
    parallel["Assign"] = {f"{variable}.$": "$[0]"}
    parallel["Next"] = result
    first: Node = {"Type": "Pass", "InputPath": f"${variable}"}
    if "ResultSelector" not in node:
        return {result: {**first, **after, **picked(node, "Assign"), **onward(node)}}
    selected = {**first, "Parameters": node["ResultSelector"], **after}
    if "Assign" not in node:
        return {result: {**selected, **onward(node)}}
    # A Task's Assign sees the result as it came, a Pass's what its Parameters made of it.
    assigned = edits.name(state.name, "variables")
    last = {**first, "ResultPath": None, "Assign": node["Assign"], **onward(node)}
    return {result: {**selected, "Next": assigned}, assigned: last}


def _of_one(value: Json) -> Json:
    """A JSONata value that reads `$states.result`, for a result that is an array of one."""
    if isinstance(value, dict):
        return {key: _of_one(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_of_one(member) for member in value]
    if isinstance(value, str) and value.startswith("{%"):
        return _RESULT.sub("$states.result[0]", value)
    return value
