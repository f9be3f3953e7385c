"""Which service a Task calls, and how it waits for the answer, as a drawing shows them.

Reads the Resource of a plain definition value, which may be anything. Owns the icons of services; `graph.palette` has
the colours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from statewright.payload import Json

Service = Literal[
    "lambda", "sqs", "sns", "dynamodb", "s3", "containers", "events", "http", "states", "activity", "other"
]
"""`containers` are ECS, EKS and Batch; `states` are nested executions; `other` is a service without an icon of its
own."""
Waiting = Literal["", "sync", "token"]
"""`sync` waits until a job is over, `token` until an answer with the task's token comes."""

_SERVICES: Final[Mapping[str, Service]] = {
    "lambda": "lambda",
    "sqs": "sqs",
    "sns": "sns",
    "dynamodb": "dynamodb",
    "s3": "s3",
    "ecs": "containers",
    "eks": "containers",
    "batch": "containers",
    "events": "events",
    "eventbridge": "events",
    "scheduler": "events",
    "http": "http",
    "apigateway": "http",
    "states": "states",
    "sfn": "states",
}

SERVICE_TONES: Final[Mapping[Service, str]] = {
    "lambda": "compute",
    "containers": "compute",
    "sqs": "messages",
    "sns": "messages",
    "events": "messages",
    "dynamodb": "data",
    "s3": "storage",
    "http": "outside",
    "states": "accent",
    "activity": "workers",
    "other": "accent",
}
"""The colour of a Task's icon while no run is shown, by name: one for each group of services."""
SERVICE_ICONS: Final[Mapping[Service, str]] = {
    "lambda": "M4 2.8h2.2l5.2 10.4h1.8M7.3 5.2 3.2 13.2",
    "containers": "M8 1.8 13.4 4.9v6.2L8 14.2l-5.4-3.1V4.9zM2.6 4.9 8 8l5.4-3.1M8 8v6.2",
    "sqs": "M1.8 4.5h12.4v7H1.8zM5.9 4.5v7M10.1 4.5v7",
    "sns": "M2.5 6.3v3.4h2.7l4.8 3V3.3l-4.8 3zM12.4 5.6a3.4 3.4 0 0 1 0 4.8",
    "events": "M1.8 8h12.4M5 8V4.6M11 8V4.6M8 8v3.4M3.7 3.2h2.6M9.7 3.2h2.6M6.7 12.8h2.6",
    "dynamodb": "M13 4c0 1.1-2.2 2-5 2s-5-.9-5-2 2.2-2 5-2 5 .9 5 2v8c0 1.1-2.2 2-5 2s-5-.9-5-2V4"
    "M13 8c0 1.1-2.2 2-5 2s-5-.9-5-2",
    "s3": "M13.5 4c0 .9-2.5 1.6-5.5 1.6S2.5 4.9 2.5 4 5 2.4 8 2.4s5.5.7 5.5 1.6l-1.4 8.2c-.2.8-1.9 1.4-4.1 1.4"
    "s-3.9-.6-4.1-1.4L2.5 4",
    "http": "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2M2.2 8h11.6M8 2C5.2 5.4 5.2 10.6 8 14M8 2c2.8 3.4 2.8 8.6 0 12",
    "states": "M2.5 2.5h4.4v4.4H2.5zM9.1 9.1h4.4v4.4H9.1zM4.7 6.9v4.4h4.4",
    "activity": "M2 3h12v7.6H2zM5.6 13.4h4.8M8 10.6v2.8M6.6 5.2 4.9 6.8l1.7 1.6M9.4 5.2l1.7 1.6-1.7 1.6",
    "other": "M4.8 4 1.5 8l3.3 4M11.2 4l3.3 4-3.3 4M9.3 2.8 6.7 13.2",
}
"""Strokes in a box of 16 by 16."""


def service_of(state: Json) -> Service | None:
    """The service that a Task calls; `None` for other states, and for a Resource that is no ARN."""
    parts = _resource(state)
    if parts is None:
        return None
    service, rest = parts
    if service != "states":
        return _SERVICES.get(service, "other")
    if rest.startswith("activity:"):
        return "activity"
    # arn:aws:states:::lambda:invoke, arn:aws:states:::aws-sdk:s3:getObject
    called = rest.removeprefix("aws-sdk:").partition(":")[0]
    return _SERVICES.get(called.lower(), "other")


def waiting_of(state: Json) -> Waiting:
    """How a Task waits for its answer, other than by its call."""
    parts = _resource(state)
    if parts is None or parts[0] != "states":
        return ""
    if parts[1].endswith(".waitForTaskToken"):
        return "token"
    return "sync" if parts[1].endswith((".sync", ".sync:2")) else ""


def _resource(state: Json) -> tuple[str, str] | None:
    """The service and the last part of a Task's Resource."""
    if not isinstance(state, Mapping) or state.get("Type") != "Task":
        return None
    resource = state.get("Resource")
    parts = resource.split(":", 5) if isinstance(resource, str) else []
    return (parts[2], parts[5]) if len(parts) == 6 and parts[0] == "arn" else None
