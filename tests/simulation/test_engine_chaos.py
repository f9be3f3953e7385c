"""Executions survive everything: lost and doubled results, a failing store, deaths. A failure names its seed."""

from __future__ import annotations

import os
import sys

import pytest

from statewright.virtual_clock import run_virtual
from tests.simulation.chaos import Chaos
from tests.thoroughness import THOROUGH, scaled

SEEDS = int(os.environ.get("STATEWRIGHT_SEEDS", "2000" if THOROUGH else "20"))
GROUPS = 40 if THOROUGH else 4
FIRST = int(os.environ.get("STATEWRIGHT_SEED", "0"))


@scaled
@pytest.mark.parametrize("group", range(GROUPS))
def test_nothing_acknowledged_is_lost(group: int) -> None:
    for seed in range(FIRST + group, FIRST + SEEDS, GROUPS):
        try:
            run_virtual(lambda clock, seed=seed: Chaos(seed, clock).play())  # type: ignore[misc]
        except BaseException as problem:
            problem.add_note(f"seed {seed} fails. Replay: {sys.executable} -m tests.simulation --seed {seed}")
            raise


def test_a_seed_plays_the_same_way_every_time() -> None:
    def story(seed: int) -> list[str]:
        told: list[str] = []
        run_virtual(lambda clock: Chaos(seed, clock, told.append).play())
        return told

    for seed in (3, 7, 11):
        assert story(seed) == story(seed)
