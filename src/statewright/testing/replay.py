"""A recorded execution run again on another definition: would what has happened still happen?

Tasks answer as they did, after as long as they took, in the test's own system; what a history says is read by
`simulator.recorded`. Children of distributed Maps have histories of their own, which the history of their parent does
not hold.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from statewright.payload import Json
from statewright.simulator.differences import differences
from statewright.simulator.judging import end_words
from statewright.simulator.recorded import read_history
from statewright.testing.bench import Bench
from statewright.testing.machine import Machine
from statewright.testing.run import Run
from statewright.testing.showing import differences_text, path_text


def replayed(bench: Bench, history: str | Path | Json, machine: Machine, *, compare_path: bool) -> Run:
    """See `Sfn.replay`."""
    __tracebackhide__ = True
    recorded = read_history(bench.path(history) if isinstance(history, (str, Path)) else history)
    if recorded.status == "RUNNING":
        raise ValueError("this history has no end: only an execution that is over can be replayed")
    machine.book.add_rules(recorded.rules())
    machine.book.remedy = "the recorded execution made no such call."
    started = datetime.fromtimestamp(recorded.started_ms / 1000, UTC)
    run = machine.start(recorded.input, at=started if not bench.has_begun or started >= bench.system.now else None)
    if recorded.status == "ABORTED":
        run.checked()
        return run
    run.finish()
    problems = []
    if (run.status, run.error) != (recorded.status, recorded.error):
        now = run.status if run.error is None else f"{run.status} with {run.error}"
        problems.append(f"it ended {end_words(recorded)}, and ends {now} now")
    found = differences(recorded.output, run.output)
    if found and recorded.status == run.status == "SUCCEEDED":
        problems.append("the output is another\n" + differences_text(found))
    if compare_path and recorded.path != run.path:
        problems.append("the path is another: - recorded, + now\n" + path_text(recorded.path, run.path))
    made, before = len(bench.tasks.calls.get(run.arn, ())), len(recorded.calls)
    if made < before:
        problems.append(f"{before} calls were made, and {made} are now")
    if problems:
        raise AssertionError(f"the recorded execution goes another way on {machine.name}\n" + "\n".join(problems))
    return run
