"""Kinds of names that a server knows: how each is listed, and which members of a request hold one.

Serves the shells' completion, and the hint "did you mean" when a name does not exist. A server here is any object that
can make calls and list pages; this module imports no client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

MOST_EXECUTIONS: Final = 50
"""Executions of each machine that are offered, the newest ones."""


class Lists(Protocol):
    """A server's calls, as `client.Server` makes them."""

    def call(self, operation: str, **members: object) -> dict[str, Any]:
        """Call an operation by its name in boto3."""

    def pages(self, operation: str, member: str, *, most: int | None = None, **members: object) -> Iterator[Any]:
        """List the elements of a member, page after page."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of names. `service` is boto3's name of the service that lists them."""

    service: str
    listed: Callable[[Lists], Iterator[str]]
    """Every name, as commands take it."""
    given: Callable[[Mapping[str, object]], str] | None = None
    """The name in the members of a request, or an empty text. None for those that `Server` finds by their names."""


def _last(arn: str) -> str:
    return arn.rpartition(":")[2].rpartition("/")[2]


def _text(members: Mapping[str, object], name: str) -> str:
    found = members.get(name)
    return found if isinstance(found, str) else ""


def _function_given(members: Mapping[str, object]) -> str:
    text = _text(members, "FunctionName")
    return text.split(":")[6] if text.count(":") >= 6 else text.partition(":")[0]


def _schedule_given(members: Mapping[str, object]) -> str:
    group, name = _text(members, "GroupName"), _text(members, "Name")
    return name if group in ("", "default") else f"{group}/{name}"


def _schedules(server: Lists) -> Iterator[str]:
    for one in server.pages("list_schedules", "Schedules"):
        yield one["Name"] if one["GroupName"] == "default" else f"{one['GroupName']}/{one['Name']}"


def _executions(server: Lists) -> Iterator[str]:
    for machine in server.pages("list_state_machines", "stateMachines"):
        if machine["type"] == "STANDARD":
            arn = machine["stateMachineArn"]
            for one in server.pages("list_executions", "executions", most=MOST_EXECUTIONS, stateMachineArn=arn):
                yield f"{machine['name']}:{one['name']}"


def _semaphores(server: Lists) -> Iterator[str]:
    yield from sorted({one["name"] for one in server.call("list_limits")["semaphores"]})


MACHINE: Final = Kind(
    "stepfunctions",
    lambda server: (one["name"] for one in server.pages("list_state_machines", "stateMachines")),
)
EXECUTION: Final = Kind("stepfunctions", _executions)
FUNCTION: Final = Kind(
    "lambda",
    lambda server: (one["FunctionName"] for one in server.pages("list_functions", "Functions")),
    _function_given,
)
QUEUE: Final = Kind(
    "sqs",
    lambda server: (_last(url) for url in server.pages("list_queues", "QueueUrls", MaxResults=1000)),
    lambda members: _text(members, "QueueName") or _last(_text(members, "QueueUrl")),
)
TABLE: Final = Kind(
    "dynamodb",
    lambda server: server.pages("list_tables", "TableNames"),
    lambda members: _last(_text(members, "TableName")),
)
TOPIC: Final = Kind(
    "sns",
    lambda server: (_last(one["TopicArn"]) for one in server.pages("list_topics", "Topics")),
    lambda members: _last(_text(members, "TopicArn")),
)
SCHEDULE: Final = Kind("scheduler", _schedules, _schedule_given)
ALARM: Final = Kind(
    "cloudwatch",
    lambda server: (one["AlarmName"] for one in server.pages("describe_alarms", "MetricAlarms")),
    lambda members: _text(members, "AlarmName"),
)
BUCKET: Final = Kind(
    "s3",
    lambda server: (one["Name"] for one in server.call("list_buckets")["Buckets"]),
    lambda members: _text(members, "Bucket"),
)
HTTP_API: Final = Kind(
    "apigatewayv2", lambda server: (one["Name"] for one in server.pages("get_apis", "Items")),
)  # fmt: skip
REST_API: Final = Kind(
    "apigateway", lambda server: (one["name"] for one in server.pages("get_rest_apis", "items")),
)  # fmt: skip
SEMAPHORE: Final = Kind("statewright", _semaphores, lambda members: _text(members, "name"))
KINDS: Final = (FUNCTION, QUEUE, TABLE, TOPIC, SCHEDULE, ALARM, BUCKET, SEMAPHORE)


def did_you_mean(server: Lists, service: str, members: Mapping[str, object]) -> str | None:
    """A hint for a name in a request that does not exist: one like it that does. Raises what the server does."""
    from statewright.asl.findings import closest

    for kind in KINDS:
        given = kind.given(members) if kind.given is not None and kind.service == service else ""
        if given:
            near = closest(given, kind.listed(server))
            return f"did you mean {near}?" if near is not None and near != given else None
    return None
