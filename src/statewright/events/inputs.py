"""Inputs of the targets of rules: the whole event, a part of it, a constant, or a text made from a template.

Source: EventBridge user guide, "Input transformation".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from statewright.payload import Json, JsonMapping, dump_json

_STEP: Final = re.compile(r"\.([A-Za-z0-9_\-/*]+)|\[([0-9]+|\*)\]|\[['\"]([^'\"]+)['\"]\]")
_VARIABLE: Final = re.compile(r"<([A-Za-z0-9_.\-]+)>")
_LEADING: Final = re.compile(r"\s*<([A-Za-z0-9_.\-]+)>\s*\S")
MISSING: Final = object()
"""Stands for the value at a path that an event does not have."""
PREDEFINED: Final = frozenset(
    {
        "aws.events.rule-arn", "aws.events.rule-name", "aws.events.event.ingestion-time", "aws.events.event",
        "aws.events.event.json",
    }
)  # fmt: skip
"""Variables that every template has."""
_PARAMETERS: Final = ("EcsParameters", "SqsParameters")
"""Parameters whose texts may be paths. Source: user guide, "Dynamic path parameters"."""


def variables_of(template: str) -> list[str]:
    """The variables that a template names."""
    return _VARIABLE.findall(template)


def with_paths(target: JsonMapping, event: Json) -> JsonMapping:
    """A target with the paths in its parameters replaced by the event's values; a missing value becomes empty."""
    found = dict(target)
    for name in _PARAMETERS:
        if target.get(name):
            found[name] = _resolved(target[name], event)
    return found


def _resolved(value: Json, event: Json) -> Json:
    if isinstance(value, Mapping):
        return {name: _resolved(inner, event) for name, inner in value.items()}
    if isinstance(value, list):
        return [_resolved(inner, event) for inner in value]
    if isinstance(value, str) and value.startswith("$."):
        found = value_at(value, event)
        return found if isinstance(found, str) else "" if found is None else dump_json(found)
    return value


def value_at(path: str, event: Json) -> Json:
    """The value at a path of names, indices and wildcards; `None` where the event has none."""
    found = found_at(path, event)
    return None if found is MISSING else found


class InvalidInput(ValueError):
    """A template makes no valid input of an event; the message says why."""


def payload_of(target: JsonMapping, event: JsonMapping, predefined: JsonMapping) -> str:
    """The payload of a target. `predefined` has the variables that every template knows. Raises: InvalidInput."""
    if target.get("Input") is not None:
        constant: str = target["Input"]
        return constant
    if target.get("InputPath"):
        return dump_json(value_at(target["InputPath"], event))
    transformer = target.get("InputTransformer")
    if transformer is None:
        return dump_json(event)
    variables = dict(predefined)
    for name, path in (transformer.get("InputPathsMap") or {}).items():
        variables[name] = found_at(path, event)
    return fill(transformer["InputTemplate"], variables)


def fill(template: str, variables: JsonMapping) -> str:
    """A template with its variables replaced.

    Within quotes a string is inserted as it is and any other value without its quotes; outside, as JSON. A variable
    that the event does not have is nothing within quotes and an empty string outside (observed).

    Raises: InvalidInput, if an object or array would stand within quotes of JSON, or if text follows a variable that
    begins the template without quotes: the service delivers neither (observed).
    """
    is_json = template.lstrip()[:1] in ("{", "[")
    leading = _LEADING.match(template)
    if leading is not None and leading[1] in variables:
        raise InvalidInput(f"text follows the variable <{leading[1]}>, which begins the template without quotes")
    parts: list[str] = []
    quoted = False
    end = 0
    for found in _VARIABLE.finditer(template):
        before = template[end : found.start()]
        quoted = quoted_after(before, quoted)
        parts.append(before)
        end = found.end()
        if found[1] not in variables:
            parts.append(found[0])
            continue
        value = variables[found[1]]
        if value is MISSING:
            parts.append("" if quoted else '""')
        elif quoted and is_json and isinstance(value, (dict, list)):
            raise InvalidInput(f"the value of the variable <{found[1]}> is an object or array, within quotes of JSON")
        elif quoted:
            parts.append(value if isinstance(value, str) else dump_json(value).replace('"', ""))
        else:
            parts.append(dump_json(value))
    parts.append(template[end:])
    return "".join(parts)


def quoted_after(text: str, quoted: bool) -> bool:
    """True if the end of a text lies within quotes."""
    escaped = False
    for character in text:
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == '"':
            quoted = not quoted
    return quoted


def found_at(path: str, event: Json) -> Json:
    """The value at a path of names, indices and wildcards; `MISSING` where the event has none."""
    if path == "$":
        return event
    if not path.startswith("$"):
        return MISSING
    values: list[Json] = [event]
    place, many = 1, False
    while place < len(path):
        step = _STEP.match(path, place)
        if step is None:
            return MISSING
        place = step.end()
        name = step[1] or step[3]
        if name == "*" or step[2] == "*":
            many = True
            values = [inner for value in values for inner in _all(value)]
        elif name is not None:
            values = [value[name] for value in values if isinstance(value, dict) and name in value]
        else:
            index = int(step[2])
            values = [value[index] for value in values if isinstance(value, list) and index < len(value)]
    if many:
        return values
    return values[0] if values else MISSING


def _all(value: Json) -> list[Json]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
