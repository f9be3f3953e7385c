"""Replays: what a record answers, what it does not, and what counts as a change."""

from __future__ import annotations

from typing import Any

from statewright.asl.compile import compile_definition
from statewright.payload import dump_json
from statewright.simulator.judging import Judgement, Machine, judge
from statewright.simulator.mocks import Returned
from statewright.simulator.replay import Mock
from statewright.simulator.script import load_script
from statewright.simulator.simulate import Simulation, make_identity

TASK = {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken", "End": True}


def machine(states: dict[str, Any], **more: Any) -> Machine:
    definition = {"StartAt": next(iter(states)), "States": states, **more}
    return Machine(definition, compile_definition(definition))


def judged(own: Machine, other: Machine, mocks: Any, *answers: Mock, given: Any = None) -> Judgement:
    """Record a run with mocks, and judge it on another definition."""
    script = load_script(dump_json({"mocks": mocks}), syntax="json")
    identity = make_identity()
    run = Simulation(script).run(own.program, given or {}, identity=identity)
    return judge(run.history, own, other, identity, mocks=answers)


def kinds(found: Judgement) -> list[str]:
    return [change.kind for change in found.changes]


def test_a_long_task_is_kept_alive_by_the_heartbeats_that_must_have_come():
    own = machine({"T": {**TASK, "HeartbeatSeconds": 10}})
    mocks = {"T": {"returns": 1, "delay": "60s", "heartbeats": ["9s", "18s", "27s", "36s", "45s", "54s"]}}
    assert judged(own, own, mocks).verdict == "same"


def test_a_longer_timeout_waits_for_an_answer_that_was_not_recorded():
    own, other = machine({"T": {**TASK, "TimeoutSeconds": 5}}), machine({"T": {**TASK, "TimeoutSeconds": 60}})
    assert judged(own, own, {"T": {"hangs": True}}).verdict == "same"
    found = judged(own, other, {"T": {"hangs": True}})
    assert (found.verdict, kinds(found)) == ("changed", ["answer"])
    assert found.missing is not None
    assert "timed out" in found.missing.why


def test_a_shorter_timeout_ends_a_call_before_its_recorded_answer():
    own, other = machine({"T": {**TASK, "TimeoutSeconds": 60}}), machine({"T": {**TASK, "TimeoutSeconds": 5}})
    found = judged(own, other, {"T": {"returns": 1, "delay": "20s"}})
    assert found.changes[-1].words == "It ends FAILED with States.Timeout; recorded: SUCCEEDED."


def test_answers_belong_to_visits_and_attempts():
    retry = [{"ErrorEquals": ["Busy"], "MaxAttempts": 2}]
    loop: dict[str, dict[str, Any]] = {
        "T": {**TASK, "Retry": retry, "ResultPath": "$.n", "Next": "C"}, "D": {"Type": "Succeed"},
        "C": {"Type": "Choice", "Choices": [{"Variable": "$.n", "NumericEquals": 2, "Next": "D"}], "Default": "T"},
    }  # fmt: skip
    loop["T"].pop("End")
    own = machine(loop)
    mocks = {"T": [{"throws": "Busy"}, {"returns": 1}, {"returns": 2}]}
    assert judged(own, own, mocks).verdict == "same"
    never = machine({**loop, "T": {**loop["T"], "Retry": [{"ErrorEquals": ["Busy"], "MaxAttempts": 0}]}})
    found = judged(own, never, mocks)
    # The second answer belongs to the second attempt, which is not made any more.
    assert found.changes[-1].words == "It ends FAILED with Busy; recorded: SUCCEEDED."


def test_what_comes_from_chance_is_no_change_and_what_does_not_is():
    state = {"Type": "Pass", "QueryLanguage": "JSONata", "Output": "{% {'id': $uuid(), 'n': 1} %}", "End": True}
    own = machine({"A": state})
    assert judged(own, own, {}).verdict == "same"
    found = judged(own, machine({"A": {**state, "Output": "{% {'id': $uuid(), 'n': 2} %}"}}), {})
    difference = found.changes[0].difference
    assert difference is not None
    assert (kinds(found), difference.where, difference.got) == (["output"], "$.n", 2)


def test_a_distributed_map_answers_as_a_whole_while_it_is_the_same():
    inner = {"StartAt": "I", "States": {"I": {"Type": "Pass", "End": True}}}
    processor = {**inner, "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}
    each = {"Type": "Map", "ItemProcessor": processor, "ResultPath": "$.all", "ItemsPath": "$.items", "Next": "Z"}
    own = machine({"M": each, "Z": {"Type": "Pass", "End": True}})
    given = {"items": [1, 2]}
    assert judged(own, own, {}, given=given).verdict == "same"
    more = machine({"M": {**each, "MaxConcurrency": 1}, "Z": {"Type": "Pass", "End": True}})
    found = judged(own, more, {}, given=given)
    assert (found.verdict, kinds(found)) == ("changed", ["answer"])
    assert found.missing is not None
    assert found.missing.is_map_run
    answered = judged(own, more, {}, Mock("M", Returned([1, 2])), given=given)
    assert (answered.verdict, answered.changes) == ("same", [])
    shaped = machine({"M": {**each, "ResultSelector": {"r.$": "$"}}, "Z": {"Type": "Pass", "End": True}})
    assert judged(shaped, shaped, {}, given=given).verdict == "unjudged"
