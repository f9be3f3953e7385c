"""Reports on ended Event invocations: records for destinations, and dead letters.

Shapes are observed; an answer that is not JSON is included as text.
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from statewright.functions.event_records import Delivery, Event
from statewright.functions.invoke import Target
from statewright.functions.names import LATEST
from statewright.functions.outcomes import Invoked
from statewright.functions.records import InvokeSettings
from statewright.instants import iso_ms

ERROR_MESSAGE_BYTES = 1_024
"""Source: developer guide: the first 1 KB of the error message."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of an event: the condition, and the last answer if the function ran."""

    condition: str
    answer: Invoked | None


def ending(condition: str, answer: Invoked | None = None) -> Ending:
    """Make an `Ending`."""
    return Ending(condition, answer)


def reports_of(event: Event, settings: InvokeSettings, target: Target, end: Ending, now_ms: int) -> list[Delivery]:
    """All reports to deliver about an event that has ended."""
    found = []
    failed = end.condition != "Success"
    if failed and target.settings.dead_letter is not None:
        found.append(_dead_letter(target.settings.dead_letter, event, end))
    destination = settings.on_failure if failed else settings.on_success
    if destination is not None:
        found.append(Delivery(destination, _record(event, target, end, now_ms)))
    return found


def _record(event: Event, target: Target, end: Ending, now_ms: int) -> bytes:
    arn = target.arn if event.qualifier is not None else f"{target.arn}:{LATEST}"
    record: dict[str, object] = {
        "version": "1.0",
        "timestamp": iso_ms(now_ms),
        "requestContext": {
            "requestId": event.id,
            "functionArn": arn,
            "condition": end.condition,
            "approximateInvokeCount": event.attempts,
        },
        "requestPayload": orjson.Fragment(event.payload),
    }
    if end.answer is not None:
        context: dict[str, object] = {"statusCode": 200, "executedVersion": end.answer.executed_version}
        if end.answer.function_error is not None:
            context["functionError"] = end.answer.function_error
        record["responseContext"] = context
        record["responsePayload"] = _json_of(end.answer.payload)
    return orjson.dumps(record)


def _dead_letter(arn: str, event: Event, end: Ending) -> Delivery:
    if end.answer is not None:
        code, message = "200", ""
        try:
            message = str(orjson.loads(end.answer.payload).get("errorMessage", ""))
        except (orjson.JSONDecodeError, AttributeError):
            message = end.answer.payload.decode(errors="replace")
    else:
        code, message = "429", "Rate Exceeded."
    attributes = {"RequestID": ("String", event.id), "ErrorCode": ("Number", code)}
    # Queues refuse empty attributes.
    if message:
        cut = message.encode()[:ERROR_MESSAGE_BYTES].decode(errors="ignore")
        attributes["ErrorMessage"] = ("String", cut)
    return Delivery(arn, event.payload, attributes)


def _json_of(payload: bytes) -> str | orjson.Fragment:
    try:
        orjson.loads(payload)
    except orjson.JSONDecodeError:
        return payload.decode(errors="replace")
    return orjson.Fragment(payload)
