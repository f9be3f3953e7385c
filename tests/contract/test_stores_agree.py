"""Any sequence of commits leaves the same in every store; the one in memory, written by the letter, is the model."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.stores.protocol import STATUSES, Commit, Existing, HistoryPage, InboxRow, OutboxRow, TimerRow
from statewright.stores.store import Store
from tests.contract.stores import MAKERS, START_MS, row
from tests.thoroughness import examples

IDS = st.integers(1, 5)
FEW = st.integers(1, 4)
NAMES = {1: "a", 2: "b", 3: "b", 4: "c", 5: "c"}
"""An id has one name for ever. 2 and 3 fight for theirs, in different groups: within one, either may be first."""

BODY = st.binary(max_size=3)


@st.composite
def rows_of_commits(draw: st.DrawFn) -> Commit:
    number = draw(IDS)
    status = draw(st.sampled_from(STATUSES))
    base = row(
        number,
        NAMES[number],
        status=status,
        stopped_ms=None if status == "RUNNING" else START_MS + draw(FEW),
        started_ms=START_MS + number % 3,
        machine=7 if number < 5 else 8,
        tail=draw(BODY),
        head=draw(BODY) * draw(st.sampled_from([1, 1000])),
    )
    # No id serves two executions.
    own = st.integers(10 * number + 1, 10 * number + 4)
    timers = st.lists(st.builds(TimerRow, st.just(number), FEW, st.just(START_MS)), max_size=2)
    effects = st.lists(st.builds(OutboxRow, own, st.just(number), st.just("task"), st.just(b"o")), max_size=2)
    inputs = st.lists(st.builds(InboxRow, own, st.just(number), st.just("stop"), st.just(b"i")), max_size=2)
    return Commit(
        base,
        draw(st.integers(0, 4)),
        draw(st.none() | BODY),
        frames=draw(st.dictionaries(FEW, BODY, max_size=3)),
        dropped=draw(st.lists(FEW, max_size=2)),
        texts=dict.fromkeys(draw(st.lists(st.sampled_from([b"a", b"b"]), max_size=2)), b"text"),
        timers=draw(timers),
        timers_done=draw(timers),
        outbox=draw(effects),
        outbox_done=draw(st.lists(own, max_size=2)),
        inbox=draw(inputs),
        inbox_done=draw(st.lists(own, max_size=2)),
    )


async def outcomes_and_contents(store: Store, groups: list[list[Commit]]) -> list[object]:
    """What the commits answer, a group at a time, and everything that the store shows afterwards."""
    seen: list[object] = []
    first = 1
    await store.open("test")
    for group in groups:
        commits = []
        has_two = any(drawn.row.id == 2 for drawn in group)
        for drawn in group:
            if has_two and drawn.row.id == 3:
                continue
            commits.append(replace(drawn, history=HistoryPage(first, 2, START_MS, b"%d" % first)))
            first += 2
        answers = await asyncio.gather(*[store.executions.commit(commit) for commit in commits])
        # Which of a group's commits the row of an `Existing` has seen already is the store's own business.
        seen.extend(answer.row.id if isinstance(answer, Existing) else answer for answer in answers)
    seen.append(await store.executions.count_by_status(None))
    for machine in (7, 8):
        seen.append(await store.executions.count_by_status(machine))
        for status in (None, *STATUSES):
            listed = await store.executions.list_rows(machine, status=status, after=None, limit=9)
            seen.append([found.id for found in listed.rows])
    for number in range(1, 6):
        seen.append(await store.executions.load(number))
        seen.append(await store.executions.history(number, first=0, pages=99, reverse=True))
    seen.append(await store.executions.due(0, START_MS + 99, 99))
    seen.append(await store.executions.pending(0))
    seen.append(await store.executions.forget(START_MS + 3, 2))
    seen.append(await store.executions.count_by_status(None))
    seen.append(await store.executions.pending(0))
    seen.append([await store.executions.load(number) for number in range(1, 6)])
    await store.close()
    return seen


@settings(max_examples=examples(60))
@given(st.lists(st.lists(rows_of_commits(), min_size=1, max_size=6), min_size=1, max_size=4))
def test_every_store_answers_and_holds_the_same(groups):
    async def run(name: str) -> list[object]:
        with tempfile.TemporaryDirectory() as folder:
            return await outcomes_and_contents(MAKERS[name](Path(folder)), groups)

    expected = asyncio.run(run("memory"))
    for name in MAKERS:
        if name != "memory":
            assert asyncio.run(run(name)) == expected
