"""Map Runs through the engine: shown, listed, changed, stopped; child executions by name."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from statewright.errors import ApiError
from statewright.stores.protocol import Commit, Outcome
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.engine.running import Rig, machine, wait


def distributed(child_type: str = "STANDARD", seconds: int = 10, **fields: Any) -> dict[str, Any]:
    processor = {**machine(W=wait(seconds)), "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": child_type}}
    return machine(M={"Type": "Map", "ItemProcessor": processor, "Label": "L", "End": True, **fields})


@pytest.mark.parametrize("child_type", ["STANDARD", "EXPRESS"])
def test_a_run_is_shown_while_it_runs_and_afterwards(child_type: str) -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        arn = await rig.begin(distributed(child_type, MaxConcurrency=2), [1, 2, 3])
        await rig.until(1_000)
        (run,), token = await rig.engine.map_runs.list(arn)
        assert token is None
        assert run["stateMachineArn"] == "arn:aws:states:us-east-1:000000000000:stateMachine:m/L"
        shown = await rig.engine.map_runs.describe(run["mapRunArn"])
        assert (shown["status"], shown["executionArn"], shown["maxConcurrency"]) == ("RUNNING", arn, 2)
        assert (shown["executionCounts"]["running"], shown["itemCounts"]["pending"]) == (2, 1)
        await rig.engine.map_runs.update(run["mapRunArn"], max_concurrency=3)
        await rig.settle()
        shown = await rig.engine.map_runs.describe(run["mapRunArn"])
        assert shown["executionCounts"]["running"] == 3
        await rig.crash()
        view = await rig.end(arn)
        assert view.output == "[1,2,3]"
        shown = await rig.engine.map_runs.describe(run["mapRunArn"])
        assert (shown["status"], shown["executionCounts"]["succeeded"]) == ("SUCCEEDED", 3)
        children, _ = await rig.engine.list_executions(run["mapRunArn"])
        assert [child.status for child in children] == ["SUCCEEDED"] * 3
        child = await rig.engine.describe(children[0].execution_arn)
        assert (child.map_run_arn, child.item_count) == (run["mapRunArn"], 1)
        with pytest.raises(ApiError) as refused:
            await rig.engine.map_runs.update(run["mapRunArn"], max_concurrency=3)
        assert refused.value.code == "ValidationException"
        with pytest.raises(ApiError) as refused:
            await rig.engine.map_runs.describe(run["mapRunArn"] + "x")
        assert refused.value.code == "ResourceNotFound"

    run_virtual(main)


@pytest.mark.parametrize("child_type", ["STANDARD", "EXPRESS"])
@pytest.mark.parametrize("crash", [False, True])
def test_a_stop_stops_the_children(child_type: str, crash: bool) -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        arn = await rig.begin(distributed(child_type), [1, 2, 3])
        await rig.until(1_000)
        await rig.engine.stop_execution(arn)
        if crash:
            await rig.crash()
        await rig.settle()
        (run,), _ = await rig.engine.map_runs.list(arn)
        assert (await rig.engine.map_runs.describe(run["mapRunArn"]))["status"] == "ABORTED"
        children, _ = await rig.engine.list_executions(run["mapRunArn"])
        assert [child.status for child in children] == ["ABORTED"] * 3
        assert not rig.store.executions.inbox
        assert not rig.store.executions.outbox
        assert rig.engine.map_runs.open == 0
        if child_type == "STANDARD":
            with pytest.raises(ApiError) as refused:
                await rig.engine.redrive_execution(children[0].execution_arn)
            assert refused.value.code == "ExecutionNotRedrivable"
        await rig.engine.redrive_execution(arn)
        assert (await rig.end(arn)).output == "[1,2,3]"

    run_virtual(main)


@pytest.mark.parametrize("crash", [False, True])
@pytest.mark.parametrize("child_type", ["STANDARD", "EXPRESS"])
def test_a_run_that_had_not_begun_when_its_parent_was_stopped_can_be_redriven(child_type: str, crash: bool) -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        held = asyncio.Event()
        real = rig.store.executions.commit

        async def commit(commit: Commit) -> Outcome:
            if commit.row.machine > 1_000:
                # It belongs to an execution: the Map Run.
                await held.wait()
            outcome: Outcome = await real(commit)
            return outcome

        rig.store.executions.commit = commit
        arn = await rig.begin(distributed(child_type), [1, 2, 3])
        await rig.engine.stop_execution(arn)
        if crash:
            await rig.crash()
        await rig.engine.redrive_execution(arn)
        await rig.settle()
        held.set()
        view = await rig.end(arn)
        assert (view.status, view.output) == ("SUCCEEDED", "[1,2,3]")
        types = [kind for kind in await rig.types(arn) if "MapRun" in kind]
        assert types == ["MapRunStarted", "MapRunRedriven", "MapRunSucceeded"]
        assert not rig.store.executions.inbox
        assert not rig.store.executions.outbox
        assert len((await rig.engine.map_runs.list(arn))[0]) == 1

    run_virtual(main)


def test_an_item_reader_is_refused_in_so_many_words() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        reader = {"Resource": "arn:aws:states:::s3:getObject", "Parameters": {"Bucket": "b", "Key": "k"}}
        view = await rig.end(await rig.begin(distributed(ItemReader={**reader, "ReaderConfig": {"InputType": "JSON"}})))
        assert view.error == "States.ItemReaderFailed"
        assert view.cause is not None
        assert view.cause.startswith("There is no S3 here")

    run_virtual(main)
