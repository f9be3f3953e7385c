"""Texts of templates in objects of this server's buckets."""

from __future__ import annotations

from statewright.stacks.planning.templates import MOST_BYTES
from statewright.stacks.threads import Invoke


class TooLong(Exception):
    """An object is longer than a template may be."""


async def object_text(invoke: Invoke, bucket: str, key: str) -> str:
    """The text of an object. Raises: ApiError; TooLong; UnicodeDecodeError."""
    found = await invoke("s3", "GetObject", {"Bucket": bucket, "Key": key})
    pieces, size = [], 0
    async for piece in found["Body"]:
        size += len(piece)
        if size > MOST_BYTES:
            raise TooLong
        pieces.append(piece)
    return b"".join(pieces).decode("utf-8-sig")
