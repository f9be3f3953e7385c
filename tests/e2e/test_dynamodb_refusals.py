"""What tables refuse, in the service's words: operation by operation, parameter by parameter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import Server

NAME = f"refusing-{uuid4()}"
INVALID = "One or more parameter values were invalid: "
KEY = {"p": {"S": "a"}, "s": {"N": "1"}}
MISMATCH = "The provided key element does not match the schema"
HASH = {"AttributeName": "p", "KeyType": "HASH"}
RANGE = {"AttributeName": "s", "KeyType": "RANGE"}
P, S = {"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "s", "AttributeType": "N"}
G = {"AttributeName": "g", "AttributeType": "S"}
ALL = {"ProjectionType": "ALL"}
GSI = {"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": ALL}
LSI = {"IndexName": "by-l", "KeySchema": [HASH, {"AttributeName": "g", "KeyType": "RANGE"}], "Projection": ALL}
NEW = {"KeySchema": [HASH], "AttributeDefinitions": [P], "BillingMode": "PAY_PER_REQUEST"}
UNITS = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
ONE_P = {"KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"S": "a"}}}


@pytest.fixture(scope="module")
def ddb(server: Server) -> Iterator[Any]:
    client = server.client("dynamodb")
    keys_only = {**GSI, "IndexName": "by-k", "Projection": {"ProjectionType": "KEYS_ONLY"}}
    client.create_table(
        TableName=NAME,
        KeySchema=[HASH, RANGE],
        AttributeDefinitions=[P, S, G],
        BillingMode="PAY_PER_REQUEST",
        GlobalSecondaryIndexes=[GSI, keys_only],
        LocalSecondaryIndexes=[LSI],
    )
    client.put_item(TableName=NAME, Item={**KEY, "text": {"S": "x"}})
    yield client
    client.delete_table(TableName=NAME)


def refusal(ddb: Any, operation: str, request: dict[str, Any]) -> tuple[str, str]:
    with pytest.raises(ClientError) as caught:
        getattr(ddb, operation)(**request)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


CASES: list[tuple[str, dict[str, Any], str]] = [
    ("put_item", {"Item": {"p": {"S": "a"}}}, INVALID + "Missing the key s in the item"),
    ("put_item", {"Item": {**KEY, "s": {"S": "1"}}}, INVALID + "Type mismatch for key s expected: N actual: S"),
    (
        "put_item",
        {"Item": {**KEY, "p": {"S": ""}}},
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty "
        "string value. Key: p",
    ),
    (
        "put_item",
        {"Item": {**KEY, "g": {"N": "1"}}},
        INVALID + "Type mismatch for Index Key g Expected: S Actual: N IndexName: by-l",
    ),
    (
        "put_item",
        {"Item": {**KEY, "p": {"S": "x" * 2049}}},
        INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes",
    ),
    ("put_item", {"Item": {**KEY, "x": {"S": "x" * 409_600}}}, "Item size has exceeded the maximum allowed size"),
    ("put_item", {"Item": KEY, "ReturnValues": "ALL_NEW"}, "Return values set to invalid value"),
    (
        "put_item",
        {"Item": KEY, "ReturnValues": "SOME"},
        "1 validation error detected: Value 'SOME' at 'returnValues' failed to satisfy constraint: Member must satisfy "
        "enum value set: [NONE, ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATED_NEW]",
    ),
    (
        "put_item",
        {},
        "1 validation error detected: Value null at 'item' failed to satisfy constraint: Member must not be null",
    ),
    (
        "put_item",
        {"Item": KEY, "Expected": {"p": {"Exists": False}}},
        INVALID + "Expected is a legacy parameter, which Statewright does not support; use ConditionExpression",
    ),
    (
        "put_item",
        {"Item": KEY, "ExpressionAttributeNames": {"#a": "a"}},
        "ExpressionAttributeNames can only be specified when using expressions: ConditionExpression is null",
    ),
    ("get_item", {"Key": {"p": {"S": "a"}}}, MISMATCH),
    ("get_item", {"Key": {"p": {"S": "a"}, "s": {"S": "1"}}}, MISMATCH),
    ("get_item", {"Key": {"p": {"S": "a"}, "x": {"N": "1"}}}, MISMATCH),
    ("get_item", {"Key": {**KEY, "x": {"N": "1"}}}, MISMATCH),
    (
        "get_item",
        {"Key": KEY, "ProjectionExpression": "name"},
        "Invalid ProjectionExpression: Attribute name is a reserved keyword; reserved keyword: name",
    ),
    (
        "get_item",
        {"Key": KEY, "AttributesToGet": ["p"]},
        INVALID + "AttributesToGet is a legacy parameter, which Statewright does not support; use ProjectionExpression",
    ),
    ("delete_item", {"Key": {}}, MISMATCH),
    ("update_item", {"Key": {"p": {"S": "a"}}}, MISMATCH),
    (
        "update_item",
        {"Key": KEY, "UpdateExpression": "SET s = :v", "ExpressionAttributeValues": {":v": {"N": "2"}}},
        INVALID + "Cannot update attribute s. This attribute is part of the key",
    ),
    (
        "update_item",
        {"Key": KEY, "UpdateExpression": "SET g = :v", "ExpressionAttributeValues": {":v": {"N": "2"}}},
        "The update expression attempted to update the secondary index key to unsupported type",
    ),
    (
        "update_item",
        {"Key": KEY, "UpdateExpression": "SET x = :v", "ExpressionAttributeValues": {":v": {"S": "x" * 409_600}}},
        "Item size to update has exceeded the maximum allowed size",
    ),
    (
        "update_item",
        {"Key": KEY, "AttributeUpdates": {"x": {"Action": "DELETE"}}},
        INVALID + "AttributeUpdates is a legacy parameter, which Statewright does not support; use UpdateExpression",
    ),
    ("query", {}, "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."),
    (
        "query",
        {"KeyConditionExpression": "s = :p", "ExpressionAttributeValues": {":p": {"N": "1"}}},
        "Query condition missed key schema element: p",
    ),
    (
        "query",
        {"KeyConditionExpression": "p > :p", "ExpressionAttributeValues": {":p": {"S": "a"}}},
        "Query key condition not supported",
    ),
    (
        "query",
        {"KeyConditionExpression": "p = :p AND x = :p", "ExpressionAttributeValues": {":p": {"S": "a"}}},
        "Query condition missed key schema element: s",
    ),
    (
        "query",
        {"KeyConditionExpression": "p = :p AND p = :p", "ExpressionAttributeValues": {":p": {"S": "a"}}},
        "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key",
    ),
    (
        "query",
        {"KeyConditionExpression": "p = :p OR s = :p", "ExpressionAttributeValues": {":p": {"S": "a"}}},
        "Invalid KeyConditionExpression: Invalid operator used in KeyConditionExpression: OR",
    ),
    (
        "query",
        {"KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"N": "1"}}},
        INVALID + "Condition parameter type does not match schema type",
    ),
    (
        "query",
        {**ONE_P, "FilterExpression": "p = :p"},
        "Filter Expression can only contain non-primary key attributes: Primary key attribute: p",
    ),
    ("query", {**ONE_P, "IndexName": "nope"}, "The table does not have the specified index: nope"),
    (
        "query",
        {**ONE_P, "IndexName": "by-g", "ConsistentRead": True},
        "Consistent reads are not supported on global secondary indexes",
    ),
    (
        "query",
        {
            "KeyConditionExpression": "g = :p",
            "ExpressionAttributeValues": {":p": {"S": "a"}},
            "IndexName": "by-k",
            "Select": "ALL_ATTRIBUTES",
        },
        INVALID + "Select type ALL_ATTRIBUTES is not supported for global secondary index by-k because its projection "
        "type is not ALL",
    ),
    (
        "query",
        {**ONE_P, "ExclusiveStartKey": {"p": {"S": "a"}}},
        f"The provided starting key is invalid: {MISMATCH}",
    ),
    (
        "query",
        {**ONE_P, "ExclusiveStartKey": {**KEY, "p": {"S": "b"}}},
        "The provided starting key is outside query boundaries based on provided conditions",
    ),
    (
        "query",
        {**ONE_P, "Limit": 0},
        "1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: Member must have value "
        "greater than or equal to 1",
    ),
    (
        "scan",
        {"Segment": 1},
        "The TotalSegments parameter is required but was not present in the request when Segment parameter is present",
    ),
    (
        "scan",
        {"TotalSegments": 2},
        "The Segment parameter is required but was not present in the request when parameter TotalSegments is present",
    ),
    (
        "scan",
        {"Segment": 2, "TotalSegments": 2},
        "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: 2 is not less "
        "than TotalSegments: 2",
    ),
    (
        "scan",
        {"ScanFilter": {"x": {"ComparisonOperator": "NOT_NULL"}}},
        INVALID + "ScanFilter is a legacy parameter, which Statewright does not support; use FilterExpression",
    ),
    (
        "update_table",
        {},
        "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or "
        "SSESpecification or ReplicaUpdates is required",
    ),
    (
        "update_table",
        {"AttributeDefinitions": [G], "GlobalSecondaryIndexUpdates": [{"Create": GSI}]},
        "Attempting to create an index which already exists",
    ),
    (
        "update_table",
        {"StreamSpecification": {"StreamEnabled": True}},
        INVALID + "StreamSpecification with StreamEnabled true must have a StreamViewType",
    ),
    (
        "update_time_to_live",
        {"TimeToLiveSpecification": {"AttributeName": "x", "Enabled": False}},
        "TimeToLive is already disabled",
    ),
]


@pytest.mark.parametrize(("operation", "request_", "message"), CASES)
def test_requests_on_a_table_that_are_refused(ddb, operation, request_, message):
    assert refusal(ddb, operation, {"TableName": NAME, **request_}) == ("ValidationException", message)


CREATIONS: list[tuple[dict[str, Any], str]] = [
    (
        {"TableName": "a!b"},
        "Invalid table/index name.  Table/index names must be between 3 and 255 characters long, and may contain only "
        "the characters a-z, A-Z, 0-9, '_', '-', and '.'",
    ),
    ({"KeySchema": [RANGE]}, "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"),
    ({"KeySchema": [HASH, HASH]}, "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"),
    (
        {"KeySchema": [HASH, {**HASH, "KeyType": "RANGE"}]},
        "Both the Hash Key and the Range Key element in the KeySchema have the same name",
    ),
    (
        {"KeySchema": [HASH, RANGE]},
        INVALID + "Some index key attributes are not defined in AttributeDefinitions. Keys: [p, s], "
        "AttributeDefinitions: [p]",
    ),
    (
        {"AttributeDefinitions": [P, S]},
        INVALID + "Number of attributes in KeySchema does not exactly match number of attributes defined in "
        "AttributeDefinitions",
    ),
    (
        {"BillingMode": "PROVISIONED"},
        INVALID + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
    ),
    (
        {"ProvisionedThroughput": UNITS},
        INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
        "PAY_PER_REQUEST",
    ),
    (
        {"LocalSecondaryIndexes": [LSI], "AttributeDefinitions": [P, G]},
        INVALID + "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex",
    ),
    (
        {"GlobalSecondaryIndexes": [GSI, GSI], "AttributeDefinitions": [P, G]},
        INVALID + "Duplicate index name: by-g",
    ),
    (
        {
            "GlobalSecondaryIndexes": [{**GSI, "Projection": {"ProjectionType": "INCLUDE"}}],
            "AttributeDefinitions": [P, G],
        },
        INVALID + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
    ),
    ({"GlobalSecondaryIndexes": []}, INVALID + "List of GlobalSecondaryIndexes is empty"),
]


@pytest.mark.parametrize(("changes", "message"), CREATIONS)
def test_tables_that_cannot_be_created(ddb, changes, message):
    request = {"TableName": f"never-{uuid4()}", **NEW, **changes}
    code, found = refusal(ddb, "create_table", request)
    if changes.get("TableName"):
        assert found.startswith("1 validation error detected") or found == message
    else:
        assert (code, found) == ("ValidationException", message)


OTHERS: list[tuple[str, dict[str, Any], tuple[str, str]]] = [
    ("create_table", {"TableName": NAME, **NEW}, ("ResourceInUseException", f"Table already exists: {NAME}")),
    (
        "describe_table",
        {"TableName": "no-such"},
        ("ResourceNotFoundException", "Requested resource not found: Table: no-such not found"),
    ),
    (
        "delete_table",
        {"TableName": "no-such"},
        ("ResourceNotFoundException", "Requested resource not found: Table: no-such not found"),
    ),
    *(
        (operation, {"TableName": "no-such", **request}, ("ResourceNotFoundException", "Requested resource not found"))
        for operation, request in (
            ("put_item", {"Item": KEY}),
            ("get_item", {"Key": KEY}),
            ("update_item", {"Key": KEY}),
            ("delete_item", {"Key": KEY}),
            ("query", ONE_P),
            ("scan", {}),
        )
    ),
    (
        "put_item",
        {"TableName": "no/such", "Item": KEY},
        (
            "ValidationException",
            "1 validation error detected: Value 'no/such' at 'tableName' failed to satisfy constraint: "
            "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
        ),
    ),
    (
        "describe_continuous_backups",
        {"TableName": "no-such"},
        ("TableNotFoundException", "Table not found: no-such"),
    ),
    (
        "batch_get_item",
        {"RequestItems": {NAME: {"Keys": [KEY, KEY]}}},
        ("ValidationException", "Provided list of item keys contains duplicates"),
    ),
    (
        "batch_get_item",
        {
            "RequestItems": {
                NAME: {"Keys": [{**KEY, "s": {"N": str(n)}} for n in range(99)]},
                f"{NAME}x": {"Keys": [KEY, KEY]},
            }
        },
        ("ValidationException", "Too many items requested for the BatchGetItem call"),
    ),
    (
        "batch_write_item",
        {"RequestItems": {NAME: [{"PutRequest": {"Item": KEY}}, {"DeleteRequest": {"Key": KEY}}]}},
        ("ValidationException", "Provided list of item keys contains duplicates"),
    ),
    (
        "transact_write_items",
        {"TransactItems": [{"Delete": {"TableName": NAME, "Key": KEY}}] * 2},
        ("ValidationException", "Transaction request cannot include multiple operations on one item"),
    ),
    (
        "transact_write_items",
        {"TransactItems": [{}]},
        ("ValidationException", "TransactItems can only contain one of Check, Put, Update or Delete"),
    ),
    (
        "transact_write_items",
        {"TransactItems": [{"Put": {"TableName": NAME, "Item": {"p": {"S": "a"}}}}]},
        (
            "TransactionCanceledException",
            "Transaction cancelled, please refer cancellation reasons for specific reasons [ValidationError]",
        ),
    ),
    (
        "transact_write_items",
        {"TransactItems": [{"Delete": {"TableName": "no-such", "Key": KEY}}]},
        ("ResourceNotFoundException", "Requested resource not found"),
    ),
    (
        "list_backups",
        {},
        ("UnknownOperationException", "This version of Statewright does not have dynamodb ListBackups yet."),
    ),
]


@pytest.mark.parametrize(("operation", "request_", "expected"), OTHERS)
def test_other_requests_that_are_refused(ddb, operation, request_, expected):
    assert refusal(ddb, operation, request_) == expected


@pytest.mark.parametrize("many", [26, 101])
def test_batches_that_are_too_long(ddb, many):
    puts = [{"PutRequest": {"Item": {**KEY, "s": {"N": str(n)}}}} for n in range(many)]
    code, message = refusal(ddb, "batch_write_item", {"RequestItems": {NAME: puts}})
    assert code == "ValidationException"
    assert "Member must have length less than or equal to 25" in message


def test_transactions_of_more_than_a_hundred(ddb):
    actions = [{"Delete": {"TableName": NAME, "Key": {**KEY, "s": {"N": str(n)}}}} for n in range(101)]
    code, message = refusal(ddb, "transact_write_items", {"TransactItems": actions})
    assert code == "ValidationException"
    assert "Member must have length less than or equal to 100" in message
