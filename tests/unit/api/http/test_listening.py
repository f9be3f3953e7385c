from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from types import SimpleNamespace
from typing import Any

import pytest
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from statewright.api.http.connections import ConnectionTimeouts, GuardedProtocol, written_whole
from statewright.api.http.listening import CannotListen, bind, listener, most_connections
from tests.unit.api.asgi import make_api


def test_an_address_in_use():
    with bind("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(
            CannotListen, match=rf"port {port} on 127.0.0.1 is in use by (another process|.*\(pid {os.getpid()}\))"
        ):
            bind("127.0.0.1", port)


def test_an_unknown_address():
    with pytest.raises(CannotListen, match=r"cannot listen on 203\.0\.113\.1"):
        bind("203.0.113.1", 0)
    with pytest.raises(CannotListen, match="cannot listen on no such name"):
        bind("no such name", 0)


def test_ipv6():
    try:
        with bind("::1", 0) as listening:
            assert listening.family is socket.AF_INET6
    except CannotListen as problem:
        pytest.skip(f"this machine has no IPv6: {problem}")


async def serving(talk: Any) -> list[str]:
    """Run a listener, let `talk` use its port, end it."""
    ready: asyncio.Event = asyncio.Event()
    sock = bind("127.0.0.1", 0)
    server = listener(make_api(), ready.set)
    running = asyncio.ensure_future(server.serve(sockets=[sock]))
    await ready.wait()
    found: list[str] = []
    await talk(server, sock.getsockname()[1], found)
    server._on_signal()
    await running
    return found


async def exchange(port: int, text: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(text)
    await writer.drain()
    return reader, writer


def test_requests_are_answered_and_a_signal_ends_it():
    async def talk(_server: Any, port: int, found: list[str]) -> None:
        reader, writer = await exchange(port, b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        found.append((await reader.read()).decode())
        writer.close()
        await writer.wait_closed()

    answer = asyncio.run(serving(talk))[0]
    assert answer.startswith("HTTP/1.1 200 OK")
    assert "uvicorn" not in answer


def test_a_client_with_tls_earns_one_hint(caplog):
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"

    async def talk(_server: Any, port: int, found: list[str]) -> None:
        for text in (hello, hello, b"GET /\x16\x03 HTTP/1.1\r\n\r\n"):
            reader, writer = await exchange(port, text)
            found.append((await reader.read()).decode().split("\r")[0])
            writer.close()
            await writer.wait_closed()

    assert asyncio.run(serving(talk))[:2] == ["HTTP/1.1 400 Bad Request"] * 2
    (hint,) = [one.getMessage() for one in caplog.records if "TLS" in one.getMessage()]
    assert "give it an endpoint that begins with http://" in hint


def test_a_body_that_there_is_no_memory_for_is_not_the_clients_mistake(monkeypatch):
    def fail(_self: GuardedProtocol, _body: bytes) -> None:
        raise MemoryError

    monkeypatch.setattr(GuardedProtocol, "on_body", fail)

    async def talk(_server: Any, port: int, found: list[str]) -> None:
        reader, writer = await exchange(port, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
        found.append((await reader.read()).decode())
        writer.close()
        await writer.wait_closed()

    (answer,) = asyncio.run(serving(talk))
    assert answer.startswith("HTTP/1.1 503 Service Unavailable\r\n")
    assert answer.endswith("content-length: 24\r\n\r\nThe server lacks memory.")


@pytest.mark.parametrize(
    ("text", "part", "timeout_seconds"),
    [
        (b"POST / HTTP/1.1\r\nHost: x\r\n", "head_since", ConnectionTimeouts().head_seconds),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{", "body_since", ConnectionTimeouts().body_seconds),
    ],
)
def test_a_request_that_takes_too_long_is_cut(text, part, timeout_seconds):
    async def talk(server: Any, port: int, found: list[str]) -> None:
        reader, writer = await exchange(port, text)
        while not any(getattr(one, part) is not None for one in server.server_state.connections):
            await asyncio.sleep(0)
        (connection,) = server.server_state.connections
        assert isinstance(connection, GuardedProtocol)
        await server.on_tick(0)
        assert getattr(connection, part) is not None, "it has its time"
        setattr(connection, part, time.monotonic() - timeout_seconds - 1)
        await server.on_tick(0)
        try:
            found.append((await reader.read()).decode())
        except ConnectionResetError:
            found.append("")
        writer.close()

    assert asyncio.run(serving(talk)) == [""]


def test_the_time_between_requests_is_not_a_head():
    async def talk(server: Any, port: int, found: list[str]) -> None:
        reader, writer = await exchange(port, b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        found.append((await reader.readuntil(b"\r\n")).decode())
        (connection,) = server.server_state.connections
        assert (connection.head_since, connection.body_since) == (None, None)
        writer.close()
        await writer.wait_closed()

    assert asyncio.run(serving(talk)) == ["HTTP/1.1 200 OK\r\n"]


# ---------------------------------------------------------------------- answers in one piece


class Taken(list[bytes]):
    """A transport that keeps what is written."""

    def write(self, data: bytes) -> None:
        self.append(data)

    def is_closing(self) -> bool:
        return False


def a_cycle(taken: Taken, *, method: str = "POST", **settings: Any) -> Any:
    log, flow = logging.getLogger("test"), SimpleNamespace(write_paused=False)
    make: Any = RequestResponseCycle
    made = make(
        scope={"method": method}, transport=taken, flow=flow, logger=log, access_logger=log, access_log=False,
        default_headers=[(b"date", b"today")], message_event=asyncio.Event(), expect_100_continue=False,
        keep_alive=True, on_response=lambda: taken.append(b"over"),
    )  # fmt: skip
    for name, value in settings.items():
        setattr(made, name, value)
    return made


def answer(body: bytes, *headers: tuple[bytes, bytes]) -> tuple[dict[str, Any], dict[str, Any]]:
    length = (b"content-length", str(len(body)).encode())
    return {"status": 200, "headers": [length, *headers]}, {"body": body}


def test_a_short_answer_is_written_in_one_piece():
    taken = Taken()
    cycle = a_cycle(taken)
    assert written_whole(cycle, *answer(b"{}", (b"x-a", b"b")))
    assert taken == [b"HTTP/1.1 200 OK\r\ndate: today\r\ncontent-length: 2\r\nx-a: b\r\n\r\n{}", b"over"]
    assert cycle.response_complete
    assert cycle.message_event.is_set()


@pytest.mark.parametrize(
    ("settings", "headers", "more"),
    [
        ({"method": "HEAD"}, [], {}),
        ({"keep_alive": False}, [], {}),
        ({"disconnected": True}, [], {}),
        ({"flow": SimpleNamespace(write_paused=True)}, [], {}),
        ({}, [], {"more_body": True}),
        ({}, [], {"body": b"longer"}),
        ({}, [], {"body": bytes(65_537)}),
        ({}, [(b"x-a", b"b\r\nx-c: d")], {}),
        ({}, [(b"connection", b"close")], {}),
        ({}, [(b"Transfer-Encoding", b"chunked")], {}),
    ],
)
def test_other_answers_are_left_to_the_server(settings, headers, more):
    taken = Taken()
    head, message = answer(b"{}", *headers)
    assert not written_whole(a_cycle(taken, **settings), head, {**message, **more})
    assert taken == []


@pytest.mark.parametrize(("files", "most"), [(1, 1), (40, 20), (200, 100), (256, 128), (1_000, 872)])
def test_few_files_leave_room_for_some_connections(files, most):
    assert most_connections(files) == most
