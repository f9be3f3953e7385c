"""Buckets as distributed Maps use them: Statewright's own in process, or those of a configured endpoint.

Requests and answers have the names of the S3 API. Formats are in `item_formats.py`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Final, Protocol

from statewright.config import Config
from statewright.errors import ApiError
from statewright.integrations.api_values import ApiObject
from statewright.integrations.blocking import BlockingCalls
from statewright.integrations.own_services import InvokeOwn

PIECE_BYTES: Final = 1024 * 1024
PART_BYTES: Final = 16 * 1024 * 1024
"""Files up to this size are put in one request, longer ones in parts of this size."""


class _Body(Protocol):
    """The body of an answer of botocore, which blocks."""

    def read(self, size: int) -> bytes:
        """Up to so many further bytes; none at the end."""

    def close(self) -> None:
        """Close the connection."""


class Buckets(Protocol):
    """Calls operations of S3."""

    async def call(self, operation: str, request: ApiObject) -> ApiObject:
        """The answer; a `Body` in it is an async iterator of bytes. Raises: ApiError, in the service's words."""


class OwnBuckets:
    """Statewright's own buckets."""

    def __init__(self, invoke: InvokeOwn) -> None:
        self._invoke = invoke

    async def call(self, operation: str, request: ApiObject) -> ApiObject:
        """Run the operation in process. Raises: ApiError."""
        answer = dict(await self._invoke(operation, request, request_id="map-run"))
        body = answer.get("Body")
        if isinstance(body, bytes):
            answer["Body"] = _once(body)
        return answer


class EndpointBuckets:
    """Buckets at a configured endpoint, through botocore on threads."""

    def __init__(self, config: Config, blocking: BlockingCalls) -> None:
        self._config = config
        self._blocking = blocking
        self._calls: Callable[[str, ApiObject], ApiObject] | None = None

    async def call(self, operation: str, request: ApiObject) -> ApiObject:
        """Send the request. Raises: ApiError."""
        answer = await self._blocking.run(self._send, operation, request)
        if hasattr(answer.get("Body"), "read"):
            answer["Body"] = self._pieces(answer["Body"])
        return answer

    def _send(self, operation: str, request: ApiObject) -> ApiObject:
        if self._calls is None:
            from statewright.integrations.endpoints.calls import bucket_calls

            self._calls = bucket_calls(self._config)
        return self._calls(operation, request)

    async def _pieces(self, body: _Body) -> AsyncIterator[bytes]:
        try:
            while piece := await self._blocking.run(body.read, PIECE_BYTES):
                yield piece
        finally:
            body.close()


async def put(buckets: Buckets, bucket: str, key: str, pieces: Iterable[bytes]) -> int:
    """Write an object of any length; returns its size in bytes. Raises: ApiError."""
    parts = _parts(pieces)
    first, second = next(parts, b""), next(parts, None)
    if second is None:
        await buckets.call("PutObject", {"Bucket": bucket, "Key": key, "Body": first})
        return len(first)
    where = {"Bucket": bucket, "Key": key}
    upload = {**where, "UploadId": (await buckets.call("CreateMultipartUpload", where))["UploadId"]}
    size, done = 0, []
    try:
        for number, part in enumerate(chain((first, second), parts), 1):
            answer = await buckets.call("UploadPart", {**upload, "PartNumber": number, "Body": part})
            done.append({"ETag": answer["ETag"], "PartNumber": number})
            size += len(part)
        await buckets.call("CompleteMultipartUpload", {**upload, "MultipartUpload": {"Parts": done}})
    except ApiError:
        with suppress(ApiError):
            await buckets.call("AbortMultipartUpload", upload)
        raise
    return size


def _parts(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces, gathered to parts of about `PART_BYTES`."""
    part: list[bytes] = []
    size = 0
    for piece in pieces:
        part.append(piece)
        size += len(piece)
        if size >= PART_BYTES:
            yield b"".join(part)
            part, size = [], 0
    if part:
        yield b"".join(part)


async def _once(body: bytes) -> AsyncIterator[bytes]:
    if body:
        yield body
