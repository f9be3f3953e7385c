"""The query protocol: forms to members, answers and errors to XML."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree

import pytest

from statewright.api.protocols.query import NAMESPACE, read_form, write_answer
from statewright.api.protocols.wire import Incoming
from statewright.api.service import QUERY
from statewright.api.sqs.service import SERVICE as SQS
from statewright.api.wires import wire_of
from statewright.errors import ApiError

URL = "http://127.0.0.1:4566/000000000000/q"


def read(action: str, **fields: str) -> dict[str, Any]:
    return read_form("sqs", urlencode({"Action": action, "Version": "2012-11-05", **fields}))[1]


def incoming(method: str, path: str = "/", query: str = "", body: bytes = b"", kind: str = "") -> Incoming:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    headers = {"content-type": kind} if kind else {}
    return Incoming(method, path, query, headers, receive, 1000)


FORM = "application/x-www-form-urlencoded; charset=utf-8"


@pytest.mark.parametrize(
    ("action", "fields", "members"),
    [
        (
            "CreateQueue",
            {
                "QueueName": "q",
                "Attribute.1.Name": "DelaySeconds",
                "Attribute.1.Value": "5",
                "Attribute.2.Name": "Policy",
                "Attribute.2.Value": "",
                "Tag.1.Key": "team",
                "Tag.1.Value": "a & b",
            },
            {"QueueName": "q", "Attributes": {"DelaySeconds": "5", "Policy": ""}, "tags": {"team": "a & b"}},
        ),
        # The model's own names, in the form of services without flattened members.
        (
            "CreateQueue",
            {"QueueName": "q", "Attributes.entry.1.key": "DelaySeconds", "Attributes.entry.1.value": "5"},
            {"QueueName": "q", "Attributes": {"DelaySeconds": "5"}},
        ),
        (
            "GetQueueAttributes",
            {
                "QueueUrl": URL,
                "AttributeName.2": "Policy",
                "AttributeName.10": "DelaySeconds",
                "AttributeName.1": "All",
            },
            {"QueueUrl": URL, "AttributeNames": ["All", "Policy", "DelaySeconds"]},
        ),
        ("GetQueueAttributes", {"AttributeNames.member.1": "All"}, {"AttributeNames": ["All"]}),
        ("GetQueueAttributes", {"AttributeName": "All"}, {"AttributeNames": ["All"]}),
        (
            "SendMessageBatch",
            {
                "QueueUrl": URL,
                "SendMessageBatchRequestEntry.1.Id": "a",
                "SendMessageBatchRequestEntry.1.MessageBody": "x=1&y",
                "SendMessageBatchRequestEntry.1.DelaySeconds": "7",
                "SendMessageBatchRequestEntry.1.MessageAttribute.1.Name": "n",
                "SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.DataType": "String",
                "SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.StringValue": "v",
                "SendMessageBatchRequestEntry.2.Id": "b",
            },
            {
                "QueueUrl": URL,
                "Entries": [
                    {
                        "Id": "a",
                        "MessageBody": "x=1&y",
                        "DelaySeconds": 7,
                        "MessageAttributes": {"n": {"DataType": "String", "StringValue": "v"}},
                    },
                    {"Id": "b"},
                ],
            },
        ),
        (
            "SendMessage",
            {
                "MessageBody": "b",
                "MessageAttribute.1.Name": "n",
                "MessageAttribute.1.Value.DataType": "Binary",
                "MessageAttribute.1.Value.BinaryValue": "AAE=",
                "MessageSystemAttribute.1.Name": "AWSTraceHeader",
                "MessageSystemAttribute.1.Value.DataType": "String",
                "MessageSystemAttribute.1.Value.StringValue": "Root=1",
            },
            {
                "MessageBody": "b",
                "MessageAttributes": {"n": {"DataType": "Binary", "BinaryValue": "AAE="}},
                "MessageSystemAttributes": {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1"}},
            },
        ),
        (
            "ReceiveMessage",
            {"MaxNumberOfMessages": "10", "WaitTimeSeconds": "-1", "MessageAttributeName.1": "All"},
            {"MaxNumberOfMessages": 10, "WaitTimeSeconds": -1, "MessageAttributeNames": ["All"]},
        ),
        # What is no number stays a text, and is refused by the check of types.
        ("ReceiveMessage", {"MaxNumberOfMessages": "ten"}, {"MaxNumberOfMessages": "ten"}),
        (
            "AddPermission",
            {"Label": "l", "AWSAccountId.1": "1" * 12, "ActionName.1": "SendMessage"},
            {"Label": "l", "AWSAccountIds": ["1" * 12], "Actions": ["SendMessage"]},
        ),
        ("UntagQueue", {"TagKey.1": "a", "TagKey.2": "b"}, {"TagKeys": ["a", "b"]}),
        ("ListQueues", {"Unknown": "x", "QueueNamePrefix": ""}, {"QueueNamePrefix": ""}),
        # A name that is both a value and the beginning of another.
        ("ListQueues", {"QueueNamePrefix": "p", "QueueNamePrefix.1": "x"}, {"QueueNamePrefix": "p"}),
    ],
)
def test_forms(action: str, fields: dict[str, str], members: dict[str, Any]) -> None:
    assert read(action, **fields) == members


@pytest.mark.parametrize(
    ("form", "code", "message"),
    [
        ("", "MissingAction", "The request must contain the parameter Action."),
        ("Action=", "MissingAction", "The request must contain the parameter Action."),
        ("Action=Fly", "InvalidAction", "The action Fly is not valid for this endpoint."),
        ("Action.1=CreateQueue", "MissingAction", "The request must contain the parameter Action."),
    ],
)
def test_forms_without_an_action(form: str, code: str, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        read_form("sqs", form)
    assert (caught.value.code, caught.value.message) == (code, message)


@pytest.mark.parametrize(
    ("request_", "members"),
    [
        (incoming("POST", body=b"Action=DeleteQueue&QueueUrl=x", kind=FORM), {"QueueUrl": "x"}),
        (incoming("POST", "/000000000000/q", body=b"Action=DeleteQueue", kind=FORM), {"QueueUrl": "/000000000000/q"}),
        (incoming("GET", "/000000000000/q", "Action=DeleteQueue"), {"QueueUrl": "/000000000000/q"}),
        (incoming("GET", "/", "Action=DeleteQueue"), {}),
    ],
)
def test_the_path_may_be_the_queue(request_: Incoming, members: dict[str, str]) -> None:
    assert asyncio.run(wire_of(SQS, QUERY).read(request_)) == ("DeleteQueue", members)


@pytest.mark.parametrize(
    ("method", "kind", "code"), [("PUT", FORM, "MethodNotAllowed"), ("POST", "text/plain", "UnsupportedMediaType")]
)
def test_requests_that_are_not_forms(method: str, kind: str, code: str) -> None:
    with pytest.raises(ApiError) as caught:
        asyncio.run(wire_of(SQS, QUERY).read(incoming(method, body=b"Action=ListQueues", kind=kind)))
    assert caught.value.code == code


def tags(element: ElementTree.Element) -> Any:
    """An XML element as nested lists, without the namespace."""
    name = element.tag.removeprefix(f"{{{NAMESPACE}}}")
    return [name, element.text or ""] if len(element) == 0 else [name, *(tags(below) for below in element)]


@pytest.mark.parametrize(
    ("operation", "result", "shown"),
    [
        ("ListQueues", {"QueueUrls": ["a", "b"]}, [["QueueUrl", "a"], ["QueueUrl", "b"]]),
        ("ListDeadLetterSourceQueues", {"queueUrls": ["a"]}, [["QueueUrl", "a"]]),
        (
            "GetQueueAttributes",
            {"Attributes": {"DelaySeconds": "0"}},
            [["Attribute", ["Name", "DelaySeconds"], ["Value", "0"]]],
        ),
        ("ListQueueTags", {"Tags": {"k": "<&>"}}, [["Tag", ["Key", "k"], ["Value", "<&>"]]]),
        (
            "SendMessageBatch",
            {
                "Successful": [{"Id": "a", "MessageId": "m", "MD5OfMessageBody": "5"}],
                "Failed": [{"Id": "b", "SenderFault": True, "Code": "c", "Message": "no"}],
            },
            [
                ["SendMessageBatchResultEntry", ["Id", "a"], ["MessageId", "m"], ["MD5OfMessageBody", "5"]],
                ["BatchResultErrorEntry", ["Id", "b"], ["SenderFault", "true"], ["Code", "c"], ["Message", "no"]],
            ],
        ),
        (
            "ReceiveMessage",
            {
                "Messages": [
                    {
                        "MessageId": "m",
                        "Body": "a\r\nb",
                        "Attributes": {"SenderId": "s"},
                        "MessageAttributes": {"n": {"DataType": "Binary", "BinaryValue": b"\x00\x01"}},
                    }
                ]
            },
            [
                [
                    "Message",
                    ["MessageId", "m"],
                    ["Body", "a\r\nb"],
                    ["Attribute", ["Name", "SenderId"], ["Value", "s"]],
                    ["MessageAttribute", ["Name", "n"], ["Value", ["BinaryValue", "AAE="], ["DataType", "Binary"]]],
                ]
            ],
        ),
        (
            "ListMessageMoveTasks",
            {"Results": [{"Status": "RUNNING", "ApproximateNumberOfMessagesMoved": 3}]},
            [["ListMessageMoveTasksResultEntry", ["Status", "RUNNING"], ["ApproximateNumberOfMessagesMoved", "3"]]],
        ),
    ],
)
def test_answers(operation: str, result: dict[str, Any], shown: list[Any]) -> None:
    root = ElementTree.fromstring(write_answer("sqs", operation, result, "r-1"))
    assert tags(root) == [
        f"{operation}Response",
        [f"{operation}Result", *shown],
        ["ResponseMetadata", ["RequestId", "r-1"]],
    ]


def test_an_operation_without_a_result() -> None:
    root = ElementTree.fromstring(write_answer("sqs", "DeleteQueue", {}, "r-1"))
    assert tags(root) == ["DeleteQueueResponse", ["ResponseMetadata", ["RequestId", "r-1"]]]


@pytest.mark.parametrize(
    ("error", "status", "code", "message"),
    [
        (
            ApiError("QueueDoesNotExist", "The specified queue does not exist."),
            400,
            "AWS.SimpleQueueService.NonExistentQueue",
            "The specified queue does not exist for this wsdl version.",
        ),
        (ApiError("InvalidParameterValueException", "a < b"), 400, "InvalidParameterValue", "a < b"),
        (ApiError("OverLimit", "too many"), 403, "OverLimit", "too many"),
        (ApiError("PurgeQueueInProgress", "wait"), 403, "AWS.SimpleQueueService.PurgeQueueInProgress", "wait"),
        (ApiError("ResourceNotFoundException", "gone"), 404, "ResourceNotFoundException", "gone"),
    ],
)
def test_errors(error: ApiError, status: int, code: str, message: str) -> None:
    answer = wire_of(SQS, QUERY).refusal(error, "r-1", "/")
    assert answer.status == status
    assert isinstance(answer.body, bytes)
    assert tags(ElementTree.fromstring(answer.body)) == [
        "ErrorResponse",
        ["Error", ["Type", "Sender"], ["Code", code], ["Message", message], ["Detail", ""]],
        ["RequestId", "r-1"],
    ]
