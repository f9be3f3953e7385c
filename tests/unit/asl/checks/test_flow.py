"""Targets, reachability, ends and names of states."""

from __future__ import annotations

import pytest

from statewright.asl.validate import validate_value
from tests.unit.asl.definitions import TARGET, compared, flow, found, passing, task, to


def test_dangling_targets_name_their_place():
    value = flow(
        "A",
        A=to("NOPE"),
        C={"Type": "Choice", "Choices": [compared(IsNull=True, Next="X")], "Default": "Y"},
        T=task(Catch=[{"ErrorEquals": ["E"], "Next": "Z"}]),
    )
    assert found(value)[:4] == [
        (TARGET, "Missing 'Next' target: NOPE", "/States/A/Next"),
        (TARGET, "Missing 'Next' target: X", "/States/C/Choices[0]/Next"),
        (TARGET, "Missing 'Next' target: Y", "/States/C/Default"),
        (TARGET, "Missing 'Next' target: Z", "/States/T/Catch[0]/Next"),
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (flow("A", A=to("B"), B=to("A")), [("MISSING_END_STATE", "Workflow has no terminal state", None)]),
        (
            flow("A", A=to("B"), B=to("A"), C=to("A")),
            [("MISSING_END_STATE", "Workflow has no terminal state", None)],
        ),
        (
            flow("A", A=to("B"), B=to("A"), C=passing()),
            [(TARGET, 'State "C" is not reachable.', "/States/C")],
        ),
        (
            flow("A", A=to("NOPE")),
            [
                (TARGET, "Missing 'Next' target: NOPE", "/States/A/Next"),
                ("MISSING_END_STATE", "Workflow has no terminal state", None),
            ],
        ),
        (
            flow("Not sure", One=to("Two"), Two={"Type": "Succeed"}),
            [
                (TARGET, "Missing 'Next' target: Not sure", "/StartAt"),
                (TARGET, 'State "One" is not reachable.', "/States/One"),
            ],
        ),
    ],
)
def test_ends_and_reachability_as_the_service_says_them(value, expected):
    assert found(value) == expected


def test_targets_stay_in_their_scope():
    inner = {"StartAt": "I", "States": {"I": to("Outside")}}
    value = flow("S", S={"Type": "Map", "ItemProcessor": inner, "Next": "Outside"}, Outside={"Type": "Succeed"})
    (first, second) = [d for d in validate_value(value) if d.severity == "ERROR"]
    assert first.location == "/States/S/ItemProcessor/States/I/Next"
    assert "/States/Outside" in str(first.hint)
    assert (second.code, second.location) == ("MISSING_END_STATE", "/States/S/ItemProcessor")


def test_names_of_states():
    long = "n" * 81
    assert found(flow(long, **{long: {"Type": "Succeed"}})) == [
        (
            "INVALID_STATE_NAME",
            f"Invalid State name: State '{long}' exceeds the 80-character limit allowed by the service",
            f"/States/{long}",
        )
    ]
    assert found(flow("n" * 80, **{"n" * 80: {"Type": "Succeed"}})) == []
    assert found(flow("", **{"": {"Type": "Succeed"}}))[0][0] == "INVALID_STATE_NAME"
    inner = {"StartAt": "S", "States": {"S": passing()}}
    assert found(flow("S", S={"Type": "Parallel", "Branches": [inner], "End": True})) == [
        ("DUPLICATE_STATE_NAME", "Duplicate State name: S", "/States/S/Branches[0]/States/S")
    ]
