"""The query protocol of services whose model is of it: SNS."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from statewright.api.protocols.query import read_form, write_answer, write_error
from statewright.errors import ApiError

NAMESPACE = "http://sns.amazonaws.com/doc/2010-03-31/"


@pytest.mark.parametrize(
    ("action", "fields", "members"),
    [
        (
            "CreateTopic",
            {
                "Name": "t",
                "Attributes.entry.1.key": "DisplayName",
                "Attributes.entry.1.value": "",
                "Tags.member.1.Key": "k",
                "Tags.member.1.Value": "v",
            },
            {"Name": "t", "Attributes": {"DisplayName": ""}, "Tags": [{"Key": "k", "Value": "v"}]},
        ),
        ("CreateTopic", {"Name": "t", "Tags": ""}, {"Name": "t", "Tags": []}),
        (
            "Subscribe",
            {"TopicArn": "a", "Protocol": "sqs", "ReturnSubscriptionArn": "true"},
            {"TopicArn": "a", "Protocol": "sqs", "ReturnSubscriptionArn": True},
        ),
        (
            "Publish",
            {
                "Message": "m",
                "MessageAttributes.entry.1.Name": "n",
                "MessageAttributes.entry.1.Value.DataType": "Binary",
                "MessageAttributes.entry.1.Value.BinaryValue": "YWI=",
            },
            {"Message": "m", "MessageAttributes": {"n": {"DataType": "Binary", "BinaryValue": "YWI="}}},
        ),
        (
            "AddPermission",
            {"TopicArn": "a", "Label": "l", "AWSAccountId.member.1": "1", "AWSAccountId.member.2": "2"},
            {"TopicArn": "a", "Label": "l", "AWSAccountId": ["1", "2"]},
        ),
    ],
)
def test_a_form_becomes_members(action: str, fields: dict[str, str], members: object) -> None:
    assert read_form("sns", urlencode({"Action": action, **fields})) == (action, members)


@pytest.mark.parametrize(
    ("operation", "result", "inside"),
    [
        ("ListTopics", {"Topics": []}, "<ListTopicsResult><Topics></Topics></ListTopicsResult>"),
        (
            "ListTopics",
            {"Topics": [{"TopicArn": "a&b"}], "NextToken": "n"},
            "<ListTopicsResult><Topics><member><TopicArn>a&amp;b</TopicArn></member></Topics>"
            "<NextToken>n</NextToken></ListTopicsResult>",
        ),
        (
            "GetTopicAttributes",
            {"Attributes": {"Owner": "1"}},
            "<GetTopicAttributesResult><Attributes><entry><key>Owner</key><value>1</value></entry></Attributes>"
            "</GetTopicAttributesResult>",
        ),
        ("DeleteTopic", {}, ""),
    ],
)
def test_an_answer_becomes_xml(operation: str, result: dict[str, object], inside: str) -> None:
    assert write_answer("sns", operation, result, "r").decode() == (
        f'<?xml version="1.0"?><{operation}Response xmlns="{NAMESPACE}">{inside}'
        f"<ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></{operation}Response>"
    )


def test_an_error_becomes_xml() -> None:
    assert write_error(ApiError("NotFound", "Topic does not exist"), 404, "r", "sns").decode() == (
        f'<?xml version="1.0"?><ErrorResponse xmlns="{NAMESPACE}"><Error><Type>Sender</Type><Code>NotFound</Code>'
        "<Message>Topic does not exist</Message></Error><RequestId>r</RequestId></ErrorResponse>"
    )
