"""The engine on virtual time over a store on disk: time stands still while the disk is at work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from statewright.stores.sqlite.store import SqliteStore
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.engine.running import LAMBDA, Rig, machine, passing, task, wait

DAY_MS = 24 * 3600 * 1000


def play(folder: Path) -> list[Any]:
    """A year of waiting, beside a loop of tasks with retries; what happened when, counted from the start."""

    async def main(clock: VirtualClock) -> list[Any]:
        rig = await Rig(clock, store=SqliteStore(folder, durability="process", clock=clock)).up()
        start_ms = clock.now_ms()
        rig.integrations.returns("T", 1, after_ms=1_500)
        year = await rig.machine(machine(W=wait(364 * 24 * 3600, "P"), P=passing()), "year")
        busy = await rig.machine(
            machine(
                M={
                    "Type": "Map",
                    "ItemsPath": "$",
                    "ItemProcessor": machine(W=wait(3600, "T"), T=task(LAMBDA)),
                    "MaxConcurrency": 2,
                    "End": True,
                }
            ),
            "busy",
        )
        arns = [
            (await rig.engine.start_execution(year, "y", "{}")).arn,
            (await rig.engine.start_execution(busy, "b", "[1,2,3,4,5]")).arn,
        ]
        found: list[Any] = []
        # The short one first: retention takes it long before the year is over.
        for arn in reversed(arns):
            view = await rig.end(arn)
            times = [event["timestamp"] - start_ms for event in await rig.events(arn)]
            found.append((view.status, view.stopped_ms - start_ms, times))
        await rig.down()
        return found

    return run_virtual(main)


def test_a_year_passes_in_no_time_and_always_alike(tmp_path: Path) -> None:
    first = play(tmp_path / "1")
    (_, busy_ms, _), (status, year_ms, _) = first
    assert (status, year_ms) == ("SUCCEEDED", 364 * DAY_MS)
    assert busy_ms == 3 * (3_600_000 + 1_500)
    assert play(tmp_path / "2") == first
