"""Nodes over one database: how they share the cells, and what the store of a worker lets through.

The lease of a node ends in these tests as that of a process that is frozen or killed: the thread that renews ends, and
the rows of its leases are set back.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace

import psycopg
import pytest

from statewright.errors import CellLost, InUse, OwnershipLost, StoreError, Unavailable
from statewright.stores.ids import IdSource, cell_shard, first_id, shard_of_id
from statewright.stores.postgres import writer
from statewright.stores.postgres.cells.groups import lanes_of
from statewright.stores.postgres.cells.membership import Membership
from statewright.stores.postgres.cells.store import CellStore
from statewright.stores.postgres.connection import place_of
from statewright.stores.postgres.lease import LEASE_MS, TRUST_SECONDS
from statewright.stores.postgres.store import PostgresStore
from statewright.stores.protocol import Commit, Committed, EntryRow, Existing, InboxRow, OutboxRow, Stale, TimerRow
from statewright.stores.table_protocol import Change
from statewright.stores.transfer.postgres_rows import owned
from tests.contract.stores import START_MS, end, start, step
from tests.contract.test_postgres import rows
from tests.deadlines import PATIENCE_SECONDS, until, until_async
from tests.emptied_databases import emptied_database
from tests.postgres_server import server_or_skip

A, B, C = (cell_shard(number) for number in (1, 2, 3))
CELLS = 4
EVERY = (A, B, C)


@pytest.fixture
def address() -> str:
    return emptied_database()


@pytest.fixture
def nodes(address: str) -> Iterator[Callable[..., Membership]]:
    """Makes nodes that have joined; they leave after the test."""
    made: list[Membership] = []

    def node(name: str, **given: object) -> Membership:
        membership = Membership(address, place_of(address), name=name, url=f"http://{name}", **given)  # type: ignore[arg-type]
        made.append(membership)
        membership.join()
        return membership

    yield lambda name, cells=CELLS, **given: node(name, cells=cells, **given)
    for one in made:
        one.leave()


def freeze(node: Membership) -> None:
    """End the thread that renews the leases of a node, as if its process were killed."""
    node._is_leaving = True
    node._wake.set()
    assert node._thread is not None
    node._thread.join()


def run_out(address: str, node: Membership) -> None:
    """End the leases of a node, as if time had passed."""
    rows(address, f"UPDATE node SET lease_until_ms = 1 WHERE incarnation = '{node.incarnation}'")
    rows(address, f"UPDATE shard SET lease_until_ms = 1 WHERE owner = '{node.incarnation}'")


def kill(address: str, node: Membership) -> None:
    """A node that ends without leaving, long ago."""
    freeze(node)
    run_out(address, node)


def of(shard: int, number: int, name: str | None = None) -> Commit:
    """A start in a cell."""
    commit = start(number, name or f"run-{shard}-{number}")
    return replace(commit, row=replace(commit.row, id=first_id(shard) + number, shard=shard))


def with_worker(address: str, node: Membership, body: Callable[[CellStore], Awaitable[None]]) -> None:
    """Run a body with the open store of a node's worker."""

    async def inner() -> None:
        store = CellStore(address, node)
        await store.open("worker")
        try:
            await body(store)
        finally:
            await store.close()

    asyncio.run(inner())


# Joining


def test_the_first_node_makes_the_cluster_and_the_second_has_the_same(address, nodes):
    alice, bob = nodes("alice"), nodes("bob", cells=7)
    assert alice.cluster == bob.cluster
    assert alice.cluster.cells == CELLS
    assert len(alice.cluster.secret) == 32
    assert rows(address, "SELECT id FROM shard ORDER BY id") == [(C,), (B,), (A,)]
    assert alice.incarnation != bob.incarnation


def test_an_empty_database_gets_its_tables(nodes):
    address = server_or_skip().new_database()
    node = Membership(address, place_of(address), name="a", url="http://a", cells=1)
    with pytest.raises(Unavailable, match="has not joined"):
        _ = node.cluster
    with pytest.raises(Unavailable):
        node.check()
    node.join()
    node.check()
    assert (node.cluster.cells, node.take(EVERY)) == (1, [])
    node.leave()
    node.leave()
    assert rows(address, "SELECT name FROM node") == []


