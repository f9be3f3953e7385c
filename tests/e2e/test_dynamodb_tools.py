"""Tables from the command line: our own commands, and the AWS CLI."""

from __future__ import annotations

import json
import os
import sys
from typing import Any
from uuid import uuid4

import pytest

from tests.deadlines import completed
from tests.e2e.conftest import Command, Server


@pytest.fixture
def table(server: Server) -> str:
    ddb: Any = server.client("dynamodb")
    name = f"cli-{uuid4()}"
    ddb.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "p", "AttributeType": "S"},
            {"AttributeName": "s", "AttributeType": "N"},
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    for number in range(3):
        item = {"p": {"S": "a"}, "s": {"N": str(number)}, "b": {"B": b"hi"}, "l": {"L": [{"NULL": True}, {"N": "1.5"}]}}
        ddb.put_item(TableName=name, Item=item)
    return name


def test_list(statewright: Command, table: str) -> None:
    (line,) = [line.split() for line in statewright("table", "list").out.split("\n") if line.startswith(table)]
    assert line[1:3] == ["ACTIVE", "3"]
    assert line[4:] == ["p,", "s"]
    found = statewright("table", "list", "-o", "json").json["tables"]
    assert table in [one["TableName"] for one in found]


def test_scan(statewright: Command, table: str) -> None:
    shown = statewright("table", "scan", table)
    assert shown.code == 0
    assert shown.out.split("\n")[1].split(maxsplit=2) == ["a", "0", '{"b": "aGk=", "l": [null, 1.5]}']
    items = statewright("table", "scan", table, "--limit", "2", "-o", "json").json["items"]
    assert [item["s"] for item in items] == [{"N": "0"}, {"N": "1"}]
    assert items[0]["b"] == {"B": "aGk="}


def test_get(statewright: Command, table: str) -> None:
    shown = statewright("table", "get", table, "p=a", "s=2")
    assert json.loads(shown.out) == {"p": "a", "s": 2, "b": "aGk=", "l": [None, 1.5]}
    assert statewright("table", "get", table, "p=a", "s=2", "-o", "json").json["l"]["L"][1] == {"N": "1.5"}
    assert statewright("table", "get", table, "p=a", "s=9").code == 3
    assert statewright("table", "get", table, "p=a").code == 2
    assert statewright("table", "get", "no-such-table", "p=a").code == 3


def test_execute(statewright: Command, table: str) -> None:
    shown = statewright("table", "execute", f"SELECT s FROM \"{table}\" WHERE p = 'a' AND s > 0")
    assert (shown.code, shown.out.split("\n")[1:3]) == (0, ['{"s": 1}', '{"s": 2}'])
    text = f"UPDATE \"{table}\" SET n = 5 WHERE p = 'a' AND s = 1 RETURNING MODIFIED NEW *"
    assert statewright("table", "execute", text, "-o", "json").json["items"] == [{"n": {"N": "5"}}]
    assert (
        statewright("table", "execute", f'SELECT * FROM "{table}"', "--limit", "1", "-o", "jsonl").out.count("\n") == 1
    )
    wrong = statewright("table", "execute", f'SELECT * FROM "{table}" WHERE')
    assert wrong.code != 0
    assert "Statement wasn't well formed" in wrong.err


@pytest.mark.slow
def test_the_aws_cli(server: Server, table: str) -> None:
    def aws(*arguments: str) -> Any:
        done = completed(
            [sys.executable, "-m", "statewright.cli.main", "aws", "dynamodb", *arguments, "--output", "json"],
            env={**os.environ, "STATEWRIGHT_ENDPOINT": server.url},
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout else None

    key = ("--table-name", table, "--key", '{"p": {"S": "a"}, "s": {"N": "1"}}')
    values = ("--expression-attribute-values", '{":one": {"N": "1"}}')
    aws("update-item", *key, "--update-expression", "ADD n :one", *values)
    assert aws("get-item", *key)["Item"]["n"] == {"N": "1"}
    assert aws("scan", "--table-name", table, "--page-size", "1")["Count"] == 3
