"""SNS with boto3: fan-out to queues, functions and HTTP endpoints, tasks that publish, and kill -9."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import urlopen
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from tests.deadlines import PATIENCE_SECONDS, until
from tests.e2e.conftest import ROLE, Server, ended, machine, with_trace_header

SOURCE = """
import urllib.request
def handler(event, context):
    record = event["Records"][0]
    urllib.request.urlopen(record["Sns"]["Subject"], data=record["Sns"]["Message"].encode())
"""


class Endpoint:
    """An HTTP endpoint that notes what is posted. `statuses` are answered first, then 200."""

    def __init__(self) -> None:
        self.posts: list[tuple[dict[str, str], str]] = []
        self.statuses: list[int] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                endpoint.posts.append(({name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(endpoint.statuses.pop(0) if endpoint.statuses else 200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                return None

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The messages of a kind."""
        return [json.loads(body) for head, body in self.posts if head.get("x-amz-sns-message-type") == kind]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    yield made
    made.close()


@pytest.fixture
def sns(server: Server) -> Any:
    return server.client("sns")


@pytest.fixture
def sqs(server: Server) -> Any:
    return server.client("sqs")


def queue(sqs: Any, **attributes: str) -> tuple[str, str]:
    """A new queue's URL and ARN."""
    name = f"q-{uuid4()}" + (".fifo" if attributes.get("FifoQueue") else "")
    url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    return url, sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]


def topic(sns: Any, **attributes: str) -> str:
    name = f"t-{uuid4()}" + (".fifo" if attributes.get("FifoTopic") else "")
    found: str = sns.create_topic(Name=name, Attributes=attributes)["TopicArn"]
    return found


def messages(sqs: Any, url: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=5, MessageAttributeNames=["All"], AttributeNames=["All"]
    ).get("Messages", [])
    return found


def test_a_message_reaches_every_queue(sns: Any, sqs: Any) -> None:
    arn = topic(sns)
    (whole, whole_arn), (raw, raw_arn) = queue(sqs), queue(sqs)
    subscribed = sns.subscribe(TopicArn=arn, Protocol="sqs", Endpoint=whole_arn)["SubscriptionArn"]
    sns.subscribe(TopicArn=arn, Protocol="sqs", Endpoint=raw_arn, Attributes={"RawMessageDelivery": "true"})
    attributes = {
        "text": {"DataType": "String", "StringValue": "x"},
        "bytes": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
    }
    published = sns.publish(TopicArn=arn, Message="h\u00e9llo", Subject="s", MessageAttributes=attributes)
    [message] = messages(sqs, whole)
    notification = json.loads(message["Body"])
    assert notification["MessageId"] == published["MessageId"]
    assert (notification["Type"], notification["TopicArn"], notification["Message"]) == (
        "Notification",
        arn,
        "h\u00e9llo",
    )
    assert notification["MessageAttributes"]["bytes"] == {"Type": "Binary", "Value": "AP8="}
    [bare] = messages(sqs, raw)
    assert (bare["Body"], bare["MessageAttributes"]) == ("h\u00e9llo", attributes)
    # The link in the message ends the subscription, without any signature.
    with urlopen(notification["UnsubscribeURL"], timeout=PATIENCE_SECONDS) as answer:
        assert b"UnsubscribeResponse" in answer.read()
    listed = sns.list_subscriptions_by_topic(TopicArn=arn)["Subscriptions"]
    assert [one["Endpoint"] for one in listed] == [raw_arn]
    assert subscribed not in {one["SubscriptionArn"] for one in listed}
    assert sns.get_topic_attributes(TopicArn=arn)["Attributes"]["SubscriptionsDeleted"] == "1"


