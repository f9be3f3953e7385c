"""What the service says of JSON texts that are none: its parser's own words."""

from __future__ import annotations

from statewright.asl.text.jackson import first_fault
from statewright.errors import ApiError


def worded(refused: ApiError, text: str) -> ApiError:
    """The error for a text that the engine could not read, with the service's reason; any other error as it is.

    Source: observed for inputs; outputs by analogy.
    """
    prefix = _PREFIXES.get(refused.code)
    fault = first_fault(text) if prefix is not None else None
    if fault is None:
        return refused
    return ApiError(refused.code, f"{prefix}: '{fault.reason}'")


_PREFIXES = {"InvalidExecutionInput": "Invalid State Machine Execution Input", "InvalidOutput": "Invalid Output"}
