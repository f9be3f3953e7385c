"""Metrics and entries of the catalogue on their way from a worker to the home."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import pytest

from statewright.api.nodes.client import NodeClient
from statewright.api.nodes.metrics import MetricFeed, Points, decode_points, encode_points
from statewright.api.nodes.notes import NotesAtHome, decode_entries, encode_entries
from statewright.api.nodes.peers import Peer
from statewright.clock import Clock
from statewright.errors import StoreError, Unavailable, Unreadable
from statewright.metrics.points import Point, point_of
from statewright.metrics.recorder import Recorder
from statewright.metrics.series import MetricId
from statewright.stores.protocol import EntryRow
from tests.unit.api.apps import services_of
from tests.unit.api.nodes.cluster import Node, cluster, silent
from tests.unit.api.nodes.engines import placed

START = 1_700_000_000
CALLS = MetricId.of("AWS/Lambda", "Invocations", {"FunctionName": "f", "Resource": "f:live"})


# ------------------------------------------------------------------ metrics


class SetClock:
    """A clock that stands still until a test moves it, and has no timers."""

    def __init__(self) -> None:
        self.second = START

    def now_ms(self) -> int:
        return self.second * 1000

    def call_at(self, _at_ms: int, _work: Any) -> Any:
        return self

    def cancel(self) -> None:
        pass


def totals(recorder: Recorder) -> dict[int, float]:
    """Sums of the metric by second, counted from the start."""
    found = recorder.find(CALLS)
    return {one.at - START: one.total for one in found.seconds.between(0, START + 99)} if found is not None else {}


class Counting:
    """A worker's recorder with its feed, and the recorder of the home of node a."""

    def __init__(self, nodes: list[Node], by: int) -> None:
        self.nodes = nodes
        self.rows = nodes[0].directory.rows
        self.clock = SetClock()
        clock = cast("Clock", self.clock)
        self.home, self.worker = Recorder(clock), Recorder(clock)
        app = nodes[0].apps.home
        assert app is not None
        nodes[0].apps.home = replace(app, services=services_of(metrics=self.home))
        node = nodes[by]
        self.feed = MetricFeed(node.apps, node.directory, node.client, self.worker, clock)

    def count(self, value: float = 1) -> None:
        self.worker.counter(CALLS.namespace, CALLS.name, dict(CALLS.dimensions)).add(value)

    async def a_second_later(self) -> None:
        self.worker.settle()
        self.clock.second += 1
        await self.feed.send()


@asynccontextmanager
async def counting(by: int = 1) -> AsyncIterator[Counting]:
    """Two nodes, of which a has the home; `by` is the place of the node that counts."""
    async with cluster("a", "b") as nodes:
        for node in nodes:
            placed(node, has_home=node.name == "a")
        yield Counting(nodes, by)


def test_points_arrive_with_spreads_and_dimensions():
    points: Points = [
        (CALLS, "Count", [Point(START, 3, 3, 1, 1, 1), point_of(START + 1, {0.25: 2, 7: 1, -1e300: 4})]),
        (MetricId("é", "without dimensions"), "Milliseconds", [Point(START, 2, 5, 1, 4, 4)]),
    ]
    assert points[0][2][1].spread is not None
    assert decode_points(encode_points(points)) == points


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[1]", b'[[["n", "m"], "Count", []]]', b'[[["n", "m", []], "Count", [[1]]]]']
)
def test_what_is_no_metrics(body):
    with pytest.raises(Unreadable):
        decode_points(body)


@pytest.mark.parametrize("by", [0, 1])
def test_counts_reach_the_home_once_by_the_second(by):
    async def test() -> None:
        async with counting(by) as made:
            for value in (1, 5):
                made.count(value)
            await made.a_second_later()
            made.count(4)
            await made.feed.send()
            assert totals(made.home) == {0: 6}, "the present second is not over"
            await made.a_second_later()
            await made.a_second_later()
            assert totals(made.home) == {0: 6, 1: 4}
            found, own = made.home.find(CALLS), made.worker.find(CALLS)
            assert found is not None
            assert own is not None
            assert (found.id, found.unit) == (CALLS, "Count")
            assert found.seconds.between(0, START + 9) == own.seconds.between(0, START + 9)
            assert made.nodes[1].client.calls == (2 if by == 1 else 0)

    asyncio.run(test())


def test_levels_are_not_sent():
    async def test() -> None:
        async with counting() as made:
            gauge = made.worker.gauge("n", "level", {}, "Count", lambda: 3.0)
            gauge.touch()
            await made.a_second_later()
            assert made.worker.find(MetricId("n", "level")) is gauge
            assert list(made.home.all()) == []

    asyncio.run(test())