def test_a_fifo_topic_keeps_order_and_drops_duplicates(sns: Any, sqs: Any) -> None:
    arn = topic(sns, FifoTopic="true", ContentBasedDeduplication="true")
    url, queue_arn = queue(sqs, FifoQueue="true")
    sns.subscribe(TopicArn=arn, Protocol="sqs", Endpoint=queue_arn, Attributes={"RawMessageDelivery": "true"})
    entries = [{"Id": str(number), "Message": f"m{number % 3}", "MessageGroupId": "g"} for number in range(4)]
    answer = sns.publish_batch(TopicArn=arn, PublishBatchRequestEntries=entries)
    assert [one["Id"] for one in answer["Successful"]] == ["0", "1", "2", "3"]
    # The fourth repeats the first.
    assert answer["Successful"][3]["MessageId"] == answer["Successful"][0]["MessageId"]
    found = messages(sqs, url)
    assert [one["Body"] for one in found] == ["m0", "m1", "m2"]
    assert found[0]["Attributes"]["MessageGroupId"] == "g"


def test_a_batch_with_a_refused_message_publishes_none(sns: Any, sqs: Any) -> None:
    arn = topic(sns, FifoTopic="true")
    url, queue_arn = queue(sqs, FifoQueue="true")
    sns.subscribe(TopicArn=arn, Protocol="sqs", Endpoint=queue_arn, Attributes={"RawMessageDelivery": "true"})
    sound = {"Id": "1", "Message": "sound", "MessageGroupId": "g", "MessageDeduplicationId": "d"}
    for lacking in ("MessageGroupId", "MessageDeduplicationId"):
        other = {name: value for name, value in {**sound, "Id": "2"}.items() if name != lacking}
        with pytest.raises(ClientError, match="Invalid parameter: The "):
            sns.publish_batch(TopicArn=arn, PublishBatchRequestEntries=[sound, other])
    sns.publish(TopicArn=arn, Message="later", MessageGroupId="g", MessageDeduplicationId="e")
    assert [one["Body"] for one in messages(sqs, url)] == ["later"]


def test_the_trace_header_of_a_publication_reaches_queues(server: Server, sns: Any, sqs: Any) -> None:
    arn = topic(sns)
    url, queue_arn = queue(sqs)
    sns.subscribe(TopicArn=arn, Protocol="sqs", Endpoint=queue_arn)
    with with_trace_header(server, "sns", "Root=1-9;own=1") as client:
        client.publish(TopicArn=arn, Message="m")
    assert messages(sqs, url)[0]["Attributes"]["AWSTraceHeader"] == "Root=1-9;own=1"


def test_an_endpoint_is_asked_posted_to_and_tried_again(sns: Any, endpoint: Endpoint) -> None:
    arn = topic(sns)
    policy = {"healthyRetryPolicy": {"numRetries": 3, "numNoDelayRetries": 3}}
    answer = sns.subscribe(
        TopicArn=arn, Protocol="http", Endpoint=endpoint.url, Attributes={"DeliveryPolicy": json.dumps(policy)}
    )
    assert answer["SubscriptionArn"] == "pending confirmation"
    [asked] = until(lambda: endpoint.of("SubscriptionConfirmation"), "the question")
    [listed] = sns.list_subscriptions_by_topic(TopicArn=arn)["Subscriptions"]
    assert listed["SubscriptionArn"] == "PendingConfirmation"
    with urlopen(asked["SubscribeURL"], timeout=PATIENCE_SECONDS) as response:
        assert arn.encode() in response.read()
    endpoint.statuses = [503, 500]
    published = sns.publish(TopicArn=arn, Message="m")
    until(lambda: len(endpoint.of("Notification")) == 3, "the third attempt")
    assert {one["MessageId"] for one in endpoint.of("Notification")} == {published["MessageId"]}
    head = endpoint.posts[-1][0]
    assert head["content-type"] == "text/plain; charset=UTF-8"
    assert head["x-amz-sns-topic-arn"] == arn
    with pytest.raises(ClientError, match="Invalid parameter: Token"):
        sns.confirm_subscription(TopicArn=arn, Token="none")


