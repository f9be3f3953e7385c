"""What the engine counts, in one place for whoever exports it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from statewright.payload import Json
from statewright.stores.protocol import MAP_RUNS

if TYPE_CHECKING:
    from statewright.engine.engine import Engine


@dataclass(slots=True)
class Counters:
    """What the runner has done since it started; times are microseconds of the monotonic clock."""

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
        """An EXPRESS execution was played, to its end unless the engine stops."""
        self.started += 1
        if status != "RUNNING":
            self.closed[status] = self.closed.get(status, 0) + 1


async def metrics_of(engine: Engine) -> dict[str, Json]:
    """Counters since the engine started, and the present state; durations in microseconds or milliseconds."""
    runner, timers = engine.runner, engine.timers
    counters = runner.counters
    by_status = await engine.store.executions.count_by_status(None)
    runs_by_status = await engine.store.executions.count_by_status(MAP_RUNS)
    return {
        "executions_by_status": by_status,
        "executions_open": by_status["RUNNING"],
        "map_runs_open": runs_by_status["RUNNING"],
        "executions_started": counters.started,
        "executions_closed": dict(counters.closed),
        "transitions": counters.transitions,
        "history_events": counters.history_events,
        "commits": counters.commits,
        "commits_retried": counters.retried_commits,
        "commits_stale": counters.stale_commits,
        "inputs": counters.inputs,
        "inputs_per_commit": counters.inputs / counters.commits if counters.commits else 0.0,
        "commit_us_mean": counters.commit_us_total / counters.commits if counters.commits else 0.0,
        "commit_us_most": counters.commit_us_most,
        "turn_us_mean": counters.turn_us_total / counters.turns if counters.turns else 0.0,
        "turn_us_most": counters.turn_us_most,
        "timers_in_memory": len(timers),
        "timers_fired": timers.fired,
        "timers_late_ms_mean": timers.late_ms_total / timers.fired if timers.fired else 0.0,
        "timers_late_ms_most": timers.late_ms_most,
        "calls_under_way": engine.dispatcher.under_way,
        "executions_in_memory": runner.in_memory,
        "executions_busy": runner.busy,
        "executions_quarantined": len(runner.quarantined),
        "executions_forgotten": engine.retention.forgotten,
    }
