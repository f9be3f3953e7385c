"""What the pages of services show on servers whose settings hide parts of payloads, or payloads altogether."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.deadlines import until
from tests.e2e.conftest import ROLE, Server, ended
from tests.e2e.console_calls import call, lines, machine, mapped, post, read, run_of, start
from tests.e2e.systems import RUNTIME, zipped

SECRET, OPEN = "hunter2-hunter2", "seen-by-all"
DOCUMENT = {"login": {"password": SECRET}, "open": OPEN}
BODY = json.dumps(DOCUMENT)
QUEUE = "arn:aws:sqs:us-east-1:000000000000:orders"
SOURCE = f"def handler(event, context):\n    print('{BODY}')\n    return {DOCUMENT!r}\n"


def served(folder: Path, settings: str) -> Server:
    (folder / "statewright.toml").write_text(f"[console]\n{settings}\n")
    server = Server(folder / "data", "--config", str(folder / "statewright.toml"))
    fill(server)
    return server


@pytest.fixture(scope="module")
def redacting(tmp_path_factory) -> Iterator[Server]:
    server = served(tmp_path_factory.mktemp("redacting"), 'redact = ["**.password"]')
    yield server
    server.stop()


@pytest.fixture(scope="module")
def hiding(tmp_path_factory) -> Iterator[Server]:
    server = served(tmp_path_factory.mktemp("hiding"), 'payloads = "hidden"')
    yield server
    server.stop()


def fill(server: Server) -> None:
    """The same data in every service."""
    attribute = {"password": {"DataType": "String", "StringValue": SECRET}}
    url = server.client("sqs").create_queue(QueueName="orders")["QueueUrl"]
    server.client("sqs").send_message(QueueUrl=url, MessageBody=BODY, MessageAttributes=attribute)
    dynamodb = server.client("dynamodb")
    dynamodb.create_table(
        TableName="orders", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
    )  # fmt: skip
    login = {"M": {"password": {"S": SECRET}}}
    dynamodb.put_item(TableName="orders", Item={"k": {"S": "a"}, "login": login, "open": {"S": OPEN}})
    server.client("s3").create_bucket(Bucket="orders")
    server.client("s3").put_object(Bucket="orders", Key="a", Body=BODY.encode(), Metadata={"password": SECRET})
    server.client("scheduler").create_schedule(
        Name="nightly", ScheduleExpression="rate(1 day)", FlexibleTimeWindow={"Mode": "OFF"}, StartDate=4_000_000_000,
        Target={"Arn": QUEUE, "RoleArn": ROLE, "Input": BODY},
    )  # fmt: skip
    server.client("lambda").create_function(
        FunctionName="charge", Runtime=RUNTIME, Role=ROLE, Handler="app.handler", Code={"ZipFile": zipped(app=SOURCE)},
        Environment={"Variables": {"DATABASE_URL": f"postgres://app:{SECRET}@db/shop", "STAGE": OPEN}},
    )  # fmt: skip
    ecs = server.client("ecs")
    container = {
        "name": "main", "image": "sh", "memory": 64, "command": ["sh", "-c", "printf '%s' \"$BODY\""],
        "environment": [{"name": "BODY", "value": BODY}],
    }  # fmt: skip
    ecs.register_task_definition(family="prints", containerDefinitions=[container])
    given = [{"name": "DB_PASSWORD", "value": SECRET}, {"name": "STAGE", "value": OPEN}]
    over = [{"name": "main", "environment": given}]
    ecs.run_task(taskDefinition="prints", overrides={"containerOverrides": over})


def shown(server: Server) -> dict[str, Any]:
    """Everything that pages of services show of these data."""
    (job,) = until(
        lambda: [one for one in read(server, "jobs")["rows"] if one["group"] in ("succeeded", "failed")], "a job"
    )  # fmt: skip
    invoked = call(server, "lambda", "Invoke", FunctionName="charge", Payload="e30=", LogType="Tail")
    return {
        "messages": read(server, "queue/peek", name="orders"),
        "items": call(server, "dynamodb", "Scan", TableName="orders"),
        "selected": post(server, "tables/select", {"statement": "SELECT * FROM orders"}),
        "object": read(server, "object", bucket="orders", key="a"),
        "schedule": read(server, "schedule", id="schedule:default/nightly"),
        "function": read(server, "function", name="charge"),
        "result": base64.b64decode(invoked["Payload"]).decode(),
        "log": base64.b64decode(invoked["LogResult"]).decode(),
        "job": read(server, "job", id=job["id"]),
        "output": read(server, "job/output", id=job["id"], of="main"),
    }


def tapped(server: Server) -> Any:
    """An event as it is put."""
    entry = {"Source": "shop", "DetailType": "OrderPlaced", "Detail": BODY}
    with lines(server, "bus/tap?source=shop") as found:
        assert next(found) == {"events": [], "more": 0}
        assert server.client("events").put_events(Entries=[entry])["FailedEntryCount"] == 0
        return next(line for line in found if line["events"])["events"][0]["event"]


def test_what_is_redacted_is_shown_nowhere(redacting):
    found = {**shown(redacting), "event": tapped(redacting)}
    assert [name for name, one in found.items() if SECRET in json.dumps(one)] == []
    assert [name for name, one in found.items() if OPEN not in json.dumps(one)] == []


def test_with_hidden_payloads_no_data_are_shown(hiding):
    found = {**shown(hiding), "event": tapped(hiding)}
    assert [name for name, one in found.items() if OPEN in json.dumps(one) or SECRET in json.dumps(one)] == []
    for name in ("messages", "items", "selected", "object", "schedule", "function", "job", "output"):
        assert found[name]["httpStatus"] == 200, name
    given = {"bucket": "orders", "key": "a", "host": f"127.0.0.1:{hiding.port}"}
    assert post(hiding, "object/link", given)["error"] == "AccessDenied"


def test_a_pattern_does_not_find_events_by_what_is_hidden(redacting):
    pattern = quote(json.dumps({"detail": {"open": [OPEN]}}))
    with lines(redacting, f"bus/tap?pattern={pattern}") as found:
        next(found)
        for detail in (BODY, json.dumps({"open": OPEN})):
            entry = {"Source": "shop", "DetailType": "T", "Detail": detail}
            redacting.client("events").put_events(Entries=[entry])
        seen = next(line for line in found if line["events"])["events"]
    assert [one["event"]["detail"] for one in seen] == [{"open": OPEN}]


def test_a_part_of_an_attribute_is_not_selected_from_its_path(redacting):
    refused = post(redacting, "tables/select", {"statement": "SELECT login.password FROM orders"})
    assert (refused["error"], refused["message"]) == ("AccessDenied", "The settings hide values: write SELECT * here.")


@pytest.mark.parametrize("which", ["redacting", "hiding"])
def test_pages_of_items_go_on_without_their_hidden_key(which, request):
    server = request.getfixturevalue(which)
    dynamodb = server.client("dynamodb")
    dynamodb.create_table(
        TableName="logins", BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "password", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "password", "AttributeType": "S"}],
    )  # fmt: skip
    for number in range(60):
        dynamodb.put_item(TableName="logins", Item={"password": {"S": f"{SECRET}-{number}"}, "n": {"N": f"{number}"}})
    first = call(server, "dynamodb", "Scan", TableName="logins", Limit=50)
    then = call(server, "dynamodb", "Scan", TableName="logins", Limit=50, ExclusiveStartKey=first["LastEvaluatedKey"])
    assert (first["Count"], then["Count"], "LastEvaluatedKey" in then) == (50, 10, False)
    selected = post(server, "tables/select", {"statement": "SELECT * FROM logins"})
    more = post(server, "tables/select", {"statement": "SELECT * FROM logins", "cursor": selected["next"]})
    assert (len(selected["items"]), len(more["items"]), more["next"]) == (50, 10, None)
    text = json.dumps([first, then, selected, more])
    assert SECRET not in text
    assert SECRET.encode() not in base64.urlsafe_b64decode(selected["next"].encode("ascii", "ignore") + b"==")


@pytest.mark.parametrize("which", ["redacting", "hiding"])
def test_a_schedule_that_is_paused_keeps_what_is_hidden(which, request):
    server = request.getfixturevalue(which)
    before = server.client("scheduler").get_schedule(Name="nightly")
    for is_on, state in ((False, "DISABLED"), (True, "ENABLED")):
        assert post(server, "schedule/turn", {"id": "schedule:default/nightly", "isOn": is_on})["httpStatus"] == 200
        now = server.client("scheduler").get_schedule(Name="nightly")
        assert (now["State"], now["Target"], now["StartDate"]) == (state, before["Target"], before["StartDate"])
    assert before["Target"]["Input"] == BODY


@pytest.mark.parametrize("which", ["redacting", "hiding"])
def test_lines_of_logs_are_redacted(which, request):
    server = request.getfixturevalue(which)
    task = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "End": True,
            "Parameters": {"FunctionName": "charge", "Payload": {}}}  # fmt: skip
    execution = start(server, machine(server, "charging", {"Charge": task}), "charged")
    assert ended(server.client("stepfunctions"), execution)["status"] == "SUCCEEDED"

    def logged() -> Any:
        shown = read(server, "run/logs", arn=execution, event=1)
        return shown["lines"] or (which == "hiding" and "settings hide" in shown["none"])

    assert SECRET not in json.dumps(until(logged, "lines of the log"))
    found = call(server, "logs", "FilterLogEvents", logGroupName="/aws/lambda/charge")["events"]
    assert found
    assert SECRET not in json.dumps(found)
    assert any(OPEN in one["message"] for one in found) == (which == "redacting")


@pytest.mark.parametrize("which", ["redacting", "hiding"])
def test_causes_of_children_are_redacted(which, request):
    server = request.getfixturevalue(which)
    fail = {"Bad": {"Type": "Fail", "Error": "Refused", "CausePath": "States.JsonToString($)"}}
    arn = machine(server, "spread", mapped("STANDARD", fail, ToleratedFailurePercentage=100))
    execution = start(server, arn, "spread", [DOCUMENT])
    ended(server.client("stepfunctions"), execution)
    run = run_of(server, execution)
    for found in (read(server, "map-run", arn=run)["errors"], read(server, "map-run/items", arn=run)["items"]):
        assert found[0]["error"] == "Refused"
        assert SECRET not in found[0]["cause"]
        assert (OPEN in found[0]["cause"]) == (which == "redacting")
