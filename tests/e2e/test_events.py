"""EventBridge through boto3: buses, rules, patterns, targets, dead letters, refusals and tasks."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from tests.deadlines import until
from tests.e2e.conftest import ROLE, Server, ended, machine
from tests.e2e.test_schedules import create, queue, received

BUS_ARN = "arn:aws:events:us-east-1:000000000000:event-bus"
ENDPOINT = {
    "Name": "e", "EventBuses": [{"EventBusArn": BUS_ARN}, {"EventBusArn": BUS_ARN}],
    "RoutingConfig": {
        "FailoverConfig": {
            "Primary": {"HealthCheck": "arn:aws:route53:::healthcheck/0"}, "Secondary": {"Route": "eu-west-1"},
        }
    },
}  # fmt: skip


def bus_of(server: Server) -> str:
    name = f"b-{uuid4()}"
    server.client("events").create_event_bus(Name=name)
    return name


def rule(server: Server, bus: str, arn: str, pattern: Any = None, **target: Any) -> str:
    """The name of a new rule with one target."""
    name = f"r-{uuid4()}"
    events = server.client("events")
    events.put_rule(Name=name, EventBusName=bus, EventPattern=json.dumps(pattern or {"source": ["shop"]}))
    answer = events.put_targets(Rule=name, EventBusName=bus, Targets=[{"Id": "1", "Arn": arn, **target}])
    assert answer["FailedEntryCount"] == 0
    return name


def put(server: Server, bus: str, detail: Any, **more: Any) -> dict[str, Any]:
    entry = {"Source": "shop", "DetailType": "Order", "Detail": json.dumps(detail), "EventBusName": bus, **more}
    answer: dict[str, Any] = server.client("events").put_events(Entries=[entry])
    assert answer["FailedEntryCount"] == 0
    return answer


def test_a_queue_gets_the_event(server):
    bus, (url, arn) = bus_of(server), queue(server)
    rule(server, bus, arn, {"source": ["shop"], "detail": {"price": [{"numeric": [">", 10]}]}})
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    put(server, bus, {"price": 5})
    answer = put(server, bus, {"price": 11, "big": 12345678901234567890123}, Resources=["a:b"], Time=at)
    assert json.loads(received(server, url)["Body"]) == {
        "version": "0", "id": answer["Entries"][0]["EventId"], "detail-type": "Order", "source": "shop",
        "account": "000000000000", "time": "2026-01-02T03:04:05Z", "region": "us-east-1", "resources": ["a:b"],
        "detail": {"price": 11, "big": 12345678901234567890123},
    }  # fmt: skip


def test_a_fifo_queue_gets_its_group_from_the_event(server):
    bus, (url, arn) = bus_of(server), queue(server, FifoQueue="true", ContentBasedDeduplication="true")
    rule(server, bus, arn, SqsParameters={"MessageGroupId": "$.detail.customer"}, InputPath="$.detail")
    put(server, bus, {"customer": "ann"})
    message = received(server, url)
    assert (message["Attributes"]["MessageGroupId"], message["Body"]) == ("ann", '{"customer":"ann"}')


def test_a_machine_is_started_with_a_transformed_event(server, sfn):
    bus, arn = bus_of(server), machine(sfn, {"Type": "Pass"})
    transformer = {
        "InputPathsMap": {"who": "$.detail.customer", "all": "$.detail"},
        "InputTemplate": '{"text": "order of <who>", "who": <who>, "all": <all>, "rule": <aws.events.rule-name>}',
    }
    name = rule(server, bus, arn, RoleArn=ROLE, InputTransformer=transformer)
    event = put(server, bus, {"customer": "ann"})["Entries"][0]["EventId"]
    [one] = until(lambda: sfn.list_executions(stateMachineArn=arn)["executions"])
    given = json.loads(sfn.describe_execution(executionArn=one["executionArn"])["input"])
    assert given == {"text": "order of ann", "who": "ann", "all": {"customer": "ann"}, "rule": name}
    assert event != one["name"]


@pytest.mark.slow
def test_from_bus_to_bus_and_no_further(server):
    first, second, third = bus_of(server), bus_of(server), bus_of(server)
    (url, arn), (far_url, far_arn) = queue(server), queue(server)
    rule(server, first, f"{BUS_ARN}/{second}", RoleArn=ROLE)
    rule(server, second, f"{BUS_ARN}/{third}", RoleArn=ROLE)
    rule(server, second, arn)
    rule(server, third, far_arn)
    put(server, first, {"n": 1})
    assert json.loads(received(server, url)["Body"])["detail"] == {"n": 1}
    put(server, third, {"n": 2})
    assert json.loads(received(server, far_url)["Body"])["detail"] == {"n": 2}


def test_a_target_that_is_not_there_leaves_a_dead_letter(server):
    bus, (url, dead) = bus_of(server), queue(server)
    gone = "arn:aws:sqs:us-east-1:000000000000:nobody"
    name = rule(server, bus, gone, DeadLetterConfig={"Arn": dead}, Input='"constant"')
    put(server, bus, {"n": 1})
    message = received(server, url)
    said = {key: one["StringValue"] for key, one in message["MessageAttributes"].items()}
    assert (said["ERROR_CODE"], said["TARGET_ARN"]) == ("NO_RESOURCE", gone)
    assert said["RULE_ARN"] == f"arn:aws:events:us-east-1:000000000000:rule/{bus}/{name}"
    assert json.loads(message["Body"])["detail"] == {"n": 1}


def subscribed(server: Server) -> tuple[str, str]:
    """A topic, and the URL of a queue that gets its messages as they are."""
    sns, (url, arn) = server.client("sns"), queue(server)
    topic = sns.create_topic(Name=f"t-{uuid4()}")["TopicArn"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes={"RawMessageDelivery": "true"})
    return topic, url


def test_a_topic_gets_events_and_schedules(server):
    bus, (topic, url) = bus_of(server), subscribed(server)
    rule(server, bus, topic, InputPath="$.detail")
    put(server, bus, {"n": 1})
    assert received(server, url)["Body"] == '{"n":1}'
    create(server, topic, Input="by schedule")
    assert received(server, url)["Body"] == "by schedule"
    gone, (dead_url, dead) = topic.replace(":t-", ":none-"), queue(server)
    rule(server, bus, gone, DeadLetterConfig={"Arn": dead})
    put(server, bus, {"n": 2})
    letter = received(server, dead_url)["MessageAttributes"]
    assert letter["ERROR_CODE"]["StringValue"] == "NO_RESOURCE"


def test_a_log_group_gets_lines(server):
    bus, logs, group = bus_of(server), server.client("logs"), f"/aws/events/{uuid4()}"
    logs.create_log_group(logGroupName=group)
    arn = f"arn:aws:logs:us-east-1:000000000000:log-group:{group}"
    rule(server, bus, arn)
    transformer = {
        "InputPathsMap": {"at": "$.time", "n": "$.detail.n"},
        "InputTemplate": '{"timestamp": <at>, "message": "number <n>"}',
    }
    rule(server, bus, f"{arn}:*", InputTransformer=transformer)
    put(server, bus, {"n": 1})

    def lines() -> list[str]:
        found = logs.filter_log_events(logGroupName=group)["events"]
        return [one["message"] for one in found] if len(found) == 2 else []

    whole, made = sorted(until(lines, "both lines"), key=len, reverse=True)
    assert (json.loads(whole)["detail"], made) == ({"n": 1}, "number 1")


def test_a_log_group_or_job_queue_that_is_not_there(server):
    bus, (url, dead) = bus_of(server), queue(server)
    with pytest.raises(ClientError, match="does not reach targets of batch"):
        rule(server, bus, "arn:aws:batch:us-east-1:000000000000:job-queue/q")
    letters = {"DeadLetterConfig": {"Arn": dead}}
    rule(server, bus, "arn:aws:logs:us-east-1:000000000000:log-group:none", **letters)
    put(server, bus, {})
    assert received(server, url)["MessageAttributes"]["ERROR_CODE"]["StringValue"] == "NO_RESOURCE"
    bus, parameters = bus_of(server), {"JobDefinition": "none", "JobName": "n"}
    rule(server, bus, "arn:aws:batch:us-east-1:000000000000:job-queue/q", BatchParameters=parameters, **letters)
    put(server, bus, {})
    assert received(server, url)["MessageAttributes"]["ERROR_CODE"]["StringValue"] == "ERROR_FROM_TARGET"


def test_status_changes_of_executions(server, sfn):
    url, arn = queue(server)
    quiet = machine(sfn, {"Type": "Pass"}, express=True)
    failing = machine(sfn, {"Type": "Fail", "Error": "Oops", "Cause": "why"})
    pattern = {"source": ["aws.states"], "detail": {"stateMachineArn": [failing, quiet]}}
    name = rule(server, "default", arn, pattern)
    sfn.start_execution(stateMachineArn=quiet)
    execution = sfn.start_execution(stateMachineArn=failing, input='{"a": 1}')["executionArn"]
    ended(sfn, execution)
    found: dict[str, Any] = {}
    while len(found) < 2:
        event = json.loads(received(server, url)["Body"])
        assert event["detail-type"] == "Step Functions Execution Status Change"
        assert event["resources"] == [event["detail"]["executionArn"]] == [execution]
        found[event["detail"]["status"]] = event["detail"]
    started, failed = found["RUNNING"], found["FAILED"]
    assert (started["stopDate"], started["input"], started["inputDetails"]) == (None, '{"a": 1}', {"included": True})
    assert (started["output"], started["outputDetails"], started["redriveStatus"]) == (None, None, "NOT_REDRIVABLE")
    assert (failed["error"], failed["cause"], failed["redriveStatus"]) == ("Oops", "why", "REDRIVABLE")
    assert failed["redriveStatusReason"] == "Execution is FAILED and is redrivable"
    assert failed["stopDate"] >= failed["startDate"] > 1_600_000_000_000
    events = server.client("events")
    events.remove_targets(Rule=name, Ids=["1"])
    events.delete_rule(Name=name)


def test_entries_that_fail_alone(server):
    good = {"Source": "shop", "DetailType": "t", "Detail": "{}"}
    entries = [
        good,
        {"DetailType": "t", "Detail": "{}"},
        {**good, "DetailType": ""},
        {"Source": "s", "DetailType": "t"},
        {**good, "Detail": "{"},
        {**good, "Detail": "[]"},
        {**good, "Source": "aws.states"},
        {**good, "EventBusName": "nobody-knows"},
    ]
    answer = server.client("events").put_events(Entries=entries)
    assert answer["FailedEntryCount"] == 6
    said = [(one.get("ErrorCode"), one.get("ErrorMessage")) for one in answer["Entries"]]
    required = "Parameter {0} is not valid. Reason: {0} is a required argument."
    assert said == [
        (None, None),
        ("InvalidArgument", required.format("Source")),
        ("InvalidArgument", required.format("DetailType")),
        ("InvalidArgument", required.format("Detail")),
        ("MalformedDetail", "Detail is malformed."),
        ("MalformedDetail", "Detail is malformed."),
        ("NotAuthorizedForSourceException", "Not authorized for the source."),
        (None, None),
    ]
    assert all(
        re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", answer["Entries"][n]["EventId"]) for n in (0, 7)
    )


BAD_PATTERN, NOT_FOUND = "InvalidEventPatternException", "ResourceNotFoundException"
INVALID, UNKNOWN = "ValidationException", "UnknownOperationException"
LONG = {"Source": "s", "DetailType": "t", "Detail": json.dumps({"a": "x" * 600_000})}


@pytest.mark.parametrize(
    ("operation", "given", "code", "text"),
    [
        ("put_events", {"Entries": []}, INVALID, "greater than or equal to 1"),
        ("put_events", {"Entries": [{}] * 11}, INVALID, "less than or equal to 10"),
        ("put_events", {"Entries": [LONG, LONG]}, INVALID, "Total size of the entries in the request"),
        ("put_rule", {"Name": "r"}, INVALID, "EventPattern or ScheduleExpression must be specified"),
        ("put_rule", {"Name": "r", "EventPattern": "{"}, BAD_PATTERN, "Event pattern is not valid"),
        ("put_rule", {"Name": "r", "EventPattern": "[]"}, BAD_PATTERN, "Filter is not an object"),
        ("put_rule", {"Name": "r", "EventPattern": "{}"}, BAD_PATTERN, "Empty object"),
        ("put_rule", {"Name": "r", "EventPattern": '{"a": "b"}'}, BAD_PATTERN, "must be an object or"),
        ("put_rule", {"Name": "r", "EventPattern": '{"a": []}'}, BAD_PATTERN, "Empty arrays are not"),
        ("put_rule", {"Name": "r", "EventPattern": '{"a": [{"x": 1}]}'}, BAD_PATTERN, "match type x"),
        ("put_rule", {"Name": "r", "ScheduleExpression": "rate(1 minutes)"}, INVALID, "ScheduleExpression"),
        ("put_rule", {"Name": "r", "ScheduleExpression": "rate(30 seconds)"}, INVALID, "is not valid"),
        ("put_rule", {"Name": "r", "ScheduleExpression": "cron(0 9 * * *)"}, INVALID, "is not valid"),
        ("put_rule", {"Name": "r", "ScheduleExpression": "cron(0 9 * * * *)"}, INVALID, "is not valid"),
        ("put_rule", {"Name": "r", "ScheduleExpression": "at(2099-01-01T00:00:00)"}, INVALID, "not valid"),
        ("put_rule", {"Name": "r", "EventPattern": '{"a": [1]}', "EventBusName": "n"}, NOT_FOUND,
         "Event bus n does not exist."),
        ("describe_rule", {"Name": "none"}, NOT_FOUND, "Rule none does not exist on EventBus default."),
        ("enable_rule", {"Name": "none"}, NOT_FOUND, "Rule none does not exist"),
        ("put_targets", {"Rule": "none", "Targets": [{"Id": "1", "Arn": "a"}]}, NOT_FOUND, "none does"),
        ("list_targets_by_rule", {"Rule": "none"}, NOT_FOUND, "Rule none does not exist"),
        ("describe_event_bus", {"Name": "none"}, NOT_FOUND, "Event bus none does not exist."),
        ("create_event_bus", {"Name": "default"}, "ResourceAlreadyExistsException", "Event bus default already"),
        ("create_event_bus", {"Name": "a/b"}, INVALID, "Event bus name must not contain '/'."),
        ("delete_event_bus", {"Name": "default"}, INVALID, "Cannot delete event bus default."),
        ("remove_permission", {"StatementId": "x"}, NOT_FOUND, "Statement with the provided id does not exist."),
        ("test_event_pattern", {"EventPattern": "{}", "Event": "{}"}, BAD_PATTERN, "Empty object"),
        ("test_event_pattern", {"EventPattern": '{"a": [1]}', "Event": "{"}, INVALID, "not a valid JSON"),
        ("test_event_pattern", {"EventPattern": '{"a": [1]}', "Event": "{}"}, INVALID, "id is a required"),
        ("create_endpoint", ENDPOINT, UNKNOWN, "does not have events"),
        ("tag_resource", {"ResourceARN": "arn:aws:events:us-east-1:000000000000:rule/none", "Tags": []},
         NOT_FOUND, "Rule none does not exist"),
    ],
)  # fmt: skip
def test_refusals(server, operation, given, code, text):
    with pytest.raises(ClientError) as caught:
        getattr(server.client("events"), operation)(**given)
    assert caught.value.response["Error"]["Code"] == code
    assert text in caught.value.response["Error"]["Message"]


QUEUE = "arn:aws:sqs:us-east-1:000000000000:q"
PATHS = {"InputPathsMap": {"a": "$.detail"}, "InputTemplate": '"<b>"'}


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ({"Arn": "q"}, "Provided Arn is not in correct format"),
        ({"Arn": "arn:aws:kinesis:us-east-1:000000000000:stream/s"}, "does not reach targets of kinesis"),
        ({"Arn": "arn:aws:events:us-east-1:111111111111:event-bus/x"}, "buses are targets in their own account"),
        ({"Arn": "arn:aws:scheduler:::aws-sdk:sqs:sendMessage"}, "no universal targets"),
        ({"Arn": QUEUE, "Input": "{"}, "JSON syntax error in input for target 1."),
        ({"Arn": QUEUE, "Input": "1", "InputPath": "$"}, "Only one of Input, InputPath, or InputTransformer"),
        ({"Arn": QUEUE + ".fifo"}, "SqsParameters must be specified for target: 1."),
        ({"Arn": QUEUE, "InputTransformer": PATHS}, "contains invalid placeholder b."),
    ],
)
def test_targets_that_are_refused(server, target, text):
    events = server.client("events")
    events.put_rule(Name="refusing", EventPattern='{"source": ["nobody"]}')
    with pytest.raises(ClientError) as caught:
        events.put_targets(Rule="refusing", Targets=[{"Id": "1", **target}])
    assert caught.value.response["Error"]["Code"] == INVALID
    assert text in caught.value.response["Error"]["Message"]


def test_rules_targets_tags_and_lists(server):
    events, bus = server.client("events"), bus_of(server)
    given = {"Name": "r1", "EventBusName": bus, "EventPattern": '{"source":["s"]}', "Description": "d", "RoleArn": ROLE}
    arn = events.put_rule(**given, Tags=[{"Key": "a", "Value": "b"}])["RuleArn"]
    assert arn == f"arn:aws:events:us-east-1:000000000000:rule/{bus}/r1"
    shown = events.describe_rule(Name="r1", EventBusName=f"{BUS_ARN}/{bus}")
    assert {name: shown[name] for name in given} == given
    assert (shown["State"], shown["CreatedBy"]) == ("ENABLED", "000000000000")
    events.disable_rule(Name="r1", EventBusName=bus)
    assert events.list_rules(EventBusName=bus, NamePrefix="r")["Rules"][0]["State"] == "DISABLED"
    events.put_rule(Name="r2", EventBusName=bus, EventPattern='{"source":["s"]}')
    page = events.list_rules(EventBusName=bus, Limit=1)
    rest = events.list_rules(EventBusName=bus, Limit=1, NextToken=page["NextToken"])
    assert [one["Name"] for one in page["Rules"] + rest["Rules"]] == ["r1", "r2"]
    assert "NextToken" not in rest
    targets = [{"Id": str(number), "Arn": QUEUE} for number in range(5)]
    events.put_targets(Rule="r1", EventBusName=bus, Targets=targets)
    assert events.list_targets_by_rule(Rule="r1", EventBusName=bus)["Targets"] == targets
    assert events.list_rule_names_by_target(TargetArn=QUEUE, EventBusName=bus)["RuleNames"] == ["r1"]
    with pytest.raises(ClientError, match="LimitExceededException"):
        events.put_targets(Rule="r1", EventBusName=bus, Targets=[{"Id": "more", "Arn": QUEUE}])
    with pytest.raises(ClientError, match="Rule can't be deleted since it has targets"):
        events.delete_rule(Name="r1", EventBusName=bus)
    assert events.list_tags_for_resource(ResourceARN=arn)["Tags"] == [{"Key": "a", "Value": "b"}]
    events.tag_resource(ResourceARN=arn, Tags=[{"Key": "c", "Value": "d"}])
    events.untag_resource(ResourceARN=arn, TagKeys=["a"])
    assert events.list_tags_for_resource(ResourceARN=arn)["Tags"] == [{"Key": "c", "Value": "d"}]
    failed = events.remove_targets(Rule="r1", EventBusName=bus, Ids=["0", "1", "2", "3", "4", "none"])
    assert failed["FailedEntryCount"] == 1
    with pytest.raises(ClientError, match="Event bus can't be deleted since it has rules"):
        events.delete_event_bus(Name=bus)
    for name in ("r1", "r2", "never"):
        events.delete_rule(Name=name, EventBusName=bus)
    events.delete_event_bus(Name=bus)
    with pytest.raises(ClientError, match=rf"\(ResourceNotFoundException\).*Event bus {bus} does not exist\."):
        events.delete_event_bus(Name=bus)
    assert bus not in {one["Name"] for one in events.list_event_buses()["EventBuses"]}


def test_permissions_are_kept_and_shown(server):
    events, bus = server.client("events"), bus_of(server)
    condition = {"Type": "StringEquals", "Key": "aws:PrincipalOrgID", "Value": "o-1"}
    given = {"EventBusName": bus, "Action": "events:PutEvents"}
    events.put_permission(**given, StatementId="one", Principal="111111111111")
    events.put_permission(**given, StatementId="two", Principal="*", Condition=condition)
    statements = json.loads(events.describe_event_bus(Name=bus)["Policy"])["Statement"]
    assert [one["Sid"] for one in statements] == ["one", "two"]
    assert statements[0]["Principal"] == {"AWS": "arn:aws:iam::111111111111:root"}
    assert statements[1]["Condition"] == {"StringEquals": {"aws:PrincipalOrgID": "o-1"}}
    events.remove_permission(EventBusName=bus, StatementId="one")
    events.remove_permission(EventBusName=bus, RemoveAllPermissions=True)
    assert "Policy" not in events.describe_event_bus(Name=bus)
    updated = events.update_event_bus(Name=bus, Description="about")
    assert updated["Description"] == events.describe_event_bus(Name=bus)["Description"] == "about"


def test_a_pattern_can_be_tried(server):
    event = {
        "id": "1", "account": "0", "source": "s", "time": "t", "region": "r", "resources": [], "detail-type": "d",
        "detail": {"a": 1},
    }  # fmt: skip
    events = server.client("events")
    for pattern, matches in (('{"detail": {"a": [1]}}', True), ('{"detail": {"a": [2]}}', False)):
        assert events.test_event_pattern(EventPattern=pattern, Event=json.dumps(event))["Result"] is matches


def put_task(entry: dict[str, Any], resource: str = "arn:aws:states:::events:putEvents", **more: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": resource, "Parameters": {"Entries": [entry]}, **more}


def test_a_task_puts_events(server, sfn):
    bus, (url, arn) = bus_of(server), queue(server)
    rule(server, bus, arn)
    entry = {"Source": "shop", "DetailType": "t", "Detail": {"n": 1}, "EventBusName": bus, "Resources": ["r"]}
    made = machine(sfn, put_task(entry))
    execution = sfn.start_execution(stateMachineArn=made)["executionArn"]
    output = json.loads(ended(sfn, execution)["output"])
    event = json.loads(received(server, url)["Body"])
    assert output["Entries"] == [{"EventId": event["id"]}]
    assert (event["detail"], event["resources"]) == ({"n": 1}, ["r", execution, made])


def test_a_task_fails_when_an_entry_does(server, sfn):
    made = machine(sfn, put_task({"Source": "aws.shop", "DetailType": "t", "Detail": {}}))
    found = ended(sfn, sfn.start_execution(stateMachineArn=made)["executionArn"])
    assert (found["status"], found["error"]) == ("FAILED", "EventBridge.FailedEntry")
    assert json.loads(found["cause"])["Entries"][0]["ErrorCode"] == "NotAuthorizedForSourceException"


def test_a_task_waits_for_who_gets_its_event(server, sfn):
    bus, (url, arn) = bus_of(server), queue(server)
    rule(server, bus, arn, InputPath="$.detail.token")
    entry = {"Source": "shop", "DetailType": "t", "Detail": {"token.$": "$$.Task.Token"}, "EventBusName": bus}
    made = machine(sfn, put_task(entry, "arn:aws:states:::events:putEvents.waitForTaskToken"))
    execution = sfn.start_execution(stateMachineArn=made)["executionArn"]
    sfn.send_task_success(taskToken=json.loads(received(server, url)["Body"]), output='"done"')
    assert ended(sfn, execution)["output"] == '"done"'


def test_sdk_tasks_of_events_and_schedules(server, sfn):
    bus, (url, arn) = bus_of(server), queue(server)
    rule(server, bus, arn)
    entry = {"Source": "shop", "DetailType": "t", "Detail": '{"n": 1}', "EventBusName": bus}
    schedule = {
        "Name": f"s-{uuid4()}", "ScheduleExpression": "rate(1 day)", "FlexibleTimeWindow": {"Mode": "OFF"},
        "Target": {"Arn": arn, "RoleArn": ROLE, "Input": "by schedule"},
    }  # fmt: skip
    made = machine(
        sfn,
        put_task(entry, "arn:aws:states:::aws-sdk:eventbridge:putEvents"),
        {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:scheduler:createSchedule", "Parameters": schedule},
        {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:scheduler:getSchedule", "Parameters": {"Name": "no"}},
    )
    found = ended(sfn, sfn.start_execution(stateMachineArn=made)["executionArn"])
    assert (found["error"], found["status"]) == ("Scheduler.ResourceNotFoundException", "FAILED")
    bodies = {received(server, url)["Body"], received(server, url)["Body"]}
    assert "by schedule" in bodies
