"""Schemas of bodies: what fits, patterns that would not end in other engines, and schemas that are refused."""

from __future__ import annotations

import json

import pytest

from statewright.apis.body_models import check_schema, fits, model_address
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject

ORDER: JsonObject = {
    "type": "object", "required": ["id"], "additionalProperties": False,
    "properties": {"id": {"type": "string", "pattern": "^[A-Z]+-[0-9]+$"}, "lines": {"items": {"$ref": "#/line"}}},
    "line": {"type": "integer", "minimum": 1},
}  # fmt: skip


@pytest.mark.parametrize(
    ("value", "is_fit"),
    [
        ({"id": "A-1", "lines": [1, 2]}, True),
        ({"id": "A-1", "lines": [0]}, False),
        ({"id": "x A-1"}, False),
        ({}, False),
        ({"id": "A-1", "more": 1}, False),
    ],
)
def test_bodies_fit_a_schema(value: Json, is_fit: bool) -> None:
    assert fits(ORDER, json.dumps(value).encode(), {}) is is_fit


def test_a_body_never_makes_a_pattern_take_long() -> None:
    schema: JsonObject = {"pattern": "(a+)+$"}
    assert fits(schema, json.dumps("a" * 5_000).encode(), {})
    assert not fits(schema, json.dumps("a" * 5_000 + "!").encode(), {})


@pytest.mark.parametrize("schema", [{"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, {"minimum": "5"}, {"anyOf": 1}])
def test_nothing_fits_a_schema_without_end_or_form(schema: JsonObject) -> None:
    assert not fits(schema, b"1", {})


@pytest.mark.parametrize("text", ["{", '{"properties": {"a": {"pattern": "(?=x)y"}}}'])
def test_schemas_that_cannot_be_checked_are_refused(text: str) -> None:
    with pytest.raises(ApiError, match="Invalid model schema specified"):
        check_schema(text)


def test_references_lead_to_other_models() -> None:
    item = {"definitions": {"Code": {"type": "string", "minLength": 2}}, "$ref": "#/definitions/Code"}
    order = {"properties": {"item": {"$ref": model_address("a", "Item")}, "lost": {"$ref": model_address("a", "No")}}}
    for value, is_fit in ((["ab"], False), ("ab", True), ("a", False)):
        assert fits(order, json.dumps({"item": value, "lost": 1}).encode(), {"Item": item}) is is_fit
    loop = {"$ref": model_address("a", "Loop")}
    assert not fits(loop, b"1", {"Loop": loop})
