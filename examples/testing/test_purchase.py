"""An order with human approval: task tokens, days that pass in no time, and a restart while everybody waits."""

import json

import pytest


@pytest.fixture
def purchase(sfn):
    machine = sfn.load("purchase.asl.json")
    machine.mock("Order").handles(lambda purchase, _: {"ordered": purchase["amount"]})
    return machine


def test_small_amounts_need_nobody(purchase):
    run = purchase.run({"amount": 20})
    run.assert_succeeded(output={"ordered": 20})
    run.assert_not_visited("Ask The Team Lead", "Ask The Head")


def test_the_team_lead_approves(purchase):
    run = purchase.start({"amount": 900}, at="2026-03-02T09:00Z")
    run.until("Ask The Team Lead")
    run.advance("5h")
    run.token().succeed({"by": "Ada"})
    run.finish().assert_succeeded(output={"ordered": 900})
    run.assert_path("Needs Approval?", "Ask The Team Lead", "Order")


def test_the_team_lead_declines(purchase):
    run = purchase.start({"amount": 900})
    run.token("Ask The Team Lead").fail("Declined", "too dear")
    run.finish().assert_failed("Refused")


def test_after_three_days_the_head_is_asked_also_over_a_restart(sfn, purchase):
    run = purchase.start({"amount": 900}).until("Ask The Head")
    assert run.duration == 3 * 24 * 3600
    sfn.restart()
    run.advance("2d").assert_running("Ask The Head")
    run.token().succeed({"by": "Grace"})
    run.finish().assert_succeeded()
    run.history.match_snapshot()


def test_what_the_message_says_with_a_real_queue(sfn):
    queues = sfn.client("sqs")
    queue = queues.create_queue(QueueName="approvals")["QueueUrl"]
    machine = sfn.load("purchase.asl.json", values={"ApprovalQueue": queue})
    machine.mock("Order").returns({})
    machine.mock(resource="sqs:sendMessage").runs()
    run = machine.start({"amount": 900})
    [message] = queues.receive_message(QueueUrl=queue)["Messages"]
    body = json.loads(message["Body"])
    assert body["to"] == "lead"
    sfn.client("stepfunctions").send_task_success(taskToken=body["token"], output="{}")
    run.finish().assert_succeeded()


def test_nobody_answers(purchase):
    run = purchase.run({"amount": 900})
    run.assert_failed("Refused")
    assert run.duration == (3 + 7) * 24 * 3600


def test_an_amount_that_is_none(purchase):
    purchase.run({"amount": 0}).assert_failed("Refused").assert_path("Needs Approval?", "Refused")
