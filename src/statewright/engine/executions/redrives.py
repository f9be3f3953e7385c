"""Redrive: who may be redriven, and the client tokens that make a repeat harmless."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from statewright.clock import Clock
from statewright.engine.executions.live import LiveExecution
from statewright.engine.executions.views import redrive_refusal
from statewright.errors import ApiError

TOKEN_MS: Final = 15 * 60 * 1000
"""How long a client token is remembered. Source: API reference, RedriveExecution, `clientToken`."""


class Redrive:
    """One request to redrive an execution; `deleting` are the machines whose executions cannot be redriven."""

    def __init__(
        self, clock: Clock, deleting: Container[int], client_token: str | None, *, by_map_run: bool = False
    ) -> None:
        self._clock = clock
        self._deleting = deleting
        self._client_token = client_token
        self._by_map_run = by_map_run
        self._repeated_ms: int | None = None

    def accept(self, live: LiveExecution) -> bool:
        """True if the execution is to be redriven. Raises: ApiError (`ExecutionNotRedrivable`)."""
        now_ms = self._clock.now_ms()
        for token, at_ms in live.tail.redrive_tokens:
            if token == self._client_token and now_ms - at_ms < TOKEN_MS:
                self._repeated_ms = at_ms
                return False
        if live.head.map_run and not self._by_map_run:
            raise not_redrivable("Execution is a child of a Map Run and is redriven by it")
        deleting = live.row.machine in self._deleting
        reason = redrive_refusal(live.row, live.head, live.tail, now_ms, live.limits, deleting=deleting)
        if reason is not None:
            raise not_redrivable(reason)
        return True

    def result(self, live: LiveExecution) -> int:
        """When the execution was redriven, epoch milliseconds."""
        if self._repeated_ms is not None:
            return self._repeated_ms
        assert live.state is not None
        assert live.state.redriven_ms is not None
        return live.state.redriven_ms


def not_redrivable(reason: str) -> ApiError:
    """The service's error with its reason."""
    return ApiError("ExecutionNotRedrivable", reason)
