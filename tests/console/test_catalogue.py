"""Pages of schedules, topics, tables, objects, jobs, events, APIs and stacks in a browser, with hostile contents."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.console.conftest import check_modules
from tests.deadlines import until
from tests.e2e.conftest import ROLE, Server

HOSTILE = "</script><img src=x>\u202e"
TARGET = "arn:aws:states:us-east-1:000000000000:stateMachine:catalogue"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

pytestmark = pytest.mark.slow


def test_the_pure_modules(tmp_path):
    check_modules("modules_catalogue.js", tmp_path)


def fill(server: Server) -> None:
    """Something for every page, with names and contents that must not become markup."""
    definition = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})
    server.client("stepfunctions").create_state_machine(name="catalogue", definition=definition, roleArn=ROLE)
    server.client("scheduler").create_schedule(
        Name="nightly", ScheduleExpression="cron(30 2 * * ? *)", FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": TARGET, "RoleArn": ROLE, "Input": json.dumps({"text": HOSTILE + "x" * 80_000})},
    )  # fmt: skip
    queue = server.client("sqs").create_queue(QueueName="orders")["QueueUrl"]
    arn = "arn:aws:sqs:us-east-1:000000000000:" + queue.rpartition("/")[2]
    topic = server.client("sns").create_topic(Name="orders")["TopicArn"]
    attributes = {"FilterPolicy": json.dumps({"kind": [HOSTILE]}, ensure_ascii=False)}
    server.client("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes=attributes)
    fill_table(server)
    fill_bucket(server)
    events = server.client("events")
    events.put_rule(Name="big", EventPattern=json.dumps({"detail": {"total": [{"numeric": [">", 100]}]}}))
    events.create_archive(ArchiveName="kept", EventSourceArn=TARGET.partition("states")[0] + "events:us-east-1:"
                          "000000000000:event-bus/default", EventPattern='{"source": ["kept"]}')  # fmt: skip
    ecs = server.client("ecs")
    command = ["sh", "-c", f"printf '%s' '{HOSTILE}'; exit 3"]
    container = {"name": "main", "image": "sh", "memory": 64, "command": command}
    ecs.register_task_definition(family="failing", containerDefinitions=[container])
    ecs.run_task(taskDefinition="failing")
    server.client("apigatewayv2").create_api(Name=HOSTILE, ProtocolType="HTTP", Target="https://example.com")
    template = {
        "Resources": {"DemoQueue": {"Type": "AWS::SQS::Queue"}},
        "Outputs": {"Url": {"Value": {"Ref": "DemoQueue"}, "Description": HOSTILE}},
    }
    stacks = server.client("cloudformation")
    stacks.create_stack(StackName="demo", TemplateBody=json.dumps(template))
    until(lambda: stacks.describe_stacks(StackName="demo")["Stacks"][0]["StackStatus"] == "CREATE_COMPLETE")


def fill_table(server: Server) -> None:
    dynamodb = server.client("dynamodb")
    dynamodb.create_table(
        TableName="orders", BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "customer", "KeyType": "HASH"}, {"AttributeName": "order", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": "customer", "AttributeType": "S"},
                              {"AttributeName": "order", "AttributeType": "N"}],
    )  # fmt: skip
    for number in range(60):
        exact = {"N": "12345678901234567890.12345"}
        item = {"customer": {"S": f"c-{number % 3}"}, "order": {"N": str(number // 3)}, "total": exact}
        dynamodb.put_item(TableName="orders", Item=item)
    hostile = {"customer": {"S": HOSTILE}, "order": {"N": "1"}, HOSTILE: {"S": "x" * 80_000}}
    dynamodb.put_item(TableName="orders", Item=hostile)


def fill_bucket(server: Server) -> None:
    s3 = server.client("s3")
    s3.create_bucket(Bucket="reports")
    for key, body, kind in (
        ("pixel.png", PIXEL, "image/png"),
        ("page.html", b"<script>alert(1)</script>", "text/html"),
        ("folder/a.txt", b"a", "text/plain"),
        (f"{HOSTILE}.txt", b"a", "text/plain"),
    ):
        s3.put_object(Bucket="reports", Key=key, Body=body, ContentType=kind)


@pytest.fixture(scope="module")
def report(drive, own_server) -> Any:
    """What the pages show in a browser, in both themes and two widths."""
    fill(own_server)
    return drive("catalogue.js", own_server.port)


def test_no_page_complains(report):
    # What is refused is answered with 400 and 403, which browsers log.
    refused = ("status of 400", "status of 403")
    assert [one for one in report["complaints"] if not any(one.find(text) >= 0 for text in refused)] == []


def test_pages_are_accessible(report):
    assert report["serious"] == []


def test_text_is_never_markup_and_no_page_is_too_wide(report):
    assert {(shown["markup"], shown["wide"]) for shown in report["shown"].values()} == {(0, False)}


def test_schedules_say_when_they_fire_and_run_on_request(report):
    for shown in report["shown"].values():
        assert (shown["schedules"], shown["words"]) == (["nightly"], "at 02:30, every day")
        assert shown["none"].startswith("Nothing here matches")
        assert shown["refused"] == "The value of a rate is a positive number."
        assert shown["ran"].startswith("Invoked its target now.")
        assert shown["mayDelete"] is False
        assert shown["missing"] == "Schedule missing does not exist."


def test_a_filter_is_shown_as_it_is(report):
    assert {shown["filter"] for shown in report["shown"].values()} == {
        json.dumps({"kind": [HOSTILE]}, ensure_ascii=False)
    }


def test_items_are_exact_and_written_only_as_they_were(report):
    for shown in report["shown"].values():
        assert shown["items"] == [str(number) for number in range(3, 20)]
        assert shown["exact"] == 17
        assert '"text": "</script>"' in shown["json"]
        assert shown["untyped"].startswith("customer needs its type")
        assert "only reads" in shown["statement"]


def test_objects_are_shown_by_their_bytes_and_downloaded(report):
    for shown in report["shown"].values():
        assert {"folder/", "</", "page.html", "pixel.png"} <= set(shown["folders"])
        assert (shown["picture"], shown["html"], shown["download"]) == (1, "<script>alert(1)</script>", "page.html")


def test_a_job_shows_what_it_wrote(report):
    assert {shown["output"] for shown in report["shown"].values()} == {HOSTILE}


def test_events_appear_as_they_are_put(report):
    for shown in report["shown"].values():
        assert '"detail-type": "</script>' in shown["event"]
        assert shown["pattern"].startswith("Event pattern is not valid.")


def test_the_map_shows_what_a_schedule_starts(report):
    for shown in report["shown"].values():
        assert shown["flow"] == ["schedule nightly", "machine catalogue, 0 running"]
