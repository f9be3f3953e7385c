"""Errors for malformed JSON texts, with the reasons that the service's parser gives."""

from __future__ import annotations

from statewright.asl.text.jackson import first_fault
from statewright.errors import ApiError


def worded(refused: ApiError, text: str) -> ApiError:
    """Add the service's reason to the error for a text that the engine could not read; other errors are unchanged.

    Source: observed for inputs; outputs by analogy.
    """
    prefix = _PREFIXES.get(refused.code)
    fault = first_fault(text) if prefix is not None else None
    if fault is None:
        return refused
    return ApiError(refused.code, f"{prefix}: '{fault.reason}'")


_PREFIXES = {"InvalidExecutionInput": "Invalid State Machine Execution Input", "InvalidOutput": "Invalid Output"}
