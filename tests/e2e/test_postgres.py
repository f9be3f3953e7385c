"""The same server, with PostgreSQL behind it."""

from __future__ import annotations

import json

import pytest

from tests.e2e.conftest import ROLE, Server, ended
from tests.e2e.test_standby import check_standby
from tests.postgres_server import server_or_skip

DEFINITION = {
    "StartAt": "Wait",
    "States": {
        "Wait": {"Type": "Wait", "Seconds": 1, "Next": "Pass"},
        "Pass": {"Type": "Pass", "Result": {"a": 1}, "End": True},
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("ending", [Server.kill, Server.stop])
def test_a_standby_takes_over(tmp_path, ending):
    database = server_or_skip()
    check_standby(tmp_path, ending, database.new_database())


@pytest.mark.slow
def test_an_execution_outlives_a_killed_server(tmp_path):
    database = server_or_skip()
    options = "--store", database.new_database()
    first = Server(tmp_path / "data", *options)
    try:
        client = first.client()
        machine = client.create_state_machine(name="m", definition=json.dumps(DEFINITION), roleArn=ROLE)
        started = client.start_execution(stateMachineArn=machine["stateMachineArn"], name="one", input='{"x":1}')
        arn = started["executionArn"]
        assert client.describe_execution(executionArn=arn)["status"] == "RUNNING"
    finally:
        first.kill()
    second = Server(tmp_path / "data", *options)
    try:
        client = second.client()
        assert json.loads(ended(client, arn)["output"]) == {"a": 1}
        history = client.get_execution_history(executionArn=arn)["events"]
        assert [event["id"] for event in history] == list(range(1, 7))
        # Only what is no row lies in files.
        assert {path.name for path in (tmp_path / "data").glob("*")} <= {"metrics", "lock", "store-id"}
    finally:
        assert second.stop() == 0
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "store-id").write_text("0" * 32 + "\n")
    with pytest.raises(AssertionError, match="do not belong together"):
        Server(foreign, *options)
    # The database has all bytes, so that a new folder will do.
    third = Server(tmp_path / "new", *options)
    assert json.loads(ended(third.client(), arn)["output"]) == {"a": 1}
    assert third.stop() == 0
