"""Builders of machines for lints: loops, polls and maps, and what our own findings say of them."""

from __future__ import annotations

from typing import Any

from statewright.asl.program import MachineType
from statewright.asl.validate import validate_value
from statewright.errors import Diagnostic

FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:work"
JSONATA = {"QueryLanguage": "JSONata"}


def lints(value: dict[str, Any], code: str, machine_type: MachineType = "STANDARD") -> list[Diagnostic]:
    diagnostics = validate_value(value, machine_type=machine_type)
    assert [d for d in diagnostics if d.severity == "ERROR"] == []
    return [d for d in diagnostics if d.code == code]


def machine(start: str, top: dict[str, Any] | None = None, **states: Any) -> dict[str, Any]:
    return {"StartAt": start, "States": states, **(top or {})}


def task(**fields: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": FUNCTION, **fields}


def passing(**fields: Any) -> dict[str, Any]:
    return {"Type": "Pass", **fields}


def decide(rule: dict[str, Any], default: str) -> dict[str, Any]:
    return {"Type": "Choice", "Choices": [rule], "Default": default}


def wait(seconds: int, following: str) -> dict[str, Any]:
    return {"Type": "Wait", "Seconds": seconds, "Next": following}


DONE = {"Type": "Succeed"}


def poll(top: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """Start a job, wait, ask, again until it is done."""
    states: dict[str, Any] = {
        "Start": task(Next="Pause"),
        "Pause": wait(10, "Ask"),
        "Ask": task(Next="Complete?"),
        "Complete?": {
            "Type": "Choice",
            "Choices": [
                {"Variable": "$.status", "StringEquals": "FAILED", "Next": "Broken"},
                {"Variable": "$.status", "StringEquals": "COMPLETED", "Next": "Good"},
            ],
            "Default": "Pause",
        },
        "Broken": {"Type": "Fail"},
        "Good": DONE,
    }
    return {"StartAt": "Start", "States": {**states, **changes}, **(top or {})}


def inline(inner: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    processor = {"StartAt": "Each", "States": {"Each": inner or task(End=True)}}
    return {"Type": "Map", "ItemProcessor": processor, **fields}
