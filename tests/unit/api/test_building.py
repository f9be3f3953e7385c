"""How the parts of a system are built: at their first mention, once."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from statewright.api.building import BUILD, Building
from statewright.api.services import Services
from statewright.virtual import VirtualSystem


def build_cellar(_make: Building) -> list[str]:
    return ["cellar"]


def build_house(make: Building) -> list[list[str]]:
    return [make(build_cellar)]


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


def test_every_part_of_a_system_is_built_and_started_in_order():
    builders = [one.metadata[BUILD] for one in fields(Services)]
    assert len(builders) == len(set(builders))
    with VirtualSystem() as system:
        services = system.parts.app.services
        called, callers = list(services.parts(calls_others=False)), list(services.parts(calls_others=True))
        assert called[0] is services.metrics
        assert called.index(services.queues) < called.index(services.event_sources)
        assert callers == [services.scheduler, services.buses, services.lifecycles]
