"""Streams of tables through boto3: which changes they record, how they are read, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from tests.deadlines import until
from tests.e2e.conftest import Server

BOTH = "NEW_AND_OLD_IMAGES"
ANA: dict[str, Any] = {"id": {"S": "ana"}}
OLDER: dict[str, Any] = {**ANA, "age": {"N": "7"}}


def create(ddb: Any, view: str | None = BOTH) -> str:
    name = f"s-{uuid4()}"
    more = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": view}} if view else {}
    ddb.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        **more,
    )
    return name


@pytest.fixture(scope="module")
def ddb(server: Server) -> Any:
    return server.client("dynamodb")


@pytest.fixture(scope="module")
def streams(server: Server) -> Any:
    return server.client("dynamodbstreams")


@pytest.fixture
def table(ddb: Any) -> Iterator[str]:
    name = create(ddb)
    yield name
    ddb.delete_table(TableName=name)


def stream_of(ddb: Any, table: str) -> str:
    arn: str = ddb.describe_table(TableName=table)["Table"]["LatestStreamArn"]
    return arn


def iterator(streams: Any, arn: str, kind: str = "TRIM_HORIZON", **more: Any) -> str:
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    found: str = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType=kind, **more)[
        "ShardIterator"
    ]
    return found


def records(streams: Any, arn: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = streams.get_records(ShardIterator=iterator(streams, arn))["Records"]
    return found


def shown(found: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Name, old image and new image of records."""
    return [(one["eventName"], one["dynamodb"].get("OldImage"), one["dynamodb"].get("NewImage")) for one in found]


def refusal(call: Any, **given: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as caught:
        call(**given)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


def test_each_change_of_an_item_is_a_record(ddb, streams, table):
    ddb.put_item(TableName=table, Item=ANA)
    ddb.put_item(TableName=table, Item=OLDER)
    ddb.delete_item(TableName=table, Key=ANA)
    arn = stream_of(ddb, table)
    first, second, third = records(streams, arn)
    change = first["dynamodb"]
    assert first == {
        "eventID": first["eventID"],
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "dynamodb": {
            "ApproximateCreationDateTime": change["ApproximateCreationDateTime"],
            "Keys": ANA,
            "NewImage": ANA,
            "SequenceNumber": change["SequenceNumber"],
            "SizeBytes": 10,
            "StreamViewType": BOTH,
        },
    }
    assert change["ApproximateCreationDateTime"].microsecond == 0
    assert second["dynamodb"]["SizeBytes"] == 20
    assert shown([second, third]) == [("MODIFY", ANA, OLDER), ("REMOVE", OLDER, None)]
    numbers = [one["dynamodb"]["SequenceNumber"] for one in (first, second, third)]
    assert numbers == sorted(numbers, key=int)
    assert len({one["eventID"] for one in (first, second, third)}) == 3


def test_writes_of_every_kind_are_recorded_and_those_that_change_nothing_are_not(ddb, streams, table):
    sets = {"names": {"SS": ["a", "b"]}}
    ddb.update_item(
        TableName=table, Key=ANA, UpdateExpression="SET age = :n", ExpressionAttributeValues={":n": {"N": "7"}}
    )
    ddb.put_item(TableName=table, Item=OLDER)
    ddb.update_item(
        TableName=table, Key=ANA, UpdateExpression="SET age = :n", ExpressionAttributeValues={":n": {"N": "7.0"}}
    )
    ddb.delete_item(TableName=table, Key={"id": {"S": "missing"}})
    batch = [{"PutRequest": {"Item": OLDER}}, {"PutRequest": {"Item": {"id": {"S": "bob"}, **sets}}}]
    ddb.batch_write_item(RequestItems={table: batch})
    mixed = {"id": {"S": "bob"}, "names": {"SS": ["b", "a"]}}
    ddb.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": table, "Item": mixed}},
            {"Delete": {"TableName": table, "Key": ANA}},
            {"ConditionCheck": {
                "TableName": table, "Key": {"id": {"S": "cy"}}, "ConditionExpression": "attribute_not_exists(id)",
            }},
        ]
    )  # fmt: skip
    with pytest.raises(ClientError):
        ddb.put_item(TableName=table, Item=ANA, ConditionExpression="attribute_exists(id)")
    assert shown(records(streams, stream_of(ddb, table))) == [
        ("INSERT", None, OLDER),
        ("INSERT", None, batch[1]["PutRequest"]["Item"]),
        ("REMOVE", OLDER, None),
    ]


