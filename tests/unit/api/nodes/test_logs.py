"""Log events on their way from a worker to the home: in files, between processes of a test, on virtual time."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from statewright.api.nodes import logs as node_logs
from statewright.api.nodes.client import NodeClient
from statewright.api.nodes.links import Unanswered
from statewright.api.nodes.logs import (
    AGAIN_MS,
    LATE_MS,
    LONG_MS,
    LogFeed,
    decode_batch,
    encode_batch,
    encode_events,
    log_feed,
)
from statewright.api.nodes.peers import Peer
from statewright.api.operations import App
from statewright.clock import Clock
from statewright.config import Config
from statewright.engine.executions import logs as execution_logs
from statewright.engine.executions.logs import ExecutionLogs, LogSettings
from statewright.errors import Unavailable, Unreadable
from statewright.functions.logs import Logs
from statewright.interpreter.history import HistoryEvent
from statewright.log_export import exporting
from statewright.log_export.encoding import Written
from statewright.records.log_files import Line, LogEvent, forwards
from statewright.records.log_groups import LogGroups
from statewright.stores.memory.store import MemoryStore
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.api.apps import app_of
from tests.unit.api.nodes.cluster import Node, Rows, cluster

MACHINES = "machines"
FUNCTION = "/aws/lambda/f"


class Files:
    """The logs of one system, which are files below a folder."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.histories = ExecutionLogs(folder)
        self.outputs = Logs(folder / "functions" / "logs", clock)
        engine = SimpleNamespace(history_log=SimpleNamespace(logs=self.histories))
        functions = SimpleNamespace(logs=self.outputs)
        self.app: App = app_of(Config(), clock, engine=engine, functions=functions)
        self._folder = folder
        self._clock = clock
        self._number = 0

    def output(self, *lines: str, stream: str = "s") -> None:
        self.outputs.append("f", stream, "\n".join(lines).encode())

    def history(self, *types: str, group: str = MACHINES) -> None:
        for one in types:
            self._number += 1
            event = HistoryEvent(self._number, self._number - 1, self._clock.now_ms(), one, None)
            self.histories.log(LogSettings("ALL", True, group), [event], "arn", 0)

    async def groups(self) -> LogGroups:
        store = MemoryStore()
        await store.open("test")
        return LogGroups(store.catalogue, self._clock, Config(), self._folder / "logs", self.outputs)

    async def events(self, group: str) -> list[LogEvent]:
        """What the files of a group have, all lines written."""
        self.histories.close()
        lanes = await (await self.groups()).lanes(group)
        return [line.event for lane in lanes for line in forwards(lane, None, None)]

    async def messages(self, group: str = FUNCTION) -> list[str]:
        return [one.message for one in await self.events(group)]

    async def types(self, group: str = MACHINES) -> list[str]:
        return [json.loads(one)["type"] for one in await self.messages(group)]


class Wire:
    """Takes calls to the nodes of a test without ports. `before` and `behind` may raise around each of them."""

    def __init__(self, nodes: dict[str, Node]) -> None:
        self.nodes = nodes
        self.bodies: list[bytes] = []
        self.before: Callable[[], None] = lambda: None
        self.behind: Callable[[], None] = lambda: None

    async def call(self, peer: Peer, path: str, body: bytes, _timeout_seconds: float) -> tuple[int, bytes]:
        self.before()
        self.bodies.append(body)
        calls = self.nodes[peer.name].calls
        answer = await calls._answered(calls._answers[path](body, "", None), path)
        self.behind()
        return answer


class Site:
    """Nodes a and b of a cluster, of which a has the home; the worker of b, or of another one, sends its logs."""

    def __init__(self, clock: VirtualClock, folder: Path, by: str = "b") -> None:
        self.clock = clock
        self.folder = folder
        self.rows = Rows(clock, home="a")
        self.nodes = {name: Node(self.rows, name, clock=clock) for name in "ab"}
        self.homes: dict[str, Files] = {}
        for name, node in self.nodes.items():
            self.rows.peers[name] = Peer(name, f"http://{name}", 1)
            self.homes[name] = Files(folder / name, clock)
            node.apps.home = self.homes[name].app
        self.by = self.nodes[by]
        self.wire = Wire(self.nodes)
        self.home = self.homes["a"]
        self.worker: Files
        self.feed: LogFeed

    async def started(self) -> Site:
        """Start the worker, anew if it has run: what it had in memory is dropped."""
        data = self.folder / self.by.name / "node"
        self.worker = Files(data, self.clock)
        client = cast("NodeClient", self.wire)
        self.feed = LogFeed(self.by.logs, self.by.directory, client, self.clock, self.by.name)
        self.export = await log_feed(self.worker.app, self.feed, data)
        await self.export.start()
        return self

    async def killed(self) -> None:
        """End the sending as a kill does; the lines of the worker are in its files."""
        self.worker.histories.close()
        self.worker.outputs.flush()
        self.export._is_running = False
        self.export._cancel_timer()
        await self.export._background.stop()

    async def after(self, ms: int = 2_000) -> None:
        await self.clock.sleep_until(self.clock.now_ms() + ms)


