"""A server with work under way is stopped, moved to PostgreSQL and back, and continues after each move."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.deadlines import completed, until
from tests.e2e.conftest import ROLE, Server, ended
from tests.e2e.systems import FUNCTION, RUNTIME, zipped
from tests.postgres_server import server_or_skip

pytestmark = pytest.mark.slow

LARGE = bytes(range(256)) * 400
TOKEN = {
    "Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
    "Parameters": {"QueueUrl": "URL", "MessageBody.$": "$$.Task.Token"}, "End": True,
}  # fmt: skip
MACHINES: dict[str, Any] = {
    "by-token": {"StartAt": "Ask", "States": {"Ask": TOKEN}},
    "by-activity": {"StartAt": "Do", "States": {"Do": {"Type": "Task", "Resource": "ACTIVITY", "End": True}}},
    "by-timer": {
        "StartAt": "Wait",
        "States": {"Wait": {"Type": "Wait", "Seconds": 5, "Next": "Call"}, "Call": {
            "Type": "Task", "Resource": f"{FUNCTION}greet", "End": True,
        }},
    },
    "map-run": {
        "StartAt": "Each",
        "States": {"Each": {
            "Type": "Map", "ItemsPath": "$.items", "MaxConcurrency": 2, "End": True,
            "ItemProcessor": {
                "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
                "StartAt": "Ask", "States": {"Ask": TOKEN},
            },
        }},
    },
    "at-once": {"StartAt": "Pass", "States": {"Pass": {"Type": "Pass", "Result": {"text": "é" * 3_000}, "End": True}}},
}  # fmt: skip


def statewright(*arguments: str, **settings: Any) -> Any:
    return completed([sys.executable, "-m", "statewright.cli.main", *arguments], **settings)


@dataclass
class Work:
    """Executions, messages, items and objects, and what the server says about them."""

    server: Server
    urls: dict[str, str] = field(default_factory=dict)
    arns: dict[str, str] = field(default_factory=dict)
    machines: dict[str, str] = field(default_factory=dict)
    handles: dict[str, str] = field(default_factory=dict)
    versions: list[str] = field(default_factory=list)
    upload: dict[str, str] = field(default_factory=dict)

    def client(self, service: str) -> Any:
        return self.server.client(service)

    def make(self) -> None:
        self._make_messages()
        self._make_data()
        self.client("lambda").create_function(
            FunctionName="greet", Runtime=RUNTIME, Role=ROLE, Handler="greet.handler",
            Code={"ZipFile": zipped(greet="def handler(event, context):\n    return {'hello': event['name']}\n")},
        )  # fmt: skip
        sfn = self.client("stepfunctions")
        activity = sfn.create_activity(name="hand")["activityArn"]
        self.arns["activity"] = activity
        for name, definition in MACHINES.items():
            text = (
                json.dumps(definition).replace("URL", self.urls["tokens"]).replace('"ACTIVITY"', json.dumps(activity))
            )
            self.machines[name] = sfn.create_state_machine(name=name, definition=text, roleArn=ROLE)["stateMachineArn"]
        for name in MACHINES:
            self.start(name, "first")
        ended(sfn, self.arns["at-once first"])

    def start(self, machine: str, name: str) -> None:
        given = json.dumps({"name": name, "items": [1, 2, 3]})
        self.arns[f"{machine} {name}"] = self.client("stepfunctions").start_execution(
            stateMachineArn=self.machines[machine], name=name, input=given
        )["executionArn"]

    def _make_messages(self) -> None:
        sqs = self.client("sqs")
        for name in ("tokens", "plain", "order.fifo"):
            attributes = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
            self.urls[name] = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        for body in ("one", "two", "three"):
            sqs.send_message(QueueUrl=self.urls["plain"], MessageBody=body)
            sqs.send_message(
                QueueUrl=self.urls["order.fifo"], MessageBody=body, MessageGroupId="g", MessageDeduplicationId=body
            )
        sqs.send_message(QueueUrl=self.urls["plain"], MessageBody="later", DelaySeconds=900)
        for name in ("plain", "order.fifo"):
            found = sqs.receive_message(QueueUrl=self.urls[name], VisibilityTimeout=3_600)["Messages"]
            self.handles[name] = found[0]["ReceiptHandle"]

    def _make_data(self) -> None:
        dynamodb = self.client("dynamodb")
        dynamodb.create_table(
            TableName="kept", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("id", "kind")],
            GlobalSecondaryIndexes=[{
                "IndexName": "by-kind", "Projection": {"ProjectionType": "ALL"},
                "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
            }],
        )  # fmt: skip
        for number in range(20):
            item = {"id": {"S": f"{number}\0é"}, "kind": {"S": "odd" if number % 2 else "even"}, "n": {"N": "1.50"}}
            dynamodb.put_item(TableName="kept", Item=item)
        s3 = self.client("s3")
        s3.create_bucket(Bucket="kept")
        s3.put_bucket_versioning(Bucket="kept", VersioningConfiguration={"Status": "Enabled"})
        for body in (LARGE, b"small"):
            self.versions.append(s3.put_object(Bucket="kept", Key="a/é", Body=body)["VersionId"])
        self.upload = s3.create_multipart_upload(Bucket="kept", Key="parts")
        answer = s3.upload_part(
            Bucket="kept", Key="parts", UploadId=self.upload["UploadId"], PartNumber=1, Body=LARGE * 60
        )
        self.upload = {"UploadId": self.upload["UploadId"], "ETag": answer["ETag"]}
        self.client("ssm").put_parameter(Name="/p", Value="secret", Type="SecureString")
        self.server.client("sqs", region="eu-west-1").create_queue(QueueName="elsewhere")

    def seen(self) -> dict[str, Any]:
        """What does not change while nothing happens."""
        sfn, s3, sqs = self.client("stepfunctions"), self.client("s3"), self.client("sqs")
        runs = sfn.list_map_runs(executionArn=self.arns["map-run first"])["mapRuns"]
        counts = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "CreatedTimestamp"]
        found: dict[str, Any] = {
            "open": sorted(self._names("RUNNING")), "done": sorted(self._names("SUCCEEDED")),
            "runs": [plain(sfn.describe_map_run(mapRunArn=run["mapRunArn"])) for run in runs],
            "queues": {name: sqs.get_queue_attributes(QueueUrl=url, AttributeNames=counts)["Attributes"]
                       for name, url in self.urls.items()},
            "items": sorted(map(str, self.client("dynamodb").scan(TableName="kept")["Items"])),
            "odd": self._count_odd(),
            "objects": [s3.get_object(Bucket="kept", Key="a/é", VersionId=one)["Body"].read() for one in self.versions],
            "uploads": [one["UploadId"] for one in s3.list_multipart_uploads(Bucket="kept")["Uploads"]],
            "code": self.client("lambda").get_function(FunctionName="greet")["Configuration"]["CodeSha256"],
            "parameter": self.client("ssm").get_parameter(Name="/p", WithDecryption=True)["Parameter"]["Value"],
            "elsewhere": self.server.client("sqs", region="eu-west-1").list_queues()["QueueUrls"][0].rpartition("/")[2],
        }  # fmt: skip
        return found

    def histories(self) -> dict[str, list[Any]]:
        sfn = self.client("stepfunctions")
        return {
            name: [plain(event) for event in sfn.get_execution_history(executionArn=arn)["events"]]
            for name, arn in self.arns.items() if name != "activity"
        }  # fmt: skip

    def _names(self, status: str) -> Iterator[str]:
        for name, arn in self.machines.items():
            for one in self.client("stepfunctions").list_executions(stateMachineArn=arn, statusFilter=status)[
                "executions"
            ]:
                yield f"{name} {one['name']}"

    def _count_odd(self) -> int:
        answer = self.client("dynamodb").query(
            TableName="kept", IndexName="by-kind", KeyConditionExpression="kind = :k",
            ExpressionAttributeValues={":k": {"S": "odd"}},
        )  # fmt: skip
        return int(answer["Count"])

    def finish(self, name: str) -> None:
        """Give all executions of a name what they wait for, and see them end."""
        sfn, sqs = self.client("stepfunctions"), self.client("sqs")
        task = sfn.get_activity_task(activityArn=self.arns["activity"])
        sfn.send_task_success(taskToken=task["taskToken"], output='"done"')
        answered = 0
        while answered < 4:
            for message in sqs.receive_message(QueueUrl=self.urls["tokens"], WaitTimeSeconds=1).get("Messages", ()):
                sfn.send_task_success(taskToken=message["Body"], output='"yes"')
                sqs.delete_message(QueueUrl=self.urls["tokens"], ReceiptHandle=message["ReceiptHandle"])
                answered += 1
        for machine in MACHINES:
            found = ended(sfn, self.arns[f"{machine} {name}"])
            assert found["status"] == "SUCCEEDED", found
        assert json.loads(sfn.describe_execution(executionArn=self.arns[f"by-timer {name}"])["output"]) == {
            "hello": name
        }

    def take_messages(self) -> None:
        """Receipt handles from before are good, and the messages behind come in order."""
        sqs = self.client("sqs")
        for name, handle in self.handles.items():
            sqs.delete_message(QueueUrl=self.urls[name], ReceiptHandle=handle)
        found = sqs.receive_message(QueueUrl=self.urls["order.fifo"], MaxNumberOfMessages=1)["Messages"]
        assert [message["Body"] for message in found] == ["two"]
        assert len(until(lambda: sqs.receive_message(QueueUrl=self.urls["plain"]).get("Messages"))) == 1
        again = {"QueueUrl": self.urls["order.fifo"], "MessageGroupId": "g", "MessageDeduplicationId": "three"}
        sent = sqs.send_message(**again, MessageBody="dropped as a repetition")
        assert sent["MessageId"]

    def complete_upload(self) -> None:
        s3 = self.client("s3")
        parts = {"Parts": [{"PartNumber": 1, "ETag": self.upload["ETag"]}]}
        s3.complete_multipart_upload(
            Bucket="kept", Key="parts", UploadId=self.upload["UploadId"], MultipartUpload=parts
        )
        assert s3.get_object(Bucket="kept", Key="parts")["Body"].read() == LARGE * 60


def plain(value: Any) -> Any:
    """An answer as JSON, without what is of the call."""
    found = {name: member for name, member in value.items() if name != "ResponseMetadata"}
    return json.loads(json.dumps(found, default=str))


def moved(source: str, target: str, data: Path) -> dict[str, Any]:
    arguments = ("move", "--from", source, "--to", target, "--data", str(data), "-o", "json")
    dry = statewright(*arguments, "--dry-run")
    assert dry.returncode == 0, dry.stderr
    done = statewright(*arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert json.loads(dry.stdout) == {**found, "dryRun": True}
    assert found["rows"] == sum(found["tables"].values()) > 100
    return found


def _checked_start(work: Work, before: dict[str, Any], histories: dict[str, Any], *place: Any) -> None:
    """Start a server and see everything as it was."""
    work.server = Server(*place)
    now = work.histories()
    for name, events in histories.items():
        assert now[name][: len(events)] == events, name
    # The timer may have fired by now.
    seen = work.seen()
    for member in ("open", "done"):
        before[member] = [name for name in before[member] if not name.startswith("by-timer")]
        seen[member] = [name for name in seen[member] if not name.startswith(("by-timer", "at-once load-"))]
    assert seen == before


def test_a_server_moves_to_postgresql_and_back_and_continues(tmp_path):
    address = server_or_skip().new_database()
    work = Work(Server(tmp_path / "one"))
    work.make()
    waiting: Callable[[], bool] = lambda: len(list(work._names("RUNNING"))) == 4  # noqa: E731
    until(waiting)
    until(lambda: work.client("sqs").get_queue_attributes(
        QueueUrl=work.urls["tokens"], AttributeNames=["All"])["Attributes"]["ApproximateNumberOfMessages"] == "3",
    )  # fmt: skip
    before, histories = work.seen(), work.histories()
    refused = statewright(
        "move", "--from", f"sqlite:{tmp_path / 'one'}", "--to", address, "--data", str(tmp_path / "x")
    )
    assert refused.returncode == 1
    assert f"in use by pid {work.server.process.pid}" in refused.stderr
    assert work.server.stop() == 0

    found = moved(f"sqlite:{tmp_path / 'one'}", address, tmp_path / "two")
    assert found["files"] >= 3
    _checked_start(work, before, histories, tmp_path / "two", "--store", address)
    work.finish("first")
    for name in MACHINES:
        work.start(name, "second")
    ended(work.client("stepfunctions"), work.arns["at-once second"])
    until(waiting)
    until(lambda: len(work.histories()["map-run second"]) > 3)
    before, histories = work.seen(), work.histories()
    refused = statewright(
        "move", "--from", address, "--to", f"sqlite:{tmp_path / 'x'}", "--data", str(tmp_path / "two")
    )
    assert refused.returncode == 1
    assert f"in use by pid {work.server.process.pid}" in refused.stderr
    assert work.server.stop() == 0

    moved(address, f"sqlite:{tmp_path / 'three'}", tmp_path / "two")
    _checked_start(work, before, histories, tmp_path / "three")
    work.take_messages()
    work.complete_upload()
    work.finish("second")
    assert work.server.stop() == 0


class Load:
    """Starts executions and replaces objects until it is ended."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._ending = threading.Event()
        self.rounds = 0
        self.problems: list[Exception] = []
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Load:
        self._work.client("s3").create_bucket(Bucket="busy")
        self._thread.start()
        until(lambda: self.rounds > 5 or self.problems)
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()

    def _run(self) -> None:
        sfn, s3 = self._work.client("stepfunctions"), self._work.client("s3")
        machine = self._work.machines["at-once"]
        try:
            while not self._ending.is_set():
                sfn.start_execution(stateMachineArn=machine, name=f"load-{self.rounds}", input='{"a": 1}')
                s3.put_object(Bucket="busy", Key=f"{self.rounds % 7}", Body=bytes([self.rounds % 256]) * 100_000)
                self.rounds += 1
        except Exception as problem:
            self.problems.append(problem)


