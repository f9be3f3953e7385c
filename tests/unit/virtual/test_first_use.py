"""A virtual system with an empty store has only those parts that something has used, and none of that shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from statewright.api.dynamodb.service import build_tables
from statewright.api.events.service import build_buses
from statewright.api.lambda_.service import build_functions
from statewright.api.s3.service import build_objects
from statewright.api.services import PARTS
from statewright.api.sqs.service import build_queues
from statewright.api.sts.service import build_sessions
from statewright.assembly import System
from statewright.virtual import VirtualSystem

PASS = '{"StartAt": "Only", "States": {"Only": {"Type": "Pass", "End": true}}}'
OFF = {"log_sender", "log_export"}
"""The parts that are there only if the settings ask for them."""
ALL = [one.name for one in PARTS if one.name not in OFF]


def built(system: VirtualSystem) -> list[str]:
    """The names of the parts that are there, found without using any."""
    services = system._live.system.app.services
    return [one.name for one in PARTS if services.make.found(one.build) is not None]


def arn_of(system: VirtualSystem, queue: str) -> str:
    """The ARN of a queue."""
    return f"arn:aws:sqs:{system.config.region}:{system.config.account}:{queue}"


def run_one(system: VirtualSystem) -> str:
    """Run a machine of one state; returns the execution's ARN."""
    found = system.call("states", "ListStateMachines")["stateMachines"]
    if not found:
        role = f"arn:aws:iam::{system.config.account}:role/r"
        found = [system.call("states", "CreateStateMachine", {"name": "one", "definition": PASS, "roleArn": role})]
    machine = found[0]["stateMachineArn"]
    arn: str = system.call("states", "StartExecution", {"stateMachineArn": machine})["executionArn"]
    assert system.call("states", "DescribeExecution", {"executionArn": arn})["status"] == "SUCCEEDED"
    return arn


def test_an_execution_uses_no_part_of_other_services():
    with VirtualSystem() as system:
        run_one(system)
        assert system.is_idle
        assert built(system) == ["metrics"]


def test_a_part_that_is_used_runs_and_so_do_those_that_it_needs():
    with VirtualSystem() as system:
        assert [bus["Name"] for bus in system.call("events", "ListEventBuses")["EventBuses"]] == ["default"]
        assert built(system) == ["metrics", "buses"]
        url = system.call("sqs", "CreateQueue", {"QueueName": "q"})["QueueUrl"]
        topic = system.call("sns", "CreateTopic", {"Name": "t"})["TopicArn"]
        system.call("sns", "Subscribe", {"TopicArn": topic, "Protocol": "sqs", "Endpoint": arn_of(system, "q")})
        assert built(system) == ["metrics", "queues", "topics", "buses"]
        system.call("sns", "Publish", {"TopicArn": topic, "Message": "hello"})
        assert len(system.call("sqs", "ReceiveMessage", {"QueueUrl": url})["Messages"]) == 1


def test_rules_made_after_executions_see_the_next_ones():
    with VirtualSystem() as system:
        run_one(system)
        url = system.call("sqs", "CreateQueue", {"QueueName": "ended"})["QueueUrl"]
        system.call("events", "PutRule", {"Name": "ended", "EventPattern": '{"source": ["aws.states"]}'})
        target = {"Id": "1", "Arn": arn_of(system, "ended")}
        system.call("events", "PutTargets", {"Rule": "ended", "Targets": [target]})
        run_one(system)
        system.advance("1s")
        found = system.call("sqs", "ReceiveMessage", {"QueueUrl": url, "MaxNumberOfMessages": 10})["Messages"]
        assert len(found) == 2


@pytest.mark.parametrize("seed", [0, 7])
def test_ids_are_the_same_whichever_parts_were_used_before(seed: int):
    def story(*used: str) -> list[Any]:
        with VirtualSystem(seed=seed) as system:
            first = run_one(system)
            services = system._live.system.app.services
            for name in used:
                system._live.enter(lambda: getattr(services, name))  # noqa: B023
            queue = system.call("sqs", "CreateQueue", {"QueueName": "q"})["QueueUrl"]
            sent = system.call("sqs", "SendMessage", {"QueueUrl": queue, "MessageBody": "m"})["MessageId"]
            page = system.call("lambda", "ListFunctions")
            return [first, sent, page, run_one(system)]

    alone = story()
    assert alone == story("tables", "event_sources") == story("functions") == story(*ALL)


def test_looking_inside_starts_all_parts():
    with VirtualSystem() as system:
        run_one(system)
        parts = system.parts
        assert built(system) == ALL
        assert system.parts is parts
        run_one(system)


def test_a_restart_and_a_folder_start_all_parts(tmp_path: Path):
    with VirtualSystem() as system:
        system.call("sqs", "CreateQueue", {"QueueName": "q"})
        system.restart()
        assert built(system) == ALL
        assert len(system.call("sqs", "ListQueues")["QueueUrls"]) == 1
    with VirtualSystem(data=tmp_path) as system:
        assert built(system) == ALL


def test_parts_used_before_the_start_are_started_with_the_system():
    def prepare(system: System) -> None:
        assert system.app.services.queues is not None

    with VirtualSystem(prepare=prepare) as system:
        assert built(system) == ["metrics", "queues"]
        url = system.call("sqs", "CreateQueue", {"QueueName": "q"})["QueueUrl"]
        assert system.call("sqs", "SendMessage", {"QueueUrl": url, "MessageBody": "m"})["MessageId"]


def test_each_part_can_be_the_first():
    for build in (build_queues, build_tables, build_functions, build_objects, build_buses, build_sessions):
        with VirtualSystem() as system:
            services = system._live.system.app.services
            field = next(one for one in PARTS if one.build is build)
            part = system._live.enter(lambda: getattr(services, field.name))  # noqa: B023
            assert services.make.found(build) is part
            assert getattr(services, field.name) is part
