"""The story of a run as an overlay for its machine's graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from statewright.graph.model import Overlay, Status
from statewright.simulator.story import Story, VisitStatus

_STATUS: Final[Mapping[VisitStatus, Status]] = {
    "succeeded": "ok", "caught": "caught", "failed": "fail", "stopped": "idle", "running": "run",
}  # fmt: skip


def overlay_of(story: Story) -> Overlay:
    """Each state with the status of its last visit and how often it was entered, and the transitions taken."""
    status: dict[str, Status] = {}
    counts: dict[str, int] = {}
    taken: dict[tuple[str, str], int] = {}
    for visit in story.visits():
        status[visit.name] = _STATUS[visit.status]
        counts[visit.name] = counts.get(visit.name, 0) + 1
        if visit.next is not None:
            taken[visit.name, visit.next] = taken.get((visit.name, visit.next), 0) + 1
    return Overlay(status, counts, taken)
