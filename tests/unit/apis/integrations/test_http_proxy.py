"""Requests to other servers: headers of the client's connection end at the gateway, and so do requests out of time."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from statewright.apis.calls import IntegrationFailed, Request
from statewright.apis.integrations.http_proxy import HttpProxy, passed_headers
from statewright.clock import RealClock
from statewright.integrations.blocking import BlockingCalls
from statewright.integrations.http_requests import Request as Sent
from statewright.integrations.http_requests import Response as Answer
from tests.deadlines import PATIENCE_SECONDS


def test_headers_that_any_connection_header_names_do_not_pass() -> None:
    headers = (
        ("Connection", "X-Hop, keep-alive"), ("X-Hop", "1"), ("connection", "x-second"), ("X-Second", "2"),
        ("Keep-Alive", "x"), ("X-End", "a"), ("x-end", "b"), ("Transfer-Encoding", "chunked"),
    )  # fmt: skip
    request = Request("GET", "/", "/", "", headers, b"", "127.0.0.1", "a.localhost")
    assert passed_headers(request) == {"x-end": "a,b"}


def test_a_request_whose_client_was_answered_before_it_had_a_thread_is_not_sent() -> None:
    sent: list[str] = []
    begun, free = threading.Event(), threading.Event()

    class Client:
        def send(self, request: Sent, _body_bytes: int, _seconds: float) -> Answer:
            sent.append(request.url)
            begun.set()
            assert free.wait(PATIENCE_SECONDS)
            return Answer(200, "OK", {}, b"")

    async def main() -> None:
        clock = RealClock()
        proxy: Any = HttpProxy(clock, ())
        vars(proxy).update(_client=Client(), _blocking=BlockingCalls(clock, threads=1))
        first = asyncio.ensure_future(proxy.send(Sent("POST", "http://a/1", {}, None), 1_000 * PATIENCE_SECONDS))
        assert await asyncio.to_thread(begun.wait, PATIENCE_SECONDS)
        with pytest.raises(IntegrationFailed, match="INTEGRATION_TIMEOUT"):
            await proxy.send(Sent("POST", "http://a/2", {}, None), 50)
        free.set()
        assert (await first).status == 200
        await proxy._late.at_rest()
        await proxy.stop()

    asyncio.run(main())
    assert sent == ["http://a/1"]
