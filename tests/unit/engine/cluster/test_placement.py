"""What runs at the home of a cluster, what a worker refuses, and what it learns of the home's changes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from statewright.engine.activities import ActivityTask
from statewright.engine.machines.limits import MOST_AT_ONCE
from statewright.errors import ElsewhereError, StoreError
from statewright.stores.ids import SHARD, shard_of_id
from statewright.stores.protocol import EntryRow
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.engine.cluster.nodes import ONE, Nodes
from tests.unit.engine.map_runs.test_map_runs import distributed
from tests.unit.engine.running import ACTIVITY, machine, passing, task, wait

ACQUIRE = "arn:aws:states:::statewright:acquire"
POLL = "arn:aws:states:::statewright:poll"
LIMIT = {"key": MOST_AT_ONCE, "value": "1"}


def acquiring() -> dict[str, Any]:
    return task(ACQUIRE, Parameters={"Name": "door", "Limit": 1})


def inside(state: dict[str, Any], mode: str) -> dict[str, Any]:
    processor = {**machine(S=state), "ProcessorConfig": {"Mode": mode}}
    if mode == "DISTRIBUTED":
        processor["ProcessorConfig"]["ExecutionType"] = "STANDARD"
    return machine(M={"Type": "Map", "ItemProcessor": processor, "End": True})


@pytest.mark.parametrize(
    ("definition", "at_home"),
    [
        (machine(P=passing()), False),
        (machine(T=task()), False),
        (distributed(), False),
        (machine(T=acquiring()), True),
        (inside(acquiring(), "INLINE"), True),
        (inside(acquiring(), "DISTRIBUTED"), True),
        (machine(T=task(POLL, Parameters={"Resource": "arn:aws:lambda:::function:f", "Until": "{% true %}"})), True),
        (machine(T=task(ACTIVITY)), True),
        (inside(task(ACTIVITY), "DISTRIBUTED"), True),
    ],
)
def test_a_definition_says_whether_it_needs_the_home(definition: dict[str, Any], at_home: bool) -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        if ACTIVITY in str(definition):
            await nodes.home.machines.activities.create("a")
        target = await nodes.target(definition)
        assert await nodes.a.needs_home(target) is at_home
        assert await nodes.home.needs_home(target) is at_home
        if at_home:
            with pytest.raises(ElsewhereError) as elsewhere:
                await nodes.a.start_execution(target, "n", "[]")
            assert elsewhere.value.shard == SHARD
        else:
            await nodes.a.start_execution(target, "n", "[]")

    run_virtual(main)


def test_an_express_machine_with_an_own_task_belongs_to_the_home_and_others_do_not() -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        polling = await nodes.target(machine(T=acquiring()), "own", "EXPRESS")
        with pytest.raises(ElsewhereError):
            await nodes.a.start_sync_execution(polling, None, "{}")
        plain = await nodes.target(machine(P=passing()), "plain", "EXPRESS", tags=(LIMIT,))
        assert (await nodes.a.start_sync_execution(plain, None, "{}")).status == "SUCCEEDED"

    run_virtual(main)


def test_a_limit_brings_starts_home_within_a_second_and_costs_one_question_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        target = await nodes.target(machine(W=wait(10)))
        assert not await nodes.a.needs_home(target)
        await nodes.home.machines.tags.put(target.machine_arn, [LIMIT])
        await nodes.until(1_000)
        asked: list[str] = []
        real = nodes.store.catalogue.list_entries

        async def counted(kind: str, *more: Any, **options: Any) -> Any:
            asked.append(kind)
            return await real(kind, *more, **options)

        monkeypatch.setattr(nodes.store.catalogue, "list_entries", counted)
        for _ in range(5):
            assert await nodes.a.needs_home(target)
        assert asked == ["tags"]
        await nodes.home.machines.tags.take(target.machine_arn, [MOST_AT_ONCE])
        await nodes.until(1_000)
        assert not await nodes.a.needs_home(target)

    run_virtual(main)


def test_a_limit_brings_starts_home_once_the_worker_knows_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        nodes.home.catalogue.records.subscribe(nodes.a.catalogue.records.forget)
        target = await nodes.target(machine(W=wait(10)))
        assert not await nodes.a.needs_home(target)
        await nodes.home.machines.tags.put(target.machine_arn, [LIMIT])
        assert await nodes.a.needs_home(target)
        # A read that began before a change does not count as one that followed it.
        begun, may_end = asyncio.Event(), asyncio.Event()
        real = nodes.store.catalogue.list_entries

        async def slowly(*given: Any, **options: Any) -> Any:
            found = await real(*given, **options)
            begun.set()
            await may_end.wait()
            return found

        nodes.a.catalogue.records.forget()
        with monkeypatch.context() as patch:
            patch.setattr(nodes.store.catalogue, "list_entries", slowly)
            late = asyncio.ensure_future(nodes.a.needs_home(target))
            await begun.wait()
        await nodes.home.machines.tags.take(target.machine_arn, [MOST_AT_ONCE])
        may_end.set()
        assert await late
        assert not await nodes.a.needs_home(target)

    run_virtual(main)


def test_a_limit_counts_what_ran_in_other_cells_before_until_it_ends() -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        target = await nodes.target(machine(W=wait(10)))
        before = (await nodes.a.start_execution(target, "before", "{}")).arn
        await nodes.home.machines.tags.put(target.machine_arn, [LIMIT])
        arn = (await nodes.home.start_execution(target, "n", "{}")).arn
        await nodes.until(9_000)
        (standing,) = nodes.home.admission.standing()
        assert (standing.running, standing.queued) == (1, 1)
        await nodes.until(3_000)
        assert (await nodes.home.describe(before)).status == "SUCCEEDED"
        (standing,) = nodes.home.admission.standing()
        assert (standing.running, standing.queued) == (1, 0)
        await nodes.until(10_000)
        assert (await nodes.home.describe(arn)).status == "SUCCEEDED"
        # Nothing is looked for any more: time has nothing to stop at.
        assert nodes.home.admission._next_look is None
        await nodes.home.stop()

    run_virtual(main)


def test_a_worker_refuses_what_only_the_home_has() -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        worker = nodes.a
        for ask in (
            lambda: worker.semaphores.standing,
            lambda: worker.admission.limits,
            lambda: worker.forks.fork,
            lambda: worker.retention.sweep,
        ):
            with pytest.raises(StoreError, match=r"a worker has no .*: they are at the home of the cluster"):
                ask()
        with pytest.raises(StoreError, match="a worker has no activities"):
            await worker.activities.poll(ACTIVITY)
        with pytest.raises(StoreError, match="a worker has no activities"):
            worker.activities.offer(ACTIVITY, ActivityTask(1, 1, "token", "{}"))
        with pytest.raises(StoreError, match="a worker has no forks"):
            await worker.fork(None)  # type: ignore[arg-type]

    run_virtual(main)


def test_a_worker_notes_names_by_the_home_which_writes_nothing_else_for_it() -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        run = (await nodes.a.start_execution(await nodes.target(distributed()), "n", "[1]")).arn
        await nodes.until(1_000)
        (listed,), _ = await nodes.b.map_runs.list(run)
        assert shard_of_id(await nodes.b.map_runs.id_of(str(listed["mapRunArn"]))) == ONE
        with pytest.raises(StoreError, match="nothing else"):
            await nodes.home.note([EntryRow("machine", "arn", "", 0, 1, b"")])

    run_virtual(main)


def test_a_worker_learns_of_deletions_and_forgets_them() -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        target = await nodes.target(machine(W=wait(5, "X"), X=wait(5)))
        arn = (await nodes.a.start_execution(target, "n", "{}")).arn
        await nodes.home.machines.delete(target.machine_arn)
        catalogue = nodes.a.catalogue
        seen = catalogue.deleting
        await catalogue.look_for_deletions()
        assert seen == {target.machine_id}
        await nodes.until(6_000)
        assert (await nodes.a.describe(arn)).status == "ABORTED"
        # It is gone for the worker, which leaves the rows to the home.
        assert await catalogue.load(target.machine_arn) is None
        assert await nodes.home.catalogue.load(target.machine_arn) is None
        await catalogue.look_for_deletions()
        assert seen == set()

    run_virtual(main)


def test_an_arn_means_the_latest_execution_wherever_it_was_started() -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        nodes.integrations.submits("T")
        definition = machine(P=passing())
        target = await nodes.target(definition)
        arn = (await nodes.a.start_execution(target, "n", "{}")).arn
        await nodes.settle()
        first = (await nodes.a.describe(arn)).id
        await nodes.home.machines.delete(target.machine_arn)
        await nodes.until(1_000)
        again = await nodes.target(definition)
        assert again.machine_id != target.machine_id
        assert (await nodes.b.start_execution(again, "n", "{}")).arn == arn
        await nodes.settle()
        assert (await nodes.a.describe(arn)).id != first
        assert await nodes.a.names.id_of(arn) == (await nodes.b.describe(arn)).id

    run_virtual(main)


def test_retention_at_the_home_takes_what_other_cells_closed() -> None:
    async def main(clock: VirtualClock) -> None:
        nodes = await Nodes(clock).up()
        run = await nodes.target(distributed(), "runs")
        arn = (await nodes.a.start_execution(run, "n", "[1,2]")).arn
        await nodes.b.start_execution(run, "m", "[1]")
        failing = await nodes.target(machine(F={"Type": "Fail"}), "fails")
        failed = (await nodes.b.start_execution(failing, "n", "{}")).arn
        await nodes.until(30_000)
        assert {kept.row.status for kept in nodes.store.executions.by_id.values()} == {"SUCCEEDED", "FAILED"}
        await nodes.until(91 * 24 * 3_600_000)
        nodes.home.retention.sweep()
        await nodes.settle()
        assert not nodes.store.executions.by_id
        kinds = {kind for kind, _ in nodes.store.catalogue._entries}
        assert not kinds & {"mapRun", "mapRunDate"}
        # A worker knows the ids, and brings nothing back.
        for gone in (arn, failed):
            with pytest.raises(Exception, match="Does Not Exist"):
                await nodes.b.redrive_execution(gone)
        assert not nodes.store.executions.by_id

    run_virtual(main)
