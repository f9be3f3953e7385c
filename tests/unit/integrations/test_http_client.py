"""Requests over HTTP: connections that are kept, limits of time and size, proxies, TLS, and what went wrong."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from statewright.integrations.http_client import HttpClient
from statewright.integrations.http_requests import NoAnswer, Request, Response

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@contextmanager
def raw_server(answers: list[bytes], context: ssl.SSLContext | None = None) -> Iterator[tuple[int, list[list[bytes]]]]:
    """A port, and the requests of each connection; an answer without a length ends its connection."""
    connections: list[list[bytes]] = []
    left = list(answers)

    def talk(connection: socket.socket) -> None:
        heads: list[bytes] = []
        connections.append(heads)
        with closing(connection):
            while True:
                head = b""
                while b"\r\n\r\n" not in head:
                    piece = connection.recv(65_536)
                    if not piece:
                        return
                    head += piece
                heads.append(head)
                answer = left.pop(0)
                connection.sendall(answer)
                if b"Content-Length: 2\r\n" not in answer:
                    return

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
                served = context.wrap_socket(connection, server_side=True) if context else connection
                threading.Thread(target=talk, args=(served,), daemon=True).start()
            except ssl.SSLError:
                continue
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield listening.getsockname()[1], connections
        listening.shutdown(socket.SHUT_RDWR)


def get(client: HttpClient, url: str, limit: int = 1000) -> Response:
    return client.send(Request("GET", url, {}, None), limit)


def test_a_connection_is_kept_and_used_again():
    with raw_server([OK, OK]) as (port, connections):
        client = HttpClient()
        for _ in range(2):
            assert get(client, f"http://127.0.0.1:{port}/a?b=1").body == b"ok"
        ((first, second),) = connections
    assert first == second
    assert first.startswith(b"GET /a?b=1 HTTP/1.1\r\n")
    assert b"user-agent" not in first.lower()


def test_one_that_was_closed_or_cut_short_is_replaced():
    closed = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end"
    with raw_server([closed, OK, OK]) as (port, connections):
        client = HttpClient()
        assert get(client, f"http://127.0.0.1:{port}").body == b"to the end"
        assert get(client, f"http://127.0.0.1:{port}", limit=0).body == b"o"
        assert get(client, f"http://127.0.0.1:{port}").body == b"ok"
    assert [len(requests) for requests in connections] == [1, 1, 1]


def test_a_request_that_meets_a_closed_connection_is_sent_again_if_that_is_harmless():
    with raw_server([OK, b"", OK, b""]) as (port, connections):
        client = HttpClient()
        address = f"http://127.0.0.1:{port}"
        assert [get(client, address).body for _ in range(2)] == [b"ok", b"ok"]
        # The second connection has answered, and is closed now.
        with pytest.raises(NoAnswer, match="closed connection without response"):
            client.send(Request("POST", address, {}, None), 1000)
    assert [len(requests) for requests in connections] == [2, 2]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (b"", "RemoteDisconnected: Remote end closed connection without response"),
        (b"nonsense\r\n\r\n", "BadStatusLine: nonsense\r\n"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
            "IncompleteRead: IncompleteRead(4 bytes read, 5 more expected)",
        ),
    ],
)  # fmt: skip
def test_what_went_wrong_is_said_in_its_own_words(answer: bytes, text: str):
    with raw_server([answer]) as (port, _), pytest.raises(NoAnswer) as caught:
        get(HttpClient(), f"http://127.0.0.1:{port}/")
    assert str(caught.value) == text


@pytest.mark.parametrize("host", ["127.0.0.1", "slow.example"])
def test_a_head_that_drips_ends_with_the_time_limit(host: str, monkeypatch: pytest.MonkeyPatch):
    """Of a server, and of one behind a proxy."""
    done = threading.Event()

    def drip() -> None:
        connection, _ = listening.accept()
        with closing(connection), suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            for _ in range(500):
                connection.sendall(b"x")
                if done.wait(0.01):
                    return

    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
        thread = threading.Thread(target=drip)
        thread.start()
        with pytest.raises(NoAnswer, match="timed out"):
            HttpClient().send(Request("GET", f"http://{host}:{port}/", {}, None), 10, seconds=0.05)
        done.set()
        thread.join()


def test_refused_connections_and_unknown_hosts_are_no_answer():
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with pytest.raises(NoAnswer, match=r"^ConnectionRefusedError: \[Errno \d+\] Connection refused$"):
        get(HttpClient(), f"http://127.0.0.1:{port}/")
    with pytest.raises(NoAnswer, match=r"^gaierror: \[Errno -\d+\]"):
        get(HttpClient(), "http://no-such-name.invalid/")


def test_a_body_that_never_ends_is_given_up_at_the_deadline():
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no"
    with raw_server([half]) as (port, _), pytest.raises(NoAnswer, match=r"^TimeoutError: timed out$"):
        HttpClient().send(Request("GET", f"http://127.0.0.1:{port}/", {}, None), 10, seconds=0.05)


def test_a_head_that_cannot_be_sent():
    with raw_server([OK]) as (port, _), pytest.raises(ValueError, match="header"):
        HttpClient().send(Request("GET", f"http://127.0.0.1:{port}/", {"X-A": "a\r\nb"}, None), 10)


def test_proxies_of_the_environment(monkeypatch: pytest.MonkeyPatch):
    with raw_server([OK, OK]) as (port, connections):
        monkeypatch.setenv("HTTP_PROXY", f"http://user:pass@127.0.0.1:{port}")
        monkeypatch.setenv("NO_PROXY", ".direct.invalid")
        client = HttpClient()
        assert get(client, "http://far.invalid/a?b=1").body == b"ok"
        assert get(client, f"http://127.0.0.1:{port}/own").body == b"ok"
        with pytest.raises(NoAnswer, match="gaierror"):
            get(client, "http://a.direct.invalid/")
        by_proxy, direct = (requests[0] for requests in connections)
    assert by_proxy.startswith(b"GET http://far.invalid/a?b=1 HTTP/1.1\r\n")
    assert b"Host: far.invalid\r\n" in by_proxy
    assert b"proxy-authorization: Basic dXNlcjpwYXNz" in by_proxy.replace(b"Proxy-Auth", b"proxy-auth")
    assert direct.startswith(b"GET /own HTTP/1.1\r\n")
    assert b"uthorization" not in direct


def certificate(folder: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
        .not_valid_before(now - timedelta(1)).not_valid_after(now + timedelta(1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    file = folder / "test.pem"
    plain = serialization.NoEncryption()
    file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return file


def test_tls_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    with raw_server([OK, OK], context) as (port, connections):
        with pytest.raises(NoAnswer, match=r"^SSLCertVerificationError: \[SSL: CERTIFICATE_VERIFY_FAILED\]"):
            get(HttpClient(), f"https://127.0.0.1:{port}/")
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        client = HttpClient()
        assert get(client, f"https://127.0.0.1:{port}/").body == b"ok"
        assert get(client, f"https://127.0.0.1:{port}/").body == b"ok"
    assert [len(requests) for requests in connections] == [2]
