"""What leads from one region to another: buckets, buses, targets, links and addresses of queues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from statewright.config import Config
from statewright.virtual import VirtualSystem
from tests.unit.test_regions import HERE, THERE, clients, refusal
from tests.unit.virtual.building import ROLE

QUEUE = "arn:aws:sqs:{}:000000000000:{}"


def queue(system: VirtualSystem, region: str, name: str) -> str:
    url: str = clients(system, region)("sqs").create_queue(QueueName=name)["QueueUrl"]
    return url


def bodies(system: VirtualSystem, region: str, url: str) -> list[Any]:
    found = clients(system, region)("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
    return [json.loads(one["Body"]) for one in found]


def notifies(arn: str) -> dict[str, Any]:
    return {"QueueConfigurations": [{"QueueArn": arn, "Events": ["s3:ObjectCreated:*"]}]}


# ------------------------------------------------------------------ buckets


def test_names_of_buckets_are_global_and_notices_are_in_the_region_of_the_bucket(tmp_path: Path):
    with VirtualSystem(data=tmp_path) as system:
        here, there = (clients(system, region)("s3") for region in (HERE, THERE))
        here.create_bucket(Bucket="far", CreateBucketConfiguration={"LocationConstraint": THERE})
        assert [one["BucketRegion"] for one in there.list_buckets()["Buckets"]] == [THERE]
        assert refusal(there.create_bucket, Bucket="far", CreateBucketConfiguration={"LocationConstraint": THERE})[
            0
        ] == ("BucketAlreadyOwnedByYou")
        url = queue(system, THERE, "notices")
        queue(system, HERE, "notices")
        there.put_bucket_notification_configuration(
            Bucket="far", NotificationConfiguration=notifies(QUEUE.format(THERE, "notices"))
        )
        there.put_object(Bucket="far", Key="one", Body=b"1")
        system.restart()
        clients(system, THERE)("s3").put_object(Bucket="far", Key="two", Body=b"2")
        found = bodies(system, THERE, url)
        assert found[0]["Event"] == "s3:TestEvent"
        records = [one["Records"][0] for one in found[1:]]
        assert [(one["awsRegion"], one["s3"]["object"]["key"]) for one in records] == [(THERE, "one"), (THERE, "two")]
        assert bodies(system, HERE, url.replace(f"{THERE}.", "")) == []


def test_a_bucket_notifies_destinations_of_its_own_region():
    with VirtualSystem() as system:
        s3 = clients(system, HERE)("s3")
        s3.create_bucket(Bucket="near")
        queue(system, THERE, "q")
        assert refusal(
            s3.put_bucket_notification_configuration, Bucket="near",
            NotificationConfiguration=notifies(QUEUE.format(THERE, "q")),
        ) == (
            "InvalidArgument",
            "The notification destination service region is not valid for the bucket location constraint",
        )  # fmt: skip


def test_a_location_that_the_settings_exclude_is_none():
    with VirtualSystem(config=Config(regions=("eu-west-2",))) as system:
        s3 = system.client("s3")
        constraint = {"LocationConstraint": THERE}
        assert refusal(s3.create_bucket, Bucket="far", CreateBucketConfiguration=constraint) == (
            "InvalidLocationConstraint", "The specified location-constraint is not valid",
        )  # fmt: skip
        s3.create_bucket(Bucket="far", CreateBucketConfiguration={"LocationConstraint": "eu-west-2"})


# ------------------------------------------------------------------ events


def test_buses_of_one_name_live_apart():
    with VirtualSystem() as system:
        here, there = (clients(system, region)("events") for region in (HERE, THERE))
        url = queue(system, THERE, "events")
        bus = there.create_event_bus(Name="orders")["EventBusArn"]
        there.put_rule(Name="all", EventBusName="orders", EventPattern='{"source": ["shop"]}')
        there.put_targets(
            Rule="all", EventBusName="orders", Targets=[{"Id": "q", "Arn": QUEUE.format(THERE, "events")}]
        )
        here.create_event_bus(Name="orders")
        entry = {"Source": "shop", "DetailType": "sold", "Detail": "{}"}
        for name in ("orders", bus):
            # The bus of the other region is an unknown one here, which takes events and drops them.
            assert here.put_events(Entries=[{**entry, "EventBusName": name}])["FailedEntryCount"] == 0
        assert bodies(system, THERE, url) == []
        there.put_events(Entries=[{**entry, "EventBusName": bus}])
        [event] = bodies(system, THERE, url)
        assert (event["source"], event["region"]) == ("shop", THERE)


@pytest.mark.parametrize("resource", ["sqs:{}:000000000000:q", "lambda:{}:000000000000:function:f"])
def test_targets_of_rules_schedules_and_topics_are_in_their_own_region(resource):
    arn = "arn:aws:" + resource.format(THERE)
    with VirtualSystem() as system:
        events = system.client("events")
        events.put_rule(Name="r", EventPattern='{"source": ["shop"]}')
        _, why = refusal(events.put_targets, Rule="r", Targets=[{"Id": "t", "Arn": arn}])
        assert why.endswith("this version of Statewright has targets in the rule's own region, us-east-1, only.")
        _, why = refusal(
            system.client("scheduler").create_schedule, Name="s", ScheduleExpression="rate(1 day)",
            FlexibleTimeWindow={"Mode": "OFF"}, Target={"Arn": arn, "RoleArn": ROLE},
        )  # fmt: skip
        assert why == f"{arn} is elsewhere: the target of a schedule is in its region, us-east-1."
        sns = system.client("sns")
        topic = sns.create_topic(Name="t")["TopicArn"]
        _, why = refusal(sns.subscribe, TopicArn=topic, Protocol=arn.split(":")[2], Endpoint=arn)
        assert why.endswith("delivers to queues and functions of the topic's region, us-east-1")


# ------------------------------------------------------------------ names of the other region


def test_an_address_of_a_queue_carries_its_region():
    with VirtualSystem() as system:
        here, there = queue(system, HERE, "q"), queue(system, THERE, "q")
        assert here.endswith("/000000000000/q")
        assert there.endswith("/eu-west-1.000000000000/q")
        sqs = system.client("sqs")
        missing = "AWS.SimpleQueueService.NonExistentQueue"
        foreign = "https://sqs.eu-west-1.amazonaws.com/000000000000/q"
        for url in (there, foreign):
            assert refusal(sqs.send_message, QueueUrl=url, MessageBody="m")[0] == missing
            clients(system)("sqs").send_message(QueueUrl=url, MessageBody="m")
        sqs.send_message(QueueUrl="https://sqs.us-east-1.amazonaws.com/000000000000/q", MessageBody="m")


def test_a_task_does_not_reach_a_function_of_another_region():
    with VirtualSystem() as system:
        clients(system)("lambda").list_functions()
        arn = "arn:aws:lambda:eu-west-1:000000000000:function:f"
        definition = {"StartAt": "F", "States": {"F": {"Type": "Task", "Resource": arn, "End": True}}}
        sfn = system.client("stepfunctions")
        machine = sfn.create_state_machine(name="m", definition=json.dumps(definition), roleArn=ROLE)
        execution = sfn.start_execution(stateMachineArn=machine["stateMachineArn"])["executionArn"]
        system.run_until_idle()
        done = sfn.describe_execution(executionArn=execution)
        assert done["status"] == "FAILED"
        assert "Functions from 'eu-west-1' are not reachable in this region ('us-east-1')" in done["cause"]


def test_a_link_in_a_message_leads_to_the_topic_of_its_region_and_begins_none():
    from statewright.api.routing import route

    link = "Action=ConfirmSubscription&TopicArn=arn:aws:sns:eu-west-1:000000000000:t&Token=a"
    assert route("GET", "/", link, {}).region == THERE
    assert route("GET", "/", "Action=ConfirmSubscription&TopicArn=t", {}).region == ""
    with VirtualSystem() as system:
        assert system.parts.regions is not None
        with pytest.raises(ClientError):
            system.client("sns").confirm_subscription(TopicArn="arn:aws:sns:eu-west-1:000000000000:t", Token="a")
        assert system.parts.regions.names() == [HERE]
