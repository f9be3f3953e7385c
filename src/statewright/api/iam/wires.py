"""The query protocol of STS and IAM, which have codes of their own for errors that every service has.

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
    """Convert an error to that of the two services."""
    code = CODES.get(error.code, error.code)
    if code == error.code:
        return error
    return ApiError(code, error.message, status=403 if code in _FORBIDDEN else error.status)


def wire(service: str, _protocol: str) -> Wire:
    """The wire of one of the two services, by signing name."""
    return QueryWire(service, legacy=in_query_words)
