"""DynamoDB's protocol: AWS JSON with a checksum of each answer, and errors under the names of two packages.

Source: header and names observed; SDKs compare the checksum if it is present.
"""

from __future__ import annotations

from functools import partial
from typing import Final
from zlib import crc32

from statewright.api.errors import modelled
from statewright.api.protocols.json10 import JsonWire
from statewright.api.protocols.wire import Answer, Incoming, Wire
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject

_OWN: Final = "com.amazonaws.dynamodb.v20120810#"
_OF_FRAMEWORK: Final = {
    "ValidationException": "com.amazon.coral.validate#",
    "SerializationException": "com.amazon.coral.service#",
    "UnknownOperationException": "com.amazon.coral.service#",
}


def type_of(error: ApiError, service: str = "dynamodb") -> str:
    """The `__type` of an error."""
    return _OF_FRAMEWORK.get(error.code, _OWN if modelled(service, error.code) else "") + error.code


class ChecksummedWire:
    """AWS JSON whose answers carry the CRC-32 of their body."""

    def __init__(self, inner: JsonWire) -> None:
        self._inner = inner

    async def read(self, incoming: Incoming) -> tuple[str, JsonObject]:
        """See `Wire.read`."""
        return await self._inner.read(incoming)

    def answer(self, operation: str, result: Json, request_id: str, /) -> Answer:
        """See `Wire.answer`."""
        return _checksummed(self._inner.answer(operation, result, request_id))

    def refusal(self, error: ApiError, request_id: str, path: str) -> Answer:
        """See `Wire.refusal`."""
        return _checksummed(self._inner.refusal(error, request_id, path))


def _checksummed(answer: Answer) -> Answer:
    assert isinstance(answer.body, bytes)
    checksum = (b"x-amz-crc32", str(crc32(answer.body)).encode())
    return Answer(answer.status, answer.body, answer.content_type, (*answer.headers, checksum))


def wire(service: str, _protocol: str) -> Wire:
    """The wire of the only protocol of DynamoDB and of its streams."""
    return ChecksummedWire(JsonWire(service, type_of=partial(type_of, service=service)))
