"""Stored event source mappings, and the checks of their requests.

Owns the entry, defaults, ranges and the service's refusals. `mappings.py` runs the mappings.

Source: Lambda API reference, CreateEventSourceMapping; Lambda developer guide, "Using Lambda with Amazon SQS". Texts
are the service's as SDK users report them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from statewright.functions.event_sources.batches import REPORT, compile_filters
from statewright.functions.event_sources.scaling import DEFAULT_PROFILE, PROFILES
from statewright.functions.event_sources.streams.settings import StreamSettings, changed_settings
from statewright.functions.names import invalid
from statewright.payload import Json, JsonObject
from statewright.query.event_pattern import PatternError
from statewright.stores.entries import EntryKind, Form

DEFAULT_BATCH: Final = 10
LARGEST_WITHOUT_WINDOW: Final = 10
LARGEST_FIFO: Final = 10
MOST_FILTERS: Final = 5
_NOT_HERE: Final = ("kinesis", "kafka", "mq", "rds", "docdb")
"""Event sources of the service that are not supported."""
PROFILE_TAG: Final = "statewright:scalingProfile"
"""Tag by which a mapping selects a scaling profile of its own."""
LEAST_POLLERS: Final = (2, 200)
MOST_POLLERS: Final = (2, 2000)
DEFAULT_MOST_POLLERS: Final = 200


@dataclass(frozen=True, slots=True)
class MappingRecord:
    """A mapping from a queue or a table's stream to a function. `function_arn` has the qualifier of the request.

    `stream` is set for streams. `pollers` are the least and most provisioned ones. `shown` are members that are stored
    and returned, without effect.
    """

    uuid: str
    source_arn: str
    function_arn: str
    modified_ms: int
    enabled: bool = True
    batch_size: int = DEFAULT_BATCH
    window_seconds: int = 0
    reports_failures: bool = False
    maximum: int | None = None
    pollers: Sequence[int] | None = None
    filters: Sequence[str] = ()
    tags: dict[str, str] = field(default_factory=dict)
    shown: JsonObject = field(default_factory=dict)
    stream: StreamSettings | None = None
    stored: int = 0

    @property
    def profile(self) -> str:
        """The scaling profile that its tag names; empty for the server's."""
        return self.tags.get(PROFILE_TAG, "")


def _with_source(members: dict[str, Json]) -> dict[str, Json]:
    """Format 1 had queues only."""
    return {"source_arn" if name == "queue_arn" else name: value for name, value in members.items()}


def _without_tumbling(members: dict[str, Json]) -> dict[str, Json]:
    """Format 2 had no tumbling windows: the default is none."""
    return members


MAPPING: Final = EntryKind(
    "eventSourceMapping",
    MappingRecord,
    lambda mapping: mapping.uuid,
    form=Form(3, upgrades={1: _with_source, 2: _without_tumbling}),
)


def with_request(mapping: MappingRecord, request: Mapping[str, Json], *, is_fifo: bool, now_ms: int) -> MappingRecord:
    """A mapping changed by a request, which has the members of Create- or UpdateEventSourceMapping.

    Raises: ApiError (`InvalidParameterValueException`).
    """
    changes: JsonObject = {"modified_ms": now_ms}
    if mapping.stream is not None:
        changes["stream"] = changed_settings(mapping.stream, request)
    else:
        _refuse_other_sources(request)
    for member, name in (("BatchSize", "batch_size"), ("MaximumBatchingWindowInSeconds", "window_seconds"),
                         ("Enabled", "enabled")):  # fmt: skip
        if request.get(member) is not None:
            changes[name] = request[member]
    if request.get("FunctionResponseTypes") is not None:
        changes["reports_failures"] = REPORT in request["FunctionResponseTypes"]
    if request.get("ScalingConfig") is not None:
        changes["maximum"] = request["ScalingConfig"].get("MaximumConcurrency")
    if request.get("ProvisionedPollerConfig") is not None:
        changes["pollers"] = _pollers(request["ProvisionedPollerConfig"])
    if request.get("FilterCriteria") is not None:
        changes["filters"] = _filters(request["FilterCriteria"])
    if request.get("Tags") is not None:
        changes["tags"] = request["Tags"]
    kept = {name: request[name] for name in ("KMSKeyArn", "MetricsConfig", "LoggingConfig") if request.get(name)}
    changed = replace(mapping, **changes, shown={**mapping.shown, **kept})
    if changed.stream is None:
        _check(changed, is_fifo=is_fifo)
    return changed


