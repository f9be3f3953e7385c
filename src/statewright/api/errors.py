"""From `ApiError` to what a caller sees: the HTTP status of each error code.

Service models give most statuses; the table here has those that the models lack.
"""

from __future__ import annotations

from typing import Final

from statewright.errors import ApiError

STATUSES: Final = {
    "ServiceQuotaExceededException": 402,
    "AccessDeniedException": 403,
    "CrossOriginRequestRefused": 403,
    "InternalServerError": 500,
    "ServiceUnavailable": 503,
    "UnknownService": 404,
    "RequestEntityTooLarge": 413,
    "UnsupportedMediaType": 415,
    "NotFound": 404,
    "MethodNotAllowed": 405,
}
"""HTTP status by error code. Source: service API reference, "Common Errors"; the rest are our own."""


def status_of(code: str) -> int:
    """HTTP status for an error code; 400 unless the table says otherwise."""
    return STATUSES.get(code, 400)


def not_here_yet(service: str, operation: str) -> ApiError:
    """The answer to an operation that the service has and this version does not."""
    return ApiError(
        "UnknownOperationException", f"This version of Statewright does not have {service} {operation} yet."
    )


def unknown_operation(service: str, operation: str) -> ApiError:
    """The answer to an operation that the service does not have."""
    return ApiError("UnknownOperationException", f"{service} has no operation {operation}.")


def internal_error(request_id: str) -> ApiError:
    """The answer when the fault is ours; the log has the rest under the request's id."""
    return ApiError(
        "InternalServerError", f"Statewright failed by a mistake of its own; see its log for request {request_id}."
    )
