"""Schedules, rules and status changes of a whole system in virtual time: weeks of them pass in a moment."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from statewright.virtual import VirtualSystem
from tests.unit.virtual.building import FUNCTION, QUEUE, ROLE, function, machine, queue, start


def bodies(system: VirtualSystem, url: str) -> list[Any]:
    """All messages of a queue, which are gone then."""
    sqs, found = system.client("sqs"), []
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        for message in messages:
            found.append(json.loads(message["Body"]))
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return found


def rule(system: VirtualSystem, name: str, target: dict[str, Any], **given: Any) -> None:
    events = system.client("events")
    events.put_rule(Name=name, **given)
    events.put_targets(Rule=name, Targets=[{"Id": "1", **target}])


def test_a_schedule_over_a_change_of_clocks():
    with VirtualSystem(start=datetime(2026, 3, 27, 12, tzinfo=UTC)) as system:
        url = queue(system, "fired")
        system.client("scheduler").create_schedule(
            Name="nightly", ScheduleExpression="cron(30 2 * * ? *)", ScheduleExpressionTimezone="Europe/Berlin",
            FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": QUEUE + "fired", "RoleArn": ROLE, "Input": '"<aws.scheduler.scheduled-time>"'},
        )  # fmt: skip
        system.advance("4d")
        assert bodies(system, url) == ["2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z", "2026-03-31T00:30:00Z"]


def test_status_changes_of_executions_that_a_rule_starts():
    with VirtualSystem() as system:
        url = queue(system, "seen")
        arn = machine(system, {"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 600, "End": True}}})
        rule(system, "hourly", {"Arn": arn, "RoleArn": ROLE}, ScheduleExpression="rate(1 hour)")
        pattern = {"source": ["aws.states"], "detail": {"status": ["SUCCEEDED"]}}
        rule(system, "ended", {"Arn": QUEUE + "seen"}, EventPattern=json.dumps(pattern))
        begin = system.now_ms
        system.advance("5h30m")
        seen = [event["detail"] for event in bodies(system, url)]
        assert [one["stopDate"] - begin for one in seen] == [hour * 3_600_000 + 600_000 for hour in range(1, 6)]
        assert {one["stateMachineArn"] for one in seen} == {arn}
        assert {json.loads(one["input"])["detail-type"] for one in seen} == {"Scheduled Event"}


def test_redriven_executions_tell_of_both_their_lives():
    with VirtualSystem() as system:
        url = queue(system, "seen")
        arn = machine(system, {"StartAt": "F", "States": {"F": {"Type": "Fail", "Error": "Oops"}}})
        rule(system, "all", {"Arn": QUEUE + "seen"}, EventPattern='{"source": ["aws.states"]}')
        execution = start(system, arn, "one")
        system.advance(1)
        system.client("stepfunctions").redrive_execution(executionArn=execution)
        system.advance(1)
        seen = [(one["detail"]["status"], one["detail"]["redriveCount"]) for one in bodies(system, url)]
        assert sorted(seen) == [("FAILED", 0), ("FAILED", 1), ("RUNNING", 0), ("RUNNING", 1)]


def test_reports_of_functions_reach_a_bus():
    with VirtualSystem() as system:
        url = queue(system, "seen")
        function(system, "broken", "def handler(event, context):\n    raise ValueError('no')\n")
        bus = "arn:aws:events:us-east-1:000000000000:event-bus/default"
        system.client("lambda").put_function_event_invoke_config(
            FunctionName="broken", MaximumRetryAttempts=1, DestinationConfig={"OnFailure": {"Destination": bus}}
        )
        rule(system, "reports", {"Arn": QUEUE + "seen"}, EventPattern='{"source": ["lambda"]}')
        rule(system, "orders", {"Arn": FUNCTION + "broken"}, EventPattern='{"source": ["shop"]}')
        entry = {"Source": "shop", "DetailType": "Order", "Detail": '{"n": 1}'}
        system.client("events").put_events(Entries=[entry])
        system.advance("5m")
        [event] = bodies(system, url)
        assert event["detail-type"] == "Lambda Function Invocation Result - Failure"
        assert event["resources"] == [bus, FUNCTION + "broken:$LATEST"]
        assert event["detail"]["requestContext"]["condition"] == "RetriesExhausted"
        assert event["detail"]["requestPayload"]["detail"] == {"n": 1}


def test_a_system_with_an_event_on_its_way_is_not_idle():
    with VirtualSystem() as system:
        url = queue(system, "seen")
        rule(system, "all", {"Arn": QUEUE + "seen", "InputPath": "$.detail"}, EventPattern='{"source": ["shop"]}')
        entry = {"Source": "shop", "DetailType": "Order", "Detail": '{"n": 1}'}
        system.client("events").put_events(Entries=[entry])
        began = system.now_ms
        system.run_until_idle()
        assert bodies(system, url) == [{"n": 1}]
        assert system.now_ms == began