def test_a_function_gets_an_event(server: Server, sns: Any, endpoint: Endpoint) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("f.py", SOURCE)
    function = server.client("lambda").create_function(
        FunctionName=f"f-{uuid4()}", Runtime="python3.12", Role=ROLE, Handler="f.handler", Timeout=300,
        Code={"ZipFile": packed.getvalue()},
    )  # fmt: skip
    arn = topic(sns)
    sns.subscribe(TopicArn=arn, Protocol="lambda", Endpoint=function["FunctionArn"])
    sns.publish(TopicArn=arn, Message="from a topic", Subject=endpoint.url[:100])
    until(lambda: endpoint.posts, "the function's call")
    assert endpoint.posts[0][1] == "from a topic"


def test_a_task_publishes_and_waits_for_its_token(server: Server, sfn: Any, sns: Any, sqs: Any) -> None:
    arn = topic(sns)
    url, queue_arn = queue(sqs)
    sns.subscribe(TopicArn=arn, Protocol="sqs", Endpoint=queue_arn, Attributes={"RawMessageDelivery": "true"})
    plain = {
        "Type": "Task",
        "Resource": "arn:aws:states:::sns:publish",
        "Parameters": {
            "TopicArn": arn,
            "Message": {"a": 1},
            "MessageAttributes": {"k": {"DataType": "String", "StringValue": "v"}},
        },
    }
    waiting = {
        "Type": "Task",
        "Resource": "arn:aws:states:::sns:publish.waitForTaskToken",
        "Parameters": {"TopicArn": arn, "Message": {"token.$": "$$.Task.Token"}},
    }
    made = machine(sfn, plain, waiting)
    execution = sfn.start_execution(stateMachineArn=made)["executionArn"]
    first, *more = until(lambda: messages(sqs, url), "the first message")
    assert (json.loads(first["Body"]), first["MessageAttributes"]["k"]["StringValue"]) == ({"a": 1}, "v")
    sqs.delete_message(QueueUrl=url, ReceiptHandle=first["ReceiptHandle"])
    [second] = more or until(lambda: messages(sqs, url), "the second message")
    sfn.send_task_success(taskToken=json.loads(second["Body"])["token"], output='"done"')
    assert json.loads(ended(sfn, execution)["output"]) == "done"


@pytest.mark.parametrize(
    ("resource", "error"),
    [
        ("arn:aws:states:::sns:publish", "SNS.NotFoundException"),
        ("arn:aws:states:::aws-sdk:sns:publish", "Sns.NotFoundException"),
    ],
)
def test_a_task_whose_topic_is_not_there_fails_by_name(sfn: Any, resource: str, error: str) -> None:
    parameters = {"TopicArn": "arn:aws:sns:us-east-1:000000000000:nobody", "Message": "m"}
    made = machine(sfn, {"Type": "Task", "Resource": resource, "Parameters": parameters})
    closed = ended(sfn, sfn.start_execution(stateMachineArn=made)["executionArn"])
    assert closed["error"] == error
    assert closed["cause"].startswith("Topic does not exist (Service: ")


def test_a_function_reports_to_a_topic(server: Server, sns: Any, sqs: Any) -> None:
    arn = topic(sns)
    url, queue_arn = queue(sqs)
    sns.subscribe(TopicArn=arn, Protocol="sqs", Endpoint=queue_arn, Attributes={"RawMessageDelivery": "true"})
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("f.py", "def handler(event, context):\n    return {'said': event}\n")
    functions, name = server.client("lambda"), f"f-{uuid4()}"
    functions.create_function(
        FunctionName=name, Runtime="python3.12", Role=ROLE, Handler="f.handler", Timeout=300,
        Code={"ZipFile": packed.getvalue()},
    )  # fmt: skip
    functions.put_function_event_invoke_config(FunctionName=name, DestinationConfig={"OnSuccess": {"Destination": arn}})
    functions.invoke(FunctionName=name, InvocationType="Event", Payload=b'"x"')
    [message] = until(lambda: messages(sqs, url), "the report")
    assert json.loads(message["Body"])["responsePayload"] == {"said": "x"}


