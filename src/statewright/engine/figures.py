"""The figures of one engine for `/metrics`: what it has done since it started, and its present state."""

from __future__ import annotations

from statewright.engine.cells import Cells
from statewright.engine.counters import Counters
from statewright.engine.timers import TimerFigures
from statewright.payload import Json
from statewright.stores.protocol import MAP_RUNS, ExecutionStore


async def figures_of(cells: Cells, counters: Counters, executions: ExecutionStore, forgotten: int) -> dict[str, Json]:
    """Counters since the engine started, and the present state; durations in microseconds or milliseconds.

    `forgotten` is how many executions retention has deleted.
    """
    timers = [cell.effects.timers for cell in cells]
    fired = TimerFigures()
    for figures in (cells.past_timers, *(one.figures for one in timers)):
        fired.add(figures)
    by_status = await executions.count_by_status(None)
    runs_by_status = await executions.count_by_status(MAP_RUNS)
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
        "timers_in_memory": sum(len(one) for one in timers),
        "timers_fired": fired.fired,
        "timers_late_ms_mean": fired.late_ms_total / fired.fired if fired.fired else 0.0,
        "timers_late_ms_most": fired.late_ms_most,
        "calls_under_way": cells.calls_under_way,
        "executions_in_memory": cells.in_memory,
        "executions_busy": cells.busy,
        "executions_quarantined": len(cells.quarantined),
        "executions_forgotten": forgotten,
    }
