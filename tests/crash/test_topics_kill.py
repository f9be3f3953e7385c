"""`kill -9` of a process that publishes: what was acknowledged is in every queue, what is in one is in all, once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.crash.publishing import opened

KILLS = 5
ROOT = Path(__file__).parents[2]


def run_until_killed(folder: Path, lines: int, run: int) -> list[tuple[str, str]]:
    """Let a process publish until it has said so many lines, kill it, and return all that it said."""
    command = [sys.executable, "-m", "tests.crash.publishing", str(folder), str(run)]
    said = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            said.append(line)
            if len(said) == lines:
                child.kill()
    assert len(said) >= lines
    return [(topic, text) for topic, text in (line.split() for line in said if line.endswith("\n"))]


async def check(folder: Path, told: dict[str, set[str]]) -> None:
    store, queues, topics = await opened(folder)
    for topic, names in (("plain", ("plain-0", "plain-1")), ("line.fifo", ("line-0.fifo", "line-1.fifo"))):
        bodies = [[one.body for one in await queues.peek(queues.find(name), 10**6)] for name in names]
        assert set(bodies[0]) == set(bodies[1]), "a publication is in one queue and not in the other"
        for found in bodies:
            assert len(found) == len(set(found)), "a message is there twice"
        assert not told[topic] - set(bodies[0]), "acknowledged and lost"
    for name in ("line-0.fifo", "line-1.fifo"):
        order: dict[str, list[int]] = defaultdict(list)
        for one in await queues.peek(queues.find(name), 10**6):
            start, _, number = one.body.rpartition("-")
            order[start].append(int(number))
        assert order
        assert all(numbers == sorted(numbers) for numbers in order.values()), "out of order"
    await topics.stop()
    await queues.stop()
    await store.close()


@pytest.mark.slow
def test_no_acknowledged_message_is_lost(tmp_path: Path) -> None:
    told: dict[str, set[str]] = defaultdict(set)
    for run in range(KILLS):
        for topic, text in run_until_killed(tmp_path, 150 + 97 * run, run):
            told[topic].add(text)
        asyncio.run(check(tmp_path, told))
