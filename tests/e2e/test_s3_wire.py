"""S3 below boto3: presigned addresses, signed chunks, Hosts, broken requests, and what survives a kill."""

from __future__ import annotations

import hashlib
import http.client
import os
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil  # type: ignore[import-untyped]
import pytest
from botocore.auth import S3SigV4QueryAuth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

from tests.deadlines import PATIENCE_SECONDS, completed
from tests.e2e.conftest import Server, session_of
from tests.unit.cli.conftest import Result

MIB = 1024 * 1024
KEY, SECRET = "AKIDEXAMPLE", "a secret key"


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that verifies every signature."""
    folder = tmp_path_factory.mktemp("strict")
    settings = folder / "statewright.toml"
    settings.write_text(f'[credentials]\n{KEY} = "{SECRET}"\n')
    running = Server(folder / "data", "--config", str(settings))
    yield running
    assert running.stop() == 0, running.log.read_text()


def client(server: Server, key: str = KEY, secret: str = SECRET) -> Any:
    session = session_of(key, secret)
    settings = Config(signature_version="s3v4", retries={"total_max_attempts": 1}, s3={"addressing_style": "path"})
    return session.client("s3", endpoint_url=server.url, config=settings)


@pytest.fixture(scope="module")
def bucket(strict: Server) -> str:
    name = f"b-{uuid4()}"
    s3 = client(strict)
    s3.create_bucket(Bucket=name)
    s3.close()
    return name


def send(url: str, method: str = "GET", body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    request = urllib.request.Request(url, body, {n.replace("_", "-"): v for n, v in headers.items()}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read()


def test_presigned_addresses(strict, bucket):
    s3 = client(strict)
    where = {"Bucket": bucket, "Key": "a b/é+%.txt"}
    put = s3.generate_presigned_url("put_object", where, 60)
    assert send(put, "PUT", b"content")[0] == 200
    get = s3.generate_presigned_url("get_object", {**where, "ResponseContentType": "x/y"}, 60)
    assert send(get) == (200, b"content")
    assert send(get, "PUT", b"other")[0] == 403
    broken = get.replace("X-Amz-Signature=", "X-Amz-Signature=0")
    status, text = send(broken)
    assert (status, b"<Code>SignatureDoesNotMatch</Code>" in text) == (403, True)
    today = get.split("X-Amz-Date=")[1][:8]
    status, text = send(get.replace(today, "20200101"))
    assert (status, b"<Message>Request has expired</Message>" in text) == (403, True)
    s3.close()


def test_metadata_in_a_presigned_address_is_kept(strict, bucket):
    s3 = client(strict)
    request = AWSRequest("PUT", f"{strict.url}/{bucket}/meta?x-amz-meta-Foo=bar")
    S3SigV4QueryAuth(Credentials(KEY, SECRET), "s3", "us-east-1", 60).add_auth(request)
    assert send(request.prepare().url, "PUT", b"x")[0] == 200
    assert s3.head_object(Bucket=bucket, Key="meta")["Metadata"] == {"foo": "bar"}
    s3.close()


def test_a_checksum_in_a_presigned_address_is_ignored(strict, bucket):
    """SDKs for JavaScript sign the checksum of the empty body into the address of an upload."""
    empty = "x-amz-checksum-crc32=AAAAAA%3D%3D&x-amz-sdk-checksum-algorithm=CRC32"
    request = AWSRequest("PUT", f"{strict.url}/{bucket}/k?{empty}")
    S3SigV4QueryAuth(Credentials(KEY, SECRET), "s3", "us-east-1", 60).add_auth(request)
    assert send(request.url, "PUT", b"content")[0] == 200
    assert send(request.url.replace("AAAAAA", "AAAAAB"), "PUT", b"content")[0] == 403


def test_who_is_not_known_gets_nothing(strict, bucket):
    assert send(f"{strict.url}/{bucket}/k")[0] == 403
    stranger = client(strict, "AKIDOTHER", SECRET)
    with pytest.raises(stranger.exceptions.ClientError, match="InvalidAccessKeyId"):
        stranger.list_buckets()
    stranger.close()
    liar = client(strict, KEY, "another secret")
    with pytest.raises(liar.exceptions.ClientError, match="SignatureDoesNotMatch"):
        liar.put_object(Bucket=bucket, Key="k", Body=b"1")
    liar.close()


def signed_head(server: Server, path: str, content_hash: str, **headers: str) -> tuple[dict[str, str], str]:
    request = AWSRequest("PUT", server.url + path, headers={"x-amz-content-sha256": content_hash, **headers})
    signer = SigV4Auth(Credentials(KEY, SECRET), "s3", "us-east-1")
    signer.payload = lambda _request: content_hash
    signer.add_auth(request)
    found = {name: str(value) for name, value in request.headers.items()}
    found["x-amz-content-sha256"] = content_hash
    return found, found["Authorization"].rpartition("Signature=")[2]


def put_raw(server: Server, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    connection.request("PUT", path, body, headers)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def chunks(headers: dict[str, str], seed: str, pieces: list[bytes], trailer: str = "") -> bytes:
    """A body in signed chunks. Source: the service's description of the algorithm."""
    import hmac

    at = headers["X-Amz-Date"]
    date = at[:8]
    key = b"AWS4" + SECRET.encode()
    for part in (date, "us-east-1", "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    scope, before, out = f"{date}/us-east-1/s3/aws4_request", seed, b""
    empty = hashlib.sha256(b"").hexdigest()
    for piece in [*pieces, b""]:
        lines = ("AWS4-HMAC-SHA256-PAYLOAD", at, scope, before, empty, hashlib.sha256(piece).hexdigest())
        before = hmac.new(key, "\n".join(lines).encode(), hashlib.sha256).hexdigest()
        out += b"%x;chunk-signature=%s\r\n" % (len(piece), before.encode())
        out += piece + b"\r\n" if piece else b""
    if trailer:
        text = hashlib.sha256(f"{trailer}\n".encode()).hexdigest()
        signed = hmac.new(
            key, "\n".join(("AWS4-HMAC-SHA256-TRAILER", at, scope, before, text)).encode(), hashlib.sha256
        ).hexdigest()
        out += f"{trailer}\r\nx-amz-trailer-signature:{signed}\r\n".encode()
    return out + b"\r\n"


@pytest.mark.parametrize("trailer", ["", "x-amz-checksum-crc32:2H9+DA=="])
@pytest.mark.parametrize("harm", [None, b"TEST"])
def test_signed_chunks(strict, bucket, trailer, harm):
    kind = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" + ("-TRAILER" if trailer else "")
    more = {"x-amz-trailer": "x-amz-checksum-crc32"} if trailer else {}
    path = f"/{bucket}/chunked-{uuid4()}"
    headers, seed = signed_head(
        strict, path, kind, **{"x-amz-decoded-content-length": "4", "Content-Encoding": "aws-chunked", **more}
    )
    body = chunks(headers, seed, [b"te", b"st"], trailer)
    if harm is not None:
        body = body.replace(b"st\r\n", b"ST\r\n", 1)
    status, text = put_raw(strict, path, headers, body)
    s3 = client(strict)
    if harm is None:
        assert status == 200, text
        got = s3.get_object(Bucket=bucket, Key=path.rpartition("/")[2])
        assert (got["Body"].read(), got.get("ContentEncoding")) == (b"test", None)
    else:
        assert (status, b"SignatureDoesNotMatch" in text) == (403, True)
        assert "Contents" not in s3.list_objects_v2(Bucket=bucket, Prefix=path.rpartition("/")[2])
    s3.close()


def test_a_body_that_is_not_the_signed_one(strict, bucket):
    path = f"/{bucket}/k"
    headers, _ = signed_head(strict, path, hashlib.sha256(b"one").hexdigest())
    status, text = put_raw(strict, path, headers, b"two")
    assert (status, b"XAmzContentSHA256Mismatch" in text) == (400, True)


# Without credentials


@pytest.fixture
def open_bucket(server: Server) -> str:
    name = f"open-{uuid4()}"
    assert send(f"{server.url}/{name}", "PUT")[0] == 200
    return name


@pytest.mark.parametrize(
    ("body", "trailer", "status"),
    [
        (b"2\r\nte\r\n2\r\nst\r\n0\r\nx-amz-checksum-crc32:2H9+DA==\r\n\r\n", "crc32", 200),
        (b"4\r\ntest\r\n0\r\nx-amz-checksum-crc32c:hqBywA==\r\n\r\n", "crc32c", 200),
        (b"4\r\ntest\r\n0\r\nx-amz-checksum-crc64nvme:+bu+zv66sUM=\r\n\r\n", "crc64nvme", 200),
        (b"4\r\ntest\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n", "crc32", 400),
        (b"4\r\ntest\r\n0\r\n", "crc32", 400),
        (b"3\r\nabc\r\n0\r\n\r\n", "crc32", 400),
        (b"zz\r\n\r\n", "crc32", 400),
    ],
)
def test_unsigned_chunks_with_trailers(server, open_bucket, body, trailer, status):
    headers = {
        "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "x-amz-decoded-content-length": "4",
        "x-amz-trailer": f"x-amz-checksum-{trailer}", "Content-Encoding": "aws-chunked",
    }  # fmt: skip
    assert put_raw(server, f"/{open_bucket}/k", headers, body)[0] == status
    assert send(f"{server.url}/{open_bucket}/k")[0] == (200 if status == 200 else 404)


@pytest.mark.parametrize("host", ["{}.localhost", "{}.s3.localhost", "{}.s3.amazonaws.com"])
def test_the_bucket_in_the_host(server, open_bucket, host):
    name = host.format(open_bucket)
    assert send(f"{server.url}/a/b", "PUT", b"1", Host=name)[0] == 200
    assert send(f"{server.url}/{open_bucket}/a/b") == (200, b"1")
    assert b"<Key>a/b</Key>" in send(f"{server.url}/?list-type=2", Host=name)[1]


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "code"),
    [
        ("POST", "", b"x", {"Content-Type": "multipart/form-data; boundary=x"}, "MalformedPOSTRequest"),
        ("POST", "?delete", b"<Delete><Object></Delete>", {}, "MalformedXML"),
        ("POST", "?delete", b"", {}, "MissingRequestBodyError"),
        ("POST", "?delete", b'<!DOCTYPE d [<!ENTITY a "b">]><Delete/>', {}, "MalformedXML"),
        ("POST", "?delete", b"<Delete><Object><Key>a</Key></Object></Delete>",
         {"Content-MD5": "AAAAAAAAAAAAAAAAAAAAAA=="}, "BadDigest"),
        ("PUT", "?tagging", b"<" * 100, {}, "MalformedXML"),
        ("PUT", "?tagging", b"<a>" * 5000, {}, "MalformedXML"),
        ("PUT", "/%ff", b"", {}, "InvalidURI"),
        ("GET", "?max-keys=many", None, {}, "InvalidArgument"),
        ("PATCH", "/k", b"", {}, "MethodNotAllowed"),
        ("GET", "/none", None, {}, "NoSuchKey"),
    ],
)  # fmt: skip
def test_odd_requests(server, open_bucket, method, path, body, headers, code):
    # Without a type, urllib says that it sends a form.
    given = {"Content_Type": "application/xml", **{name.replace("-", "_"): value for name, value in headers.items()}}
    status, text = send(f"{server.url}/{open_bucket}{path}", method, body, **given)
    assert status >= 400
    assert f"<Code>{code}</Code>".encode() in text


