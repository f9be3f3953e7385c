"""Start, run to the end, describe, list, read history: on virtual time and a store in memory."""

from __future__ import annotations

import json
from typing import Any

import pytest

from statewright.errors import ApiError
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.engine.running import Rig, machine, passing, wait

EVERYTHING = machine(
    A=passing("C", Result=3, ResultPath="$.n"),
    C={"Type": "Choice", "Choices": [{"Variable": "$.n", "NumericEquals": 3, "Next": "W"}], "Default": "F"},
    W=wait(90, "S"),
    S={"Type": "Succeed"},
    F={"Type": "Fail", "Error": "E", "Cause": "why"},
)


def test_from_start_to_end() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        began = clock.now_ms()
        arn = await rig.begin(EVERYTHING, {"x": 1})
        view = await rig.engine.describe(arn)
        assert (view.status, view.started_ms, view.stopped_ms) == ("RUNNING", began, None)
        view = await rig.end(arn)
        assert view.status == "SUCCEEDED"
        assert json.loads(view.output) == {"x": 1, "n": 3}
        assert view.stopped_ms == began + 90_000
        assert view.input == '{"x": 1}'
        events = await rig.events(arn)
        assert [event["id"] for event in events] == list(range(1, 11))
        assert [event["type"] for event in events] == [
            "ExecutionStarted",
            "PassStateEntered",
            "PassStateExited",
            "ChoiceStateEntered",
            "ChoiceStateExited",
            "WaitStateEntered",
            "WaitStateExited",
            "SucceedStateEntered",
            "SucceedStateExited",
            "ExecutionSucceeded",
        ]
        assert events[-1]["timestamp"] == began + 90_000
        assert [change.view.status for change in rig.published] == ["RUNNING", "SUCCEEDED"]
        await rig.down()

    run_virtual(main)


def test_a_start_that_ends_at_once_is_one_commit() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        arn = await rig.begin(machine(F={"Type": "Fail", "Error": "E", "Cause": "why"}))
        view = await rig.engine.describe(arn)
        assert (view.status, view.error, view.cause) == ("FAILED", "E", "why")
        assert view.redrive_status == "REDRIVABLE"
        assert rig.engine.counters.commits == 1
        assert [change.view.status for change in rig.published] == ["RUNNING", "FAILED"]

    run_virtual(main)


def test_starting_again() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await rig.machine(machine(W=wait(60)))
        first = await rig.engine.start_execution(target, "a", '{"x":1}', None)
        await clock.sleep_until(clock.now_ms() + 5)
        assert await rig.engine.start_execution(target, "a", '{"x":1}', None) == first
        with pytest.raises(ApiError) as refused:
            await rig.engine.start_execution(target, "a", '{"x": 1}', None)
        assert refused.value.code == "ExecutionAlreadyExists"
        assert refused.value.message == f"Execution Already Exists: '{first.arn}'"
        await rig.end(first.arn)
        with pytest.raises(ApiError, match="Already Exists"):
            await rig.engine.start_execution(target, "a", '{"x":1}', None)
        unnamed = await rig.engine.start_execution(target, None, "{}", None)
        assert len(unnamed.arn.rpartition(":")[2]) == 36
        with pytest.raises(ApiError) as refused:
            await rig.engine.start_execution(target, "b", "{", None)
        assert refused.value.code == "InvalidExecutionInput"

    run_virtual(main)


def test_a_tasks_own_start_is_answered_as_before_even_after_its_end() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await rig.machine(machine(P=passing()))
        first = await rig.engine.start_execution(target, "a", "{}", None, "parent 7")
        await rig.end(first.arn)
        await rig.crash()
        assert await rig.engine.start_execution(target, "a", "{}", None, "parent 7") == first
        for other in ("parent 8", None):
            with pytest.raises(ApiError, match="Already Exists"):
                await rig.engine.start_execution(target, "a", "{}", None, other)

    run_virtual(main)


def test_lists_go_page_by_page() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await rig.machine(machine(W=wait(60)))
        arns = []
        for number in range(7):
            arns.append((await rig.engine.start_execution(target, f"e{number}", "{}", None)).arn)
            await clock.sleep_until(clock.now_ms() + 1)
        found: list[str] = []
        token: str | None = None
        while True:
            views, token = await rig.engine.list_executions(target.machine_arn, token=token, limit=3)
            found += [view.execution_arn for view in views]
            if token is None:
                break
        assert found == arns[::-1]
        await rig.engine.stop_execution(arns[2])
        views, _ = await rig.engine.list_executions(target.machine_arn, status="ABORTED")
        assert [view.execution_arn for view in views] == [arns[2]]
        for bad in ("x", "", "AAAA"):
            with pytest.raises(ApiError) as refused:
                await rig.engine.list_executions(target.machine_arn, token=bad)
            assert refused.value.code == "InvalidToken"
        with pytest.raises(ApiError) as refused:
            await rig.engine.list_executions(target.machine_arn + "x")
        assert refused.value.code == "StateMachineDoesNotExist"

    run_virtual(main)


def chain(length: int) -> dict[str, Any]:
    states = {f"P{number}": passing(f"P{number + 1}") for number in range(length - 1)}
    return machine(**states, **{f"P{length - 1}": passing()})


def test_history_goes_page_by_page_both_ways() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        arn = await rig.begin(chain(500))
        await rig.end(arn)
        # A burst of 200 transitions for each commit.
        assert rig.engine.counters.commits == 3
        assert rig.engine.counters.transitions == 500
        assert not rig.store.executions.inbox
        for reverse in (False, True):
            ids: list[int] = []
            token: str | None = None
            while True:
                page, token = await rig.engine.history(arn, token=token, limit=333, reverse=reverse)
                ids += [event["id"] for event in page]
                if token is None:
                    break
                assert len(page) == 333
            assert ids == (list(range(1, 1003))[::-1] if reverse else list(range(1, 1003)))
        page, token = await rig.engine.history(arn, limit=1, with_data=False)
        assert "input" not in page[0]["executionStartedEventDetails"]
        with pytest.raises(ApiError, match="Invalid token"):
            await rig.engine.history(arn, token=token, reverse=True)

    run_virtual(main)


def test_unknown_executions() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        arn = "arn:aws:states:us-east-1:000000000000:execution:m:nope"
        for ask in (rig.engine.describe, rig.engine.history, rig.engine.stop_execution, rig.engine.redrive_execution):
            with pytest.raises(ApiError) as refused:
                await ask(arn)
            assert refused.value.code == "ExecutionDoesNotExist"
            assert refused.value.message == f"Execution Does Not Exist: '{arn}'"
        with pytest.raises(ApiError) as refused:
            await rig.engine.describe("arn:aws:states:us-east-1:000000000000:express:m:n:u")
        assert refused.value.message == "Invalid Arn: 'Resource type not valid in this context: express'"

    run_virtual(main)
