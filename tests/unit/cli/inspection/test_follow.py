from __future__ import annotations

from typing import Any

from statewright.asl.compile import compile_definition
from statewright.cli.inspection.follow import _event_of
from statewright.interpreter.history import HistoryEvent
from statewright.interpreter.state import ExecutionState
from statewright.payload import Payload
from statewright.simulator.simulate import make_identity
from statewright.simulator.story import Story

TASK = {"Type": "Task", "Resource": "arn:aws:states:us-east-1:000000000000:activity:a", "End": True}
PARALLEL = {
    "StartAt": "P",
    "States": {
        "P": {
            "Type": "Parallel",
            "End": True,
            "Branches": [
                {"StartAt": "T", "States": {"T": TASK}},
                {"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 5, "End": True}}},
            ],
        }
    },
}

EVENTS: list[tuple[str, int, dict[str, Any]]] = [
    ("ExecutionStarted", 0, {}), ("ParallelStateEntered", 0, {"name": "P"}), ("ParallelStateStarted", 2, {}),
    ("TaskStateEntered", 3, {"name": "T"}), ("ActivityScheduled", 4, {}), ("WaitStateEntered", 3, {"name": "W"}),
    ("ActivityFailed", 5, {"error": "Once"}), ("ParallelStateFailed", 7, {}), ("ExecutionFailed", 8, {"error": "Once"}),
    ("ExecutionRedriven", 9, {"redriveCount": 1}), ("ActivityScheduled", 10, {}), ("ActivitySucceeded", 11, {}),
    ("TaskStateExited", 12, {"name": "T"}), ("WaitStateExited", 10, {"name": "W"}), ("ParallelStateSucceeded", 14, {}),
    ("ParallelStateExited", 14, {"name": "P"}), ("ExecutionSucceeded", 16, {}),
]  # fmt: skip


def test_a_redrive_goes_on_with_what_had_not_succeeded():
    story = Story(compile_definition(PARALLEL))
    state = ExecutionState(make_identity(), Payload({}), b"")
    seen = []
    for number, (kind, previous, details) in enumerate(EVENTS, 1):
        story.note(state, HistoryEvent(number, previous, number * 10, kind, details))
        if kind in ("ExecutionFailed", "ExecutionRedriven", "ExecutionSucceeded"):
            failed = story.failed_visit.name if story.failed_visit is not None else None
            seen.append(({visit.name: visit.status for visit in story.visits()}, failed))
    assert seen == [
        ({"P": "failed", "T": "failed", "W": "stopped"}, "P"),
        ({"P": "running", "T": "running", "W": "running"}, None),
        ({"P": "succeeded", "T": "succeeded", "W": "succeeded"}, None),
    ]
    attempts = {visit.name: [attempt.failed for attempt in visit.attempts] for visit in story.visits()}
    assert attempts == {"P": [False], "T": [True, False], "W": []}


def test_events_of_the_api_are_those_of_the_engine():
    event = HistoryEvent(2, 1, 1500, "PassStateEntered", {"name": "A", "input": "{}"})
    back = _event_of(event.to_api())
    assert (back.id, back.previous_id, back.at_ms, back.type, back.details) == (2, 1, 1500, event.type, event.details)