@pytest.mark.parametrize("size", [1, 20_000, MIB - 1, MIB, 3 * MIB + 17])
@pytest.mark.parametrize("expects", [False, True])
def test_a_body_in_odd_pieces_with_requests_behind_it(server, open_bucket, size, expects):
    body = os.urandom(size)
    head = f"PUT /{open_bucket}/odd HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n"
    follow = f"PUT /{open_bucket}/behind HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
    last = f"GET /{open_bucket}/odd HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS) as connection:
        reader = connection.makefile("rb")
        connection.sendall(f"{head}{'Expect: 100-continue' if expects else 'X: y'}\r\n\r\n".encode())
        if expects:
            assert reader.readline().startswith(b"HTTP/1.1 100 ")
            assert reader.readline() == b"\r\n"
        for first in range(0, size, 300_007):
            connection.sendall(body[first : first + 300_007])
        connection.sendall((follow + last).encode())
        answers = reader.read()
    assert answers.count(b"HTTP/1.1 200 ") == 3
    assert hashlib.md5(body, usedforsecurity=False).hexdigest().encode() in answers.partition(b"\r\n\r\n")[0]
    assert answers.endswith(b"\r\n\r\n" + body)
    assert send(f"{server.url}/{open_bucket}/behind") == (200, b"abc")
    for key in ("odd", "behind"):
        send(f"{server.url}/{open_bucket}/{key}", "DELETE")


