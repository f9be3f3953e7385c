"""Several cells in one engine: where executions are, what has one memory for all, and restarts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from statewright.engine.machines.limits import MOST_AT_ONCE
from statewright.errors import OwnershipLost, StoreError, Unavailable
from statewright.stores.ids import MOST_CELLS, MOST_SHARDS, cell_shard, shard_of_id
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.engine.running import ACTIVITY, Rig, machine, task, wait

CELLS = 3


async def started(rig: Rig, definition: dict[str, Any], many: int) -> list[str]:
    """Executions of one machine, in the order of their starts."""
    target = await rig.machine(definition)
    return [(await rig.engine.start_execution(target, f"run-{n}", "{}")).arn for n in range(many)]


async def shards(rig: Rig, arns: list[str]) -> list[int]:
    return [shard_of_id(await rig.engine.names.id_of(arn)) for arn in arns]


def test_shards_of_cells_are_none_of_those_of_regions() -> None:
    found = [cell_shard(number) for number in range(MOST_CELLS)]
    assert found[:3] == [0, MOST_SHARDS - 1, MOST_SHARDS - 2]
    assert len(set(found)) == MOST_CELLS
    assert min(found[1:]) > MOST_SHARDS - MOST_CELLS


def test_executions_are_dealt_to_the_cells_in_turn() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock, cells=CELLS).up()
        arns = await started(rig, machine(W=wait(5)), 2 * CELLS)
        of_cells = [cell.shard.number for cell in rig.engine.cells]
        assert of_cells == [cell_shard(number) for number in range(CELLS)]
        assert await shards(rig, arns) == 2 * of_cells
        for arn in arns:
            assert (await rig.end(arn)).status == "SUCCEEDED"
        listed, _ = await rig.engine.list_executions(rig.published[0].view.machine_arn)
        assert {one.execution_arn for one in listed} == set(arns)

    run_virtual(main)


def test_a_restart_goes_on_with_every_cell_and_fewer_cells_are_refused() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock, cells=CELLS).up()
        rig.integrations.returns("T", "done", after_ms=10_000)
        arns = await started(rig, machine(W=wait(5, "T"), T=task()), CELLS)
        await rig.settle()
        rig.engine.kill()
        await rig.store.close()
        rig.cells = CELLS - 1
        with pytest.raises(StoreError, match="more than 2 cells"):
            await rig.up()
        await rig.store.close()
        rig.cells = CELLS
        await rig.up()
        ends = [await rig.end(arn) for arn in arns]
        assert [end.output for end in ends] == ['"done"'] * CELLS

    run_virtual(main)


def test_workers_take_the_tasks_of_all_cells_in_the_order_in_which_they_came() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock, cells=CELLS).up()
        await rig.machines.activities.create("a", [])
        arns = await started(rig, machine(T=task(ACTIVITY, Parameters={"name.$": "$$.Execution.Name"})), CELLS)
        for number, arn in enumerate(arns):
            taken = await rig.engine.activities.poll(ACTIVITY)
            assert taken is not None
            assert json.loads(taken[1]) == {"name": f"run-{number}"}
            await rig.engine.task_succeeded(taken[0], "1")
            assert (await rig.end(arn)).status == "SUCCEEDED"

    run_virtual(main)


def test_a_limit_on_a_machine_holds_for_all_cells() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock, cells=CELLS).up()
        target = await rig.machine(machine(W=wait(10)))
        first = [(await rig.engine.start_execution(target, f"free-{n}", "{}")).arn for n in range(CELLS)]
        # Those that run in other cells are counted, too.
        await rig.machines.tags.put(target.machine_arn, [{"key": MOST_AT_ONCE, "value": str(CELLS)}])
        arns = [(await rig.engine.start_execution(target, f"run-{n}", "{}")).arn for n in range(CELLS)]
        assert set(await shards(rig, arns)) == {0}
        (standing,) = rig.engine.admission.standing()
        assert (standing.running, standing.queued) == (CELLS, CELLS)
        for arn in [*first, *arns]:
            assert (await rig.end(arn)).status == "SUCCEEDED"

    run_virtual(main)


def test_an_execution_is_stopped_and_redriven_in_its_cell() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock, cells=CELLS).up()
        rig.integrations.throws("T", "Broken")
        arns = await started(rig, machine(T=task()), CELLS)
        for arn in arns:
            assert (await rig.end(arn)).status == "FAILED"
        rig.integrations.returns("T", 1, after_ms=1_000)
        for arn in arns:
            await rig.engine.redrive_execution(arn)
        await rig.engine.stop_execution(arns[1])
        assert [(await rig.end(arn)).status for arn in arns] == ["SUCCEEDED", "ABORTED", "SUCCEEDED"]
        assert len(set(await shards(rig, arns))) == CELLS

    run_virtual(main)


def test_when_the_store_is_lost_every_cell_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock, cells=CELLS).up()
        arns = await started(rig, machine(W=wait(5)), CELLS)
        await rig.settle()
        assert rig.engine.cells.in_memory == CELLS

        def gone(*_: Any) -> Any:
            raise OwnershipLost("gone")

        monkeypatch.setattr(rig.store.executions, "_apply", gone)
        with pytest.raises((OwnershipLost, Unavailable)):
            await rig.engine.stop_execution(arns[1])
        await rig.settle()
        assert rig.lost == [True]
        assert rig.engine.cells.in_memory == 0
        assert not any(cell.shard.is_held for cell in rig.engine.cells)
        monkeypatch.undo()

    run_virtual(main)
