"""The pages of a server with two regions in a browser: one of them is chosen, and stays chosen."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.conftest import ROLE, ended

pytestmark = pytest.mark.slow

HOME, AWAY = "us-east-1", "eu-west-1"
PASS = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})


@pytest.fixture(scope="module")
def report(drive, own_server) -> Any:
    """What the pages show in a browser."""
    for region in (HOME, AWAY):
        sqs = own_server.client("sqs", region=region)
        sqs.create_queue(QueueName="orders")
        sqs.send_message(QueueUrl="orders", MessageBody=f"from {region}")
        sfn = own_server.client("stepfunctions", region=region)
        arn = sfn.create_state_machine(name=f"machine-{region}", definition=PASS, roleArn=ROLE)["stateMachineArn"]
        run = sfn.start_execution(stateMachineArn=arn, name=f"in-{region}")["executionArn"]
        ended(sfn, run)
    return drive("regions.js", own_server.port, run)


def shown(report: Any, part: str) -> list[Any]:
    return [one[part] for one in report["shown"].values()]


def test_no_page_complains(report):
    # A region that nothing has used is answered with 400, which browsers log.
    assert [one for one in report["complaints"] if "status of 400" not in one] == []
    assert report["serious"] == []


def test_a_region_is_chosen_and_stays_chosen(report):
    for one in shown(report, "lists"):
        assert one["regions"] == [HOME, AWAY]
        assert one["home"] == [f"in-{HOME}"]
        assert one["away"] == [f"in-{AWAY}"]
        assert one["address"] == f"/console/executions?region={AWAY}"
        assert one["queues"] == f"/console/queues?region={AWAY}"


def test_a_resource_is_read_and_changed_in_its_region(report):
    for place, one in enumerate(shown(report, "queue")):
        assert one["address"] == f"/console/queue/orders?region={AWAY}"
        assert f"from {AWAY}" in one["bodies"][0]
        assert len(one["bodies"]) == place + 2
    for one in shown(report, "back"):
        assert one == {"address": "/console/queues", "bodies": [f"from {HOME}"]}


def test_pages_of_an_arn_lead_to_its_region(report):
    for one in shown(report, "run"):
        assert one["chosen"] == AWAY
        assert "?" not in one["address"]
        assert one["machines"] == [f"machine-{AWAY}"]


def test_a_region_that_is_not_there_can_be_left(report):
    for one in shown(report, "missing"):
        assert "Nothing has used the region ap-south-1" in one["said"]
        assert one["left"] == "/console/queues"
