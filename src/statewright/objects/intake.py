"""Receives bodies: a stream of bytes becomes a durable body, hashed and checked against what its sender promised.

Ensures that a body is never in memory as a whole, and that an interrupted or wrong one leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from statewright.limits import OBJECT_PUT_BYTES
from statewright.objects import faults
from statewright.objects.bodies import Writing
from statewright.objects.checksums import DEFAULT, Hasher, check_algorithm, check_value, hasher, text_of
from statewright.objects.vault import Vault
from statewright.stores import fail_points
from statewright.stores.object_rows import IN_FILE, IN_ROW

IN_ROW_BYTES: Final = 16 * 1024
"""Up to this size a row is cheaper than a file: no file, no folder and no second sync."""
STEP_BYTES: Final = 1024 * 1024
"""Passed to a thread in one step; at most two steps are in memory, besides the connection's own buffer."""

Body = AsyncIterator[bytes] | bytes


@dataclass(frozen=True, slots=True)
class Promise:
    """The sender's claims about a body. `md5` is the base64 of a Content-MD5 header, `sha256` hexadecimal.

    `checksums` are base64 by algorithm. `trailers` are read when the body has ended: they may have further checksums
    as `x-amz-checksum-...`. `length` is the length of the body in bytes. `algorithm` is computed in any case.
    """

    length: int | None = None
    md5: str | None = None
    sha256: str | None = None
    checksums: Mapping[str, str] = field(default_factory=dict)
    algorithm: str | None = None
    trailers: Mapping[str, str] = field(default_factory=dict)


NOTHING_PROMISED: Final = Promise()


@dataclass(frozen=True, slots=True)
class Received:
    """A received body. `body` is the bytes where the place is a row; `checksums` are base64 by algorithm."""

    id: int
    place: int
    size: int
    md5: str
    checksums: Mapping[str, str]
    algorithm: str
    body: bytes | None


async def receive(vault: Vault, body: Body, promise: Promise, *, also: Sequence[str] = ()) -> Received:
    """Receive a body, computing the promised checksums and those of `also`; its file is doomed until a row names it.

    The uploader's algorithm is the promised one, else `DEFAULT`.

    Raises: ApiError (`BadDigest`, `InvalidDigest`, `IncompleteBody`, `EntityTooLarge` ...), Unavailable, and the
    exceptions of the stream.
    """
    if promise.length is not None and promise.length > OBJECT_PUT_BYTES:
        raise faults.too_large(promise.length, OBJECT_PUT_BYTES)
    algorithm = promise.algorithm or next(iter(promise.checksums), None) or DEFAULT
    for name in {algorithm, *promise.checksums, *also}:
        check_algorithm(name)
    for name, value in promise.checksums.items():
        check_value(name, value)
    if promise.md5 is not None:
        _check_md5(promise.md5)
    intake = _Intake(vault, {algorithm, *promise.checksums, *also}, promise)
    try:
        if isinstance(body, bytes):
            await intake.add(body)
        else:
            async for chunk in body:
                if chunk:
                    await intake.add(chunk)
                    if intake.size > OBJECT_PUT_BYTES:
                        raise faults.too_large(None, OBJECT_PUT_BYTES)
        return await intake.finish(promise, algorithm)
    except BaseException:
        await asyncio.shield(intake.discard())
        raise


