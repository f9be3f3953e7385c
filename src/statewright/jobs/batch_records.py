"""A Batch job as the catalogue keeps it, and what decides about its next attempt.

Source: Batch user guide, "Job states", "Automated job retries", "Array jobs".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from statewright.jobs.processes import End
from statewright.payload import Json
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

    `task` names the attempt under way, and so its folder. `number` gives the order of submission. `ending` is the
    reason that somebody gave for its end before it was over.
    """

    id: str
    name: str
    queue: str
    definition: str
    created_ms: int
    number: int
    request: dict[str, Any]
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
        """Whether it has its final status."""
        return self.status in OVER


JOB: Final = EntryKind("batchJob", Job, lambda job: job.id)


def most_attempts(request: Mapping[str, Json], definition: Mapping[str, Json]) -> int:
    """How often a job is tried at most."""
    strategy = request.get("retryStrategy") or definition.get("retryStrategy") or {}
    return strategy.get("attempts") or 1


def is_tried_again(request: Mapping[str, Json], definition: Mapping[str, Json], attempt: Attempt, done: int) -> bool:
    """Whether a failed attempt, the `done`th, is followed by another."""
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
    """Whether a text is that of a pattern, whose only wildcard is a star at its end; case does not matter."""
    pattern, text = pattern.lower(), text.lower()
    return text.startswith(pattern[:-1]) if pattern.endswith("*") else text == pattern


def attempt_of(task: str, end: End, ending: str | None) -> Attempt:
    """An attempt that has ended, as it is shown."""
    reason = f"CannotStartContainerError: {end.text}" if end.why == "unstartable" else end.text or None
    if end.why == "timeout":
        status = TIMED_OUT
    elif end.why == "unstartable":
        status = "Task failed to start"
    elif end.why == "vanished":
        status = end.text
    else:
        status = ending or EXITED
    return Attempt(task, end.started_ms, end.ended_ms, end.code, reason, status)
