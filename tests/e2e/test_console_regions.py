"""The console's reads and actions in a region that is not the server's own."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.e2e.conftest import ROLE, Server, ended
from tests.e2e.console_calls import post, read

HOME, AWAY = "us-east-1", "eu-west-1"
PASS = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    """A server of its own: it has one region at first."""
    running = Server(tmp_path_factory.mktemp("regions") / "data")
    assert read(running, "counts")["regions"] == [HOME]
    for region in (HOME, AWAY):
        running.client("sqs", region=region).create_queue(QueueName="orders")
        running.client("sqs", region=region).create_queue(QueueName=f"only-{region}")
        sfn = running.client("stepfunctions", region=region)
        arn = sfn.create_state_machine(name="orders", definition=PASS, roleArn=ROLE)["stateMachineArn"]
        ended(sfn, sfn.start_execution(stateMachineArn=arn, name=f"in-{region}")["executionArn"])
    yield running
    assert running.stop() == 0, running.log.read_text()


def test_each_region_has_its_own_lists(server):
    for region in (HOME, AWAY):
        found = read(server, "queues", region=region)["queues"]
        assert [one["name"] for one in found] == [f"only-{region}", "orders"]
        assert {one["arn"].split(":")[3] for one in found} == {region}
        (row,) = read(server, "executions", region=region)["executions"]
        assert (row["name"], row["machineArn"].split(":")[3]) == (f"in-{region}", region)
        assert read(server, "counts", region=region)["executions"] == 1
        assert read(server, "flow", region=region)["httpStatus"] == 200
    assert [one["name"] for one in read(server, "queues")["queues"]] == [f"only-{HOME}", "orders"]


def test_the_regions_that_were_used_are_named(server):
    assert read(server, "counts")["regions"] == [HOME, AWAY]
    assert read(server, "counts", region=AWAY)["regions"] == [HOME, AWAY]
    assert read(server, "me", region=AWAY)["region"] == HOME
    refused = read(server, "queues", region="ap-south-1")
    assert (refused["error"], refused["message"]) == (
        "BadRequest", "Nothing has used the region ap-south-1 of this server.",
    )  # fmt: skip


def test_actions_are_of_their_region(server):
    request = {"QueueUrl": "orders", "MessageBody": "hello"}
    sent = {"service": "sqs", "operation": "SendMessage", "request": request, "region": AWAY}
    assert post(server, "call", sent)["httpStatus"] == 200
    visible = {region: read(server, "queue", name="orders", region=region)["visible"] for region in (HOME, AWAY)}
    assert visible == {HOME: 0, AWAY: 1}