@pytest.mark.parametrize("cells", [0, 513])
def test_a_number_of_cells_that_cannot_be_is_refused(cells):
    with pytest.raises(ValueError, match="from 1 to 512 cells"):
        Membership("postgresql:///x", "x", name="a", url="http://a", cells=cells)


def test_a_name_that_a_live_node_has_is_refused(address, nodes):
    nodes("alice")
    second = Membership(address, place_of(address), name="alice", url="http://other")
    with pytest.raises(InUse, match="the name alice is in use by the node at http://alice"):
        second.join()


@pytest.mark.slow
def test_the_name_of_a_dead_node_is_taken_once_its_lease_has_run_out(address, nodes):
    alice = nodes("alice")
    assert alice.take([C])
    freeze(alice)
    # Waits for what is left of the lease, which no thread renews.
    again = nodes("alice")
    assert rows(address, "SELECT incarnation FROM node") == [(again.incarnation,)]


def test_a_process_whose_name_was_taken_has_lost_everything(address, nodes):
    lost: list[list[int]] = []
    alice = nodes("alice", on_lost=lost.append)
    assert sorted(alice.take([B, C])) == sorted(alice.held())
    held = sorted(alice.held())
    run_out(address, alice)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("UPDATE node SET incarnation = 'another' WHERE name = 'alice'")
    alice._wake.set()
    until(lambda: lost == [held])
    assert alice.held() == {}
    for call in (alice.check, lambda: alice.take([C]), lambda: alice.home(1)):
        with pytest.raises(OwnershipLost, match="the name alice of this node was taken over"):
            call()
    alice.leave()
    assert rows(address, "SELECT incarnation FROM node") == [("another",)]


# Formats

TWO = range(1, 3)
"""Formats that the next version of the program knows."""


def format_of(address: str) -> object:
    [(found,)] = rows(address, "SELECT format FROM cluster")
    return found


def renewed(address: str, node: Membership) -> None:
    """Wait for the next renewal of a node that has begun by now."""
    query = f"SELECT lease_until_ms FROM node WHERE incarnation = '{node.incarnation}'"
    before = rows(address, query)
    node._wake.set()
    until(lambda: rows(address, query) != before)


def test_a_cluster_has_the_newest_format_that_all_know(address, nodes):
    old, new = nodes("old"), nodes("new", formats=TWO)
    assert (new.take([A]), old.take([B])) == ([A], [B])
    for node in (old, new):
        renewed(address, node)
        assert node.format == 1
    assert format_of(address) == 1
    old.leave()
    new._wake.set()
    until(lambda: new.format == 2)
    # Also for nodes of the newer version alone.
    assert nodes("newer", formats=range(1, 4)).format == 2
    assert nodes("other", formats=TWO).take([C]) == [C]


def test_a_new_cluster_begins_with_the_newest_format(address, nodes):
    new = nodes("new", formats=TWO)
    assert format_of(address) == 2
    until(lambda: new.format == 2)


def test_a_program_that_does_not_know_the_format_is_refused(address, nodes):
    nodes("new", formats=TWO).leave()
    for formats, sentence in (
        (range(1, 2), "has gone on to format 2, this program knows formats up to 1: run the newer version"),
        (range(3, 4), "still has format 2, this program knows formats from 3 on: run a version in between"),
    ):
        refused = Membership(address, place_of(address), name="bob", url="http://bob", formats=formats)
        with pytest.raises(StoreError, match=sentence):
            refused.join()
    assert format_of(address) == 2


def test_a_node_that_slept_while_the_format_was_raised_has_lost_everything(address, nodes):
    old, new = nodes("old"), nodes("new", formats=TWO)
    old.take([A])
    freeze(old)
    run_out(address, old)
    new._wake.set()
    until(lambda: format_of(address) == 2)
    # Though neither its name nor its cell was taken meanwhile.
    assert old.take([B]) == []
    with pytest.raises(OwnershipLost):
        old.home(1)
    assert old._renew() == [A]
    old._close()
    assert (old.held(), new.take(EVERY)) == ({}, sorted(EVERY))
    for call in (old.check, lambda: old.take([C])):
        with pytest.raises(OwnershipLost, match="went on to format 2 while the node old did not answer"):
            call()


# Cells


