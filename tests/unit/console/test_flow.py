"""What the tasks of a definition lead to, and the names of resources on the flow map."""

from __future__ import annotations

import json

from statewright.console.services.flow import Map, kind_of, name_of, named_in

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
