"""The console's reads of Map Runs, of what waits, of limits, queues, functions and logs, against a server."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.deadlines import until
from tests.e2e.conftest import ROLE, ended
from tests.e2e.console_calls import call, machine, mapped, read, run_of, start
from tests.e2e.systems import RUNTIME, zipped

LINE = "<b>charged \u202ecard</b>"
SOURCE = f"""
def handler(event, context):
    print({LINE!r})
    if event.get("bad"):
        raise ValueError("declined")
    return {{"request": context.aws_request_id}}
"""


# ---------------------------------------------------------------------- Map Runs

PICKS = {
    "Pick": {"Type": "Choice", "Choices": [{"Variable": "$", "NumericEquals": 3, "Next": "Bad"}], "Default": "Good"},
    "Good": {"Type": "Succeed"},
    "Bad": {"Type": "Fail", "Error": "Refused", "Cause": "three"},
}


@pytest.fixture(scope="module")
def tolerant(server):
    """A Map Run of five items that has succeeded although one has failed; and its execution."""
    arn = machine(server, "services-map", mapped("STANDARD", PICKS, ToleratedFailureCount=2))
    execution = start(server, arn, "tolerant", [1, 2, 3, 4, 5])
    assert ended(server.client("stepfunctions"), execution)["status"] == "SUCCEEDED"
    return run_of(server, execution), execution


def test_a_map_run_that_is_over_has_its_children(server, tolerant):
    arn, execution = tolerant
    found = read(server, "map-run", arn=arn)
    assert (found["mapRun"]["status"], found["parent"]["arn"], found["state"]) == ("SUCCEEDED", execution, "Each")
    assert found["errors"] == [{"error": "Refused", "count": 1, "index": 2, "cause": "three"}]
    assert max(found["concurrency"]["most"]) >= 1
    strip = read(server, "map-run/strip", arn=arn)
    assert (strip["strip"], strip["total"], strip["statuses"][3]) == ("22322", 5, "FAILED")
    assert read(server, "run/map-runs", arn=execution)["mapRuns"][0]["arn"] == arn


def test_children_that_failed_come_first_page_by_page(server, tolerant):
    arn, _ = tolerant
    seen: list[int] = []
    cursor = ""
    while True:
        page = read(server, "map-run/items", arn=arn, limit=2, cursor=cursor)
        seen += [row["index"] for row in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == [2, 0, 1, 3, 4]
    (row,) = read(server, "map-run/items", arn=arn, status="FAILED")["items"]
    assert (row["error"], row["cause"], row["status"]) == ("Refused", "three", "FAILED")
    assert read(server, "run", arn=row["arn"])["head"]["status"] == "FAILED"
    (one,) = read(server, "map-run/items", arn=arn, item=4)["items"]
    assert one["index"] == 4
    assert read(server, "map-run/items", arn=arn, item=99)["items"] == []
    for wrong in ({"status": "x"}, {"cursor": "9.0"}, {"cursor": "x"}, {"item": "-1"}):
        assert read(server, "map-run/items", arn=arn, **wrong)["httpStatus"] == 400
    assert read(server, "map-run", arn=arn + "0")["error"] == "ResourceNotFound"
    assert read(server, "map-run", arn="nonsense")["error"] == "InvalidArn"


def test_express_children_have_no_pages(server):
    execution = start(server, machine(server, "services-express", mapped("EXPRESS", PICKS)), "express", [1, 2])
    ended(server.client("stepfunctions"), execution)
    arn = run_of(server, execution)
    rows = read(server, "map-run/items", arn=arn)["items"]
    assert [(row["index"], row["arn"], row["status"]) for row in rows] == [
        (0, None, "SUCCEEDED"), (1, None, "SUCCEEDED"),
    ]  # fmt: skip


def test_a_map_run_that_runs_is_changed_and_one_that_failed_is_redriven(server):
    sfn = server.client("stepfunctions")
    states = {"Hold": {"Type": "Wait", "Seconds": 3_600, "Next": "Done"}, "Done": {"Type": "Succeed"}}
    execution = start(server, machine(server, "services-open", mapped("STANDARD", states, MaxConcurrency=1)), "open",
                      [1, 2, 3])  # fmt: skip
    arn = run_of(server, execution)

    def running() -> int:
        return int(read(server, "map-run/strip", arn=arn)["strip"].count("1"))

    until(lambda: running() == 1, "one child that runs")
    assert call(server, "states", "UpdateMapRun", mapRunArn=arn, maxConcurrency=2)["httpStatus"] == 200
    until(lambda: running() == 2, "two children that run")
    (waiting,) = read(server, "map-run/items", arn=arn, status="PENDING")["items"]
    assert (waiting["index"], waiting["arn"]) == (2, None)
    sfn.stop_execution(executionArn=execution)
    until(lambda: read(server, "map-run", arn=arn)["mapRun"]["status"] == "ABORTED", "the end of the Map Run")
    assert read(server, "map-run", arn=arn)["parent"]["redriveStatus"] == "REDRIVABLE"
    assert read(server, "map-run/strip", arn=arn)["strip"].count("5") >= 2
    assert call(server, "states", "RedriveExecution", executionArn=execution)["httpStatus"] == 200
    until(lambda: running() == 2, "the redriven children")
    sfn.stop_execution(executionArn=execution)


# ---------------------------------------------------------------------- what waits


@pytest.fixture(scope="module")
def waiting(server):
    """Executions that wait: for a token, for a worker, for a permit, and for their turn."""
    sfn = server.client("stepfunctions")
    queue = server.client("sqs").create_queue(QueueName="services-asks")["QueueUrl"]
    message = {"QueueUrl": queue, "MessageBody": {"token.$": "$$.Task.Token"}}
    ask = {
        "Ask": {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken", "Parameters": message,
                "TimeoutSeconds": 5_000, "HeartbeatSeconds": 900, "End": True}
    }  # fmt: skip
    pack = sfn.create_activity(name="services-pack")["activityArn"]
    permit = {"Name": "services-door", "Limit": 1}
    acquire = {"Type": "Task", "Resource": "arn:aws:states:::statewright:acquire", "Parameters": permit}
    hold = {"Type": "Wait", "Seconds": 3_600, "End": True}
    asks = machine(server, "services-ask", ask)
    start(server, asks, "ask-0")
    start(server, machine(server, "services-pack", {"Pack": {"Type": "Task", "Resource": pack, "End": True}}), "pack-0")
    exclusive = machine(server, "services-exclusive", {"Get": {**acquire, "Next": "Hold"}, "Hold": hold})
    for number in range(3):
        start(server, exclusive, f"exclusive-{number}")
    tags = [{"key": "statewright:maxConcurrentExecutions", "value": "1"}]
    limited = machine(server, "services-limited", {"Hold": hold}, tags=tags)
    for number in range(3):
        start(server, limited, f"limited-{number}")
    until(lambda: read(server, "waiting", kind="permits", q="services-door")["permits"] == 2, "two waiters")
    return {"limited": limited, "asks": asks, "queue": queue}


def named(found: Any) -> list[str]:
    return [row["name"] for row in found["rows"]]


def test_tasks_that_wait_for_an_answer_are_listed(server, waiting):
    def asked() -> Any:
        return [row for row in read(server, "waiting", q="services-ask")["rows"] if row["isTaken"]]

    (row,) = until(asked, "the submitted task")
    assert (row["kind"], row["state"], row["what"]) == ("token", "Ask", "sqs:sendMessage.waitForTaskToken")
    assert row["deadlineMs"] - row["sinceMs"] == 5_000_000
    assert row["heartbeatMs"] < row["deadlineMs"]
    found = read(server, "waiting", q="services-pack")
    assert [(one["kind"], one["isTaken"]) for one in found["rows"]] == [("activity", False)]
    assert (found["listed"], found["leftOut"]) == (None, 0)
    assert read(server, "waiting", q="services-ask", older=3_600_000)["rows"] == []
    server.client("stepfunctions").get_activity_task(activityArn=row["machineArn"].replace(
        ":stateMachine:services-ask", ":activity:services-pack"))  # fmt: skip
    until(lambda: read(server, "waiting", q="services-pack")["rows"][0]["isTaken"], "the worker")


def test_permits_and_starts_wait_in_order(server, waiting):
    found = read(server, "waiting", kind="permits", q="services-door")
    assert [(row["name"], row["place"], row["state"]) for row in found["rows"]] == [
        ("exclusive-1", 1, "Get"), ("exclusive-2", 2, "Get"),
    ]  # fmt: skip
    found = read(server, "waiting", kind="starts", machine=waiting["limited"])
    assert (named(found), found["starts"]) == (["limited-1", "limited-2"], 2)
    assert read(server, "waiting", kind="starts", q="nothing")["rows"] == []
    for wrong in ({"kind": "x"}, {"cursor": "x"}, {"older": "-1"}, {"kind": "permits", "cursor": "x"}):
        assert read(server, "waiting", **wrong)["httpStatus"] == 400


def test_tasks_in_children_of_a_map_run_wait_too(server):
    sfn = server.client("stepfunctions")
    pack = sfn.create_activity(name="services-inner")["activityArn"]
    states = {"Inner": {"Type": "Task", "Resource": pack, "End": True}}
    execution = start(server, machine(server, "services-inner", mapped("STANDARD", states)), "inner", [1, 2])
    until(lambda: len(read(server, "waiting", q="activity:services-inner")["rows"]) == 2, "both children")
    sfn.stop_execution(executionArn=execution)


def test_limits_are_shown_and_permits_released(server, waiting):
    found = read(server, "limits", q="SERVICES-")
    (door,) = found["semaphores"]
    assert (door["name"], door["limit"], door["held"], door["waiting"]) == ("services-door", 1, 1, 2)
    (limited,) = found["machines"]
    assert (limited["most"], limited["running"], limited["queued"]) == (1, 1, 2)
    assert read(server, "limits", q="nothing of that name")["semaphores"] == []
    shown = read(server, "semaphore", name="services-door")
    assert [one["name"] for one in shown["holders"]] == ["exclusive-0"]
    request = {"name": "services-door", "permit": shown["holders"][0]["permit"], "reason": "a test"}
    assert call(server, "statewright", "ReleasePermit", **request)["httpStatus"] == 200
    after = read(server, "semaphore", name="services-door")
    assert [one["name"] for one in after["holders"]] == ["exclusive-1"]
    assert call(server, "statewright", "ReleasePermit", **request)["error"] == "PermitDoesNotExist"
    assert read(server, "semaphore", name="no such")["limit"] is None
    tags = [{"key": "statewright:maxConcurrentExecutions", "value": "2"}]
    call(server, "states", "TagResource", resourceArn=waiting["limited"], tags=tags)
    until(lambda: read(server, "limits", q="services-l")["machines"][0]["running"] == 2, "the next execution")
    tags = [{"key": "statewright:maxConcurrentExecutions", "value": "many"}]
    assert call(server, "states", "TagResource", resourceArn=waiting["limited"], tags=tags)["httpStatus"] == 400


# ---------------------------------------------------------------------- queues


def test_queues_are_listed_with_their_dead_letters(server):
    made = call(server, "sqs", "CreateQueue", QueueName="services-dead")
    arn = "arn:aws:sqs:us-east-1:000000000000:services-dead"
    redrive = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 2})
    call(server, "sqs", "CreateQueue", QueueName="services-orders", Attributes={"RedrivePolicy": redrive})
    for body in ('{"a": 1}', "text"):
        sent = call(server, "sqs", "SendMessage", QueueUrl="services-dead", MessageBody=body, MessageAttributes={
            "kind": {"DataType": "String", "StringValue": "</script>"}})  # fmt: skip
        assert sent["httpStatus"] == 200, sent
    orders = next(one for one in read(server, "queues", q="SERVICES-O")["queues"] if one["name"] == "services-orders")
    assert orders["deadLetters"] == {"name": "services-dead", "visible": 2, "receives": 2}
    assert (orders["visible"], orders["oldestMs"], made["httpStatus"]) == (0, None, 200)
    dead = read(server, "queue", name="services-dead")
    assert (dead["visible"], dead["sourceNames"], dead["attributes"]["VisibilityTimeout"]) == (
        2, ["services-orders"], "30",
    )  # fmt: skip
    peeked = read(server, "queue/peek", name="services-dead", limit=1)
    assert ([one["body"] for one in peeked["messages"]], peeked["more"]) == (['{"a": 1}'], True)
    (message,) = peeked["messages"]
    assert message["attributes"] == [{"name": "kind", "type": "String", "value": "</script>"}]
    assert message["receives"] == 0
    assert read(server, "queue", name="services-dead")["visible"] == 2
    assert read(server, "queue/trail", message=message["id"])["entries"] == []
    assert read(server, "queue", name="services-none")["error"] == "QueueDoesNotExist"
    moved = call(server, "sqs", "StartMessageMoveTask", SourceArn=arn, DestinationArn=arn.replace("dead", "orders"))
    assert moved["httpStatus"] == 200
    until(lambda: read(server, "queue", name="services-orders")["visible"] == 2, "the moved messages")
    assert call(server, "sqs", "ListMessageMoveTasks", SourceArn=arn)["Results"][0]["Status"] in (
        "RUNNING", "COMPLETED",
    )  # fmt: skip
    assert call(server, "sqs", "PurgeQueue", QueueUrl="services-orders")["httpStatus"] == 200
    assert call(server, "sqs", "DeleteQueue", QueueUrl="services-orders")["httpStatus"] == 200
    assert call(server, "sqs", "ReceiveMessage", QueueUrl="services-dead")["httpStatus"] == 403


# ---------------------------------------------------------------------- functions


@pytest.fixture(scope="module")
def charge(server):
    server.client("lambda").create_function(
        FunctionName="services-charge", Runtime=RUNTIME, Role=ROLE, Handler="app.handler",
        Code={"ZipFile": zipped(app=SOURCE)},
        Environment={"Variables": {"STAGE": "dev", "STRIPE_SECRET": "sk_live_7", "API_TOKEN": "t"}},
    )  # fmt: skip
    return "services-charge"


def test_a_function_is_invoked_and_shown_without_its_secrets(server, charge):
    answer = call(server, "lambda", "Invoke", FunctionName=charge, Payload="e30=", LogType="Tail")
    assert (answer["StatusCode"], list(json.loads(base64.b64decode(answer["Payload"])))) == (200, ["request"])
    assert LINE in base64.b64decode(answer["LogResult"]).decode()

    def counted() -> Any:
        return [one for one in read(server, "functions", q="SERVICES-ch")["functions"] if one["name"] == charge]

    (row,) = counted()
    assert (row["runtime"], row["reserved"], row["running"]) == (RUNTIME, None, 0)
    found = read(server, "function", name=charge)
    assert found["environment"] == [
        {"name": "STAGE", "value": "dev"}, {"name": "STRIPE_SECRET", "value": None},
        {"name": "API_TOKEN", "value": None},
    ]  # fmt: skip
    assert "sk_live_7" not in json.dumps(found)
    assert call(server, "lambda", "PutFunctionConcurrency", FunctionName=charge, ReservedConcurrentExecutions=3)[
        "httpStatus"
    ] == 200  # fmt: skip
    assert counted()[0]["reserved"] == 3
    call(server, "lambda", "DeleteFunctionConcurrency", FunctionName=charge)
    assert read(server, "function", name="services-none")["error"] == "ResourceNotFoundException"
    assert call(server, "lambda", "GetFunction", FunctionName=charge)["httpStatus"] == 403


def test_a_state_has_the_log_of_its_invocation(server, charge):
    parameters = {"FunctionName": charge, "Payload.$": "$"}
    charges = {
        "Charge": {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Parameters": parameters,
                   "Next": "Wait"},
        "Wait": {"Type": "Pass", "End": True},
    }  # fmt: skip
    arn = start(server, machine(server, "services-charges", charges), "charged")
    ended(server.client("stepfunctions"), arn)
    run = read(server, "run", arn=arn)
    begin, end = run["visits"]["begin"][0], run["visits"]["end"][0]

    def logged() -> Any:
        found = read(server, "run/logs", arn=arn, event=begin, end=begin + end)
        return found if any(line["text"].startswith("REPORT") for line in found["lines"]) else None

    found = until(logged, "the lines of the invocation")
    assert (found["function"], found["by"], found["machine"]) == (charge, "requestId", None)
    texts = [line["text"] for line in found["lines"]]
    assert texts[1] == LINE
    assert len([text for text in texts if text.startswith("START")]) == 1
    other = read(server, "run/logs", arn=arn, event=begin + end + 1, end=0)
    assert (other["lines"], other["function"]) == ([], None)
    assert "no Lambda function" in other["none"]
    assert read(server, "run/logs", arn=arn, event=10_000)["error"] == "NotFound"


def test_operations_that_are_not_allowed_are_refused(server):
    for service, operation in (("lambda", "DeleteFunction"), ("sqs", "ReceiveMessage"), ("s3", "DeleteBucket")):
        assert call(server, service, operation)["error"] == "AccessDenied"


def test_a_state_has_its_events_of_the_log_group_of_the_machine(server):
    group = "/services/machine"
    server.client("logs").create_log_group(logGroupName=group)
    arn = f"arn:aws:logs:us-east-1:000000000000:log-group:{group}:*"
    logging = {"level": "ALL", "includeExecutionData": True,
               "destinations": [{"cloudWatchLogsLogGroup": {"logGroupArn": arn}}]}  # fmt: skip
    states = {"One": {"Type": "Pass", "Next": "Two"}, "Two": {"Type": "Pass", "End": True}}
    made = machine(server, "services-logged", states, loggingConfiguration=logging)
    execution = start(server, made, "logged")
    ended(server.client("stepfunctions"), execution)
    run = read(server, "run", arn=execution)
    begin, end = run["visits"]["begin"][0], run["visits"]["end"][0]

    def logged() -> Any:
        found = read(server, "run/logs", arn=execution, event=begin, end=begin + end)["machine"]
        return found if len(found["lines"]) == 2 else None

    found = until(logged, "both events of the visit")
    assert (found["group"], found["level"], found["none"]) == (group, "ALL", None)
    assert [json.loads(line["text"])["type"] for line in found["lines"]] == ["PassStateEntered", "PassStateExited"]
