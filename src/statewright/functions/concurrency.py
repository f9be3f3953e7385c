"""Concurrency of invocations: the account's limit, reservations, and the refusal beyond them. A leaf."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from statewright.errors import ApiError
from statewright.functions.meter import FunctionMeter
from statewright.limits import FUNCTION_CONCURRENCY
from statewright.metrics.recorder import Recorder


class Concurrency:
    """Counts invocations under way against the account's limit and the reservations; `meter` publishes the counts."""

    def __init__(self, recorder: Recorder | None, account: int = FUNCTION_CONCURRENCY) -> None:
        self.account = account
        self.reserved: dict[str, int] = {}
        self.running: defaultdict[str, int] = defaultdict(int)
        self.unreserved_running = 0
        self.total_running = 0
        self.meter = FunctionMeter(recorder, self) if recorder is not None else None
        self._waiting: list[Callable[[str], None]] = []

    def subscribe(self, on_room: Callable[[str], None]) -> None:
        """Call this with a function's name after an invocation of it has ended."""
        self._waiting.append(on_room)

    @property
    def unreserved(self) -> int:
        """Concurrency left for functions without a reservation."""
        return self.account - self.total_reserved

    @property
    def total_reserved(self) -> int:
        """Sum of all reservations."""
        return sum(self.reserved.values())

    def free(self, name: str) -> int:
        """Number of invocations of a function that could begin now."""
        most = self.reserved.get(name)
        if most is not None:
            return max(0, most - self.running.get(name, 0))
        return max(0, (self.unreserved if self.reserved else self.account) - self.unreserved_running)

    def enter(self, name: str) -> None:
        """Count an invocation in. Raises: ApiError (`TooManyRequestsException`)."""
        most = self.reserved.get(name)
        if most is not None:
            if self.running.get(name, 0) >= most:
                raise _throttled("ReservedFunctionConcurrentInvocationLimitExceeded")
        else:
            if self.unreserved_running >= (self.unreserved if self.reserved else self.account):
                raise _throttled("ConcurrentInvocationLimitExceeded")
            self.unreserved_running += 1
        self.running[name] += 1
        self.total_running += 1
        if self.meter is not None:
            self.meter.entered(name)

    def leave(self, name: str) -> None:
        """Count an invocation out."""
        left = self.running[name] - 1
        if left:
            self.running[name] = left
        else:
            del self.running[name]
        self.total_running -= 1
        if name not in self.reserved:
            self.unreserved_running -= 1
        if self.meter is not None:
            self.meter.left(name)
        for on_room in self._waiting:
            on_room(name)

    def reserve(self, name: str, most: int | None) -> None:
        """Set or remove a reservation; invocations under way then count against it, or no longer do."""
        running = self.running.get(name, 0)
        if name not in self.reserved:
            self.unreserved_running -= running
        if most is None:
            self.reserved.pop(name, None)
            self.unreserved_running += running
        else:
            self.reserved[name] = most


def _throttled(reason: str) -> ApiError:
    return ApiError(
        "TooManyRequestsException",
        "Rate Exceeded.",
        status=429,
        details={"Reason": reason, "Type": "User", "retryAfterSeconds": "1"},
    )