def test_a_rule_publishes(server: Server, sns: Any, sqs: Any) -> None:
    arn = topic(sns)
    url, queue_arn = queue(sqs)
    sns.subscribe(TopicArn=arn, Protocol="sqs", Endpoint=queue_arn, Attributes={"RawMessageDelivery": "true"})
    events = server.client("events")
    source = f"s-{uuid4()}"
    events.put_rule(Name=source, EventPattern=json.dumps({"source": [source]}))
    events.put_targets(Rule=source, Targets=[{"Id": "1", "Arn": arn}])
    events.put_events(Entries=[{"Source": source, "DetailType": "d", "Detail": '{"a": 1}'}])
    [message] = until(lambda: messages(sqs, url), "the event")
    assert json.loads(message["Body"])["detail"] == {"a": 1}


def test_tags_and_permissions_are_kept(sns: Any) -> None:
    arn = topic(sns)
    sns.tag_resource(ResourceArn=arn, Tags=[{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}])
    sns.untag_resource(ResourceArn=arn, TagKeys=["a"])
    assert sns.list_tags_for_resource(ResourceArn=arn)["Tags"] == [{"Key": "b", "Value": "2"}]
    sns.add_permission(TopicArn=arn, Label="l", AWSAccountId=["111111111111"], ActionName=["Publish"])
    policy = json.loads(sns.get_topic_attributes(TopicArn=arn)["Attributes"]["Policy"])
    assert policy["Statement"][1]["Action"] == "SNS:Publish"
    sns.remove_permission(TopicArn=arn, Label="l")
    assert len(json.loads(sns.get_topic_attributes(TopicArn=arn)["Attributes"]["Policy"])["Statement"]) == 1


NOBODY = "arn:aws:sns:us-east-1:000000000000:nobody"
BATCH = {"Id": "1", "Message": "m"}


