"""Cells come to a worker and leave it: handed over in good order, dropped, or lost to another node."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from statewright.engine import inbox as rows
from statewright.engine.cluster.moves import IDS_AHEAD_MS
from statewright.engine.engine import Engine, EngineSettings
from statewright.engine.machines.catalogue import MachineCatalogue
from statewright.errors import ElsewhereError, OwnershipLost, StoreError, Unavailable
from statewright.interpreter import events
from statewright.stores.ids import made_ms, shard_of_id
from statewright.stores.memory.store import MemoryStore
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.engine.cluster.nodes import ONE, TWO, Nodes
from tests.unit.engine.map_runs.test_map_runs import distributed
from tests.unit.engine.running import LAMBDA, TOKEN, machine, task, wait


def test_executions_start_where_they_are_asked_for_and_go_on_where_their_cell_goes() -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        nodes.integrations.returns("T", "done", after_ms=1_000)
        target = await nodes.target(machine(W=wait(5, "T"), T=task()))
        arns = [(await one.start_execution(target, f"n-{k}", "{}")).arn for k, one in enumerate((nodes.a, nodes.b))]
        ids = [await nodes.home.names.id_of(arn) for arn in arns]
        assert [shard_of_id(one) for one in ids] == [ONE, TWO]
        assert nodes.a.cells.has(ids[0])
        assert not nodes.a.cells.has(ids[1])
        await nodes.until(5_500)
        # The call is under way: it is made again, under the same key.
        await nodes.move(ONE, "a", "b")
        assert (nodes.a.cells.shards(), nodes.b.cells.shards()) == ([], [TWO, ONE])
        await nodes.until(2_000)
        for arn in arns:
            assert (await nodes.home.describe(arn)).output == '"done"'
        calls = [call for call in nodes.integrations.calls if call.execution_arn == arns[0]]
        assert len(calls) == 2
        assert len({call.idempotency_key for call in calls}) == 1
        assert not nodes.leases.late
        assert not nodes.integrations.cancelled

    run_virtual(main)


def test_a_worker_without_cells_starts_nothing_and_says_so() -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        with pytest.raises(StoreError, match="no home"):
            _ = nodes.a.cells.home
        await nodes.a.hand_over(ONE)
        standard = await nodes.target(machine(W=wait(1)))
        express = await nodes.target(machine(W=wait(1)), "e", "EXPRESS")
        for start in (
            nodes.a.start_execution(standard, None, "{}"),
            nodes.a.start_execution(express, None, "{}"),
            nodes.a.start_sync_execution(express, None, "{}"),
        ):
            with pytest.raises(Unavailable, match="has no cells yet"):
                await start
        with pytest.raises(StoreError, match="no home"):
            _ = nodes.a.cells.home
        figures = await nodes.a.metrics()
        assert (figures["timers_in_memory"], figures["executions_forgotten"]) == (0, 0)

    run_virtual(main)


def test_what_is_asked_of_a_cell_elsewhere_says_where_it_is() -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        nodes.integrations.submits("T")
        target = await nodes.target(machine(T=task(TOKEN)))
        arn = (await nodes.a.start_execution(target, "n", "{}")).arn
        await nodes.settle()
        token = nodes.integrations.calls[0].token
        assert token is not None
        run = await nodes.target(distributed(), "runs")
        parent = (await nodes.a.start_execution(run, "r", "[1]")).arn
        await nodes.until(1_000)
        (listed,), _ = await nodes.home.map_runs.list(parent)
        run_arn = str(listed["mapRunArn"])
        for engine in (nodes.home, nodes.b):
            for call in (
                engine.task_succeeded(token, "1"),
                engine.task_heartbeat(token),
                engine.stop_execution(arn),
                engine.redrive_execution(arn),
                engine.waiting_tasks(arn),
                engine.map_runs.describe(run_arn),
                engine.map_runs.update(run_arn, max_concurrency=1),
            ):
                with pytest.raises(ElsewhereError) as elsewhere:
                    await call
                assert elsewhere.value.shard == ONE
            assert engine.map_runs.open_state(await engine.map_runs.id_of(run_arn)) is None
        assert (await nodes.a.map_runs.describe(run_arn))["status"] == "RUNNING"
        await nodes.a.task_succeeded(token, "1")
        assert (await nodes.b.describe(arn)).output == "1"

    run_virtual(main)


@pytest.mark.parametrize("how", ["hand over", "drop"])
def test_those_who_wait_for_a_cell_that_leaves_are_answered(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        express = await nodes.target(machine(W=wait(600)), "e", "EXPRESS")
        sync = asyncio.create_task(nodes.a.start_sync_execution(express, None, "{}"))
        standard = await nodes.target(machine(W=wait(600)))
        arn = (await nodes.a.start_execution(standard, "n", "{}")).arn
        await nodes.settle()
        if how == "hand over":
            await nodes.a.hand_over(ONE)
            stops = []
        else:
            held = asyncio.Event()

            async def never(_: Any) -> Any:
                await held.wait()

            monkeypatch.setattr(nodes.a.store.executions, "commit", never)
            # One whose commit is under way, one behind it, and one whose execution nothing has been done for yet.
            other = (await nodes.home.describe(arn)).id + 1_000_000
            stops = [asyncio.create_task(nodes.a.stop_execution(arn)) for _ in range(2)]
            begun = asyncio.create_task(nodes.a.start_execution(standard, "m", "{}"))
            async_start = asyncio.create_task(nodes.a.start_execution(express, "x", "{}"))
            await nodes.settle()
            runner = nodes.a.cells.of(other).runner
            stops.append(asyncio.ensure_future(runner.ask(other, events.ExecutionStopped(), result=lambda _: 0)))
            nodes.a.drop_cell(ONE)
            for one in (*stops, begun):
                with pytest.raises(Unavailable):
                    await one
            async_start.cancel()
        with pytest.raises(Unavailable):
            await sync
        with pytest.raises(ElsewhereError):
            await nodes.a.stop_execution(arn)
        assert nodes.a.cells.in_memory == 0
        assert not nodes.lost

    run_virtual(main)


def test_a_lost_cell_goes_alone_and_its_owner_is_told() -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        await nodes.move(TWO, "b", "a")
        target = await nodes.target(machine(W=wait(5)))
        arns = [(await nodes.a.start_execution(target, f"n-{k}", "{}")).arn for k in range(2)]
        express = await nodes.target(machine(W=wait(2)), "e", "EXPRESS")
        await nodes.settle()
        nodes.leases.give(ONE, "b")
        with pytest.raises(Unavailable, match="does not have shard"):
            await asyncio.gather(*(nodes.a.start_execution(express, None, "{}") for _ in range(2)))
        assert [(name, shard) for name, shard, _ in nodes.lost] == [("a", ONE)]
        assert nodes.a.cells.shards() == [TWO]
        await nodes.b.add_cell(ONE)
        await nodes.until(6_000)
        assert [(await nodes.home.describe(arn)).status for arn in arns] == ["SUCCEEDED"] * 2
        assert len(nodes.lost) == 1

    run_virtual(main)


@pytest.mark.parametrize("child_type", ["STANDARD", "EXPRESS"])
def test_a_map_run_moves_with_its_parent(child_type: str) -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        target = await nodes.target(distributed(child_type, MaxConcurrency=2))
        arn = (await nodes.a.start_execution(target, "n", "[1,2,3,4]")).arn
        for source, there in (("a", "b"), ("b", "a")) * 2:
            await nodes.until(3_000)
            await nodes.move(ONE, source, there)
        await nodes.until(60_000)
        assert (await nodes.home.describe(arn)).output == "[1,2,3,4]"
        found = [kept.row for kept in nodes.store.executions.by_id.values()]
        assert {shard_of_id(row.id) for row in found} == {ONE}
        assert len(found) == 6
        assert not nodes.leases.late

    run_virtual(main)


def test_asynchronous_express_executions_run_again_at_the_new_owner() -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        ended: list[str] = []
        leave = nodes.b.subscribe_express(ended.append)
        target = await nodes.target(machine(W=wait(5)), "e", "EXPRESS")
        started = await nodes.a.start_execution(target, "n", "{}")
        await nodes.until(1_000)
        # A cell that comes after the subscription is heard, too.
        await nodes.move(ONE, "a", "b")
        await nodes.until(5_000)
        assert ended == [started.arn]
        assert not nodes.store.executions.inbox
        leave()
        await nodes.b.start_execution(target, "m", "{}")
        await nodes.until(6_000)
        assert len(ended) == 1

    run_virtual(main)


@pytest.mark.parametrize("kind", ["STANDARD", "EXPRESS"])
def test_a_start_that_is_being_written_is_waited_for_before_a_cell_goes(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        target = await nodes.target(machine(W=wait(1)), "m", kind)
        held = asyncio.Event()
        real = nodes.a.store.executions.commit

        async def slow(commit: Any) -> Any:
            await held.wait()
            return await real(commit)

        monkeypatch.setattr(nodes.a.store.executions, "commit", slow)
        start = asyncio.create_task(nodes.a.start_execution(target, "n", "{}"))
        await nodes.settle()
        going = asyncio.create_task(nodes.a.hand_over(ONE))
        await nodes.settle()
        assert not going.done()
        with pytest.raises(Unavailable):
            await nodes.a.start_execution(target, "m", "{}")
        with pytest.raises(StoreError, match="not all of it"):
            await nodes.a.hand_over(ONE)
        # Another cell takes new executions meanwhile.
        await nodes.b.hand_over(TWO)
        await nodes.give("a", TWO)
        beside = [asyncio.create_task(nodes.a.start_execution(target, f"o-{number}", "{}")) for number in range(3)]
        held.set()
        assert await going
        assert len({(await one).arn for one in (start, *beside)}) == 4
        nodes.leases.handed_over.add((ONE, "a"))
        await nodes.give("b", ONE)
        await nodes.until(2_000)
        statuses = {kept.row.status for kept in nodes.store.executions.by_id.values()}
        assert statuses == {"SUCCEEDED"}

    run_virtual(main)


@pytest.mark.parametrize("cut", ["dropped", "cancelled"])
def test_a_hand_over_that_does_not_end_can_be_cut_short(cut: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        target = await nodes.target(machine(W=wait(1)))

        async def never(_: Any) -> Any:
            await asyncio.get_running_loop().create_future()

        monkeypatch.setattr(nodes.a.store.executions, "commit", never)
        start = asyncio.create_task(nodes.a.start_execution(target, "n", "{}"))
        await nodes.settle()
        going = asyncio.create_task(nodes.a.hand_over(ONE))
        await nodes.settle()
        if cut == "dropped":
            assert nodes.a.drop_cell(ONE)
            assert await going is False
        else:
            going.cancel()
            with pytest.raises(asyncio.CancelledError):
                await going
        with pytest.raises(Unavailable):
            await start
        assert nodes.a.cells.shards() == []
        assert not nodes.a.drop_cell(ONE)

    run_virtual(main)


def test_a_cell_that_cannot_be_taken_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        target = await nodes.target(machine(W=wait(5)))
        arn = (await nodes.a.start_execution(target, "n", "{}")).arn
        await nodes.a.hand_over(ONE)
        nodes.leases.give(ONE, "b")
        with monkeypatch.context() as patch:

            async def fails(*_: Any) -> Any:
                raise Unavailable("no answer")

            for part in ("pending", "due"):
                patch.setattr(nodes.store.executions, part, fails)
                with pytest.raises(Unavailable):
                    await nodes.b.add_cell(ONE)
                assert nodes.b.cells.shards() == [TWO]
                patch.undo()
        held = asyncio.Event()
        pending = nodes.store.executions.pending

        async def slow(shard: int) -> Any:
            await held.wait()
            return await pending(shard)

        monkeypatch.setattr(nodes.store.executions, "pending", slow)
        coming = asyncio.create_task(nodes.b.add_cell(ONE))
        await nodes.settle()
        with pytest.raises(StoreError, match="already"):
            await nodes.b.add_cell(ONE)
        assert nodes.b.drop_cell(ONE)
        held.set()
        with pytest.raises(OwnershipLost):
            await coming
        await nodes.b.add_cell(ONE)
        await nodes.until(6_000)
        assert (await nodes.home.describe(arn)).status == "SUCCEEDED"

    run_virtual(main)


def test_ids_of_a_cell_that_came_pass_those_of_its_last_owner() -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        (cell,) = nodes.a.cells
        await nodes.until(2 * IDS_AHEAD_MS)
        # The last owner's clock is fast, and none of its ids is left in the store.
        cell.shard.ids.pass_instant(clock.now_ms() + IDS_AHEAD_MS - 1)
        made = cell.shard.ids.next()
        await nodes.move(ONE, "a", "b")
        later = nodes.b.cells.of_shard(ONE)
        assert later is not None
        assert later.shard.ids.next() > made

    run_virtual(main)


def test_ids_have_a_clock_of_their_own() -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock, ids_ms=lambda: clock.now_ms() - 20_000).up()
        await nodes.until(2 * IDS_AHEAD_MS)
        (cell,) = nodes.a.cells
        assert made_ms(cell.shard.ids.next()) == clock.now_ms() - 20_000
        await nodes.move(ONE, "a", "b")
        later = nodes.b.cells.of_shard(ONE)
        assert later is not None
        assert made_ms(later.shard.ids.next()) == clock.now_ms() - 20_000 + IDS_AHEAD_MS

    run_virtual(main)


def test_inputs_through_the_store_are_looked_for_with_one_question(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        await nodes.move(TWO, "b", "a")
        target = await nodes.target(machine(W=wait(60)))
        arns = [(await nodes.a.start_execution(target, f"n-{k}", "{}")).arn for k in range(2)]
        ids = [(await nodes.home.describe(arn)).id for arn in arns]
        for execution in ids:
            await nodes.store.executions.put_inbox(rows.stop_row(execution + 1_000_000, execution))
        asked: list[Any] = []
        real = nodes.store.executions.inbox_of

        async def counted(shards: Any, *more: Any) -> Any:
            asked.append(list(shards))
            return await real(shards, *more)

        monkeypatch.setattr(nodes.store.executions, "inbox_of", counted)
        await rows.look([cell.inbox for cell in nodes.a.cells])
        await nodes.settle()
        assert [sorted(one) for one in asked] == [sorted([ONE, TWO])]
        assert [(await nodes.home.describe(arn)).status for arn in arns] == ["ABORTED"] * 2
        assert not nodes.store.executions.inbox
        await rows.look([cell.inbox for cell in nodes.b.cells])
        assert len(asked) == 1, "an engine without cells asks for nothing"

    run_virtual(main)


def test_a_worker_stops_in_good_order_and_takes_no_more_cells() -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        target = await nodes.target(machine(T=task(LAMBDA)))
        nodes.integrations.returns("T", 1, after_ms=1_000)
        arn = (await nodes.a.start_execution(target, "n", "{}")).arn
        nodes.a.watch_inbox()
        await nodes.a.stop()
        nodes.leases.handed_over.add((ONE, "a"))
        with pytest.raises(Unavailable):
            await nodes.a.add_cell(TWO)
        await nodes.give("b", ONE)
        await nodes.until(2_000)
        assert (await nodes.home.describe(arn)).output == "1"
        assert not nodes.leases.late
        nodes.b.kill()
        assert nodes.b.cells.in_memory == 0

    run_virtual(main)


def test_open_executions_are_counted_where_their_cell_is() -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        target = await nodes.target(machine(W=wait(5)))
        for number in range(3):
            await nodes.a.start_execution(target, f"n-{number}", "{}")

        def counts() -> list[int]:
            return [engine.meter.open for engine in (nodes.a, nodes.b) if engine.meter is not None]

        assert counts() == [3, 0]
        await nodes.move(ONE, "a", "b")
        assert counts() == [0, 3]
        await nodes.until(6_000)
        assert counts() == [0, 0]
        assert (await nodes.b.metrics())["timers_fired"] == 3
        await nodes.b.hand_over(ONE)
        # A counter never goes back.
        assert (await nodes.b.metrics())["timers_fired"] == 3

    run_virtual(main)


def test_only_a_worker_has_cells_that_move_and_its_catalogue_is_a_workers() -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        with pytest.raises(StoreError, match="no worker's"):
            await nodes.home.add_cell(ONE)
        store = MemoryStore()
        with pytest.raises(ValueError, match="worker's"):
            Engine(
                store,
                clock,
                MachineCatalogue(store, clock),
                nodes.integrations,
                settings=EngineSettings(is_worker=True),
            )

    run_virtual(main)


def test_the_home_of_a_cluster_starts_on_a_store_with_more_cells() -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        target = await nodes.target(machine(W=wait(5)))
        await nodes.a.start_execution(target, "n", "{}")
        catalogue = MachineCatalogue(nodes.store, clock)
        alone = Engine(nodes.store, clock, catalogue, nodes.integrations, settings=EngineSettings(cells=1))
        with pytest.raises(StoreError, match="more than 1 cells"):
            await alone.start()
        others = EngineSettings(cells=1, others=True)
        home = Engine(nodes.store, clock, MachineCatalogue(nodes.store, clock), nodes.integrations, settings=others)
        await home.start()
        assert (await home.start_execution(target, "m", json.dumps({}))).arn.endswith(":m")
        await home.stop()

    run_virtual(main)
