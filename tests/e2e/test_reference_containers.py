"""Long work in containers: the function behind the queue only starts one, and a container may start more."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from tests.deadlines import until
from tests.e2e import jobs_systems as jobs
from tests.e2e.conftest import Server
from tests.e2e.systems import System, ended, system
from tests.e2e.test_reference_queue_pipeline import mapped, redrive, unmap

FILES, BROKEN = 8, {5}

CONTAINER = """
import csv, os
import boto3

table = boto3.resource("dynamodb").Table(os.environ["STATUS_TABLE"])
bucket, _, key = os.environ["FILE"].removeprefix("s3://").partition("/")
text = boto3.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read().decode()
total = sum(int(row["value"]) for row in csv.DictReader(text.splitlines()))
table.update_item(
    Key={"run_id": "run", "file": os.environ["FILE"]}, UpdateExpression="SET #s = :s, #t = :t",
    ExpressionAttributeNames={"#s": "status", "#t": "total"}, ExpressionAttributeValues={":s": "done", ":t": total},
)
"""
"""Treats one file; one that cannot be read ends it with exit code 1."""

STARTER = """
import json, os
import boto3

ecs = boto3.client("ecs")
table = boto3.resource("dynamodb").Table(os.environ["STATUS_TABLE"])

def handler(event, context):
    failures = []
    for record in event["Records"]:
        file = json.loads(record["body"])["file"]
        item = table.get_item(Key={"run_id": "run", "file": file}, ConsistentRead=True)["Item"]
        if item["status"] == "done":
            continue
        if "task" not in item:
            variables = [{"name": "FILE", "value": file}, {"name": "STATUS_TABLE", "value": os.environ["STATUS_TABLE"]}]
            task = ecs.run_task(
                taskDefinition=os.environ["TASK_DEFINITION"], startedBy=context.function_name[-36:],
                overrides={"containerOverrides": [{"name": "c0", "environment": variables}]},
            )["tasks"][0]["taskArn"]
            table.update_item(
                Key={"run_id": "run", "file": file}, UpdateExpression="SET #s = :s, task = :t",
                ConditionExpression="#s = :new", ExpressionAttributeNames={"#s": "status"},
                ExpressionAttributeValues={":s": "Running", ":t": task, ":new": "NotProcessed"},
            )
        # The message comes again until its container has written that it is done.
        failures.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failures}
"""
"""Starts a container for a new file and lets the message come again: then it looks whether the file is done."""


@pytest.fixture(scope="module")
def made(server: Server) -> System:
    made = system(server, "file-pipeline")
    made.bucket("files")
    made.table("status", "run_id", "file")
    return made


def put_file(made: System, number: int) -> str:
    value = "broken" if number in BROKEN else str(number)
    made.client("s3").put_object(Bucket=made.named("files"), Key=f"in/{number:02}.csv", Body=f"name,value\na,{value}\n")
    return f"s3://{made.named('files')}/in/{number:02}.csv"


@pytest.mark.slow
def test_a_function_only_starts_a_container_for_each_file(made):
    table = made.named("status")
    _, dead_arn = made.queue("dead")
    url, arn = made.queue("queue", VisibilityTimeout="5", RedrivePolicy=redrive(dead_arn, 7))
    ecs = made.client("ecs")
    definition = jobs.task_definition(ecs, jobs.python(CONTAINER))
    variables = {"QUEUE_URL": url, "STATUS_TABLE": table, "TASK_DEFINITION": definition}
    for name in ("enqueue-files", "count-final-files", "mark-failed", "summarise"):
        made.function(name, variables=variables, Timeout=30)
    made.function("starter", STARTER, variables=variables, Timeout=5)
    files = [put_file(made, number) for number in range(FILES)]
    mappings = [
        mapped(made, arn, "starter", BatchSize=4, FunctionResponseTypes=["ReportBatchItemFailures"]),
        mapped(made, dead_arn, "mark-failed"),
    ]
    execution = made.start(made.machine(seconds=1), {"prefix": f"s3://{made.named('files')}/in/"}, name="run")
    shown = ended(made.client("stepfunctions"), execution)
    assert shown["status"] == "SUCCEEDED", shown
    assert json.loads(shown["output"]) == {"run_id": "run", "done": FILES - 1, "error": 1, "open": 0}
    items = {item["file"]["S"]: item for item in made.items(table, "run_id", "run")}
    assert Counter(item["status"]["S"] for item in items.values()) == {"done": FILES - 1, "error": 1}
    assert items[files[3]]["total"] == {"N": "3"}
    # One container for each file, however often its message came; the exit code tells the broken one.
    tasks = [item["task"]["S"] for item in items.values()]
    codes = {arn: jobs.stopped(ecs, arn)["containers"][0]["exitCode"] for arn in tasks}
    assert codes == {item["task"]["S"]: int(name == files[5]) for name, item in items.items()}
    started = ecs.list_tasks(startedBy=made.named("starter")[-36:], desiredStatus="STOPPED")["taskArns"]
    assert sorted(started) == sorted(tasks)
    for uuid in mappings:
        unmap(made, uuid)


# ---------------------------------------------------------------------- containers that start containers

RECURSIVE = """
import json, os, time
import boto3

