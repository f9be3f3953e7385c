"""What buckets tell queues, topics, functions and the bus of their objects, through boto3."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from tests.deadlines import PATIENCE_SECONDS, until
from tests.e2e.conftest import ROLE, Server
from tests.e2e.systems import RUNTIME, zipped

HANDLER = """
import boto3, json
def handler(event, context):
    boto3.client("sqs").send_message(QueueUrl=URL, MessageBody=json.dumps(event))
"""


class Place:
    """A bucket and a queue."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.s3, self.sqs = server.client("s3"), server.client("sqs")
        self.bucket = f"b-{uuid4()}"
        self.s3.create_bucket(Bucket=self.bucket)
        self.url, self.arn = self.queue()

    def queue(self, **attributes: str) -> tuple[str, str]:
        name = f"q-{uuid4()}" + (".fifo" if attributes else "")
        url = self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        return url, f"arn:aws:sqs:us-east-1:000000000000:{name}"

    def configure(self, **config: Any) -> None:
        self.s3.put_bucket_notification_configuration(Bucket=self.bucket, NotificationConfiguration=config)

    def to_queue(self, *events: str, **more: Any) -> dict[str, Any]:
        return {"QueueArn": self.arn, "Events": [f"s3:{event}" for event in events], **more}

    def taken(self, count: int, url: str | None = None) -> list[dict[str, Any]]:
        """So many messages, and no more."""
        found: list[dict[str, Any]] = []

        def enough() -> bool:
            answer = self.sqs.receive_message(QueueUrl=url or self.url, MaxNumberOfMessages=10, WaitTimeSeconds=10)
            for message in answer.get("Messages", []):
                self.sqs.delete_message(QueueUrl=url or self.url, ReceiptHandle=message["ReceiptHandle"])
                found.append(json.loads(message["Body"]))
            return len(found) >= count

        until(enough, f"message number {count}")
        assert len(found) == count, found
        return found

    def records(self, count: int, url: str | None = None) -> list[dict[str, Any]]:
        return sorted(
            (record for message in self.taken(count, url) for record in message["Records"]),
            key=lambda record: record["s3"]["object"].get("sequencer", ""),
        )


@pytest.fixture
def place(server: Server) -> Place:
    return Place(server)


def only(prefix: str = "", suffix: str = "") -> dict[str, Any]:
    rules = [{"Name": name, "Value": value} for name, value in (("prefix", prefix), ("suffix", suffix)) if value]
    return {"Key": {"FilterRules": rules}}


