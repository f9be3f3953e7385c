"""Requests that the server sends for its callers do not reach the credentials of the machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from statewright.integrations.http_client import HttpClient
from statewright.integrations.http_requests import NoAnswer, Request
from statewright.integrations.link_local import Addresses, RefusedAddress

NOTATIONS = [
    "169.254.169.254", "169.254.0.1", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518",
    "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[fe80::1]", "[FE80::A]", "[64:ff9b::a9fe:a9fe]",
    "[2002:a9fe:a9fe::1]", "[fd00:ec2::254]", "[fe80::1%25lo]",
]  # fmt: skip


def request(host: str, port: int = 80) -> Request:
    return Request("GET", f"http://{host}:{port}/latest/meta-data/", {}, None)


def refusal(client: HttpClient, host: str, port: int = 80) -> str:
    with pytest.raises(NoAnswer) as caught:
        client.send(request(host, port), 1_000, 5.0)
    assert isinstance(caught.value.cause, RefusedAddress), caught.value
    return str(caught.value)


@pytest.fixture
def client() -> HttpClient:
    return HttpClient(Addresses())


@pytest.mark.parametrize("host", NOTATIONS)
def test_no_notation_reaches_a_link_local_address(client, host):
    assert "name it in `allow` of [http] in statewright.toml" in refusal(client, host)


def resolving(*addresses: str) -> Callable[..., list[Any]]:
    """A resolver whose answers differ from one question to the next."""
    waiting = iter(addresses)

    def resolve(_host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(waiting), port))]

    return resolve


def test_a_name_that_resolves_there_is_refused(client, monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", resolving("169.254.169.254"))
    assert "metadata.evil.example (169.254.169.254) is a link-local address" in refusal(client, "metadata.evil.example")


@pytest.fixture
def listening() -> Iterator[tuple[int, list[bytes]]]:
    """A server on loopback, and what it was sent."""
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                seen.append(connection.recv(1_000))

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1], seen
        thread.join()


def test_a_name_that_changes_after_the_check_is_refused(monkeypatch, listening):
    """The address that was reached counts; nothing is sent to it."""
    port, seen = listening
    addresses = Addresses()
    monkeypatch.setattr(addresses, "check_host", lambda _host, _port: None)
    monkeypatch.setattr("statewright.integrations.link_local._REFUSED", Addresses(["127.0.0.0/8"])._allowed)
    refusal(HttpClient(addresses), "localhost", port)
    until_closed = threading.Event()
    until_closed.wait(0)
    assert [text for text in seen if text] == []


def test_exceptions_are_named():
    allowed = Addresses(["169.254.170.2", "fe80::/10"])
    allowed.check("169.254.170.2", "h")
    allowed.check("fe80::1", "h")
    allowed.check("::ffff:169.254.170.2", "h")
    with pytest.raises(RefusedAddress):
        allowed.check("169.254.169.254", "h")


def test_other_addresses_pass():
    for address in ("127.0.0.1", "::1", "10.0.0.1", "192.168.1.1", "8.8.8.8", "169.253.1.1", "2001:db8::1"):
        Addresses().check(address, "h")
