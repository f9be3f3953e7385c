"""Costs and shares: what figures are made of."""

from __future__ import annotations

import json
from typing import Any

import pytest

from statewright.console.figures.costs import shown
from statewright.console.figures.heat import share
from statewright.console.figures.surveys import LoopFigures, StateFigures, Survey
from statewright.engine.machines.definitions import compiled


def program(**states: Any) -> Any:
    return compiled(json.dumps({"StartAt": next(iter(states)), "States": states}))


DONE = {"Type": "Succeed"}
TASK = {"Type": "Task", "End": True}


@pytest.mark.parametrize(
    ("values", "part", "wanted"),
    [([], 0.5, None), ([7], 0.95, 7), ([4, 1, 3, 2], 0.5, 2), (list(range(1, 101)), 0.95, 95), ([1, 2], 1.0, 2)],
)
def test_a_share_is_the_value_of_the_nearest_rank(values, part, wanted):
    assert share(values, part) == wanted


@pytest.mark.parametrize(
    ("state", "longest_ms", "words"),
    [
        (DONE, 1_000, None),
        (DONE, 300_001, "took 300 s"),
        ({**TASK, "Resource": "arn:aws:states:us-east-1:000000000000:activity:a"}, 0, "is an activity"),
        ({**TASK, "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken"}, 0, "waits for a job or a token"),
        ({**TASK, "Resource": "arn:aws:states:::batch:submitJob.sync"}, 0, "waits for a job or a token"),
        ({**TASK, "Resource": "arn:aws:states:::sqs:sendMessage"}, 0, None),
    ],
)
def test_a_machine_may_be_an_express_one_or_a_reason_is_given(state, longest_ms, words):
    why = shown(Survey(longest_ms=longest_ms), program(A=state))["express"]["why"]
    assert why is None if words is None else words in why


def test_states_stand_by_their_cost_with_loops_and_dated_prices():
    survey = Survey(runs=2)
    for name, transitions in (("Cheap", 1), ("Dear", 3)):
        survey.states[name] = StateFigures(name, "Pass")
        survey.states[name].usage.add("states.transitions", transitions)
    survey.loops["Poll"] = LoopFigures("Poll", 1, 130, 130.0, 390, 7)
    found = shown(survey, program(Cheap=DONE))
    assert [(one["name"], one["share"]) for one in found["states"]] == [("Dear", 0.75), ("Cheap", 0.25)]
    assert found["usdPerRun"] == pytest.approx(0.00005)
    assert found["loops"][0]["usd"] == pytest.approx(0.00975)
    assert found["loops"][0]["calmUsd"] < found["loops"][0]["usd"] / 50
    assert found["prices"]["date"].startswith("20")