def check_load(server: Server, machine: str, least: int) -> None:
    """All executions that began under load are whole or go on, and all objects can be read."""
    sfn, s3 = server.client("stepfunctions"), server.client("s3")
    pages = sfn.get_paginator("list_executions").paginate(stateMachineArn=machine)
    arns = [one["executionArn"] for page in pages for one in page["executions"] if one["name"].startswith("load-")]
    assert len(arns) >= least
    for arn in arns:
        assert ended(sfn, arn)["status"] == "SUCCEEDED"
        events = sfn.get_execution_history(executionArn=arn)["events"]
        assert [event["id"] for event in events] == [1, 2, 3, 4]
    keys = [one["Key"] for one in s3.list_objects_v2(Bucket="busy")["Contents"]]
    bodies = [s3.get_object(Bucket="busy", Key=key)["Body"].read() for key in keys]
    assert [(len(body), len(set(body))) for body in bodies] == [(100_000, 1)] * len(bodies)


def test_a_running_server_on_postgresql_is_backed_up_and_restored_into_both(tmp_path):
    database = server_or_skip()
    address = database.new_database()
    work = Work(Server(tmp_path / "one", "--store", address))
    work.make()
    until(lambda: len(list(work._names("RUNNING"))) == 4)
    until(lambda: len(work.histories()["map-run first"]) > 3)
    before, histories = work.seen(), work.histories()
    options = ("--data", str(tmp_path / "one"), "-o", "json")
    with Load(work) as load:
        least = load.rounds
        found = statewright("backup", str(tmp_path / "b.db"), "--store", address, *options)
    assert not load.problems
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["files"] >= 3
    # The database has all that is beside the rows.
    empty = tmp_path / "empty"
    empty.mkdir()
    elsewhere = statewright("backup", str(tmp_path / "e.db"), "--store", address, "--data", str(empty), "-o", "json")
    assert elsewhere.returncode == 0, elsewhere.stderr
    assert json.loads(elsewhere.stdout)["files"] >= 3
    assert work.server.stop() == 0

    other = database.new_database()
    done = statewright("restore", str(tmp_path / "b.db"), "--store", other, "--data", str(tmp_path / "two"))
    assert done.returncode == 0, done.stderr
    _checked_start(work, dict(before), histories, tmp_path / "two", "--store", other)
    check_load(work.server, work.machines["at-once"], least)
    work.complete_upload()
    work.take_messages()
    work.finish("first")
    assert work.server.stop() == 0

    done = statewright("restore", str(tmp_path / "b.db"), "--data", str(tmp_path / "three"))
    assert done.returncode == 0, done.stderr
    _checked_start(work, dict(before), histories, tmp_path / "three")
    work.complete_upload()
    work.finish("first")
    assert work.server.stop() == 0
