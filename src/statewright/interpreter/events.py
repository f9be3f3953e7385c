"""Events: the inputs of `advance`, in the past tense. A stale id is normal and changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from statewright.payload import Json, Payload


@dataclass(frozen=True, slots=True)
class ExecutionStarted:
    """The first event of every execution. History shows its input, and that of its first state, as `text` if given."""

    text: str | None = None


@dataclass(frozen=True, slots=True)
class ExecutionForked:
    """In place of `ExecutionStarted`: the execution begins at another state, with variables already set."""

    state: str
    input: Payload
    variables: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ExecutionQueued:
    """In place of `ExecutionStarted`: the execution is accepted, and enters no state before it is admitted.

    History shows its input as `text` if given.
    """

    text: str | None = None


@dataclass(frozen=True, slots=True)
class ExecutionAdmitted:
    """A queued execution may run. Its TimeoutSeconds counts from here."""


@dataclass(frozen=True, slots=True)
class BurstContinued:
    """Continue where the transition budget ran out."""


@dataclass(frozen=True, slots=True)
class TimerFired:
    """A timer that `StartTimer` asked for is due."""

    timer_id: int


@dataclass(frozen=True, slots=True)
class TaskStarted:
    """A worker took the activity's task. Its timeout starts here."""

    task_id: int
    worker_name: str | None = None


@dataclass(frozen=True, slots=True)
class TaskSubmitted:
    """The service accepted a `.sync` or `.waitForTaskToken` request; the task continues."""

    task_id: int
    output: Payload


@dataclass(frozen=True, slots=True)
class TaskSucceeded:
    """The task succeeded with a result."""

    task_id: int
    output: Payload


@dataclass(frozen=True, slots=True)
class TaskFailed:
    """The task failed with an error name and a cause, either of which may be missing."""

    task_id: int
    error: str | None
    cause: str | None


@dataclass(frozen=True, slots=True)
class TaskScheduleFailed:
    """A function or activity could not be scheduled (`LambdaFunctionScheduleFailed`, `ActivityScheduleFailed`)."""

    task_id: int
    error: str | None
    cause: str | None


@dataclass(frozen=True, slots=True)
class TaskStartFailed:
    """The service could not be called at all (`TaskStartFailed`, `LambdaFunctionStartFailed`)."""

    task_id: int
    error: str | None
    cause: str | None


@dataclass(frozen=True, slots=True)
class TaskSubmitFailed:
    """The service refused the request of a `.sync` or `.waitForTaskToken` task."""

    task_id: int
    error: str | None
    cause: str | None


@dataclass(frozen=True, slots=True)
class TaskRefused:
    """The task names something that does not exist (a deleted activity): `States.Runtime`, no history event."""

    task_id: int
    cause: str


@dataclass(frozen=True, slots=True)
class HeartbeatReceived:
    """A worker is alive: the heartbeat clock starts anew."""

    task_id: int


@dataclass(frozen=True, slots=True)
class MapRunSucceeded:
    """A Map Run ended within its tolerance; `output` is the Map state's result."""

    task_id: int
    output: Payload


@dataclass(frozen=True, slots=True)
class MapRunFailed:
    """A Map Run failed: threshold exceeded, reader or writer failed."""

    task_id: int
    error: str | None
    cause: str | None


@dataclass(frozen=True, slots=True)
class MapRunMissing:
    """The Map Run that was to be redriven has never begun."""

    task_id: int


@dataclass(frozen=True, slots=True)
class ExecutionStopped:
    """A caller stopped the execution."""

    error: str | None = None
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class ExecutionRedriven:
    """A caller redrives the execution from where it failed."""


TaskEnd = TaskFailed | TaskScheduleFailed | TaskStartFailed | TaskSubmitFailed
Event = (
    ExecutionStarted
    | ExecutionForked
    | ExecutionQueued
    | ExecutionAdmitted
    | BurstContinued
    | TimerFired
    | TaskStarted
    | TaskSubmitted
    | TaskSucceeded
    | TaskFailed
    | TaskScheduleFailed
    | TaskStartFailed
    | TaskSubmitFailed
    | TaskRefused
    | HeartbeatReceived
    | MapRunSucceeded
    | MapRunFailed
    | MapRunMissing
    | ExecutionStopped
    | ExecutionRedriven
)
