"""The figures of one engine for `/metrics`: what it has done since it started, and its present state."""

from __future__ import annotations

from statewright.engine.effects import Effects
from statewright.engine.retention import Retention
from statewright.engine.runner import Runner
from statewright.engine.shard import Shard
from statewright.payload import Json
from statewright.stores.protocol import MAP_RUNS


async def figures_of(shard: Shard, runner: Runner, effects: Effects, retention: Retention) -> dict[str, Json]:
    """Counters since the engine started, and the present state; durations in microseconds or milliseconds."""
    counters, timers = shard.counters, effects.timers
    by_status = await shard.store.executions.count_by_status(None)
    runs_by_status = await shard.store.executions.count_by_status(MAP_RUNS)
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
        "calls_under_way": effects.dispatcher.under_way,
        "executions_in_memory": runner.in_memory,
        "executions_busy": runner.busy,
        "executions_quarantined": len(runner.quarantined),
        "executions_forgotten": retention.forgotten,
    }