def _check(mapping: MappingRecord, *, is_fifo: bool) -> None:
    if is_fifo and mapping.batch_size > LARGEST_FIFO:
        raise invalid(f"Maximum batch size for a FIFO queue is {LARGEST_FIFO}.")
    if is_fifo and mapping.window_seconds:
        raise invalid("Batching window is not supported for FIFO queues.")
    if mapping.batch_size > LARGEST_WITHOUT_WINDOW and mapping.window_seconds == 0:
        raise invalid(
            "Maximum batch window in seconds must be greater than 0 if maximum batch size is greater than "
            f"{LARGEST_WITHOUT_WINDOW}"
        )
    if mapping.maximum is not None and mapping.pollers is not None:
        raise invalid("ScalingConfig and ProvisionedPollerConfig cannot be set together.")
    if mapping.profile and mapping.profile not in PROFILES:
        raise invalid(f"The tag {PROFILE_TAG} must be one of {', '.join(PROFILES)}, not '{mapping.profile}'.")


def _pollers(config: Mapping[str, Json]) -> list[int] | None:
    least, most = config.get("MinimumPollers"), config.get("MaximumPollers")
    if least is None and most is None:
        return None
    least = LEAST_POLLERS[0] if least is None else least
    most = max(DEFAULT_MOST_POLLERS, least) if most is None else most
    for value, name, bounds in ((least, "MinimumPollers", LEAST_POLLERS), (most, "MaximumPollers", MOST_POLLERS)):
        if not bounds[0] <= value <= bounds[1]:
            raise invalid(f"{name} must be between {bounds[0]} and {bounds[1]}.")
    if most < least:
        raise invalid("MaximumPollers must not be less than MinimumPollers.")
    return [least, most]


def _filters(criteria: Mapping[str, Json]) -> list[str]:
    patterns = [one.get("Pattern", "") for one in criteria.get("Filters") or ()]
    if len(patterns) > MOST_FILTERS:
        raise invalid(f"Invalid filter criteria: at most {MOST_FILTERS} filters are allowed.")
    try:
        compile_filters(patterns)
    except PatternError:
        raise invalid("Invalid filter pattern definition.") from None
    return patterns


_STREAMS: Final = (
    "StartingPosition", "StartingPositionTimestamp", "ParallelizationFactor", "BisectBatchOnFunctionError",
    "MaximumRecordAgeInSeconds", "MaximumRetryAttempts", "TumblingWindowInSeconds", "Topics", "Queues",
    "SourceAccessConfigurations", "SelfManagedEventSource", "AmazonManagedKafkaEventSourceConfig",
    "SelfManagedKafkaEventSourceConfig", "DocumentDBEventSourceConfig",
)  # fmt: skip
"""Members that only streams, brokers and databases have."""


def _refuse_other_sources(request: Mapping[str, Json]) -> None:
    if request.get("DestinationConfig"):
        raise invalid("Unsupported DestinationConfig parameter for given event source mapping type.")
    for name in _STREAMS:
        if request.get(name) not in (None, [], {}):
            raise invalid(f"Unsupported parameter for an SQS event source: {name}.")


def source_of(request: Mapping[str, Json]) -> tuple[str, bool]:
    """The ARN of a request's event source, and whether it is a stream of a table; otherwise it is a queue.

    Raises: ApiError for any other event source.
    """
    arn: str = request.get("EventSourceArn") or ""
    if not arn:
        raise invalid("EventSourceArn is required.")
    service = arn.split(":")[2] if arn.count(":") >= 5 else ""
    if service in _NOT_HERE:
        raise invalid(
            "This version of Statewright has event source mappings for SQS queues and DynamoDB streams only, not for "
            f"{arn[:200]}"
        )
    if service == "dynamodb" and "/stream/" in arn:
        return arn, True
    if service != "sqs":
        raise invalid("Unrecognized event source.")
    return arn, False


def check_timeouts(visibility_ms: int, timeout_seconds: int) -> None:
    """Refuse a visibility timeout that is shorter than the function's timeout. Raises: ApiError."""
    if visibility_ms < timeout_seconds * 1000:
        raise invalid(
            f"Queue visibility timeout: {visibility_ms // 1000} seconds is less than Function timeout: "
            f"{timeout_seconds} seconds"
        )


def default_profile(name: str) -> str:
    """Check the scaling profile of a server, or choose its default. Raises: ValueError for an unknown one."""
    chosen = name or DEFAULT_PROFILE
    if chosen not in PROFILES:
        raise ValueError(f"there is no scaling profile {chosen}; choose one of {', '.join(PROFILES)}")
    return chosen
