from __future__ import annotations

import asyncio
from typing import Any

import pytest

from statewright.api.apigatewayv2.door import NAMES
from statewright.api.nodes.peers import NO_OWNER, OWNER_MS, Peer
from statewright.api.nodes.proxy import KEPT_BYTES
from statewright.api.nodes.signing import HEADERS, Signer
from statewright.api.protocols.wire import Disconnected
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.api.asgi import exchange, scope_of
from tests.unit.api.nodes.cluster import (
    SECRET,
    Answering,
    Node,
    Rows,
    ask,
    cluster,
    json_of,
    line,
    ported,
    request,
    respond,
    silent,
    whole,
)


def run(test: Any) -> None:
    asyncio.run(test())


def marked(headers: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    return {name.decode(): value.decode() for name, value in headers}


def test_a_request_arrives_as_it_was_sent():
    async def test() -> None:
        async with cluster("a", "b") as (a, b):
            text = (
                b"PUT /a%20b%2Fc//d/../e?x=%41&y&x=1+2 HTTP/1.1\r\nHoSt: Bucket.localhost:4566\r\nX-Amz-Meta-A: one\r\n"
                b"x-amz-meta-a: two, three\r\nX-EMPTY: \r\nAuthorization: AWS4-HMAC-SHA256 "
                b"Credential=k/1/r/s3/aws4_request\r\n"
                b"TE: trailers\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nContent-Length: 4\r\n\r\nbody"
            )
            async with line(b.port) as made:
                await made.send(text)
                status, _, body = await made.answer()
                client = made.writer.get_extra_info("sockname")
            assert (status, body) == (200, b"home a:body")
            (scope,) = a.home.scopes
            assert (scope["method"], scope["raw_path"]) == ("PUT", b"/a%20b%2Fc//d/../e")
            assert scope["query_string"] == b"x=%41&y&x=1+2"
            assert list(zip(scope[NAMES], (value for _, value in scope["headers"]), strict=True)) == [
                (b"HoSt", b"Bucket.localhost:4566"),
                (b"X-Amz-Meta-A", b"one"),
                (b"x-amz-meta-a", b"two, three"),
                (b"X-EMPTY", b""),
                (b"Authorization", b"AWS4-HMAC-SHA256 Credential=k/1/r/s3/aws4_request"),
                (b"Content-Length", b"4"),
            ]
            assert tuple(scope["client"]) == tuple(client), "the home sees the client, not the node"

    run(test)


def test_an_answer_comes_back_as_it_was_given():
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        await respond(send, 418, b"short", ((b"X-Thing", b"1"), (b"x-thing", b"2"), (b"date", b"its own")))

    async def test() -> None:
        async with cluster("a", "b") as (a, b):
            a.home.answer = answer
            found = []
            for port in (a.port, b.port):
                async with line(port) as made:
                    await made.send(request())
                    status, lines = await made.head()
                    found.append(
                        (status, [one for one in lines if one[0].lower() != "date"], await made.reader.read(5))
                    )
                    assert [value == "its own" for name, value in lines if name.lower() == "date"] == [False, True]
            assert found[0] == found[1]

    run(test)


def test_a_chunked_body_and_a_chunked_answer():
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            message = await receive()
            await send({"type": "http.response.body", "body": message["body"].upper(), "more_body": True})
            if not message.get("more_body"):
                break
        await send({"type": "http.response.body", "body": b"!"})

    async def test() -> None:
        async with cluster("a", "b") as (a, b):
            a.home.answer = answer
            async with line(b.port) as made:
                await made.send(b"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
                status, lines = await made.head()
                assert (status, dict(lines)["transfer-encoding"]) == (200, "chunked")
                assert await made.chunk() == b"ABC", "an answer begins before the request has ended"
                await made.send(b"2\r\nde\r\n0\r\n\r\n")
                rest = b""
                while piece := await made.chunk():
                    rest += piece
                assert rest == b"DE!"

    run(test)


@pytest.mark.parametrize(
    ("method", "status", "headers"),
    [
        ("HEAD", 200, ((b"content-length", b"20971520"), (b"etag", b'"e"'))),
        ("GET", 204, ()),
        ("GET", 304, ((b"etag", b'"e"'),)),
    ],
)
def test_answers_without_a_body_keep_the_connections(method, status, headers):
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": status, "headers": list(headers)})
        await send({"type": "http.response.body", "body": b""})

    async def test() -> None:
        async with cluster("a", "b") as (a, b):
            a.home.answer = answer
            async with line(b.port) as made:
                for _ in range(3):
                    await made.send(request(method=method))
                    found, lines = await made.head()
                    assert found == status
                    assert set(dict(lines)) - {"date"} == {name.decode() for name, _ in headers}
            assert len({tuple(one["server"]) for one in a.home.scopes}) == 1
            assert sum(map(len, b.client.links._idle.values())) == 1, "one connection served all three"

    run(test)


def test_the_body_is_asked_for_when_the_home_asks_for_it():
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/refused":
            await respond(send, 403, b"no", ((b"connection", b"close"),))
            return
        await respond(send, 200, await whole(receive))

    async def test() -> None:
        async with cluster("a", "b") as (a, b):
            a.home.answer = answer
            async with line(b.port) as made:
                await made.send(b"PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
                assert (await made.head())[0] == 100
                await made.send(b"body")
                assert (await made.answer())[::2] == (200, b"body")
            async with line(b.port) as made:
                await made.send(
                    b"PUT /refused HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"
                )
                status, headers, body = await made.answer()
                assert (status, body, headers["connection"]) == (403, b"no", "close")

    run(test)


def test_a_client_that_leaves_ends_its_poll_at_the_home():
    async def test() -> None:
        async with cluster("a", "b") as (a, b):
            waiting, gone = asyncio.Event(), asyncio.Event()

            async def answer(scope: Any, receive: Any, send: Any) -> None:
                await whole(receive)
                waiting.set()
                while (await receive())["type"] != "http.disconnect":
                    pass
                gone.set()

            a.home.answer = answer
            async with line(b.port) as made:
                await made.send(request(body=b"{}"))
                await waiting.wait()
            await gone.wait()

    run(test)


def test_a_client_that_leaves_in_the_middle_of_its_body():
    async def test() -> None:
        async with cluster("a", "b") as (a, b):
            begun, gone = asyncio.Event(), asyncio.Event()

            async def answer(scope: Any, receive: Any, send: Any) -> None:
                while (message := await receive())["type"] != "http.disconnect":
                    if message.get("body"):
                        begun.set()
                gone.set()

            a.home.answer = answer
            async with line(b.port) as made:
                await made.send(b"PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 900000\r\n\r\n" + b"x" * 600_000)
                await begun.wait()
            await gone.wait()
            assert b.proxy._under_way == set()

    run(test)


def test_a_home_that_breaks_off_leaves_no_whole_answer():
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"part", "more_body": True})
        raise Disconnected

    async def test() -> None:
        async with cluster("a", "b") as (a, b):
            a.home.answer = answer
            async with line(b.port) as made:
                await made.send(request())
                await made.head()
                assert await made.chunk() == b"part"
                assert await made.reader.read() == b"", "the connection ends without the last chunk"

    run(test)


def test_a_request_that_was_sent_and_not_answered_is_not_sent_again():
    async def test() -> None:
        async with cluster("a", "b") as (a, b), silent() as port:
            a.directory.rows.peers["gone"] = Peer("gone", f"http://127.0.0.1:{port}", 1)
            b.directory.stale_home = "gone"
            status, _, body = await ask(b.port, request("/", b"{}", X_Amz_Target="AmazonSQS.SendMessage"))
            assert (status, b.directory.refreshed, a.home.scopes) == (503, 0, [])
            assert "may have had its effect or not" in json_of(body)["message"]

    run(test)


def test_server_sent_events_arrive_one_by_one_and_a_drain_ends_them():
    async def test() -> None:
        async with cluster("a", "b") as (a, b):
            following = asyncio.Event()

            async def answer(scope: Any, receive: Any, send: Any) -> None:
                head = [(b"content-type", b"text/event-stream")]
                await send({"type": "http.response.start", "status": 200, "headers": head})
                await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
                await following.wait()
                await send({"type": "http.response.body", "body": b"data: 2\n\n", "more_body": True})
                while (await receive())["type"] != "http.disconnect":
                    pass

            a.home.answer = answer
            async with line(b.port) as made:
                await made.send(request("/console/events", method="GET"))
                assert dict((await made.head())[1])["content-type"] == "text/event-stream"
                assert await made.chunk() == b"data: 1\n\n"
                following.set()
                assert await made.chunk() == b"data: 2\n\n"
                b.front.drain()
                assert await made.chunk() == b"", "the stream ends as one that is over"

    run(test)


def test_a_drain_ends_long_polls_with_an_answer():
    async def test() -> None:
        async with cluster("a", "b") as (a, b):
            waiting = asyncio.Event()

            async def answer(scope: Any, receive: Any, send: Any) -> None:
                await whole(receive)
                waiting.set()
                while (await receive())["type"] != "http.disconnect":
                    pass

            a.home.answer = answer
            async with line(b.port) as made:
                await made.send(request("/", b"{}", X_Amz_Target="AmazonSQS.ReceiveMessage"))
                await waiting.wait()
                b.front.drain()
                status, _, body = await made.answer()
                assert (status, json_of(body)["message"]) == (503, "The server is shutting down; try again.")

    run(test)


def test_a_request_follows_the_home():
    async def test() -> None:
        async with cluster("a", "b", "c", home="b") as (a, _, c):
            a.directory.stale_home = "c"
            status, _, body = await ask(a.port, request(body=b"x" * 100_000))
            assert (status, body) == (200, b"home b:" + b"x" * 100_000)
            assert (a.directory.refreshed, c.home.scopes, c.worker.scopes) == (1, [], [])

    run(test)


def test_a_request_to_a_node_that_is_gone_follows_the_home():
    async def test() -> None:
        async with cluster("a", "b", home="b") as (a, _):
            a.directory.rows.peers["gone"] = Peer("gone", "http://127.0.0.1:1", 1)
            a.directory.stale_home = "gone"
            assert (await ask(a.port, request(body=b"1")))[::2] == (200, b"home b:1")

    run(test)


@pytest.mark.parametrize(("size", "answered_by"), [(KEPT_BYTES // 2, 200), (3 * KEPT_BYTES, 503)])
def test_a_body_is_sent_again_only_while_all_that_was_read_is_kept(size, answered_by):
    async def test() -> None:
        async with cluster("a", "b", home="b") as (a, b):

            async def moves(scope: Any, receive: Any, send: Any) -> None:
                # As a node that loses the home while it reads.
                signature = next(value for name, value in scope["headers"] if name == b"x-statewright-signature")
                await whole(receive)
                await respond(send, 503, b"", (b.verifier.moved(signature),))

            async with ported(Answering("late", moves)) as port:
                a.directory.rows.peers["late"] = Peer("late", f"http://127.0.0.1:{port}", 1)
                a.directory.stale_home = "late"
                target = {"X_Amz_Target": "AmazonSQS.SendMessage"}
                status, _, body = await ask(a.port, request("/", b"x" * size, **target))
            assert status == answered_by
            assert [len(one["headers"]) for one in b.home.scopes] == ([3] if answered_by == 200 else [])
            assert body == b"home b:" + b"x" * size if answered_by == 200 else json_of(body)["message"] == NO_OWNER

    run(test)


def test_an_answer_of_a_function_that_looks_like_moved_is_passed_back():
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        await respond(send, 503, b"mine", ((b"x-statewright-moved", b"0" * 64),))

    async def test() -> None:
        async with cluster("a", "b") as (a, b):
            a.home.answer = answer
            assert (await ask(b.port, request()))[::2] == (503, b"mine")
            assert len(a.home.scopes) == 1

    run(test)


@pytest.mark.parametrize("name", sorted(HEADERS))
def test_marks_from_outside_are_refused(name):
    async def test() -> None:
        async with cluster("a", "b") as (a, b):
            for node in (a, b):
                status, _, body = await ask(node.port, request(**marked([(name, b"b")])))
                assert (status, json_of(body)["__type"]) == (403, "AccessDeniedException")
            assert (a.home.scopes, b.home.scopes) == ([], [])

    run(test)


def test_a_mark_serves_once_and_for_its_request_alone():
    async def test() -> None:
        async with cluster("a", "b") as (a, _):
            signer = Signer(SECRET, "b", a.directory.rows.clock)
            mark = marked(signer.mark("POST", "/x", ("9.9.9.9", 9)))
            assert (await ask(a.port, request("/y", **mark)))[0] == 403
            assert (await ask(a.port, request("/x", **mark)))[0] == 200
            assert tuple(a.home.scopes[0]["client"]) == ("9.9.9.9", 9)
            assert (await ask(a.port, request("/x", **mark)))[0] == 403
            call = marked(signer.call("POST", "/x", b""))
            assert (await ask(a.port, request("/x", **call)))[0] == 403
            assert len(a.home.scopes) == 1

    run(test)


def without_a_home(scope: dict[str, Any], body: bytes = b"") -> tuple[Any, int, Rows]:
    """The answer to a request while no node has the home; after how long, in virtual time."""

    async def main(clock: VirtualClock) -> tuple[Any, int, Rows]:
        rows = Rows(clock)
        node = Node(rows, "a")
        before_ms = clock.now_ms()
        reply = await exchange(node.front, scope, [{"type": "http.request", "body": body, "more_body": False}])
        return reply, clock.now_ms() - before_ms, rows

    return run_virtual(main)


def test_without_a_home_a_call_waits_and_is_then_refused_in_the_form_of_its_service():
    sqs = scope_of(headers={"x-amz-target": "AmazonSQS.SendMessage", "content-type": "application/x-amz-json-1.0"})
    reply, waited_ms, _ = without_a_home(sqs, b"{}")
    assert (reply.status, waited_ms) == (503, OWNER_MS)
    assert reply.json["__type"].endswith("ServiceUnavailable")
    reply, waited_ms, _ = without_a_home(scope_of("/bucket/key", "GET"))
    assert (reply.status, waited_ms) == (503, OWNER_MS)
    assert b"<Code>ServiceUnavailable</Code>" in reply.body
    reply, _, _ = without_a_home(scope_of("/console", "GET"))
    assert reply.status == 503


def test_a_home_that_comes_to_this_process_in_time_answers():
    async def main(clock: VirtualClock) -> None:
        rows = Rows(clock)
        node = Node(rows, "a")
        looks = 0

        def look() -> None:
            nonlocal looks
            looks += 1
            if looks == 5:
                rows.home = "a"
                rows.peers["a"] = Peer("a", "http://127.0.0.1:1", 1)

        rows.on_wait = look
        scope = scope_of(headers={"content-length": "1"})
        reply = await exchange(node.front, scope, [{"type": "http.request", "body": b"!", "more_body": False}])
        assert (reply.status, reply.body, looks) == (200, b"home a:!", 5)

    run_virtual(main)
