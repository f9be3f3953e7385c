"""Uploads by an HTML form (multipart/form-data): the fields in front of a file, and the file piece by piece.

Owns the syntax, and ensures that only the fields are in memory, of a limited length. What fields mean is left to the
service.

Source: RFC 7578; S3 API reference, "POST Object" (fields behind the file are ignored).
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from typing import Final

FIELD_BYTES: Final = 20 * 1024
"""Longest head: all fields and boundaries in front of the file. Source: POST Object, "Form fields"."""
TAIL_BYTES: Final = 64 * 1024
"""The longest rest behind the file that is read and ignored."""
FILE: Final = "file"
_BOUNDARY: Final = re.compile(r'boundary=(?:"([^"]{1,70})"|([^\s";,]{1,70}))', re.IGNORECASE)
_PARAMETER: Final = re.compile(r'\b(name|filename)="((?:[^"\\]|\\.)*)"|\b(name|filename)=([^\s";]+)', re.IGNORECASE)
_CRLF: Final = b"\r\n"


class FormError(ValueError):
    """The body is no form, or has no file."""


class FormTooLong(ValueError):
    """The fields in front of the file are too long."""


def is_form(method: str, headers: Mapping[str, str]) -> bool:
    """True for a request that uploads by a form."""
    return method == "POST" and headers.get("content-type", "").lower().startswith("multipart/form-data")


class Form:
    """A form that is being read: first `read_fields`, then the file by iterating over `file()`.

    `fields` are by name in lower case, `names` have the names as they were sent. `filename` is the last part of the
    file's path at its sender; `None` for a field without one.
    """

    def __init__(self, content_type: str, pieces: AsyncIterator[bytes]) -> None:
        """Raises: FormError for a content type without a boundary."""
        found = _BOUNDARY.search(content_type)
        if found is None:
            raise FormError("no boundary")
        self._delimiter = _CRLF + b"--" + (found[1] or found[2]).encode("latin-1", "replace")
        self._pieces = pieces
        # The first boundary need not follow a line.
        self._rest = _CRLF
        self.fields: dict[str, str] = {}
        self.filename: str | None = None
        self.head_bytes = 0
        """Length of all that precedes the content of the file, once the fields have been read."""

    @property
    def end_bytes(self) -> int:
        """Length of the boundary that ends a form whose last part is the file."""
        return len(self._delimiter) + 4

    async def read_fields(self) -> None:
        """Read up to the content of the file.

        Raises: FormError, FormTooLong, and the exceptions of the stream.
        """
        await self._take_until(self._delimiter)
        while True:
            if await self._take(2) != _CRLF:
                raise FormError("the form has no file")
            name, filename = _disposition(await self._take_until(_CRLF + _CRLF))
            if name == FILE:
                self.filename = filename
                # The empty line in front was no part of the body.
                self.head_bytes -= len(_CRLF)
                return
            value = await self._take_until(self._delimiter)
            try:
                self.fields[name] = value.decode()
            except UnicodeDecodeError:
                raise FormError(f"the field {name[:100]} is not UTF-8") from None

    async def _take(self, count: int) -> bytes:
        while len(self._rest) < count:
            await self._more()
        taken, self._rest = self._rest[:count], self._rest[count:]
        self._count(count)
        return taken

    async def _take_until(self, end: bytes) -> bytes:
        searched = 0
        while (found := self._rest.find(end, searched)) < 0:
            searched = max(len(self._rest) - len(end), 0)
            if self.head_bytes + len(self._rest) > FIELD_BYTES + len(_CRLF):
                raise FormTooLong
            await self._more()
        taken, self._rest = self._rest[:found], self._rest[found + len(end) :]
        self._count(found + len(end))
        return taken

    def _count(self, taken: int) -> None:
        self.head_bytes += taken
        if self.head_bytes > FIELD_BYTES + len(_CRLF):
            raise FormTooLong

    async def _more(self) -> None:
        piece = await anext(self._pieces, None)
        if piece is None:
            raise FormError("the form ends too early")
        self._rest += piece

    async def file(self) -> AsyncIterator[bytes]:
        """The content of the file, in the pieces in which it comes; what follows it is read and ignored.

        Raises (while iterating): FormError for a form that does not end, and the exceptions of the stream.
        """
        held, self._rest = self._rest, b""
        keep = len(self._delimiter) - 1
        while True:
            found = held.find(self._delimiter)
            if found >= 0:
                break
            if len(held) > keep:
                yield held[:-keep]
                held = held[-keep:]
            piece = await anext(self._pieces, None)
            if piece is None:
                raise FormError("the form ends too early")
            held += piece
        if found:
            yield held[:found]
        left = TAIL_BYTES - len(held) + found
        while left >= 0:
            piece = await anext(self._pieces, None)
            if piece is None:
                return
            left -= len(piece)
        raise FormError("too much follows the file")


def _disposition(head: bytes) -> tuple[str, str | None]:
    """The name of a part in lower case, and the file name that it gives. Raises: FormError."""
    for line in head.decode("utf-8", "replace").split("\r\n"):
        label, _, value = line.partition(":")
        if label.strip().lower() != "content-disposition":
            continue
        found = {(one[1] or one[3]).lower(): one[2] or one[4] or "" for one in _PARAMETER.finditer(value)}
        if "name" in found:
            filename = found.get("filename")
            return found["name"].lower(), None if filename is None else re.split(r"[/\\]", filename)[-1]
    raise FormError("a part has no name")
