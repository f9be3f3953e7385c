"""Scalars of a template in the types that an API declares.

CloudFormation converts them: a text property may be written `true` or `200`, a number `"200"`, a truth value `"true"`.
Owns that rule for all requests of a deployment; what cannot be converted stays, and the API refuses it.

Source: recorded: "Scalars are converted to the property's type".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from statewright.integrations.endpoints.service_models import model_of
from statewright.payload import Json, JsonMapping, JsonObject
from statewright.projects.evaluation import text_of


def converted(service: str, operation: str, request: Mapping[str, object]) -> dict[str, object]:
    """A request with its scalars in the types of the service's model; `service` is botocore's name of one."""
    model = model_of(service) or {}
    declared = model.get("operations", {}).get(operation, {}).get("input")
    shapes: JsonMapping = model.get("shapes", {})
    given: JsonObject = dict(request)
    return _structure(given, shapes[declared["shape"]], shapes) if declared else given


def _structure(value: JsonObject, shape: JsonMapping, shapes: JsonMapping) -> JsonObject:
    members = shape["members"]
    return {
        name: _part(part, members[name]["shape"], shapes) if name in members else part for name, part in value.items()
    }


def _part(value: Json, name: str, shapes: JsonMapping) -> Json:
    shape = shapes[name]
    kind = shape["type"]
    if isinstance(value, dict):
        if kind == "structure":
            return _structure(value, shape, shapes)
        if kind == "map":
            return {key: _part(part, shape["value"]["shape"], shapes) for key, part in value.items()}
        return value
    if isinstance(value, list):
        return [_part(part, shape["member"]["shape"], shapes) for part in value] if kind == "list" else value
    convert = _CONVERTERS.get(kind)
    return convert(value) if convert is not None and value is not None else value


def _text(value: Json) -> Json:
    return value if isinstance(value, (str, bytes)) else text_of(value)


def _whole(value: Json) -> Json:
    try:
        return int(value) if isinstance(value, (str, float)) and float(value) == int(float(value)) else value
    except ValueError:
        return value


def _number(value: Json) -> Json:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _truth(value: Json) -> Json:
    return {"true": True, "false": False}.get(value.lower(), value) if isinstance(value, str) else value


_CONVERTERS: Final[dict[str, Callable[[Json], Json]]] = {
    "string": _text,
    "integer": _whole,
    "long": _whole,
    "float": _number,
    "double": _number,
    "boolean": _truth,
}
