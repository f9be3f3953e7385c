"""Parameters of stacks: their values from a request, from the stack before and from defaults, and their constraints.

Source: recorded answers; CloudFormation user guide, "Parameters".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from statewright.payload import Json, JsonMapping, JsonObject
from statewright.projects.constraints import PATTERN, TYPE, VALUES, violated
from statewright.projects.evaluation import text_of
from statewright.stacks.errors import invalid
from statewright.stacks.planning.templates import Template

HIDDEN: Final = "****"
STORED: Final = re.compile(r"AWS::SSM::Parameter::(?:Value<.*>|Name)")
_VALUE: Final = re.compile(r"AWS::SSM::Parameter::Value<.*>")
MOST_CHARACTERS: Final = 4_096


def values_of(template: Template, given: Json, before: Mapping[str, str] | None) -> dict[str, str]:
    """The value of every parameter of a template. `before` are those of the stack. Raises: ApiError."""
    declared = template.section("Parameters")
    asked: dict[str, str | None] = {}
    for one in given or ():
        key = one.get("ParameterKey", "")
        if one.get("UsePreviousValue"):
            start = f"Invalid input for parameter key {key}. Cannot specify usePreviousValue as true"
            if one.get("ParameterValue"):
                raise invalid(f"{start} and non empty value for a parameter")
            if before is None or key not in before:
                raise invalid(f"{start} for a parameter key not in the previous template")
            asked[key] = before[key]
        else:
            asked[key] = one.get("ParameterValue")
    unknown = [key for key in asked if key not in declared]
    if unknown:
        raise invalid(f"Parameters: [{', '.join(unknown)}] do not exist in the template")
    values: dict[str, str] = {}
    lacking = []
    for name, body in declared.items():
        value = asked.get(name)
        if value is None and body.get("Default") is not None:
            value = _text(body["Default"])
        if value is None:
            lacking.append(name)
        else:
            values[name] = value
    if lacking:
        if all(STORED.fullmatch(str(declared[name].get("Type"))) for name in lacking):
            raise invalid(f"Parameter {lacking[0]} should either have input value or default value")
        raise invalid(f"Parameters: [{', '.join(lacking)}] must have values")
    for name, value in values.items():
        if not STORED.fullmatch(str(declared[name].get("Type"))):
            _check(name, declared[name], value)
    return values


def stored_names(template: Template, values: Mapping[str, str]) -> dict[str, str]:
    """The names in the parameter store of the parameters that take their values from there."""
    declared = template.section("Parameters")
    return {name: value for name, value in values.items() if _VALUE.fullmatch(str(declared[name].get("Type")))}


def shown(template: Template | None, values: Mapping[str, str], resolved: Mapping[str, str]) -> list[JsonObject]:
    """The parameters as answers show them."""
    declared = template.section("Parameters") if template is not None else {}
    return [
        {
            "ParameterKey": name,
            "ParameterValue": HIDDEN if is_hidden(declared.get(name) or {}) else value,
            "ResolvedValue": resolved.get(name),
        }
        for name, value in values.items()
    ]


def is_hidden(body: JsonMapping) -> bool:
    """True for a parameter whose value is not shown."""
    return body.get("NoEcho") in (True, "true", "True")


def _text(value: Json) -> str:
    return ",".join(text_of(part) for part in value) if isinstance(value, list) else text_of(value)


def _check(name: str, body: JsonMapping, value: str) -> None:
    """Raises: ApiError."""
    if len(value.encode()) > MOST_CHARACTERS:
        raise invalid(f"Parameter '{name}' must be 4096 bytes or less.")
    broken = violated(str(body.get("Type")), body, value)
    words = body.get("ConstraintDescription")
    if broken and broken[0] not in (TYPE, VALUES) and isinstance(words, str):
        raise invalid(f"Parameter {name} failed to satisfy constraint: {words}")
    if broken:
        raise invalid(f"Parameter '{name}' {_WORDS[broken[0]].format(body.get(broken[0]))}")


_WORDS: Final = {
    TYPE: "must be a number.",
    VALUES: "must be one of AllowedValues",
    PATTERN: "must match pattern {}",
    "MinLength": "must contain at least {} characters",
    "MaxLength": "must contain at most {} characters",
    "MinValue": "must be a number not less than {}",
    "MaxValue": "must be a number not greater than {}",
}
"""The service's words for a violated constraint, by its member."""
