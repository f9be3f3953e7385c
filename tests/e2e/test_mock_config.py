"""A server with a mock file of Step Functions Local: test cases, a kill, and a start without the file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.deadlines import completed
from tests.e2e.conftest import ROLE, Server, ended

CALL = {
    "Type": "Task",
    "Resource": "arn:aws:states:::lambda:invoke",
    "Parameters": {"FunctionName": "gone"},
    "Retry": [{"ErrorEquals": ["Busy"], "IntervalSeconds": 2}],
    "End": True,
}
FILE = {
    "StateMachines": {"order": {"TestCases": {"Second try": {"Call": "Busy"}}}},
    "MockedResponses": {
        "Busy": {"0": {"Throw": {"Error": "Busy", "Cause": "later"}}, "1": {"Return": {"StatusCode": 200}}}
    },
}


@pytest.mark.slow
def test_a_test_case_survives_a_kill_and_needs_its_file(tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "MockConfigFile.json"
    file.write_text(json.dumps(FILE))
    server = Server(data, "--mock-config", str(file))
    definition = json.dumps({"StartAt": "Call", "States": {"Call": CALL}})
    machine = server.client().create_state_machine(name="order", definition=definition, roleArn=ROLE)
    started = server.client().start_execution(stateMachineArn=machine["stateMachineArn"] + "#Second try", name="one")
    server.kill()
    command = [sys.executable, "-m", "statewright.cli.main", "serve", "--port", "0", "--data", str(data)]
    refused = completed(command)
    assert refused.returncode == 1
    assert "start with --mock-config FILE" in refused.stderr
    server = Server(data, "--mock-config", str(file))
    done = ended(server.client(), started["executionArn"])
    assert (done["status"], json.loads(done["output"])) == ("SUCCEEDED", {"StatusCode": 200})
    server.kill()