@pytest.mark.parametrize(
    ("operation", "request_", "code", "said"),
    [
        ("create_topic", {}, "InvalidParameter", "Invalid parameter: Name Reason: no value for required parameter"),
        ("create_topic", {"Name": "a b"}, "InvalidParameter", "Invalid parameter: Topic Name"),
        ("create_topic", {"Name": "a", "DataProtectionPolicy": "{}"}, "InvalidParameter", "DataProtectionPolicy"),
        ("create_topic", {"Name": "a", "Tags": [{"Key": "k", "Value": "v" * 257}]}, "ValidationError", "256"),
        ("delete_topic", {"TopicArn": "x"}, "InvalidParameter", "An ARN must have at least 6 elements, not 1"),
        ("get_topic_attributes", {"TopicArn": NOBODY}, "NotFound", "Topic does not exist"),
        ("set_topic_attributes", {"TopicArn": NOBODY, "AttributeName": "DisplayName"}, "NotFound", "Topic does not"),
        ("set_topic_attributes", {"TopicArn": "<TOPIC>", "AttributeName": "X"}, "InvalidParameter", "AttributeName"),
        ("set_topic_attributes", {"TopicArn": "<TOPIC>", "AttributeName": "FifoTopic", "AttributeValue": "true"},
         "InvalidParameter", "AttributeName"),
        ("subscribe", {"TopicArn": NOBODY, "Protocol": "sqs", "Endpoint": "x"}, "NotFound", "Topic does not exist"),
        ("subscribe", {"TopicArn": "<TOPIC>", "Protocol": "sqs"}, "InvalidParameter", "Endpoint"),
        ("subscribe", {"TopicArn": "<TOPIC>"}, "InvalidParameter", "Protocol Reason: no value for required parameter"),
        ("confirm_subscription", {"TopicArn": "<TOPIC>", "Token": "x"}, "InvalidParameter", "Invalid parameter: Token"),
        ("unsubscribe", {"SubscriptionArn": "x"}, "InvalidParameter", "SubscriptionArn Reason: An ARN"),
        ("get_subscription_attributes", {"SubscriptionArn": NOBODY + ":x"}, "NotFound", "Subscription does not exist"),
        ("get_subscription_attributes", {"SubscriptionArn": NOBODY}, "InvalidParameter", "SubscriptionArn"),
        ("set_subscription_attributes", {"SubscriptionArn": NOBODY + ":x", "AttributeName": "RawMessageDelivery"},
         "NotFound", "Subscription does not exist"),
        ("list_subscriptions_by_topic", {"TopicArn": NOBODY}, "NotFound", "Topic does not exist"),
        ("list_topics", {"NextToken": "?"}, "InvalidParameter", "NextToken"),
        ("list_subscriptions", {"NextToken": "YWJj"}, "InvalidParameter", "NextToken"),
        ("publish", {"Message": "m"}, "InvalidParameter", "TopicArn or TargetArn Reason: no value for required"),
        ("publish", {"TopicArn": "<TOPIC>"}, "InvalidParameter", "Message Reason: no value for required parameter"),
        ("publish", {"PhoneNumber": "+15550100", "Message": "m"}, "InvalidParameter", "sends no text messages"),
        ("publish", {"PhoneNumber": "+15x", "Message": "m"}, "InvalidParameter", "+15x is not valid to publish to"),
        ("publish", {"TopicArn": "", "Message": "m"}, "InvalidParameter", "TopicArn Reason: An ARN must have"),
        ("publish", {"TargetArn": "arn:aws:sns:us-east-1:0:endpoint/GCM/a/b", "Message": "m"}, "InvalidParameter",
         "does not reach mobile devices"),
        ("publish", {"TopicArn": NOBODY, "Message": "m"}, "NotFound", "Topic does not exist"),
        ("publish", {"TopicArn": "<TOPIC>", "Message": "m" * 262_145}, "InvalidParameter", "Message too long"),
        ("publish", {"TopicArn": "<TOPIC>", "Message": "m", "MessageAttributes": {"a": {"DataType": "X"}}},
         "ParameterValueInvalid", "invalid message attribute type"),
        ("publish_batch", {"TopicArn": "<TOPIC>", "PublishBatchRequestEntries": []}, "EmptyBatchRequest", "entries"),
        ("publish_batch", {"TopicArn": "<TOPIC>", "PublishBatchRequestEntries": [BATCH, BATCH]},
         "BatchEntryIdsNotDistinct", "have the same Id"),
        ("publish_batch", {"TopicArn": "<TOPIC>", "PublishBatchRequestEntries": [{**BATCH, "Id": "a b"}]},
         "InvalidBatchEntryId", "contains an impermissible character: a b"),
        ("publish_batch", {"TopicArn": "<TOPIC>", "PublishBatchRequestEntries": [{**BATCH, "Id": "a" * 81}]},
         "InvalidBatchEntryId", f"is too long: {'a' * 81}"),
        ("publish_batch", {"TopicArn": "<TOPIC>", "PublishBatchRequestEntries": [
            BATCH, {"Id": "2", "Message": "{}", "MessageStructure": "json"}]},
         "InvalidParameter", "Message Structure - No default entry in JSON message body"),
        ("publish_batch", {"TopicArn": "<TOPIC>", "PublishBatchRequestEntries": [
            BATCH, {**BATCH, "Id": "2", "MessageAttributes": {"a": {"DataType": "String.", "StringValue": "x"}}}]},
         "ParameterValueInvalid", "invalid message attribute type"),
        ("publish_batch", {"TopicArn": "<TOPIC>", "PublishBatchRequestEntries": [BATCH] * 11},
         "TooManyEntriesInBatchRequest", "more entries than permissible"),
        ("publish_batch",
         {"TopicArn": "<TOPIC>",
          "PublishBatchRequestEntries": [{"Id": str(n), "Message": "m" * 200_000} for n in range(2)]},
         "BatchRequestTooLong", "more than the limit"),
        ("add_permission", {"TopicArn": "<TOPIC>", "Label": "l", "AWSAccountId": ["1"], "ActionName": ["Fly"]},
         "InvalidParameter", "out of service scope"),
        ("tag_resource", {"ResourceArn": NOBODY, "Tags": []}, "ResourceNotFound", "Resource does not exist"),
        ("list_tags_for_resource", {"ResourceArn": NOBODY}, "ResourceNotFound", "Resource does not exist"),
        ("put_data_protection_policy", {"ResourceArn": "<TOPIC>", "DataProtectionPolicy": "{}"}, "InvalidParameter",
         "personal data"),
        ("check_if_phone_number_is_opted_out", {"phoneNumber": "+491"}, "UnknownOperationException", "does not have"),
        ("create_platform_application", {"Name": "a", "Platform": "GCM", "Attributes": {}},
         "UnknownOperationException", "does not have"),
    ],
)  # fmt: skip
def test_refusals(sns: Any, operation: str, request_: dict[str, Any], code: str, said: str) -> None:
    arn = sns.create_topic(Name="refusals")["TopicArn"]
    given = {name: arn if value == "<TOPIC>" else value for name, value in request_.items()}
    with pytest.raises(ClientError) as refused:
        getattr(sns, operation)(**given)
    error = refused.value.response["Error"]
    assert error["Code"] == code
    assert said in error["Message"]
    wanted = {"NotFound": 404, "ResourceNotFound": 404}.get(code, 400)
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == wanted


