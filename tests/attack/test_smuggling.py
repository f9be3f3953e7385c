"""Requests whose end is disputable: refused, or read in one way only, with nothing left over for the next one."""

from __future__ import annotations

import pytest

from tests.attack.conftest import exchange

INNER = b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
"""What an attacker would have the server read as a request of its own."""
START = b"POST / HTTP/1.1\r\nHost: x\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(INNER)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
END = b"0\r\n\r\n"


def body(*heads: bytes, content: bytes = END + INNER) -> bytes:
    return START + b"".join(heads) + b"\r\n" + content


REFUSED: dict[str, bytes] = {
    "a length and chunks": body(LENGTH, CHUNKED),
    "chunks and a length": body(CHUNKED, LENGTH),
    "two lengths": body(b"Content-Length: 0\r\n", LENGTH, content=INNER),
    "a list of lengths": body(b"Content-Length: 0, %d\r\n" % len(INNER), content=INNER),
    "a length with a sign": body(b"Content-Length: +5\r\n", content=INNER),
    "a negative length": body(b"Content-Length: -1\r\n", content=INNER),
    "a length in hexadecimal": body(b"Content-Length: 0x5\r\n", content=INNER),
    "a length with an underscore": body(b"Content-Length: 1_0\r\n", content=INNER),
    "a length without digits": body(b"Content-Length: \r\n", content=INNER),
    "a length beyond 64 bits": body(b"Content-Length: 18446744073709551616\r\n", content=INNER),
    "a space before the colon": body(b"Content-Length : 0\r\n", content=INNER),
    "chunks and a space before the colon": body(b"Transfer-Encoding : chunked\r\n"),
    "a folded header": body(b"Transfer-Encoding:\r\n chunked\r\n"),
    "another encoding": body(b"Transfer-Encoding: gzip, identity\r\n"),
    "chunks twice": body(b"Transfer-Encoding: chunked, chunked\r\n"),
    "chunks, then another encoding": body(b"Transfer-Encoding: chunked, gzip\r\n"),
    "an encoding of that sound": body(b"Transfer-Encoding: xchunked\r\n"),
    "a header without a name": body(b": chunked\r\n"),
    "a header without a colon": body(b"Transfer-Encoding chunked\r\n"),
    "a null in a name": body(b"Transfer\0-Encoding: chunked\r\n"),
    "a null in a value": body(b"X: a\0b\r\n", content=INNER),
    "a bare carriage return": body(b"X: a\rTransfer-Encoding: chunked\r\n"),
    "bare line feeds": body(CHUNKED).replace(b"\r\n", b"\n"),
    "a chunk of no size": body(CHUNKED, content=b"\r\n" + INNER),
    "a chunk with a sign": body(CHUNKED, content=b"-1\r\n" + INNER),
    "a chunk with a prefix": body(CHUNKED, content=b"0x0\r\n\r\n" + INNER),
    "a chunk beyond 64 bits": body(CHUNKED, content=b"1" + b"0" * 16 + b"\r\n" + INNER),
    "a chunk longer than it says": body(CHUNKED, content=b"1\r\nabc\r\n" + END + INNER),
    "a chunk ended by a bare line feed": body(CHUNKED, content=b"1\na\n0\n\n" + INNER),
    "another version": b"GET / HTTP/9.9\r\nHost: x\r\n\r\n" + INNER,
    "no version": b"GET /\r\n\r\n" + INNER,
}


def answers(text: bytes) -> int:
    return text.count(b"HTTP/1.1 ")


@pytest.mark.parametrize("form", REFUSED)
def test_no_request_hides_in_another(lenient, form):
    text = exchange(lenient, REFUSED[form])
    assert b'"status":"ok"' not in text, "the inner request was answered"
    assert answers(text) <= 1
    assert b"HTTP/1.1 2" not in text


@pytest.mark.parametrize(
    ("sent", "count"),
    [
        (body(b"Content-Length: 0\r\n", content=INNER), 2),
        (body(CHUNKED, content=END + INNER), 2),
        (body(CHUNKED, content=b"0;ext=1\r\n\r\n" + INNER), 2),
        (body(CHUNKED, content=b"00000000\r\n\r\n" + INNER), 2),
        (body(CHUNKED, content=b"0\r\nTrailer: x\r\n\r\n" + INNER), 2),
        (body(b"Transfer-Encoding: Chunked\r\n", content=END + INNER), 2),
        (body(LENGTH, b"Connection: close\r\n", content=INNER), 1),
    ],
)
def test_an_undisputed_end_is_an_end(lenient, sent, count):
    text = exchange(lenient, sent)
    assert answers(text) == count
    assert (b'"status":"ok"' in text) is (count == 2)


def test_trailers_are_no_headers(lenient):
    """A header that comes after the body is not one of the request."""
    target = b"X-Amz-Target: AWSStepFunctions.ListActivities\r\n"
    late = body(CHUNKED, b"Connection: close\r\n", content=b"0\r\n" + target + b"\r\n")
    assert b"HTTP/1.1 200" not in exchange(lenient, late)


# ------------------------------------------------------------------ heads


@pytest.mark.parametrize("size", [70_000, 200_000, 1_000_000])
@pytest.mark.parametrize("header", ["X: %s", "Authorization: AWS4-HMAC-SHA256 Credential=%s"])
def test_a_head_over_64_kib_is_refused_however_it_arrives(lenient, size, header):
    head = (header % ("a" * size)).encode()
    text = exchange(lenient, b"GET /health HTTP/1.1\r\nHost: x\r\n" + head + b"\r\n\r\n")
    assert text.startswith(b"HTTP/1.1 431 ") or text == b""
    assert b'"status":"ok"' not in text


def test_a_path_over_64_kib_is_refused(lenient):
    text = exchange(lenient, b"GET /health?" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n")
    assert text.startswith(b"HTTP/1.1 431 ") or text == b""


def test_a_long_body_in_the_same_read_is_no_long_head(lenient):
    heads = (b"Content-Length: 100000\r\n", b"Connection: close\r\n")
    text = exchange(lenient, body(*heads, content=b"x" * 100_000))
    assert text.startswith(b"HTTP/1.1 4")
    assert b" 431 " not in text


def test_a_body_without_end_is_refused(lenient):
    """Whatever its encoding, at most the service's longest body is read into memory."""
    piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    target = b"X-Amz-Target: AWSStepFunctions.ListActivities\r\n"
    text = exchange(lenient, body(target, b"Connection: close\r\n", CHUNKED, content=piece * 64))
    assert text.startswith(b"HTTP/1.1 413 ") or text == b""
