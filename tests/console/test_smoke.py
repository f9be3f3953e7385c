"""The console in a browser, once: the other modules here look at every page, and take long."""

from __future__ import annotations

import json

from tests.e2e.conftest import ROLE, Server, ended


def test_the_page_runs(drive, tmp_path):
    server = Server(tmp_path / "data")
    try:
        sfn = server.client("stepfunctions")
        definition = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})
        machine = sfn.create_state_machine(name="smoke", definition=definition, roleArn=ROLE)["stateMachineArn"]
        arn = sfn.start_execution(stateMachineArn=machine)["executionArn"]
        ended(sfn, arn)
        report = drive("smoke.js", server.port, arn)
    finally:
        server.stop()
    assert report["complaints"] == []
    assert report["shown"]["once"] == {"status": "Succeeded", "states": 1}
