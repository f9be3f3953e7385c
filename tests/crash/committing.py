"""The process that is killed: commits as fast as it can and says on its output what was acknowledged.

Each execution takes six commits, and what stands in the store follows from its version alone (`expected_at`), so a
commit that was written in part shows.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from statewright.stores.ids import IdSource
from statewright.stores.protocol import Commit, Committed, HistoryPage, InboxRow, OutboxRow, Row, TimerRow
from statewright.stores.sqlite.store import SqliteStore
from statewright.stores.store import Store

COMMITTERS = 40
LAST_VERSION = 6
DUE_MS = 2_000_000_000_000


def commit_to(execution: int, version: int) -> Commit:
    """The commit that brings an execution to a version."""
    row = Row(execution, 0, 7, f"run-{execution}", "RUNNING", 5, None, b"head" * 50, b"tail %d" % version)
    before = version - 1
    commit = Commit(
        row,
        before,
        b"state %d" % version,
        frames={1: b"frame %d" % version, version + 1: b"new"},
        dropped=(before + 1,) if version > 1 else (),
        texts={b"hash %d" % version: b"text" * 300},
        history=HistoryPage(1 + 2 * before, 2, version, b"page %d" % version),
        timers=(TimerRow(execution, version, DUE_MS + version),),
        timers_done=(TimerRow(execution, before, DUE_MS + before),) if before else (),
        outbox=(OutboxRow(execution + version, execution, "task", b"%d" % version),),
        outbox_done=(execution + before,) if before else (),
        inbox=(InboxRow(execution + version, execution, "continue", b"%d" % version),),
        inbox_done=(execution + before,) if before else (),
    )
    if version < LAST_VERSION:
        return commit
    closed = replace(row, status="SUCCEEDED", stopped_ms=9)
    return replace(commit, row=closed, state=None, frames={}, texts={}, timers=(), outbox=(), inbox=())


async def run_forever(store: Store) -> None:
    """Commit until killed. An id keeps the next ids free for its effects and inputs."""
    ids = IdSource(lambda: time.time_ns() // 1_000_000, above=await store.newest_id(0))

    async def work() -> None:
        while True:
            execution, *_ = [ids.next() for _ in range(LAST_VERSION + 1)]
            for version in range(1, LAST_VERSION + 1):
                outcome = await store.executions.commit(commit_to(execution, version))
                assert outcome == Committed(version)
                say(f"committed {execution} {version}")
            say(f"number {await store.catalogue.next_number('runs')} 0")

    await asyncio.gather(*[work() for _ in range(COMMITTERS)])


def say(line: str) -> None:
    os.write(1, line.encode() + b"\n")


async def main() -> None:
    store = SqliteStore(Path(sys.argv[1]))
    say("opening 0 0")
    await store.open("victim")
    await run_forever(store)


if __name__ == "__main__":
    asyncio.run(main())
