"""Hints on saving money: loops that poll too often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

FEW_TURNS: Final = 20
"""Most turns of a loop that gets no hint."""
CALM_TURN_SECONDS: Final = 60
FIRST_SHARE: Final = 2 / 3
"""The share of the total waiting time that the first wait may take."""


@dataclass(frozen=True, slots=True)
class WaitLoop:
    """A Wait that was entered repeatedly. `seconds` is the length of one wait, `states` are the states of each turn."""

    state: str
    turns: int
    seconds: float
    states: int

    @property
    def transitions(self) -> int:
        """The cost of the loop."""
        return self.turns * self.states

    @property
    def first_seconds(self) -> int:
        """One long wait before the first poll, in whole minutes."""
        return int(self.turns * self.seconds * FIRST_SHARE // 60 * 60)

    @property
    def calm_transitions(self) -> int:
        """The cost of one long wait with a turn a minute afterwards."""
        return 1 + self.states * ceil((self.turns * self.seconds - self.first_seconds) / CALM_TURN_SECONDS)


def wait_loops(path: Sequence[str], waits: Mapping[str, float]) -> list[WaitLoop]:
    """The loops of a path of state names; `waits` has the mean seconds of a stay by the name of each Wait."""
    found = []
    visits = Counter(path)
    for name, seconds in waits.items():
        turns = visits[name]
        if turns <= FEW_TURNS or seconds >= CALM_TURN_SECONDS or turns * seconds < 2 * CALM_TURN_SECONDS:
            continue
        # What is entered between two stays belongs to the turn.
        inside = sum(count for other, count in visits.items() if count >= turns - 1 or other == name)
        found.append(WaitLoop(name, turns, seconds, max(1, round(inside / turns))))
    return found


def hints(path: Sequence[str], waits: Mapping[str, float]) -> list[str]:
    """Advice as text, most expensive loop first."""
    told = []
    for loop in sorted(wait_loops(path, waits), key=lambda one: -one.transitions):
        factor = loop.transitions / loop.calm_transitions
        if factor < 2:
            continue
        told.append(
            f"'{loop.state}' waited {loop.seconds:g} s {loop.turns:,} times, {loop.transitions:,} transitions in all: "
            f"one Wait of {_minutes(loop.first_seconds)} first and turns of 1 min then need {loop.calm_transitions:,}, "
            f"{factor:.0f} times less"
        )
    return told


def _minutes(seconds: int) -> str:
    return f"{seconds // 60} min"
