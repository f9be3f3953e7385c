"""Checks of SQS requests against the service model: types and required members, with the service's own texts.

For further constraints of the model (enums of attribute names, for one) the service has texts of its own in each
operation, so they are checked there. A check is compiled once per operation, and reads only the given members.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from statewright.api import shapes
from statewright.api.models import load_model
from statewright.api.sqs.batches import too_many
from statewright.api.sqs.errors import missing
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject

Check = Callable[[Json, str], Json]
"""Reads one value; the text is its path, with the dot before a member: `SendMessageBatchRequestEntry.1.`"""

_EMPTY_REFUSED: Final = frozenset({"QueueUrl", "QueueName", "MessageBody", "ReceiptHandle", "Label", "SourceArn"})
"""Members for which the service treats an empty text as missing."""


_TYPED: Final = "DataType"
"""The member of message attributes whose absence has an error of its own; see `queues.message_attributes`."""


@cache
def validator(operation: str) -> Callable[[Json], JsonObject]:
    """Compile the check of an operation's requests; it returns the request without members that the model lacks.

    Raises (the check): ApiError (`MissingRequiredParameterException`, `SerializationException`).
    """
    model = load_model("sqs")
    assert model is not None
    check = _compile(model["shapes"], model["operations"][operation]["input"]["shape"])

    def checked(request: Json) -> JsonObject:
        try:
            known: JsonObject = check(request, "")
        except shapes.WrongType as wrong:
            raise ApiError("SerializationException", str(wrong)) from None
        return known

    return checked


shapes.read_with("sqs", validator)


def _compile(model: JsonObject, name: str) -> Check:
    shape = model[name]
    kind = shape["type"]
    if kind == "structure":
        return _structure(model, shape)
    if kind == "list":
        item = _compile(model, shape["member"]["shape"])
        # Entries of batches are named as the query protocol names them.
        entry = _entry_of(model, name)
        place = entry or name

        def listed(value: Json, _where: str) -> Json:
            if not isinstance(value, list):
                raise shapes.WrongType("Expected list or null")
            if entry is not None and len(value) > shapes.MOST_PROBLEMS:
                # Reading them all would take long, and the batch is refused in any case.
                raise too_many(len(value))
            return [item(one, f"{place}.{number}.") for number, one in enumerate(value, 1) if one is not None]

        return listed
    if kind == "map":
        inner = _compile(model, shape["value"]["shape"])

        def mapped(value: Json, where: str) -> Json:
            if not isinstance(value, dict):
                raise shapes.WrongType("Expected map or null")
            return {key: inner(one, f"{where}{key}.") for key, one in value.items() if one is not None}

        return mapped
    convert = shapes.converter(kind)
    return lambda value, _where: convert(value)


def _entry_of(model: JsonObject, name: str) -> str | None:
    """The shape of a list's entries; `None` for a shape that is not a list of structures."""
    if model[name]["type"] != "list":
        return None
    item: str = model[name]["member"]["shape"]
    return item if model[item]["type"] == "structure" else None


def _structure(model: JsonObject, shape: JsonObject) -> Check:
    required: tuple[str, ...] = () if _TYPED in shape["members"] else tuple(shape.get("required", ()))
    texts = frozenset(name for name, of in shape["members"].items() if model[of["shape"]]["type"] == "string")
    checks = {name: _compile(model, of["shape"]) for name, of in shape["members"].items() if name not in texts}
    # For a missing list of entries, the service names the first member of the first entry (observed).
    entries = {name: _entry_of(model, shape["members"][name]["shape"]) for name in required}
    wanted = {name: f"{item}.1.Id" for name, item in entries.items() if item is not None}
    refused_empty = _EMPTY_REFUSED.intersection(required)
    others = checks.get

    def structure(value: Json, where: str) -> Json:
        if not isinstance(value, dict):
            raise shapes.WrongType(
                "Expected null" if not isinstance(value, list) else "Start of list found where not expected"
            )
        known = {}
        for name, one in value.items():
            if one is None:
                continue
            if name in texts:
                known[name] = one if type(one) is str else shapes.converter("string")(one)
            else:
                check = others(name)
                if check is not None:
                    known[name] = check(one, f"{where}{name}.")
        for name in required:
            if name not in known or (name in refused_empty and not known[name]):
                raise missing(where + wanted.get(name, name))
        return known

    return structure
