"""Tables through boto3: what SDKs send and get back, also after a kill."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import boto3  # type: ignore[import-untyped]
import pytest
from botocore.exceptions import ClientError

from tests.deadlines import until
from tests.e2e.conftest import Server, ended, machine

KEYS = [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}]
TYPES = [{"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "s", "AttributeType": "N"}]
EVERY_TYPE: dict[str, Any] = {
    "text": {"S": "é \U0001f600"},
    "empty": {"S": ""},
    "number": {"N": "-1.5"},
    "bytes": {"B": b"\x00\xff"},
    "yes": {"BOOL": True},
    "nothing": {"NULL": True},
    "list": {"L": [{"S": "a"}, {"L": []}, {"M": {}}]},
    "map": {"M": {"inner": {"B": b"x"}}},
    "texts": {"SS": ["a", "b"]},
    "numbers": {"NS": ["1", "2.5"]},
    "blobs": {"BS": [b"1", b"2"]},
}


def create(ddb: Any, **more: Any) -> str:
    name = f"t-{uuid4()}"
    settings = {"KeySchema": KEYS, "AttributeDefinitions": TYPES, "BillingMode": "PAY_PER_REQUEST", **more}
    ddb.create_table(TableName=name, **settings)
    ddb.get_waiter("table_exists").wait(TableName=name)
    return name


def key(part: str = "a", sort: int = 1) -> dict[str, Any]:
    return {"p": {"S": part}, "s": {"N": str(sort)}}


@pytest.fixture(scope="module")
def ddb(server: Server) -> Any:
    return server.client("dynamodb")


@pytest.fixture
def table(ddb: Any) -> Iterator[str]:
    name = create(ddb)
    yield name
    ddb.delete_table(TableName=name)


@pytest.fixture
def full(ddb: Any, table: str) -> str:
    """A table of twenty items in two parts."""
    puts = [{"PutRequest": {"Item": {**key(p, s), "v": {"S": "x" * s}}}} for p in "ab" for s in range(10)]
    assert ddb.batch_write_item(RequestItems={table: puts})["UnprocessedItems"] == {}
    return table


def test_every_type_comes_back_as_it_went(ddb, table):
    ddb.put_item(TableName=table, Item={**key(), **EVERY_TYPE})
    assert ddb.get_item(TableName=table, Key=key())["Item"] == {**key(), **EVERY_TYPE}
    assert "Item" not in ddb.get_item(TableName=table, Key=key("b"))


def test_the_resource_of_boto3_works(server, ddb, table):
    resource = boto3.resource(
        "dynamodb",
        endpoint_url=server.url,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    things = resource.Table(table)
    things.put_item(Item={"p": "a", "s": 1, "n": Decimal("1.10"), "set": {"x"}, "list": [1, {"k": None}]})
    assert things.get_item(Key={"p": "a", "s": 1})["Item"] == {
        "p": "a", "s": 1, "n": Decimal("1.1"), "set": {"x"}, "list": [1, {"k": None}],
    }  # fmt: skip
    from boto3.dynamodb.conditions import Attr, Key  # type: ignore[import-untyped]

    found = things.query(KeyConditionExpression=Key("p").eq("a") & Key("s").gte(0), FilterExpression=Attr("n").gt(1))
    assert found["Count"] == 1
    with things.batch_writer() as batch:
        for number in range(60):
            batch.put_item(Item={"p": "b", "s": number})
    assert things.query(KeyConditionExpression=Key("p").eq("b"))["Count"] == 60
    resource.meta.client.close()


def test_answers_carry_a_checksum(ddb, table):
    answer = ddb.put_item(TableName=table, Item=key())
    assert int(answer["ResponseMetadata"]["HTTPHeaders"]["x-amz-crc32"]) > 0


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [
        ("NONE", None),
        ("ALL_OLD", {**key(), "n": {"N": "1"}, "m": {"M": {"a": {"S": "x"}, "b": {"S": "y"}}}}),
        ("ALL_NEW", {**key(), "n": {"N": "3"}, "m": {"M": {"a": {"S": "z"}, "b": {"S": "y"}}}}),
        ("UPDATED_OLD", {"n": {"N": "1"}, "m": {"M": {"a": {"S": "x"}}}}),
        ("UPDATED_NEW", {"n": {"N": "3"}, "m": {"M": {"a": {"S": "z"}}}}),
    ],
)
def test_an_update_returns_what_is_asked_for(ddb, table, wanted, shown):
    ddb.put_item(TableName=table, Item={**key(), "n": {"N": "1"}, "m": {"M": {"a": {"S": "x"}, "b": {"S": "y"}}}})
    answer = ddb.update_item(
        TableName=table,
        Key=key(),
        UpdateExpression="SET m.a = :z ADD n :two",
        ExpressionAttributeValues={":z": {"S": "z"}, ":two": {"N": "2"}},
        ReturnValues=wanted,
    )
    assert answer.get("Attributes") == shown


def test_put_and_delete_return_the_old_item(ddb, table):
    assert "Attributes" not in ddb.put_item(TableName=table, Item=key(), ReturnValues="ALL_OLD")
    old = ddb.put_item(TableName=table, Item={**key(), "v": {"S": "2"}}, ReturnValues="ALL_OLD")
    assert old["Attributes"] == key()
    gone = ddb.delete_item(TableName=table, Key=key(), ReturnValues="ALL_OLD")
    assert gone["Attributes"] == {**key(), "v": {"S": "2"}}
    assert "Attributes" not in ddb.delete_item(TableName=table, Key=key(), ReturnValues="ALL_OLD")


def test_a_failed_condition_shows_the_item_if_asked(ddb, table):
    ddb.put_item(TableName=table, Item={**key(), "v": {"S": "there"}})
    request = {"TableName": table, "Item": key(), "ConditionExpression": "attribute_not_exists(p)"}
    with pytest.raises(ddb.exceptions.ConditionalCheckFailedException) as caught:
        ddb.put_item(**request, ReturnValuesOnConditionCheckFailure="ALL_OLD")
    assert caught.value.response["Item"] == {**key(), "v": {"S": "there"}}
    assert caught.value.response["Error"]["Message"] == "The conditional request failed"
    with pytest.raises(ddb.exceptions.ConditionalCheckFailedException) as caught:
        ddb.put_item(**request)
    assert "Item" not in caught.value.response


@pytest.mark.parametrize(
    ("condition", "values", "sorts"),
    [
        ("p = :p", {}, range(10)),
        ("p = :p AND s = :a", {":a": 3}, [3]),
        ("p = :p AND s < :a", {":a": 3}, range(3)),
        ("p = :p AND s <= :a", {":a": 3}, range(4)),
        ("p = :p AND s > :a", {":a": 7}, [8, 9]),
        ("s >= :a AND p = :p", {":a": 7}, [7, 8, 9]),
        ("p = :p AND s BETWEEN :a AND :b", {":a": 2, ":b": 4}, [2, 3, 4]),
        ("(p = :p) AND (:a < s)", {":a": 7}, [8, 9]),
        ("p = :p AND s > :a", {":a": 70}, []),
    ],
)
def test_queries_read_a_stretch_of_a_partition(ddb, full, condition, values, sorts):
    given = {":p": {"S": "a"}, **{name: {"N": str(value)} for name, value in values.items()}}
    for forward in (True, False):
        pages = ddb.get_paginator("query").paginate(
            TableName=full,
            KeyConditionExpression=condition,
            ExpressionAttributeValues=given,
            ScanIndexForward=forward,
            PaginationConfig={"PageSize": 4},
        )
        found = [int(item["s"]["N"]) for page in pages for item in page["Items"]]
        assert found == list(sorts if forward else reversed(list(sorts)))


def test_filters_come_after_limits_and_counts_tell_both(ddb, full):
    answer = ddb.query(
        TableName=full,
        KeyConditionExpression="p = :p",
        FilterExpression="size(v) > :n",
        ExpressionAttributeValues={":p": {"S": "a"}, ":n": {"N": "3"}},
        Limit=6,
        ReturnConsumedCapacity="TOTAL",
    )
    assert (answer["Count"], answer["ScannedCount"]) == (2, 6)
    assert answer["LastEvaluatedKey"] == key("a", 5)
    assert answer["ConsumedCapacity"] == {"TableName": full, "CapacityUnits": 0.5}
    counted = ddb.scan(TableName=full, Select="COUNT")
    assert (counted["Count"], counted["ScannedCount"]) == (20, 20)
    assert "Items" not in counted


def test_segments_of_a_scan_share_the_items_out(ddb, full):
    found = []
    for number in range(4):
        pages = ddb.get_paginator("scan").paginate(
            TableName=full, Segment=number, TotalSegments=4, PaginationConfig={"PageSize": 3}
        )
        found += [(item["p"]["S"], int(item["s"]["N"])) for page in pages for item in page["Items"]]
    assert sorted(found) == [(p, s) for p in "ab" for s in range(10)]


def test_a_page_ends_with_a_megabyte(ddb, table):
    for number in range(8):
        ddb.put_item(TableName=table, Item={**key("a", number), "v": {"S": "x" * 300_000}})
    answer = ddb.query(TableName=table, KeyConditionExpression="p = :p", ExpressionAttributeValues={":p": {"S": "a"}})
    assert answer["Count"] == 4
    assert answer["LastEvaluatedKey"] == key("a", 3)
    pages = list(ddb.get_paginator("scan").paginate(TableName=table))
    assert [page["Count"] for page in pages] == [4, 4, 0][: len(pages)]


def test_batches_read_what_is_there(ddb, full):
    wanted = {"Keys": [key("a", 1), key("b", 2), key("c", 1)], "ProjectionExpression": "p, #s"}
    answer = ddb.batch_get_item(RequestItems={full: {**wanted, "ExpressionAttributeNames": {"#s": "s"}}})
    found = sorted(answer["Responses"][full], key=lambda item: item["p"]["S"])
    assert found == [key("a", 1), key("b", 2)]
    assert answer["UnprocessedKeys"] == {}
    requests = [{"DeleteRequest": {"Key": key("a", 1)}}, {"PutRequest": {"Item": key("c", 1)}}]
    ddb.batch_write_item(RequestItems={full: requests})
    left = ddb.batch_get_item(RequestItems={full: {"Keys": [key("a", 1), key("c", 1)]}})
    assert left["Responses"][full] == [key("c", 1)]


def test_transactions(ddb, full):
    check = {"ConditionCheck": {"TableName": full, "Key": key("a", 1), "ConditionExpression": "attribute_exists(p)"}}
    update = {
        "TableName": full,
        "Key": key("a", 2),
        "UpdateExpression": "SET v = :v",
        "ExpressionAttributeValues": {":v": {"S": "new"}},
    }
    actions = [check, {"Update": update}, {"Delete": {"TableName": full, "Key": key("a", 3)}}]
    put = {"TableName": full, "Item": key("z"), "ConditionExpression": "attribute_not_exists(p)"}
    answer = ddb.transact_write_items(TransactItems=[*actions, {"Put": put}], ReturnConsumedCapacity="TOTAL")
    assert answer["ConsumedCapacity"][0]["CapacityUnits"] == 8.0
    gets = [{"Get": {"TableName": full, "Key": one}} for one in (key("a", 2), key("a", 3), key("z"))]
    shown = ddb.transact_get_items(TransactItems=gets)["Responses"]
    assert shown == [{"Item": {**key("a", 2), "v": {"S": "new"}}}, {}, {"Item": key("z")}]
    with pytest.raises(ddb.exceptions.TransactionCanceledException) as caught:
        ddb.transact_write_items(
            TransactItems=[
                {"Delete": {"TableName": full, "Key": key("a", 5)}},
                {"Put": {**put, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}},
            ]
        )
    assert caught.value.response["Error"]["Message"] == (
        "Transaction cancelled, please refer cancellation reasons for specific reasons [None, ConditionalCheckFailed]"
    )
    assert caught.value.response["CancellationReasons"] == [
        {"Code": "None"},
        {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed", "Item": key("z")},
    ]
    assert "Item" in ddb.get_item(TableName=full, Key=key("a", 5))


def test_tables_are_described_changed_and_listed(ddb):
    name = create(
        ddb,
        BillingMode="PROVISIONED",
        ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
        Tags=[{"Key": "team", "Value": "x"}],
    )
    ddb.put_item(TableName=name, Item=key())
    shown = ddb.describe_table(TableName=name)["Table"]
    assert (shown["TableStatus"], shown["ItemCount"], shown["TableSizeBytes"]) == ("ACTIVE", 1, 5)
    assert shown["ProvisionedThroughput"]["WriteCapacityUnits"] == 6
    assert ddb.describe_table(TableName=shown["TableArn"])["Table"]["TableName"] == name
    assert name in [one for page in ddb.get_paginator("list_tables").paginate() for one in page["TableNames"]]
    ddb.update_table(TableName=name, BillingMode="PAY_PER_REQUEST", DeletionProtectionEnabled=True)
    assert ddb.describe_table(TableName=name)["Table"]["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    with pytest.raises(ClientError, match="Resource cannot be deleted as it is currently protected"):
        ddb.delete_table(TableName=name)
    ddb.update_table(TableName=name, DeletionProtectionEnabled=False)
    ddb.tag_resource(ResourceArn=shown["TableArn"], Tags=[{"Key": "more", "Value": "y"}])
    ddb.untag_resource(ResourceArn=shown["TableArn"], TagKeys=["team"])
    assert ddb.list_tags_of_resource(ResourceArn=shown["TableArn"])["Tags"] == [{"Key": "more", "Value": "y"}]
    assert ddb.delete_table(TableName=name)["TableDescription"]["TableStatus"] == "DELETING"
    ddb.get_waiter("table_not_exists").wait(TableName=name)
    assert ddb.describe_limits()["TableMaxReadCapacityUnits"] == 40_000
    assert ddb.describe_endpoints()["Endpoints"]


def test_an_index_is_created_queried_and_deleted(ddb, full):
    created = {
        "IndexName": "by-v",
        "KeySchema": [{"AttributeName": "v", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }
    ddb.update_table(
        TableName=full,
        AttributeDefinitions=[*TYPES, {"AttributeName": "v", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[{"Create": created}],
    )

    def active() -> bool:
        (index,) = ddb.describe_table(TableName=full)["Table"]["GlobalSecondaryIndexes"]
        return bool(index["IndexStatus"] == "ACTIVE")

    until(active, "the index")
    query = {
        "TableName": full,
        "IndexName": "by-v",
        "KeyConditionExpression": "v = :v",
        "ExpressionAttributeValues": {":v": {"S": "xxx"}},
    }
    assert ddb.query(**query)["Count"] == 2
    ddb.put_item(TableName=full, Item={**key("c"), "v": {"S": "xxx"}, "w": {"S": "not projected"}})
    assert {"p": {"S": "c"}, "s": {"N": "1"}, "v": {"S": "xxx"}} in ddb.query(**query)["Items"]
    ddb.update_table(TableName=full, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-v"}}])
    with pytest.raises(ClientError, match="The table does not have the specified index: by-v"):
        ddb.query(**query)


def test_time_to_live_is_switched_and_described(ddb, table):
    specification = {"AttributeName": "until", "Enabled": True}
    ddb.update_time_to_live(TableName=table, TimeToLiveSpecification=specification)
    shown = ddb.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    assert shown == {"TimeToLiveStatus": "ENABLED", "AttributeName": "until"}
    with pytest.raises(ClientError, match="TimeToLive is already enabled"):
        ddb.update_time_to_live(TableName=table, TimeToLiveSpecification=specification)
    ddb.update_time_to_live(TableName=table, TimeToLiveSpecification={**specification, "Enabled": False})
    shown = ddb.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    assert shown == {"TimeToLiveStatus": "DISABLED"}


def test_a_table_is_exported_into_a_bucket(server, ddb, full):
    s3 = server.client("s3")
    bucket = f"b-{uuid4()}"
    s3.create_bucket(Bucket=bucket)
    arn = ddb.describe_table(TableName=full)["Table"]["TableArn"]
    with pytest.raises(ddb.exceptions.PointInTimeRecoveryUnavailableException):
        ddb.export_table_to_point_in_time(TableArn=arn, S3Bucket=bucket)
    recovery = {"PointInTimeRecoveryEnabled": True}
    ddb.update_continuous_backups(TableName=full, PointInTimeRecoverySpecification=recovery)
    shown = ddb.describe_continuous_backups(TableName=full)["ContinuousBackupsDescription"]
    assert shown["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"
    with pytest.raises(ddb.exceptions.InvalidExportTimeException):
        ddb.export_table_to_point_in_time(TableArn=arn, S3Bucket=bucket, ExportTime=1_600_000_000)
    begun = ddb.export_table_to_point_in_time(TableArn=arn, S3Bucket=bucket, S3Prefix="out", ClientToken="t")
    assert begun["ExportDescription"]["ExportStatus"] == "IN_PROGRESS"
    export = begun["ExportDescription"]["ExportArn"]
    again = ddb.export_table_to_point_in_time(TableArn=arn, S3Bucket=bucket, S3Prefix="out", ClientToken="t")
    assert again["ExportDescription"]["ExportArn"] == export

    def done() -> Any:
        description = ddb.describe_export(ExportArn=export)["ExportDescription"]
        return description if description["ExportStatus"] != "IN_PROGRESS" else None

    found = until(done, "the export")
    assert (found["ExportStatus"], found["ItemCount"]) == ("COMPLETED", 20)
    assert found["ExportManifest"] == f"out/AWSDynamoDB/{export.rpartition('/')[2]}/manifest-summary.json"

    def read(name: str) -> bytes:
        body: bytes = s3.get_object(Bucket=bucket, Key=name)["Body"].read()
        return body

    summary = json.loads(read(found["ExportManifest"]))
    assert (summary["itemCount"], summary["outputFormat"]) == (20, "DYNAMODB_JSON")
    files = [json.loads(line) for line in read(summary["manifestFilesS3Key"]).splitlines()]
    lines = [line for one in files for line in gzip.decompress(read(one["dataFileS3Key"])).splitlines()]
    items = [json.loads(line)["Item"] for line in lines]
    assert sorted((item["p"]["S"], int(item["s"]["N"])) for item in items) == [(p, s) for p in "ab" for s in range(10)]
    assert [one["ExportArn"] for one in ddb.list_exports(TableArn=arn)["ExportSummaries"]] == [export]
    missing = ddb.export_table_to_point_in_time(TableArn=arn, S3Bucket="no-such-bucket-anywhere")
    export = missing["ExportDescription"]["ExportArn"]
    assert until(done, "the failure")["FailureCode"] == "S3NoSuchBucket"
    with pytest.raises(ddb.exceptions.ExportNotFoundException):
        ddb.describe_export(ExportArn=arn + "/export/nope")


def test_tasks_call_tables_in_both_dialects(sfn, ddb, table):
    arn = "arn:aws:states:::"
    put = {
        "Type": "Task",
        "Resource": f"{arn}dynamodb:putItem",
        "Parameters": {"TableName": table, "Item": {**key(), "n": {"N": "1"}, "text.$": "$.text"}},
        "ResultPath": "$.put",
    }
    update = {
        "Type": "Task",
        "Resource": f"{arn}aws-sdk:dynamodb:updateItem",
        "Parameters": {
            "TableName": table,
            "Key": key(),
            "UpdateExpression": "SET n = n + :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
            "ReturnValues": "ALL_NEW",
        },
        "ResultPath": "$.update",
    }
    get = {
        "Type": "Task",
        "Resource": f"{arn}dynamodb:getItem",
        "Parameters": {"TableName": table, "Key": key()},
        "ResultPath": "$.get",
    }
    query = {
        "Type": "Task",
        "Resource": f"{arn}aws-sdk:dynamodb:query",
        "Parameters": {
            "TableName": table,
            "KeyConditionExpression": "p = :p",
            "ExpressionAttributeValues": {":p": {"S": "a"}},
        },
        "ResultPath": "$.query",
    }
    run = sfn.start_execution(stateMachineArn=machine(sfn, put, update, get, query), input='{"text":"x"}')
    output = json.loads(ended(sfn, run["executionArn"])["output"])
    expected = {**key(), "n": {"N": "2"}, "text": {"S": "x"}}
    assert output["put"]["SdkHttpMetadata"]["HttpStatusCode"] == 200
    assert output["update"] == {"Attributes": expected}
    assert output["get"]["Item"] == expected
    assert output["query"] == {"Count": 1, "Items": [expected], "ScannedCount": 1}


@pytest.mark.parametrize(
    ("resource", "error"),
    [
        ("dynamodb:putItem", "DynamoDB.ConditionalCheckFailedException"),
        ("aws-sdk:dynamodb:putItem", "DynamoDb.ConditionalCheckFailedException"),
    ],
)
def test_tasks_fail_under_the_names_of_both_dialects(sfn, table, resource, error):
    task = {
        "Type": "Task",
        "Resource": f"arn:aws:states:::{resource}",
        "Parameters": {"TableName": table, "Item": key(), "ConditionExpression": "attribute_exists(p)"},
    }
    run = sfn.start_execution(stateMachineArn=machine(sfn, task), input="{}")
    found = ended(sfn, run["executionArn"])
    assert found["error"] == error
    assert found["cause"].startswith("The conditional request failed (")


@pytest.mark.slow
def test_acknowledged_writes_survive_a_kill(tmp_path: Path):
    """Kill the server while four callers write; what was answered is there, and transactions are whole."""
    server = Server(tmp_path / "data")
    name = create(server.client("dynamodb"))
    written: list[tuple[str, int]] = []

    def write(part: str) -> None:
        client = server.client("dynamodb")
        try:
            for number in range(100_000):
                puts = [{"Put": {"TableName": name, "Item": key(part + half, number)}} for half in "lr"]
                client.transact_write_items(TransactItems=puts)
                written.append((part, number))
        except Exception:
            return

    with ThreadPoolExecutor(4) as pool:
        for part in "abcd":
            pool.submit(write, part)
        until(lambda: len(written) > 100, "a hundred transactions")
        server.kill()
    server = Server(tmp_path / "data")
    client = server.client("dynamodb")
    found = set()
    for page in client.get_paginator("scan").paginate(TableName=name):
        found |= {(item["p"]["S"], int(item["s"]["N"])) for item in page["Items"]}
    assert {(part + half, number) for part, number in written for half in "lr"} <= found
    assert {(p[0] + "r", s) for p, s in found if p[1] == "l"} == {(p, s) for p, s in found if p[1] == "r"}
    assert client.describe_table(TableName=name)["Table"]["ItemCount"] == len(found)
    assert server.stop() == 0
