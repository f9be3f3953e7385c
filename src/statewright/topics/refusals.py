"""The service's refusals of requests about topics.

Source: codes of the service model; texts observed by users of the service, unless a comment says otherwise.
"""

from __future__ import annotations

from statewright.errors import ApiError


def invalid(reason: str) -> ApiError:
    """An `InvalidParameter`."""
    return ApiError("InvalidParameter", f"Invalid parameter: {reason}")


def bad_value(message: str) -> ApiError:
    """A `ParameterValueInvalid`: the code for message attributes."""
    return ApiError("ParameterValueInvalid", message)


def no_topic() -> ApiError:
    """The refusal of a request for an unknown topic."""
    return ApiError("NotFound", "Topic does not exist")


def no_subscription() -> ApiError:
    """The refusal of a request for an unknown subscription."""
    return ApiError("NotFound", "Subscription does not exist")