sqs, ecs = boto3.client("sqs"), boto3.client("ecs")
table = boto3.resource("dynamodb").Table(os.environ["STATUS_TABLE"])
url, most = os.environ["QUEUE_URL"], int(os.environ["MOST"])
me = str(os.getpid())

def depth():
    names = ["ApproximateNumberOfMessages"]
    return int(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"][names[0]])

def room():
    return most - len(ecs.list_tasks(family=os.environ["FAMILY"])["taskArns"])

while True:
    # As long as the queue is deep, one more of these takes part.
    if depth() > 3 and room() > 0:
        names = ("STATUS_TABLE", "QUEUE_URL", "MOST", "FAMILY")
        variables = [{"name": name, "value": os.environ[name]} for name in names]
        ecs.run_task(
            taskDefinition=os.environ["FAMILY"], startedBy="recursion",
            overrides={"containerOverrides": [{"name": "c0", "environment": variables}]},
        )
    messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=1).get("Messages", [])
    if not messages:
        break
    for message in messages:
        time.sleep(0.2)
        table.put_item(Item={"run_id": os.environ["FAMILY"], "file": message["Body"], "status": "done", "by": me})
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
"""
"""Treats messages one by one until there are none, and starts another of its kind while the queue is deep."""
MESSAGES, MOST = 30, 4


@pytest.mark.slow
def test_a_container_starts_more_while_the_queue_is_deep(made):
    ecs, sqs = made.client("ecs"), made.client("sqs")
    url, _ = made.queue("deep", VisibilityTimeout="300")
    for first in range(0, MESSAGES, 10):
        entries = [{"Id": str(number), "MessageBody": f"file-{number}"} for number in range(first, first + 10)]
        sqs.send_message_batch(QueueUrl=url, Entries=entries)
    definition = jobs.task_definition(ecs, jobs.python(RECURSIVE))
    family = definition.rpartition("/")[2].partition(":")[0]
    given = {"STATUS_TABLE": made.named("status"), "QUEUE_URL": url, "MOST": str(MOST), "FAMILY": family}
    variables = [{"name": name, "value": value} for name, value in given.items()]
    jobs.run(ecs, definition, overrides={"containerOverrides": [{"name": "c0", "environment": variables}]})
    most = 0

    def over() -> list[Any] | None:
        nonlocal most
        running = ecs.list_tasks(family=family)["taskArns"]
        most = max(most, len(running))
        # Nobody is left, and nobody starts another.
        return None if running else ecs.list_tasks(family=family, desiredStatus="STOPPED")["taskArns"]

    tasks = until(over, "the end of every container")
    assert most > 1
    assert {one["containers"][0]["exitCode"] for one in ecs.describe_tasks(tasks=tasks)["tasks"]} == {0}
    assert made.counts(url) == {"visible": 0, "in_flight": 0, "delayed": 0}
    done = made.items(made.named("status"), "run_id", family)
    assert {item["file"]["S"] for item in done} == {f"file-{number}" for number in range(MESSAGES)}
    assert len({item["by"]["S"] for item in done}) > 1


def test_a_container_that_is_stopped_leaves_its_message(made):
    ecs, sqs = made.client("ecs"), made.client("sqs")
    url, _ = made.queue("stopped", VisibilityTimeout="2")
    sqs.send_message(QueueUrl=url, MessageBody="file")
    script = (
        "import os, time, boto3\n"
        "sqs = boto3.client('sqs')\n"
        "message = sqs.receive_message(QueueUrl=os.environ['QUEUE_URL'])['Messages'][0]\n"
        "time.sleep(600)\n"
    )
    definition = jobs.task_definition(
        ecs, jobs.python(script), c0={"environment": [{"name": "QUEUE_URL", "value": url}], "stopTimeout": 2}
    )
    arn = jobs.run(ecs, definition)
    until(lambda: made.counts(url)["in_flight"], "a receive")
    ecs.stop_task(task=arn, reason="scaled in")
    shown = jobs.stopped(ecs, arn)
    assert (shown["stopCode"], shown["stoppedReason"]) == ("UserInitiated", "scaled in")
    [message] = until(lambda: sqs.receive_message(QueueUrl=url, WaitTimeSeconds=5).get("Messages"), "the message again")
    assert message["Body"] == "file"
