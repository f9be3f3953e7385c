"""Builders of small definitions, and what `validate` finds in them."""

from __future__ import annotations

import json
from typing import Any

from statewright.asl.program import MachineType
from statewright.asl.validate import validate_value
from statewright.errors import Diagnostic

FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:work"
SCHEMA = "SCHEMA_VALIDATION_FAILED"
TARGET = "MISSING_TRANSITION_TARGET"


def machine(state: dict[str, Any], **top: Any) -> dict[str, Any]:
    """A machine around one state called S, with targets A and B that it may use."""
    states: dict[str, Any] = {"S": state}
    text = json.dumps(state)
    states.update({name: {"Type": "Succeed"} for name in ("A", "B") if f'"{name}"' in text})
    return {"StartAt": "S", "States": states, **top}


def task(**fields: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": FUNCTION, "End": True, **fields}


def passing(**fields: Any) -> dict[str, Any]:
    return {"Type": "Pass", "End": True, **fields}


def distributed(**fields: Any) -> dict[str, Any]:
    config = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
    inner = {"ProcessorConfig": config, "StartAt": "I", "States": {"I": passing()}}
    return {"Type": "Map", "ItemProcessor": inner, "End": True, **fields}


def inline(**fields: Any) -> dict[str, Any]:
    return {"Type": "Map", "ItemProcessor": {"StartAt": "I", "States": {"I": passing()}}, "End": True, **fields}


def choice(*rules: Any, **fields: Any) -> dict[str, Any]:
    return {"Type": "Choice", "Choices": list(rules), "Default": "B", **fields}


def compared(**fields: Any) -> dict[str, Any]:
    return {"Variable": "$.x", "Next": "A", **fields}


def jsonata(state: dict[str, Any]) -> dict[str, Any]:
    return {**state, "QueryLanguage": "JSONata"}


def found(value: Any, machine_type: MachineType = "STANDARD") -> list[tuple[str, str, str | None]]:
    diagnostics = validate_value(value, lints=False, machine_type=machine_type)
    return [(d.code, d.message, d.location) for d in diagnostics if d.severity == "ERROR"]


def messages(state: dict[str, Any], **top: Any) -> list[tuple[str, str | None]]:
    return [(message, location) for _code, message, location in found(machine(state, **top))]


def warnings(state: dict[str, Any], code: str) -> list[Diagnostic]:
    return [d for d in validate_value(machine(state)) if d.code == code and d.severity == "WARNING"]


def flow(start: str, **states: Any) -> dict[str, Any]:
    return {"StartAt": start, "States": states}


def to(target: str, **fields: Any) -> dict[str, Any]:
    return {"Type": "Pass", "Next": target, **fields}