def test_nodes_share_cells_and_give_them_back(address, nodes):
    alice, bob = nodes("alice"), nodes("bob")
    assert alice.take([B, C]) == [C, B]
    assert bob.take(EVERY) == [A]
    assert bob.take(EVERY) == []
    assert (alice.held(), bob.held()) == ({C: 1, B: 1}, {A: 1})
    alice.release([B, A])
    assert (alice.held(), bob.held()) == ({C: 1}, {A: 1})
    assert bob.take([A, C]) == []
    assert bob.take([B]) == [B]
    assert bob.held() == {A: 1, B: 2}
    alice.leave()
    assert bob.take(EVERY) == [C]


def test_ids_of_owners_follow_the_clock_of_the_database_not_those_of_nodes(nodes, monkeypatch):
    alice, bob = nodes("alice"), nodes("bob")
    assert alice.take([C]) == [C]
    monkeypatch.setattr(time, "time", lambda: 0.0)
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    before = alice.ids_ms()
    there = alice.database_ms()
    assert before <= there
    made = IdSource(alice.ids_ms, shard=C).next()
    alice.release([C])
    assert bob.take([C]) == [C]
    # Not for long: the database's clock goes on.
    until(lambda: IdSource(bob.ids_ms, shard=C).next() > made, "a greater id")
    assert bob.ids_ms() >= there


def test_two_that_take_at_once_get_different_cells(nodes):
    pair = [nodes("alice", cells=64), nodes("bob", cells=64)]
    every = [cell_shard(number) for number in range(1, 64)]
    barrier = threading.Barrier(2)
    got: dict[str, list[int]] = {}

    def take(node: Membership) -> None:
        barrier.wait(PATIENCE_SECONDS)
        got[node.name] = [shard for at in range(0, 63, 2) for shard in node.take(every[at : at + 2])]

    threads = [threading.Thread(target=take, args=(node,)) for node in pair]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken = got["alice"] + got["bob"]
    assert sorted(taken) == sorted(every)


def test_a_look_shows_the_node_that_asked_for_a_cell_until_one_takes_it(nodes):
    alice, bob = nodes("alice"), nodes("bob")
    alice.take(EVERY)
    bob.want([A])
    assert [cell.wanted_by for cell in alice.look().cells] == [None, None, "bob"]
    alice.release([A, C])
    assert [cell.wanted_by for cell in alice.look().cells] == [None, None, "bob"]
    assert bob.take([A]) == [A]
    assert [cell.wanted_by for cell in alice.look().cells] == [None, None, None]


def test_cells_of_a_dead_node_go_to_others_under_a_higher_epoch(address, nodes):
    alice, bob = nodes("alice"), nodes("bob")
    assert alice.take([C]) == [C]
    assert bob.take([C]) == []
    kill(address, alice)
    assert bob.take([C]) == [C]
    assert bob.held() == {C: 2}


def test_a_cell_with_a_group_under_way_is_not_taken(address, nodes):
    alice, bob = nodes("alice"), nodes("bob")
    alice.take([C])
    kill(address, alice)
    with psycopg.connect(address) as committing:
        committing.execute(f"SELECT id FROM shard WHERE id = {C} FOR KEY SHARE".encode())
        assert bob.take(EVERY) == [B, A]
    assert bob.take(EVERY) == [C]


def test_cells_that_are_gone_are_reported_once(address, nodes):
    lost: list[list[int]] = []
    alice = nodes("alice", on_lost=lost.append)
    alice.take(EVERY)
    rows(address, f"UPDATE shard SET owner = 'another', epoch = 2 WHERE id IN ({A}, {B})")
    alice._wake.set()
    until(lambda: lost == [[B, A]])
    assert alice.held() == {C: 1}
    alice.check()
    # A cell that was given back is not lost.
    alice.release([C])
    renewed = alice._renewed
    alice._wake.set()
    until(lambda: alice._renewed > renewed)
    assert lost == [[B, A]]


def test_a_listener_that_fails_does_not_end_the_lease(address, nodes):
    def fail(_: list[int]) -> None:
        raise RuntimeError("not today")

    alice = nodes("alice", on_lost=fail)
    alice.take([C])
    rows(address, "UPDATE shard SET owner = NULL")
    alice._wake.set()
    until(lambda: alice.held() == {})
    renewed = alice._renewed
    alice._wake.set()
    until(lambda: alice._renewed > renewed)


