"""Limits, semaphores, polls, forks and deadlines survive everything, too. A failure names its seed."""

from __future__ import annotations

import os
import sys

import pytest

from statewright.virtual_clock import run_virtual
from tests.simulation.limits import LimitsChaos
from tests.thoroughness import THOROUGH, scaled

SEEDS = int(os.environ.get("STATEWRIGHT_SEEDS", "500" if THOROUGH else "20"))
GROUPS = 20 if THOROUGH else 4
FIRST = int(os.environ.get("STATEWRIGHT_SEED", "0"))


@scaled
@pytest.mark.parametrize("group", range(GROUPS))
def test_nobody_is_lost_nobody_overtakes_and_never_too_many_are_inside(group: int) -> None:
    for seed in range(FIRST + group, FIRST + SEEDS, GROUPS):
        try:
            run_virtual(lambda clock, seed=seed: LimitsChaos(seed, clock).play())  # type: ignore[misc]
        except BaseException as problem:
            problem.add_note(f"seed {seed} fails. Replay: {sys.executable} -m tests.simulation --limits --seed {seed}")
            raise


def test_a_seed_plays_the_same_way_every_time() -> None:
    def story(seed: int) -> list[str]:
        told: list[str] = []
        run_virtual(lambda clock: LimitsChaos(seed, clock, told.append).play())
        return told

    for seed in (3, 7, 11):
        assert story(seed) == story(seed)
