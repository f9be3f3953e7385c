"""The query protocol as STS and IAM speak it: codes of what every service refuses are other words there.

Source: service API references, "Common Errors".
"""

from __future__ import annotations

from typing import Final

from statewright.api.protocols.query import QueryWire
from statewright.api.protocols.wire import Wire
from statewright.errors import ApiError

CODES: Final = {
    "ExpiredTokenException": "ExpiredToken",
    "IncompleteSignatureException": "IncompleteSignature",
    "InternalServerError": "InternalFailure",
    "InvalidSignatureException": "SignatureDoesNotMatch",
    "MissingAuthenticationTokenException": "MissingAuthenticationToken",
    "SerializationException": "MalformedInput",
    "UnrecognizedClientException": "InvalidClientTokenId",
    "ValidationException": "ValidationError",
}
_FORBIDDEN: Final = {
    "ExpiredToken", "InvalidClientTokenId", "MissingAuthenticationToken", "SignatureDoesNotMatch",
}  # fmt: skip


def in_query_words(error: ApiError) -> ApiError:
    """An error as the two services say it."""
    code = CODES.get(error.code, error.code)
    if code == error.code:
        return error
    return ApiError(code, error.message, status=403 if code in _FORBIDDEN else error.status)


def wire(service: str, _protocol: str) -> Wire:
    """The wire of one of the two, by signing name."""
    return QueryWire(service, legacy=in_query_words)
