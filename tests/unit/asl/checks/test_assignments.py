"""Which scope may assign which variable."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.asl.definitions import SCHEMA, choice, compared, distributed, found, machine, messages, passing


@pytest.mark.parametrize("name", ["x", "größe", "a_1", "変数", "x" * 80])
def test_variable_names(name):
    assert messages(passing(Assign={name: 1})) == []


@pytest.mark.parametrize("name", ["states", "1a", "a.b", "a[0]", "a-b", "", "$a", "x" * 81])
def test_bad_variable_names(name):
    places = [place for _message, place in messages(passing(Assign={name: 1}))]
    assert places == [f"/States/S/Assign/{name}"]


def test_an_inner_scope_does_not_assign_an_outer_variable():
    branch = {"StartAt": "I", "States": {"I": passing(Assign={"x.$": "$.x", "y": 1})}}
    state = {"Type": "Parallel", "Branches": [branch], "Next": "A", "Assign": {"z": 1}}
    value = machine(state)
    value["States"]["A"] = passing(Assign={"x": 1})
    assert found(value) == [
        (
            SCHEMA,
            "The variable 'x' is assigned in an outer scope and cannot be assigned here",
            "/States/S/Branches[0]/States/I/Assign/x.$",
        )
    ]


def test_a_parallels_own_catcher_is_no_outer_scope():
    inner: dict[str, Any] = {
        "Type": "Parallel",
        "Branches": [{"StartAt": "J", "States": {"J": passing(Assign={"e": 1, "x": 1})}}],
    }
    inner.update(End=True, Catch=[{"ErrorEquals": ["E"], "Next": "K", "Assign": {"e.$": "$"}}])
    branch = {"StartAt": "I", "States": {"I": inner, "K": passing()}}
    state = {"Type": "Parallel", "Branches": [branch], "Next": "A"}
    state["Catch"] = [{"ErrorEquals": ["E"], "Next": "A", "Assign": {"e.$": "$", "x": 2}}]
    value = machine(state)
    value["States"]["A"] = {"Type": "Succeed"}
    assert found(value) == []
    value["States"]["A"] = passing(Assign={"x": 3})
    assert [place for _code, _text, place in found(value)] == [
        "/States/S/Branches[0]/States/I/Branches[0]/States/J/Assign/x"
    ]


def test_outer_variables_of_catchers_and_rules_count():
    branch = {"StartAt": "I", "States": {"I": passing(Assign={"e": 1, "r": 1})}}
    state = {
        "Type": "Parallel",
        "Branches": [branch],
        "Next": "C",
    }
    decide = choice(compared(IsNull=True, Assign={"r": 1}), Default="M")
    failing = {"Type": "Parallel", "Branches": [{"StartAt": "P", "States": {"P": passing()}}], "Next": "A"}
    failing["Catch"] = [{"ErrorEquals": ["E"], "Next": "C", "Assign": {"e.$": "$"}}]
    value = {"StartAt": "S", "States": {"S": state, "C": decide, "M": failing, "A": {"Type": "Succeed"}}}
    assert len(found(value)) == 2


def test_a_distributed_maps_variables_are_its_own():
    state = distributed(Assign={"x": 1})
    state["ItemProcessor"]["States"]["I"] = passing(Assign={"x": 2})
    assert found(machine(state)) == []
