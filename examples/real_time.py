"""The example systems on a real server: functions, buckets, queues, tables and machines, made with boto3.

Used by `demo.py`. The functions are the files beside each definition, as they would be given to the cloud; waits of a
minute or half of one are a second here.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

from node_sdk import Sdk
from order_api import order_api
from results import Result, Started, unless
from serving import Running, server

HERE = Path(__file__).parent
ROLE = "arn:aws:iam::000000000000:role/demo"
RUNTIME = "python{}.{}".format(*sys.version_info)
PATIENCE_SECONDS = 300
"""How long all may stand still, and a function may take: far more than on a slow and busy machine."""
LOOK_SECONDS = 0.5
NODE_TITLE = "Semaphore, its function in Node.js with the SDK of the runtime"

ITEMS = 1_000
"""How many items the exported table has."""
FILES, BROKEN_EVERY = 2_000, 250
"""How many files the pipeline treats; of so many, one cannot be read."""
ROUNDS, USERS = 3, 3
"""How often the nested loop alerts how many."""
JOB_SECONDS = 14
"""How long the job of the job poller takes."""
AT_ONCE = 8
"""How many batches of files are treated at once."""
RECEIVES = 2
"""How often a message is tried before it is dead."""
RETRY_SECONDS = 5
"""After how long a file that could not be treated is tried again."""
TROUBLE = '?"Task timed out" ?"[ERROR]" ?"Invoke Error"'
"""Pattern of the lines in which functions log their failures, for Python and Node.js."""
MOST_TROUBLES = 10
"""How many lines of the functions' logs are shown when something went wrong."""


def run(progress: Callable[[str], None], sdk: Sdk) -> list[Result]:
    """Deploy the systems, run them at the same time, and tell how far they are until all are over."""
    settings = "" if sdk.folder is None else f"[functions]\nnode_modules = {json.dumps(str(sdk.folder))}\n"
    with tempfile.TemporaryDirectory() as place, server(f"{place}/data", settings) as running:
        progress(f"server on {running.endpoint}; putting {FILES:,} files into a bucket, making functions and queues")
        makers = (order_api, file_pipeline, semaphore, nested_loop, job_poller, export_poller)
        systems = [make(running) for make in makers]
        systems.append(left_out(NODE_TITLE, sdk.lacking) if sdk.folder is None else node_semaphore(running))
        began = moved = time.monotonic()
        before: list[str] = []

        def tell() -> None:
            nonlocal before, moved
            seen = [system.look() for system in systems]
            if seen != before:
                before, moved = seen, time.monotonic()
            progress(f"{time.monotonic() - began:4.0f} s  " + " · ".join(filter(None, seen)))

        while not all(system.over() for system in systems):
            tell()
            if time.monotonic() - moved > PATIENCE_SECONDS:
                progress(f"nothing moved for {PATIENCE_SECONDS} s; the server says:\n{running.log.read_text()[-2000:]}")
                break
            time.sleep(LOOK_SECONDS)
        tell()
        results = [system.result() for system in systems]
        for bad in [result for result in results if not result.good][:1]:
            bad.lines.extend(troubles(running))
        return results


# ---------------------------------------------------------------------- deploying


def function(running: Running, folder: str, name: str, **variables: str) -> None:
    """Create a function of `functions/NAME.py`."""
    create(running, name, RUNTIME, HERE / folder / "functions" / f"{name}.py", variables)


def create(running: Running, name: str, runtime: str, file: Path, variables: dict[str, str]) -> None:
    """Create a function of one file."""
    package = io.BytesIO()
    with zipfile.ZipFile(package, "w") as archive:
        archive.write(file, file.name)
    running.client("lambda").create_function(
        FunctionName=name, Runtime=runtime, Role=ROLE, Handler=f"{file.stem}.handler", Timeout=PATIENCE_SECONDS,
        MemorySize=256, Code={"ZipFile": package.getvalue()}, Environment={"Variables": variables},
    )  # fmt: skip


