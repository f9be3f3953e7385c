"""Nodes of two versions of the program on one PostgreSQL: the newer one takes over while executions go on.

The next version is this one with one more migration and one more format of the cluster.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import psycopg
import pytest
from botocore.exceptions import BotoCoreError, ClientError

import statewright
from statewright.stores.postgres.cells.membership import FORMATS
from statewright.stores.postgres.connection import SCHEMA_VERSION
from tests.deadlines import until
from tests.e2e.conftest import ROLE, Server, ended
from tests.e2e.test_nodes import listed, made, shown
from tests.postgres_server import server_or_skip

pytestmark = pytest.mark.slow

NEXT_VERSION = "1000.0.0"
NEXT_FORMATS = range(FORMATS.start, FORMATS.stop + 1)
MANY = 12


def next_version(folder: Path) -> Path:
    """A copy of the program as its next version."""
    copy = folder / "next"
    # With its compiled modules, which name the same instants.
    shutil.copytree(Path(statewright.__file__).parent, copy / "statewright")
    postgres = copy / "statewright" / "stores" / "postgres"
    replaced(postgres / "connection.py", f"SCHEMA_VERSION: Final = {SCHEMA_VERSION}", SCHEMA_VERSION + 1)
    replaced(copy / "statewright" / "__init__.py", f'__version__ = "{statewright.__version__}"', f'"{NEXT_VERSION}"')
    replaced(postgres / "cells" / "membership.py", f"FORMATS: Final = {FORMATS}", NEXT_FORMATS)
    migration = copy / "statewright" / "stores" / "sql" / f"postgres_{SCHEMA_VERSION + 1:04}.sql"
    migration.write_text(
        "ALTER TABLE execution ADD COLUMN new_text text;\nCREATE TABLE new_rows (id bigint PRIMARY KEY);\n"
    )
    return copy


def replaced(file: Path, line: str, value: object) -> None:
    text = file.read_text()
    assert text.count(line) == 1
    file.write_text(text.replace(line, f"{line.partition(' = ')[0]} = {value}"))


def found(address: str, query: str) -> Any:
    with psycopg.connect(address, autocommit=True) as connection:
        row = connection.execute(query.encode()).fetchone()
        assert row is not None
        return row[0]


def answers(node: Server) -> bool:
    """True once operations of the home are answered through a node."""
    try:
        node.client().list_activities()
    except (ClientError, BotoCoreError):
        return False
    return True


def test_a_newer_version_takes_over_while_executions_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = server_or_skip().new_database()

    def node(name: str, *options: str) -> Server:
        return Server(tmp_path / name, "--store", address, "--node", name, *options)

    old, other = node("a", "--cells", "5"), node("b")
    activity = old.client().create_activity(name="work")["activityArn"]
    long = made(old, "long", "Work", Work={"Type": "Task", "Resource": activity, "End": True})
    short = made(old, "short", "Wait", Wait={"Type": "Wait", "Seconds": 0, "End": True})
    waiting = [
        (old, other)[number % 2].client().start_execution(stateMachineArn=long)["executionArn"]
        for number in range(MANY)
    ]

    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPATH", str(next_version(tmp_path)))
        new = node("c")
    until(lambda: sorted(one["cells"] for one in shown(old)) == [1, 1, 2], "a fair share of the cells")
    assert found(address, "SELECT max(version) FROM statewright_schema") == SCHEMA_VERSION + 1
    assert found(address, "SELECT format FROM cluster") == FORMATS[-1]
    for number, start in enumerate((old, other, new) * 4):
        arn = start.client().start_execution(stateMachineArn=short, input=json.dumps(number))["executionArn"]
        assert json.loads(ended((new, old, other)[number % 3].client(), arn)["output"]) == number
    waiting.append(new.client().start_execution(stateMachineArn=long)["executionArn"])
    seen = listed(other)
    assert [(one["name"], one["version"], one["newestFormat"]) for one in seen["nodes"]] == [
        ("a", statewright.__version__, FORMATS[-1]),
        ("b", statewright.__version__, FORMATS[-1]),
        ("c", NEXT_VERSION, NEXT_FORMATS[-1]),
    ]
    assert seen["format"] == FORMATS[-1]

    assert old.stop() == 0
    # The home goes to the newer version; the other old node keeps its cells.
    until(
        lambda: [(one["name"], one["cells"], one["isHome"]) for one in shown(new)] == [("b", 2, False), ("c", 2, True)]
    )
    until(lambda: answers(other))
    waiting.append(other.client().start_execution(stateMachineArn=long)["executionArn"])
    assert found(address, "SELECT format FROM cluster") == FORMATS[-1]
    assert other.stop() == 0
    until(lambda: [(one["name"], one["cells"], one["isHome"]) for one in shown(new)] == [("c", 4, True)])
    until(lambda: found(address, "SELECT format FROM cluster") == NEXT_FORMATS[-1])
    until(lambda: listed(new)["format"] == NEXT_FORMATS[-1])
    until(lambda: answers(new))
    client = new.client()
    made(new, "newer", "Wait", Wait={"Type": "Wait", "Seconds": 0, "End": True})
    for number in range(len(waiting)):
        token = client.get_activity_task(activityArn=activity)["taskToken"]
        client.send_task_success(taskToken=token, output=json.dumps(number))
    outputs = [json.loads(ended(client, arn)["output"]) for arn in waiting]
    assert sorted(outputs) == list(range(len(waiting)))
    assert client.describe_state_machine(stateMachineArn=long)["roleArn"] == ROLE

    with pytest.raises(AssertionError, match=f"has version {SCHEMA_VERSION + 1}; this program knows versions up to"):
        node("b")
    assert new.stop() == 0
