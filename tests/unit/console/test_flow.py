"""What the tasks of a definition lead to, and the names of resources on the flow map."""

from __future__ import annotations

import json

from statewright.console.services.flow import MOST_NODES, Map, _folded, _kept, kind_of, name_of, named_in

HERE = "us-east-1:000000000000"


def task(resource: str, **arguments: object) -> dict[str, object]:
    return {"Type": "Task", "Resource": resource, "Arguments": arguments, "End": True}


def test_tasks_name_functions_queues_topics_machines_tables_and_buses():
    states = {
        "direct": task(f"arn:aws:lambda:{HERE}:function:one:live"),
        "invoke": task("arn:aws:states:::lambda:invoke", FunctionName="two:3"),
        "send": task("arn:aws:states:::sqs:sendMessage", QueueUrl="http://localhost:4566/000000000000/q"),
        "publish": task("arn:aws:states:::sns:publish", TopicArn=f"arn:aws:sns:{HERE}:t"),
        "start": task("arn:aws:states:::states:startExecution.sync:2", StateMachineArn="m"),
        "put": task("arn:aws:states:::events:putEvents", Entries=[]),
        "map": {"Type": "Map", "ItemProcessor": {"States": {"in": task("arn:aws:states:::dynamodb:putItem",
                                                                       TableName="rows")}}},
        "computed": task("arn:aws:states:::lambda:invoke", FunctionName="{% $states.input.name %}"),
        "data": {"Type": "Pass", "Output": {"QueueUrl": "http://x/0/not-a-task"}},
    }  # fmt: skip
    assert named_in(json.dumps({"States": states})) == (
        ("lambda", f"arn:aws:lambda:{HERE}:function:one:live"),
        ("lambda", "function:two"),
        ("sqs", "q"),
        ("sns", f"arn:aws:sns:{HERE}:t"),
        ("states", "stateMachine:m"),
        ("events", "event-bus/default"),
        ("dynamodb", "table/rows"),
    )
    assert named_in("{") == ()


def test_odd_definitions_name_nothing():
    odds: tuple[object, ...] = ([], {"Type": "Task", "Resource": 1}, task("x") | {"Arguments": "{% $x %}"})
    assert [named_in(json.dumps(one)) for one in odds] == [(), (), ()]


def test_pairs_are_of_whole_resources():
    found = Map()
    found.lead(f"arn:aws:dynamodb:{HERE}:table/t/stream/2026", f"arn:aws:lambda:{HERE}:function:f:live")
    found.lead(f"arn:aws:lambda:{HERE}:function:f", "https://example.com")
    assert found.pairs == {(f"arn:aws:dynamodb:{HERE}:table/t", f"arn:aws:lambda:{HERE}:function:f"): "next"}


def test_names_are_short():
    arns = {
        f"arn:aws:sqs:{HERE}:q": ("queue", "q"),
        f"arn:aws:scheduler:{HERE}:schedule/default/s": ("schedule", "s"),
        f"arn:aws:scheduler:{HERE}:schedule/g/s": ("schedule", "g/s"),
        f"arn:aws:events:{HERE}:rule/bus/r": ("rule", "bus/r"),
        f"arn:aws:states:{HERE}:stateMachine:m": ("machine", "m"),
        f"arn:aws:states:{HERE}:activity:a": ("", "a"),
    }
    assert {arn: (kind_of(arn), name_of(arn)) for arn in arns} == arns


def test_what_does_not_fit_are_schedules():
    queue = f"arn:aws:sqs:{HERE}:q"
    schedules = [f"arn:aws:scheduler:{HERE}:schedule/default/s{number:03}" for number in range(MOST_NODES + 20)]
    kept = _kept([*schedules, queue], "")
    assert (len(kept), kept[0], kept[-1]) == (MOST_NODES, schedules[0], queue)
    assert schedules[-1] in _kept([*schedules, queue], f"s{MOST_NODES + 19}")


def test_schedules_that_lead_to_the_same_are_one():
    found, queue, other = Map(), f"arn:aws:sqs:{HERE}:q", f"arn:aws:sqs:{HERE}:other"
    schedules = [f"arn:aws:scheduler:{HERE}:schedule/default/s{number}" for number in range(6)]
    for arn in schedules[:5]:
        found.lead(arn, queue)
    found.lead(schedules[5], other)
    assert _folded([*schedules, queue, other], found) == (
        [schedules[0], schedules[5], queue, other], {schedules[0]: "5 schedules"},
    )  # fmt: skip
    assert _folded([*schedules[1:], queue], found) == ([*schedules[1:], queue], {})
