"""Changes of status of STANDARD executions, published after the commit: to logs, event buses, and parents."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from statewright.clock import Clock
from statewright.engine.executions.live import LiveExecution
from statewright.engine.executions.views import ExecutionView, StatusChange, view_from
from statewright.engine.executions.work import Batch

logger = logging.getLogger(__name__)

Subscriber = Callable[[StatusChange], None]


class StatusChanges:
    """Calls every subscriber with each change, in the order in which they subscribed; none of them may wait."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._subscribers: list[Subscriber] = []

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Have a subscriber called with every change from now on; the result, called once, ends that."""
        self._subscribers = [*self._subscribers, subscriber]

        def leave() -> None:
            self._subscribers = [one for one in self._subscribers if one is not subscriber]

        return leave

    def after_commit(self, live: LiveExecution, batch: Batch) -> None:
        """See `CommitListener`."""
        if self._subscribers and (batch.opened or batch.closed) and live.head.type == "STANDARD":
            self._publish(live, batch)

    def _publish(self, live: LiveExecution, batch: Batch) -> None:
        row, head, tail, limits, now_ms = live.row, live.head, live.tail, live.limits, self._clock.now_ms()

        def view() -> ExecutionView:
            return view_from(row, head, tail, now_ms, limits)

        def opened() -> ExecutionView:
            return replace(
                view(), status="RUNNING", stopped_ms=None, output=None, error=None, cause=None,
                redrive_status="NOT_REDRIVABLE", redrive_reason="Execution is RUNNING and cannot be redriven",
            )  # fmt: skip

        changes = [StatusChange(head.execution_arn, "RUNNING", None, opened)] if batch.opened else []
        if batch.closed:
            changes.append(StatusChange(head.execution_arn, row.status, row.stopped_ms, view))
        self._tell(head.execution_arn, changes)

    def publish(self, change: StatusChange) -> None:
        """Call every subscriber with a change of an execution of another engine."""
        self._tell(change.execution_arn, [change])

    def _tell(self, execution_arn: str, changes: list[StatusChange]) -> None:
        for subscriber in self._subscribers:
            try:
                for change in changes:
                    subscriber(change)
            except Exception:
                # One subscriber's bug is no other's loss.
                logger.exception("publishing a status change of %s failed", execution_arn)