def test_counts_wait_for_a_home_and_are_sent_once():
    async def test() -> None:
        async with counting() as made:
            made.rows.home = None
            for value in (1, 2):
                made.count(value)
                await made.a_second_later()
            # A node that does not have the home says that, and the rows are read again.
            made.rows.home = "a"
            made.nodes[1].directory.stale_home = "b"
            made.count(3)
            await made.a_second_later()
            assert made.nodes[1].directory.refreshed == 1
            assert totals(made.home) == {}
            for _ in range(2):
                await made.a_second_later()
            assert totals(made.home) == {0: 1, 1: 2, 2: 3}

    asyncio.run(test())


def test_counts_that_were_not_answered_are_not_sent_again():
    async def test() -> None:
        async with counting() as made, silent() as port:
            made.rows.peers["gone"] = Peer("gone", f"http://127.0.0.1:{port}", 1)
            made.rows.home = "gone"
            made.count(1)
            await made.a_second_later()
            made.rows.home = "a"
            made.count(2)
            await made.a_second_later()
            assert totals(made.home) == {1: 2}

    asyncio.run(test())


def test_counts_that_the_home_cannot_read_are_dropped(monkeypatch, caplog):
    async def test() -> None:
        async with counting() as made:
            with monkeypatch.context() as patch:
                patch.setattr("statewright.api.nodes.metrics.encode_points", lambda _: b"{")
                made.count(1)
                await made.a_second_later()
            made.count(2)
            await made.a_second_later()
            assert totals(made.home) == {1: 2}
            assert "a message to the home is dropped: a cannot answer" in caplog.text

    asyncio.run(test())


def test_a_feed_that_stops_sends_the_present_second_and_nothing_twice():
    async def test() -> None:
        async with counting() as made:
            asked = asyncio.Event()

            class Hanging(NodeClient):
                async def call(self, *_: Any) -> Any:
                    asked.set()
                    await asyncio.Event().wait()

            client = made.feed._client
            made.feed._client = cast("NodeClient", Hanging.__new__(Hanging))
            made.count(1)
            sending = made.feed._background.spawn(made.a_second_later())
            await asked.wait()
            made.feed._client = client
            made.count(2)
            await made.feed.stop()
            assert sending.cancelled()
            assert totals(made.home) == {1: 2}

    asyncio.run(test())


# ------------------------------------------------------------------ entries of the catalogue

ENTRIES = [EntryRow("execution", "arn:é", "p", 7, 0, b"\0\xff"), EntryRow("map-run", "k", "", -1, 3, b"")]


def test_entries_arrive_as_they_were():
    assert decode_entries(encode_entries(ENTRIES)) == ENTRIES


@pytest.mark.parametrize("body", [b"", b"{}x", b"[1]", b'[["k", "y", "", 1, 1, "abc"]]', b'[["k"]]'])
def test_what_is_no_entries(body):
    with pytest.raises(Unreadable):
        decode_entries(body)


@asynccontextmanager
async def noting(answer: bool | Exception = True) -> AsyncIterator[tuple[list[Node], list[Any], list[NotesAtHome]]]:
    """Two nodes, of which a has the home, which answers so; what it was asked to write; the notes of both workers."""
    written: list[Any] = []

    async def note(entries: Sequence[EntryRow]) -> bool:
        written.append(entries)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async with cluster("a", "b") as nodes:
        for node in nodes:
            placed(node, has_home=node.name == "a")
        app = nodes[0].apps.home
        assert app is not None
        cast("Any", app.engine).note = note
        yield nodes, written, [NotesAtHome(one.apps, one.directory, one.client) for one in nodes]


@pytest.mark.parametrize("answer", [True, False])
def test_the_home_writes_entries_here_or_at_its_node(answer):
    async def test() -> None:
        async with noting(answer) as (nodes, written, notes):
            assert [await one(ENTRIES) for one in notes] == [answer, answer]
            assert written == [ENTRIES, ENTRIES]
            assert [node.client.calls for node in nodes] == [0, 1]

    asyncio.run(test())


def test_entries_that_the_home_cannot_write():
    async def test() -> None:
        async with noting(StoreError("no business of a worker")) as (_, written, notes):
            for one in notes:
                with pytest.raises(StoreError, match="no business"):
                    await one(ENTRIES)
            assert written == [ENTRIES, ENTRIES]

    asyncio.run(test())


def test_entries_while_the_home_is_not_there_or_has_moved():
    async def test() -> None:
        async with noting() as (nodes, written, notes), silent() as port:
            rows = nodes[0].directory.rows
            rows.peers["gone"] = Peer("gone", f"http://127.0.0.1:{port}", 1)
            for home in ("gone", None):
                rows.home = home
                with pytest.raises(Unavailable):
                    await notes[1](ENTRIES)
            rows.home = "a"
            nodes[1].directory.stale_home = "b"
            with pytest.raises(Unavailable, match="any more"):
                await notes[1](ENTRIES)
            assert written == []
            assert await notes[1](ENTRIES)
            assert written == [ENTRIES]

    asyncio.run(test())
