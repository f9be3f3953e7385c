"""Stored Batch jobs, and the decision about a job's next attempt.

Source: Batch user guide, "Job states", "Automated job retries", "Array jobs".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from statewright.jobs.processes import End
from statewright.payload import Json, JsonObject
from statewright.stores.entries import EntryKind

STATUSES: Final = ("SUBMITTED", "PENDING", "RUNNABLE", "STARTING", "RUNNING", "SUCCEEDED", "FAILED")
OVER: Final = ("SUCCEEDED", "FAILED")
EXITED: Final = "Essential container in task exited"
TIMED_OUT: Final = "Job attempt duration exceeded timeout"
DEPENDENCY_FAILED: Final = "Dependent Job failed"
CHILD_FAILED: Final = "Array Child Job failed"


@dataclass(slots=True)
class Attempt:
    """One attempt that has ended."""

    task: str
    started_ms: int
    stopped_ms: int
    exit_code: int | None
    reason: str | None
    status_reason: str


@dataclass(slots=True)
class Job:
    """A job. `request` has the members of SubmitJob; a child of an array takes its parent's.

    `task` names the attempt under way and its folder. `number` counts submissions. `ending` is the reason that a
    caller gave for cancelling or terminating it.
    """

    id: str
    name: str
    queue: str
    definition: str
    created_ms: int
    number: int
    request: JsonObject
    parent: str | None = None
    index: int | None = None
    size: int | None = None
    status: str = "SUBMITTED"
    status_reason: str | None = None
    started_ms: int | None = None
    stopped_ms: int | None = None
    attempts: list[Attempt] = field(default_factory=list)
    task: str | None = None
    ending: str | None = None
    is_cancelled: bool = False
    is_terminated: bool = False
    stored: int = 0

    @property
    def is_over(self) -> bool:
        """True once the job has its final status."""
        return self.status in OVER


JOB: Final = EntryKind("batchJob", Job, lambda job: job.id)


def most_attempts(request: Mapping[str, Json], definition: Mapping[str, Json]) -> int:
    """Maximum number of attempts of a job."""
    strategy = request.get("retryStrategy") or definition.get("retryStrategy") or {}
    return strategy.get("attempts") or 1


def is_tried_again(request: Mapping[str, Json], definition: Mapping[str, Json], attempt: Attempt, done: int) -> bool:
    """True if another attempt follows a failed one, the `done`th."""
    if done >= most_attempts(request, definition):
        return False
    strategy = request.get("retryStrategy") or definition.get("retryStrategy") or {}
    seen = {
        "onExitCode": "" if attempt.exit_code is None else str(attempt.exit_code),
        "onReason": attempt.reason or "",
        "onStatusReason": attempt.status_reason,
    }
    for rule in strategy.get("evaluateOnExit") or ():
        asked = {name: rule[name] for name in seen if rule.get(name) is not None}
        if all(matches(pattern, seen[name]) for name, pattern in asked.items()):
            return str(rule["action"]).upper() == "RETRY"
    return True


def matches(pattern: str, text: str) -> bool:
    """True if a text matches a pattern, whose only wildcard is a star at its end; case is ignored."""
    pattern, text = pattern.lower(), text.lower()
    return text.startswith(pattern[:-1]) if pattern.endswith("*") else text == pattern


def attempt_of(task: str, end: End, ending: str | None) -> Attempt:
    """The shown form of an attempt that has ended."""
    reason = f"CannotStartContainerError: {end.text}" if end.why == "unstartable" else end.text or None
    if end.why == "timeout":
        status = TIMED_OUT
    elif end.why == "unstartable":
        status = "Task failed to start"
    elif end.why == "vanished":
        status = end.text
    elif end.why == "stopped" and end.text:
        # It never ran.
        status = f"{ending or EXITED} ({end.text})"
    else:
        status = ending or EXITED
    return Attempt(task, end.started_ms, end.ended_ms, end.code, reason, status)
