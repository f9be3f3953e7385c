"""`kill -9` at any point: what was acknowledged is there, and nothing is there in part."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from statewright.stores.protocol import TimerRow
from statewright.stores.sqlite.file import FILE_NAME
from statewright.stores.sqlite.store import SqliteStore
from statewright.stores.store import Store
from tests.crash import committing
from tests.crash.committing import DUE_MS, LAST_VERSION, commit_to

KILLS = 20
ROOT = Path(__file__).parents[2]


def run_until_killed(folder: Path, lines: int) -> list[tuple[str, int, int]]:
    """Let a process commit until it has said so many lines, kill it, and return all that it said."""
    command = [sys.executable, "-m", "tests.crash.committing", str(folder)]
    said = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            said.append(line)
            if len(said) == lines:
                child.kill()
    assert len(said) >= lines
    # The last line may be cut.
    return [(kind, int(a), int(b)) for kind, a, b in (line.split() for line in said if line.endswith("\n"))]


async def check(folder: Path, acknowledged: dict[int, int], numbers: list[int]) -> None:
    store = SqliteStore(folder)
    await store.open("check")
    try:
        for execution, version in acknowledged.items():
            stored = await store.executions.load(execution)
            assert stored is not None, f"execution {execution} was acknowledged and is gone"
            assert stored.version >= version, f"execution {execution}: commit {version} was acknowledged and is gone"
        await check_nothing_is_there_in_part(store, folder)
        assert len(numbers) == len(set(numbers))
        assert await store.catalogue.next_number("runs") > max(numbers, default=0)
    finally:
        await store.close()


async def check_nothing_is_there_in_part(store: Store, folder: Path) -> None:
    file = sqlite3.connect(folder / FILE_NAME)
    every = [number for (number,) in file.execute("SELECT id FROM execution ORDER BY id")]
    file.close()
    timers, sent, waits, counted = set(), set(), set(), {"RUNNING": 0, "SUCCEEDED": 0}
    for execution in every:
        stored = await store.executions.load(execution)
        assert stored is not None
        version = stored.version
        last = commit_to(execution, version)
        assert stored.row == last.row
        assert stored.state == last.state
        counted[stored.row.status] += 1
        pages = await store.executions.history(execution, first=0, pages=99, reverse=False)
        assert pages == [commit_to(execution, number).history for number in range(1, version + 1)]
        assert [page.first for page in pages] == list(range(1, 2 * version, 2))
        if version < LAST_VERSION:
            assert stored.frames == last.frames
            assert set(stored.texts) == {b"hash %d" % number for number in range(1, version + 1)}
            timers.add(TimerRow(execution, version, DUE_MS + version))
            sent.add(execution + version)
            waits.add(execution + version)
        else:
            assert (stored.frames, stored.texts) == ({}, {})
    outbox, inbox = await store.executions.pending(0)
    assert {row.id for row in outbox} == sent
    assert {row.id for row in inbox} == waits
    assert set(await store.executions.due(0, 2 * DUE_MS, 10**6)) == timers
    counts = await store.executions.count_by_status(None)
    assert {status: number for status, number in counts.items() if number} == {k: n for k, n in counted.items() if n}


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9 there")
def test_what_was_acknowledged_survives_kill_9(tmp_path):
    seed = int(os.environ.get("SEED", random.randrange(2**32)))
    print(f"SEED={seed}")
    chance = random.Random(seed)
    acknowledged: dict[int, int] = {}
    numbers: list[int] = []
    for number in range(KILLS):
        # Now and then at the very start: while the file is made, or while the last crash is recovered from.
        lines = 1 if number % 7 == 0 else chance.randrange(1, 1_200)
        for kind, first, second in run_until_killed(tmp_path, lines):
            if kind == "committed":
                acknowledged[first] = second
            elif kind == "number":
                numbers.append(first)
        if number % 4 == 3:
            asyncio.run(check(tmp_path, acknowledged, numbers))
    assert len(acknowledged) > KILLS


def test_the_victim_does_what_the_check_expects(tmp_path):
    """Without a kill: each version is as `commit_to` says, so the check above can fail for no other reason."""

    async def body() -> None:
        store = SqliteStore(tmp_path)
        await store.open("test")
        for version in range(1, LAST_VERSION + 1):
            await store.executions.commit(commit_to(1_000, version))
            await store.executions.commit(commit_to(2_000, version))
            await check_nothing_is_there_in_part(store, tmp_path)
        assert committing.LAST_VERSION == LAST_VERSION
        await store.close()

    asyncio.run(body())
