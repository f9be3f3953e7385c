"""JSON bodies whose members have other names on the wire than in the model: `ApiId` is `apiId`.

Owns the renaming by the model's `locationName`, in both directions, and instants as ISO texts where the model asks for
them. Everything else is that of `rest.JsonBodies`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

import orjson

from statewright.api import shapes
from statewright.api.models import load_model
from statewright.api.protocols.rest import JsonBodies
from statewright.instants import iso_seconds
from statewright.integrations.endpoints.service_models import Model
from statewright.payload import Json, JsonObject

Rename = Callable[[Json], Json]


class LocatedJsonBodies(JsonBodies):
    """The protocol rest-json, with names of its own on the wire."""

    def read(self, shape_name: str, body: bytes) -> JsonObject:
        """Read one JSON object; unknown members are dropped. Raises: ApiError (`SerializationException`)."""
        found: JsonObject = _reader(self._service, shape_name)(super().read(shape_name, body))
        return found

    def write(self, operation: str, shape_name: str, value: Json) -> bytes:
        """Write one JSON object."""
        written = shapes.writer(self._service, operation)(value or {})
        return orjson.dumps(_writer(self._service, shape_name)(written))


@cache
def _reader(service: str, shape_name: str) -> Rename:
    return _Renaming(service, reads=True).of(shape_name)


@cache
def _writer(service: str, shape_name: str) -> Rename:
    return _Renaming(service, reads=False).of(shape_name)


class _Renaming:
    """Makes the function that renames the members of a shape's values, at any depth."""

    def __init__(self, service: str, *, reads: bool) -> None:
        model = load_model(service)
        assert model is not None, service
        self._shapes: Final[Model] = model["shapes"]
        self._reads: Final = reads
        self._made: dict[str, Rename] = {}

    def of(self, name: str) -> Rename:
        """The function for a shape."""
        if name in self._made:
            return self._made[name]
        # A shape may contain itself.
        self._made[name] = lambda value: self._made[name](value)
        self._made[name] = made = self._make(self._shapes[name])
        return made

    def _make(self, shape: Model) -> Rename:
        kind = shape["type"]
        if kind == "structure":
            return self._structure(shape)
        if kind == "list":
            inner = self.of(shape["member"]["shape"])
            return lambda value: [inner(one) for one in value] if isinstance(value, list) else value
        if kind == "map":
            inner = self.of(shape["value"]["shape"])
            return lambda value: {k: inner(v) for k, v in value.items()} if isinstance(value, dict) else value
        if kind == "timestamp" and not self._reads and shape.get("timestampFormat") == "iso8601":
            return lambda value: iso_seconds(round(value * 1000)) if isinstance(value, (int, float)) else value
        return lambda value: value

    def _structure(self, shape: Model) -> Rename:
        names: dict[str, tuple[str, Rename]] = {}
        for member, of in shape["members"].items():
            wire = of.get("locationName", member)
            inner = self.of(of["shape"])
            if self._reads:
                if "location" not in of:
                    names[wire] = member, inner
            else:
                names[member] = wire, inner

        def rename(value: Json) -> Json:
            if not isinstance(value, dict):
                return value
            return {names[key][0]: names[key][1](one) for key, one in value.items() if key in names}

        return rename