def test_one_statement_renews_the_node_and_its_cells(address, nodes):
    alice = nodes("alice")
    alice.take([B, C])
    rows(address, "UPDATE node SET lease_until_ms = 5")
    rows(address, "UPDATE shard SET lease_until_ms = 5 WHERE owner IS NOT NULL")
    alice._wake.set()
    renewed = "SELECT count(*) FROM node JOIN shard ON owner = incarnation WHERE least(shard.lease_until_ms, {}) > 5"
    until(lambda: rows(address, renewed.format("node.lease_until_ms")) == [(2,)])
    same = "SELECT DISTINCT node.xmin::text = shard.xmin::text FROM node JOIN shard ON owner = incarnation"
    assert rows(address, same) == [(True,)]


def test_a_node_whose_lease_no_thread_renews_writes_nothing_more(address, nodes):
    alice = nodes("alice")
    alice.take([C])

    async def body(store: CellStore) -> None:
        assert await store.executions.commit(of(C, 1)) == Committed(1)
        freeze(alice)
        alice._renewed = time.monotonic() - TRUST_SECONDS
        with pytest.raises(Unavailable, match="the lease of the node alice could not be renewed"):
            await store.executions.commit(of(C, 2))
        with pytest.raises(Unavailable):
            store.check_lease()
        with pytest.raises(Unavailable):
            alice.take([C])
        assert rows(address, "SELECT id FROM execution") == [(first_id(C) + 1,)]

    with_worker(address, alice, body)


def test_a_database_that_comes_back_is_used_again(address, nodes):
    alice = nodes("alice")
    alice.take([C])
    ends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
    rows(address, ends + "AND pid <> pg_backend_pid()")
    renewed = alice._renewed
    alice._wake.set()
    until(lambda: alice._renewed > renewed)
    assert alice.held() == {C: 1}
    assert alice.take([B]) == [B]


# A look


def test_a_look_sees_nodes_cells_and_the_home(address, nodes):
    alice, bob = nodes("alice"), nodes("bob")
    alice.take([C])
    bob.want([C])
    rows(address, "INSERT INTO shard (id, owner, epoch, lease_until_ms) VALUES (0, 'home', 5, 9999999999999)")
    assert bob.look().home is None
    bob.home(4)
    assert bob.look().home is None
    bob.home(5)
    found = alice.look()
    assert [(one.name, one.incarnation, one.address, one.home_epoch, one.format) for one in found.nodes] == [
        ("alice", alice.incarnation, "http://alice", 0, 1),
        ("bob", bob.incarnation, "http://bob", 5, 1),
    ]
    assert found.home == found.nodes[1]
    assert all(0 < node.left_ms <= LEASE_MS for node in found.nodes)
    assert [(one.shard, one.node, one.epoch, one.wanted_by, one.left_ms > 0) for one in found.cells] == [
        (C, "alice", 1, "bob", True),
        (B, None, 0, None, False),
        (A, None, 0, None, False),
    ]
    rows(address, "UPDATE shard SET lease_until_ms = 1 WHERE id = 0")
    assert alice.look().home is None
    rows(address, "UPDATE shard SET lease_until_ms = 9999999999999 WHERE id = 0")
    kill(address, bob)
    found = alice.look()
    assert found.home is None
    assert [node.name for node in found.nodes if node.is_live] == ["alice"]


def test_a_look_waits_for_no_lock(address, nodes):
    alice = nodes("alice")
    with psycopg.connect(address) as other:
        other.execute("SELECT * FROM shard FOR UPDATE")
        other.execute("SELECT * FROM node FOR UPDATE")
        assert len(alice.look().cells) == 3


# Commits


def test_a_commit_under_an_old_epoch_is_refused_although_the_cell_came_back(address, nodes):
    alice = nodes("alice")
    alice.take([C])

    async def body(store: CellStore) -> None:
        first = of(C, 1)
        assert await store.executions.commit(first) == Committed(1)
        # Queued, and not written before the loop runs again: meanwhile the cell is given away and taken back.
        late = store.database.opened.writers.submit(step(first, 1, state=b"late"))
        alice.release([C])
        assert alice.take([C]) == [C]
        with pytest.raises(OwnershipLost, match=f"shard {C} "):
            await late
        stored = await store.executions.load(first.row.id)
        assert stored is not None
        assert stored.version == 1
        assert await store.executions.commit(step(first, 1)) == Committed(2)

    with_worker(address, alice, body)


