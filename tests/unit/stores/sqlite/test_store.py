"""What only the SQLite store has: its thread, its groups, full disks and the clock."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

from statewright.errors import StoreError, Unavailable
from statewright.stores import job_queue
from statewright.stores.protocol import Committed, EntryRow, Stale
from statewright.stores.sqlite import writer as sqlite_writer
from statewright.stores.sqlite.store import SqliteStore
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.contract.stores import START_MS, end, start, step
from tests.deadlines import PATIENCE_SECONDS


def with_store(folder: Path, body: Callable[[SqliteStore], Awaitable[None]]) -> None:
    async def run() -> None:
        store = SqliteStore(folder, durability="process")
        await store.open("test")
        try:
            await body(store)
        finally:
            await store.close()

    asyncio.run(run())


def test_what_is_queued_goes_into_few_transactions(tmp_path, monkeypatch):
    groups: list[int] = []
    write_jobs = sqlite_writer._write_jobs

    def counting(connection, tasks):
        groups.append(len(tasks))
        return write_jobs(connection, tasks)

    monkeypatch.setattr(sqlite_writer, "_write_jobs", counting)

    async def body(store: SqliteStore) -> None:
        await asyncio.gather(*[store.executions.commit(start(n)) for n in range(1, 1200)])

    with_store(tmp_path, body)
    assert sum(groups) == 1199
    assert max(groups) <= job_queue.MOST_JOBS
    assert len(groups) < 300


def test_a_full_disk_is_unavailable_and_loses_nothing(tmp_path):
    async def body(store: SqliteStore) -> None:
        first = start(1, frames={1: b"one"})
        await store.executions.commit(first)
        writer = store.file.opened.writer._connection
        (pages,) = writer.execute("PRAGMA page_count").fetchone()
        writer.execute(f"PRAGMA max_page_count = {pages + 10}")
        big = [start(n, head=b"x" * 200_000) for n in range(2, 5)]
        outcomes = await asyncio.gather(*[store.executions.commit(commit) for commit in big], return_exceptions=True)
        for outcome in outcomes:
            assert isinstance(outcome, Unavailable)
            assert "the disk is full; free some space" in str(outcome)
        assert len({id(outcome) for outcome in outcomes}) == 3
        assert (await store.executions.count_by_status(None))["RUNNING"] == 1
        # There is still room for something small, and for everything once there is more room.
        assert await store.executions.commit(step(first, 1)) == Committed(2)
        writer.execute("PRAGMA max_page_count = 1000000")
        for commit in big:
            assert await store.executions.commit(commit) == Committed(1)

    with_store(tmp_path, body)


def test_a_file_that_is_damaged_under_way_is_unavailable(tmp_path):
    async def body(store: SqliteStore) -> None:
        for n in range(1, 400):
            await store.executions.commit(start(n, head=b"x" * 2000))

    with_store(tmp_path, body)
    file = tmp_path / "statewright.db"
    content = bytearray(file.read_bytes())
    for offset in range(4096 * 64, len(content), 4096):
        content[offset : offset + 4096] = b"\xa5" * 4096
    file.write_bytes(content)

    async def damaged(store: SqliteStore) -> None:
        told = []
        for n in range(1, 400):
            try:
                await store.executions.load(n)
                await store.executions.commit(end(start(n), 1))
            except Unavailable as error:
                told.append(str(error))
        assert told
        assert all("the file is damaged; stop the server and restore a backup" in text for text in told)

    with_store(tmp_path, damaged)


def test_a_write_that_raises_is_its_own_trouble(tmp_path):
    async def body(store: SqliteStore) -> None:
        broken = EntryRow("machine", "b", "p", 2**70, 1, b"")
        outcomes = await asyncio.gather(
            store.executions.commit(start(1)),
            store.catalogue.write([broken]),
            store.catalogue.write([EntryRow("machine", "a", "p", 0, 1, b"")]),
            store.executions.commit(start(2, status="NONSENSE")),
            store.executions.commit(start(3, head="text")),
            return_exceptions=True,
        )
        assert (outcomes[0], outcomes[2]) == (Committed(1), True)
        assert [type(outcome) for outcome in outcomes[1::2]] == [OverflowError, KeyError]
        assert isinstance(outcomes[4], StoreError)
        assert await store.catalogue.get("machine", "b") is None

    with_store(tmp_path, body)


def test_a_rollback_that_failed_is_made_up_for(tmp_path):
    async def body(store: SqliteStore) -> None:
        store.file.opened.writer._connection.execute("BEGIN")
        assert await store.executions.commit(start(1)) == Committed(1)
        assert await store.executions.commit(start(1, "other")) == Stale()

    with_store(tmp_path, body)


def test_room_of_many_forgotten_executions_goes_back_to_the_disk(tmp_path):
    async def body(store: SqliteStore) -> None:
        commits = [start(n, head=b"x" * 3000) for n in range(1, 800)]
        await asyncio.gather(*[store.executions.commit(commit) for commit in commits])
        await asyncio.gather(*[store.executions.commit(end(commit, 1)) for commit in commits])
        writer = store.file.opened.writer._connection
        before = writer.execute("PRAGMA page_count").fetchone()[0]
        while await store.executions.forget(START_MS + 10**6, 100):
            pass
        assert writer.execute("PRAGMA page_count").fetchone()[0] < before / 2
        assert writer.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        tables = ("execution", "execution_head", "execution_count", "history", "frame", "payload")
        left = {table: writer.execute(f"SELECT count(*) FROM {table} WHERE 1").fetchone()[0] for table in tables}
        assert left == {**dict.fromkeys(tables, 0), "execution_count": 2}

    with_store(tmp_path, body)


def test_virtual_time_stands_still_while_the_store_works(tmp_path):
    async def main(clock: VirtualClock) -> list[int]:
        store = SqliteStore(tmp_path, durability="process", clock=clock)
        await store.open("test")
        instants = []
        alarm = asyncio.ensure_future(clock.sleep_until(clock.now_ms() + 1))
        for n in range(1, 20):
            await store.executions.commit(start(n))
            await store.executions.list_rows(7, status=None, after=None, limit=5)
            instants.append(clock.now_ms() - clock.start_ms)
        assert not alarm.done()
        await alarm
        instants.append(clock.now_ms() - clock.start_ms)
        await store.close()
        return instants

    assert run_virtual(main) == [0] * 19 + [1]


def test_a_load_sees_one_commit_or_the_other(tmp_path):
    async def body(store: SqliteStore) -> None:
        first = start(1, frames=dict.fromkeys(range(50), b"1"))
        await store.executions.commit(first)
        version = 1
        for version in range(1, 60):
            frames = dict.fromkeys(range(50), b"%d" % (version + 1))
            task = asyncio.ensure_future(store.executions.commit(step(first, version, frames=frames)))
            await asyncio.sleep(0)
            while not task.done():
                stored = await store.executions.load(1)
                assert stored is not None
                assert set(stored.frames.values()) == {b"%d" % stored.version}
                await asyncio.sleep(0)

    with_store(tmp_path, body)


def test_a_loop_that_is_gone_does_not_stop_the_writer(tmp_path):
    async def abandon() -> SqliteStore:
        store = SqliteStore(tmp_path, durability="process")
        await store.open("test")
        for n in range(1, 300):
            store.file.opened.writer.submit(start(n))
        store.file.opened.writer._queue.end()
        return store

    store = asyncio.run(abandon())
    store.file.opened.writer._thread.join(PATIENCE_SECONDS)
    # Without its loop the store cannot be closed as a whole; the thread has closed its own connection.
    store.file.opened.points.close()
    file = sqlite3.connect(tmp_path / "statewright.db")
    assert file.execute("SELECT count(*) FROM execution").fetchone() == (299,)
    file.close()