def machine(running: Running, name: str, wait_seconds: int, ending: str = "") -> str:
    """Create the machine of a folder, with its waits shortened; returns its ARN.

    With an `ending`, the machine and its functions have it after their names.
    """
    text = (HERE / name / f"{name}.asl.json").read_text()
    definition = json.loads(re.sub(r"(:function:[\w-]+)", rf"\1{ending}", text))
    for state in definition["States"].values():
        if state["Type"] == "Wait":
            state["Seconds"] = wait_seconds
    made = running.client("stepfunctions").create_state_machine(
        name=name + ending, definition=json.dumps(definition), roleArn=ROLE
    )
    return str(made["stateMachineArn"])


def start(running: Running, arn: str, name: str, given: Any) -> str:
    """Start an execution; returns its ARN."""
    started = running.client("stepfunctions").start_execution(stateMachineArn=arn, name=name, input=json.dumps(given))
    return str(started["executionArn"])


def shown(running: Running, execution: str) -> dict[str, Any]:
    """An execution as it is now."""
    found: dict[str, Any] = running.client("stepfunctions").describe_execution(executionArn=execution)
    return found


def troubles(running: Running) -> list[str]:
    """What functions said of errors and timeouts, from their logs; for when something went wrong."""
    logs = running.client("logs")
    groups = [group["logGroupName"] for group in logs.describe_log_groups()["logGroups"]]
    found = [
        f"{group}: {' '.join(event['message'].split())[:500]}"
        for group in groups
        for event in logs.filter_log_events(logGroupName=group, filterPattern=TROUBLE)["events"]
    ]
    return [
        *found[:MOST_TROUBLES],
        *([f"... and {len(found) - MOST_TROUBLES} more"] if len(found) > MOST_TROUBLES else []),
    ]


def seconds_of(execution: dict[str, Any]) -> float:
    """How long an execution has taken."""
    return float((execution["stopDate"] - execution["startDate"]).total_seconds()) if "stopDate" in execution else 0.0


def count(running: Running, bucket: str, prefix: str) -> int:
    """How many objects there are below a prefix."""
    pages = running.client("s3").get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    return sum(page["KeyCount"] for page in pages)


# ---------------------------------------------------------------------- the systems


def job_poller(running: Running) -> Started:
    """A job of fourteen seconds, started by one function and looked after by another; nothing is shortened."""
    running.client("s3").create_bucket(Bucket="jobs")
    for name in ("run-job", "job-runner", "get-job-status"):
        function(running, "job-poller", name)
    execution = start(running, machine(running, "job-poller", 1), "nightly", {"seconds": JOB_SECONDS})
    sfn = running.client("stepfunctions")

    def over() -> bool:
        return bool(shown(running, execution)["status"] != "RUNNING")

    def turns() -> int:
        pages = sfn.get_paginator("get_execution_history").paginate(executionArn=execution)
        return sum(
            event.get("stateEnteredEventDetails", {}).get("name") == "Get Job Status"
            for page in pages
            for event in page["events"]
        )

    def result() -> Result:
        found = shown(running, execution)
        job = hashlib.md5(execution.encode()).hexdigest()
        objects = count(running, "jobs", f"{job}/")
        good = found["status"] == "SUCCEEDED" and objects == 2 and turns() > 1
        line = f"{found['status']} after {turns()} turns; {objects} objects in the bucket"
        title = "Job poller: start, wait, check, until the job has ended"
        return Result(title, good, seconds_of(found), [line, *unless(good, found)])

    return Started(lambda: "job over" if over() else f"job turn {turns()}", result, over)


def left_out(title: str, why: str) -> Started:
    """A system that does not run here."""
    return Started(lambda: "", lambda: Result(title, True, left_out=why), lambda: True)


def semaphore(running: Running) -> Started:
    """Three executions at once for a section that one may be in."""
    arn = machine(running, "semaphore", 1)
    for name in ("only-one-shall-run", "critical-work"):
        function(running, "semaphore", name, STATE_MACHINE_ARN=arn)
    return _semaphore(running, arn, "Semaphore: three at the door, one inside", "door")


def node_semaphore(running: Running) -> Started:
    """The same with its function in Node.js, whose SDK comes from the runtime."""
    arn = machine(running, "semaphore", 1, "-node")
    folder, variables = HERE / "semaphore", {"STATE_MACHINE_ARN": arn}
    create(running, "only-one-shall-run-node", "nodejs20.x", folder / "node" / "index.js", variables)
    create(running, "critical-work-node", RUNTIME, folder / "functions" / "critical-work.py", variables)
    return _semaphore(running, arn, NODE_TITLE, "Node.js door")


