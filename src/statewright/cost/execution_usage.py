"""The usage of one execution, as far as its history shows.

Owns reading a history for calls: their service, size and duration. Assumes, with a note, what history lacks: the memory
of a function, the cost of a nested execution or a job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

from statewright.cost.usage import (
    EVENT_CHUNK_BYTES,
    READ_UNIT_BYTES,
    WRITE_UNIT_BYTES,
    Usage,
    add_express,
    add_invocation,
    chunks,
)
from statewright.payload import JsonMapping, JsonTextError, parse_json

ASSUMED_MEMORY_MIB: Final = 128
_SCHEDULED: Final = ("TaskScheduled", "LambdaFunctionScheduled")
_ENDED: Final = frozenset(
    {
        "TaskSucceeded", "TaskFailed", "TaskTimedOut", "TaskSubmitted",
        "LambdaFunctionSucceeded", "LambdaFunctionFailed", "LambdaFunctionTimedOut",
    }
)  # fmt: skip
_READS: Final = ("get", "query", "scan", "batchget", "transactget", "describe", "list", "head")
_S3_PUTS: Final = ("put", "copy", "create", "complete", "upload", "list", "restore")


class Event(Protocol):
    """The part of a history event that is read."""

    @property
    def id(self) -> int:
        """Counts from 1."""

    @property
    def previous_id(self) -> int:
        """Of the event before it."""

    @property
    def type(self) -> str:
        """The service's name for its type."""

    @property
    def at_ms(self) -> int:
        """When it happened."""

    @property
    def details(self) -> JsonMapping | None:
        """Its members."""


MemoryOf = Callable[[str], int | None]
"""The memory of a function in MiB, by its name or ARN; `None` where it is not known."""


class TransitionCounter:
    """Counts state transitions as events come: states entered, attempts of tasks made again, and redrives."""

    def __init__(self) -> None:
        self.transitions = 0
        self._owner: dict[int, int] = {}
        self._attempted: set[int] = set()

    def note(self, event: Event) -> None:
        """Take in the next event of a history."""
        if event.type.endswith("StateEntered"):
            self._owner[event.id] = event.id
            self.transitions += 1
            return
        stay = self._owner.get(event.previous_id, 0)
        self._owner[event.id] = stay
        if event.type in ("TaskScheduled", "LambdaFunctionScheduled", "ActivityScheduled"):
            self.transitions += stay in self._attempted
            self._attempted.add(stay)
        elif event.type == "ExecutionRedriven":
            self.transitions += 1


def transitions_of(history: Iterable[Event]) -> int:
    """State transitions, counted from the history."""
    counter = TransitionCounter()
    for event in history:
        counter.note(event)
    return counter.transitions


class CallMeter:
    """Adds the calls that tasks make to a usage, as events come."""

    def __init__(self, usage: Usage, memory_of: MemoryOf = lambda _: None) -> None:
        self.usage = usage
        self._memory_of = memory_of
        self._calls: dict[int, tuple[Event, int]] = {}

    def note(self, event: Event) -> None:
        """Take in the next event of a history."""
        calls = self._calls
        if event.type in _SCHEDULED:
            calls[event.id] = (event, event.at_ms)
        elif event.type in ("TaskStarted", "LambdaFunctionStarted") and event.previous_id in calls:
            scheduled, _ = calls.pop(event.previous_id)
            calls[event.id] = (scheduled, event.at_ms)
        elif event.type in _ENDED and event.previous_id in calls:
            scheduled, began_ms = calls.pop(event.previous_id)
            _count(self.usage, scheduled, event.at_ms - began_ms, self._memory_of)
        elif event.type == "MapRunStarted":
            self.usage.assume("calls by child executions of distributed Maps are not counted")


def execution_usage(
    history: Iterable[Event],
    transitions: int,
    *,
    duration_ms: int,
    express: bool = False,
    memory_of: MemoryOf = lambda _: None,
) -> Usage:
    """The usage of an execution: its own transitions or duration, and the calls that its tasks made."""
    usage = Usage()
    if express:
        add_express(usage, duration_ms)
        usage.assume("an Express execution is assumed to need 64 MB of memory")
    elif transitions:
        usage.add("states.transitions", transitions)
    meter = CallMeter(usage, memory_of)
    for event in history:
        meter.note(event)
    return usage


