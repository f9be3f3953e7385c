"""The protocol of commit listeners: all that the runner knows of timers, calls, Map Runs and other parts."""

from __future__ import annotations

from typing import Protocol

from statewright.engine.executions.live import LiveExecution
from statewright.engine.executions.work import Batch


class CommitListener(Protocol):
    """A part of the engine that acts on the commits of STANDARD executions."""

    def after_commit(self, live: LiveExecution, batch: Batch) -> None:
        """Act on a commit that is durable; `live` is as the commit left it. May not wait."""
