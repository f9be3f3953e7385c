"""Reads of log groups at the home: workers send what they have before one is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from statewright.api.nodes.workers import logs as worker_logs
from statewright.api.nodes.workers.asking import AllNodes
from statewright.api.nodes.workers.logs import CurrentLogs, send_logs
from statewright.api.operations import Call
from statewright.clock import RealClock
from statewright.payload import Json
from tests.unit.api.nodes.cluster import Node, cluster, nothing
from tests.unit.api.nodes.test_logs import Files, Site, on_site
from tests.unit.api.nodes.workers.test_copies import Inner


def logs_of(nodes: list[Node], own: Callable[[], Awaitable[None]] = nothing) -> CurrentLogs:
    """That of the first node, which has the home."""
    home, *others = nodes
    rows = home.directory.rows
    asked = AllNodes(lambda: [rows.peers[one.name] for one in others], home.client, rows.clock)
    return CurrentLogs(Inner(), home.apps, asked, own, rows.clock)


@pytest.mark.parametrize(
    ("service", "operation", "asks"),
    [
        ("logs", "FilterLogEvents", True), ("logs", "DescribeLogStreams", True), ("logs", "DeleteLogGroup", True),
        ("logs", "PutLogEvents", False), ("sqs", "ReceiveMessage", False),
    ],
)  # fmt: skip
def test_a_read_has_all_workers_send_first(service: str, operation: str, *, asks: bool) -> None:
    async def test() -> list[str]:
        order: list[str] = []

        async def read(_: Json) -> Json:
            order.append("read")
            return None

        def noted(name: str) -> Callable[[], Awaitable[None]]:
            async def send() -> None:
                order.append(name)

            return send

        async with cluster("a", "b", "c") as nodes:
            for node in nodes[1:]:
                node.send_logs = noted(node.name)
            await logs_of(nodes, noted("a"))(Call(service, operation, "r"), {}, read)
        return order

    order = asyncio.run(test())
    assert (sorted(order[:-1]), order[-1]) == (["a", "b", "c"] if asks else [], "read")


def test_what_the_home_was_sent_is_in_its_files_before_they_are_read(tmp_path: Path) -> None:
    async def test() -> list[str]:
        found: list[str] = []
        async with cluster("a", "b") as nodes:
            home = Files(tmp_path, RealClock())
            nodes[0].apps.home = home.app

            async def send() -> None:
                home.history(*["ExecutionStarted"] * 100)

            async def read(_: Json) -> Json:
                files = (tmp_path / "logs").rglob("states-*.jsonl")
                found.extend(line for path in files for line in path.read_text().splitlines())
                return None

            nodes[1].send_logs = send
            await logs_of(nodes)(Call("logs", "GetLogEvents", "r"), {}, read)
            home.histories.close()
        return found

    assert len(asyncio.run(test())) == 100


def test_a_worker_that_cannot_send_is_not_waited_for_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_logs, "ASK_SECONDS", 0.05)

    async def test() -> Json:
        async def read(_: Json) -> Json:
            return "read"

        async with cluster("a") as nodes:
            never = asyncio.Event()

            async def send() -> None:
                await never.wait()

            return await logs_of(nodes, send)(Call("logs", "GetLogEvents", "r"), {}, read)

    assert asyncio.run(test()) == "read"


def test_a_worker_sends_at_once_what_it_is_asked_for(tmp_path: Path) -> None:
    async def story(site: Site) -> None:
        site.worker.output("one")
        site.worker.history("ExecutionStarted")
        # Time stands still.
        with site.clock.busy():
            await send_logs(site.worker.app, site.export)
            await send_logs(site.worker.app, site.export)
        assert await site.home.messages() == ["one"]
        assert await site.home.types() == ["ExecutionStarted"]
        assert len(site.wire.bodies) == 1

    on_site(story, tmp_path)


def test_what_comes_while_a_batch_is_on_its_way_is_sent_behind_it(tmp_path: Path) -> None:
    async def story(site: Site) -> None:
        sending, may_go_on = asyncio.Event(), asyncio.Event()
        send = site.feed.send

        async def slowly(*given: Any) -> None:
            sending.set()
            await may_go_on.wait()
            await send(*given)

        site.feed.send = slowly  # type: ignore[method-assign, assignment]
        site.worker.output("one")
        await sending.wait()
        site.worker.output("two")
        with site.clock.busy():
            asked = [asyncio.ensure_future(send_logs(site.worker.app, site.export)) for _ in range(2)]
            may_go_on.set()
            await asyncio.gather(*asked)
        assert await site.home.messages() == ["one", "two"]
        assert len(site.wire.bodies) == 2

    on_site(story, tmp_path)
