"""Formats that a distributed Map reads its items from: JSON, JSON Lines and delimited text, piece by piece.

A format takes bytes as they come and returns the items that are complete; nothing here waits or reads files. Parquet,
which needs a whole file, is in `parquet_items.py`.

Source: developer guide, "ItemReader (Map)"; the item of a member of a JSON object is observed.
"""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from statewright.payload import Json, JsonObject, JsonTextError, parse_json

DELIMITERS: Final = {"COMMA": ",", "PIPE": "|", "SEMICOLON": ";", "SPACE": " ", "TAB": "\t"}
ITEM_BYTES: Final = 8 * 1024 * 1024
"""The largest item. Source: developer guide, "ItemReader (Map)"."""
HEADER_BYTES: Final = 10 * 1024
"""The largest header of a delimited file. Source: the same."""
NOT_ITERABLE: Final = "Attempting to map over non-iterable node."
"""Observed: the cause when the data is neither a list nor an object."""


class Unreadable(Exception):
    """The data is not what the ItemReader says it is; the text is the cause of the failure."""


class Format(Protocol):
    """Makes items of bytes."""

    def feed(self, data: bytes) -> Iterator[Json]:
        """Items that these bytes complete. Raises: Unreadable."""

    def finish(self) -> Iterator[Json]:
        """Items that the end of the data completes. Raises: Unreadable."""


# ------------------------------------------------------------------ compression


class Plain:
    """Bytes as they are."""

    def feed(self, data: bytes) -> bytes:
        """The bytes."""
        return data

    def finish(self) -> bytes:
        """Nothing more."""
        return b""


