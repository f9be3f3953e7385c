"""From `ApiError` to what a caller sees: the HTTP status of each error code.

The error itself knows best, then the service, then the table here, which has what the service models lack, then the
model.
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
"""HTTP status by error code. Source: service API reference, "Common Errors"; the rest are our own."""


def status_of(error: ApiError, service: str = "") -> int:
    """The HTTP status of an error that a service answers; 400 unless something says otherwise."""
    if error.status is not None:
        return error.status
    ours = BY_NAME.get(service)
    own = ours.statuses.get(error.code) if ours is not None else None
    return own or STATUSES.get(error.code) or (_modelled(service).get(error.code) if service else None) or 400


@cache
def modelled(service: str, code: str) -> bool:
    """Whether a service's model has an error of that name."""
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