def test_commits_of_a_held_cell_pass_beside_those_of_a_lost_one(address, nodes):
    lost: list[list[int]] = []
    alice = nodes("alice", on_lost=lost.append)
    alice.take([B, C])

    async def body(store: CellStore) -> None:
        ours, theirs = of(B, 1), of(C, 1)
        assert await asyncio.gather(*map(store.executions.commit, (ours, theirs))) == [Committed(1), Committed(1)]
        # As if this process had been frozen: it does not know yet.
        rows(address, f"UPDATE shard SET owner = 'another', epoch = 2 WHERE id = {C}")
        given = [of(C, 2), step(ours, 1), step(theirs, 1), of(B, 2), step(of(B, 9), 4), of(B, 3, ours.row.name)]
        submit = store.database.opened.writers.submit
        found = await asyncio.gather(*map(submit, given), return_exceptions=True)
        assert [type(one) for one in found] == [
            CellLost, Committed, CellLost, Committed, Stale, Existing,
        ]  # fmt: skip
        # The fence that found it wakes the thread that renews.
        await until_async(lambda: lost == [[C]])
        assert rows(address, "SELECT count(*) FROM execution") == [(3,)]
        with pytest.raises(OwnershipLost):
            await store.executions.commit(of(C, 5))
        assert await store.executions.commit(of(B, 5)) == Committed(1)

    with_worker(address, alice, body)


def test_a_commit_that_answers_a_lost_cell_does_not_pass(address, nodes):
    """A start that an execution elsewhere asked for, and whose answer could not be noted, would be made twice."""
    alice = nodes("alice")
    alice.take([B, C])

    async def body(store: CellStore) -> None:
        asking = [replace(of(shard, 1), outbox=[OutboxRow(first_id(shard) + 7, first_id(shard) + 1, "task", b"")])
                  for shard in (B, C)]  # fmt: skip
        await asyncio.gather(*map(store.executions.commit, asking))
        asked = [replace(of(B, 10 + shard), completed=[(first_id(shard) + 7, b"done")]) for shard in (B, C)]
        rows(address, f"UPDATE shard SET owner = 'another', epoch = 2 WHERE id = {C}")
        submit = store.database.opened.writers.submit
        found = await asyncio.gather(*map(submit, asked), return_exceptions=True)
        assert [type(one) for one in found] == [Committed, CellLost]
        assert isinstance(found[1], CellLost)
        assert found[1].shard == C
        bodies = rows(address, "SELECT id, body FROM outbox ORDER BY id")
        assert bodies == [(first_id(C) + 7, b""), (first_id(B) + 7, b"done")]
        assert await store.executions.find(7, asked[1].row.name) is None

    with_worker(address, alice, body)


def test_a_commit_answers_a_task_in_the_cell_of_another_node(address, nodes):
    """The task has asked for it through its own node, so its row is completed wherever its cell is."""
    alice, bob = nodes("alice"), nodes("bob")
    alice.take([B])
    bob.take([C])
    row = OutboxRow(first_id(C) + 7, first_id(C) + 1, "task", b"")

    async def body(store: CellStore) -> None:
        asking = CellStore(address, bob)
        await asking.open("bob")
        try:
            await asking.executions.commit(replace(of(C, 1), outbox=[row]))
            assert await store.executions.commit(replace(of(B, 1), completed=[(row.id, b"done")])) == Committed(1)
        finally:
            await asking.close()
        assert rows(address, "SELECT id, body FROM outbox") == [(row.id, b"done")]

    with_worker(address, alice, body)


def test_inputs_are_fenced_by_the_cell_of_their_execution(address, nodes):
    alice = nodes("alice")
    alice.take([B, C])

    async def body(store: CellStore) -> None:
        rows(address, f"UPDATE shard SET owner = 'another', epoch = 2 WHERE id = {C}")
        given = [InboxRow(first_id(shard) + 1, first_id(shard) + 5, "stop", b"") for shard in (C, B)]
        found = await asyncio.gather(*map(store.executions.put_inbox, given), return_exceptions=True)
        assert [type(one) for one in found] == [CellLost, type(None)]
        assert rows(address, "SELECT execution FROM inbox") == [(first_id(B) + 5,)]
        with pytest.raises(OwnershipLost):
            await store.executions.put_inbox(InboxRow(1, 1, "stop", b""))

    with_worker(address, alice, body)


