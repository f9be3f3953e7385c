"""Counters of an engine for `/metrics`. CloudWatch's metrics are in `metering.py`."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Counters:
    """Counts of an engine's work since it started; times are microseconds of the monotonic clock."""

    started: int = 0
    closed: dict[str, int] = field(default_factory=dict)
    transitions: int = 0
    history_events: int = 0
    commits: int = 0
    inputs: int = 0
    retried_commits: int = 0
    stale_commits: int = 0
    quarantined: int = 0
    commit_us_total: int = 0
    commit_us_most: int = 0
    turns: int = 0
    turn_us_total: int = 0
    turn_us_most: int = 0
    """The longest that one execution held the loop."""

    def ran(self, status: str) -> None:
        """An EXPRESS execution was run, to its end unless the engine stops."""
        self.started += 1
        if status != "RUNNING":
            self.closed[status] = self.closed.get(status, 0) + 1
