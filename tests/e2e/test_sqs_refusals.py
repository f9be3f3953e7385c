"""Every refusal of the SQS API, through boto3 and through the query protocol."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen
from uuid import uuid4
from xml.etree import ElementTree

import pytest
from botocore.exceptions import ClientError
from botocore.loaders import Loader

from tests.e2e.conftest import Server
from tests.e2e.sqs_cases import REFUSED, STATUSES, WRONG_TYPES, Case

MODEL = Loader().load_service_model("sqs", "service-2")
XML = "{http://queue.amazonaws.com/doc/2012-11-05/}"


@pytest.fixture(scope="module")
def queues(server: Server) -> Iterator[dict[str, str]]:
    """What the names in the cases stand for."""
    sqs = server.client("sqs")
    tail = uuid4().hex[:8]

    def arn(url: str) -> str:
        found: str = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        return found

    def make(name: str, **attributes: str) -> str:
        url: str = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        return url

    standard = make(f"std-{tail}")
    dead = make(f"dead-{tail}")
    policy = json.dumps({"deadLetterTargetArn": arn(dead), "maxReceiveCount": 3})
    made = [
        standard,
        dead,
        make(f"src-{tail}", RedrivePolicy=policy),
        make(f"ordered-{tail}.fifo", FifoQueue="true"),
        make(f"small-{tail}", MaximumMessageSize="1024"),
    ]
    yield {
        "<STD>": standard,
        "<STD_NAME>": f"std-{tail}",
        "<STD_ARN>": arn(standard),
        "<DLQ_ARN>": arn(dead),
        "<FIFO>": made[3],
        "<SMALL>": made[4],
    }
    for url in made:
        sqs.delete_queue(QueueUrl=url)


def filled(value: Any, queues: dict[str, str]) -> Any:
    """A case with its queues put in."""
    if isinstance(value, dict):
        return {filled(key, queues): filled(item, queues) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, queues) for item in value]
    return re.sub("<[A-Z_]+>", lambda found: queues[found[0]], value) if isinstance(value, str) else value


def called(case: Case) -> str:
    return f"{case[0]}-{case[2].rpartition('.')[2]}"


@pytest.mark.parametrize("case", REFUSED, ids=called)
def test_through_boto3(server: Server, queues: dict[str, str], case: Case) -> None:
    operation, given, code, message = filled(case, queues) if isinstance(case, list) else case
    sqs = client(server)
    with pytest.raises(ClientError) as caught:
        sqs._make_api_call(operation, filled(given, queues))
    answer = caught.value.response
    assert (answer["Error"]["Code"], answer["Error"]["Message"]) == (code, filled(message, queues))
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == STATUSES.get(code, 400)


_clients: dict[str, Any] = {}


def client(server: Server) -> Any:
    """One client for all cases: making one takes longer than a call."""
    if server.url not in _clients:
        _clients[server.url] = server.client("sqs")
    return _clients[server.url]


# An empty map cannot be said in a form.
IN_A_FORM = [
    case for case in REFUSED if not (case[2] == "MissingParameter" and case[3].endswith("parameter Attributes."))
]


@pytest.mark.parametrize("case", IN_A_FORM, ids=called)
def test_through_the_query_protocol(server: Server, queues: dict[str, str], case: Case) -> None:
    operation, given, code, message = case
    status, root = query(server, operation, filled(given, queues))
    if code.endswith("NonExistentQueue"):
        message = "The specified queue does not exist for this wsdl version."
    error = root.find(f"{XML}Error")
    assert error is not None, ElementTree.tostring(root)
    said = [error.findtext(f"{XML}{name}") for name in ("Type", "Code", "Message")]
    assert said == ["Sender", code, filled(message, queues)]
    assert status == STATUSES.get(code, 400)


LISTS = {
    "AttributeNames": "AttributeName",
    "MessageSystemAttributeNames": "MessageSystemAttributeName",
    "AWSAccountIds": "AWSAccountId",
    "Actions": "ActionName",
    "TagKeys": "TagKey",
}
MAPS = {
    "Attributes": ("Attribute", "Name"),
    "Tags": ("Tag", "Key"),
    "MessageAttributes": ("MessageAttribute", "Name"),
    "MessageSystemAttributes": ("MessageSystemAttribute", "Name"),
}


def fields(operation: str, members: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Members as old SDKs write them."""
    for name, value in members.items():
        if name in LISTS:
            yield from ((f"{prefix}{LISTS[name]}.{number}", item) for number, item in enumerate(value, 1))
        elif name in MAPS:
            member, key_name = MAPS[name]
            for number, (key, item) in enumerate(value.items(), 1):
                yield f"{prefix}{member}.{number}.{key_name}", key
                if isinstance(item, dict):
                    yield from ((f"{prefix}{member}.{number}.Value.{part}", text) for part, text in item.items())
                else:
                    yield f"{prefix}{member}.{number}.Value", item
        elif name == "Entries":
            for number, entry in enumerate(value, 1):
                yield from fields(operation, entry, f"{prefix}{operation}RequestEntry.{number}.")
        else:
            yield prefix + name, str(value)


