"""Log lines of a server about its executions: one for each change of status, and those that a stop leaves unwritten."""

from __future__ import annotations

import logging
from typing import Final

from statewright.engine.engine import Engine
from statewright.engine.executions.views import StatusChange

MOST_NAMED: Final = 3
"""Executions that a stop which was given up names."""

log = logging.getLogger("statewright.executions")


def log_status(change: StatusChange) -> None:
    """Log one line for each change of an execution's status, never with a payload."""
    if log.isEnabledFor(logging.DEBUG):
        view = change.view
        log.debug(
            "%s", view.status, extra={"execution_arn": view.execution_arn, "status": view.status, "error": view.error}
        )


def left_unwritten(*engines: Engine) -> str:
    """Describe what a stop leaves undone at its deadline, for its log line."""
    names = [name for engine in engines for name in engine.cells.unfinished()]
    if not names:
        return "the store is not closed"
    shown = ", ".join(names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
    return f"the store does not take the last steps of {len(names)} executions ({shown})"
