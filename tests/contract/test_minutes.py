"""Minutes of metrics: one contract for files and for rows in PostgreSQL; then the fence, pages and ages of the rows."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from statewright.cli.serving.row_files.metric_files import write_minutes
from statewright.errors import OwnershipLost, StoreError, Unavailable
from statewright.metrics import minute_rows
from statewright.metrics.archive import KEPT_SECONDS, Archive, Minutes
from statewright.metrics.blocks import Name, block_of, line_of
from statewright.metrics.minute_files import MinuteFiles
from statewright.metrics.minute_rows import MinuteRows
from statewright.metrics.points import point_of
from statewright.stores.minutes.protocol import MinuteBlock
from statewright.stores.postgres.connection import migrate
from statewright.stores.postgres.fenced import minutes as rows_of_minutes
from statewright.stores.postgres.store import PostgresStore
from statewright.stores.transfer.postgres_rows import snapshot
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.deadlines import completed
from tests.emptied_databases import emptied_database
from tests.postgres_server import server_or_skip

NOW = 1_767_225_600
"""When virtual time begins."""
Make = Callable[[], Minutes]
Story = Callable[[VirtualClock, Make], Awaitable[None]]


@pytest.fixture
def address() -> str:
    return emptied_database()


def rows(address: str, query: str) -> list[tuple[object, ...]]:
    with closing(psycopg.connect(address, autocommit=True)) as connection:
        cursor = connection.execute(query.encode())
        return cursor.fetchall() if cursor.description else []


@pytest.fixture(params=["files", "rows"])
def tell(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Story], None]:
    """Runs a story in virtual time, with what makes the minutes of a process that takes over from the last one."""

    def in_files(story: Story) -> None:
        async def main(clock: VirtualClock) -> None:
            await story(clock, lambda: MinuteFiles(tmp_path / "metrics"))

        run_virtual(main)

    def in_rows(story: Story) -> None:
        address = request.getfixturevalue("address")

        async def main(clock: VirtualClock) -> None:
            store = PostgresStore(address, clock=clock)
            await store.open("test")
            await story(clock, lambda: MinuteRows(store.minutes, clock))
            await store.close()

        run_virtual(main)

    return in_files if request.param == "files" else in_rows


def name_of(number: int) -> Name:
    return Name(number, "Space", f"metric {number}", (("Key", "é"),), "Count", number == 1, False, False)


async def later(clock: VirtualClock, seconds: float) -> None:
    await clock.sleep_until(clock.now_ms() + round(seconds * 1000))


def totals(archive: Archive, number: int, start: int = 0, end: int = 2 * NOW) -> list[tuple[int, float]]:
    return [(point.at - NOW, point.total) for point in archive.read(number, start, end)]


def test_points_and_names_are_there_for_the_next_process(tell):
    async def story(clock: VirtualClock, make: Make) -> None:
        minutes = make()
        assert await minutes.open(NOW) == ([], 0)
        archive = Archive(minutes)
        assert not minutes.has_name(1, NOW)
        archive.write(NOW, {1: point_of(NOW, {2.0: 3}), 7: point_of(NOW, {1.0: 1, 5.0: 2})}, [name_of(1), name_of(7)])
        assert minutes.has_name(1, NOW)
        archive.write(NOW + 60, {7: point_of(NOW + 60, {4.0: 1})})
        # The same minute once more, as points that come late are written.
        archive.write(NOW, {7: point_of(NOW, {100.0: 1})})
        archive.write(NOW + 120, {})
        await minutes.settle()
        assert totals(archive, 7) == [(0, 11.0), (0, 100.0), (60, 4.0)]
        await minutes.close()

        after = make()
        assert await after.open(NOW + 130) == ([name_of(1), name_of(7)], 7)
        archive = Archive(after)
        assert totals(archive, 1) == [(0, 6.0)]
        assert totals(archive, 7, NOW + 60) == [(60, 4.0)]
        assert totals(archive, 7, 0, NOW + 60) == [(0, 11.0), (0, 100.0)]
        assert totals(archive, 2) == []
        found = archive.read_several([1, 2, 7], NOW, NOW + 61)
        assert {number: len(points) for number, points in found.items()} == {1: 1, 7: 3}
        point = archive.read(7, 0, 2 * NOW)[0]
        assert point == point_of(NOW, {1.0: 1, 5.0: 2})
        await after.close()

    tell(story)


def test_what_is_older_than_fifteen_days_is_dropped(tell):
    async def story(clock: VirtualClock, make: Make) -> None:
        minutes = make()
        await minutes.open(NOW)
        archive = Archive(minutes)
        for hours in (0, 5, 10):
            named = [] if minutes.has_name(1, NOW) else [name_of(1)]
            archive.write(NOW + 3_600 * hours, {1: point_of(NOW, {1.0: 1})}, named)
        await minutes.settle()
        await later(clock, KEPT_SECONDS + 3_600 * 6)
        now = clock.now_ms() // 1000
        archive.write(now, {1: point_of(now, {1.0: 1})}, [] if minutes.has_name(1, now) else [name_of(1)])
        await minutes.settle()
        assert [at for at, _ in totals(archive, 1)] == [36_000, KEPT_SECONDS + 3_600 * 6]
        await minutes.close()
        assert [name.number for name in (await make().open(now)).names] == [1]

    tell(story)


# Rows


@pytest.fixture
def store(address: str) -> Iterator[PostgresStore]:
    """An open store, whose minutes are used from this thread."""
    store = PostgresStore(address)
    with asyncio.Runner() as runner:
        runner.run(store.open("test"))
        yield store
        runner.run(store.close())


def block(at: int, n: int, body: bytes = b"x") -> MinuteBlock:
    return MinuteBlock(at, n, body)


def test_blocks_are_read_page_by_page(store, monkeypatch):
    monkeypatch.setattr(rows_of_minutes, "PAGE_BLOCKS", 3)
    monkeypatch.setattr(rows_of_minutes, "PAGE_SIZES", 3)
    # Several of one minute, so that pages end between them.
    blocks = [block(60 * (number // 4), number, b"%d" % number) for number in range(20)]
    store.minutes.write(blocks, (), NOW)
    for start, end in ((0, 300), (60, 240), (61, 180), (0, 0), (1_000, 2_000)):
        assert list(store.minutes.read(start, end)) == [one.body for one in blocks if start <= one.at < end]
    assert list(store.minutes.sizes()) == [(one.at, len(one.body)) for one in reversed(blocks)]


def test_a_block_that_is_written_twice_counts_once_and_another_owner_adds(store, address):
    store.minutes.write([block(60, 1)], [(5, b"name")], NOW)
    store.minutes.write([block(60, 1)], [(5, b"name")], NOW)
    assert list(store.minutes.read(0, 100)) == [b"x"]
    epoch = store.database.opened.lease.epoch
    assert rows(address, "SELECT node, at, epoch, n FROM minute") == [("0", 60, epoch, 1)]
    store.minutes.write([block(60, 1)], (), NOW, imported=True)
    assert rows(address, "SELECT epoch FROM minute ORDER BY epoch") == [(0,), (epoch,)]


def test_old_rows_are_deleted_in_steps(store, address, monkeypatch):
    monkeypatch.setattr(rows_of_minutes, "DROPPED_AT_ONCE", 2)
    store.minutes.write([block(60 * number, number) for number in range(10)], [(n, b"") for n in range(1, 6)], NOW)
    store.minutes.write((), [(6, b"")], NOW + 10)
    store.minutes.drop(60 * 7, NOW + 5)
    assert rows(address, "SELECT at / 60 FROM minute ORDER BY at") == [(7,), (8,), (9,)]
    assert rows(address, "SELECT number FROM metric") == [(6,)]


def test_names_come_those_first_that_were_named_last(store):
    for number, now in ((1, 50), (2, 10), (3, 30), (2, 20)):
        store.minutes.write((), [(number, b"%d" % now)], now)
    assert store.minutes.names(2) == [(1, b"50"), (3, b"30")]
    assert store.minutes.names(9)[2] == (2, b"20")
    assert store.minutes.newest() == 3


def test_a_region_has_minutes_of_its_own(store):
    region = store.minutes.of("eu-west-1")
    store.minutes.write([block(60, 1, b"home")], [(1, b"home")], NOW)
    region.write([block(60, 1, b"region")], [(1, b"region"), (2, b"other")], NOW)
    assert (list(store.minutes.read(0, 99)), list(region.read(0, 99))) == ([b"home"], [b"region"])
    assert (store.minutes.newest(), region.newest()) == (1, 2)
    region.drop(99, NOW + 1)
    assert (list(store.minutes.read(0, 99)), list(region.read(0, 99))) == ([b"home"], [])
    assert (len(store.minutes.names(9)), region.names(9)) == (1, [])


def test_the_oldest_go_when_there_are_too_many_bytes(address):
    async def main(clock: VirtualClock) -> None:
        store = PostgresStore(address, clock=clock)
        await store.open("test")
        minutes = MinuteRows(store.minutes, clock, most_bytes=400)
        await minutes.open(NOW)
        for number in range(20):
            minutes.add(NOW + 60 * number, b"x" * 100, ())
        await minutes.settle()
        found = rows(address, f"SELECT (at - {NOW}) / 60 FROM minute ORDER BY at")
        assert found == [(16,), (17,), (18,), (19,)]
        await minutes.close()
        await store.close()

    run_virtual(main)


@pytest.mark.parametrize(
    "write",
    [
        lambda minutes: minutes.write([block(120, 1)], [(2, b"")], NOW),
        lambda minutes: minutes.write([block(120, 1)], (), NOW, imported=True),
        lambda minutes: minutes.drop(NOW, 0),
        lambda minutes: minutes.drop(0, 2 * NOW),
    ],
)
def test_an_owner_whose_lease_was_taken_writes_no_minute(address, write):
    async def body() -> None:
        alice, bob = PostgresStore(address), PostgresStore(address)
        await alice.open("alice")
        alice.minutes.write([block(60, 1)], [(1, b"name")], NOW)
        before = rows(address, "SELECT * FROM minute"), rows(address, "SELECT * FROM metric")
        # As if alice had been frozen for longer than her lease.
        rows(address, "UPDATE shard SET lease_until_ms = 0")
        await bob.open("bob")
        with pytest.raises(OwnershipLost):
            write(alice.minutes)
        assert (rows(address, "SELECT * FROM minute"), rows(address, "SELECT * FROM metric")) == before
        assert list(alice.minutes.read(0, 99)) == [b"x"]
        await alice.close()
        await bob.close()

    asyncio.run(body())


def test_a_closed_store_has_no_minutes(address):
    async def body() -> PostgresStore:
        store = PostgresStore(address)
        await store.open("test")
        await store.close()
        return store

    store = asyncio.run(body())
    with pytest.raises(Unavailable, match="closed"):
        store.minutes.names(1)


def test_a_database_of_schema_7_gets_the_tables():
    address = server_or_skip().new_database()
    migrate(address, "test", newest=7)
    rows(address, "INSERT INTO blob (name, n, at_ms, body) VALUES ('object/1', 0, 1, 'x')")
    assert rows(address, "SELECT to_regclass('minute'), to_regclass('metric')") == [(None, None)]

    async def body() -> None:
        store = PostgresStore(address)
        await store.open("test")
        store.minutes.write([block(60, 1)], [(1, b"name")], NOW)
        await store.close()

    asyncio.run(body())
    assert rows(address, "SELECT name FROM blob") == [("object/1",)]
    assert rows(address, "SELECT body FROM metric") == [(b"name",)]


# Moving files into rows


def folder_with(folder: Path, hours: int, numbers: dict[int, int]) -> None:
    """Files of an older version: a block at each hour with every number, named as another one."""
    files = MinuteFiles(folder)
    files.opened(NOW)
    names = [name_of(known)._replace(number=number) for number, known in numbers.items()]
    for hour in range(hours):
        at = NOW - 3_600 * hour
        content = block_of(at, {number: point_of(at, {float(known): 1}) for number, known in numbers.items()})
        files.append(at, content, names if hour == 0 else ())


def test_files_of_an_older_version_are_moved_and_keep_their_metrics(address, tmp_path):
    async def main(clock: VirtualClock) -> None:
        store = PostgresStore(address, clock=clock)
        await store.open("test")
        # A server had this database, with another folder.
        store.minutes.write(
            [block(NOW, 1, block_of(NOW, {1: point_of(NOW, {70.0: 1})}))],
            [(1, b'[1,"Space","metric 7",[["Key","\xc3\xa9"]],"Count",false,false,false]')],
            NOW,
        )
        folder_with(tmp_path, 3, {1: 1, 2: 7})
        folder_with(tmp_path / "other", 1, {4: 7})
        for folder in (tmp_path, tmp_path / "other"):
            minutes = MinuteRows(store.minutes, clock, folder)
            known = await minutes.open(NOW)
            assert {name.name: name.number for name in known.names} == {"metric 7": 1, "metric 1": 2}
            await minutes._background.at_rest()
            assert [path.name for path in folder.iterdir() if path.is_file()] == []
            await minutes.close()
        archive = Archive(minutes)
        assert totals(archive, 1) == [(-7_200, 7), (-3_600, 7), (0, 7), (0, 7), (0, 70)]
        assert totals(archive, 2) == [(-7_200, 1), (-3_600, 1), (0, 1)]
        await store.close()

    run_virtual(main)


def test_a_move_that_is_interrupted_goes_on_and_counts_nothing_twice(address, tmp_path, monkeypatch):
    async def main(clock: VirtualClock) -> None:
        store = PostgresStore(address, clock=clock)
        await store.open("test")
        folder_with(tmp_path, 3, {5: 1})
        unlink = Path.unlink
        refused: list[Path] = []

        def interrupted(path: Path, missing_ok: bool = False) -> None:
            if not refused:
                refused.append(path)
                raise OSError("killed before the file was deleted")
            unlink(path, missing_ok)

        monkeypatch.setattr(Path, "unlink", interrupted)
        for _ in range(2):
            minutes = MinuteRows(store.minutes, clock, tmp_path)
            await minutes.open(NOW)
            await minutes._background.at_rest()
            await minutes.close()
        assert refused
        assert totals(Archive(minutes), 1) == [(-7_200, 1), (-3_600, 1), (0, 1)]
        assert list(tmp_path.iterdir()) == []
        await store.close()

    run_virtual(main)


def test_points_that_come_late_one_by_one_share_a_statement(address):
    async def main(clock: VirtualClock) -> None:
        store = PostgresStore(address, clock=clock)
        await store.open("test")
        minutes = MinuteRows(store.minutes, clock)
        await minutes.open(NOW)
        count = "SELECT count(*) FROM minute"
        for number in range(3):
            minutes.add(NOW + number, b"x", ())
            await later(clock, 0.5)
        assert rows(address, count) == [(1,)]
        await later(clock, minute_rows.SPACING_MS / 1000)
        assert rows(address, count) == [(3,)]
        await minutes.close()
        await store.close()

    run_virtual(main)


# Rows as files: `backup` and `move`


def stored(address: str) -> None:
    """Minutes of two regions, one of another account."""

    async def body() -> None:
        store = PostgresStore(address)
        await store.open("test")
        for place, number in (("", 3), ("111122223333/eu-west-1", 1)):
            minutes = store.minutes.of(place)
            blocks = [
                block(at, at, block_of(at, {number: point_of(at, {2.0: 1})})) for at in (NOW, NOW + 60, NOW + 3_600)
            ]
            minutes.write(blocks, [(number, line_of(name_of(7)._replace(number=number)))], NOW)
        await store.close()

    asyncio.run(body())


def test_rows_become_files_beside_those_that_are_there(address, tmp_path):
    stored(address)
    folder_with(tmp_path / "metrics", 1, {1: 1, 2: 7})
    with snapshot(address) as found:
        assert write_minutes(found, tmp_path) > 0
    for folder in ("metrics", "accounts/111122223333/eu-west-1/metrics"):
        files = MinuteFiles(tmp_path / folder)
        numbers = {name.name: name.number for name in files.opened(NOW)}
        here = totals(Archive(files), numbers["metric 7"])
        assert here[-3:] == [(0, 2.0), (60, 2.0), (3_600, 2.0)]
        assert here[:-3] == ([(0, 7.0)] if folder == "metrics" else [])
    assert totals(Archive(MinuteFiles(tmp_path / "metrics")), 1) == [(0, 1.0)]


def test_rows_that_do_not_arrive_are_noticed(address, tmp_path):
    stored(address)
    rows(address, "UPDATE minute SET body = substring(body FROM 1 FOR 30) " + f"WHERE place = '' AND at = {NOW + 60}")
    with snapshot(address) as found, pytest.raises(StoreError, match="of 6 minutes of metrics, 5 arrived"):
        write_minutes(found, tmp_path)


def test_a_backup_of_rows_alone_says_that_it_has_files(address, tmp_path):
    stored(address)
    (tmp_path / "data").mkdir()
    arguments = ("backup", tmp_path / "kept.db", "--store", address, "--data", tmp_path / "data")
    for form in ("json", "table"):
        done = completed([sys.executable, "-m", "statewright.cli.main", *arguments, "--force", "-o", form])
        assert done.returncode == 0, done.stderr
        if form == "json":
            # Two hours and the names, of both regions.
            assert json.loads(done.stdout)["files"] == 6
        else:
            assert "6 files of objects, functions and metrics" in done.stdout
