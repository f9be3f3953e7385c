"""What only the store in PostgreSQL does: the lease and its fence, trouble with the server, versions, addresses."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from statewright.errors import InUse, OwnershipLost, StoreError, Unavailable
from statewright.lease_end import INSTANT
from statewright.stores.opening import open_store
from statewright.stores.postgres import lease, writer
from statewright.stores.postgres.arrays import bigints, byteas, register, texts
from statewright.stores.postgres.connection import SCHEMA_VERSION, Connection, migrate, place_of, run
from statewright.stores.postgres.store import PostgresStore
from statewright.stores.protocol import Committed, EntryRow, Existing, InboxRow, Stale
from tests.contract.stores import end, start, step
from tests.deadlines import until_async
from tests.emptied_databases import emptied_database
from tests.postgres_server import Server, server_or_skip


@pytest.fixture
def server() -> Server:
    return server_or_skip()


@pytest.fixture
def address() -> str:
    return emptied_database()


def rows(address: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(address, autocommit=True) as connection:
        cursor = connection.execute(query.encode())
        return cursor.fetchall() if cursor.description else []


# The lease


def test_another_process_is_refused_while_the_owner_lives(address):
    async def body() -> None:
        alice, bob = PostgresStore(address), PostgresStore(address)
        assert await alice.open("alice") == 1
        with pytest.raises(Unavailable, match="in use by alice on"):
            await bob.open("bob")
        assert await alice.executions.commit(start(1)) == Committed(1)
        await alice.close()
        assert await bob.open("bob") == 2
        await bob.close()

    asyncio.run(body())


def test_looking_at_a_lease_waits_for_no_commit(address):
    async def body() -> None:
        alice, bob = PostgresStore(address), PostgresStore(address)
        await alice.open("alice")
        with psycopg.connect(address) as committing:
            committing.execute("SELECT id FROM shard WHERE id = 0 FOR KEY SHARE")
            with pytest.raises(InUse, match="in use by alice on"):
                await bob.open("bob")
        await alice.close()

    asyncio.run(body())


def test_a_lease_that_ran_out_is_taken_once_the_last_group_is_written(address):
    async def body() -> None:
        bob = PostgresStore(address)
        rows(address, "INSERT INTO shard (id, owner, epoch, lease_until_ms) VALUES (0, 'alice', 7, 0)")
        with psycopg.connect(address) as committing:
            committing.execute("SELECT id FROM shard WHERE id = 0 FOR KEY SHARE")
            opening = asyncio.create_task(bob.open("bob"))
            has_tried = (
                "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%SKIP LOCKED%'"
            )
            await until_async(lambda: bool(rows(address, f"{has_tried} AND pid <> pg_backend_pid()")))
            assert rows(address, "SELECT owner, epoch FROM shard") == [("alice", 7)]
        assert await opening == 8
        await bob.close()

    asyncio.run(body())


def test_a_free_lease_that_a_transaction_holds_for_long_is_given_up(address, monkeypatch):
    monkeypatch.setattr(lease, "LAST_GROUP_SECONDS", 0.1)
    rows(address, "INSERT INTO shard (id, owner, epoch, lease_until_ms) VALUES (0, 'alice', 7, 0)")
    with psycopg.connect(address) as committing:
        committing.execute("SELECT id FROM shard WHERE id = 0 FOR KEY SHARE")
        with pytest.raises(Unavailable, match="its lease is free, but a transaction still holds it"):
            asyncio.run(PostgresStore(address).open("bob"))
    assert rows(address, "SELECT owner, epoch FROM shard") == [("alice", 7)]


def test_an_owner_whose_lease_was_taken_commits_nothing_more(address):
    async def body() -> None:
        alice, bob = PostgresStore(address), PostgresStore(address)
        await alice.open("alice")
        commit = start(1)
        await alice.executions.commit(commit)
        # As if alice had been frozen for longer than her lease.
        rows(address, "UPDATE shard SET lease_until_ms = 0")
        assert await bob.open("bob") == 2
        for _ in range(2):
            with pytest.raises(OwnershipLost):
                await alice.executions.commit(step(commit, 1))
        with pytest.raises(OwnershipLost):
            await alice.executions.forget(1, 1)
        assert await bob.executions.commit(step(commit, 1, state=b"bob's")) == Committed(2)
        stored = await alice.executions.load(1)
        assert stored is not None
        assert stored.state == b"bob's"
        await alice.close()
        assert await bob.executions.commit(step(commit, 2)) == Committed(3)
        await bob.close()

    asyncio.run(body())


def test_other_processes_read_how_long_a_lease_is_trusted(address):
    async def body() -> None:
        alice = PostgresStore(address)
        await alice.open("alice")

        def read() -> float:
            return float(INSTANT.unpack(os.pread(alice.lease_end.descriptor, INSTANT.size, 0))[0])

        first = read()
        await until_async(lambda: read() > first > 0, "a renewal")
        rows(address, "UPDATE shard SET owner = 'bob', epoch = epoch + 1")
        await until_async(lambda: read() == 0.0, "the loss of the lease")
        await alice.close()

    asyncio.run(body())


@pytest.mark.parametrize("made", ["entry", "deletion", "number", "input"])
def test_an_owner_whose_lease_was_taken_changes_no_entry(address, made):
    """Each write alone: the first refusal tells the process, and the others would not reach the database."""

    async def body() -> None:
        alice, bob = PostgresStore(address), PostgresStore(address)
        await alice.open("alice")
        assert await alice.catalogue.write([EntryRow("a", "kept", "", 0, 1, b"")])
        assert await alice.catalogue.next_number("n") == 1
        rows(address, "UPDATE shard SET lease_until_ms = 0")
        await bob.open("bob")
        writes: dict[str, Callable[[], Awaitable[object]]] = {
            "entry": lambda: alice.catalogue.write([EntryRow("a", "new", "", 0, 1, b"")]),
            "deletion": lambda: alice.catalogue.write([], [("a", "kept")]),
            "number": lambda: alice.catalogue.next_number("n"),
            "input": lambda: alice.executions.put_inbox(InboxRow(9, 1, "stop", b"")),
        }
        with pytest.raises(OwnershipLost):
            await writes[made]()
        assert rows(address, "SELECT key FROM entry") == [("kept",)]
        assert rows(address, "SELECT name, last FROM number") == [("n", 1)]
        assert rows(address, "SELECT count(*) FROM inbox") == [(0,)]
        await alice.close()
        await bob.close()

    asyncio.run(body())


def test_retention_of_an_owner_without_a_lease_deletes_nothing(address):
    async def body() -> None:
        alice, bob = PostgresStore(address), PostgresStore(address)
        await alice.open("alice")
        commit = start(1)
        await alice.executions.commit(commit)
        await alice.executions.commit(end(commit, 1, stopped_ms=5))
        rows(address, "UPDATE shard SET lease_until_ms = 0")
        await bob.open("bob")
        with pytest.raises(OwnershipLost):
            await alice.executions.forget(9, 9)
        assert await bob.executions.row(1) is not None
        await alice.close()
        await bob.close()

    asyncio.run(body())


# Many writers


def test_counters_of_several_lanes_add_up_and_vanish(address):
    async def body() -> None:
        store = PostgresStore(address)
        await store.open("test")
        commits = [start(number, machine=number % 3) for number in range(1, 1_500)]
        await asyncio.gather(*[store.executions.commit(commit) for commit in commits])
        ends = [end(commit, 1, "FAILED" if commit.row.id % 2 else "SUCCEEDED", 10) for commit in commits]
        assert {type(outcome) for outcome in await asyncio.gather(*map(store.executions.commit, ends))} == {Committed}
        assert len(rows(address, "SELECT DISTINCT lane FROM execution_count")) == 4
        found = await store.executions.count_by_status(None)
        assert (found["RUNNING"], found["FAILED"], found["SUCCEEDED"]) == (0, 750, 749)
        while await store.executions.forget(11, 400):
            pass
        assert set((await store.executions.count_by_status(None)).values()) == {0}
        assert rows(address, "SELECT * FROM execution_count WHERE machine <> -1") == []
        await store.close()

    asyncio.run(body())


def test_what_starts_are_told_in_a_mixed_group(address):
    async def body() -> None:
        store = PostgresStore(address)
        await store.open("test")
        first = start(1, "taken")
        await store.executions.commit(first)
        given = [start(2, "taken"), start(1, "same id"), start(3, "free"), step(first, 1), step(start(9), 4)]
        outcomes = await asyncio.gather(*map(store.executions.commit, given))
        assert outcomes[:3] == [Existing(first.row), Stale(), Committed(1)] or isinstance(outcomes[0], Existing)
        assert outcomes[2:] == [Committed(1), Committed(2), Stale()]
        await store.close()

    asyncio.run(body())


def test_a_write_that_is_refused_takes_none_back_that_was_queued_with_it(address):
    async def body() -> None:
        store = PostgresStore(address)
        await store.open("test")
        # The last one waits for the first, which has the same entry; the second stands for all others.
        rows_of = [
            EntryRow("a", "x", "", 0, 1, b""),
            EntryRow("a", "y", "", 0, 1, b""),
            EntryRow("a", "x", "\0", 0, 2, b""),
        ]
        first, second, third = await asyncio.gather(
            *[store.catalogue.write([row]) for row in rows_of], return_exceptions=True
        )
        assert (first, second) == (True, True)
        assert isinstance(third, StoreError)
        assert rows(address, "SELECT key, version FROM entry ORDER BY key") == [("x", 1), ("y", 1)]
        await store.close()

    asyncio.run(body())


# Trouble


def test_a_server_that_ends_is_unavailable_and_one_that_comes_back_is_used_again():
    server_or_skip()
    own = Server()

    async def body() -> None:
        store = PostgresStore(own.new_database())
        await store.open("test")
        commit = start(1)
        await store.executions.commit(commit)
        assert await store.executions.row(1) is not None
        own.stop(signal.SIGQUIT)
        with pytest.raises(Unavailable, match=r"the store postgresql://.* does not answer: "):
            await store.executions.commit(step(commit, 1))
        with pytest.raises(Unavailable):
            await store.executions.row(1)
        with pytest.raises(Unavailable):
            await store.catalogue.write([EntryRow("a", "b", "", 0, 1, b"")])
        own.start()
        assert await store.executions.row(1) is not None
        assert await store.executions.commit(step(commit, 1)) == Committed(2)
        await store.close()

    try:
        asyncio.run(body())
    finally:
        own.remove()


def test_an_idle_connection_that_broke_harms_no_reader(address):
    async def body() -> None:
        store = PostgresStore(address)
        await store.open("test")
        await store.executions.commit(start(1))
        assert await store.executions.row(1) is not None
        rows(
            address,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE 'SELECT e.id%'",
        )
        assert await store.executions.row(1) is not None
        await store.close()

    asyncio.run(body())


ENDS = (
    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'statewright'"
)
"""Ends all connections of a store, and waits for it."""


def test_idle_connections_that_broke_harm_no_writer(address):
    async def body() -> None:
        store = PostgresStore(address)
        await store.open("test")
        commit = start(1)
        await store.executions.commit(commit)
        for version in range(1, 4):
            rows(address, ENDS)
            assert await store.executions.commit(step(commit, version)) == Committed(version + 1)
            rows(address, ENDS)
            assert await store.catalogue.write([EntryRow("a", str(version), "", 0, 1, b"")])
        await store.close()

    asyncio.run(body())


def test_a_transaction_whose_connection_broke_before_its_commit_is_repeated(address):
    attempts: list[int] = []

    async def body() -> None:
        store = PostgresStore(address)
        await store.open("test")

        def ended_once(connection: Connection) -> int:
            attempts.append(1)
            run(connection, "INSERT INTO number (name, last) VALUES ('a', 1)")
            if len(attempts) < 2:
                rows(address, ENDS)
            return len(run(connection, "SELECT name FROM number WHERE name = 'a'").fetchall())

        assert await store.database.write_owned(ended_once) == 1
        await store.close()

    asyncio.run(body())
    assert len(attempts) == 2


def test_a_transaction_whose_connection_broke_at_its_commit_is_not_repeated(address, monkeypatch):
    attempts: list[int] = []
    leave = psycopg.Transaction.__exit__

    def breaking(self: psycopg.Transaction, *raised: object) -> bool:
        if attempts and not raised[0]:
            rows(address, ENDS)
        return leave(self, *raised)  # type: ignore[arg-type]

    async def body() -> None:
        store = PostgresStore(address)
        await store.open("test")
        monkeypatch.setattr(psycopg.Transaction, "__exit__", breaking)
        with pytest.raises(Unavailable):
            await store.database.write_owned(lambda _: attempts.append(1))
        monkeypatch.undo()
        await store.close()

    asyncio.run(body())
    assert len(attempts) == 1


def test_a_queue_that_takes_long_to_count_is_loaded(address, monkeypatch):
    async def body() -> None:
        monkeypatch.setattr(writer, "WRITE_TIMEOUT_MS", 100)
        store = PostgresStore(address)
        await store.open("test")
        counts_for_long = (
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' "
            "AND clock_timestamp() - query_start > interval '1 second'"
        )
        with psycopg.connect(address) as slow:
            slow.execute("LOCK TABLE message IN ACCESS EXCLUSIVE MODE")
            loading = asyncio.ensure_future(store.queues.load(5, 0))
            await until_async(lambda: loading.done() or rows(address, counts_for_long))
        assert (await loading).total == 0
        # Only that transaction had so much time.
        with psycopg.connect(address) as slow:
            slow.execute("LOCK TABLE message IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(Unavailable, match="statement timeout"):
                await store.queues.expire(5, 1, 1)
        await store.close()

    asyncio.run(body())


def test_a_server_that_is_not_there_is_named_without_the_password():
    store = open_store("postgresql://user:secret@127.0.0.1:1/data")
    with pytest.raises(Unavailable, match=r"postgresql://127\.0\.0\.1:1/data does not answer") as caught:
        asyncio.run(store.open("test"))
    assert "secret" not in str(caught.value)
    asyncio.run(store.close())


def test_addresses_are_shown_without_secrets():
    assert place_of("postgresql://user:secret@db.example:5433/orders?sslmode=require") == (
        "postgresql://db.example:5433/orders"
    )
    assert place_of("postgresql://user@/?host=/run/pg") == "postgresql:///run/pg/user"


SHOWN = {
    "postgresql://user:secret@db.example:5433/orders?sslmode=require": "postgresql://db.example:5433/orders",
    "postgresql://user:sec?ret#=@db/orders": "postgresql://db/orders",
    "postgresql://user:sec%2Fret%40@one:1,two:2/orders%40x": "postgresql://one,two:1,2/orders@x",
    "postgres://db:5432/orders?user=me@tenant&password=secr@t": "postgresql://db:5432/orders",
    "postgresql://user:secret@[::1]:5432/orders": "postgresql://::1:5432/orders",
    "host=db user=me password=se/cr@t dbname=orders": "postgresql://db/orders",
}


@pytest.mark.parametrize("address", SHOWN)
def test_an_address_is_shown_without_its_password(address):
    assert place_of(address) == SHOWN[address]


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://user:s3/cret@db/orders",
        "postgresql://user:12/s3cret@db/orders",
        "postgresql://user:12,3/s3cret@db/orders",
        "postgresql://user:/s3cret@db/orders",
        "postgresql://user:a@s3cret@db/orders",
        "postgresql://user:a/b@s3cret@db/orders",
        "postgresql://user:a@s3cret?sslmode=b@db/orders",
        "postgresql://user:12/s3cret?sslmode=require@db/orders",
        "postgresql://user:12/s3cret?user=me@db/orders",
        "postgresql://user@tenant:s3cret@db/orders",
        "postgresql://user:12/s3cret?x@db/orders",
        "postgresql://user:s3 cret@db/orders",
        "postgresql://user:s3%cret@db/orders",
        "postgresql://user:s3cret@[db/orders",
        "host=db password=s3 cret",
        "host=db password=a s3=cret",
        "host=db password='s3cret",
        "mysql://user:s3cret@db/orders",
    ],
)
def test_an_address_whose_password_may_be_read_as_something_else_is_refused(address):
    with pytest.raises(StoreError, match="cannot be read: ") as caught:
        place_of(address)
    assert "s3" not in str(caught.value)
    assert "cret" not in str(caught.value)


def test_a_copy_is_made_by_the_command(address):
    with pytest.raises(StoreError, match="use statewright backup --store"):
        asyncio.run(PostgresStore(address).backup("x"))


# Versions


def test_an_empty_database_is_prepared_once_by_many(server):
    address = server.new_database()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: migrate(address, "test"), range(4)))
    made = [(number + 1,) for number in range(SCHEMA_VERSION)]
    assert rows(address, "SELECT version FROM statewright_schema ORDER BY version") == made
    migrate(address, "test")


def test_a_newer_version_is_refused(address):
    rows(address, "INSERT INTO statewright_schema VALUES (99)")
    with pytest.raises(StoreError, match=f"version 99; this program knows versions up to {SCHEMA_VERSION}"):
        asyncio.run(PostgresStore(address).open("test"))


def test_a_database_of_somebody_else_is_refused_and_left_alone(server):
    address = server.new_database()
    rows(address, "CREATE TABLE execution (a int)")
    with pytest.raises(StoreError, match="tables of another program"):
        asyncio.run(PostgresStore(address).open("test"))
    assert rows(address, "SELECT to_regclass('shard'), (SELECT count(*) FROM statewright_schema)") == [(None, 0)]


def test_an_encoding_without_all_characters_is_refused(server):
    address = server.new_database()
    rows(server.address("postgres"), "DROP DATABASE IF EXISTS latin")
    rows(server.address("postgres"), "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    with pytest.raises(StoreError, match="encoded as LATIN1"):
        migrate(address.replace(address.split("/")[3].split("?")[0], "latin", 1), "test")


# Arrays


def test_packed_arrays_arrive_as_they_are(address):
    with psycopg.connect(address, cursor_factory=psycopg.RawCursor) as connection:
        register(connection)
        numbers = [0, -1, 2**63 - 1, None, -(2**63)]
        bodies = [b"", None, bytes(range(256))]
        words = ["", "ü ✓ 🎉", '{"a,b"}']
        given = bigints(numbers), byteas(bodies), texts(words), bigints([]), byteas([]), texts([])
        found = connection.execute(
            "SELECT $1::bigint[], $2::bytea[], $3::text[], $4::bigint[], $5::bytea[], $6::text[]", given
        ).fetchone()
        assert found == (numbers, bodies, words, [], [], [])
