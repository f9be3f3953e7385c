"""How the parts of a system are built: at their first mention, once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from statewright.api.building import Building
from statewright.api.services import PARTS
from statewright.virtual import VirtualSystem


def build_cellar(_make: Building) -> list[str]:
    return ["cellar"]


def build_house(make: Building) -> list[list[str]]:
    return [make(build_cellar)]


class Door:
    """A part that runs."""

    def __init__(self, waits: bool = False) -> None:
        self.started = 0
        self._waits = waits

    async def start(self) -> None:
        """Start, perhaps after waiting for something."""
        await asyncio.sleep(0)
        if self._waits:
            await asyncio.get_running_loop().create_future()
        self.started += 1

    async def stop(self) -> None:
        """Stop."""


def build_door(_make: Building) -> Door:
    return Door()


def build_gate(_make: Building) -> Door:
    return Door(waits=True)


def build_hen(make: Building) -> object:
    return make(build_egg)


def build_egg(make: Building) -> object:
    return make(build_hen)


def test_a_part_is_built_once():
    nothing: Any = None
    make = Building(nothing)
    house = make(build_house)
    assert house == [["cellar"]]
    assert make(build_house) is house
    assert make(build_cellar) is house[0]


def test_parts_that_need_each_other_are_refused():
    nothing: Any = None
    with pytest.raises(RuntimeError, match="build_hen needs build_egg needs build_hen"):
        Building(nothing)(build_hen)


def test_parts_are_started_once_by_the_system_or_when_they_are_built():
    nothing: Any = None
    make = Building(nothing)
    assert make.found(build_door) is None
    door, other = make(build_door), Door()
    make.start([door])
    assert door.started == 0, "the system does not run"
    make.run([door])
    make.start([door, other])
    make.start([door, other])
    assert (door.started, other.started) == (0, 1)
    assert make.found(build_door) is door


def test_a_part_whose_start_waits_cannot_be_built_while_the_system_runs():
    nothing: Any = None

    async def built_late() -> None:
        make = Building(nothing)
        make.run([])
        make.start([make(build_gate)])

    with pytest.raises(RuntimeError, match="Door waits for something when it starts"):
        asyncio.run(built_late())


def test_every_part_of_a_system_is_built_and_started_in_order():
    builders = [one.build for one in PARTS]
    assert len(builders) == len(set(builders))
    with VirtualSystem() as system:
        services = system.parts.app.services
        called, callers = list(services.parts(calls_others=False)), list(services.parts(calls_others=True))
        assert called[0] is services.metrics
        assert called.index(services.queues) < called.index(services.event_sources)
        events = [services.scheduler, services.buses, services.archives]
        observers = [services.log_filters, services.alarms]
        assert callers == [*events, *observers, services.pipes, services.lifecycles, services.stacks]
