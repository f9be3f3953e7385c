"""Answers of operations as the page may show them: what of an answer is users' data, by operation."""

from __future__ import annotations

import base64
from typing import Final

from statewright.console.redaction import Redactor
from statewright.console.services import shown_data
from statewright.payload import JsonObject

_NAMED: Final = {
    "Outputs": ("OutputKey", "OutputValue"), "Parameters": ("ParameterKey", "ParameterValue"), "Tags": ("Key", "Value"),
}  # fmt: skip
"""Lists of a stack whose members are a name and a value."""


def redacted(redactor: Redactor, service: str, operation: str, answer: JsonObject) -> JsonObject:
    """An answer, its bytes as base64, with what is hidden left out."""
    if service == "dynamodb" and (answer.get("Items") or answer.get("Item")):
        return _with_items(redactor, answer)
    if service == "lambda" and operation == "Invoke":
        return _invoked(redactor, answer)
    if service == "logs" and redactor.is_hidden:
        return {**answer, "events": [{**one, "message": shown_data.line(redactor, one["message"])}
                                     for one in answer.get("events", ())]}  # fmt: skip
    if operation == "DescribeStacks":
        answer = {**answer, "Stacks": [_stack(redactor, one) for one in answer["Stacks"]]}
    shown: JsonObject = redactor.answer(answer)
    return shown


def _with_items(redactor: Redactor, answer: JsonObject) -> JsonObject:
    if answer.get("Item"):
        (item,) = shown_data.items(redactor, [answer["Item"]])
        return {**answer, "Item": item}
    shown: JsonObject = {**answer, "Items": shown_data.items(redactor, answer["Items"])}
    if redactor.is_hidden:
        # The place to go on from is a key.
        shown.pop("LastEvaluatedKey", None)
    return shown


def _invoked(redactor: Redactor, answer: JsonObject) -> JsonObject:
    shown = dict(answer)
    for member, hide in (("Payload", redactor.text), ("LogResult", lambda text: shown_data.lines(redactor, text))):
        packed = answer.get(member)
        if isinstance(packed, str):
            text = base64.b64decode(packed).decode(errors="replace")
            shown[member] = base64.b64encode(hide(text).encode()).decode()
    return shown


def _stack(redactor: Redactor, stack: JsonObject) -> JsonObject:
    shown = dict(stack)
    for member, (key, value) in _NAMED.items():
        if stack.get(member):
            shown[member] = [{**one, value: shown_data.named(redactor, one[key], one[value])}
                             if one.get(value) is not None else one for one in stack[member]]  # fmt: skip
    return shown
