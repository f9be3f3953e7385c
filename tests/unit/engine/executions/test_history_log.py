"""What follows the history of executions: a failure of it is logged, and is none of the execution's."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from statewright.engine.executions.views import Head
from statewright.interpreter.history import HistoryEvent
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.engine.running import Rig, machine, passing


@pytest.mark.parametrize("kind", ["STANDARD", "EXPRESS"])
def test_a_follower_that_fails_touches_neither_the_execution_nor_other_followers(
    kind: Any, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []

    def fail(_head: Head, _history: list[HistoryEvent]) -> None:
        raise KeyError("a bug")

    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        rig.engine.history_log.follow(fail)
        rig.engine.history_log.follow(lambda _, history: seen.extend(one.type for one in history))
        target = await rig.machine(machine(P=passing("Q"), Q=passing()), type=kind)
        if kind == "EXPRESS":
            assert (await rig.engine.start_sync_execution(target, "x", "{}")).status == "SUCCEEDED"
        else:
            arn = (await rig.engine.start_execution(target, "x", "{}")).arn
            assert (await rig.end(arn)).status == "SUCCEEDED"
        assert not rig.engine.cells.quarantined
        await rig.down()

    with caplog.at_level(logging.ERROR, "statewright.engine.executions.history_log"):
        run_virtual(main)
    assert (seen[0], seen[-1]) == ("ExecutionStarted", "ExecutionSucceeded")
    assert "a follower of the history of arn:" in caplog.text
    assert "KeyError: 'a bug'" in caplog.text