@pytest.mark.parametrize(
    ("view", "of_change", "sizes"),
    [
        ("KEYS_ONLY", (None, None), [5, 5]),
        ("NEW_IMAGE", (None, OLDER), [10, 15]),
        ("OLD_IMAGE", (ANA, None), [5, 10]),
    ],
)
def test_the_view_says_which_images_there_are(ddb, streams, view, of_change, sizes):
    table = create(ddb, view)
    ddb.put_item(TableName=table, Item=ANA)
    ddb.put_item(TableName=table, Item=OLDER)
    found = records(streams, stream_of(ddb, table))
    assert shown(found)[1] == ("MODIFY", *of_change)
    assert [one["dynamodb"]["SizeBytes"] for one in found] == sizes
    assert [one["dynamodb"]["Keys"] for one in found] == [ANA, ANA]


def test_iterators_of_every_type(ddb, streams, table):
    for number in range(5):
        ddb.put_item(TableName=table, Item={"id": {"S": str(number)}})
    arn = stream_of(ddb, table)
    numbers = [one["dynamodb"]["SequenceNumber"] for one in records(streams, arn)]

    def read(kind: str, **more: Any) -> list[str]:
        found = streams.get_records(ShardIterator=iterator(streams, arn, kind, **more))["Records"]
        return [one["dynamodb"]["SequenceNumber"] for one in found]

    assert read("AT_SEQUENCE_NUMBER", SequenceNumber=numbers[2]) == numbers[2:]
    assert read("AFTER_SEQUENCE_NUMBER", SequenceNumber=numbers[2]) == numbers[3:]
    assert read("AFTER_SEQUENCE_NUMBER", SequenceNumber=numbers[4]) == []
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]
    start = shard["SequenceNumberRange"]["StartingSequenceNumber"]
    assert read("AT_SEQUENCE_NUMBER", SequenceNumber=start) == numbers
    latest = iterator(streams, arn, "LATEST")
    assert latest.split("|")[0] == arn
    answer = streams.get_records(ShardIterator=latest)
    assert answer["Records"] == []
    ddb.put_item(TableName=table, Item=ANA)
    assert shown(streams.get_records(ShardIterator=answer["NextShardIterator"])["Records"]) == [("INSERT", None, ANA)]
    page = streams.get_records(ShardIterator=iterator(streams, arn), Limit=2)
    assert [one["dynamodb"]["SequenceNumber"] for one in page["Records"]] == numbers[:2]
    page = streams.get_records(ShardIterator=page["NextShardIterator"], Limit=2)
    assert [one["dynamodb"]["SequenceNumber"] for one in page["Records"]] == numbers[2:4]


def test_a_stream_is_described_listed_switched_off_and_on(ddb, streams):
    table = create(ddb, None)
    about = ddb.describe_table(TableName=table)["Table"]
    assert "StreamSpecification" not in about
    assert "LatestStreamArn" not in about
    ddb.put_item(TableName=table, Item=OLDER)
    assert streams.list_streams(TableName=table)["Streams"] == []
    on = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    changed = ddb.update_table(TableName=table, StreamSpecification=on)["TableDescription"]
    arn, label = changed["LatestStreamArn"], changed["LatestStreamLabel"]
    assert changed["StreamSpecification"] == on
    assert arn == f"{about['TableArn']}/stream/{label}"
    assert streams.list_streams(TableName=table)["Streams"] == [
        {"StreamArn": arn, "TableName": table, "StreamLabel": label}
    ]
    ddb.put_item(TableName=table, Item=ANA)
    described = streams.describe_stream(StreamArn=arn)["StreamDescription"]
    shards = described.pop("Shards")
    assert described == {
        "StreamArn": arn,
        "StreamLabel": label,
        "StreamStatus": "ENABLED",
        "StreamViewType": "NEW_IMAGE",
        "CreationRequestDateTime": described["CreationRequestDateTime"],
        "TableName": table,
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    }
    assert shards == [{"ShardId": shards[0]["ShardId"], "SequenceNumberRange": shards[0]["SequenceNumberRange"]}]
    assert set(shards[0]["SequenceNumberRange"]) == {"StartingSequenceNumber"}
    rest = streams.describe_stream(StreamArn=arn, ExclusiveStartShardId=shards[0]["ShardId"])["StreamDescription"]
    assert rest["Shards"] == []
    assert refusal(ddb.update_table, TableName=table, StreamSpecification=on) == (
        "ValidationException",
        f"Table already has an enabled stream: TableName: {table}",
    )

    ddb.update_table(TableName=table, StreamSpecification={"StreamEnabled": False})
    ddb.put_item(TableName=table, Item=OLDER)
    about = ddb.describe_table(TableName=table)["Table"]
    assert "StreamSpecification" not in about
    assert about["LatestStreamArn"] == arn
    described = streams.describe_stream(StreamArn=arn)["StreamDescription"]
    assert described["StreamStatus"] == "DISABLED"
    answer = streams.get_records(ShardIterator=iterator(streams, arn))
    assert shown(answer["Records"]) == [("MODIFY", None, ANA)]
    assert "NextShardIterator" not in streams.get_records(ShardIterator=answer["NextShardIterator"])
    last = answer["Records"][0]["dynamodb"]["SequenceNumber"]
    assert int(described["Shards"][0]["SequenceNumberRange"]["EndingSequenceNumber"]) >= int(last)
    assert refusal(ddb.update_table, TableName=table, StreamSpecification={"StreamEnabled": False}) == (
        "ValidationException",
        f"Table does not have a stream to disable: TableName: {table}",
    )

    again = ddb.update_table(TableName=table, StreamSpecification=on)["TableDescription"]["LatestStreamArn"]
    assert again != arn
    assert records(streams, again) == []
    first = streams.list_streams(TableName=table, Limit=1)
    rest = streams.list_streams(TableName=table, ExclusiveStartStreamArn=first["LastEvaluatedStreamArn"])
    assert [one["StreamArn"] for one in (*first["Streams"], *rest["Streams"])] == [arn, again]
    ddb.delete_table(TableName=table)
    assert streams.describe_stream(StreamArn=again)["StreamDescription"]["StreamStatus"] == "DISABLED"


