"""Answers of operations as the page may show them: what of an answer is users' data, by operation."""

from __future__ import annotations

import base64
from typing import Final

from statewright.console.redaction import MASK, Redactor
from statewright.console.services import shown_data
from statewright.console.services.hidden_places import HiddenPlaces
from statewright.payload import JsonObject

_NAMED: Final = {
    "Outputs": ("OutputKey", "OutputValue"), "Parameters": ("ParameterKey", "ParameterValue"), "Tags": ("Key", "Value"),
}  # fmt: skip
"""Lists of a stack whose members are a name and a value."""


def redacted(redactor: Redactor, places: HiddenPlaces, service: str, operation: str, answer: JsonObject) -> JsonObject:
    """An answer, its bytes as base64, with what is hidden left out.

    `places` takes the keys at which a read of items goes on, if a part of them is hidden.
    """
    if service == "dynamodb" and not {"Items", "Item", "LastEvaluatedKey"}.isdisjoint(answer):
        return _with_items(redactor, places, answer)
    if service == "lambda" and operation == "Invoke":
        return _invoked(redactor, answer)
    if service == "logs" and redactor.is_hidden:
        return {**answer, "events": [{**one, "message": shown_data.line(redactor, one["message"])}
                                     for one in answer.get("events", ())]}  # fmt: skip
    if operation == "DescribeStacks":
        answer = {**answer, "Stacks": [_stack(redactor, one) for one in answer["Stacks"]]}
    shown: JsonObject = redactor.answer(answer)
    return shown


def with_start_key(places: HiddenPlaces, request: JsonObject) -> JsonObject:
    """A request of DynamoDB with the key for which its `ExclusiveStartKey` has a ticket, if it has one.

    Raises: ApiError (`BadRequest`) for a ticket that is not kept.
    """
    start = request.get("ExclusiveStartKey")
    ticket = start.get(MASK) if isinstance(start, dict) else None
    return request if not isinstance(ticket, str) else {**request, "ExclusiveStartKey": places.place(ticket)}


def _with_items(redactor: Redactor, places: HiddenPlaces, answer: JsonObject) -> JsonObject:
    if answer.get("Item"):
        (item,) = shown_data.items(redactor, [answer["Item"]])
        return {**answer, "Item": item}
    found, key = answer.get("Items") or [], answer.get("LastEvaluatedKey")
    if not key:
        return {**answer, "Items": shown_data.items(redactor, found)} if found else answer
    shown, is_hidden = shown_data.items_and_key(redactor, found, key)
    # The text of a ticket is not an attribute's value, so that no key of an item looks like it.
    return {**answer, "Items": shown, "LastEvaluatedKey": {MASK: places.ticket(key)} if is_hidden else key}


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
