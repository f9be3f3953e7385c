"""Logs of executions, through the API of a real server: files of a log group, and where the commands send people."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.deadlines import completed, until
from tests.e2e.conftest import ROLE, Server, ended

GROUP = "/aws/vendedlogs/states/orders"
DEFINITION = {
    "StartAt": "P",
    "States": {"P": {"Type": "Pass", "Result": "swordfish", "Next": "F"}, "F": {"Type": "Fail", "Error": "Oh"}},
}


@pytest.fixture
def logging_server(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path / "data", "--log", "json")
    yield running
    if running.process.poll() is None:
        running.stop()


def configuration(level: str, with_data: bool) -> dict[str, Any]:
    arn = f"arn:aws:logs:us-east-1:000000000000:log-group:{GROUP}:*"
    destinations = [{"cloudWatchLogsLogGroup": {"logGroupArn": arn}}]
    return {"level": level, "includeExecutionData": with_data, "destinations": destinations}


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "statewright.cli.main", *arguments]
    return completed(line)


def create(sfn: Any, level: str, kind: str, *, with_data: bool = True) -> str:
    made = sfn.create_state_machine(
        name=f"m-{uuid4()}",
        definition=json.dumps(DEFINITION),
        roleArn=ROLE,
        type=kind,
        loggingConfiguration=configuration(level, with_data),
    )
    arn: str = made["stateMachineArn"]
    return arn


def test_histories_are_in_the_group_once_the_server_has_stopped(logging_server: Server, tmp_path: Path) -> None:
    sfn = logging_server.client()
    full = sfn.start_sync_execution(stateMachineArn=create(sfn, "ALL", "EXPRESS"), input='"hello"')["executionArn"]
    bare = sfn.start_execution(stateMachineArn=create(sfn, "ERROR", "STANDARD", with_data=False))["executionArn"]
    ended(sfn, bare)
    fatal = sfn.start_execution(stateMachineArn=create(sfn, "FATAL", "STANDARD"))["executionArn"]
    ended(sfn, fatal)
    shown = command("execution", "history", full, "--endpoint", logging_server.url)
    assert shown.returncode == 2
    asked = ("machine", "logs", full.split(":")[6], "--execution", full)
    assert f"statewright {' '.join(asked)}" in shown.stderr
    until(lambda: "FailStateEntered" in command(*asked, "--endpoint", logging_server.url).stdout)
    assert logging_server.stop() == 0
    (file,) = (tmp_path / "data" / "logs" / GROUP[1:]).iterdir()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    types = {arn: [line["type"] for line in lines if line["execution_arn"] == arn] for arn in (full, bare, fatal)}
    assert types == {
        full: ["ExecutionStarted", "PassStateEntered", "PassStateExited", "FailStateEntered", "ExecutionFailed"],
        bare: ["FailStateEntered", "ExecutionFailed"],
        fatal: ["ExecutionFailed"],
    }
    started = next(line for line in lines if line["execution_arn"] == full)
    assert started["details"]["input"] == '"hello"'
    assert "swordfish" not in str([line for line in lines if line["execution_arn"] == bare])
    told = [json.loads(line) for line in logging_server.log.read_text().splitlines()]
    failed = [one for one in told if one["logger"] == "statewright.history" and one["execution_arn"] == bare]
    assert [one["event"]["type"] for one in failed] == ["FailStateEntered", "ExecutionFailed"]


@pytest.mark.slow
def test_an_express_execution_without_a_log(logging_server: Server) -> None:
    sfn = logging_server.client()
    made = sfn.create_state_machine(name="quiet", definition=json.dumps(DEFINITION), roleArn=ROLE, type="EXPRESS")[
        "stateMachineArn"
    ]
    arn = sfn.start_sync_execution(stateMachineArn=made)["executionArn"]
    shown = command("execution", "show", arn, "--endpoint", logging_server.url)
    assert shown.returncode == 2
    assert "Logging is off" in shown.stderr


@pytest.mark.slow
def test_the_server_answers_while_a_heavy_expression_is_evaluated(logging_server: Server) -> None:
    sfn = logging_server.client()
    product = {"Type": "Pass", "Output": "{% $states.input.big.($states.input.big) %}", "End": True}
    heavy = sfn.create_state_machine(
        name="heavy",
        definition=json.dumps({"QueryLanguage": "JSONata", "StartAt": "P", "States": {"P": product}}),
        roleArn=ROLE,
    )["stateMachineArn"]
    light = sfn.create_state_machine(
        name="light",
        definition=json.dumps({"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}}),
        roleArn=ROLE,
        type="EXPRESS",
    )["stateMachineArn"]
    # Nobody waits for the start of a child, as a caller would.
    call = {
        "Type": "Task",
        "Resource": "arn:aws:states:::states:startExecution",
        "Parameters": {"StateMachineArn": heavy, "Input.$": "$"},
        "End": True,
    }
    waits = {"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 0, "Next": "S"}, "S": call}}
    outer = sfn.create_state_machine(name="outer", definition=json.dumps(waits), roleArn=ROLE)["stateMachineArn"]
    sfn.start_execution(stateMachineArn=outer, input=json.dumps({"big": list(range(12_000))}))
    answered = 0

    def closed() -> list[Any]:
        nonlocal answered
        assert sfn.start_sync_execution(stateMachineArn=light)["status"] == "SUCCEEDED"
        answered += 1
        found: list[Any] = sfn.list_executions(stateMachineArn=heavy, statusFilter="FAILED")["executions"]
        return found

    (one,) = until(closed, "the heavy execution's end")
    assert answered > 5
    assert sfn.describe_execution(executionArn=one["executionArn"])["error"] == "States.QueryEvaluationError"
