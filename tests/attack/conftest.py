"""Servers that the attacks share, one that verifies signatures and one that takes any caller; raw requests to them."""

from __future__ import annotations

import contextlib
import http.client
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest

from tests.deadlines import PATIENCE_SECONDS
from tests.e2e.conftest import Server

KEY, SECRET = "AKIDEXAMPLE", "a secret key"


@dataclass(frozen=True)
class Reply:
    """An answer: its status, its headers by name in lower case, its body."""

    status: int
    headers: dict[str, str]
    body: bytes


@pytest.fixture(scope="session")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that verifies every signature."""
    folder = tmp_path_factory.mktemp("strict")
    settings = folder / "statewright.toml"
    settings.write_text(f'[credentials]\n{KEY} = "{SECRET}"\n')
    yield from _running(Server(folder / "data", "--store", "memory", "--config", str(settings)))


@pytest.fixture(scope="session")
def lenient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server without credentials, which any program on the machine may call."""
    yield from _running(Server(tmp_path_factory.mktemp("lenient") / "data", "--store", "memory"))


def _running(server: Server) -> Iterator[Server]:
    yield server
    assert server.stop() == 0, server.log.read_text()
    log = server.log.read_text()
    assert "Traceback" not in log, log


def send(server: Server, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Reply:
    """Send one request with these headers and no others but the body's length and, unless given, the host."""
    given = dict(headers or {})
    names = {name.lower() for name in given}
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    try:
        connection.putrequest(method, path, skip_host="host" in names, skip_accept_encoding=True)
        for name, value in given.items():
            connection.putheader(name, value)
        if "content-length" not in names:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return Reply(answer.status, found, answer.read())
    finally:
        connection.close()


def exchange(server: Server, sent: bytes) -> bytes:
    """Send bytes, and return everything that comes until the server ends the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS) as connection:
        parts = []
        with contextlib.suppress(OSError):
            connection.sendall(sent)
            while part := connection.recv(65_536):
                parts.append(part)
        return b"".join(parts)
