"""Bodies in signed chunks, changed on their way: no part of them becomes an object."""

from __future__ import annotations

import re
from collections.abc import Callable
from uuid import uuid4

import pytest

from tests.attack.conftest import send
from tests.e2e.conftest import Server
from tests.e2e.test_s3_wire import chunks, client, signed_head

KIND = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
TRAILER = "x-amz-checksum-crc32:2H9+DA=="
CHUNK = re.compile(rb"[0-9a-f]+;chunk-signature=[0-9a-f]{64}\r\n(?:[a-z]+\r\n)?")
Harm = Callable[[bytes], bytes]


def parts(body: bytes) -> list[bytes]:
    """The chunks of a body, the last one empty, and what follows them."""
    found = CHUNK.findall(body)
    return [*found, body[len(b"".join(found)) :]]


def signature_flipped(number: int) -> Harm:
    def harm(body: bytes) -> bytes:
        found = parts(body)
        place = found[number].index(b"=") + 1
        found[number] = found[number][:place] + bytes([found[number][place] ^ 1]) + found[number][place + 1 :]
        return b"".join(found)

    return harm


def in_order(*numbers: int) -> Harm:
    return lambda body: b"".join(parts(body)[number] for number in numbers)


def without(*numbers: int) -> Harm:
    return in_order(*(number for number in range(4) if number not in numbers))


HARMS: dict[str, Harm] = {
    "the first signature": signature_flipped(0),
    "the second signature": signature_flipped(1),
    "the last signature": signature_flipped(2),
    "content": lambda body: body.replace(b"\r\nte\r\n", b"\r\nTE\r\n"),
    "no first chunk": without(0),
    "no second chunk": without(1),
    "no last chunk": without(2),
    "no chunk but the last": without(0, 1),
    "chunks swapped": in_order(1, 0, 2, 3),
    "a chunk twice": in_order(0, 0, 1, 2, 3),
    "a chunk after the last": lambda body: body + b"2\r\nte\r\n",
    "no signatures": lambda body: re.sub(rb";chunk-signature=[0-9a-f]{64}", b"", body),
    "a size in another form": lambda body: b"0x" + body,
    "a size with a sign": lambda body: b"+" + body,
    "a size that is too large": lambda body: body.replace(b"2;", b"3;", 1),
    "cut short": lambda body: body[:-10],
    "not in chunks": lambda _body: b"test",
}
TRAILER_HARMS: dict[str, Harm] = {
    "another checksum": lambda body: body.replace(b"2H9+DA==", b"AAAAAA=="),
    "no signature of the trailer": lambda body: re.sub(rb"x-amz-trailer-signature:[0-9a-f]{64}\r\n", b"", body),
    "a wrong signature of the trailer": lambda body: re.sub(
        rb"(x-amz-trailer-signature:)([0-9a-f])", lambda found: found[1] + (b"1" if found[2] == b"0" else b"0"), body
    ),
    "a second trailer": lambda body: body.replace(b"x-amz-trailer-s", b"x-amz-meta-a:b\r\nx-amz-trailer-s"),
}


@pytest.fixture(scope="module")
def bucket(strict: Server) -> str:
    name = f"b-{uuid4()}"
    assert put(strict, f"/{name}", None) == 200
    return name


def put(server: Server, path: str, harm: Harm | None, *, trailer: str = "") -> int:
    """Put `test` in two chunks, harmed on the way; returns the status. A path without a key makes a bucket."""
    if path.count("/") == 1:
        headers, _ = signed_head(server, path, "UNSIGNED-PAYLOAD")
        return send(server, "PUT", path, headers).status
    more = {"x-amz-trailer": "x-amz-checksum-crc32"} if trailer else {}
    kind = KIND + ("-TRAILER" if trailer else "")
    headers, seed = signed_head(
        server, path, kind, **{"x-amz-decoded-content-length": "4", "Content-Encoding": "aws-chunked", **more}
    )
    body = chunks(headers, seed, [b"te", b"st"], trailer)
    return send(server, "PUT", path, headers, body if harm is None else harm(body)).status


def stored(server: Server, path: str) -> int:
    """The number of objects at a path."""
    s3 = client(server)
    name, _, key = path[1:].partition("/")
    found: int = s3.list_objects_v2(Bucket=name, Prefix=key)["KeyCount"]
    s3.close()
    return found


@pytest.mark.parametrize("harm", HARMS)
def test_changed_chunks_store_nothing(strict, bucket, harm):
    path = f"/{bucket}/{uuid4()}"
    assert 400 <= put(strict, path, HARMS[harm]) < 500
    assert stored(strict, path) == 0


@pytest.mark.parametrize("harm", [*HARMS, *TRAILER_HARMS])
def test_changed_chunks_with_a_trailer_store_nothing(strict, bucket, harm):
    path = f"/{bucket}/{uuid4()}"
    harmed = (HARMS | TRAILER_HARMS)[harm]
    assert 400 <= put(strict, path, harmed, trailer=TRAILER) < 500
    assert stored(strict, path) == 0


def test_unchanged_chunks_are_stored(strict, bucket):
    for trailer in ("", TRAILER):
        path = f"/{bucket}/{uuid4()}"
        assert put(strict, path, None, trailer=trailer) == 200
        assert stored(strict, path) == 1
