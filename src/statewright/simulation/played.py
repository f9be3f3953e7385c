"""A simulation that is over, as values: why it is over, and what it leaves behind for the document of its outcomes."""

from __future__ import annotations

from dataclasses import dataclass, field

from statewright.cost.prices import PriceTable
from statewright.simulation.arrivals import Sender
from statewright.simulation.building import Built
from statewright.simulation.usage_meter import UsageMeter


@dataclass(slots=True)
class Played:
    """A simulation that is over, before its outcome is gathered. `reason` says why it is over."""

    reason: str
    began_ms: int
    ended_ms: int
    jumps: int
    costs: list[tuple[int, float]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Parts:
    """The records of a simulation besides its system."""

    built: Built
    meter: UsageMeter
    sender: Sender
    played: Played
    table: PriceTable
