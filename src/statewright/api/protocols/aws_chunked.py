"""The content encoding `aws-chunked`: bodies in chunks of a known length, possibly signed, followed by checksums.

Sans I/O: bytes go in as they arrive, content comes out. Owns the framing and the chunks' signatures; `auth.py` verifies
the signature of the request itself, and the reader of the content compares the checksums.

Source: service API reference, "Signature calculations for the authorization header: transferring payload in multiple
chunks", "including trailing headers".
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from statewright.errors import ApiError

SIGNED: Final = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
SIGNED_TRAILER: Final = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
UNSIGNED_TRAILER: Final = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
KINDS: Final = (SIGNED, SIGNED_TRAILER, UNSIGNED_TRAILER)

_HEX: Final = re.compile(rb"[0-9a-fA-F]{1,16}")
_LONGEST_LINE: Final = 16 * 1024
_LONGEST_CHUNK: Final = 1 << 40
_SMALL_CHUNK: Final = 8192
_MOST_SMALL: Final = 1_000
"""The service takes none but the last; SDKs that pass on pieces of a stream send some."""
_MOST_TRAILERS: Final = 16
_EMPTY: Final = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True)
class Seed:
    """The input of chunk signatures: the request's own signature, its time and scope, and the signing key."""

    signature: str
    at: str
    scope: str
    key: bytes


class Decoder:
    """Decodes bytes to content. `trailers` are complete after the last chunk."""

    def __init__(self, kind: str, seed: Seed | None = None) -> None:
        """Take chunks of a `kind`, one of `KINDS`; without a seed, signatures are not checked."""
        self.trailers: dict[str, str] = {}
        self.is_complete = False
        self._signed = kind != UNSIGNED_TRAILER
        self._has_trailer = kind != SIGNED
        self._seed = seed if self._signed else None
        self._signature = seed.signature if seed is not None else ""
        self._expected = ""
        self._hash = hashlib.sha256()
        self._line = bytearray()
        self._left = 0
        self._small = 0
        self._state = self._head
        self._trailer_text = ""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decode more bytes into content.

        Raises: ApiError (`IncompleteBody` for a malformed chunk, `SignatureDoesNotMatch`).
        """
        place = 0
        while place < len(data):
            if self._left:
                content = data[place : place + self._left] if place or self._left < len(data) else data
                place += len(content)
                self._left -= len(content)
                if self._seed is not None:
                    self._hash.update(content)
                yield content
                continue
            if self.is_complete:
                raise _broken()
            end = data.find(b"\n", place)
            self._line += data[place : end + 1] if end >= 0 else data[place:]
            place = end + 1 if end >= 0 else len(data)
            if len(self._line) > _LONGEST_LINE:
                raise _broken()
            if end >= 0:
                line = bytes(self._line)
                self._line.clear()
                self._state(line.rstrip(b"\r\n"))

    def _head(self, line: bytes) -> None:
        size, _, extension = line.partition(b";")
        if _HEX.fullmatch(size) is None:
            raise _broken()
        length = int(size, 16)
        if length >= _LONGEST_CHUNK:
            raise _broken()
        self._expected = extension.partition(b"chunk-signature=")[2].decode("latin-1")
        if length < _SMALL_CHUNK:
            self._small += 1
            if self._small > _MOST_SMALL:
                raise ApiError(
                    "InvalidChunkSizeError", "Only the last chunk is allowed to have a size less than 8192 bytes",
                    status=403,
                )  # fmt: skip
        self._left = length
        self._state = self._after_chunk
        if length == 0:
            self._check_chunk()
            self._state = self._trailer if self._has_trailer else self._last

    def _after_chunk(self, line: bytes) -> None:
        if line:
            raise _broken()
        self._check_chunk()
        self._state = self._head

    def _trailer(self, line: bytes) -> None:
        if not line:
            if self._seed is not None and "x-amz-trailer-signature" in self.trailers:
                text = hashlib.sha256(self._trailer_text.encode()).hexdigest()
                signed = self._sign("AWS4-HMAC-SHA256-TRAILER", text)
                _compare(signed, self.trailers["x-amz-trailer-signature"])
            elif self._seed is not None and self.trailers:
                raise _mismatch()
            self.is_complete = True
            return
        name, _, value = line.decode("latin-1").partition(":")
        name, value = name.strip().lower(), value.strip()
        if name in self.trailers or len(self.trailers) >= _MOST_TRAILERS:
            raise _broken()
        self.trailers[name] = value
        if name != "x-amz-trailer-signature":
            self._trailer_text += f"{name}:{value}\n"

    def _last(self, line: bytes) -> None:
        if line:
            raise _broken()
        self.is_complete = True

    def _check_chunk(self) -> None:
        if self._seed is None:
            return
        signed = self._sign("AWS4-HMAC-SHA256-PAYLOAD", f"{_EMPTY}\n{self._hash.hexdigest()}")
        _compare(signed, self._expected)
        self._hash = hashlib.sha256()

    def _sign(self, algorithm: str, rest: str) -> str:
        assert self._seed is not None
        text = f"{algorithm}\n{self._seed.at}\n{self._seed.scope}\n{self._signature}\n{rest}"
        self._signature = hmac.new(self._seed.key, text.encode(), hashlib.sha256).hexdigest()
        return self._signature


async def decoded(pieces: AsyncIterator[bytes], decoder: Decoder, trailers: dict[str, str]) -> AsyncIterator[bytes]:
    """Decode the content of a body; `trailers` are filled in at its end. Raises: ApiError."""
    async for piece in pieces:
        for content in decoder.feed(piece):
            yield content
    if not decoder.is_complete:
        raise _broken()
    trailers.update(decoder.trailers)


def is_chunked(headers: Mapping[str, str]) -> str | None:
    """The kind of chunks that a request's head announces, if any. Raises: ApiError for a kind that is not supported."""
    kind = headers.get("x-amz-content-sha256", "")
    if kind.startswith("STREAMING-") and kind not in KINDS:
        raise ApiError("NotImplemented", f"This version of Statewright does not read bodies of the kind {kind[:100]}.",
                       status=501)  # fmt: skip
    if kind in KINDS:
        return kind
    encodings = [part.strip() for part in headers.get("content-encoding", "").split(",")]
    return UNSIGNED_TRAILER if "aws-chunked" in encodings and "x-amz-trailer" in headers else None


def _compare(signed: str, given: str) -> None:
    if not hmac.compare_digest(signed.encode(), given.encode("utf-8", "replace")):
        raise _mismatch()


def _mismatch() -> ApiError:
    return ApiError(
        "SignatureDoesNotMatch",
        "The request signature we calculated does not match the signature you provided. Check your key and signing "
        "method.",
        status=403,
    )


def _broken() -> ApiError:
    return ApiError("IncompleteBody", "The request body terminated unexpectedly", status=400)