class Gunzip:
    """GZIP, also of several members."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(31)
        self._begun = False

    def feed(self, data: bytes) -> bytes:
        """The decompressed bytes. Raises: Unreadable."""
        found = []
        while data:
            if self._member.eof:
                self._member = zlib.decompressobj(31)
            self._begun = True
            try:
                found.append(self._member.decompress(data))
            except zlib.error as problem:
                raise Unreadable(f"The data is not GZIP: {problem}") from None
            data = self._member.unused_data
        return b"".join(found)

    def finish(self) -> bytes:
        """Nothing more. Raises: Unreadable, when the data ends too soon."""
        if self._begun and not self._member.eof:
            raise Unreadable("The GZIP data is truncated")
        return b""


class Unzstd:
    """Zstandard, also of several frames."""

    def __init__(self) -> None:
        import zstandard

        self._error = zstandard.ZstdError
        self._reader = zstandard.ZstdDecompressor().decompressobj(read_across_frames=True)

    def feed(self, data: bytes) -> bytes:
        """The decompressed bytes. Raises: Unreadable."""
        try:
            found: bytes = self._reader.decompress(data)
        except self._error as problem:
            raise Unreadable(f"The data is not ZSTD: {problem}") from None
        return found

    def finish(self) -> bytes:
        """Nothing more."""
        return b""


def decompressor(name: str) -> Plain | Gunzip | Unzstd:
    """The decompressor for a file, by its suffix: `.gz`, `.zstd` (or `.zst`), or none."""
    lowered = name.lower()
    if lowered.endswith(".gz"):
        return Gunzip()
    if lowered.endswith((".zstd", ".zst")):
        return Unzstd()
    return Plain()


# ------------------------------------------------------------------ JSON


class JsonDocument:
    """One JSON document: an array of items, or an object whose members are the items."""

    def __init__(self, pointer: str | None = None) -> None:
        self._pointer = pointer
        self._parts: list[bytes] = []
        self.total: int | None = None
        """The number of items, known at the end."""

    def feed(self, data: bytes) -> Iterator[Json]:
        """Nothing yet: items are found once the document is complete."""
        self._parts.append(data)
        return iter(())

    def finish(self) -> Iterator[Json]:
        """The elements of the array, or the members of the object as `{"Key", "Value"}`. Raises: Unreadable."""
        try:
            value = parse_json(b"".join(self._parts))
        except JsonTextError as problem:
            raise Unreadable(f"The data is not JSON: {problem.message}") from None
        self._parts.clear()
        if self._pointer:
            value = _at_pointer(value, self._pointer)
        if isinstance(value, dict):
            value = [{"Key": key, "Value": item} for key, item in value.items()]
        elif not isinstance(value, list):
            raise Unreadable(NOT_ITERABLE)
        self.total = len(value)
        return iter(value)


def _at_pointer(value: Json, pointer: str) -> Json:
    """The value at a JSON pointer (RFC 6901). Raises: Unreadable."""
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            raise Unreadable(f"The ItemsPointer '{pointer}' does not lead to a value of the document")
    return value


class JsonLines:
    """One JSON value a line; blank lines hold none."""

    def __init__(self) -> None:
        self._rest = b""
        self._line = 0

    def feed(self, data: bytes) -> Iterator[Json]:
        """The values of complete lines. Raises: Unreadable."""
        lines = data.split(b"\n")
        lines[0] = self._rest + lines[0]
        self._rest = lines.pop()
        if len(self._rest) > ITEM_BYTES:
            raise _too_long(self._line + len(lines) + 1)
        for line in lines:
            yield from self._value(line)

    def finish(self) -> Iterator[Json]:
        """The value of the last line. Raises: Unreadable."""
        rest, self._rest = self._rest, b""
        yield from self._value(rest)

    def _value(self, line: bytes) -> Iterator[Json]:
        self._line += 1
        if not line.strip():
            return
        if len(line) > ITEM_BYTES:
            raise _too_long(self._line)
        try:
            yield parse_json(line)
        except JsonTextError as problem:
            raise Unreadable(f"Line {self._line} is not JSON: {problem.message}") from None


def _too_long(line: int) -> Unreadable:
    return Unreadable(f"The item at line {line} is longer than {ITEM_BYTES} bytes")


# ------------------------------------------------------------------ delimited text


class DelimitedText:
    """Rows of delimited text; each item is an object of texts by header.

    Without `headers` the first row is the header.
    """

    def __init__(self, delimiter: str = ",", headers: Sequence[str] | None = None) -> None:
        self._rows = _Rows(delimiter)
        self._headers = _checked(headers) if headers is not None else None

    def feed(self, data: bytes) -> Iterator[Json]:
        """The items of complete rows. Raises: Unreadable."""
        return self._items(self._rows.feed(data))

    def finish(self) -> Iterator[Json]:
        """The item of the last row. Raises: Unreadable."""
        return self._items(self._rows.finish())

    def _items(self, rows: Iterator[list[str]]) -> Iterator[Json]:
        for row in rows:
            headers = self._headers
            if headers is None:
                self._headers = _checked(row)
                continue
            if len(row) < len(headers):
                row += [""] * (len(headers) - len(row))
            # Fields beyond the header are left out.
            yield dict(zip(headers, row, strict=False))


def rows_of(data: bytes, delimiter: str = ",") -> list[list[str]]:
    """All rows of a small delimited text. Raises: Unreadable."""
    rows = _Rows(delimiter)
    return [*rows.feed(data), *rows.finish()]


def _checked(headers: Sequence[str]) -> list[str]:
    if len(set(headers)) < len(headers):
        raise Unreadable("CSV headers cannot contain duplicates.")
    if sum(len(header.encode()) + 1 for header in headers) > HEADER_BYTES:
        raise Unreadable(f"The CSV header is longer than {HEADER_BYTES} bytes")
    return list(headers)


class _Rows:
    """Splits text into rows of fields.

    A row without quotes and backslashes is split in one call; only other rows are scanned letter by letter.
    """

    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._rest = ""
        self._open = ""
        """Lines of a row whose quotes are still open."""

    def feed(self, data: bytes) -> Iterator[list[str]]:
        lines = self._decode(data).split("\n")
        lines[0] = self._rest + lines[0]
        self._rest = lines.pop()
        if len(self._rest) > ITEM_BYTES:
            raise Unreadable(f"A row is longer than {ITEM_BYTES} bytes")
        for line in lines:
            yield from self._row(line, last=False)

    def finish(self) -> Iterator[list[str]]:
        rest = self._rest + self._decode(b"", True)
        self._rest = ""
        if rest or self._open:
            yield from self._row(rest, last=True)

    def _row(self, line: str, *, last: bool) -> Iterator[list[str]]:
        if self._open:
            line = f"{self._open}\n{line}"
            self._open = ""
            if len(line) > ITEM_BYTES:
                raise Unreadable(f"A row is longer than {ITEM_BYTES} bytes; does a quotation mark stay open?")
        elif not line or line == "\r":
            return
        if '"' not in line and "\\" not in line:
            yield line.removesuffix("\r").split(self._delimiter)
            return
        fields = _scanned(line, self._delimiter)
        if fields is None and not last:
            self._open = line
            return
        if fields is None:
            raise Unreadable("A quotation mark stays open to the end of the data")
        yield fields


def _scanned(line: str, delimiter: str) -> list[str] | None:
    """The fields of a row, letter by letter; `None` when a quotation mark is still open."""
    fields: list[str] = []
    field: list[str] = []
    quoted = False
    at = 0
    while at < len(line):
        char = line[at]
        following = line[at + 1 : at + 2]
        if char == "\\":
            # A backslash escapes another one, a quotation mark or the delimiter; before anything else it is dropped.
            if following and following in ("\\", '"', delimiter):
                field.append(following)
                at += 1
        elif quoted and char == '"' and following == '"':
            field.append('"')
            at += 1
        elif char == '"' and (quoted or not field):
            quoted = not quoted
        elif char == delimiter and not quoted:
            fields.append("".join(field))
            field = []
        elif not (char == "\r" and at == len(line) - 1 and not quoted):
            field.append(char)
        at += 1
    if quoted:
        return None
    fields.append("".join(field))
    return fields


def format_of(input_type: str, config: JsonObject) -> Format:
    """The format that a ReaderConfig names. Raises: Unreadable."""
    if input_type == "JSON":
        return JsonDocument(config.get("ItemsPointer"))
    if input_type == "JSONL":
        return JsonLines()
    if input_type == "CSV":
        delimiter = DELIMITERS.get(config.get("CSVDelimiter", "COMMA"))
        if delimiter is None:
            raise Unreadable(f"CSVDelimiter must be one of {', '.join(DELIMITERS)}")
        given = config.get("CSVHeaderLocation") == "GIVEN"
        return DelimitedText(delimiter, config.get("CSVHeaders") or [] if given else None)
    raise Unreadable(f"InputType '{input_type}' is not supported")
