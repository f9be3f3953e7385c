"""Commands: requests of `advance` to its driver, in the imperative. Every id makes a repeat harmless."""

from __future__ import annotations

from dataclasses import dataclass, field

from statewright.asl.program import MapDef
from statewright.asl.resources import Resource
from statewright.payload import Json, Payload


@dataclass(frozen=True, slots=True)
class StartTimer:
    """Send `TimerFired(timer_id)` at `due_at_ms` (epoch milliseconds).

    `is_pause` tells a wait or a back-off, which a driver may shorten, from a bound on work.
    """

    timer_id: int
    due_at_ms: int
    is_pause: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class CancelTimer:
    """The timer is no longer needed; a firing that is already under way is ignored."""

    timer_id: int


@dataclass(frozen=True, slots=True)
class ScheduleTask:
    """Call the resource, and answer with the task events. `token` is set if the answer may come with a token.

    `iterations` are the indexes of the inline Map iterations around the state, outermost first; `attempt` counts
    retries from 0. Times are 0 where the definition sets none.
    """

    task_id: int
    state: str
    resource: Resource
    parameters: Payload
    token: str | None
    attempt: int
    iterations: tuple[int, ...]
    role_arn: str | None = None
    timeout_ms: int = 0
    heartbeat_ms: int = 0


@dataclass(frozen=True, slots=True)
class CancelTask:
    """Abort a task whose result no frame waits for any more, best effort."""

    task_id: int
    state: str
    resource: Resource


@dataclass(frozen=True, slots=True)
class StartMapRun:
    """Run a distributed Map, in scope `scope` of the program. Limits are evaluated; `None` means the default.

    `items` is `None` when an ItemReader gives them: `reader` are its arguments, `reader_config` its ReaderConfig.
    `context` and `variables` are the parent's, for an ItemSelector; `None` without one. `iterations` and
    `attempt` are those of `ScheduleTask`.
    """

    task_id: int
    state: str
    scope: int
    map_run_arn: str
    definition: MapDef
    input: Payload
    items: Payload | None
    seed: bytes
    entered_event: int = 0
    reader: Json = None
    reader_config: Json = None
    max_items: int | None = None
    max_concurrency: int = 0
    tolerated_count: int | None = None
    tolerated_percentage: float | None = None
    batch_items: int | None = None
    batch_bytes: int | None = None
    batch_input: Json = None
    writer: Json = None
    context: Payload | None = None
    variables: Payload | None = None
    iterations: tuple[int, ...] = ()
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class StopMapRun:
    """The Map state is over: abort the run and its children."""

    task_id: int


@dataclass(frozen=True, slots=True)
class RedriveMapRun:
    """Run the unsuccessful children of a Map Run again."""

    task_id: int
    map_run_arn: str
    redrive_count: int


@dataclass(frozen=True, slots=True)
class ContinueBurst:
    """The transition budget is spent: send `BurstContinued` soon."""


Command = (
    StartTimer | CancelTimer | ScheduleTask | CancelTask | StartMapRun | StopMapRun | RedriveMapRun | ContinueBurst
)
