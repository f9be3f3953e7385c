"""The tools of the storm: the client that calls a random server, and the proxy between a node and PostgreSQL."""

from __future__ import annotations

import http.server
import random
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.crash.servers import held_port
from tests.deadlines import PATIENCE_SECONDS, until
from tests.storm.client import Client, NoAnswer
from tests.storm.proxies import FROM, SOCKET, TO, DatabaseProxy, NodeProxy

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such sockets there")
SILENT_SECONDS = 0.2
"""How long nothing must come through."""


class _Counting(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        assert isinstance(self.server, _Server)
        self.server.calls += 1
        self.send_response(self.server.status)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *given: object) -> None:
        return


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    calls = 0
    status = 200


@pytest.fixture
def servers() -> Iterator[list[_Server]]:
    made = [_Server(("127.0.0.1", 0), _Counting) for _ in range(2)]
    threads = [threading.Thread(target=one.serve_forever, daemon=True) for one in made]
    for thread in threads:
        thread.start()
    yield made
    for one, thread in zip(made, threads, strict=True):
        one.shutdown()
        one.server_close()
        thread.join(PATIENCE_SECONDS)


def test_a_client_calls_random_servers_and_passes_those_that_are_not_there(servers: list[_Server]) -> None:
    held, nowhere = held_port()
    ports = [nowhere, *(int(one.server_address[1]) for one in servers)]
    with closing(held), closing(Client(*ports, chance=random.Random(1))) as client:
        for _ in range(40):
            assert client.json("sqs", "ListQueues") == {}
    assert all(one.calls for one in servers)
    assert sum(one.calls for one in servers) == 40


def test_a_client_does_not_repeat_a_call_that_may_have_happened(servers: list[_Server]) -> None:
    for one in servers:
        one.status = 503
    ports = [int(one.server_address[1]) for one in servers]
    with closing(Client(*ports, chance=random.Random(1))) as client, pytest.raises(NoAnswer):
        client.json("sqs", "ListQueues")
    assert sum(one.calls for one in servers) == 1


@pytest.fixture
def echo() -> Iterator[str]:
    """The folder of a socket that sends back all that it receives."""
    with (
        tempfile.TemporaryDirectory(prefix="statewright-echo-", dir="/tmp") as folder,
        socket.socket(socket.AF_UNIX) as listening,
    ):
        listening.bind(f"{folder}/{SOCKET}")
        listening.listen()
        threading.Thread(target=_echo, args=(listening,), daemon=True).start()
        yield folder
        listening.shutdown(socket.SHUT_RDWR)


def _echo(listening: socket.socket) -> None:
    def answer(taken: socket.socket) -> None:
        with taken:
            while data := taken.recv(100):
                taken.sendall(data)

    while True:
        try:
            taken, _ = listening.accept()
        except OSError:
            return
        threading.Thread(target=answer, args=(taken,), daemon=True).start()


def test_a_proxy_of_a_node_is_at_a_port_of_its_own(servers: list[_Server]) -> None:
    proxy = NodeProxy(int(servers[0].server_address[1]))
    port = int(proxy.address.rpartition(":")[2])
    with closing(Client(port)) as client:
        assert client.json("sqs", "ListQueues") == {}
    assert [one.calls for one in servers] == [1, 0]
    with closing(Client(port, seconds=SILENT_SECONDS)) as client:
        # The call arrives, and its answer does not.
        proxy.hold(FROM)
        with pytest.raises(NoAnswer):
            client.json("sqs", "ListQueues")
        until(lambda: servers[0].calls == 2, "the call")
        proxy.reset()
        proxy.heal()
    with closing(Client(port)) as client:
        assert client.json("sqs", "ListQueues") == {}
    proxy.close()


def test_a_proxy_holds_back_and_breaks_off(echo: str) -> None:
    proxy = DatabaseProxy(f"postgresql:///test?host={echo}&user=test")
    folder = Path(proxy.address.partition("host=")[2].partition("&")[0])
    assert proxy.address == f"postgresql:///test?host={folder}&user=test"
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(PATIENCE_SECONDS)
        one.connect(str(folder / SOCKET))
        one.sendall(b"a")
        assert one.recv(100) == b"a"
        for directions in ((TO,), (FROM,), (TO, FROM)):
            proxy.hold(*directions)
            one.sendall(b"b")
            one.settimeout(SILENT_SECONDS)
            with pytest.raises(TimeoutError):
                one.recv(100)
            one.settimeout(PATIENCE_SECONDS)
            proxy.heal()
            assert one.recv(100) == b"b"
        proxy.reset()
        assert one.recv(100) == b""
    proxy.close()
    assert not folder.exists()