def test_a_queue_is_told_of_everything(place: Place):
    place.configure(
        QueueConfigurations=[
            place.to_queue("ObjectCreated:*", "ObjectRemoved:*", "ObjectTagging:*", "ObjectAcl:Put", Id="x")
        ]
    )
    (trial,) = place.taken(1)
    assert (trial["Service"], trial["Event"], trial["Bucket"]) == ("Amazon S3", "s3:TestEvent", place.bucket)
    s3, at = place.s3, {"Bucket": place.bucket}
    etag = s3.put_object(**at, Key="a b/é+.txt", Body=b"hello")["ETag"].strip('"')
    s3.copy_object(**at, Key="copy", CopySource={"Bucket": place.bucket, "Key": "a b/é+.txt"})
    upload = s3.create_multipart_upload(**at, Key="big")["UploadId"]
    part = s3.upload_part(**at, Key="big", UploadId=upload, PartNumber=1, Body=b"x" * 30_000)["ETag"]
    s3.complete_multipart_upload(
        **at, Key="big", UploadId=upload, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part}]}
    )
    s3.put_object_tagging(**at, Key="copy", Tagging={"TagSet": [{"Key": "a", "Value": "b"}]})
    s3.delete_object_tagging(**at, Key="copy")
    s3.delete_object(**at, Key="nobody")
    s3.delete_objects(**at, Delete={"Objects": [{"Key": "copy"}, {"Key": "nobody"}, {"Key": "big"}]})
    s3.put_object_acl(**at, Key="a b/é+.txt", ACL="private")
    found = place.records(10)
    settings = [one for one in found if one["eventName"].startswith(("ObjectTagging", "ObjectAcl"))]
    assert sorted(one["eventName"] for one in settings) == [
        "ObjectAcl:Put",
        "ObjectTagging:Delete",
        "ObjectTagging:Put",
    ]
    for one in settings:
        assert (sorted(one["s3"]["object"]), one["eventVersion"]) == (["eTag", "key"], "2.3")
    found = [one for one in found if one not in settings]
    assert [(one["eventName"], one["s3"]["object"]["key"]) for one in found] == [
        ("ObjectCreated:Put", "a+b/%C3%A9%2B.txt"),
        ("ObjectCreated:Copy", "copy"),
        ("ObjectCreated:CompleteMultipartUpload", "big"),
        ("ObjectRemoved:Delete", "nobody"),
        ("ObjectRemoved:Delete", "copy"),
        ("ObjectRemoved:Delete", "nobody"),
        ("ObjectRemoved:Delete", "big"),
    ]
    first = found[0]
    assert sorted(first["s3"]["object"]) == ["eTag", "key", "sequencer", "size"]
    assert sorted(found[-1]["s3"]["object"]) == ["key", "sequencer"]
    assert {one["eventVersion"] for one in found} == {"2.1"}
    assert (first["eventSource"], first["awsRegion"], first["s3"]["s3SchemaVersion"]) == ("aws:s3", "us-east-1", "1.0")
    assert first["s3"]["configurationId"] == "x"
    assert first["s3"]["bucket"]["arn"] == f"arn:aws:s3:::{place.bucket}"
    assert (first["s3"]["object"]["size"], first["s3"]["object"]["eTag"]) == (5, etag)
    assert "size" not in found[-1]["s3"]["object"]


def test_rules_may_be_named_in_any_case(place: Place):
    rules = [{"Name": "PREFIX", "Value": "a"}, {"Name": "sufFIX", "Value": "b"}]
    place.configure(QueueConfigurations=[place.to_queue("ObjectCreated:*", Filter={"Key": {"FilterRules": rules}})])
    shown = place.s3.get_bucket_notification_configuration(Bucket=place.bucket)["QueueConfigurations"][0]
    assert [rule["Name"] for rule in shown["Filter"]["Key"]["FilterRules"]] == ["Prefix", "Suffix"]
    place.taken(1)
    place.s3.put_object(Bucket=place.bucket, Key="a-b", Body=b"")
    assert place.records(1)[0]["s3"]["object"]["key"] == "a-b"


def test_a_trace_header_reaches_the_queue(place: Place):
    place.configure(QueueConfigurations=[place.to_queue("ObjectCreated:Put")])
    place.taken(1)
    trace = "Root=1-3152b799-8954dae64eda91bc9a23a7e8;Parent=7fa8c0f79203be72;Sampled=1"

    def add(request: Any, **_more: Any) -> None:
        request.headers["X-Amzn-Trace-Id"] = trace

    place.s3.meta.events.register("before-send.s3.PutObject", add)
    try:
        place.s3.put_object(Bucket=place.bucket, Key="k", Body=b"")
    finally:
        place.s3.meta.events.unregister("before-send.s3.PutObject", add)
    (got,) = place.sqs.receive_message(
        QueueUrl=place.url, WaitTimeSeconds=10, MessageSystemAttributeNames=["AWSTraceHeader"]
    )["Messages"]
    assert got["Attributes"] == {"AWSTraceHeader": trace}


