"""The front of tests on clusters: requests of one connection go to several nodes, as they came."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.crash.servers import held_port
from tests.deadlines import PATIENCE_SECONDS
from tests.random_front import RandomFront

FrontOf = Callable[..., RandomFront]


class _Node(ThreadingHTTPServer):
    """Answers with what it was sent; `/wait` only ends with its connection."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.was_asked, self.was_left = threading.Event(), threading.Event()
        self.serving = threading.Thread(target=self.serve_forever, daemon=True)
        self.serving.start()

    def close(self) -> None:
        self.shutdown()
        self.serving.join()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Node

    def do_GET(self) -> None:
        self._answer(f"{self.server.server_port} {self.headers['host']}".encode())

    def do_POST(self) -> None:
        if self.path == "/wait":
            self.server.was_asked.set()
            if not self.rfile.read(1):
                self.server.was_left.set()
            return
        length = self.headers["content-length"]
        self._answer(self.rfile.read(int(length)) if length is not None else self._chunks())

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "1000")
        self.end_headers()

    def _chunks(self) -> bytes:
        found = b""
        while size := int(self.rfile.readline(), 16):
            found += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return found

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def nodes() -> Iterator[tuple[_Node, _Node]]:
    both = (_Node(), _Node())
    yield both
    for node in both:
        node.close()


@pytest.fixture
def front_of() -> Iterator[FrontOf]:
    made: list[RandomFront] = []

    def make(*ports: int, seed: int = 0) -> RandomFront:
        made.append(RandomFront(ports, seed))
        return made[-1]

    yield make
    for front in made:
        front.close()


def asked(front: RandomFront, count: int) -> list[str]:
    """The ports of the nodes that have answered requests of one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", front.port, timeout=PATIENCE_SECONDS)
    found = []
    for _ in range(count):
        connection.request("GET", "/")
        port, host = connection.getresponse().read().decode().split()
        assert host == f"127.0.0.1:{front.port}"
        found.append(port)
    connection.close()
    return found


def test_requests_of_one_connection_go_to_nodes_that_the_seed_draws(
    nodes: tuple[_Node, _Node], front_of: FrontOf
) -> None:
    ports = [node.server_port for node in nodes]
    first, again, other = (asked(front_of(*ports, seed=seed), 20) for seed in (1, 1, 2))
    assert set(first) == {str(port) for port in ports}
    assert first == again != other


def test_bodies_of_every_kind(nodes: tuple[_Node, _Node], front_of: FrontOf) -> None:
    front = front_of(*(node.server_port for node in nodes))
    connection = http.client.HTTPConnection("127.0.0.1", front.port, timeout=PATIENCE_SECONDS)
    long = bytes(range(256)) * 1000
    for body in (long, b"", [long, b"and more"]):
        connection.request("POST", "/", body, encode_chunked=True)
        assert connection.getresponse().read() == (body if isinstance(body, bytes) else b"".join(body))
        connection.request("HEAD", "/")
        assert connection.getresponse().read() == b""
    connection.request("POST", "/", long, {"Expect": "100-continue"})
    assert connection.getresponse().read() == long
    connection.close()


def test_a_node_that_is_dead_is_not_asked(nodes: tuple[_Node, _Node], front_of: FrontOf) -> None:
    held, dead = held_port()
    alive = nodes[0].server_port
    assert asked(front_of(dead, alive), 10) == [str(alive)] * 10
    held.close()


def test_an_end_of_the_front_ends_open_connections(
    nodes: tuple[_Node, _Node], caplog: pytest.LogCaptureFixture
) -> None:
    front = RandomFront([nodes[0].server_port])
    with socket.create_connection(("127.0.0.1", front.port)) as client:
        client.sendall(b"POST /wait HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n")
        assert nodes[0].was_asked.wait(PATIENCE_SECONDS)
        front.close()
        assert client.recv(1) == b""
    assert nodes[0].was_left.wait(PATIENCE_SECONDS)
    assert caplog.records == []


def test_a_node_finds_that_the_client_has_left(nodes: tuple[_Node, _Node], front_of: FrontOf) -> None:
    node = nodes[0]
    front = front_of(node.server_port)
    with socket.create_connection(("127.0.0.1", front.port)) as client:
        client.sendall(b"POST /wait HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n")
        assert node.was_asked.wait(PATIENCE_SECONDS)
        assert not node.was_left.is_set()
    assert node.was_left.wait(PATIENCE_SECONDS)