def test_leftovers_are_deleted_in_held_cells_only(address, nodes):
    alice = nodes("alice")
    alice.take([B, C])

    async def body(store: CellStore) -> None:
        for shard in (B, C):
            number = first_id(shard)
            await store.executions.commit(
                replace(
                    of(shard, 1),
                    timers=[TimerRow(number + 1, 1, START_MS)],
                    outbox=[OutboxRow(number + 2, number + 1, "task", b"")],
                    inbox=[InboxRow(number + 3, number + 1, "stop", b"")],
                )
            )
        rows(address, f"UPDATE shard SET owner = 'another', epoch = 2 WHERE id = {C}")
        left = {table: f"SELECT count(*) FROM {table}" for table in ("timer", "outbox", "inbox")}
        with pytest.raises(OwnershipLost):
            await store.executions.discard([], [first_id(B) + 2], [first_id(C) + 3])
        assert [rows(address, text) for text in left.values()] == [[(2,)]] * 3
        number = first_id(B)
        await store.executions.discard([TimerRow(number + 1, 1, START_MS)], [number + 2], [number + 3])
        assert [rows(address, text) for text in left.values()] == [[(1,)]] * 3

    with_worker(address, alice, body)


@pytest.mark.parametrize("is_home", [False, True])
def test_starts_of_the_same_names_at_two_nodes_wait_in_no_circle(address, nodes, monkeypatch, is_home):
    """Each name goes to one of them, and no transaction is given up for the other's."""
    alice, bob = nodes("alice"), nodes("bob")
    alice.take([A])
    bob.take([B])
    repeated: list[Exception] = []
    monkeypatch.setattr(writer, "is_worth_another_try", repeated.append)

    async def body(store: CellStore) -> None:
        other = PostgresStore(address, of_node=True) if is_home else CellStore(address, bob)
        await other.open("another")
        shard = 0 if is_home else B
        for turn in range(10):
            names = [f"{turn}-{number}" for number in range(100)]
            ours = [store.executions.commit(of(A, 1_000 * turn + at, name)) for at, name in enumerate(names, 1)]
            names.reverse()
            theirs = [other.executions.commit(of(shard, 1_000 * turn + at, name)) for at, name in enumerate(names, 1)]
            found = await asyncio.gather(*ours, *theirs)
            assert [type(one) for one in found].count(Committed) == 100
            assert [type(one) for one in found].count(Existing) == 100
        await other.close()

    with_worker(address, alice, body)
    assert repeated == []


def test_counters_of_nodes_and_of_the_home_add_up(address, nodes):
    alice, bob = nodes("alice"), nodes("bob")
    alice.take([A])
    bob.take([B])

    async def body(store: CellStore) -> None:
        home, other = PostgresStore(address, of_node=True), CellStore(address, bob)
        await home.open("home")
        await other.open("worker")
        begun = [of(shard, number) for shard in (0, A, B) for number in range(1, 4)]
        writes = {0: home.executions, A: store.executions, B: other.executions}
        await asyncio.gather(*(writes[shard_of_id(one.row.id)].commit(one) for one in begun))
        ends = [end(one, 1, stopped_ms=10) for one in begun if one.row.id != begun[-1].row.id]
        await asyncio.gather(*(writes[shard_of_id(one.row.id)].commit(one) for one in ends))
        found = await other.executions.count_by_status(None)
        assert (found["RUNNING"], found["SUCCEEDED"]) == (1, 8)
        # Retention is the home's, for all cells.
        assert await home.executions.forget(11, 100) == 8
        assert (await store.executions.count_by_status(None))["SUCCEEDED"] == 0
        await other.close()
        await home.close()

    with_worker(address, alice, body)


def test_lanes_of_nodes_are_apart_from_those_of_the_home():
    found = [lanes_of(f"node-{number}") for number in range(2_000)]
    assert min(lanes[0] for lanes in found) == 8
    assert max(lanes[-1] for lanes in found) <= 999
    assert {len(lanes) for lanes in found} == {3}
    assert lanes_of("node-1") == lanes_of("node-1")
    assert len(set(found)) > 300


