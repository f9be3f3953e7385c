"""Map Runs through the engine: shown, listed, changed, stopped; child executions by name."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import pytest

from statewright.engine.map_runs.data import ItemStream, Slice
from statewright.engine.map_runs.head import RunHead
from statewright.errors import ApiError, Unavailable
from statewright.payload import Json
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


def test_a_run_is_found_once_and_not_shown_once_it_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        arn = await rig.begin(distributed("STANDARD"), [1])
        await rig.end(arn)
        (run,), _ = await rig.engine.map_runs.list(arn)
        shown = await rig.engine.map_runs.describe(run["mapRunArn"])
        with monkeypatch.context() as patch:
            patch.setattr(rig.store.catalogue, "get", None)
            assert await rig.engine.map_runs.describe(run["mapRunArn"]) == shown
        while await rig.store.executions.forget(clock.now_ms() + 1, 100):
            pass
        for ask in (rig.engine.map_runs.describe, rig.engine.map_runs.update):
            with pytest.raises(ApiError) as refused:
                await ask(run["mapRunArn"])
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


class Unsteady:
    """Ten items and a place for results, behind a store that fails each of their operations twice."""

    def __init__(self) -> None:
        self.failures = dict.fromkeys(("open", "take", "write"), 2)
        self.written: dict[str, bytes] = {}

    def fail(self, operation: str) -> None:
        if self.failures[operation]:
            self.failures[operation] -= 1
            raise Unavailable("the store does not answer")

    async def open(self, _head: RunHead, _reader: Json, _config: Json, _resource: str) -> ItemStream:
        self.fail("open")
        return _Items(self)

    async def write(self, _head: RunHead, _bucket: str, key: str, pieces: Iterable[bytes], _arguments: Json) -> int:
        self.fail("write")
        self.written[key] = b"".join(pieces)
        return len(self.written[key])


class _Items:
    def __init__(self, data: Unsteady) -> None:
        self._data = data
        self._left = list(range(10))
        self._is_broken = False

    async def take(self, count: int) -> Slice:
        if self._is_broken:
            # As a generator that has raised.
            return Slice([], last=True)
        try:
            self._data.fail("take")
        except Unavailable:
            self._is_broken = True
            raise
        taken, self._left = self._left[:count], self._left[count:]
        return Slice(taken, last=not self._left)

    async def close(self) -> None:
        return


def test_items_and_results_wait_for_a_store_that_does_not_answer() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = Rig(clock)
        rig.data = data = Unsteady()
        await rig.up()
        reader = {"Resource": "arn:aws:states:::s3:getObject", "Parameters": {"Bucket": "b", "Key": "k"}}
        writer = {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": "b", "Prefix": "p"}}
        fields: dict[str, Any] = {
            "ItemReader": {**reader, "ReaderConfig": {"InputType": "JSON"}},
            "ResultWriter": writer,
        }
        view = await rig.end(await rig.begin(distributed(**fields)))
        assert view.status == "SUCCEEDED", view.cause
        kinds = sorted(key.rpartition("/")[2] for key in data.written)
        assert kinds == ["SUCCEEDED_0.json", "manifest.json"]
        (name,) = [key for key in data.written if key.endswith("SUCCEEDED_0.json")]
        assert len(json.loads(data.written[name])) == 10

    run_virtual(main)
