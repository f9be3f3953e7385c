"""Advice about mocks, found in the history of an execution that failed.

Owns what is said; where it is shown is the caller's. A function that really runs is never the subject.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from statewright.asl.program import TaskDef
from statewright.payload import JsonTextError, parse_json
from statewright.simulator.story import Story

if TYPE_CHECKING:
    from statewright.interpreter.history import HistoryEvent

_MEMBER = "Payload"


def payload_hint(story: Story, events: Iterable[HistoryEvent], cause: str | None) -> str | None:
    """The remedy if a state failed because the mock of its function answered without `Payload`; else None."""
    failed = story.failed_visit
    body = failed.definition.body if failed is not None else None
    if failed is None or not isinstance(body, TaskDef) or body.resource.short_name != "lambda:invoke":
        return None
    if _MEMBER not in (cause or ""):
        return None
    answer: str | None = None
    for event in events:
        details = event.details or {}
        if event.type == "TaskSucceeded" and details.get("resourceType") == "lambda":
            answer = details.get("output")
    if answer is None or _has_payload(answer):
        return None
    return (
        f"the mock of '{failed.name}' answers without {_MEMBER}: `returns` is the whole result of lambda:invoke, "
        "`returns_payload` what the function returned"
    )


def _has_payload(text: str) -> bool:
    try:
        value = parse_json(text)
    except JsonTextError:
        return False
    return isinstance(value, dict) and _MEMBER in value
