from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import Any

import pytest

from statewright.api.nodes import client as clients
from statewright.api.nodes.client import NodeClient
from statewright.api.nodes.links import IDLE_MS, NotSent, Unanswered
from statewright.api.nodes.peers import Peer
from statewright.virtual_clock import VirtualClock, run_virtual


class Hands:
    """A clock that a test sets, whose timers fire when the test says so."""

    def __init__(self) -> None:
        self.ms = 0
        self.timers: list[Any] = []

    def now_ms(self) -> int:
        return self.ms

    def call_at(self, due_ms: int, callback: Any) -> Any:
        timer = Timer(due_ms, callback)
        self.timers.append(timer)
        return timer

    def fire(self, due_ms: int) -> None:
        for timer in self.timers:
            if timer.due_ms == due_ms and timer.callback is not None:
                timer.callback()


class Timer:
    def __init__(self, due_ms: int, callback: Any) -> None:
        self.due_ms = due_ms
        self.callback = callback

    def cancel(self) -> None:
        self.callback = None


@asynccontextmanager
async def answering(*answers: bytes, closes: bool = False) -> Any:
    """A server whose connections answer each request, which has no body, with the next of some bytes.

    With `closes`, a connection ends after its first answer.
    """
    left, opened = list(answers), []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(writer)
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(left.pop(0))
                if closes:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    clock: Any = Hands()
    client = NodeClient(b"s", "me", clock)
    peer = Peer("p", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", 1)
    try:
        yield client, peer, clock, opened
    finally:
        client.close()
        server.close()
        await server.wait_closed()


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def test_a_connection_serves_call_after_call():
    async def test() -> None:
        async with answering(
            OK, b"HTTP/1.1 100 Continue\r\n\r\n" + OK, b"HTTP/1.1 204 No Content\r\n\r\n", OK
        ) as given:
            client, peer, _, opened = given
            found = [await client.call(peer, "/x", b"", 5) for _ in range(4)]
            assert found == [(200, b"ok"), (200, b"ok"), (204, b""), (200, b"ok")]
            assert len(opened) == 1

    asyncio.run(test())


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\nConnection: close\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nok",
        b"SSH-2.0-OpenSSH_9\r\n\r\n",
        b"HTTP/1.1 200",
    ],
)
def test_what_is_no_whole_answer(answer):
    async def test() -> None:
        async with answering(answer, closes=True) as (client, peer, _, _):
            with pytest.raises(Unanswered):
                await client.call(peer, "/x", b"", 5)
            assert not client.links._idle.get(peer.address)

    asyncio.run(test())


def test_a_node_that_does_not_listen():
    async def test(clock: VirtualClock) -> None:
        with pytest.raises(NotSent):
            await NodeClient(b"s", "me", clock).call(Peer("p", "http://127.0.0.1:1", 1), "/x", b"", 5)

    run_virtual(test)


def test_kept_connections_that_were_closed_or_are_old_are_not_used():
    async def test() -> None:
        async with answering(OK, OK, OK) as (client, peer, clock, opened):
            await client.call(peer, "/x", b"", 5)
            opened[0].close()
            await opened[0].wait_closed()
            (link,) = client.links._idle[peer.address]
            while link.is_open:
                await asyncio.sleep(0)
            await client.call(peer, "/x", b"", 5)
            clock.ms += IDLE_MS
            await client.call(peer, "/x", b"", 5)
            assert len(opened) == 3
            assert len(client.links._idle[peer.address]) == 1

    asyncio.run(test())


def test_a_call_that_takes_too_long():
    async def test() -> None:
        async with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no") as (client, peer, clock, _):
            calling = asyncio.ensure_future(client.call(peer, "/x", b"", 5))
            while not any(timer.due_ms == 5_000 for timer in clock.timers):
                await asyncio.sleep(0)
            clock.fire(5_000)
            with pytest.raises(Unanswered, match="did not answer in 5 s"):
                await calling
            assert not client.links._busy[peer.address]

    asyncio.run(test())


def test_calls_at_a_node_that_is_cut_off_end():
    async def test() -> None:
        async with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no") as (client, peer, _, opened):
            calling = asyncio.ensure_future(client.call(peer, "/x", b"", 5))
            while not opened:
                await asyncio.sleep(0)
            client.cut(peer)
            with pytest.raises(Unanswered):
                await calling
            client.close()
            with pytest.raises(NotSent, match="stopping"):
                await client.call(peer, "/x", b"", 5)

    asyncio.run(test())


def test_an_answer_that_is_too_long(monkeypatch):
    monkeypatch.setattr(clients, "MOST_BYTES", 1)

    async def test() -> None:
        async with answering(OK) as (client, peer, _, _):
            with pytest.raises(Unanswered, match="longer"):
                await client.call(peer, "/x", b"", 5)

    asyncio.run(test())
