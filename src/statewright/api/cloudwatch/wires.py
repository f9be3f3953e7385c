"""The three protocols of CloudWatch, and its errors in each: today's model has other names than the query protocol.

Inside, errors carry the model's names. Answers in JSON and CBOR have the name in `__type` and the legacy code in a
header; the query protocol has the legacy code only.

Source: service model (`awsQueryCompatible`); API reference, "Common Errors".
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from functools import cache
from typing import Final

from statewright.api.errors import status_of
from statewright.api.models import load_model
from statewright.api.protocols.json10 import JsonWire
from statewright.api.protocols.query import QueryWire
from statewright.api.protocols.rpc_cbor import CborWire
from statewright.api.protocols.wire import Incoming, Wire
from statewright.api.service import CBOR, QUERY
from statewright.errors import ApiError
from statewright.payload import JsonObject

SERVICE: Final = "monitoring"
MOST_UNPACKED: Final = 4 * 1024 * 1024
"""Source: API reference, PutMetricData: 1 MB as sent."""
_TYPES: Final = "com.amazonaws.cloudwatch.v2010_08_01#"
_WORDS: Final = {
    "ValidationException": "ValidationError",
    "SerializationException": "MalformedInput",
    "InternalServerError": "InternalServiceError",
    "UnknownOperationException": "InvalidAction",
    "InvalidSignatureException": "SignatureDoesNotMatch",
    "UnrecognizedClientException": "InvalidClientTokenId",
}
"""Codes of the query protocol for errors that every service has."""


def type_of(error: ApiError) -> str:
    """The `__type` of an error."""
    return _TYPES + error.code


def headers_of(error: ApiError) -> tuple[tuple[bytes, bytes], ...]:
    """The header with the legacy code, which SDKs read."""
    fault = "Sender" if status_of(error, SERVICE) < 500 else "Receiver"
    return ((b"x-amzn-query-error", f"{legacy_code(error.code)};{fault}".encode("ascii", "replace")),)


def legacy(error: ApiError) -> ApiError:
    """Convert an error to that of the query protocol."""
    return ApiError(legacy_code(error.code), error.message, status=status_of(error, SERVICE))


def legacy_code(code: str) -> str:
    """The code of the query protocol."""
    return _codes().get(code) or _WORDS.get(code, code)


@cache
def _codes() -> dict[str, str]:
    model = load_model(SERVICE)
    assert model is not None
    shapes = model["shapes"].items()
    return {name: shape["error"]["code"] for name, shape in shapes if "code" in shape.get("error", {})}


class Unpacking:
    """A wire whose requests may be compressed with gzip. Source: service model, `requestcompression`."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.answer = wire.answer
        self.refusal = wire.refusal

    async def read(self, incoming: Incoming) -> tuple[str, JsonObject]:
        """See `Wire.read`."""
        if incoming.headers.get("content-encoding", "").strip().lower() == "gzip":
            incoming = replace(incoming, _body=_unpacked(await incoming.body()))
        return await self._wire.read(incoming)


def _unpacked(packed: bytes) -> bytes:
    """Decompress a body, up to the longest allowed. Raises: ApiError."""
    unpacking = zlib.decompressobj(wbits=31)
    try:
        body = unpacking.decompress(packed, MOST_UNPACKED)
    except zlib.error as problem:
        raise ApiError("SerializationException", f"The request is not gzip: {problem}") from None
    if unpacking.unconsumed_tail:
        raise ApiError("RequestEntityTooLarge", f"The request has more than {MOST_UNPACKED} bytes after decompression.")
    return body


def wire(service: str, protocol: str) -> Wire:
    """The wire of one of the three protocols."""
    if protocol == QUERY:
        return Unpacking(QueryWire(service, legacy=legacy))
    plain = CborWire if protocol == CBOR else JsonWire
    return Unpacking(plain(service, type_of=type_of, headers_of=headers_of))


def invalid(text: str) -> ApiError:
    """The error for an invalid value."""
    return ApiError("InvalidParameterValueException", text)


def not_together(text: str) -> ApiError:
    """The error for members that exclude each other."""
    return ApiError("InvalidParameterCombinationException", text)


def missing(text: str) -> ApiError:
    """The error for a missing member."""
    return ApiError("MissingRequiredParameterException", text)
