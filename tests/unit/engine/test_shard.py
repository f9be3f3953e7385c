"""The leaf that every part of the engine stands on, and the order in which parts follow a commit."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.engine.concurrency.admission import Admission
from statewright.engine.concurrency.semaphores import Semaphores
from statewright.engine.counters import Counters
from statewright.engine.effects import Effects
from statewright.engine.engine import Engine
from statewright.engine.executions.history_log import HistoryLog
from statewright.engine.executions.status_changes import StatusChanges
from statewright.engine.machines.catalogue import MachineCatalogue
from statewright.engine.machines.limits import MOST_AT_ONCE
from statewright.engine.map_runs.map_runs import MapRuns
from statewright.engine.metering import ExecutionMeter
from statewright.engine.retention import Retention
from statewright.engine.retrying import RetryingStore
from statewright.engine.shard import Shard
from statewright.engine.turnstile import Turnstile
from statewright.errors import ApiError, CellLost, OwnershipLost, Unavailable
from statewright.limits import AWS, EXPRESS
from statewright.metrics.recorder import Recorder
from statewright.stores.memory.store import MemoryStore
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.engine.running import Rig, machine, passing


async def shard(clock: VirtualClock, lost: list[str], **store: Any) -> Shard:
    memory: Any = MemoryStore()
    for name, value in store.items():
        setattr(memory, name, value)
    await memory.open("test")
    counters = Counters()
    return Shard(
        memory,
        clock,
        "eu-west-1",
        AWS,
        number=0,
        counters=counters,
        retrying=RetryingStore(memory, clock, counters),
        turnstile=Turnstile(memory.executions.make_way),
        on_lost=lost.append,
    )


def test_a_shard_is_lost_once_whichever_part_notices() -> None:
    async def main(clock: VirtualClock) -> None:
        lost: list[str] = []
        made = await shard(clock, lost)
        made.lost(OwnershipLost("gone"))
        assert lost == [], "it was not held yet"
        await made.take()

        async def write() -> None:
            raise OwnershipLost("gone")

        made.spawn(write())
        made.spawn(write())
        await made.background.at_rest()
        made.lost(OwnershipLost("gone"))
        assert (lost, made.is_held) == (["gone"], False)

    run_virtual(main)


def test_a_commit_for_a_row_of_a_lost_cell_loses_no_other_cell() -> None:
    async def main(clock: VirtualClock) -> None:
        lost: list[str] = []
        made = await shard(clock, lost)
        await made.take()
        made.notices(CellLost("the cell of the row is gone", made.number + 1))
        assert (lost, made.is_held) == ([], True)
        made.notices(CellLost("its own cell is gone", made.number))
        assert (lost, made.is_held) == (["its own cell is gone"], False)

    run_virtual(main)


def test_a_shard_without_memory_is_dropped() -> None:
    async def main(clock: VirtualClock) -> None:
        lost: list[str] = []
        made = await shard(clock, lost)
        await made.take()

        async def write() -> None:
            raise MemoryError

        made.spawn(write())
        await made.background.at_rest()
        assert (lost, made.is_held) == (["the server has no memory left"], False)

    run_virtual(main)


def test_a_lease_that_is_gone_is_noticed_and_one_that_is_in_doubt_is_not_taken_for_gone() -> None:
    async def main(clock: VirtualClock) -> None:
        lost: list[str] = []
        problems: list[Exception] = [Unavailable("in doubt"), OwnershipLost("gone")]

        def check_lease() -> None:
            raise problems.pop(0)

        made = await shard(clock, lost, check_lease=check_lease)
        await made.take()
        with pytest.raises(Unavailable):
            made.check()
        assert made.is_held
        made.check()
        assert (lost, made.is_held) == (["gone"], False)

    run_virtual(main)


def test_ids_continue_after_those_of_the_store_and_limits_are_those_of_the_type() -> None:
    async def main(clock: VirtualClock) -> None:
        async def newest_id(_shard: int) -> int:
            return 1 << 52

        made = await shard(clock, [], newest_id=newest_id)
        assert made.ids.next() < 1 << 52
        await made.take()
        assert made.ids.next() == (1 << 52) + 1
        assert made.limits_of("STANDARD") == AWS
        assert made.limits_of("EXPRESS") == EXPRESS

    run_virtual(main)


def test_parts_follow_a_commit_in_a_fixed_order() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = Rig(clock)
        catalogue = MachineCatalogue(rig.store, clock)
        engine = Engine(rig.store, clock, catalogue, rig.integrations, recorder=Recorder(clock, None))
        assert [type(one) for one in engine.cells.home.runner._listeners] == [
            ExecutionMeter, HistoryLog, Effects, MapRuns, Semaphores, Admission, Retention, StatusChanges,
        ]  # fmt: skip

    run_virtual(main)


def test_a_start_that_fails_before_its_first_commit_says_so() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await rig.machine(machine(P=passing()))
        begin = rig.engine.cells.home.runner.begin
        gone: list[str] = []

        def noted(live: Any, first: Any = None, *, never_began: Any = None) -> Any:
            return begin(live, first, never_began=lambda: gone.append(live.row.name))

        rig.engine.cells.home.runner.begin = noted  # type: ignore[method-assign]
        limit = {"key": MOST_AT_ONCE, "value": "5"}
        await rig.machines.tags.put(target.machine_arn, [limit])
        await rig.engine.start_execution(target, "run", "{}")
        with pytest.raises(ApiError, match="Already Exists"):
            await rig.engine.start_execution(target, "run", '{"other": 1}')
        assert gone == ["run"]
        await rig.down()

    run_virtual(main)