def test_filters_and_an_end(place: Place):
    other_url, other = place.queue()
    place.configure(
        QueueConfigurations=[
            place.to_queue("ObjectCreated:Put", Filter=only("in/", ".csv")),
            {"QueueArn": other, "Events": ["s3:ObjectCreated:*"], "Filter": only("in/", ".json")},
        ]
    )
    place.taken(1), place.taken(1, other_url)
    shown = place.s3.get_bucket_notification_configuration(Bucket=place.bucket)["QueueConfigurations"]
    assert [one["Filter"]["Key"]["FilterRules"][1]["Value"] for one in shown] == [".csv", ".json"]
    assert all(one["Id"] for one in shown)
    for key in ("in/1.csv", "in/2.json", "in/3.txt", "out/4.csv"):
        place.s3.put_object(Bucket=place.bucket, Key=key, Body=b"")
    place.s3.copy_object(Bucket=place.bucket, Key="in/5.csv", CopySource=f"{place.bucket}/in/1.csv")
    place.configure()
    place.s3.put_object(Bucket=place.bucket, Key="in/6.csv", Body=b"")
    assert "QueueConfigurations" not in place.s3.get_bucket_notification_configuration(Bucket=place.bucket)
    assert [one["s3"]["object"]["key"] for one in place.records(1)] == ["in/1.csv"]
    assert [one["s3"]["object"]["key"] for one in place.records(1, other_url)] == ["in/2.json"]


def test_topics_functions_and_the_bus(place: Place):
    server = place.server
    sns, functions, events = server.client("sns"), server.client("lambda"), server.client("events")
    topic = sns.create_topic(Name=f"t-{uuid4()}")["TopicArn"]
    topic_url, topic_queue = place.queue()
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=topic_queue)
    bus_url, bus_queue = place.queue()
    rule = f"r-{uuid4()}"
    events.put_rule(Name=rule, EventPattern=json.dumps({"source": ["aws.s3"],
                                                         "detail": {"bucket": {"name": [place.bucket]}}}))  # fmt: skip
    events.put_targets(Rule=rule, Targets=[{"Id": "1", "Arn": bus_queue}])
    function = functions.create_function(
        FunctionName=f"f-{uuid4()}", Runtime=RUNTIME, Handler="app.handler", Role=ROLE, Timeout=300,
        Code={"ZipFile": zipped(app=HANDLER.replace("URL", repr(place.url)))},
    )["FunctionArn"]  # fmt: skip
    place.configure(
        TopicConfigurations=[{"TopicArn": topic, "Events": ["s3:ObjectRemoved:*"]}],
        LambdaFunctionConfigurations=[{"LambdaFunctionArn": function, "Events": ["s3:ObjectCreated:*"]}],
        EventBridgeConfiguration={},
    )
    assert place.s3.get_bucket_notification_configuration(Bucket=place.bucket)["EventBridgeConfiguration"] == {}
    place.s3.put_object(Bucket=place.bucket, Key="a b", Body=b"abc")
    place.s3.delete_object(Bucket=place.bucket, Key="a b")
    (put,) = place.records(1)
    assert (put["eventName"], put["s3"]["object"]["key"]) == ("ObjectCreated:Put", "a+b")
    trial, told = sorted(place.taken(2, topic_url), key=lambda one: "Records" in one["Message"])
    assert json.loads(trial["Message"])["Event"] == "s3:TestEvent"
    assert told["Subject"] == "Amazon S3 Notification"
    assert json.loads(told["Message"])["Records"][0]["eventName"] == "ObjectRemoved:Delete"
    heard = {one["detail-type"]: one for one in place.taken(2, bus_url)}
    assert set(heard) == {"Object Created", "Object Deleted"}
    assert heard["Object Created"]["resources"] == [f"arn:aws:s3:::{place.bucket}"]
    assert heard["Object Created"]["detail"]["object"].items() >= {"key": "a b", "size": 3}.items()
    assert heard["Object Deleted"]["detail"]["reason"] == "DeleteObject"


def entry(arn: str = "QUEUE", event: str = "s3:ObjectCreated:*", **more: Any) -> dict[str, Any]:
    return {"QueueArn": arn, "Events": [event], **more}


