"""The HTTP status of each error code, and the errors that any service may answer.

The status of the error itself comes first, then that of the service, then that in the table here, which has the codes
that the service models lack, then that of the model.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from statewright.api.models import load_model
from statewright.api.services import BY_NAME
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
"""HTTP status by error code. Source: service API reference, "Common Errors"; the others are Statewright's own."""


def status_of(error: ApiError, service: str = "") -> int:
    """The HTTP status of an error that a service answers; 400 by default."""
    if error.status is not None:
        return error.status
    ours = BY_NAME.get(service)
    own = ours.statuses.get(error.code) if ours is not None else None
    return own or STATUSES.get(error.code) or (_modelled(service).get(error.code) if service else None) or 400


@cache
def modelled(service: str, code: str) -> bool:
    """True if a service's model has an error of that name."""
    model = load_model(service)
    return bool(model and model["shapes"].get(code, {}).get("exception"))


@cache
def _modelled(service: str) -> dict[str, int]:
    """Statuses that a service's model gives, by name and by legacy code."""
    model = load_model(service)
    found: dict[str, int] = {}
    for name, shape in (model or {"shapes": {}})["shapes"].items():
        if shape.get("exception") and "httpStatusCode" in shape.get("error", {}):
            found[name] = found[shape["error"].get("code", name)] = shape["error"]["httpStatusCode"]
    return found


def not_here_yet(service: str, operation: str) -> ApiError:
    """The answer to an operation that this version of Statewright does not have yet."""
    return ApiError(
        "UnknownOperationException", f"This version of Statewright does not have {service} {operation} yet."
    )


def unknown_operation(service: str, operation: str) -> ApiError:
    """The answer to an operation that the service does not have."""
    return ApiError("UnknownOperationException", f"{service} has no operation {operation}.")


def internal_error(request_id: str) -> ApiError:
    """The answer to a request that failed because of a bug in Statewright; the log has the details under its id."""
    return ApiError(
        "InternalServerError",
        f"The request failed because of a bug in Statewright; see its log for request {request_id}.",
    )