# What a worker does not write

_ENTRY = EntryRow("a", "b", "", 0, 1, b"")
REFUSED: dict[str, Callable[[CellStore], Awaitable[object]]] = {
    "entry": lambda store: store.catalogue.write([_ENTRY]),
    "deletion": lambda store: store.catalogue.write([], [("a", "b")]),
    "number": lambda store: store.catalogue.next_number("n"),
    "send": lambda store: store.queues.note([]),
    "queue": lambda store: store.queues.forget(1, 1),
    "moving": lambda store: store.queues.move([]),
    "item": lambda store: store.tables.change(Change.__new__(Change)),
    "table": lambda store: store.tables.clear(1, 1),
    "doom": lambda store: store.objects.doom([1]),
    "object": lambda store: store.objects.drop_bucket(1),
    "upload": lambda store: store.uploads.abort(1),
    "retention": lambda store: store.executions.forget(1, 1),
    "fence": lambda store: asyncio.to_thread(store.database.fence),
    "transaction": lambda store: store.database.write_owned(lambda _: None),
    "blob": lambda store: asyncio.to_thread(lambda: store.blobs.create("x").put(b"x", is_last=True)),
    "copy": lambda store: asyncio.to_thread(store.blobs.copy, "x", "y"),
    "touch": lambda store: asyncio.to_thread(store.blobs.touch, "x"),
    "removal": lambda store: asyncio.to_thread(store.blobs.remove, ["x"]),
    "old": lambda store: asyncio.to_thread(store.blobs.remove_old, ["x"], 1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_worker_writes_nothing_but_its_executions(address, nodes, name):
    alice = nodes("alice")
    alice.take(EVERY)

    async def body(store: CellStore) -> None:
        with pytest.raises(StoreError, match=r"a worker of the store .* writes executions of its cells only") as raised:
            await REFUSED[name](store)
        assert type(raised.value) is StoreError

    with_worker(address, alice, body)


def test_a_worker_reads_what_others_wrote(address, nodes):
    alice = nodes("alice")

    async def body(store: CellStore) -> None:
        home = PostgresStore(address, of_node=True)
        await home.open("home")
        await home.catalogue.write([_ENTRY])
        await asyncio.to_thread(lambda: home.blobs.create("code/x").put(b"package", is_last=True))
        await home.executions.commit(start(5))
        assert await store.catalogue.get("a", "b") == _ENTRY
        assert await asyncio.to_thread(store.blobs.read, "code/x", 0, 99) == b"package"
        assert await store.executions.row(5) == start(5).row
        assert (await store.newest_id(0), await store.newest_id(A)) == (5, 0)
        assert (store.minutes, await store.examine()) == (None, None)
        with pytest.raises(StoreError, match="does not copy it"):
            await store.backup("x")
        with pytest.raises(OwnershipLost):
            await store.executions.commit(step(start(5), 1))
        await home.close()

    with_worker(address, alice, body)


def test_a_worker_needs_a_membership_and_the_schema_of_its_program(nodes):
    address = server_or_skip().new_database()
    node = Membership(address, place_of(address), name="a", url="http://a", cells=2)
    with pytest.raises(Unavailable):
        asyncio.run(CellStore(address, node).open("worker"))
    node.join()
    for found, match in ((99, "has version 99; this program knows"), (9, "has version 9 of the schema")):
        rows(address, "DELETE FROM statewright_schema WHERE version > 9")
        rows(address, f"INSERT INTO statewright_schema VALUES ({found}) ON CONFLICT DO NOTHING")
        with pytest.raises(StoreError, match=match):
            asyncio.run(CellStore(address, node).open("worker"))
    node.leave()


# Moves


@pytest.mark.slow
def test_a_store_is_not_moved_while_a_node_lives(address, nodes):
    alice = nodes("alice")
    with pytest.raises(InUse, match="in use by the node alice at http://alice"), owned(address, "move"):
        pass
    alice.leave()
    with owned(address, "move") as lease:
        bob = Membership(address, place_of(address), name="bob", url="http://bob")
        with pytest.raises(Unavailable):
            bob.join()
        lease.check()
    nodes("carol")