OVERLAP = "Configurations overlap. Configurations on the same bucket cannot share a common event type."
AMBIGUOUS = (
    "Configuration is ambiguously defined. Cannot have overlapping suffixes in two rules if the prefixes are "
    "overlapping for the same event type."
)
MISSING = "Unable to validate the following destination configurations"
ACCOUNT = "us-east-1:000000000000"
BAD: list[tuple[dict[str, Any], str]] = [
    ({"QueueConfigurations": [entry("nonsense")]}, "The ARN could not be parsed"),
    ({"QueueConfigurations": [entry(f"arn:aws:sns:{ACCOUNT}:x")]}, "The ARN could not be parsed"),
    ({"QueueConfigurations": [entry(f"arn:aws:sqs:{ACCOUNT}:none")]}, MISSING),
    ({"QueueConfigurations": [entry("FIFO")]}, MISSING),
    ({"TopicConfigurations": [{"TopicArn": f"arn:aws:sns:{ACCOUNT}:x", "Events": ["s3:ObjectRemoved:*"]}]}, MISSING),
    (
        {
            "LambdaFunctionConfigurations": [
                {"LambdaFunctionArn": f"arn:aws:lambda:{ACCOUNT}:function:x", "Events": ["s3:ObjectRemoved:*"]}
            ]
        },
        MISSING,
    ),
    ({"QueueConfigurations": [entry(event="s3:Nothing")]}, "A specified event is not supported for notifications."),
    ({"QueueConfigurations": [entry(), entry(event="s3:ObjectCreated:Put")]}, OVERLAP),
    ({"QueueConfigurations": [entry(Filter=only("a")), entry(Filter=only("ab"))]}, AMBIGUOUS),
    ({"QueueConfigurations": [entry(Filter=only("a", ".x")), entry(Filter=only("", ".x"))]}, AMBIGUOUS),
    (
        {"QueueConfigurations": [entry(Id="1"), entry(Id="1", event="s3:ObjectRemoved:*")]},
        "Same ID used for multiple configurations. IDs must be unique",
    ),
    (
        {"QueueConfigurations": [entry(Filter={"Key": {"FilterRules": [{"Name": "infix", "Value": "x"}]}})]},
        "filter rule name must be either prefix or suffix",
    ),
    (
        {"QueueConfigurations": [entry(Filter={"Key": {"FilterRules": 2 * [{"Name": "Prefix", "Value": "x"}]}})]},
        "Cannot specify more than one prefix rule in a filter.",
    ),
]


@pytest.mark.parametrize(("config", "message"), BAD)
def test_configurations_that_are_refused(place: Place, config: dict[str, Any], message: str):
    _, fifo = place.queue(FifoQueue="true")
    text = json.dumps(config).replace("QUEUE", place.arn).replace("FIFO", fifo)
    with pytest.raises(ClientError) as caught:
        place.configure(**json.loads(text))
    error = caught.value.response["Error"]
    assert (error["Code"], error["Message"]) == ("InvalidArgument", message)
    assert "QueueConfigurations" not in place.s3.get_bucket_notification_configuration(Bucket=place.bucket)


@pytest.mark.slow
def test_an_acknowledged_put_is_told_of_after_a_kill(tmp_path: Path):
    server = Server(tmp_path / "data")
    try:
        place = Place(server)
        place.configure(QueueConfigurations=[place.to_queue("ObjectCreated:*")])
        acknowledged: list[str] = []
        enough = threading.Event()

        def put(worker: int) -> None:
            client = server.client("s3")
            for number in range(10_000):
                key = f"{worker}-{number}"
                try:
                    client.put_object(Bucket=place.bucket, Key=key, Body=b"x")
                except Exception:
                    return
                acknowledged.append(key)
                if len(acknowledged) > 60:
                    enough.set()

        workers = [threading.Thread(target=put, args=(number,)) for number in range(4)]
        for worker in workers:
            worker.start()
        assert enough.wait(PATIENCE_SECONDS)
        server.kill()
        for worker in workers:
            worker.join()
        server = Server(tmp_path / "data")
        place.sqs = server.client("sqs")
        told: set[str] = set()

        def all_told() -> bool:
            answer = place.sqs.receive_message(
                QueueUrl=place.url.replace(place.url.split("/")[2], server.url.split("/")[2]),
                MaxNumberOfMessages=10, WaitTimeSeconds=5,
            )  # fmt: skip
            for message in answer.get("Messages", []):
                told.update(one["s3"]["object"]["key"] for one in json.loads(message["Body"]).get("Records", ()))
            return told >= set(acknowledged)

        until(all_told, "a notification of each key")
    finally:
        server.kill()
