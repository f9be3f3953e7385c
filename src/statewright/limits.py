"""Every number of the service, by name and with its source, and the profiles that choose among them.

Profile `aws` has the service's values. Profile `open` lifts those that only protect the service itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

STATE_NAME_CHARACTERS: Final = 80
"""Source: open specification, "States"."""
ERROR_CHARACTERS: Final = 256
"""Source: API reference, `SensitiveError`."""
CAUSE_CHARACTERS: Final = 32_768
"""Source: API reference, `SensitiveCause`."""
LONGEST_WAIT_MS: Final = (2**31 - 1) * 1000
"""Observed: 24,855 days ahead are accepted, 24,856 are not."""
TASK_TIMEOUT_SECONDS: Final = 99_999_999
"""Source: open specification, "Task State"; also the longest Seconds of a Wait."""
MAP_RUN_CONCURRENCY: Final = 10_000
"""Source: service quotas, parallel child executions of one Map Run."""
BURST_TRANSITIONS: Final = 200
"""Transitions that one call of `advance` may make before it yields. Ours: about 5 ms."""
FUNCTION_CONCURRENCY: Final = 1_000
"""Invocations at once in an account and Region. Source: Lambda quotas."""
FUNCTION_UNRESERVED: Final = 100
"""Concurrency that reservations must leave to other functions. Source: Lambda guide, "Reserved concurrency"."""
FUNCTION_REQUEST_BYTES: Final = 6_291_456
"""Payload of a synchronous invocation. Source: Lambda quotas."""
FUNCTION_EVENT_BYTES: Final = 1_048_576
"""Payload of an Event invocation. Source: Lambda quotas."""
FUNCTION_RESPONSE_BYTES: Final = 6_291_556
"""Longest result of a synchronous invocation (observed)."""
FUNCTION_INIT_MS: Final = 10_000
"""How long a worker may take to load its handler, beside the function's timeout. Source: Lambda developer guide."""

OBJECT_KEY_BYTES: Final = 1_024
"""Source: user guide of object storage, "Naming objects": UTF-8 bytes of a key."""
OBJECT_METADATA_BYTES: Final = 2 * 1024
"""Source: the same, "Working with object metadata": names and values of a user's own headers."""
OBJECT_PUT_BYTES: Final = 5 * 1024**3
"""Source: the same, "Uploading objects": one request, and one part."""
OBJECT_BYTES: Final = 50 * 1024**4
"""Source: the same: an object, through a multipart upload."""
UPLOAD_PARTS: Final = 10_000
"""Source: the same, "Multipart upload limits"; so are the next two."""
SMALLEST_PART_BYTES: Final = 5 * 1024**2
LISTED_AT_ONCE: Final = 1_000
OBJECT_TAGS: Final = 10
"""Source: the same, "Categorizing your objects using tags"."""
BUCKET_TAGS: Final = 50
"""Source: the same, cost allocation tags."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits that end or delay an execution. `None` means no limit."""

    profile: str = "aws"
    history_events: int | None = 25_000
    """Source: service quotas, "Maximum execution history size" (Standard)."""
    payload_bytes: int | None = 262_144
    """Source: service quotas, "Maximum input or output size"."""
    variables_bytes: int | None = 10 * 1024 * 1024
    """All variables of one execution. Source: developer guide, "Passing data between states with variables"."""
    inline_map_concurrency: int | None = 40
    """Source: developer guide, "Using Map state in Inline mode"."""
    map_run_concurrency: int | None = MAP_RUN_CONCURRENCY
    map_run_redrives: int | None = 1_000
    """Source: service quotas, redrives of one Map Run."""
    redrivable_period_ms: int | None = 14 * 24 * 3600 * 1000
    """Source: service quotas, redrivable period."""
    execution_ms: int | None = 365 * 24 * 3600 * 1000
    """Source: service quotas, maximum execution time (Standard)."""
    message_bytes: int | None = 1_048_576
    """Longest message, and batch of messages, of a queue. Source: SQS quotas, message size."""
    message_delay_seconds: int | None = 900
    """Source: SQS quotas, message timers and delay queues."""
    queue_in_flight: int | None = 120_000
    """Messages of one queue that consumers have. Source: SQS quotas, in-flight messages, standard and FIFO."""
    queue_name_rest_seconds: int | None = None
    """How long a deleted queue's name cannot be used again. The service's 60 seconds are for its own replication."""


