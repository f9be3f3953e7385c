"""`kill -9` of a process that sends, receives and deletes: no acknowledged message is lost, no deleted one is back."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from statewright.clock import RealClock
from statewright.config import Config
from statewright.queues.queues import Queues
from statewright.stores.sqlite.store import SqliteStore

KILLS = 8
ROOT = Path(__file__).parents[2]


def run_until_killed(folder: Path, lines: int, run: int) -> list[tuple[str, str]]:
    """Let a process work until it has said so many lines, kill it, and return all that it said."""
    command = [sys.executable, "-m", "tests.crash.messaging", str(folder), str(run)]
    said = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            said.append(line)
            if len(said) == lines:
                child.kill()
    assert len(said) >= lines
    pairs = [line.split() for line in said if line.endswith("\n")]
    return [(kind, body) for kind, body in pairs]


async def check(folder: Path, told: dict[str, set[str]]) -> None:
    store = SqliteStore(folder)
    await store.open("check")
    queues = Queues(store, RealClock(), Config())
    await queues.start()
    left: set[str] = set()
    for name in ("plain", "line.fifo"):
        queue = queues.find(name)
        # Taken before the look, for time goes on.
        messages = await queues.peek(queue, 10**6)
        counts = await queues.counts(queue)
        assert sum(counts) == len(messages)
        bodies = [message.body for message in messages]
        assert len(bodies) == len(set(bodies))
        left.update(bodies)
    await queues.stop()
    await store.close()
    lost = told["sent"] - told["deleting"] - left
    assert not lost, f"acknowledged and lost: {sorted(lost)[:5]}"
    back = told["deleted"] & left
    assert not back, f"deleted and back: {sorted(back)[:5]}"


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9 there")
def test_what_was_acknowledged_survives_kill_9(tmp_path):
    seed = int(os.environ.get("SEED", random.randrange(2**32)))
    print(f"SEED={seed}")
    chance = random.Random(seed)
    told: dict[str, set[str]] = defaultdict(set)
    for run in range(KILLS):
        for kind, body in run_until_killed(tmp_path, 1 if run == 3 else chance.randrange(10, 3_000), run):
            told[kind].add(body)
        if run % 4 == 3:
            asyncio.run(check(tmp_path, told))
    assert len(told["deleted"]) > KILLS
    assert told["deleted"] <= told["received"]