def test_an_upload_that_breaks_off_leaves_nothing(server, open_bucket):
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        head = f"PUT /{open_bucket}/k HTTP/1.1\r\nHost: x\r\nContent-Length: {10 * MIB}\r\n\r\n"
        connection.sendall(head.encode() + b"x" * 3 * MIB)
    assert send(f"{server.url}/{open_bucket}/k")[0] == 404
    assert b"<KeyCount>0</KeyCount>" in send(f"{server.url}/{open_bucket}?list-type=2")[1]


@pytest.mark.slow
def test_memory_stays_small_and_a_kill_loses_nothing(tmp_path):
    server = Server(tmp_path / "data")
    send(f"{server.url}/bucket", "PUT")
    size, piece = 192 * MIB, os.urandom(MIB)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    connection.request("PUT", "/bucket/large", (piece for _ in range(size // MIB)), {"Content-Length": str(size)})
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200
    connection.request("GET", "/bucket/large")
    answer = connection.getresponse()
    count = 0
    while got := answer.read(MIB):
        count += len(got)
    assert count == size
    process = psutil.Process(server.process.pid)
    assert process.memory_info().rss < 120 * MIB
    for number in range(30):
        assert send(f"{server.url}/bucket/small-{number}", "PUT", b"%d" % number * 3000)[0] == 200
    # Half of an upload is in flight when the server dies.
    connection.putrequest("PUT", "/bucket/unfinished")
    connection.putheader("Content-Length", str(size))
    connection.endheaders(piece * 8)
    server.kill()
    connection.close()
    files = [path for path in (tmp_path / "data" / "objects").rglob("*") if path.is_file()]
    again = Server(tmp_path / "data")
    for number in range(30):
        assert send(f"{again.url}/bucket/small-{number}") == (200, b"%d" % number * 3000)
    assert send(f"{again.url}/bucket/large", "HEAD")[0] == 200
    assert send(f"{again.url}/bucket/unfinished")[0] == 404
    left = [path for path in (tmp_path / "data" / "objects").rglob("*") if path.is_file()]
    assert len(left) <= len(files)
    large = [path for path in left if path.stat().st_size >= 8 * MIB]
    assert [path.stat().st_size for path in large] == [size]
    assert again.stop() == 0


@pytest.mark.slow
def test_the_aws_cli(server, open_bucket, tmp_path):
    source = tmp_path / "there"
    source.mkdir()
    (source / "a.txt").write_bytes(b"1" * 100)
    (source / "large.bin").write_bytes(os.urandom(9 * MIB))
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
        "STATEWRIGHT_ENDPOINT": server.url,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }

    def aws(*arguments: str) -> str:
        command = [sys.executable, "-m", "statewright.cli.main", "aws", "s3", *arguments]
        done = completed(command, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    aws("cp", "--recursive", str(source), f"s3://{open_bucket}/x/")
    assert "large.bin" in aws("ls", f"s3://{open_bucket}/x/")
    aws("cp", "--recursive", f"s3://{open_bucket}/x/", str(tmp_path / "back"))
    assert (tmp_path / "back" / "large.bin").read_bytes() == (source / "large.bin").read_bytes()
    aws("rm", "--recursive", f"s3://{open_bucket}")
    aws("rb", f"s3://{open_bucket}")


def test_the_commands_on_objects(statewright, open_bucket, tmp_path):
    def run(*arguments: str) -> str:
        done: Result = statewright("object", *arguments)
        assert done.code == 0, done.out + done.err
        return done.out

    (tmp_path / "one.txt").write_text("one")
    run("cp", str(tmp_path / "one.txt"), f"s3://{open_bucket}/a/")
    run("cp", f"s3://{open_bucket}/a/one.txt", f"s3://{open_bucket}/two.txt")
    assert run("cat", f"s3://{open_bucket}/two.txt") == "one"
    run("cp", f"s3://{open_bucket}/two.txt", str(tmp_path / "back.txt"))
    assert (tmp_path / "back.txt").read_text() == "one"
    full = statewright("object", "cp", f"s3://{open_bucket}/two.txt", "/dev/full")
    assert (full.code, full.err) == (1, "Error: /dev/full cannot be written: No space left on device\n")
    assert open_bucket in run("ls")
    shown = run("ls", f"s3://{open_bucket}")
    assert "a/" in shown
    assert "two.txt" in shown
    assert "one.txt" not in shown
    assert "a/one.txt" in run("ls", f"s3://{open_bucket}", "-r", "-o", "json")
    run("cp", f"s3://{open_bucket}/a/one.txt", f"s3://{open_bucket}/b/")
    run("cp", f"s3://{open_bucket}/a/one.txt", f"s3://{open_bucket}")
    named = run("ls", f"s3://{open_bucket}", "-r")
    assert "b/one.txt\n" in named
    assert "  one.txt\n" in named
