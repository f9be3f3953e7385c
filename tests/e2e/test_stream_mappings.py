"""Event source mappings of streams through boto3: how they are shown, what is refused, and a server that is killed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from tests.deadlines import until
from tests.e2e.conftest import ROLE, Server
from tests.e2e.systems import RUNTIME, zipped
from tests.e2e.test_dynamodb_streams import create, stream_of

HANDLER = """
import json, os, pathlib

def handler(event, context):
    names = [one["dynamodb"]["Keys"]["id"]["S"] for one in event["Records"]]
    with pathlib.Path(os.environ["SEEN"]).open("a") as seen:
        seen.write(json.dumps(names) + "\\n")
    if "bad" in names:
        raise ValueError("bad")
"""


class Made:
    """A table with a stream, a function, and what the function has seen."""

    def __init__(self, server: Server, seen: Path) -> None:
        self.server = server
        self.seen = seen
        self.function = f"f-{uuid4()}"
        self.table = create(server.client("dynamodb"))
        self.stream = stream_of(server.client("dynamodb"), self.table)
        server.client("lambda").create_function(
            FunctionName=self.function, Runtime=RUNTIME, Handler="app.handler", Role=ROLE, Timeout=30,
            Code={"ZipFile": zipped(app=HANDLER)}, Environment={"Variables": {"SEEN": str(seen)}},
        )  # fmt: skip

    def put(self, *names: str) -> None:
        for name in names:
            self.server.client("dynamodb").put_item(TableName=self.table, Item={"id": {"S": name}})

    def map(self, **more: Any) -> dict[str, Any]:
        given = {"StartingPosition": "TRIM_HORIZON", **more}
        made: dict[str, Any] = self.server.client("lambda").create_event_source_mapping(
            EventSourceArn=self.stream, FunctionName=self.function, **given
        )
        return made

    def names(self) -> list[str]:
        lines = self.seen.read_text().splitlines() if self.seen.exists() else []
        return [name for line in lines for name in json.loads(line)]


@pytest.fixture
def made(server: Server, tmp_path: Path) -> Iterator[Made]:
    found = Made(server, tmp_path / "seen")
    yield found
    for one in server.client("lambda").list_event_source_mappings(EventSourceArn=found.stream)["EventSourceMappings"]:
        server.client("lambda").delete_event_source_mapping(UUID=one["UUID"])


def test_a_mapping_of_a_stream_is_shown_as_the_service_shows_it(server, made):
    functions = server.client("lambda")
    shown = made.map()
    del shown["ResponseMetadata"]
    uuid = shown["UUID"]
    expected = {
        "UUID": uuid,
        "BatchSize": 100,
        "BisectBatchOnFunctionError": False,
        "DestinationConfig": {"OnFailure": {}},
        "EventSourceArn": made.stream,
        "EventSourceMappingArn": f"arn:aws:lambda:us-east-1:000000000000:event-source-mapping:{uuid}",
        "FunctionArn": f"arn:aws:lambda:us-east-1:000000000000:function:{made.function}",
        "FunctionResponseTypes": [],
        "LastModified": shown["LastModified"],
        "LastProcessingResult": "No records processed",
        "MaximumBatchingWindowInSeconds": 0,
        "MaximumRecordAgeInSeconds": -1,
        "MaximumRetryAttempts": -1,
        "ParallelizationFactor": 1,
        "StartingPosition": "TRIM_HORIZON",
        "State": "Creating",
        "StateTransitionReason": "User action",
        "TumblingWindowInSeconds": 0,
    }
    assert shown == expected
    made.put("a")
    until(lambda: functions.get_event_source_mapping(UUID=uuid)["LastProcessingResult"] == "OK")
    assert made.names() == ["a"]
    changed = functions.update_event_source_mapping(
        UUID=uuid, BatchSize=5, MaximumRetryAttempts=0, BisectBatchOnFunctionError=True, ParallelizationFactor=3
    )
    assert (changed["BatchSize"], changed["MaximumRetryAttempts"], changed["ParallelizationFactor"]) == (5, 0, 3)
    assert changed["BisectBatchOnFunctionError"] is True
    made.put("bad", "c")
    until(lambda: made.names()[-1] == "c")


def test_discarded_records_are_reported_to_a_queue(server, made):
    queue = server.client("sqs").create_queue(QueueName=f"lost-{uuid4()}")["QueueUrl"]
    arn = f"arn:aws:sqs:us-east-1:000000000000:{queue.rpartition('/')[2]}"
    made.map(MaximumRetryAttempts=0, DestinationConfig={"OnFailure": {"Destination": arn}})
    made.put("bad")
    (message,) = until(lambda: server.client("sqs").receive_message(QueueUrl=queue, WaitTimeSeconds=1).get("Messages"))
    report = json.loads(message["Body"])
    assert report["requestContext"]["condition"] == "RetryAttemptsExhausted"
    assert report["requestContext"]["approximateInvokeCount"] == 1
    assert report["DDBStreamBatchInfo"]["streamArn"] == made.stream


def test_latest_leaves_out_what_was_before_and_a_disabled_mapping_waits(server, made):
    functions = server.client("lambda")
    made.put("before")
    mapping = made.map(StartingPosition="LATEST", Enabled=False)["UUID"]
    made.put("meanwhile")
    functions.update_event_source_mapping(UUID=mapping, Enabled=True)
    until(lambda: made.names() == ["meanwhile"])


def refusal(call: Any, **given: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as caught:
        call(**given)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


def test_what_a_mapping_of_a_stream_may_not_be(server, made):
    create_mapping = server.client("lambda").create_event_source_mapping
    given = {"EventSourceArn": made.stream, "FunctionName": made.function, "StartingPosition": "LATEST"}
    missing = f"{made.stream.rpartition('/')[0]}/2020-01-01T00:00:00.000"
    wrong = "InvalidParameterValueException"
    assert refusal(create_mapping, **{**given, "EventSourceArn": missing}) == (wrong, f"Stream not found: {missing}")
    assert refusal(create_mapping, **{**given, "StartingPosition": None}) == (
        wrong,
        "1 validation error detected: Value null at 'startingPosition' failed to satisfy constraint: Member must not "
        "be null.",
    )
    assert refusal(create_mapping, **{**given, "StartingPosition": "AT_TIMESTAMP", "StartingPositionTimestamp": 1}) == (
        wrong,
        f"Unsupported starting position for arn type: {made.stream}",
    )
    assert refusal(create_mapping, **{**given, "StartingPosition": "SOMETIME"})[0] == "ValidationException"
    kinesis = "arn:aws:kinesis:us-east-1:000000000000:stream/clicks"
    assert refusal(create_mapping, **{**given, "EventSourceArn": kinesis}) == (
        wrong,
        "This version of Statewright has event source mappings for SQS queues and DynamoDB streams only, not for "
        + kinesis,
    )
    table = made.stream.partition("/stream/")[0]
    assert refusal(create_mapping, **{**given, "EventSourceArn": table}) == (wrong, "Unrecognized event source.")
    assert refusal(create_mapping, **given, FilterCriteria={"Filters": [{"Pattern": "{"}]}) == (
        wrong,
        "Invalid filter pattern definition.",
    )
    code, message = refusal(create_mapping, **given, TumblingWindowInSeconds=30, ParallelizationFactor=2)
    assert (code, "tumbling windows only with a ParallelizationFactor of 1" in message) == (wrong, True)
    first = create_mapping(**given)["UUID"]
    assert refusal(create_mapping, **given) == (
        "ResourceConflictException",
        f'The event source arn (" {made.stream} ") and function (" {made.function} ") provided mapping already exists. '
        f"Please update or delete the existing mapping with UUID {first}",
    )


def test_a_mapping_goes_on_where_it_was_after_a_kill(tmp_path: Path):
    server = Server(tmp_path / "data")
    made = Made(server, tmp_path / "seen")
    made.map(BatchSize=3)
    made.put(*map(str, range(10)))
    until(lambda: "9" in made.names())
    uuid = server.client("lambda").list_event_source_mappings()["EventSourceMappings"][0]["UUID"]
    until(lambda: server.client("lambda").get_event_source_mapping(UUID=uuid)["LastProcessingResult"] == "OK")
    made.put("10", "bad")
    server.kill()
    made.server = server = Server(tmp_path / "data")
    made.put("12")
    server.client("lambda").update_event_source_mapping(
        UUID=uuid, MaximumRetryAttempts=1, BisectBatchOnFunctionError=True
    )
    until(lambda: made.names()[-1] == "12")
    seen = made.names()
    # In order, nothing is missing, and only what was under way may have come again.
    assert list(dict.fromkeys(name for name in seen if name != "bad")) == [*map(str, range(11)), "12"]
    assert seen.count("5") == 1
    server.stop()
