"""What the service answers about keys, descriptions and wrong requests: texts, orders, limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from tests.deadlines import until
from tests.e2e.conftest import Server

DETECTED = "1 validation error detected: "
INVALID = "One or more parameter values were invalid: "
EMPTY = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty "
MISMATCH = "The provided key element does not match the schema"
UNUSED = "Value provided in ExpressionAttributeNames unused in expressions: keys: {#spare}"
NAME = f"recorded-{uuid4()}"
KEY = {"shop": {"S": "north"}, "day": {"S": "mon"}}
SPARE = {"#spare": "x"}


def attributes(**types: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()]


def schema(*elements: str) -> list[dict[str, str]]:
    """`+name` is a partition key, `-name` a sort key."""
    return [{"AttributeName": one[1:], "KeyType": "HASH" if one[0] == "+" else "RANGE"} for one in elements]


def index(name: str, *elements: str, **more: Any) -> dict[str, Any]:
    return {"IndexName": name, "KeySchema": schema(*elements), "Projection": {"ProjectionType": "ALL"}, **more}


@pytest.fixture(scope="module")
def ddb(server: Server) -> Any:
    return server.client("dynamodb")


@pytest.fixture(scope="module")
def table(ddb: Any) -> Iterator[str]:
    ddb.create_table(
        TableName=NAME,
        KeySchema=schema("+shop", "-day"),
        AttributeDefinitions=attributes(shop="S", day="S", city="S", street="S", floor="N", till="S"),
        BillingMode="PAY_PER_REQUEST",
        GlobalSecondaryIndexes=[
            index("by-place", "+city", "+street", "-floor", "-till"),
            index("by-till", "+city", "-till"),
        ],
    )
    yield NAME
    ddb.delete_table(TableName=NAME)


def refusal(ddb: Any, operation: str, **request: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as caught:
        getattr(ddb, operation)(**request)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


def place(floor: int, till: str, city: str = "ulm", street: str = "main") -> dict[str, Any]:
    return {"city": {"S": city}, "street": {"S": street}, "floor": {"N": str(floor)}, "till": {"S": till}}


def test_an_index_may_have_several_attributes_of_both_kinds(ddb, table):
    there = [(2, "b"), (1, "a"), (10, "a"), (2, "a"), (2, "c")]
    for number, (floor, till) in enumerate(there):
        ddb.put_item(TableName=table, Item={"shop": {"S": "many"}, "day": {"S": str(number)}, **place(floor, till)})
    ddb.put_item(TableName=table, Item={"shop": {"S": "many"}, "day": {"S": "other"}, **place(1, "a", street="side")})
    lacking = place(3, "a")
    del lacking["till"]
    ddb.put_item(TableName=table, Item={"shop": {"S": "many"}, "day": {"S": "lacking"}, **lacking})

    def found(condition: str = "", backward: bool = False, limit: int = 0, **values: Any) -> list[tuple[int, str]]:
        request = {
            "TableName": table,
            "IndexName": "by-place",
            "KeyConditionExpression": "city = :c AND street = :s" + (f" AND {condition}" if condition else ""),
            "ExpressionAttributeValues": {
                ":c": {"S": "ulm"},
                ":s": {"S": "main"},
                **{f":{n}": v for n, v in values.items()},
            },
            "ScanIndexForward": not backward,
            **({"Limit": limit} if limit else {}),
        }
        shown = []
        while True:
            page = ddb.query(**request)
            shown += [(int(item["floor"]["N"]), item["till"]["S"]) for item in page["Items"]]
            if "LastEvaluatedKey" not in page:
                return shown
            assert set(page["LastEvaluatedKey"]) == {"shop", "day", "city", "street", "floor", "till"}
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    two = {"N": "2"}
    assert found() == sorted(there)
    assert found(backward=True, limit=2) == sorted(there, reverse=True)
    assert found("floor = :f", f=two) == [(2, "a"), (2, "b"), (2, "c")]
    assert found("floor > :f", f=two) == [(10, "a")]
    assert found("floor = :f AND till > :t", f=two, t={"S": "a"}) == [(2, "b"), (2, "c")]
    assert found("floor = :f AND till < :t", f=two, t={"S": "b"}) == [(2, "a")]
    assert found("floor = :f AND begins_with(till, :t)", f=two, t={"S": "c"}) == [(2, "c")]
    assert found("till = :t AND floor = :f", f=two, t={"S": "b"}) == [(2, "b")]
    shown = ddb.scan(TableName=table, IndexName="by-place", Limit=3)
    more = ddb.scan(TableName=table, IndexName="by-place", ExclusiveStartKey=shown["LastEvaluatedKey"])
    assert shown["Count"] + more["Count"] == 6
    described = ddb.describe_table(TableName=table)["Table"]["GlobalSecondaryIndexes"]
    assert described[0]["KeySchema"] == schema("+city", "+street", "-floor", "-till")


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("city = :x", "Query condition missed key schema element: street"),
        ("city = :x AND street = :x AND till = :x", "Query condition missed key schema element: floor"),
        ("city = :x AND street > :x", "Query key condition not supported"),
        ("city = :x AND street = :x AND floor > :n AND till = :x", "Query key condition not supported"),
    ],
)
def test_queries_of_such_an_index_that_are_refused(ddb, table, condition, message):
    values = {":x": {"S": "x"}, **({":n": {"N": "1"}} if ":n" in condition else {})}
    request = {"KeyConditionExpression": condition, "ExpressionAttributeValues": values}
    assert refusal(ddb, "query", TableName=table, IndexName="by-place", **request) == ("ValidationException", message)


def test_such_an_index_can_be_added_to_a_table_with_items(ddb):
    name = f"later-{uuid4()}"
    ddb.create_table(
        TableName=name, KeySchema=schema("+id"), AttributeDefinitions=attributes(id="S"), BillingMode="PAY_PER_REQUEST"
    )
    ddb.put_item(TableName=name, Item={"id": {"S": "1"}, "a": {"S": "x"}, "b": {"N": "1"}, "c": {"S": "y"}})
    ddb.update_table(
        TableName=name,
        AttributeDefinitions=attributes(id="S", a="S", b="N", c="S"),
        GlobalSecondaryIndexUpdates=[{"Create": index("abc", "+a", "+b", "-c")}],
    )
    until(lambda: ddb.describe_table(TableName=name)["Table"]["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE")
    assert ddb.scan(TableName=name, IndexName="abc")["Count"] == 1
    ddb.delete_table(TableName=name)


@pytest.mark.parametrize(
    ("elements", "message"),
    [
        (("-a", "+b", "+c"), "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"),
        (
            ("+a", "-b", "+c"),
            INVALID + "Index KeySchema must have its HASH elements before its RANGE elements for index: abc",
        ),
        (("+a", "+b", "-a"), INVALID + "Index KeySchema must not have an attribute twice for index: abc"),
        (
            ("+a", "+b", "+c", "+d", "+e"),
            INVALID + "Index KeySchema must have at most 4 HASH and 4 RANGE elements for index: abc",
        ),
    ],
)
def test_keys_of_indexes_that_are_refused(ddb, elements, message):
    found = refusal(
        ddb,
        "create_table",
        TableName=f"never-{uuid4()}",
        KeySchema=schema("+id"),
        AttributeDefinitions=attributes(id="S", **dict.fromkeys(sorted({one[1:] for one in elements}), "S")),
        BillingMode="PAY_PER_REQUEST",
        GlobalSecondaryIndexes=[index("abc", *elements)],
    )
    assert found == ("ValidationException", message)


def test_a_table_with_three_key_elements_is_refused(ddb):
    code, message = refusal(
        ddb,
        "create_table",
        TableName=f"never-{uuid4()}",
        KeySchema=schema("+a", "-b", "-c"),
        AttributeDefinitions=attributes(a="S", b="S", c="S"),
        BillingMode="PAY_PER_REQUEST",
    )
    assert (code, message) == (
        "ValidationException",
        DETECTED + "Value '[KeySchemaElement(attributeName=a, keyType=HASH), KeySchemaElement(attributeName=b, "
        "keyType=RANGE), KeySchemaElement(attributeName=c, keyType=RANGE)]' at 'keySchema' failed to satisfy "
        "constraint: Member must have length less than or equal to 2",
    )


LONG_RANGE = INVALID + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
LONG_HASH = INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes"


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"till": {"S": "x" * 1025}}, LONG_RANGE),
        ({"city": {"S": "x" * 2049}}, LONG_HASH),
        ({"city": {"S": "x" * 1025}, "street": {"S": "y" * 1025}}, LONG_HASH),
    ],
)
def test_keys_of_indexes_have_the_lengths_of_other_keys(ddb, table, item, message):
    assert refusal(ddb, "put_item", TableName=table, Item={**KEY, **item}) == ("ValidationException", message)
    sets = ", ".join(f"{name} = :{name}" for name in item)
    request = {"UpdateExpression": f"SET {sets}", "ExpressionAttributeValues": {f":{n}": v for n, v in item.items()}}
    assert refusal(ddb, "update_item", TableName=table, Key=KEY, **request) == ("ValidationException", message)


def test_the_longest_keys_of_indexes_are_taken(ddb, table):
    longest = {"city": {"S": "x" * 2048}, "till": {"S": "y" * 1024}}
    ddb.put_item(TableName=table, Item={"shop": {"S": "long"}, "day": {"S": "1"}, **longest})
    request = {"KeyConditionExpression": "city = :c", "ExpressionAttributeValues": {":c": longest["city"]}}
    assert ddb.query(TableName=table, IndexName="by-till", **request)["Count"] == 1


def update(text: str, **values: Any) -> dict[str, Any]:
    given = {f":{name}": value for name, value in values.items()}
    return {"Key": KEY, "UpdateExpression": text, **({"ExpressionAttributeValues": given} if given else {})}


QUERY = {"KeyConditionExpression": "shop = :s", "ExpressionAttributeValues": {":s": {"S": "north"}}}


@pytest.mark.parametrize(
    ("operation", "request_", "message"),
    [
        (
            "update_item",
            update("SET"),
            DETECTED + 'Invalid UpdateExpression: Syntax error; token: "<EOF>", near: "SET"',
        ),
        ("update_item", update("REMOVE x") | {"ExpressionAttributeNames": SPARE}, DETECTED + UNUSED),
        (
            "delete_item",
            {"Key": KEY, "ConditionExpression": "attribute_exists(x)", "ExpressionAttributeNames": SPARE},
            DETECTED + UNUSED,
        ),
        (
            "put_item",
            {
                "Item": KEY,
                "ConditionExpression": "attribute_exists(x)",
                "ExpressionAttributeValues": {":v": {"S": "1"}},
            },
            DETECTED + "Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}",
        ),
        (
            "put_item",
            {"Item": KEY, "ConditionExpression": "attribute_exists(x)", "ExpressionAttributeValues": {}},
            DETECTED + "ExpressionAttributeValues must not be empty",
        ),
        ("put_item", {"Item": {**KEY, "x": {"SS": []}}}, f"{DETECTED}{INVALID}An string set  may not be empty"),
        ("get_item", {"Key": KEY, "ProjectionExpression": "x", "ExpressionAttributeNames": SPARE}, UNUSED),
        (
            "get_item",
            {"Key": KEY, "ExpressionAttributeNames": SPARE},
            "ExpressionAttributeNames can only be specified when using expressions",
        ),
        (
            "query",
            QUERY | {"Select": "ALL_PROJECTED_ATTRIBUTES"},
            DETECTED + "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
        ),
        (
            "scan",
            {"Select": "ALL_PROJECTED_ATTRIBUTES"},
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
        ),
        (
            "query",
            QUERY | {"Select": "COUNT", "ProjectionExpression": "x"},
            DETECTED + "Cannot specify the ProjectionExpression when choosing to get only the Count",
        ),
        (
            "scan",
            {"Select": "COUNT", "ProjectionExpression": "x"},
            "Cannot specify the ProjectionExpression when choosing to get only the Count",
        ),
        (
            "update_item",
            update("ADD huge :n", n={"N": "9" + "0" * 125}),
            "Number overflow. Attempting to store a number with magnitude larger than supported range",
        ),
    ],
)
def test_texts(ddb, table, operation, request_, message):
    if "huge" in str(request_):
        ddb.update_item(TableName=table, **update("SET huge = :n", n={"N": "9" + "0" * 125}))
    assert refusal(ddb, operation, TableName=table, **request_) == ("ValidationException", message)


def test_the_order_of_checks(ddb, table):
    keys = {"Keys": [KEY], "ProjectionExpression": "x", "ExpressionAttributeNames": SPARE}
    assert refusal(ddb, "batch_get_item", RequestItems={"no-such": keys}) == ("ValidationException", UNUSED)
    nothing = {**QUERY, "FilterExpression": " ", "TableName": "no-such"}
    assert refusal(ddb, "query", **nothing) == (
        "ValidationException",
        "Invalid FilterExpression: The expression can not be empty;",
    )
    put = {"PutRequest": {"Item": {"shop": {"S": "x"}}}}
    assert refusal(ddb, "batch_write_item", RequestItems={table: [put]}) == ("ValidationException", MISMATCH)


@pytest.mark.parametrize(
    "action",
    [
        {"Put": {"Item": {**KEY, "day": {"S": ""}}}},
        {"Delete": {"Key": {**KEY, "day": {"S": ""}}}},
        {"Update": {"Key": {**KEY, "day": {"S": ""}}, "UpdateExpression": "REMOVE x"}},
        {"ConditionCheck": {"Key": {**KEY, "day": {"S": ""}}, "ConditionExpression": "attribute_exists(x)"}},
    ],
)
def test_an_empty_key_refuses_a_transaction(ddb, table, action):
    ((kind, members),) = action.items()
    found = refusal(ddb, "transact_write_items", TransactItems=[{kind: {"TableName": table, **members}}])
    assert found == ("ValidationException", EMPTY + "string value. Key: day")


def test_tags_are_listed_ten_at_a_time(ddb, table):
    arn = ddb.describe_table(TableName=table)["Table"]["TableArn"]
    ddb.tag_resource(ResourceArn=arn, Tags=[{"Key": f"key{n:02}", "Value": "x"} for n in range(13)])
    page = ddb.list_tags_of_resource(ResourceArn=arn)
    rest = ddb.list_tags_of_resource(ResourceArn=arn, NextToken=page["NextToken"])
    assert (len(page["Tags"]), len(rest["Tags"]), "NextToken" in rest) == (10, 3, False)
    assert len({tag["Key"] for tag in page["Tags"] + rest["Tags"]}) == 13
    assert refusal(ddb, "list_tags_of_resource", ResourceArn=arn, NextToken="?")[0] == "ValidationException"


def warm(read: int, write: int, status: str = "ACTIVE") -> dict[str, Any]:
    return {"ReadUnitsPerSecond": read, "WriteUnitsPerSecond": write, "Status": status}


def test_warm_throughput_is_shown(ddb, table):
    shown = ddb.describe_table(TableName=table)["Table"]
    assert shown["WarmThroughput"] == warm(12000, 4000)
    assert shown["GlobalSecondaryIndexes"][0]["WarmThroughput"] == warm(12000, 4000)
    name, units = f"warm-{uuid4()}", {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
    new: dict[str, Any] = {"KeySchema": schema("+id"), "AttributeDefinitions": attributes(id="S", a="S")}
    indexes = {"GlobalSecondaryIndexes": [index("by-a", "+a", ProvisionedThroughput=units)]}
    made = ddb.create_table(TableName=name, **new, ProvisionedThroughput=units, **indexes)["TableDescription"]
    assert "WarmThroughput" not in made
    shown = ddb.describe_table(TableName=name)["Table"]
    assert shown["WarmThroughput"] == shown["GlobalSecondaryIndexes"][0]["WarmThroughput"] == warm(5, 5)
    ddb.update_table(TableName=name, WarmThroughput={"ReadUnitsPerSecond": 7, "WriteUnitsPerSecond": 6})
    assert ddb.describe_table(TableName=name)["Table"]["WarmThroughput"] == warm(7, 6)
    ddb.delete_table(TableName=name)

    given = {"ReadUnitsPerSecond": 13000, "WriteUnitsPerSecond": 5000}
    new["AttributeDefinitions"] = attributes(id="S")
    made = ddb.create_table(TableName=name, **new, BillingMode="PAY_PER_REQUEST", WarmThroughput=given)
    assert made["TableDescription"]["WarmThroughput"] == warm(13000, 5000, "UPDATING")
    assert ddb.describe_table(TableName=name)["Table"]["WarmThroughput"] == warm(13000, 5000)
    ddb.delete_table(TableName=name)
    given = {"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 10}
    new |= {"TableName": name, "BillingMode": "PAY_PER_REQUEST", "WarmThroughput": given}
    assert refusal(ddb, "create_table", **new) == (
        "ValidationException",
        INVALID + "Requested WriteUnitsPerSecond for WarmThroughput for table is lower than initial throughput for "
        "OnDemand",
    )


def test_encryption_is_shown_with_its_key(ddb):
    name = f"sealed-{uuid4()}"
    new = {"KeySchema": schema("+id"), "AttributeDefinitions": attributes(id="S"), "BillingMode": "PAY_PER_REQUEST"}
    ddb.create_table(TableName=name, **new, SSESpecification={"Enabled": True})
    shown = ddb.describe_table(TableName=name)["Table"]["SSEDescription"]
    key = shown.pop("KMSMasterKeyArn")
    assert shown == {"Status": "ENABLED", "SSEType": "KMS"}
    assert key.startswith("arn:aws:kms:us-east-1:000000000000:key/")
    own = key.rpartition("/")[0] + "/own"
    ddb.update_table(TableName=name, SSESpecification={"Enabled": True, "KMSMasterKeyId": "own"})
    assert ddb.describe_table(TableName=name)["Table"]["SSEDescription"]["KMSMasterKeyArn"] == own
    off = ddb.update_table(TableName=name, SSESpecification={"Enabled": False})["TableDescription"]
    assert off["SSEDescription"] == {"Status": "UPDATING", "SSEType": "KMS", "KMSMasterKeyArn": own}
    assert "SSEDescription" not in ddb.describe_table(TableName=name)["Table"]
    ddb.delete_table(TableName=name)
