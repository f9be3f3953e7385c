"""Every operation of the model: what is missing, mistyped or too long gets the service's own words."""

from __future__ import annotations

from typing import Any

import botocore.loaders
import pytest

from statewright.api import operations
from statewright.api.operations import registered
from tests.unit.api.asgi import call, make_api

MODEL = botocore.loaders.Loader().load_service_model("stepfunctions", "service-2")
SHAPES = MODEL["shapes"]
SCALARS = {"string": "a String", "integer": "an Integer", "long": "a Long", "boolean": "a Boolean", "float": "a Float"}


def input_of(operation: str) -> dict[str, Any]:
    found: dict[str, Any] = SHAPES[MODEL["operations"][operation]["input"]["shape"]]
    return found


def sample(name: str) -> Any:
    """A value that fits a shape."""
    shape = SHAPES[name]
    if shape["type"] == "structure":
        return {member: sample(shape["members"][member]["shape"]) for member in shape.get("required", ())}
    if shape["type"] == "list":
        return [sample(shape["member"]["shape"])]
    if shape["type"] in ("integer", "long", "float"):
        return shape.get("min", 0)
    if "enum" in shape:
        return shape["enum"][0]
    return "abc"


def filled(operation: str, **changed: Any) -> dict[str, Any]:
    shape = input_of(operation)
    members = {name: sample(shape["members"][name]["shape"]) for name in shape.get("required", ())}
    return {**members, **changed}


@pytest.fixture(scope="module")
def api():
    operations.load_all()
    return make_api()


def test_every_operation_of_the_service_is_here():
    operations.load_all()
    assert registered("states") == sorted(MODEL["operations"])
    assert len(registered("states")) == 37


def members(*kinds: str, constraint: str | None = None) -> list[tuple[str, str]]:
    return [
        (operation, name)
        for operation in sorted(MODEL["operations"])
        for name, member in input_of(operation)["members"].items()
        if SHAPES[member["shape"]]["type"] in kinds and (constraint is None or constraint in SHAPES[member["shape"]])
    ]


@pytest.mark.parametrize("operation", [name for name in sorted(MODEL["operations"]) if input_of(name).get("required")])
def test_missing_members(api, operation):
    shape = input_of(operation)
    missing = [name for name in shape["members"] if name in shape["required"]]
    reply = call(api, operation, {})
    count = f"{len(missing)} validation error{'' if len(missing) == 1 else 's'} detected: "
    said = [f"Value null at '{name}' failed to satisfy constraint: Member must not be null" for name in missing]
    assert reply.status == 400
    assert reply.json == {"__type": "ValidationException", "message": count + "; ".join(said)}


@pytest.mark.parametrize(("operation", "member"), members(*SCALARS))
def test_mistyped_members(api, operation, member):
    kind = SHAPES[input_of(operation)["members"][member]["shape"]]["type"]
    wrong, shown = (5, "NUMBER_VALUE") if kind in ("string", "boolean") else ("5", "STRING_VALUE")
    reply = call(api, operation, filled(operation, **{member: wrong}))
    assert reply.status == 400
    text = f"{shown} can not be converted to {SCALARS[kind]}"
    assert reply.json == {"__type": "SerializationException", "message": text}


@pytest.mark.parametrize(("operation", "member"), members("string", constraint="max"))
def test_members_that_are_too_long(api, operation, member):
    shape = SHAPES[input_of(operation)["members"][member]["shape"]]
    long = "x" * (shape["max"] + 1)
    reply = call(api, operation, filled(operation, **{member: long}))
    value = "Value" if shape.get("sensitive") else f"Value '{long}'"
    most = f"Member must have length less than or equal to {shape['max']}"
    text = f"1 validation error detected: {value} at '{member}' failed to satisfy constraint: {most}"
    assert reply.status == 400
    assert reply.json == {"__type": "ValidationException", "message": text}


@pytest.mark.parametrize(("operation", "member"), members("integer", "long", "float", constraint="max"))
def test_members_that_are_too_large(api, operation, member):
    most = SHAPES[input_of(operation)["members"][member]["shape"]]["max"]
    reply = call(api, operation, filled(operation, **{member: most + 1}))
    text = (
        f"1 validation error detected: Value '{most + 1}' at '{member}' failed to satisfy constraint: "
        f"Member must have value less than or equal to {most}"
    )
    assert reply.json == {"__type": "ValidationException", "message": text}
