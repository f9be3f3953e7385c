"""Billing of EXPRESS executions.

Source: API reference, BillingDetails: rounded up to 100 ms, memory in steps of 64 MB.
"""

from __future__ import annotations

from typing import Final

from statewright.interpreter.state import ExecutionState

BILLED_STEP_MS: Final = 100
BILLED_MB: Final = 64


def billed_ms(state: ExecutionState) -> int:
    """Billed duration in milliseconds."""
    lasted_ms = (state.stopped_ms or state.started_ms) - state.started_ms
    return max(1, -(-lasted_ms // BILLED_STEP_MS)) * BILLED_STEP_MS