class _Intake:
    def __init__(self, vault: Vault, algorithms: set[str], promise: Promise) -> None:
        self.size = 0
        self._vault = vault
        self._hashers: dict[str, Hasher] = {name: hasher(name) for name in algorithms}
        self._md5 = hashlib.md5(usedforsecurity=False)
        self._sha256 = hashlib.sha256() if promise.sha256 is not None else None
        self._length = promise.length
        self._chunks: list[bytes] = []
        self._held = 0
        self._number: int | None = None
        self._file: Writing | None = None
        self._under_way: asyncio.Future[None] | None = None

    async def add(self, chunk: bytes) -> None:
        """Add a chunk; waits while the step before the last one is still being written."""
        self.size += len(chunk)
        self._held += len(chunk)
        self._chunks.append(chunk)
        # The last step is written by `finish`: a body of one step needs one hop to a thread.
        if self._held >= STEP_BYTES and self.size != self._length:
            await self._write_step()

    async def _write_step(self) -> None:
        chunks, self._chunks, self._held = self._chunks, [], 0
        if self._number is None:
            self._number = await self._vault.next_file_id()
        await self._settle()
        self._under_way = asyncio.ensure_future(self._vault.run(self._work, self._number, chunks))

    async def _settle(self) -> None:
        if self._under_way is not None:
            # Shielded from the caller's cancellation: a thread cannot be cancelled.
            under_way, self._under_way = self._under_way, None
            try:
                await asyncio.shield(under_way)
            except asyncio.CancelledError:
                self._under_way = under_way
                raise

    def _work(self, number: int, chunks: list[bytes]) -> None:
        if self._file is None:
            self._file = self._vault.bodies.create(number)
        self._hash(chunks)
        self._file.write(chunks)

    def _hash(self, chunks: list[bytes]) -> None:
        for chunk in chunks:
            self._md5.update(chunk)
            if self._sha256 is not None:
                self._sha256.update(chunk)
            for one in self._hashers.values():
                one.update(chunk)

    def _last_work(self, number: int, chunks: list[bytes], promise: Promise) -> dict[str, str]:
        self._work(number, chunks)
        found = self._verified(promise)
        assert self._file is not None
        self._file.finish()
        return found

    async def finish(self, promise: Promise, algorithm: str) -> Received:
        """End the stream: check what was promised, and make the body durable."""
        if promise.length is not None and self.size != promise.length:
            raise faults.incomplete_body()
        chunks, self._chunks = self._chunks, []
        if self._number is None and self.size <= IN_ROW_BYTES:
            self._hash(chunks)
            found = self._verified(promise)
            whole = chunks[0] if len(chunks) == 1 else b"".join(chunks)
            number = await self._vault.next_id()
            return Received(number, IN_ROW, self.size, self._md5.hexdigest(), found, algorithm, whole)
        if self._number is None:
            self._number = await self._vault.next_file_id()
        await self._settle()
        last = asyncio.ensure_future(self._vault.run(self._last_work, self._number, chunks, promise))
        try:
            found = await asyncio.shield(last)
        except asyncio.CancelledError:
            self._under_way = asyncio.ensure_future(_ended(last))
            raise
        fail_points.passed(fail_points.BODY_WRITTEN)
        return Received(self._number, IN_FILE, self.size, self._md5.hexdigest(), found, algorithm, None)

    def _verified(self, promise: Promise) -> dict[str, str]:
        """The checksums, compared with the promised ones. Raises: ApiError."""
        if promise.md5 is not None and base64.b64decode(promise.md5) != self._md5.digest():
            raise faults.bad_md5(promise.md5, text_of(self._md5.digest()))
        if self._sha256 is not None and self._sha256.hexdigest() != promise.sha256:
            raise faults.content_sha256_mismatch()
        found = {name: text_of(one.digest()) for name, one in self._hashers.items()}
        trailing = {
            name.removeprefix("x-amz-checksum-").upper(): value
            for name, value in promise.trailers.items()
            if name.startswith("x-amz-checksum-")
        }
        for name, value in {**trailing, **promise.checksums}.items():
            if name in found and value != found[name]:
                check_value(name, value)
                raise faults.bad_digest(name)
        return found

    async def discard(self) -> None:
        """Delete what was written, and return the id."""
        if self._under_way is not None:
            await asyncio.gather(self._under_way, return_exceptions=True)
        if self._file is not None:
            await self._vault.run(self._file.discard)
        if self._number is not None:
            self._vault.return_file_id(self._number)


async def _ended(work: asyncio.Future[dict[str, str]]) -> None:
    await asyncio.gather(work, return_exceptions=True)


async def discard(vault: Vault, received: Received) -> None:
    """Delete a received body that no row names."""
    if received.place == IN_FILE:
        await vault.run(vault.bodies.remove, [received.id])
        vault.return_file_id(received.id)


def _check_md5(value: str) -> None:
    try:
        good = len(base64.b64decode(value, validate=True)) == 16
    except (ValueError, binascii.Error):
        good = False
    if not good:
        raise faults.invalid_digest(value)