def test_what_is_not_there_is_refused(ddb, streams, table):
    arn = stream_of(ddb, table)
    missing = f"{arn.rpartition('/')[0]}/2020-01-01T00:00:00.000"
    assert refusal(streams.describe_stream, StreamArn=missing) == (
        "ResourceNotFoundException",
        f"Requested resource not found: Stream: {missing} not found",
    )
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    given = {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "AT_SEQUENCE_NUMBER"}
    asking = streams.get_shard_iterator
    assert refusal(asking, **{**given, "ShardId": shard[:-8] + "ffffffff"})[0] == "ResourceNotFoundException"
    assert refusal(asking, **given)[0] == "ValidationException"
    assert refusal(asking, **given, SequenceNumber="1" * 20 + "x")[0] == "ValidationException"
    assert refusal(asking, **given, SequenceNumber="9" * 21)[0] == "ValidationException"
    assert refusal(asking, **given, SequenceNumber="0" * 20 + "1")[0] == "TrimmedDataAccessException"
    assert refusal(asking, **{**given, "ShardIteratorType": "SOMETIME"})[0] == "ValidationException"
    for wrong in ("x", f"{arn}|1|x", f"{missing}{iterator(streams, arn)[len(arn) :]}"):
        assert refusal(streams.get_records, ShardIterator=wrong) == ("ValidationException", "Invalid ShardIterator")
    assert refusal(streams.get_records, ShardIterator=iterator(streams, arn), Limit=1001)[0] == "ValidationException"
    halves: list[dict[str, Any]] = [{"StreamEnabled": True}, {"StreamEnabled": False, "StreamViewType": BOTH}]
    for half in halves:
        assert refusal(ddb.update_table, TableName=table, StreamSpecification=half)[0] == "ValidationException"


def test_records_survive_a_kill_and_later_ones_follow_them(tmp_path: Path):
    server = Server(tmp_path / "data")
    ddb, streams = server.client("dynamodb"), server.client("dynamodbstreams")
    table = create(ddb)
    for number in range(20):
        ddb.put_item(TableName=table, Item={"id": {"S": str(number)}})
    arn = stream_of(ddb, table)
    before = records(streams, arn)
    place = iterator(streams, arn, "LATEST")
    server.kill()
    server = Server(tmp_path / "data")
    ddb, streams = server.client("dynamodb"), server.client("dynamodbstreams")
    assert stream_of(ddb, table) == arn
    assert records(streams, arn) == before
    ddb.put_item(TableName=table, Item=OLDER)
    (after,) = until(lambda: streams.get_records(ShardIterator=place)["Records"])
    assert after["dynamodb"]["NewImage"] == OLDER
    assert int(after["dynamodb"]["SequenceNumber"]) > int(before[-1]["dynamodb"]["SequenceNumber"])
    server.stop()
