"""What every store does, one suite over all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from random import Random

import pytest

from statewright.errors import StoreError, Unavailable
from statewright.stores.ids import first_id
from statewright.stores.protocol import (
    STATUSES,
    Committed,
    EntryRow,
    Existing,
    HistoryPage,
    InboxRow,
    OutboxRow,
    Outcome,
    Stale,
    Stored,
    TimerRow,
)
from statewright.stores.store import Store
from tests.contract.stores import START_MS, end, page, row, start, step

NOBODY = dict.fromkeys(STATUSES, 0)


async def together(*commits: Awaitable[Outcome]) -> tuple[Outcome, ...]:
    """The outcomes of commits that are all given before one is answered."""
    return tuple(await asyncio.gather(*commits))


def counts(**found: int) -> dict[str, int]:
    return {**NOBODY, **found}


# Commits


def test_a_start_is_read_back_in_full(with_store):
    async def body(store: Store) -> None:
        commit = start(1, frames={1: b"one", 2: b"two"}, texts={b"hash": b"large"}, tail=b"tail")
        assert await store.executions.commit(commit) == Committed(1)
        stored = await store.executions.load(1)
        assert stored == Stored(commit.row, 1, b"state 1", {1: b"one", 2: b"two"}, {b"hash": b"large"})
        assert await store.executions.row(1) == commit.row
        assert await store.executions.find(7, "run-1") == commit.row

    with_store(body)


@pytest.mark.parametrize("size", [0, 1, 1024, 1025, 300_000])
def test_a_head_of_any_length_stays_as_it_was_at_the_start(with_store, size):
    async def body(store: Store) -> None:
        commit = start(1, head=b"h" * size)
        await store.executions.commit(commit)
        await store.executions.commit(step(commit, 1, head=b"another"))
        found = await store.executions.row(1)
        assert found is not None
        assert found.head == b"h" * size
        listed = await store.executions.list_rows(7, status="RUNNING", after=None, limit=1)
        assert [row.head for row in listed.rows] == [b"h" * size]

    with_store(body)


def test_what_is_not_there_is_none(with_store):
    async def body(store: Store) -> None:
        assert await store.executions.load(1) is None
        assert await store.executions.row(1) is None
        assert await store.executions.find(7, "run-1") is None
        assert await store.executions.history(1, first=0, pages=5, reverse=False) == []
        assert await store.executions.pending(0) == ([], [])
        assert await store.executions.due(0, START_MS, 10) == []
        assert await store.executions.count_by_status(None) == NOBODY

    with_store(body)


def test_open_executions_are_counted_by_shard(with_store):
    async def body(store: Store) -> None:
        there = first_id(1)
        commits = [start(number, name, shard=shard, started_ms=START_MS) for number, name, shard in (
            (1, "a", 0), (2, "b", 0), (there + 1, "c", 1), (there + 2, "d", 1), (first_id(2) + 1, "e", 2),
        )]  # fmt: skip
        for one in commits:
            await store.executions.commit(one)
        assert [await store.executions.count_open(shard) for shard in range(4)] == [2, 2, 1, 0]
        await store.executions.commit(end(commits[2], 1))
        assert [await store.executions.count_open(shard) for shard in range(4)] == [2, 1, 1, 0]

    with_store(body)


def test_a_step_writes_state_frames_and_tail(with_store):
    async def body(store: Store) -> None:
        first = start(1, frames={1: b"one", 2: b"two", 3: b"three"}, texts={b"a": b"A"})
        await store.executions.commit(first)
        second = step(first, 1, frames={2: b"zwei", 4: b"four"}, dropped=(3, 99), texts={b"b": b"B"}, tail=b"t")
        assert await store.executions.commit(second) == Committed(2)
        stored = await store.executions.load(1)
        assert stored == Stored(
            row(1, tail=b"t"), 2, b"state 2", {1: b"one", 2: b"zwei", 4: b"four"}, {b"a": b"A", b"b": b"B"}
        )

    with_store(body)


def test_a_step_from_another_version_is_stale_and_writes_nothing(with_store):
    async def body(store: Store) -> None:
        first = start(1)
        await store.executions.commit(first)
        everything = {
            "frames": {1: b"one"},
            "texts": {b"a": b"A"},
            "history": page(3, 1),
            "timers": (TimerRow(1, 1, START_MS),),
            "outbox": (OutboxRow(10, 1, "task", b""),),
            "inbox": (InboxRow(11, 1, "continue", b""),),
        }
        for expected in (2, 5):
            assert await store.executions.commit(step(first, expected, status="FAILED", **everything)) == Stale()
        assert await store.executions.commit(step(start(2), 1, **everything)) == Stale()
        assert await store.executions.load(1) == Stored(first.row, 1, b"state 1", {}, {})
        assert await store.executions.history(1, first=0, pages=9, reverse=False) == [page(1, 2)]
        assert await store.executions.due(0, START_MS, 9) == []
        assert await store.executions.pending(0) == ([], [])
        assert await store.executions.count_by_status(None) == counts(RUNNING=1)
        assert await store.executions.row(2) is None

    with_store(body)


def test_a_start_with_a_taken_name_gets_the_row_that_has_it(with_store):
    async def body(store: Store) -> None:
        first = start(1, "same", head=b"first")
        await store.executions.commit(first)
        second = start(2, "same", head=b"second", timers=(TimerRow(2, 1, START_MS),))
        assert await store.executions.commit(second) == Existing(first.row)
        assert await store.executions.commit(first) == Existing(first.row)
        closed = end(first, 1)
        await store.executions.commit(closed)
        assert await store.executions.commit(second) == Existing(closed.row)
        assert await store.executions.row(2) is None
        assert await store.executions.due(0, START_MS, 9) == []
        assert await store.executions.commit(start(3, "same", machine=8)) == Committed(1)

    with_store(body)


def test_a_start_with_a_taken_id_is_stale(with_store):
    async def body(store: Store) -> None:
        await store.executions.commit(start(1, "one"))
        assert await store.executions.commit(start(1, "other")) == Stale()
        assert await store.executions.count_by_status(None) == counts(RUNNING=1)

    with_store(body)


@pytest.mark.parametrize("status", STATUSES[1:])
def test_only_success_clears_frames_and_texts(with_store, status):
    async def body(store: Store) -> None:
        first = start(1, frames={1: b"one"}, texts={b"a": b"A"})
        await store.executions.commit(first)
        last = end(first, 1, status)
        await store.executions.commit(last)
        stored = await store.executions.load(1)
        if status == "SUCCEEDED":
            assert stored == Stored(last.row, 2, None, {}, {})
        else:
            assert stored == Stored(last.row, 2, b"state 2", {1: b"one"}, {b"a": b"A"})

    with_store(body)


def test_a_start_may_be_the_end(with_store):
    async def body(store: Store) -> None:
        commit = start(1, status="SUCCEEDED", stopped_ms=START_MS + 5, tail=b"out", state=None)
        assert await store.executions.commit(commit) == Committed(1)
        assert await store.executions.load(1) == Stored(commit.row, 1, None, {}, {})

    with_store(body)


def test_what_one_commit_adds_and_deletes_is_gone(with_store):
    async def body(store: Store) -> None:
        timer, sent, waits = TimerRow(1, 1, START_MS), OutboxRow(10, 1, "task", b""), InboxRow(11, 1, "stop", b"")
        commit = start(
            1,
            frames={1: b"one"},
            dropped=(1,),
            timers=(timer,),
            timers_done=(timer,),
            outbox=(sent,),
            outbox_done=(10,),
            inbox=(waits,),
            inbox_done=(11,),
        )
        await store.executions.commit(commit)
        stored = await store.executions.load(1)
        assert stored is not None
        assert stored.frames == {}
        assert await store.executions.due(0, START_MS, 9) == []
        assert await store.executions.pending(0) == ([], [])

    with_store(body)


# Commits side by side


def test_commits_of_one_execution_are_written_in_the_order_given(with_store):
    async def body(store: Store) -> None:
        commits = [start(1, frames={1: b"0"}, texts={b"a": b"A"})]
        for n in range(1, 8):
            commits.append(step(commits[0], n, frames={1: b"%d" % n}, dropped=(), history=page(2 * n + 1, 2)))
        commits[3] = replace(commits[3], frames={}, dropped=(1,))
        outcomes = await asyncio.gather(*[store.executions.commit(commit) for commit in commits])
        assert outcomes == [Committed(n) for n in range(1, 9)]
        assert await store.executions.load(1) == Stored(commits[0].row, 8, b"state 8", {1: b"7"}, {b"a": b"A"})
        pages = await store.executions.history(1, first=0, pages=99, reverse=False)
        assert [(p.first, p.count) for p in pages] == [(n, 2) for n in range(1, 16, 2)]

    with_store(body)


def test_neighbours_do_not_suffer_from_a_stale_commit(with_store):
    async def body(store: Store) -> None:
        starts = [start(n, frames={1: b"%d" % n}) for n in range(1, 40)]
        await asyncio.gather(*[store.executions.commit(commit) for commit in starts])
        steps = [step(one, 1 if one.row.id % 3 else 2, frames={1: b"new"}, history=page(3, 1)) for one in starts]
        outcomes = await asyncio.gather(*[store.executions.commit(commit) for commit in steps])
        for commit, outcome in zip(starts, outcomes, strict=True):
            fits = commit.row.id % 3 != 0
            assert outcome == (Committed(2) if fits else Stale())
            stored = await store.executions.load(commit.row.id)
            assert stored is not None
            assert stored.frames == {1: b"new" if fits else b"%d" % commit.row.id}
            pages = await store.executions.history(commit.row.id, first=0, pages=9, reverse=False)
            assert len(pages) == (2 if fits else 1)

    with_store(body)


def test_of_two_steps_from_one_version_the_first_wins(with_store):
    async def body(store: Store) -> None:
        first = start(1)
        outcomes = await together(
            store.executions.commit(first),
            store.executions.commit(step(first, 1, state=b"winner")),
            store.executions.commit(step(first, 1, state=b"loser", frames={1: b"x"}, status="FAILED", stopped_ms=1)),
            store.executions.commit(step(first, 2, state=b"next")),
        )
        assert outcomes == (Committed(1), Committed(2), Stale(), Committed(3))
        assert await store.executions.load(1) == Stored(first.row, 3, b"next", {}, {})
        assert await store.executions.count_by_status(7) == counts(RUNNING=1)

    with_store(body)


def test_of_many_starts_with_one_name_the_first_wins(with_store):
    async def body(store: Store) -> None:
        commits = [start(n, "same" if n % 2 else None) for n in range(1, 20)]
        outcomes = await asyncio.gather(*[store.executions.commit(commit) for commit in commits])
        for commit, outcome in zip(commits, outcomes, strict=True):
            loses = commit.row.id % 2 == 1 and commit.row.id > 1
            assert outcome == (Existing(commits[0].row) if loses else Committed(1))
        assert await store.executions.count_by_status(None) == counts(RUNNING=10)

    with_store(body)


def test_a_repeated_start_in_one_breath_is_existing(with_store):
    async def body(store: Store) -> None:
        commit = start(1)
        outcomes = await together(store.executions.commit(commit), store.executions.commit(commit))
        assert outcomes == (Committed(1), Existing(commit.row))

    with_store(body)


def test_a_refused_commit_harms_nobody_else(with_store):
    async def body(store: Store) -> None:
        await store.executions.commit(start(1))
        broken = step(start(1), 1, history=page(1, 5), frames={1: b"x"})
        outcomes = await asyncio.gather(
            store.executions.commit(start(2)),
            store.executions.commit(broken),
            store.executions.commit(start(3)),
            store.executions.put_inbox(InboxRow(50, 1, "stop", b"")),
            return_exceptions=True,
        )
        assert outcomes[0] == outcomes[2] == Committed(1)
        assert isinstance(outcomes[1], StoreError)
        assert not isinstance(outcomes[1], Unavailable)
        stored = await store.executions.load(1)
        assert stored == Stored(row(1), 1, b"state 1", {}, {})
        assert (await store.executions.pending(0))[1] == [InboxRow(50, 1, "stop", b"")]

    with_store(body)


@pytest.mark.parametrize("many", [1, 3, 511, 512, 513, 1300])
def test_any_number_of_commits_and_rows(with_store, many):
    async def body(store: Store) -> None:
        commits = [start(n, outbox=(OutboxRow(n, n, "task", b"body"),)) for n in range(1, many + 1)]
        outcomes = await asyncio.gather(*[store.executions.commit(commit) for commit in commits])
        assert outcomes == [Committed(1)] * many
        wide = start(
            9_999,
            frames={n: b"frame %d" % n for n in range(many)},
            texts={b"%d" % n: b"text" for n in range(many)},
            timers=[TimerRow(9_999, n, START_MS + n) for n in range(many)],
        )
        await store.executions.commit(wide)
        stored = await store.executions.load(9_999)
        assert stored is not None
        assert (stored.frames, stored.texts) == (wide.frames, wide.texts)
        assert await store.executions.due(0, START_MS + many, many + 1) == list(wide.timers)
        assert len((await store.executions.pending(0))[0]) == many
        last = step(wide, 1, dropped=range(1, many), timers_done=wide.timers, outbox_done=range(1, many + 1))
        await store.executions.commit(last)
        stored = await store.executions.load(9_999)
        assert stored is not None
        assert stored.frames == {0: b"frame 0"}
        assert await store.executions.due(0, START_MS + many, many + 1) == []
        assert await store.executions.pending(0) == ([], [])

    with_store(body)


def test_texts_and_names_of_any_characters(with_store):
    async def body(store: Store) -> None:
        for number, name in enumerate(["a,b:c", "ü ✓ 🎉", "'; DROP TABLE execution; --", "x" * 80], 1):
            commit = start(number, name, head=bytes(range(256)), texts={bytes(16): b"\0"})
            await store.executions.commit(commit)
            assert await store.executions.commit(start(number + 100, name)) == Existing(commit.row)
            found = await store.executions.find(7, name)
            assert found == commit.row

    with_store(body)


# Lists and counts


def test_lists_go_newest_first_in_pages(with_store):
    async def body(store: Store) -> None:
        for number in range(1, 12):
            commit = start(number, started_ms=START_MS + number // 3, machine=7 if number != 5 else 8)
            await store.executions.commit(commit)
        found: list[int] = []
        after = None
        while True:
            listed = await store.executions.list_rows(7, status=None, after=after, limit=3)
            assert 0 < len(listed.rows) <= 3
            found += [row.id for row in listed.rows]
            after = listed.next
            if after is None:
                break
        assert found == [11, 10, 9, 8, 7, 6, 4, 3, 2, 1]

    with_store(body)


def test_the_last_page_that_is_just_full_has_no_next(with_store):
    async def body(store: Store) -> None:
        for number in (1, 2):
            await store.executions.commit(start(number))
        listed = await store.executions.list_rows(7, status=None, after=None, limit=2)
        assert [row.id for row in listed.rows] == [2, 1]
        assert listed.next is None
        assert (await store.executions.list_rows(99, status=None, after=None, limit=2)).rows == []

    with_store(body)


def test_a_list_survives_new_rows_between_its_pages(with_store):
    async def body(store: Store) -> None:
        for number in range(1, 5):
            await store.executions.commit(start(number))
        listed = await store.executions.list_rows(7, status=None, after=None, limit=2)
        await store.executions.commit(start(5))
        rest = await store.executions.list_rows(7, status=None, after=listed.next, limit=9)
        assert [row.id for row in rest.rows] == [2, 1]

    with_store(body)


def test_lists_by_status_follow_the_status(with_store):
    async def body(store: Store) -> None:
        commits = [start(number) for number in range(1, 7)]
        for commit in commits:
            await store.executions.commit(commit)
        for commit in commits[:2]:
            await store.executions.commit(end(commit, 1, "FAILED"))
        await store.executions.commit(end(commits[2], 1, "ABORTED"))

        async def ids(status: str) -> list[int]:
            listed = await store.executions.list_rows(7, status=status, after=None, limit=9)
            assert all(row.status == status for row in listed.rows)
            return [row.id for row in listed.rows]

        assert await ids("RUNNING") == [6, 5, 4]
        assert await ids("FAILED") == [2, 1]
        assert await ids("ABORTED") == [3]
        assert await ids("SUCCEEDED") == []
        redriven = step(commits[0], 2, status="RUNNING", stopped_ms=None)
        assert await store.executions.commit(redriven) == Committed(3)
        assert await ids("RUNNING") == [6, 5, 4, 1]
        assert await store.executions.row(1) == redriven.row

    with_store(body)


def test_counts_follow_every_commit(with_store):
    async def body(store: Store) -> None:
        commits = [start(n, machine=7 if n < 5 else 8) for n in range(1, 9)]
        await asyncio.gather(*[store.executions.commit(commit) for commit in commits])
        assert await store.executions.count_by_status(None) == counts(RUNNING=8)
        assert await store.executions.count_by_status(7) == counts(RUNNING=4)
        await store.executions.commit(step(commits[0], 1))
        await store.executions.commit(end(commits[0], 2))
        await store.executions.commit(end(commits[1], 1, "FAILED"))
        await store.executions.commit(end(commits[6], 1, "TIMED_OUT"))
        assert await store.executions.count_by_status(7) == counts(RUNNING=2, SUCCEEDED=1, FAILED=1)
        assert await store.executions.count_by_status(8) == counts(RUNNING=3, TIMED_OUT=1)
        await store.executions.commit(step(commits[1], 2, status="RUNNING", stopped_ms=None))
        assert await store.executions.count_by_status(None) == counts(RUNNING=6, SUCCEEDED=1, TIMED_OUT=1)
        assert await store.executions.count_by_status(9) == NOBODY

    with_store(body)


# History


@pytest.mark.parametrize(
    ("first", "pages", "reverse", "expected"),
    [
        (0, 9, False, [1, 4, 5, 9]),
        (1, 9, False, [1, 4, 5, 9]),
        (3, 9, False, [1, 4, 5, 9]),
        (4, 9, False, [4, 5, 9]),
        (8, 1, False, [5]),
        (10, 9, False, [9]),
        (11, 9, False, []),
        (0, 9, True, [9, 5, 4, 1]),
        (0, 2, True, [9, 5]),
        (99, 9, True, [9, 5, 4, 1]),
        (9, 1, True, [9]),
        (8, 9, True, [5, 4, 1]),
        (1, 9, True, [1]),
    ],
)
def test_history_pages_from_an_event_on(with_store, first, pages, reverse, expected):
    async def body(store: Store) -> None:
        commit = start(1, history=page(1, 3))
        await store.executions.commit(commit)
        await store.executions.commit(start(2, history=page(1, 7)))
        for version, (number, count) in enumerate([(4, 1), (5, 4), (9, 2)], 1):
            await store.executions.commit(step(commit, version, history=page(number, count)))
        await store.executions.commit(step(commit, 4))
        found = await store.executions.history(1, first=first, pages=pages, reverse=reverse)
        assert [p.first for p in found] == expected
        assert all(p == HistoryPage(p.first, p.count, START_MS, b"events from %d" % p.first) for p in found)

    with_store(body)


# Timers, outbox, inbox


def test_due_timers_come_earliest_first(with_store):
    async def body(store: Store) -> None:
        timers = [TimerRow(1, 4, START_MS + 30), TimerRow(1, 2, START_MS + 10), TimerRow(1, 3, START_MS + 10)]
        commit = start(1, timers=timers)
        await store.executions.commit(commit)
        await store.executions.commit(start(2, timers=(TimerRow(2, 1, START_MS + 20),)))
        assert await store.executions.due(0, START_MS + 9, 9) == []
        assert await store.executions.due(0, START_MS + 10, 9) == [timers[1], timers[2]]
        assert [t.timer for t in await store.executions.due(0, START_MS + 99, 9)] == [2, 3, 1, 4]
        assert [t.timer for t in await store.executions.due(0, START_MS + 99, 3)] == [2, 3, 1]
        page = await store.executions.due(0, START_MS + 99, 2, after=timers[1])
        assert [t.timer for t in page] == [3, 1]
        assert [t.timer for t in await store.executions.due(0, START_MS + 99, 9, after=page[-1])] == [4]
        assert await store.executions.due(0, START_MS + 20, 9, after=page[-1]) == []
        await store.executions.commit(step(commit, 1, timers=(timers[0],), timers_done=(timers[1],)))
        assert [t.timer for t in await store.executions.due(0, START_MS + 99, 9)] == [3, 1, 4]

    with_store(body)


def test_shards_are_kept_apart(with_store):
    async def body(store: Store) -> None:
        for shard in (0, 1, 1023):
            one = first_id(shard) + 5
            commit = start(
                one,
                shard=shard,
                timers=(TimerRow(one, 1, START_MS),),
                outbox=(OutboxRow(one + 1, one, "task", b"o"),),
                inbox=(InboxRow(one + 2, one, "continue", b"i"),),
            )
            await store.executions.commit(commit)
        for shard in (0, 1, 1023):
            one = first_id(shard) + 5
            assert await store.executions.due(shard, START_MS, 9) == [TimerRow(one, 1, START_MS)]
            outbox, inbox = await store.executions.pending(shard)
            assert outbox == [OutboxRow(one + 1, one, "task", b"o")]
            assert inbox == [InboxRow(one + 2, one, "continue", b"i")]
            assert await store.newest_id(shard) == one + 2
        assert await store.newest_id(2) == 0
        assert await store.executions.count_by_status(None) == counts(RUNNING=3)

    with_store(body)


def test_outbox_and_inbox_are_taken_up_by_id(with_store):
    async def body(store: Store) -> None:
        commit = start(1, outbox=(OutboxRow(30, 1, "task", b"c"), OutboxRow(10, 1, "task", b"a")))
        await store.executions.commit(commit)
        await store.executions.put_inbox(InboxRow(21, 1, "stop", b"x"))
        await store.executions.put_inbox(InboxRow(20, 77, "stop", b"nobody"))
        outbox, inbox = await store.executions.pending(0)
        assert [sent.id for sent in outbox] == [10, 30]
        assert inbox == [InboxRow(20, 77, "stop", b"nobody"), InboxRow(21, 1, "stop", b"x")]
        following = step(commit, 1, outbox=(OutboxRow(40, 1, "x", b""),), outbox_done=(10,), inbox_done=(21,))
        await store.executions.commit(following)
        outbox, inbox = await store.executions.pending(0)
        assert [sent.id for sent in outbox] == [30, 40]
        assert [waits.id for waits in inbox] == [20]

    with_store(body)


def test_inputs_of_some_kinds(with_store):
    async def body(store: Store) -> None:
        rows = [InboxRow(50 + n, 1, kind, b"x") for n, kind in enumerate(["stop", "express", "continue", "stop"])]
        for one in (*reversed(rows), InboxRow(first_id(3) + 1, first_id(3), "stop", b"")):
            await store.executions.put_inbox(one)
        assert await store.executions.inbox_of([0], ("stop", "continue"), 10) == [rows[0], rows[2], rows[3]]
        assert await store.executions.inbox_of([0], ("stop", "continue"), 2) == [rows[0], rows[2]]
        assert await store.executions.inbox_of([0], ("it's",), 10) == []
        assert await store.executions.inbox_of([], ("stop",), 10) == []
        (other,) = await store.executions.inbox_of([3], ("stop",), 10)
        assert await store.executions.inbox_of([3, 0, 2], ("stop",), 10) == [rows[0], rows[3], other]
        assert await store.executions.inbox_of([3, 0], ("stop", "continue"), 1) == [rows[0], other]
        store.check_lease()

    with_store(body)


def test_a_store_that_was_read_through_has_no_fault(with_store):
    async def body(store: Store) -> None:
        await store.executions.put_inbox(InboxRow(20, 1, "stop", b"x"))
        assert await store.examine() is None

    with_store(body)


def test_an_inbox_row_that_comes_twice_is_there_once(with_store):
    async def body(store: Store) -> None:
        one = InboxRow(20, 1, "stop", b"x")
        await asyncio.gather(store.executions.put_inbox(one), store.executions.put_inbox(one))
        await store.executions.put_inbox(one)
        assert (await store.executions.pending(0))[1] == [one]

    with_store(body)


def test_discard_deletes_what_nobody_waits_for(with_store):
    async def body(store: Store) -> None:
        timers = (TimerRow(1, 1, START_MS), TimerRow(1, 2, START_MS))
        await store.executions.commit(
            start(1, timers=timers, outbox=(OutboxRow(10, 1, "", b""), OutboxRow(11, 1, "", b"")))
        )
        await store.executions.put_inbox(InboxRow(20, 1, "stop", b"x"))
        await store.executions.discard([timers[0], TimerRow(5, 5, 5)], [11, 99], [20])
        await store.executions.discard([], [], [])
        assert await store.executions.due(0, START_MS, 9) == [timers[1]]
        assert await store.executions.pending(0) == ([OutboxRow(10, 1, "", b"")], [])

    with_store(body)


# Retention


def test_forget_deletes_the_oldest_closed_executions_with_all_they_have(with_store):
    async def body(store: Store) -> None:
        commits = []
        for number in range(1, 7):
            commit = start(
                number,
                head=b"h" * 2000,
                frames={1: b"f"},
                texts={b"t": b"t"},
                timers=(TimerRow(number, 1, START_MS),),
                outbox=(OutboxRow(number, number, "task", b""),),
                inbox=(InboxRow(number, number, "stop", b""),),
            )
            commits.append(commit)
            await store.executions.commit(commit)
        ends = [(2, "FAILED", 30), (3, "SUCCEEDED", 10), (4, "ABORTED", 20), (5, "TIMED_OUT", 500)]
        for number, status, stopped in ends:
            await store.executions.commit(end(commits[number - 1], 1, status, START_MS + stopped))
        pending = end(commits[5], 1, "PENDING_REDRIVE", START_MS + 1)
        await store.executions.commit(pending)

        assert await store.executions.forget(START_MS + 31, 2) == 2
        assert [n for n in range(1, 7) if await store.executions.row(n)] == [1, 2, 5, 6]
        assert await store.executions.forget(START_MS + 30, 9) == 0
        assert await store.executions.forget(START_MS + 31, 9) == 1
        assert await store.executions.forget(START_MS + 31, 9) == 0
        for number in (2, 3, 4):
            assert await store.executions.load(number) is None
            assert await store.executions.find(7, f"run-{number}") is None
            assert await store.executions.history(number, first=0, pages=9, reverse=False) == []
        outbox, inbox = await store.executions.pending(0)
        assert [sent.id for sent in outbox] == [waits.id for waits in inbox] == [1, 5, 6]
        assert [t.execution for t in await store.executions.due(0, START_MS, 9)] == [1, 5, 6]
        assert await store.executions.count_by_status(7) == counts(RUNNING=1, TIMED_OUT=1, PENDING_REDRIVE=1)
        assert await store.executions.count_by_status(None) == counts(RUNNING=1, TIMED_OUT=1, PENDING_REDRIVE=1)
        listed = await store.executions.list_rows(7, status=None, after=None, limit=9)
        assert [row.id for row in listed.rows] == [6, 5, 1]
        assert await store.executions.commit(start(20, "run-2")) == Committed(1)

    with_store(body)


def test_a_name_that_was_forgotten_starts_with_nothing_left_over(with_store):
    async def body(store: Store) -> None:
        first = start(1, frames={1: b"f"}, texts={b"t": b"t"})
        await store.executions.commit(first)
        await store.executions.commit(end(first, 1, "FAILED", START_MS + 1))
        await store.executions.forget(START_MS + 5, 1)
        again = start(1, history=page(1, 1))
        assert await store.executions.commit(again) == Committed(1)
        assert await store.executions.load(1) == Stored(again.row, 1, b"state 1", {}, {})
        assert await store.executions.history(1, first=0, pages=9, reverse=False) == [page(1, 1)]

    with_store(body)


# The catalogue


def record(key: str, version: int = 1, sort: int = 0, parent: str = "p", kind: str = "machine") -> EntryRow:
    return EntryRow(kind, key, parent, sort, version, b"%s %d" % (key.encode(), version))


def test_records_are_written_by_version(with_store):
    async def body(store: Store) -> None:
        catalogue = store.catalogue
        assert await catalogue.get("machine", "a") is None
        assert await catalogue.write([record("a", 2)]) is False
        assert await catalogue.write([record("a", 1)]) is True
        assert await catalogue.write([record("a", 1)]) is False
        assert await catalogue.get("machine", "a") == record("a", 1)
        assert await catalogue.write([record("a", 3)]) is False
        moved = record("a", 2, sort=9, parent="q")
        assert await catalogue.write([moved]) is True
        assert await catalogue.get("machine", "a") == moved
        assert await catalogue.get("alias", "a") is None
        assert await catalogue.list_entries("machine", "p", after=None, limit=9, newest_first=False) == []
        assert await catalogue.list_entries("machine", "q", after=None, limit=9, newest_first=False) == [moved]

    with_store(body)


def test_a_write_over_several_records_is_all_or_nothing(with_store):
    async def body(store: Store) -> None:
        catalogue = store.catalogue
        assert await catalogue.write([record("a"), record("b")])
        assert not await catalogue.write([record("a", 2), record("c", 5)], [("machine", "b")])
        assert await catalogue.get("machine", "a") == record("a")
        assert await catalogue.get("machine", "b") == record("b")
        assert await catalogue.write([record("a", 2), record("c")], [("machine", "b"), ("machine", "nobody")])
        assert await catalogue.get("machine", "b") is None
        assert await catalogue.get("machine", "c") == record("c")
        assert await catalogue.write([record("b")])

    with_store(body)


def test_of_two_writers_of_one_version_one_wins(with_store):
    async def body(store: Store) -> None:
        await store.catalogue.write([record("a")])
        twins = [replace(record("a", 2), body=b"first"), replace(record("a", 2), body=b"second")]
        assert await asyncio.gather(*[store.catalogue.write([twin]) for twin in twins]) == [True, False]
        assert await store.catalogue.get("machine", "a") == twins[0]

    with_store(body)


def test_writes_that_meet_act_in_their_order(with_store):
    chance = Random(5)
    keys = "abcdef"

    def drawn() -> tuple[list[EntryRow], list[tuple[str, str]]]:
        put = [record(key, chance.randint(1, 3)) for key in chance.sample(keys, chance.randint(0, 2))]
        return put, [("machine", key) for key in chance.sample(keys, chance.randint(0, 2))]

    writes = [drawn() for _ in range(200)]
    versions: dict[str, int] = {}
    fits = []
    for put, delete in writes:
        fits.append(all(versions.get(row.key, 0) == row.version - 1 for row in put))
        if fits[-1]:
            for _, key in delete:
                versions.pop(key, None)
            versions.update({row.key: row.version for row in put})

    async def body(store: Store) -> None:
        assert await asyncio.gather(*[store.catalogue.write(*one) for one in writes]) == fits
        left = await store.catalogue.list_entries("machine", "p", after=None, limit=99, newest_first=False)
        assert {row.key: row.version for row in left} == versions
        assert len(set(fits)) == 2

    with_store(body)


def test_entries_are_listed_by_sort_and_key(with_store):
    async def body(store: Store) -> None:
        entries = [record("d", sort=1), record("a", sort=2), record("b", sort=2), record("c", sort=3)]
        await store.catalogue.write([*reversed(entries), record("x", parent="q"), record("y", kind="alias")])

        async def keys(after: tuple[int, str] | None, limit: int, newest_first: bool) -> str:
            found = await store.catalogue.list_entries(
                "machine", "p", after=after, limit=limit, newest_first=newest_first
            )
            return "".join(entry.key for entry in found)

        assert await keys(None, 9, False) == "dabc"
        assert await keys(None, 9, True) == "cbad"
        assert await keys(None, 2, False) == "da"
        assert await keys(None, 2, True) == "cb"
        assert await keys((2, "a"), 9, False) == "bc"
        assert await keys((2, "a"), 9, True) == "d"
        assert await keys((2, "aa"), 1, False) == "b"
        assert await keys((3, "c"), 9, False) == ""

    with_store(body)


def test_numbers_are_never_given_twice(with_store):
    async def body(store: Store) -> None:
        found = await asyncio.gather(*[store.catalogue.next_number("a") for _ in range(20)])
        assert sorted(found) == list(range(1, 21))
        assert await store.catalogue.next_number("b") == 1

    with_store(body)


# Opening and closing


def test_everything_is_there_after_a_restart(make_store):
    async def body() -> None:
        store = make_store()
        commit = start(1, frames={1: b"f"}, timers=(TimerRow(1, 1, START_MS),))
        assert await store.open("first") == 1
        await store.executions.commit(commit)
        await store.catalogue.write([record("a")])
        await store.catalogue.next_number("n")
        await store.close()
        assert await store.open("second") == 2
        try:
            assert await store.executions.load(1) == Stored(commit.row, 1, b"state 1", {1: b"f"}, {})
            assert await store.executions.due(0, START_MS, 1) == [TimerRow(1, 1, START_MS)]
            assert await store.catalogue.get("machine", "a") == record("a")
            assert await store.catalogue.next_number("n") == 2
            assert await store.newest_id(0) == 1
        finally:
            await store.close()

    asyncio.run(body())


def test_closing_writes_what_is_queued(make_store):
    async def body() -> None:
        store = make_store()
        await store.open("first")
        tasks = [asyncio.ensure_future(store.executions.commit(start(n))) for n in range(1, 700)]
        await asyncio.sleep(0)
        await store.close()
        assert await asyncio.gather(*tasks) == [Committed(1)] * 699
        await store.open("second")
        assert await store.executions.count_by_status(None) == counts(RUNNING=699)
        await store.close()

    asyncio.run(body())


def test_a_closed_store_is_unavailable(make_store):
    async def body() -> None:
        store = make_store()
        executions, catalogue = store.executions, store.catalogue
        for opened in (False, True):
            if opened:
                await store.open("test")
                await store.close()
            calls: tuple[Callable[[], Awaitable[object]], ...] = (
                lambda: executions.commit(start(1)),
                lambda: executions.load(1),
                lambda: executions.row(1),
                lambda: executions.find(7, "x"),
                lambda: executions.list_rows(7, status=None, after=None, limit=1),
                lambda: executions.count_by_status(None),
                lambda: executions.history(1, first=0, pages=1, reverse=False),
                lambda: executions.due(0, 1, 1),
                lambda: executions.pending(0),
                lambda: executions.put_inbox(InboxRow(1, 1, "", b"")),
                lambda: executions.forget(1, 1),
                lambda: executions.discard([], [], []),
                lambda: catalogue.get("a", "b"),
                lambda: catalogue.write([]),
                lambda: catalogue.list_entries("a", "b", after=None, limit=1, newest_first=False),
                lambda: catalogue.next_number("n"),
            )
            for call in calls:
                with pytest.raises(Unavailable, match="closed"):
                    await call()
        await store.close()

    asyncio.run(body())


def test_a_store_in_use_is_refused(make_store):
    async def body() -> None:
        store = make_store()
        await store.open("alice")
        with pytest.raises(Unavailable, match="in use by"):
            await store.open("bob")
        await store.executions.commit(start(1))
        await store.close()
        assert await store.open("bob") == 2
        await store.close()

    asyncio.run(body())


def test_a_caller_who_gives_up_leaves_the_commit_written(with_store):
    async def body(store: Store) -> None:
        task = asyncio.ensure_future(store.executions.commit(start(1)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await store.executions.commit(start(2)) == Committed(1)
        assert await store.executions.row(1) is not None

    with_store(body)
