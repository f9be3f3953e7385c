"""Runs seeds by hand: `python -m tests.simulation --seed N` tells one as a story, `--seeds A-B` looks for a bad one."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from statewright.virtual_clock import run_virtual
from tests.simulation.chaos import Chaos
from tests.simulation.cluster import ClusterChaos
from tests.simulation.limits import LimitsChaos

CHUNK = 25
World = type[Chaos]


def failure_of(world: World, seed: int) -> str | None:
    """What a seed breaks, in a few lines; `None` when all is well."""
    try:
        run_virtual(lambda clock: world(seed, clock).play())
    except Exception:
        return traceback.format_exc(limit=-3)
    return None


def first_failure(world: World, seeds: range) -> tuple[int, str] | None:
    """The first seed of a range that breaks something, and what."""
    logging.disable(logging.CRITICAL)
    for seed in seeds:
        if (found := failure_of(world, seed)) is not None:
            return seed, found
    return None


def run_range(world: World, first: int, last: int, jobs: int) -> int:
    """Run a range on several processes; returns the exit code."""
    began = time.perf_counter()
    chunks = [range(start, min(start + CHUNK, last + 1)) for start in range(first, last + 1, CHUNK)]
    done = 0
    with ProcessPoolExecutor(jobs) as pool:
        for chunk, found in zip(chunks, pool.map(partial(first_failure, world), chunks), strict=True):
            if found is not None:
                seed, text = found
                pool.shutdown(cancel_futures=True)
                print(f"{text}\nseed {seed} fails. Replay:")
                print(f"{sys.executable} -m tests.simulation {_flag(world)}--seed {seed}")
                return 1
            done += len(chunk)
            if sys.stdout.isatty() or done % (CHUNK * 20) == 0:
                rate = done / (time.perf_counter() - began) * 60
                print(f"{done} seeds, {rate:,.0f} a minute", end="\r" if sys.stdout.isatty() else "\n", flush=True)
    print(f"{done} seeds are well: {done / (time.perf_counter() - began) * 60:,.0f} a minute")
    return 0


def _flag(world: World) -> str:
    return {LimitsChaos: "--limits ", ClusterChaos: "--cluster "}.get(world, "")


def run_one(world: World, seed: int) -> int:
    """Run one seed and tell what happens in it; returns the exit code."""
    logging.basicConfig(level=logging.WARNING, format="             %(name)s: %(message)s")
    print(f"seed {seed}")
    try:
        run_virtual(lambda clock: world(seed, clock, print).play())
    except Exception:
        traceback.print_exc()
        print(f"seed {seed} fails")
        return 1
    print(f"seed {seed} is well")
    return 0


def main() -> int:
    """Read the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--seed", type=int, help="run one seed and tell what happens")
    wanted.add_argument("--seeds", metavar="A-B", help="run a range until one fails")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)")
    parser.add_argument("--limits", action="store_true", help="the world of limits, semaphores, polls and forks")
    parser.add_argument("--cluster", action="store_true", help="the world of several nodes, whose cells move")
    given = parser.parse_args()
    world = LimitsChaos if given.limits else ClusterChaos if given.cluster else Chaos
    if given.seed is not None:
        return run_one(world, given.seed)
    first, separator, last = given.seeds.partition("-")
    if not (separator and first.isdecimal() and last.isdecimal()):
        parser.error("--seeds takes a range such as 0-9999")
    return run_range(world, int(first), int(last), given.jobs)


if __name__ == "__main__":
    sys.exit(main())