def _semaphore(running: Running, arn: str, title: str, noun: str) -> Started:
    executions = [start(running, arn, name, {"name": name, "seconds": 1.5}) for name in ("first", "second", "third")]

    def looked() -> list[dict[str, Any]]:
        return [shown(running, execution) for execution in executions]

    def ended() -> list[dict[str, Any]]:
        return [execution for execution in looked() if execution["status"] != "RUNNING"]

    def result() -> Result:
        found = looked()
        stays = [json.loads(one["output"])["work"] for one in found if one["status"] == "SUCCEEDED"]
        alone = all(one["ended"] <= following["began"] for one, following in pairwise(stays))
        seconds = max([seconds_of(one) for one in found], default=0.0)
        line = f"{len(stays)} of {len(executions)} went through, " + (
            "one after the other in the order of their starts" if alone else "not one after the other"
        )
        good = alone and len(stays) == 3
        return Result(title, good, seconds, [line, *unless(good, *found)])

    return Started(lambda: f"{noun} {len(ended())} of 3", result, lambda: len(ended()) == 3)


def nested_loop(running: Running) -> Started:
    """Alerts for every user in every round; how many there are stands in a table."""
    tables = running.client("dynamodb")
    tables.create_table(
        TableName="alert-settings", BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )  # fmt: skip
    given = {"id": {"S": "alerts"}, "rounds": {"N": str(ROUNDS)}, "users": {"N": str(USERS)}}
    tables.put_item(TableName="alert-settings", Item=given)
    for name in ("read-counts", "start-round", "notify"):
        function(running, "nested-loop", name)
    execution = start(running, machine(running, "nested-loop", 1), "alerts", {"id": "alerts"})

    def alerts() -> int:
        item = tables.get_item(TableName="alert-settings", Key={"id": {"S": "alerts"}}, ConsistentRead=True)["Item"]
        return int(item.get("alerts", {"N": "0"})["N"])

    def over() -> bool:
        return bool(shown(running, execution)["status"] != "RUNNING")

    def result() -> Result:
        found = shown(running, execution)
        good = found["status"] == "SUCCEEDED" and alerts() == ROUNDS * USERS
        line = f"{alerts()} alerts for {USERS} users in {ROUNDS} rounds, counted in the table"
        title = "Nested loop: users and rounds out of a table"
        return Result(title, good, seconds_of(found), [line, *unless(good, found)])

    return Started(lambda: f"alerts {alerts()} of {ROUNDS * USERS}", result, over)