def test_what_was_acknowledged_is_delivered_after_a_kill(tmp_path: Path, endpoint: Endpoint) -> None:
    """A message for two queues and an endpoint that does not answer yet: kill -9 right after the answer."""
    server = Server(tmp_path / "data")
    sns, sqs = server.client("sns"), server.client("sqs")
    arn = topic(sns)
    for _ in range(2):
        sns.subscribe(TopicArn=arn, Protocol="sqs", Endpoint=queue(sqs)[1], Attributes={"RawMessageDelivery": "true"})
    policy = {"healthyRetryPolicy": {"numRetries": 100, "minDelayTarget": 1, "maxDelayTarget": 1}}
    sns.subscribe(
        TopicArn=arn, Protocol="http", Endpoint=endpoint.url, Attributes={"DeliveryPolicy": json.dumps(policy)}
    )
    [asked] = until(lambda: endpoint.of("SubscriptionConfirmation"), "the question")
    sns.confirm_subscription(TopicArn=arn, Token=asked["Token"])
    endpoint.statuses = [503] * 1000
    published = [sns.publish(TopicArn=arn, Message=f"m{number}")["MessageId"] for number in range(20)]
    server.kill()
    endpoint.statuses = []
    endpoint.posts.clear()
    server = Server(tmp_path / "data")
    try:
        until(lambda: {one["MessageId"] for one in endpoint.of("Notification")} == set(published), "every notification")
        sqs = server.client("sqs")
        for url in sqs.list_queues()["QueueUrls"]:
            found = [one["Body"] for _ in range(2) for one in messages(sqs, url)]
            assert sorted(found) == sorted(f"m{number}" for number in range(20))
        assert len(server.client("sns").list_subscriptions_by_topic(TopicArn=arn)["Subscriptions"]) == 3
    finally:
        assert server.stop() == 0


def test_links_need_no_signature_and_everything_else_does(tmp_path: Path, endpoint: Endpoint) -> None:
    (tmp_path / "data").mkdir()
    settings = tmp_path / "statewright.toml"
    settings.write_text('[credentials]\nkey = "secret"\n')
    server = Server(tmp_path / "data", "--config", str(settings))
    try:
        sns = server.client("sns", key="key", secret="secret")
        arn = topic(sns)
        sns.subscribe(TopicArn=arn, Protocol="http", Endpoint=endpoint.url)
        [asked] = until(lambda: endpoint.of("SubscriptionConfirmation"), "the question")
        with urlopen(asked["SubscribeURL"], timeout=PATIENCE_SECONDS) as answer:
            assert answer.status == 200
        with pytest.raises(ClientError, match="security token"):
            server.client("sns").list_topics()
        for query in (
            f"Action=Publish&TopicArn={arn}&Message=m",
            "Action=ConfirmSubscription&Action=ListTopics&TopicArn=a&Token=b",
        ):
            with pytest.raises(OSError, match="HTTP Error 40"):
                urlopen(f"{server.url}/?{query}", timeout=PATIENCE_SECONDS)
    finally:
        assert server.stop() == 0
