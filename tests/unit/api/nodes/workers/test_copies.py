"""Changes at the home: all workers have dropped their copies before the caller is answered."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from statewright.api.nodes.peers import Peer
from statewright.api.nodes.workers import asking
from statewright.api.nodes.workers.asking import AllNodes
from statewright.api.nodes.workers.copies import DroppedCopies
from statewright.api.operations import Call, Run
from statewright.background import Background
from statewright.payload import Json
from tests.unit.api.nodes.cluster import Node, cluster, silent

CALL = Call("lambda", "UpdateFunctionCode", "r")


class Worker:
    """The application of a worker, which counts how often it has dropped its copies."""

    def __init__(self) -> None:
        self.told = 0
        self.services = SimpleNamespace(functions=SimpleNamespace(invoker=self))
        self.engine = SimpleNamespace(catalogue=SimpleNamespace(records=self))

    def resolve_again(self) -> None:
        self.told += 1

    def forget(self) -> None:
        self.told += 1


def workers(nodes: list[Node]) -> list[Worker]:
    made = [Worker() for _ in nodes]
    for node, worker in zip(nodes, made, strict=True):
        node.apps.worker = worker  # type: ignore[assignment]
    return made


class Inner:
    """What runs calls below."""

    is_free = False

    async def __call__(self, call: Call, request: Json, run: Run, /) -> Json:
        return await run(request)


def copies_of(nodes: list[Node], *further: Peer) -> DroppedCopies:
    """That of the first node, which has the home."""
    home, *others = nodes
    rows = home.directory.rows
    peers = [rows.peers[one.name] for one in others] + list(further)
    return DroppedCopies(Inner(), home.apps, AllNodes(lambda: peers, home.client, rows.clock))


def test_all_workers_know_before_the_caller_is_answered() -> None:
    async def test() -> Any:
        async with cluster("a", "b", "c") as nodes:
            made, copies = workers(nodes), copies_of(nodes)

            async def change(request: Json) -> Json:
                copies.changed()
                return request

            answer = await copies(CALL, "answer", change)
            return answer, [one.told for one in made]

    assert asyncio.run(test()) == ("answer", [2, 2, 2])


def test_a_change_that_fails_after_it_was_made_waits_too() -> None:
    async def test() -> list[int]:
        async with cluster("a", "b") as nodes:
            made, copies = workers(nodes), copies_of(nodes)

            async def change(_: Json) -> Json:
                copies.changed()
                raise LookupError

            with pytest.raises(LookupError):
                await copies(CALL, {}, change)
            return [one.told for one in made]

    assert asyncio.run(test()) == [2, 2]


def test_other_calls_do_not_wait_for_what_they_have_not_changed() -> None:
    async def test() -> None:
        asked, answered = asyncio.Event(), asyncio.Event()

        class Held:
            async def ask(self, _path: str) -> None:
                asked.set()
                await answered.wait()

        async with cluster("a") as nodes:
            copies = DroppedCopies(Inner(), nodes[0].apps, Held())  # type: ignore[arg-type]

            async def change(request: Json) -> Json:
                copies.changed()
                return request

            async def read(request: Json) -> Json:
                return request

            changing = asyncio.ensure_future(copies(CALL, "changed", change))
            await asked.wait()
            assert await copies(Call("lambda", "GetFunction", "r"), "read", read) == "read"
            assert not changing.done()
            answered.set()
            assert await changing == "changed"

    asyncio.run(test())


def test_nodes_that_do_not_answer_are_waited_for_no_longer_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "ASK_SECONDS", 0.05)

    async def test() -> list[int]:
        over = asyncio.Event()

        async def freeze(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await over.wait()
            writer.close()

        frozen = await asyncio.start_server(freeze, "127.0.0.1", 0)
        address = f"http://127.0.0.1:{frozen.sockets[0].getsockname()[1]}"
        async with cluster("a", "b") as nodes, silent() as port:
            made = workers(nodes)
            copies = copies_of(nodes, Peer("frozen", address, 0), Peer("dies", f"http://127.0.0.1:{port}", 0))

            async def change(request: Json) -> Json:
                copies.changed()
                return request

            assert await copies(CALL, "answer", change) == "answer"
            over.set()
            frozen.close()
            await frozen.wait_closed()
            return [one.told for one in made]

    assert asyncio.run(test()) == [2, 2]


def test_changes_that_no_call_has_made_are_told_and_waited_for_by_no_call() -> None:
    async def test() -> list[int]:
        async with cluster("a", "b") as nodes:
            made, copies = workers(nodes), copies_of(nodes)
            copies.changed()
            background: Background = copies._background
            await background.at_rest()
            await copies.stop()
            return [one.told for one in made]

    assert asyncio.run(test()) == [2, 2]
