"""Forms with a file, read from pieces of any length."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from statewright.api.protocols.multipart_form import FIELD_BYTES, TAIL_BYTES, Form, FormError, FormTooLong

KIND = "multipart/form-data; boundary=B"
HEAD = b'--B\r\nContent-Disposition: form-data; name="Key"\r\n\r\na/b\r\n'
FILE = b'--B\r\nContent-Disposition: form-data; name="file"; filename="C:\\\\x\\\\y z.txt"\r\n\r\n'
CONTENT = b"one\r\n--Bx\r\n--\r\n-B"
END = b"\r\n--B--\r\n"


async def read(body: bytes, size: int, kind: str = KIND) -> tuple[Form, bytes]:
    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(body), size):
            yield body[at : at + size]

    form = Form(kind, pieces())
    await form.read_fields()
    return form, b"".join([piece async for piece in form.file()])


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 10_000])
@pytest.mark.parametrize("content", [b"", CONTENT.replace(b"\r\n--Bx", b"\r\n--Cx"), b"x" * 5_000])
def test_pieces_of_any_length(size: int, content: bytes) -> None:
    body = HEAD + FILE + content + END
    form, found = asyncio.run(read(body, size))
    assert (form.fields, form.filename, found) == ({"key": "a/b"}, "y z.txt", content)
    assert form.head_bytes + len(content) + form.end_bytes == len(body)


@pytest.mark.parametrize("size", [1, 10_000])
@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", FormError),
        (HEAD, FormError),
        (HEAD + b"--B--\r\n", FormError),
        (HEAD + FILE + b"content without an end", FormError),
        (HEAD.replace(b"name=", b"other="), FormError),
        (HEAD.replace(b"a/b", b"\xff") + FILE + END, FormError),
        (HEAD.replace(b"a/b", b"x" * FIELD_BYTES) + FILE + END, FormTooLong),
        (b"x" * (FIELD_BYTES + 100), FormTooLong),
        (HEAD + FILE + END + b"x" * (TAIL_BYTES + 1), FormError),
    ],
)
def test_forms_that_are_none(size: int, body: bytes, problem: type[Exception]) -> None:
    with pytest.raises(problem):
        asyncio.run(read(body, size))


@pytest.mark.parametrize("kind", ["multipart/form-data", "multipart/form-data; boundary=", "text/plain"])
def test_a_type_without_a_boundary(kind: str) -> None:
    with pytest.raises(FormError):
        asyncio.run(read(HEAD, 10, kind))
