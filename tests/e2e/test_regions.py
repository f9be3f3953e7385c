"""Two regions of one server: resources of one name, each with its own ARN, and what goes on after a restart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import ROLE, Server, ended
from tests.e2e.systems import RUNTIME, zipped

HERE, THERE = "us-east-1", "eu-west-1"
CODE = """
import os
def handler(event, context):
    return {"region": os.environ["AWS_REGION"], "arn": context.invoked_function_arn, "said": "%s"}
"""


class Region:
    """The clients of one region."""

    def __init__(self, server: Server, name: str, **keys: str) -> None:
        self._server, self.name, self._keys = server, name, keys

    def __getattr__(self, service: str) -> Any:
        return self._server.client(service, region=self.name, **self._keys)

    def machine(self, name: str, definition: dict[str, Any]) -> str:
        made = self.stepfunctions.create_state_machine(name=name, definition=json.dumps(definition), roleArn=ROLE)
        arn: str = made["stateMachineArn"]
        return arn

    def output(self, machine: str, given: Any = None) -> Any:
        started = self.stepfunctions.start_execution(stateMachineArn=machine, input=json.dumps(given))["executionArn"]
        done = ended(self.stepfunctions, started)
        assert done["status"] == "SUCCEEDED", done
        return json.loads(done["output"])


def refusal(call: Any, **given: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as caught:
        call(**given)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


def calls(function: str) -> dict[str, Any]:
    return {"StartAt": "Call", "States": {"Call": {"Type": "Task", "Resource": function, "End": True}}}


def sends(url: str) -> dict[str, Any]:
    task = {
        "Type": "Task",
        "Resource": "arn:aws:states:::sqs:sendMessage",
        "Parameters": {"QueueUrl": url, "MessageBody.$": "$$.Execution.Id"},
        "End": True,
    }
    return {"StartAt": "Send", "States": {"Send": task}}


def test_functions_queues_and_machines_of_one_name_live_apart(server):
    found = {}
    for region in (Region(server, HERE), Region(server, THERE)):
        made = getattr(region, "lambda").create_function(
            FunctionName="twin", Runtime=RUNTIME, Role=ROLE, Handler="code.handler",
            Code={"ZipFile": zipped(code=CODE % region.name)},
        )  # fmt: skip
        url = region.sqs.create_queue(QueueName="twin")["QueueUrl"]
        found[region.name] = region, made["FunctionArn"], url
    for name, (region, function, url) in found.items():
        assert function == f"arn:aws:lambda:{name}:000000000000:function:twin"
        queue = region.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        assert queue == f"arn:aws:sqs:{name}:000000000000:twin"
        machine = region.machine("twin-calls", calls(function))
        assert machine == f"arn:aws:states:{name}:000000000000:stateMachine:twin-calls"
        assert region.output(machine) == {"region": name, "arn": function, "said": name}
        region.output(region.machine("twin-sends", sends(url)))
    for name, (region, _, url) in found.items():
        [message] = region.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
        assert message["Body"].startswith(f"arn:aws:states:{name}:000000000000:execution:twin-sends:")
        listed = region.stepfunctions.list_state_machines()["stateMachines"]
        assert {one["stateMachineArn"].split(":")[3] for one in listed} == {name}
    # What one region has, another does not see.
    found[THERE][0].sqs.delete_queue(QueueUrl=found[THERE][2])
    assert found[HERE][0].sqs.get_queue_url(QueueName="twin")["QueueUrl"] == found[HERE][2]
    other = found[HERE][1].replace(HERE, THERE)
    assert refusal(getattr(found[HERE][0], "lambda").get_function, FunctionName=other) == (
        "ResourceNotFoundException", f"Functions from '{THERE}' are not reachable in this region ('{HERE}')",
    )  # fmt: skip


def test_the_command_line_names_resources_of_a_region(server, statewright, monkeypatch):
    there = Region(server, THERE)
    there.machine("only-there", {"StartAt": "End", "States": {"End": {"Type": "Succeed"}}})

    def listed(*options: str) -> bool:
        return "only-there" in statewright("machine", "list", *options).out

    assert listed("--region", THERE)
    assert not listed("--region", HERE)
    assert not listed()
    monkeypatch.setenv("AWS_REGION", THERE)
    assert listed()
    assert not listed("--region", HERE)


def test_stacks_of_one_application_go_to_their_regions(server, statewright, tmp_path):
    queue = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "of-stacks"}}
    outputs = {"Place": {"Value": {"Fn::GetAtt": ["Q", "Arn"]}}}
    artifacts = {}
    for stack, region in (("A", "unknown-region"), ("B", THERE)):
        (tmp_path / f"{stack}.json").write_text(json.dumps({"Resources": {"Q": queue}, "Outputs": outputs}))
        artifacts[stack] = {
            "type": "aws:cloudformation:stack", "environment": f"aws://unknown-account/{region}",
            "properties": {"templateFile": f"{stack}.json"},
        }  # fmt: skip
    (tmp_path / "manifest.json").write_text(json.dumps({"version": "36.0.0", "artifacts": artifacts}))
    done = statewright("deploy", str(tmp_path), "-o", "json")
    assert done.code == 0, done.out + done.err
    shown = json.loads(done.out)
    assert shown["outputs"] == {"Place": f"arn:aws:sqs:{HERE}:000000000000:of-stacks"}
    assert shown["regions"][THERE]["outputs"] == {"Place": f"arn:aws:sqs:{THERE}:000000000000:of-stacks"}
    for region in (HERE, THERE):
        assert Region(server, region).sqs.get_queue_url(QueueName="of-stacks")
    again = json.loads(statewright("deploy", str(tmp_path), "-o", "json").out)
    words = {one["outcome"] for part in (again, again["regions"][THERE]) for one in part["resources"]}
    assert words == {"unchanged"}
    text = statewright("deploy", str(tmp_path)).out
    assert f"cdk, 1 resource for {THERE}" in text


def test_a_strict_deployment_looks_at_all_regions_before_it_begins(server, statewright, tmp_path):
    queue = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "of-strict-stacks"}}
    stacks = (("A", "unknown-region", {"Q": queue}), ("B", THERE, {"Net": {"Type": "AWS::EC2::VPC"}}))
    artifacts = {}
    for stack, region, resources in stacks:
        (tmp_path / f"{stack}.json").write_text(json.dumps({"Resources": resources}))
        artifacts[stack] = {
            "type": "aws:cloudformation:stack", "environment": f"aws://unknown-account/{region}",
            "properties": {"templateFile": f"{stack}.json"},
        }  # fmt: skip
    (tmp_path / "manifest.json").write_text(json.dumps({"version": "36.0.0", "artifacts": artifacts}))
    done = statewright("deploy", str(tmp_path), "--strict")
    assert done.code == 1
    assert "would be left out" in done.err
    assert "QueueUrls" not in Region(server, HERE).sqs.list_queues(QueueNamePrefix="of-strict-stacks")


def test_executions_and_mappings_of_a_second_region_go_on_after_a_kill(tmp_path: Path):
    data = tmp_path / "data"
    first = Server(data)
    there = Region(first, THERE)
    waits = {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 1, "End": True}}}
    machine = there.machine("waits", waits)
    started = there.stepfunctions.start_execution(stateMachineArn=machine, name="one")["executionArn"]
    url = there.sqs.create_queue(QueueName="kept")["QueueUrl"]
    there.sqs.send_message(QueueUrl=url, MessageBody="kept")
    first.kill()
    second = Server(data)
    there = Region(second, THERE)
    assert ended(there.stepfunctions, started)["status"] == "SUCCEEDED"
    url = there.sqs.get_queue_url(QueueName="kept")["QueueUrl"]
    [message] = there.sqs.receive_message(QueueUrl=url)["Messages"]
    assert message["Body"] == "kept"
    assert Region(second, HERE).sqs.list_queues().get("QueueUrls") is None
    assert second.stop() == 0
