"""Kinds of the outbox and inbox rows by which the store names what is open. They are stored, so they never change."""

from __future__ import annotations

from typing import Final

CONTINUE: Final = "continue"
TASK: Final = "task"
ACTIVITY: Final = "activity"
MAP_RUN: Final = "map run"
WAITER: Final = "waiter"
"""Kind of the outbox row that names an execution which waits for nothing but a token, without a timeout."""
QUEUED: Final = "queued"
"""Kind of the outbox row that names an execution which waits to be admitted; its body is the machine's id."""
STOP_RUN: Final = "stop map run"
"""Kind of the inbox row of a parent whose Map Run is to be stopped; it goes when the run is closed."""
