"""Objects that a worker reads from the home, in ranges: a call at another node is one message of bounded length."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from statewright.api.operations import Call
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject

RANGE_BYTES: Final = 4 * 1024 * 1024

Ask = Callable[[Json], Awaitable[Json]]
"""Makes one GetObject. Raises: ApiError, StoreError."""


def reads_object(call: Call, request: Json) -> bool:
    """True for a call that reads a whole object."""
    return (
        call.service == "s3"
        and call.operation == "GetObject"
        and request.get("Range") is None
        and request.get("PartNumber") is None
    )


async def read_in_ranges(ask: Ask, request: Json) -> Json:
    """The answer to a GetObject, whose body asks for one range after the other. Raises: ApiError, StoreError."""
    try:
        first = await ask({**request, "Range": f"bytes=0-{RANGE_BYTES - 1}"})
    except ApiError as refused:
        if refused.code != "InvalidRange":
            raise
        # An empty object has no ranges.
        return await ask(request)
    size = int(first["ContentRange"].rpartition("/")[2])
    answer: JsonObject = {name: value for name, value in first.items() if name != "ContentRange"}
    if size > RANGE_BYTES:
        same = {"IfMatch": first["ETag"]}
        if first.get("VersionId") is not None:
            same["VersionId"] = first["VersionId"]
        answer |= {"ContentLength": size, "Body": _pieces(ask, {**request, **same}, first["Body"], size)}
    return answer


async def _pieces(ask: Ask, request: JsonObject, first: bytes, size: int) -> AsyncIterator[bytes]:
    yield first
    for begin in range(RANGE_BYTES, size, RANGE_BYTES):
        answer = await ask({**request, "Range": f"bytes={begin}-{begin + RANGE_BYTES - 1}"})
        yield answer["Body"]