def _count(usage: Usage, scheduled: Event, took_ms: int, memory_of: MemoryOf) -> None:
    details = scheduled.details or {}
    if scheduled.type == "LambdaFunctionScheduled":
        _count_function(usage, str(details.get("resource", "")), took_ms, memory_of)
        return
    service = str(details.get("resourceType", "")).removeprefix("aws-sdk:")
    action = str(details.get("resource", "")).partition(".")[0]
    parameters = _parsed(details.get("parameters"))
    counter = _COUNTERS.get(service)
    if service == "lambda" and action == "invoke":
        _count_function(usage, str(parameters.get("FunctionName", "")), took_ms, memory_of)
    elif counter is not None:
        counter(usage, action, parameters)
    elif service == "states":
        usage.assume("the cost of nested executions is on their own bills")
    elif service in ("ecs", "batch", "glue", "sagemaker", "codebuild", "eks", "emr-serverless"):
        usage.assume(f"the cost of jobs of {service} is not counted")


def _count_function(usage: Usage, name: str, took_ms: int, memory_of: MemoryOf) -> None:
    memory = memory_of(name)
    if memory is None:
        memory = ASSUMED_MEMORY_MIB
        usage.assume(f"functions of unknown memory are assumed to have {ASSUMED_MEMORY_MIB} MB")
    usage.assume(
        "functions are billed for the time between a task's start and its end; the service bills a little less"
    )
    add_invocation(usage, took_ms, memory)


def _count_queue(usage: Usage, _action: str, parameters: JsonMapping) -> None:
    item = "sqs.fifo_requests" if str(parameters.get("QueueUrl", "")).endswith(".fifo") else "sqs.requests"
    usage.add(item, chunks(_size(parameters.get("MessageBody", parameters.get("Entries")))))


def _count_topic(usage: Usage, _action: str, parameters: JsonMapping) -> None:
    usage.add("sns.publishes", chunks(_size(parameters.get("Message")), EVENT_CHUNK_BYTES))


def _count_events(usage: Usage, action: str, parameters: JsonMapping) -> None:
    if action.lower() == "putevents":
        for entry in parameters.get("Entries") or ():
            usage.add("events.events", chunks(_size(entry), EVENT_CHUNK_BYTES))


def _count_bucket(usage: Usage, action: str, _parameters: JsonMapping) -> None:
    name = action.lower()
    if not name.startswith("delete"):
        usage.add("s3.put_requests" if name.startswith(_S3_PUTS) else "s3.get_requests")


def _count_table(usage: Usage, action: str, parameters: JsonMapping) -> None:
    name = action.lower()
    if name.startswith(("describe", "list", "create", "update_table", "export")):
        return
    if name.startswith(_READS):
        unit = 1.0 if parameters.get("ConsistentRead") else 0.5
        usage.add("dynamodb.read_units", unit * (4 if name.startswith("transact") else 1))
        usage.assume(f"reads of tables are assumed to be of items up to {READ_UNIT_BYTES // 1024} KB")
        return
    size = _size(parameters.get("Item", parameters))
    usage.add("dynamodb.write_units", chunks(size, WRITE_UNIT_BYTES) * (2 if name.startswith("transact") else 1))
    usage.assume("the size of an item is taken from the request that wrote it")


_COUNTERS: Final[Mapping[str, Callable[[Usage, str, JsonMapping], None]]] = {
    "sqs": _count_queue,
    "sns": _count_topic,
    "events": _count_events,
    "eventbridge": _count_events,
    "s3": _count_bucket,
    "dynamodb": _count_table,
}


def _parsed(text: object) -> JsonMapping:
    if not isinstance(text, str):
        return {}
    try:
        value = parse_json(text)
    except JsonTextError:
        # A long one is cut short in what is shown.
        return {}
    return value if isinstance(value, dict) else {}


def _size(value: object) -> int:
    if isinstance(value, str):
        return len(value.encode())
    return len(str(value)) if value is not None else 0
