"""Records of pipes, and the checks of requests about them.

Owns which sources and targets a pipe may have. Texts of refusals are Statewright's own where no client reports them.

Source: EventBridge Pipes API reference; EventBridge user guide, "Amazon EventBridge Pipes".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from statewright.config import Config
from statewright.errors import ApiError
from statewright.functions.event_sources.batches import compile_filters
from statewright.payload import Json, JsonMapping
from statewright.query.event_pattern import PatternError
from statewright.stores.entries import EntryKind

RUNNING: Final = "RUNNING"
STOPPED: Final = "STOPPED"
REQUEST_RESPONSE: Final = "REQUEST_RESPONSE"
FIRE_AND_FORGET: Final = "FIRE_AND_FORGET"
USUAL_BATCH: Final = 10
STREAM_BATCH: Final = 100
MOST_WITHOUT_WINDOW: Final = 10
"""Source: user guide, "Amazon SQS queue as a source"."""
_SOURCES: Final = {
    "dynamodb": "the ARN of a table's stream ends with /stream/ and its label",
    "kinesis": "Kinesis streams are not supported",
    "kafka": "Kafka is not supported",
    "mq": "SQS is the only supported message broker",
}


@dataclass(frozen=True, slots=True)
class Pipe:
    """A pipe. `source_parameters` and `target_parameters` are those of the request; `shown` has no effect."""

    name: str
    source: str
    target: str
    role_arn: str
    created_ms: int
    modified_ms: int
    desired: str = RUNNING
    description: str | None = None
    source_parameters: JsonMapping = field(default_factory=dict)
    target_parameters: JsonMapping = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    shown: JsonMapping = field(default_factory=dict)
    stored: int = 0

    def arn(self, config: Config) -> str:
        """Its ARN."""
        return config.arn("pipes", f"pipe/{self.name}")

    @property
    def filters(self) -> tuple[str, ...]:
        """The patterns of which a message must match one, if there are any."""
        listed = (self.source_parameters.get("FilterCriteria") or {}).get("Filters") or ()
        return tuple(one["Pattern"] for one in listed if one.get("Pattern"))

    @property
    def batch_size(self) -> int:
        """The most messages or records of one execution."""
        usual = STREAM_BATCH if self.is_of_stream else USUAL_BATCH
        return int(self._given().get("BatchSize") or usual)

    @property
    def window_ms(self) -> int:
        """How long messages are collected for a batch, in milliseconds."""
        return 1000 * int(self._given().get("MaximumBatchingWindowInSeconds") or 0)

    @property
    def template(self) -> str:
        """The template of each message's input; empty if messages are passed as they are."""
        return str(self.target_parameters.get("InputTemplate") or "")

    @property
    def invocation(self) -> str | None:
        """How the target is invoked, if the pipe says so."""
        given = self.target_parameters.get("StepFunctionStateMachineParameters") or {}
        found = given.get("InvocationType")
        return found if isinstance(found, str) else None

    @property
    def is_of_stream(self) -> bool:
        """True if it leads from a stream of a table, and not from a queue."""
        return self.source.split(":")[2] == "dynamodb"

    @property
    def stream_parameters(self) -> JsonMapping:
        """The parameters of a source that is a stream."""
        found: JsonMapping = self.source_parameters.get("DynamoDBStreamParameters") or {}
        return found

    def _given(self) -> JsonMapping:
        found: JsonMapping = self.source_parameters.get("SqsQueueParameters") or {}
        return self.stream_parameters if self.is_of_stream else found


PIPE: Final = EntryKind("pipe", Pipe, lambda pipe: pipe.name)


def invalid(text: str) -> ApiError:
    """A `ValidationException`."""
    return ApiError("ValidationException", text)


def no_pipe(name: str) -> ApiError:
    """The refusal of a request for an unknown pipe."""
    return ApiError("NotFoundException", f"Pipe {name} does not exist.", status=404)


def check_pipe(pipe: Pipe, request: JsonMapping, *, is_fifo: bool) -> None:
    """Check a pipe, and what the request has besides. Raises: ApiError (`ValidationException`)."""
    if request.get("Enrichment"):
        raise invalid(
            "This version of Statewright has no enrichment of pipes: call it in the first state of the machine."
        )
    if pipe.is_of_stream:
        if pipe.stream_parameters.get("StartingPosition") is None:
            raise invalid("DynamoDBStreamParameters must have a StartingPosition: TRIM_HORIZON or LATEST.")
    elif pipe.batch_size > MOST_WITHOUT_WINDOW and not pipe.window_ms:
        raise invalid("MaximumBatchingWindowInSeconds must be at least 1 if BatchSize is greater than 10.")
    if is_fifo and pipe.batch_size > MOST_WITHOUT_WINDOW:
        raise invalid("BatchSize must be at most 10 for a FIFO queue.")
    try:
        compile_filters(pipe.filters)
    except PatternError as problem:
        raise invalid(f"Filter pattern is not valid. Reason: {problem}") from None


def check_ends(source: str, target: str, config: Config) -> None:
    """Check that a pipe leads from a queue or a stream to a state machine of this server. Raises: ApiError."""
    service = _service(source, config, "Source")
    if service != "sqs" and not (service == "dynamodb" and "/stream/" in source):
        why = _SOURCES.get(service, f"sources of {service} are not supported")
        raise invalid(f"This version of Statewright has pipes from SQS queues and DynamoDB streams only: {why}.")
    if _service(target, config, "Target") != "states" or ":stateMachine:" not in target:
        raise invalid("This version of Statewright has pipes to Step Functions state machines only.")


def _service(arn: Json, config: Config, member: str) -> str:
    parts = str(arn).split(":", 5)
    if len(parts) < 6 or parts[0] != "arn":
        raise invalid(f"{member} {arn} is not the ARN of a resource.")
    if parts[3:5] != [config.region, config.account]:
        raise invalid(f"{member} {arn} is elsewhere: a pipe connects resources of its own region and account.")
    return parts[2]
