"""Words that schemas are made of: draft 7 of JSON Schema, which editors of YAML and TOML know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from statewright.payload import Json, JsonObject

DRAFT: Final = "http://json-schema.org/draft-07/schema#"

TEXT: Final[JsonObject] = {"type": "string"}
SCALAR: Final[JsonObject] = {"type": ["string", "number"]}
"""A text that may be written without quotes, though it looks like a number."""
TRUTH: Final[JsonObject] = {"type": "boolean"}
ANYTHING: Final[JsonObject] = {}
TEXTS: Final[JsonObject] = {"type": "object", "additionalProperties": TEXT}
NAMES: Final[JsonObject] = {"type": "array", "items": TEXT}
DURATION: Final[JsonObject] = {
    "description": "A length of time: 250ms, 1.5s, 2m, 1h30m, 7d; a number counts seconds.",
    "anyOf": [
        {"type": "number", "minimum": 0},
        {"type": "string", "pattern": r"^\s*([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+\s*$"},
    ],
}


def whole(least: int = 0, most: int | None = None) -> JsonObject:
    """A whole number within bounds."""
    return {"type": "integer", "minimum": least} | ({"maximum": most} if most is not None else {})


def one_of(choices: Iterable[str]) -> JsonObject:
    """One of some words."""
    return {"enum": list(choices)}


def either(*schemas: JsonObject) -> JsonObject:
    """A value that any of the schemas accepts."""
    return {"anyOf": list(schemas)}


def record(members: Mapping[str, JsonObject], needed: Iterable[str] = ()) -> JsonObject:
    """An object that has no other members."""
    required = list(needed)
    found: JsonObject = {"type": "object", "properties": dict(members), "additionalProperties": False}
    return {**found, "required": required} if required else found


def by_name(member: JsonObject) -> JsonObject:
    """An object whose keys are names."""
    return {"type": "object", "additionalProperties": member}


def listed(entry: JsonObject) -> JsonObject:
    """A list."""
    return {"type": "array", "items": entry}


def about(text: str, schema: JsonObject) -> JsonObject:
    """A schema with a sentence that editors show."""
    return {**schema, "description": text}


def document(title: str, schema: JsonObject, definitions: Mapping[str, Json] | None = None) -> JsonObject:
    """The schema of a whole file."""
    found: JsonObject = {"$schema": DRAFT, "title": title, **schema}
    return {**found, "definitions": dict(definitions)} if definitions else found
