"""Cells move between nodes at any moment, and nothing acknowledged is lost. A failure names its seed."""

from __future__ import annotations

import os
import sys

import pytest

from statewright.virtual_clock import run_virtual
from tests.simulation.cluster import ClusterChaos
from tests.thoroughness import THOROUGH, scaled

SEEDS = int(os.environ.get("STATEWRIGHT_SEEDS", "2000" if THOROUGH else "100"))
GROUPS = 40 if THOROUGH else 4
FIRST = int(os.environ.get("STATEWRIGHT_SEED", "0"))


@scaled
@pytest.mark.parametrize("group", range(GROUPS))
def test_nothing_acknowledged_is_lost_when_cells_move(group: int) -> None:
    for seed in range(FIRST + group, FIRST + SEEDS, GROUPS):
        try:
            run_virtual(lambda clock, seed=seed: ClusterChaos(seed, clock).play())  # type: ignore[misc]
        except BaseException as problem:
            problem.add_note(f"seed {seed} fails. Replay: {sys.executable} -m tests.simulation --cluster --seed {seed}")
            raise


def test_a_seed_plays_the_same_way_every_time() -> None:
    def story(seed: int) -> list[str]:
        told: list[str] = []
        run_virtual(lambda clock: ClusterChaos(seed, clock, told.append).play())
        return told

    for seed in (3, 7):
        first = story(seed)
        assert first == story(seed)
        assert any("hand_over" in line or "drop" in line or "steal" in line or "kill" in line for line in first)
