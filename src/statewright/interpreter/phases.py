"""The phases of frames and of Map Runs, and the order in which they may follow each other.

1. A frame has one phase: what it does next, or what it waits for. The runnable phases come first, so one comparison
   tells them from the others. Their numbers are stored: they never change their meaning.
2. `FRAME_PHASES` and `MAP_RUN_PHASES` name every change of phase with its cause. The interpreter assigns phases
   directly, for speed; the tests watch each assignment and compare it with the tables, and the drawings in
   `docs/phases.md` are made from them.
3. A frame that leaves a state is READY for the next one. A finished child's frame is replaced by a `Finished` row, and
   the root frame of a closed execution keeps FAILED or ABORTED for a redrive, or is removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# ------------------------------------------------------------------ frames

READY: Final = 0
"""About to enter `frame.state`."""
AGAIN: Final = 1
"""About to try the state again, without a new Entered history event."""
SPAWNING: Final = 2
"""A Map or Parallel with children still to start."""
JOINED: Final = 3
"""A Map or Parallel whose children have all finished."""
WAITING: Final = 4
"""A Wait state's timer is running."""
BACKING_OFF: Final = 5
"""A retrier's timer is running."""
TASK: Final = 6
"""A task is open: scheduled, started or submitted."""
CHILDREN: Final = 7
"""Children run."""
MAP_RUN: Final = 8
"""A Map Run is open."""
FAILED: Final = 9
"""The frame ended without success; kept for redrive."""
ABORTED: Final = 10
"""A sibling's failure or a stop ended the frame; kept for redrive."""

PHASES: Final = (
    "ready", "again", "spawning", "joined", "waiting", "backing off", "task", "children", "map run",
    "failed", "aborted",
)  # fmt: skip
"""Names of phases, by number."""

RUNNABLE: Final = frozenset({READY, AGAIN, SPAWNING, JOINED})
"""Phases of frames in `ExecutionState.ready`."""

_LEFT: Final = "the state is left for the next"
_FAILED: Final = "nothing handles the failure"
_ABORTED: Final = "a sibling fails, or the execution is stopped"
_RETRIED: Final = "a retrier matches"
_BEGUN: Final[Mapping[int, str]] = {
    READY: _LEFT,
    SPAWNING: "a Map begins",
    WAITING: "a Wait begins",
    BACKING_OFF: _RETRIED,
    TASK: "a Task begins",
    CHILDREN: "a Parallel begins",
    MAP_RUN: "a distributed Map begins",
    FAILED: _FAILED,
    ABORTED: _ABORTED,
}
_REDRIVEN: Final[Mapping[int, str]] = {
    READY: "redriven before the state was entered",
    AGAIN: "redriven",
    CHILDREN: "redriven with its failed children",
    MAP_RUN: "redriven with its Map Run",
}

FRAME_PHASES: Final[Mapping[int, Mapping[int, str]]] = {
    READY: _BEGUN,
    AGAIN: _BEGUN,
    SPAWNING: {
        READY: _LEFT,
        CHILDREN: "as many children run as may, or a sibling fails",
        FAILED: _FAILED,
        ABORTED: _ABORTED,
    },
    JOINED: {
        READY: _LEFT,
        BACKING_OFF: _RETRIED,
        CHILDREN: "the Parallel's deadline passes",
        FAILED: _FAILED,
        ABORTED: _ABORTED,
    },
    WAITING: {READY: _LEFT, FAILED: _FAILED, ABORTED: _ABORTED},
    BACKING_OFF: {AGAIN: "the back-off is over", ABORTED: _ABORTED},
    TASK: {READY: _LEFT, BACKING_OFF: _RETRIED, FAILED: _FAILED, ABORTED: _ABORTED},
    CHILDREN: {
        READY: "a catcher matches",
        SPAWNING: "a child finishes and more are to start",
        JOINED: "the last child finishes",
        BACKING_OFF: _RETRIED,
        CHILDREN: "a child fails",
        FAILED: _FAILED,
        ABORTED: _ABORTED,
    },
    MAP_RUN: {READY: _LEFT, BACKING_OFF: _RETRIED, FAILED: _FAILED, ABORTED: _ABORTED},
    FAILED: _REDRIVEN,
    ABORTED: {**_REDRIVEN, FAILED: "the execution fails at once"},
}
"""The phases that may follow each phase of a frame, with the cause. Every frame begins READY."""

# ------------------------------------------------------------------ Map Runs

OPEN: Final = 0
"""Items are read, children start and end."""
STOPPING: Final = 1
"""The outcome is decided; children that still run are being stopped."""
WRITING: Final = 2
"""The ResultWriter is at work."""
CLOSED: Final = 3
"""The run has ended; kept for redrive."""

RUN_PHASES: Final = ("open", "stopping", "writing", "closed")
"""Names of a Map Run's phases, by number."""

MAP_RUN_PHASES: Final[Mapping[int, Mapping[int, str]]] = {
    OPEN: {STOPPING: "all items are done, too many failed, or the run is stopped"},
    STOPPING: {WRITING: "no child runs, and a ResultWriter is to write", CLOSED: "no child runs"},
    WRITING: {CLOSED: "the results are written, or cannot be"},
    CLOSED: {OPEN: "redriven"},
}
"""The phases that may follow each phase of a Map Run, with the cause. Every Map Run begins OPEN."""
