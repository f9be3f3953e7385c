"""Attacks by the servers behind APIs: framing, statuses, headers of the connection, answers without an end, circles."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.attack.conftest import send
from tests.deadlines import PATIENCE_SECONDS
from tests.e2e.conftest import Server

OK: Final = b"HTTP/1.1 200 OK\r\n"
FAILED: Final = b'{"message": "Internal server error"}'
ANSWERS: Final = {
    "hidden": OK + b"Connection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: x\r\nX-End: 1\r\nContent-Length: 2\r\n\r\nab",
    "lengths": OK + b"Content-Length: 2\r\nContent-Length: 4\r\n\r\nabcd",
    "early": OK + b"Content-Length: 9\r\n\r\nab",
    "hints": b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK + b"Content-Length: 2\r\n\r\nab",
    "switched": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
    "beyond": b"HTTP/1.1 999 X\r\nContent-Length: 2\r\n\r\nab",
    "heads": OK + b"X-A: b\r\n" * 5_000 + b"Content-Length: 2\r\n\r\nab",
    "none": b"",
    "redirect": b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n",
    "plain": OK + b"Content-Length: 2\r\n\r\nab",
}  # fmt: skip


class Backend:
    """A server that answers with the bytes of `ANSWERS`, without an end, or with a head of single bytes."""

    def __init__(self) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        self.closed = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listening.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            sent = b""
            while b"\r\n\r\n" not in sent:
                piece = connection.recv(65_536)
                if not piece:
                    return
                sent += piece
            name = sent.split(b" ")[1].rpartition(b"/")[2].decode()
            if name == "endless":
                connection.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n")
                while True:
                    connection.sendall(b"10000\r\n" + b"x" * 65_536 + b"\r\n")
            elif name == "dripping":
                connection.sendall(OK)
                while not self.closed.wait(0.02):
                    connection.sendall(b"x")
            else:
                connection.sendall(ANSWERS[name])


@pytest.fixture(scope="module")
def api(lenient: Server) -> Iterator[str]:
    """A REST API before a hostile server."""
    backend = Backend()
    gateway: Any = lenient.client("apigateway")
    made = gateway.create_rest_api(name="before")
    for name in (*ANSWERS, "endless", "dripping", "circle"):
        uri = f"{lenient.url}/_apis/{made['id']}/s/circle" if name == "circle" else f"{backend.url}/{name}"
        resource = gateway.create_resource(restApiId=made["id"], parentId=made["rootResourceId"], pathPart=name)
        where = {"restApiId": made["id"], "resourceId": resource["id"], "httpMethod": "GET"}
        gateway.put_method(**where, authorizationType="NONE")
        # Where the time limit is not what ends a request, it must not end one on a busy machine either.
        limit_ms = 300 if name == "dripping" else 29_000
        gateway.put_integration(
            **where, type="HTTP_PROXY", integrationHttpMethod="GET", uri=uri, timeoutInMillis=limit_ms
        )
    gateway.create_deployment(restApiId=made["id"], stageName="s")
    yield made["id"]
    backend.closed.set()
    backend.listening.close()


def test_headers_of_the_backends_connection_end_there(lenient, api):
    answer = send(lenient, "GET", f"/_apis/{api}/s/hidden")
    assert (answer.status, answer.body, answer.headers["x-end"]) == (200, b"ab", "1")
    assert not {"x-hop", "keep-alive"} & answer.headers.keys()


@pytest.mark.parametrize("name", ["lengths", "early", "hints", "switched", "beyond", "heads", "none", "endless"])
def test_an_answer_that_is_none_is_a_failure_of_the_integration(lenient, api, name):
    answer = send(lenient, "GET", f"/_apis/{api}/s/{name}")
    assert (answer.status, answer.body) == (504, FAILED)
    # Nothing of it is left for the next request.
    assert send(lenient, "GET", f"/_apis/{api}/s/plain").body == b"ab"


def test_redirects_are_the_clients_to_follow(lenient, api):
    answer = send(lenient, "GET", f"/_apis/{api}/s/redirect")
    assert (answer.status, answer.headers["location"]) == (302, "http://169.254.169.254/")


def test_a_head_that_drips_ends_with_the_time_limit(lenient, api):
    # More than there are threads for such calls: the requests after them still have one.
    answers: list[int] = []

    def asked() -> None:
        answers.append(send(lenient, "GET", f"/_apis/{api}/s/dripping").status)

    threads = [threading.Thread(target=asked) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert answers == [504] * 40
    assert send(lenient, "GET", f"/_apis/{api}/s/plain").body == b"ab"


def test_an_api_that_calls_itself_ends_at_once(lenient, api):
    assert send(lenient, "GET", f"/_apis/{api}/s/circle").status == 504
    assert "it would go in a circle" in lenient.log.read_text()


def test_no_integration_reaches_the_credentials_of_a_machine(lenient):
    gateway: Any = lenient.client("apigateway")
    made = gateway.create_rest_api(name="inward")
    where = {"restApiId": made["id"], "resourceId": made["rootResourceId"], "httpMethod": "GET"}
    gateway.put_method(**where, authorizationType="NONE")
    for host in (
        "169.254.169.254", "2852039166", "0251.0376.0251.0376", "[::ffff:169.254.169.254]", "[fd00:ec2::254]",
        "127.0.0.1@169.254.169.254", "${stageVariables.host}",
    ):  # fmt: skip
        gateway.put_integration(**where, type="HTTP_PROXY", integrationHttpMethod="GET", uri=f"http://{host}/latest")
        gateway.create_deployment(restApiId=made["id"], stageName="s", variables={"host": "169.254.169.254"})
        answer = send(lenient, "GET", f"/_apis/{made['id']}/s")
        assert (answer.status, answer.body) == (504, FAILED), host
