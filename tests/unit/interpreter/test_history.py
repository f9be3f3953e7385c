from __future__ import annotations

import pytest

from statewright.interpreter.history import DETAILS_MEMBER, EVENT_TYPES, HistoryEvent, failure_details


def test_as_the_api_shows_it() -> None:
    entry = HistoryEvent(5, 4, 1_000, "TaskStateExited", {"name": "T", "output": "1", "assignedVariables": {"v": "1"}})
    assert entry.to_api() == {
        "timestamp": 1_000,
        "type": "TaskStateExited",
        "id": 5,
        "previousEventId": 4,
        "stateExitedEventDetails": {
            "name": "T",
            "output": "1",
            "outputDetails": {"truncated": False},
            "assignedVariables": {"v": "1"},
            "assignedVariablesDetails": {"truncated": False},
        },
    }


def test_without_data() -> None:
    failed = HistoryEvent(5, 4, 1_000, "TaskFailed", {"resource": "r", "error": "E", "cause": "c"})
    assert failed.to_api(with_data=False)["taskFailedEventDetails"] == {"resource": "r", "error": "E"}
    entered = HistoryEvent(2, 0, 1_000, "PassStateEntered", {"name": "A", "input": "{}"})
    assert entered.to_api(with_data=False)["stateEnteredEventDetails"] == {
        "name": "A",
        "inputDetails": {"truncated": False},
    }


@pytest.mark.parametrize("kind", sorted(EVENT_TYPES))
def test_every_type_has_its_member_or_none(kind: str) -> None:
    shown = HistoryEvent(1, 0, 0, kind, None).to_api()
    members = set(shown) - {"timestamp", "type", "id", "previousEventId"}
    assert members == ({DETAILS_MEMBER[kind]} if kind in DETAILS_MEMBER else set())


def test_a_member_without_details_is_an_empty_object() -> None:
    assert HistoryEvent(3, 0, 0, "ExecutionAborted", None).to_api()["executionAbortedEventDetails"] == {}


@pytest.mark.parametrize(
    ("error", "cause", "details"),
    [
        (None, None, {}),
        ("E", None, {"error": "E"}),
        (None, "c", {"cause": "c"}),
        ("E", "", {"error": "E", "cause": ""}),
    ],
)
def test_failure_details(error: str | None, cause: str | None, details: dict[str, str]) -> None:
    assert failure_details(error, cause) == details


def test_repr() -> None:
    assert repr(HistoryEvent(5, 4, 0, "TaskFailed", None)) == "5<4:TaskFailed"
