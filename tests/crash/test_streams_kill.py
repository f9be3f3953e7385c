"""A server that is killed at the commit of a write has the item and its record of the stream, or neither."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from tests.e2e.conftest import Server
from tests.e2e.test_dynamodb_streams import create, records, stream_of

PUTS = 60


@pytest.mark.slow
@pytest.mark.parametrize("point", ["before-commit:25", "after-commit:25", "before-commit:40", "after-commit:40"])
def test_an_item_and_its_record_are_written_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    monkeypatch.setenv("STATEWRIGHT_FAIL_POINT", point)
    server = Server(tmp_path / "data")
    monkeypatch.delenv("STATEWRIGHT_FAIL_POINT")
    ddb = server.client("dynamodb")
    table = create(ddb)
    acknowledged: dict[str, int] = {}

    def put_all() -> None:
        for number in range(PUTS):
            name = str(number % 7)
            ddb.put_item(TableName=table, Item=item(name, number))
            acknowledged[name] = number

    with pytest.raises((BotoCoreError, ClientError)):
        put_all()
    server.kill()
    server = Server(tmp_path / "data")
    ddb, streams = server.client("dynamodb"), server.client("dynamodbstreams")
    found = {one["id"]["S"]: int(one["n"]["N"]) for one in ddb.scan(TableName=table)["Items"]}
    replayed: dict[str, int] = {}
    for record in records(streams, stream_of(ddb, table)):
        change = record["dynamodb"]
        before = change.get("OldImage")
        assert (int(before["n"]["N"]) if before else None) == replayed.get(change["Keys"]["id"]["S"])
        replayed[change["Keys"]["id"]["S"]] = int(change["NewImage"]["n"]["N"])
    assert replayed == found
    assert all(found[name] >= number for name, number in acknowledged.items())
    server.stop()


def item(name: str, number: int) -> dict[str, Any]:
    return {"id": {"S": name}, "n": {"N": str(number)}}
