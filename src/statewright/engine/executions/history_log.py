"""History on its way out of the engine: to the log groups of state machines, to tests, and to watchers.

Owns which of them gets which events, once they are durable; how a line of a log looks is in `logs.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from statewright.engine.executions.live import LiveExecution
from statewright.engine.executions.logs import ExecutionLogs
from statewright.engine.executions.views import Head
from statewright.engine.executions.work import Batch
from statewright.engine.machines.programs import Programs
from statewright.engine.metering import ExecutionMeter
from statewright.interpreter.history import HistoryEvent

logger = logging.getLogger(__name__)

OnHistory = Callable[[Head, list[HistoryEvent]], None]
"""Called with what an execution's history has gained, once it is durable; may not wait. What it raises is logged."""


class HistoryLog:
    """Passes the history events of every execution on."""

    def __init__(
        self, programs: Programs, logs: ExecutionLogs, meter: ExecutionMeter | None, on_history: OnHistory | None = None
    ) -> None:
        self.logs = logs
        self._programs = programs
        self._meter = meter
        self._followers: tuple[OnHistory, ...] = () if on_history is None else (on_history,)

    @property
    def is_followed(self) -> bool:
        """True while anything but log groups gets the history."""
        return bool(self._followers)

    def follow(self, follower: OnHistory) -> Callable[[], None]:
        """Have a follower called with all history from now on; the result, called once, takes it out again.

        Without followers, a commit costs one check. EXPRESS executions that have begun are not followed.
        """
        self._followers = (*self._followers, follower)

        def leave() -> None:
            self._followers = tuple(one for one in self._followers if one is not follower)

        return leave

    def after_commit(self, live: LiveExecution, batch: Batch) -> None:
        """See `CommitListener`."""
        if batch.history:
            self._pass_on(live.head, batch.history, live.state.redrive_count if live.state is not None else 0)

    def of_express(self, head: Head) -> Callable[[list[HistoryEvent]], None] | None:
        """The log group that gets the history of an EXPRESS execution; `None` if it is not logged."""
        meter = self._meter
        is_logged = bool(self._followers) or self._programs.log_settings(head.machine_id, head.revision_id) is not None
        if meter is None:
            return (lambda history: self._pass_on(head, history, 0)) if is_logged else None

        def noted(history: list[HistoryEvent]) -> None:
            meter.note_tasks(head.execution_arn, head, history)
            if is_logged:
                self._pass_on(head, history, 0)

        return noted

    def _pass_on(self, head: Head, history: list[HistoryEvent], redrives: int) -> None:
        for follower in self._followers:
            try:
                follower(head, history)
            except Exception:
                # The events are durable: a bug of what watches them is not one of the execution.
                logger.exception("a follower of the history of %s failed", head.execution_arn)
        settings = self._programs.log_settings(head.machine_id, head.revision_id)
        if settings is not None:
            self.logs.log(settings, history, head.execution_arn, redrives)