def on_site(story: Callable[[Site], Any], folder: Path, by: str = "b") -> None:
    async def main(clock: VirtualClock) -> None:
        site = await Site(clock, folder, by).started()
        await story(site)
        await site.export.stop()

    run_virtual(main)


def lines_of(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(one.levelname, one.getMessage()) for one in caplog.records if one.name == "statewright.nodes"]


# ------------------------------------------------------------------ messages


def line(stream: str, message: str, at_ms: int = 5) -> Line:
    return Line(LogEvent(at_ms, at_ms, stream, message), (0, 0), (0, 1))


def test_events_arrive_as_they_were_with_their_kind():
    written = [
        Written(FUNCTION, [line("2026/01/01/[$LATEST]a", "é\ttab\r"), line("states/2026-01-01", "{}")]),
        Written(MACHINES, [line("states/2026-01-01", '{"a":1}', 7)]),
    ]
    sender, number, groups = decode_batch(encode_batch("b 1", 3, encode_events(written)))
    assert (sender, number) == ("b 1", 3)
    assert [(one.group, one.is_history, one.events) for one in groups] == [
        (FUNCTION, False, [(5, "2026/01/01/[$LATEST]a", "é\ttab\r")]),
        (FUNCTION, True, [(5, "states/2026-01-01", "{}")]),
        (MACHINES, True, [(7, "states/2026-01-01", '{"a":1}')]),
    ]


HEAD = b'["b",1]\n'


@pytest.mark.parametrize(
    "body",
    [
        b"", HEAD, b"[]", b'["b"]\n[]', b'[1,1]\n[]', b'["b","1"]\n[]', b'["b",true]\n[]', b'["b",1.5]\n[]',
        HEAD + b"{", HEAD + b"1", HEAD + b"[1]", HEAD + b'[["/aws/lambda/f",false]]', HEAD + b'[[1,false,[]]]',
        HEAD + b'[["/aws/lambda/f",0,[]]]', HEAD + b'[["/aws/lambda/../f",false,[]]]', HEAD + b'[["f",false,[]]]',
        HEAD + b'[["/aws/lambda/",false,[]]]', HEAD + b'[["/aws/lambda/a\\u0000",false,[]]]',
        HEAD + b'[["//",true,[]]]',
        HEAD + b'[["g",true,[1]]]', HEAD + b'[["g",true,[[1,"s"]]]]', HEAD + b'[["g",true,[["1","s","m"]]]]',
        HEAD + b'[["g",true,[[true,"s","m"]]]]', HEAD + b'[["g",true,[[-1,"s","m"]]]]',
        HEAD + b'[["g",true,[[253402300800000,"s","m"]]]]', HEAD + b'[["g",true,[[1,2,"m"]]]]',
        HEAD + b'[["g",true,[[1,"s",null]]]]', HEAD + b'[["g",true,[[1,"s","two\\nlines"]]]]',
        HEAD + b'[["g",true,[[1,"a\\nb","m"]]]]', HEAD + b'[["g",true,[[1,"a\\tb","m"]]]]',
    ],
)  # fmt: skip
def test_what_is_no_batch(body):
    with pytest.raises(Unreadable):
        decode_batch(body)


# ------------------------------------------------------------------ from a worker to the home


@pytest.mark.parametrize("by", ["a", "b"])
def test_lines_of_a_worker_reach_the_home_here_or_at_its_node(tmp_path, by):
    async def story(site: Site) -> None:
        heard: list[str] = []
        (await site.home.groups()).subscribe(heard.append)
        site.home.histories.subscribe(heard.append)
        at_ms = site.clock.now_ms()
        site.worker.output("one", "two", stream="2026/01/01/[$LATEST]x")
        site.worker.history("ExecutionStarted", "ExecutionSucceeded")
        await site.after()
        assert [(one.at_ms, one.stream, one.message) for one in await site.home.events(FUNCTION)] == [
            (at_ms, "2026/01/01/[$LATEST]x", "one"), (at_ms, "2026/01/01/[$LATEST]x", "two"),
        ]  # fmt: skip
        assert await site.home.types() == ["ExecutionStarted", "ExecutionSucceeded"]
        assert await site.home.messages(MACHINES) == await site.worker.messages(MACHINES)
        assert sorted(heard) == [FUNCTION, MACHINES]
        assert len(site.wire.bodies) == (1 if by == "b" else 0)

    on_site(story, tmp_path, by)