def query(server: Server, operation: str, members: dict[str, Any]) -> tuple[int, ElementTree.Element]:
    """One call over the query protocol, as a form."""
    form = urlencode([("Action", operation), ("Version", "2012-11-05"), *fields(operation, members)])
    scope = "Credential=test/20260101/us-east-1/sqs/aws4_request"
    headers = {"Authorization": f"AWS4-HMAC-SHA256 {scope}, SignedHeaders=host, Signature=0"}
    try:
        with urlopen(Request(server.url, form.encode(), headers)) as answer:
            return answer.status, ElementTree.fromstring(answer.read())
    except HTTPError as refused:
        with refused:
            return refused.code, ElementTree.fromstring(refused.read())


@pytest.mark.parametrize(("operation", "given", "message"), WRONG_TYPES)
def test_wrong_types(
    server: Server, queues: dict[str, str], operation: str, given: dict[str, Any], message: str
) -> None:
    status, headers, body = raw(server, operation, filled(given, queues))
    assert (status, body) == (400, {"__type": "com.amazonaws.sqs#SerializationException", "message": message})
    assert headers["x-amzn-query-error"] == "SerializationException;Sender"


def raw(server: Server, operation: str, members: Any) -> tuple[int, Any, Any]:
    """One call over JSON, past the SDK's own checks."""
    headers = {"X-Amz-Target": f"AmazonSQS.{operation}", "Content-Type": "application/x-amz-json-1.0"}
    try:
        with urlopen(Request(server.url, json.dumps(members).encode(), headers)) as answer:
            return answer.status, answer.headers, json.loads(answer.read())
    except HTTPError as refused:
        with refused:
            return refused.code, refused.headers, json.loads(refused.read())


def test_every_batch_wants_an_entry(server: Server, queues: dict[str, str]) -> None:
    for name in ("SendMessageBatch", "DeleteMessageBatch", "ChangeMessageVisibilityBatch"):
        status, headers, body = raw(server, name, {"QueueUrl": queues["<STD>"], "Entries": []})
        assert (status, body["__type"]) == (400, "com.amazonaws.sqs#EmptyBatchRequest")
        assert body["message"] == f"There should be at least one {name}RequestEntry in the request."
        assert headers["x-amzn-query-error"] == "AWS.SimpleQueueService.EmptyBatchRequest;Sender"


def test_the_cases_cover_every_operation_and_required_member() -> None:
    """Whatever the model requires is left out in some case."""
    said = {(operation, message) for operation, _, code, message in REFUSED if code == "MissingParameter"}
    for name, operation in MODEL["operations"].items():
        for member in MODEL["shapes"][operation["input"]["shape"]].get("required", ()):
            words = f"{name}RequestEntry.1.Id" if member == "Entries" else member
            assert (name, f"The request must contain the parameter {words}.") in said, (name, member)
    assert {case[0] for case in REFUSED} == set(MODEL["operations"])


def test_exceptions_of_the_sdk(server: Server) -> None:
    sqs = client(server)
    with pytest.raises(sqs.exceptions.QueueDoesNotExist) as caught:
        sqs.get_queue_url(QueueName="none")
    assert caught.value.response["Error"]["QueryErrorCode"] == "QueueDoesNotExist"
    assert caught.value.response["Error"]["Type"] == "Sender"


def test_a_message_goes_round_in_the_query_protocol(server: Server) -> None:
    name = f"forms-{uuid4()}"
    tree = query(server, "CreateQueue", {"QueueName": name, "Attributes": {"DelaySeconds": "0"}})[1]
    url = tree.findtext(f"{XML}CreateQueueResult/{XML}QueueUrl")
    assert url == f"{server.url}/000000000000/{name}"
    attribute = {"DataType": "Binary", "BinaryValue": "AAE="}
    sent = query(
        server, "SendMessage", {"QueueUrl": url, "MessageBody": "a <b>\r\n", "MessageAttributes": {"n": attribute}}
    )[1].find(f"{XML}SendMessageResult")
    assert sent is not None
    # The queue's own address, with the action in the query string, as a browser or curl would ask.
    form = urlencode({"Action": "ReceiveMessage", "MessageAttributeName.1": "All", "AttributeName.1": "SenderId"})
    with urlopen(f"{url}?{form}") as answer:
        assert answer.headers["content-type"] == "text/xml"
        message = ElementTree.fromstring(answer.read()).find(f"{XML}ReceiveMessageResult/{XML}Message")
    assert message is not None
    assert message.findtext(f"{XML}Body") == "a <b>\r\n"
    assert message.findtext(f"{XML}MessageId") == sent.findtext(f"{XML}MessageId")
    assert message.findtext(f"{XML}MessageAttribute/{XML}Value/{XML}BinaryValue") == "AAE="
    assert message.findtext(f"{XML}MD5OfMessageAttributes") == sent.findtext(f"{XML}MD5OfMessageAttributes")
    assert message.findtext(f"{XML}Attribute/{XML}Name") == "SenderId"
    handle = message.findtext(f"{XML}ReceiptHandle")
    entries = [{"Id": "a", "ReceiptHandle": handle}, {"Id": "b", "ReceiptHandle": "foreign"}]
    deleted = query(server, "DeleteMessageBatch", {"QueueUrl": url, "Entries": entries})[1][0]
    assert [one.findtext(f"{XML}Id") for one in deleted] == ["a", "b"]
    assert deleted[1].findtext(f"{XML}Code") == "ReceiptHandleIsInvalid"
    assert query(server, "DeleteQueue", {"QueueUrl": url})[0] == 200