def export_poller(running: Running) -> Started:
    """A table is exported into a bucket; the machine asks the API how far that is, each answer its next question."""
    tables = running.client("dynamodb")
    running.client("s3").create_bucket(Bucket="exports")
    made = tables.create_table(
        TableName="orders", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )["TableDescription"]  # fmt: skip
    tables.get_waiter("table_exists").wait(TableName="orders", WaiterConfig={"Delay": 1})
    tables.update_continuous_backups(
        TableName="orders", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    for first in range(0, ITEMS, 25):
        batch = [{"PutRequest": {"Item": {"id": {"S": f"order-{first + number}"}}}} for number in range(25)]
        tables.batch_write_item(RequestItems={"orders": batch})
    export = tables.export_table_to_point_in_time(TableArn=made["TableArn"], S3Bucket="exports")["ExportDescription"]
    given = {"ExportDescription": {"ExportArn": export["ExportArn"]}}
    execution = start(running, machine(running, "export-poller", 1), "export", given)

    def over() -> bool:
        return bool(shown(running, execution)["status"] != "RUNNING")

    def result() -> Result:
        found = shown(running, execution)
        answer = json.loads(found.get("output", "{}")).get("ExportDescription", {})
        files = count(running, "exports", "AWSDynamoDB/")
        good = (found["status"], answer.get("ExportStatus"), answer.get("ItemCount")) == (
            "SUCCEEDED",
            "COMPLETED",
            ITEMS,
        )
        line = f"{answer.get('ExportStatus')}: {answer.get('ItemCount')} items in {files} objects of the bucket"
        title = "Export poller: a table exported into a bucket, watched through the API"
        return Result(title, good, seconds_of(found), [line, *unless(good, found)])

    return Started(lambda: "", result, over)


def file_pipeline(running: Running) -> Started:
    """Files to messages, messages to a worker function, dead letters to another, and a machine that waits for all."""
    s3, sqs, tables = running.client("s3"), running.client("sqs"), running.client("dynamodb")
    s3.create_bucket(Bucket="measurements")
    keys = {"run_id": "HASH", "file": "RANGE"}
    tables.create_table(
        TableName="file-status", BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in keys.items()],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in keys],
    )  # fmt: skip

    def put(number: int) -> None:
        value = "broken" if number % BROKEN_EVERY == 7 else str(number)
        s3.put_object(Bucket="measurements", Key=f"2026/{number:05}.csv", Body=f"name,value\na,{value}\nb,1\n")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, range(FILES)))
    patient = {"VisibilityTimeout": str(PATIENCE_SECONDS)}
    dead = sqs.create_queue(QueueName="dead-files", Attributes=patient)["QueueUrl"]
    policy = {"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead-files", "maxReceiveCount": RECEIVES}
    attributes = {**patient, "RedrivePolicy": json.dumps(policy)}
    queue = sqs.create_queue(QueueName="files", Attributes=attributes)["QueueUrl"]
    for name in ("enqueue-files", "treat-file", "count-final-files", "summarise", "mark-failed"):
        function(running, "file-pipeline", name, QUEUE_URL=queue, RETRY_SECONDS=str(RETRY_SECONDS))
    for source, name in (("files", "treat-file"), ("dead-files", "mark-failed")):
        running.client("lambda").create_event_source_mapping(
            EventSourceArn=f"arn:aws:sqs:us-east-1:000000000000:{source}", FunctionName=name, BatchSize=10,
            FunctionResponseTypes=["ReportBatchItemFailures"], ScalingConfig={"MaximumConcurrency": AT_ONCE},
        )  # fmt: skip
    execution = start(running, machine(running, "file-pipeline", 1), "run", {"prefix": "s3://measurements/2026/"})
    began, treated = time.monotonic(), []

    def waiting(url: str) -> int:
        names = [f"ApproximateNumberOfMessages{which}" for which in ("", "NotVisible", "Delayed")]
        found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
        return sum(map(int, found.values()))

    def files_that_are(status: str) -> int:
        pages = tables.get_paginator("query").paginate(
            TableName="file-status", Select="COUNT", KeyConditionExpression="run_id = :run",
            FilterExpression="#status = :status", ExpressionAttributeNames={"#status": "status"},
            ExpressionAttributeValues={":run": {"S": "run"}, ":status": {"S": status}},
        )  # fmt: skip
        return sum(page["Count"] for page in pages)

    def over() -> bool:
        return bool(shown(running, execution)["status"] != "RUNNING")

    def look() -> str:
        done, error = files_that_are("done"), files_that_are("error")
        if done + error and (not treated or treated[-1][1] < done):
            treated.append((time.monotonic() - began, done))
        rate = done / treated[-1][0] if treated else 0.0
        pace = f" · {rate:.0f}/s, {(FILES - done) / rate:.0f} s to go" if rate and waiting(queue) > 10 else ""
        return f"files {done:,} of {FILES:,} done · {error} dead · {waiting(queue):,} queued{pace}"

    def result() -> Result:
        look()
        found = shown(running, execution)
        broken = len(range(7, FILES, BROKEN_EVERY))
        output = json.loads(found.get("output", "{}"))
        left = waiting(queue) + waiting(dead)
        expected = {"run_id": "run", "done": FILES - broken, "error": broken, "open": 0}
        good = found["status"] == "SUCCEEDED" and output == expected and left == 0
        took, done = treated[-1] if treated else (0.0, 0)
        lines = [
            f"{output.get('done', 0):,} done, {output.get('error', 0)} tried {RECEIVES} times and dead, "
            f"{output.get('open', FILES)} open; {left} messages left in the queues",
            f"{done:,} files in {took:.1f} s ({done / max(took, 0.1):.0f} files a second); "
            f"each broken one is tried again after {RETRY_SECONDS} s",
        ]
        title = (
            f"File pipeline: {FILES:,} files, a queue, a function behind it, dead letters, and a table of who is done"
        )
        return Result(title, good, seconds_of(found), [*lines, *unless(good, found)])

    return Started(look, result, over)