def test_lines_go_in_bounded_batches_and_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr(exporting, "MOST_RECORDS", 10)

    async def story(site: Site) -> None:
        for number in range(35):
            site.worker.output(f"line {number}")
        await site.after()
        assert await site.home.messages() == [f"line {number}" for number in range(35)]
        heads = [json.loads(body.partition(b"\n")[0]) for body in site.wire.bodies]
        assert [number for _, number in heads] == [1, 2, 3, 4]
        assert len({sender for sender, _ in heads}) == 1

    on_site(story, tmp_path)


def test_lines_wait_in_their_files_for_a_home(tmp_path, caplog):
    caplog.set_level(logging.INFO, "statewright.nodes")

    async def story(site: Site) -> None:
        site.rows.home = None
        site.worker.output("one")
        await site.after(LONG_MS // 2)
        assert lines_of(caplog) == [], "some node takes the home over, as usual"
        await site.after(10 * LONG_MS)
        site.worker.output("two")
        site.rows.home = "a"
        await site.after(5_000)
        assert await site.home.messages() == ["one", "two"]
        assert [level for level, _ in lines_of(caplog)] == ["WARNING", "INFO"]

    on_site(story, tmp_path)


def test_a_node_that_does_not_have_the_home_takes_nothing(tmp_path):
    async def story(site: Site) -> None:
        site.by.directory.stale_home = "b"
        site.worker.output("one")
        await site.after()
        assert site.by.directory.refreshed == 1
        assert await site.home.messages() == ["one"]
        assert len(site.wire.bodies) == 2

    on_site(story, tmp_path)


def test_a_lost_answer_does_not_double_lines(tmp_path):
    async def story(site: Site) -> None:
        left = [1, 1, 1]

        def lose() -> None:
            if left:
                left.pop()
                raise Unanswered("the connection was cut")

        site.wire.behind = lose
        site.worker.output("one")
        site.worker.history("ExecutionStarted")
        await site.after(5_000)
        assert len(site.wire.bodies) == 4
        assert len(set(site.wire.bodies)) == 1
        site.worker.output("two")
        await site.after()
        assert await site.home.messages() == ["one", "two"]
        assert await site.home.types() == ["ExecutionStarted"]

    on_site(story, tmp_path)


def test_what_the_home_cannot_read_is_dropped_with_one_line(tmp_path, caplog, monkeypatch):
    async def story(site: Site) -> None:
        monkeypatch.setattr(node_logs, "encode_batch", lambda *_: b"rubbish")
        site.worker.output("one")
        await site.after(5_000)
        monkeypatch.undo()
        site.worker.output("two")
        await site.after()
        assert await site.home.messages() == ["two"]
        ours = [text for level, text in lines_of(caplog) if level == "ERROR" and "of this node" in text]
        assert len(ours) == 1
        assert ours[0].startswith("1 log events of this node are dropped")
        assert len(site.wire.bodies) == (2 if site.by.name == "b" else 0), "nothing is sent again"

    on_site(story, tmp_path / "elsewhere")
    caplog.clear()
    on_site(story, tmp_path / "here", "a")


@pytest.mark.parametrize("is_taken", [True, False])
def test_a_worker_that_starts_again_goes_on_from_its_places(tmp_path, is_taken):
    """A killed process repeats its last batch if it had no answer, and leaves nothing out."""

    async def story(site: Site) -> None:
        site.worker.output("one")
        site.worker.history("ExecutionStarted")
        await site.after()
        stuck = asyncio.Event()

        def hang() -> None:
            stuck.set()
            raise Unanswered("no answer")

        if is_taken:
            site.wire.behind = hang
        else:
            site.wire.before = hang
        site.worker.output("two")
        await stuck.wait()
        await site.killed()
        site.wire.before = site.wire.behind = lambda: None
        site.worker.output("three")
        site.worker.history("ExecutionSucceeded")
        await site.killed()
        await site.started()
        await site.after()
        assert await site.home.messages() == (["one", "two", "two", "three"] if is_taken else ["one", "two", "three"])
        assert await site.home.types() == ["ExecutionStarted", "ExecutionSucceeded"]

    on_site(story, tmp_path)


def test_a_stop_sends_what_is_left_and_does_not_wait_for_a_home_for_long(tmp_path):
    async def story(site: Site) -> None:
        site.worker.output("one")
        site.worker.history("ExecutionStarted")
        site.worker.histories.close()
        await site.export.stop()
        assert await site.home.messages() == ["one"]
        assert await site.home.types() == ["ExecutionStarted"]
        await site.started()
        site.rows.home = None
        site.worker.output("two")
        began_ms = site.clock.now_ms()
        await site.export.stop()
        assert site.clock.now_ms() - began_ms == exporting.LAST_MS
        site.rows.home = "a"
        await site.started()
        await site.after()
        assert await site.home.messages() == ["one", "two"]

    on_site(story, tmp_path)


def test_files_that_rotation_deletes_meanwhile_are_reported_once(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr("statewright.functions.logs.FILE_BYTES", 100)

    async def story(site: Site) -> None:
        site.worker.output("one")
        await site.after()
        for _ in range(2):
            site.rows.home = None
            site.worker.output("sent once there is a home")
            await site.after()
            for number in range(4):
                site.worker.output(f"{number} {'x' * 120}")
                await site.after()
            site.rows.home = "a"
            await site.after(5_000)
        assert (await site.home.messages())[-1].startswith("3 xxx")
        assert [text.split(" were deleted")[0] for _, text in lines_of(caplog)] == [f"log files of {FUNCTION}"]

    on_site(story, tmp_path)


def test_a_home_whose_writers_are_behind_takes_nothing(tmp_path, monkeypatch):
    async def story(site: Site) -> None:
        monkeypatch.setattr(execution_logs, "MOST_WAITING", 0)
        site.worker.output("one")
        await site.after(3 * AGAIN_MS + exporting.DELAY_MS)
        assert await site.home.messages() == []
        monkeypatch.undo()
        await site.after()
        assert await site.home.messages() == ["one"]

    on_site(story, tmp_path)


def test_lines_that_come_late_are_found_by_time(tmp_path):
    async def story(site: Site) -> None:
        site.rows.home = None
        site.worker.output("late")
        site.worker.history("ExecutionStarted")
        began_ms = site.clock.now_ms()
        await site.after(LATE_MS + exporting.DELAY_MS)
        site.home.output("the home's own")
        site.home.history("ExecutionFailed")
        site.rows.home = "a"
        await site.after()
        groups = await site.home.groups()
        site.home.histories.close()
        for group in (FUNCTION, MACHINES):
            (lane,) = await groups.lanes(group)
            assert lane.slack_ms is None
            assert began_ms in [one.event.at_ms for one in forwards(lane, None, began_ms)]
        # The marks go with the files.
        await groups.delete(FUNCTION)
        site.home.output("another")
        (lane,) = await groups.lanes(FUNCTION)
        assert lane.slack_ms is not None

    on_site(story, tmp_path)


def test_a_home_forgets_the_senders_of_long_ago(tmp_path, monkeypatch):
    monkeypatch.setattr(node_logs, "MOST_SENDERS", 2)

    async def story(site: Site) -> None:
        for sender in ("one", "two", "one", "three", "one"):
            assert site.nodes["a"].logs.take(encode_batch(sender, len(sender), b"[]"))
        assert set(site.nodes["a"].logs._taken) == {"one", "three"}

    on_site(story, tmp_path)


def test_only_the_home_takes_lines(tmp_path, monkeypatch):
    async def story(site: Site) -> None:
        assert not site.nodes["b"].logs.take(b"not read")
        with pytest.raises(Unreadable):
            site.nodes["a"].logs.take(b"not a batch")
        monkeypatch.setattr(site.home.histories, "has_room", lambda _: False)
        with pytest.raises(Unavailable):
            site.nodes["a"].logs.take(encode_batch("b", 1, b"[]"))

    on_site(story, tmp_path)


def test_lines_go_over_a_connection(tmp_path):
    async def test() -> None:
        async with cluster("a", "b") as (a, b):
            clock = a.directory.rows.clock
            home, worker = Files(tmp_path / "a", clock), Files(tmp_path / "b" / "node", clock)
            a.apps.home = home.app
            feed = LogFeed(b.logs, b.directory, b.client, clock, b.name)
            export = await log_feed(worker.app, feed, tmp_path / "b" / "node")
            await export.start()
            worker.output("one")
            worker.history("ExecutionStarted")
            worker.histories.close()
            await export.stop()
            assert await home.messages() == ["one"]
            assert await home.types() == ["ExecutionStarted"]
            assert b.client.calls == 1

    asyncio.run(test())
