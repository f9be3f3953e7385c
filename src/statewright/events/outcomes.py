"""The last outcome of the deliveries of each schedule and rule, since the server started.

Kept in memory for those who look; nothing depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from statewright.errors import ApiError
from statewright.events.delivery_records import Delivery

MOST_KEPT: Final = 2_000
DELIVERED: Final = "delivered"
RETRIED: Final = "retried"
GIVEN_UP: Final = "given up"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an attempt to deliver: `DELIVERED`, `RETRIED` (it will be repeated) or `GIVEN_UP`.

    `call_id` names the invocation; an execution that it starts has it as its name.
    """

    at_ms: int
    what: str
    attempts: int
    call_id: str
    target: str
    error: str | None = None
    message: str | None = None


class Outcomes:
    """The last outcome by the ARN of a schedule or rule; the longest unchanged are dropped first."""

    def __init__(self) -> None:
        self._last: dict[str, Outcome] = {}

    def of(self, arn: str) -> Outcome | None:
        """The last outcome of a schedule or rule, if it has fired since the server started."""
        return self._last.get(arn)

    def forget(self, arn: str) -> None:
        """Forget what a schedule or rule did that had this ARN before."""
        self._last.pop(arn, None)

    def note(self, delivery: Delivery, what: str, at_ms: int, problem: ApiError | None = None) -> None:
        """Keep an outcome. Deliveries of topics have no such origin, and are left out."""
        arn = delivery.origin.get("SCHEDULE_ARN") or delivery.origin.get("RULE_ARN")
        if arn is None:
            return
        self._last.pop(arn, None)
        self._last[arn] = Outcome(
            at_ms, what, delivery.attempts + (what == DELIVERED), delivery.call_id, delivery.target["Arn"],
            problem.code if problem is not None else None, problem.message[:1_000] if problem is not None else None,
        )  # fmt: skip
        if len(self._last) > MOST_KEPT:
            del self._last[next(iter(self._last))]