AWS: Final = Limits()
OPEN: Final = Limits(
    profile="open",
    history_events=None,
    payload_bytes=None,
    variables_bytes=None,
    inline_map_concurrency=None,
    map_run_concurrency=None,
    map_run_redrives=None,
    redrivable_period_ms=None,
    execution_ms=None,
    message_bytes=None,
    message_delay_seconds=None,
    queue_in_flight=None,
)
EXPRESS: Final = replace(AWS, history_events=None, execution_ms=5 * 60 * 1000, redrivable_period_ms=0)
"""Source: service quotas: Express executions last five minutes, keep no history and cannot be redriven."""

PROFILES: Final = {"aws": AWS, "open": OPEN}


@dataclass(frozen=True, slots=True)
class Rate:
    """A token bucket: `bucket` calls at once, and `refill` more in each second."""

    bucket: int
    refill: float


def _rates(table: str) -> dict[str, Rate]:
    """Read lines of a bucket, its refill a second, and the actions that have each a bucket of their own."""
    found = {}
    for line in table.strip().splitlines():
        bucket, refill, *actions = line.split()
        found.update({action: Rate(int(bucket), float(refill)) for action in actions})
    return found


EXPRESS_STARTS: Final = "StartExecutionExpress"
"""The name of the bucket for StartExecution of EXPRESS machines; `StartExecution` is that of STANDARD ones."""
API_RATES: Final = _rates("""
    1300 300 StartExecution RedriveExecution
    6000 6000 StartExecutionExpress
    3000 500 GetActivityTask SendTaskFailure SendTaskHeartbeat SendTaskSuccess
    1000 200 StopExecution
    400 20 GetExecutionHistory
    300 15 DescribeExecution
    200 20 DescribeStateMachine
    200 5 ListExecutions
    100 10 ListActivities
    100 5 ListStateMachines
    10 50 TestState
    200 1 DescribeActivity DescribeMapRun DescribeStateMachineAlias DescribeStateMachineForExecution
    200 1 TagResource UntagResource
    100 1 CreateActivity CreateStateMachine CreateStateMachineAlias DeleteActivity DeleteStateMachine
    100 1 DeleteStateMachineAlias DeleteStateMachineVersion ListMapRuns ListStateMachineAliases ListStateMachineVersions
    100 1 ListTagsForResource PublishStateMachineVersion UpdateMapRun UpdateStateMachine UpdateStateMachineAlias
    100 1 ValidateStateMachineDefinition
""")
"""Calls of the Step Functions API in an account, in the three largest Regions. StartSyncExecution has no fixed quota.

Source: service quotas, "Quotas related to API action throttling".
"""
API_RATES_ELSEWHERE: Final = {
    **API_RATES,
    **_rates("""
        800 150 StartExecution RedriveExecution
        1500 300 GetActivityTask SendTaskFailure SendTaskHeartbeat SendTaskSuccess
        500 25 StopExecution
        250 10 DescribeExecution
        100 2 ListExecutions
        100 5 ListActivities
    """),
}
"""The same in all other Regions. Source: the same."""
LARGEST_REGIONS: Final = frozenset({"us-east-1", "us-west-2", "eu-west-1"})


def express_limits(limits: Limits) -> Limits:
    """The limits of EXPRESS executions that go with these of STANDARD ones: a lifted limit stays lifted."""
    longest = None if limits.execution_ms is None else EXPRESS.execution_ms
    return replace(limits, history_events=None, execution_ms=longest, redrivable_period_ms=0)


@dataclass(frozen=True, slots=True)
class RateSettings:
    """The API's rate limits: `profile` is `none` or `aws`, `own` are single actions, `None` for no limit."""

    profile: str = "none"
    own: Mapping[str, Rate | None] = field(default_factory=dict)

    def of(self, region: str) -> dict[str, Rate]:
        """The buckets of a Region by action; empty if nothing is limited."""
        known: Mapping[str, Rate] = {}
        if self.profile == "aws":
            known = API_RATES if region in LARGEST_REGIONS else API_RATES_ELSEWHERE
        return {name: rate for name, rate in {**known, **self.own}.items() if rate is not None}
