"""Error codes of SQS: each has a name in today's model and a legacy code, which SDKs still show.

Inside, errors carry the model's names. JSON answers have the name in `__type` and the legacy code in a header, because
the service is compatible with its old query protocol; the query protocol has the legacy code only.

Source: service model (`awsQueryCompatible`); headers observed.
"""

from __future__ import annotations

from typing import Final

from statewright.errors import ApiError
from statewright.queues.legacy_codes import LEGACY

NO_SUCH_QUEUE: Final = "The specified queue does not exist."


def type_of(error: ApiError) -> str:
    """The `__type` of an error in JSON."""
    return f"com.amazonaws.sqs#{error.code}"


def headers_of(error: ApiError) -> tuple[tuple[bytes, bytes], ...]:
    """The header with the legacy code, which SDKs read."""
    fault = "Sender" if (error.status or 400) < 500 and error.code != "InternalServerError" else "Receiver"
    code = LEGACY.get(error.code, error.code)
    return ((b"x-amzn-query-error", f"{code};{fault}".encode("ascii", "replace")),)


def legacy(error: ApiError) -> ApiError:
    """Convert an error to that of the query protocol."""
    message = error.message
    if error.code == "QueueDoesNotExist" and message == NO_SUCH_QUEUE:
        message = "The specified queue does not exist for this wsdl version."
    return ApiError(LEGACY.get(error.code, error.code), message, status=error.status)


def no_such_queue() -> ApiError:
    """The answer to a request for a queue that does not exist."""
    return ApiError("QueueDoesNotExist", NO_SUCH_QUEUE)


def denied(url: str) -> ApiError:
    """The answer to a request for a queue of another account."""
    return ApiError("AccessDenied", f"Access to the resource {url[:2_000]} is denied.", status=403)


def invalid(reason: str) -> ApiError:
    """An `InvalidParameterValue`."""
    return ApiError("InvalidParameterValueException", reason)


def invalid_value(value: object, parameter: str, reason: str) -> ApiError:
    """An `InvalidParameterValue` that quotes the value."""
    return invalid(f"Value {value} for parameter {parameter} is invalid. Reason: {reason}")


def missing(parameter: str) -> ApiError:
    """A `MissingParameter`."""
    return ApiError("MissingRequiredParameterException", f"The request must contain the parameter {parameter}.")
