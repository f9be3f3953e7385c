"""Requests with something wrong in them, seeded: tables answer in the service's errors, never with one of their own."""

from __future__ import annotations

import http.client
import json
import random
from typing import Any
from uuid import uuid4

import pytest

from tests.deadlines import PATIENCE_SECONDS

NAME = f"junk-{uuid4()}"
KEY = {"p": {"S": "a"}, "s": {"N": "1"}}
VALUES = {":p": {"S": "a"}, ":n": {"N": "1"}, ":l": {"L": [{"N": "1"}]}}
REQUESTS: dict[str, dict[str, Any]] = {
    "CreateTable": {
        "TableName": "junk-never",
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
        "AttributeDefinitions": [
            {"AttributeName": "p", "AttributeType": "S"},
            {"AttributeName": "s", "AttributeType": "N"},
        ],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "by-s",
                "KeySchema": [{"AttributeName": "s", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]},
            }
        ],
        "BillingMode": "PAY_PER_REQUEST",
        "Tags": [{"Key": "k", "Value": "v"}],
    },
    "PutItem": {
        "TableName": NAME,
        "Item": {**KEY, "l": {"L": [{"M": {"x": {"SS": ["a"]}}}]}, "b": {"B": "aGk="}},
        "ConditionExpression": "attribute_exists(#p) OR size(l) < :n",
        "ExpressionAttributeNames": {"#p": "p"},
        "ExpressionAttributeValues": {":n": {"N": "1"}},
        "ReturnValues": "ALL_OLD",
    },
    "UpdateItem": {
        "TableName": NAME,
        "Key": KEY,
        "UpdateExpression": "SET l = list_append(if_not_exists(l, :l), :l), n[0] = :n REMOVE x.y ADD c :n",
        "ExpressionAttributeValues": {":l": {"L": [{"N": "1"}]}, ":n": {"N": "1"}},
        "ReturnValues": "UPDATED_NEW",
    },
    "GetItem": {"TableName": NAME, "Key": KEY, "ProjectionExpression": "p, l[0].x", "ConsistentRead": True},
    "DeleteItem": {"TableName": NAME, "Key": KEY, "ReturnConsumedCapacity": "INDEXES"},
    "Query": {
        "TableName": NAME,
        "KeyConditionExpression": "p = :p AND s BETWEEN :n AND :n",
        "FilterExpression": "contains(l, :n)",
        "ExpressionAttributeValues": {":p": {"S": "a"}, ":n": {"N": "1"}},
        "ExclusiveStartKey": KEY,
        "Limit": 5,
        "Select": "COUNT",
    },
    "Scan": {"TableName": NAME, "Segment": 0, "TotalSegments": 2, "ExclusiveStartKey": KEY, "Limit": 2},
    "BatchGetItem": {"RequestItems": {NAME: {"Keys": [KEY], "ProjectionExpression": "p"}}},
    "BatchWriteItem": {"RequestItems": {NAME: [{"PutRequest": {"Item": KEY}}]}},
    "TransactWriteItems": {
        "TransactItems": [{"Put": {"TableName": NAME, "Item": KEY}}, {"Delete": {"TableName": NAME, "Key": KEY}}],
        "ClientRequestToken": "t",
    },
    "TransactGetItems": {"TransactItems": [{"Get": {"TableName": NAME, "Key": KEY}}]},
    "UpdateTable": {
        "TableName": NAME,
        "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "nope"}}],
    },
    "UpdateTimeToLive": {
        "TableName": NAME,
        "TimeToLiveSpecification": {"AttributeName": "x", "Enabled": False},
    },
    "TagResource": {
        "ResourceArn": "arn:aws:dynamodb:us-east-1:000000000000:table/nope",
        "Tags": [{"Key": "a", "Value": "b"}],
    },
    "ListTables": {"ExclusiveStartTableName": "abc", "Limit": 3},
    "ListExports": {"MaxResults": 3, "NextToken": "x"},
    "ExportTableToPointInTime": {"TableArn": NAME, "S3Bucket": "b"},
}
JUNK: tuple[Any, ...] = (
    None, "", "x", 0, -1, 1.5, 10**30, True, [], {}, [None], [{}], {"S": "x"}, {"N": "x"}, {"N": "1e999"}, {"S": ""},
    {"L": [{"L": [{}]}]}, {"M": {"": {"NULL": False}}}, {"NS": ["1", "1"]}, {"B": "%"}, "a.b[0", "#n = :n", ":p",
    "\ud83d", "p", "SET", "NOT", "arn:aws:dynamodb:us-east-1:000000000000:table/x", "((((", "\u0000", {"": None},
)  # fmt: skip


def spoiled(value: Any, draw: random.Random) -> Any:
    """A copy with one place of it changed, added or gone."""
    if isinstance(value, dict) and value and draw.random() < 0.85:
        name = draw.choice(list(value))
        if draw.random() < 0.15:
            return {key: member for key, member in value.items() if key != name}
        return {**value, name: spoiled(value[name], draw)}
    if isinstance(value, list) and value and draw.random() < 0.7:
        place = draw.randrange(len(value))
        return [*value[:place], spoiled(value[place], draw), *value[place + 1 :]]
    return draw.choice(JUNK)


@pytest.mark.parametrize("operation", sorted(REQUESTS))
def test_junk_is_refused_in_the_words_of_the_service(server, operation):
    draw = random.Random(operation)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)

    def call(name: str, request: Any) -> tuple[int, Any]:
        headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"DynamoDB_20120810.{name}"}
        connection.request("POST", "/", json.dumps(request), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    call("CreateTable", {**REQUESTS["CreateTable"], "TableName": NAME})
    for _ in range(250):
        request = spoiled(REQUESTS[operation], draw)
        for _ in range(draw.randrange(2)):
            request = spoiled(request, draw)
        status, answer = call(operation, request)
        assert status < 500, (request, answer)
        assert status == 200 or answer["message"], (request, answer)
    connection.close()
