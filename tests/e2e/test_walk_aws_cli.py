"""A walk with the AWS CLI, told where the server is by `statewright env` alone. A call costs a second: few are made."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.deadlines import completed
from tests.e2e.conftest import ROLE, Server, ended

BIN = Path(sys.executable).parent
Aws = Callable[..., Any]


@pytest.fixture(scope="module")
def environment(server: Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A shell of somebody who has a profile for the real service, and has read what `statewright env` prints."""
    home = tmp_path_factory.mktemp("home")
    (home / ".aws").mkdir()
    (home / ".aws" / "config").write_text("[default]\nregion = eu-west-1\noutput = text\n")
    before = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "HOME": str(home)}
    command = [sys.executable, "-m", "statewright.cli.main", "env", "--endpoint", server.url, "--shell", "json"]
    said = completed(command, cwd=home, env=before, check=True)
    variables: dict[str, str] = json.loads(said.stdout)
    return {**before, **variables}


@pytest.fixture
def aws(environment: dict[str, str]) -> Aws:
    def run(*arguments: str, fails_with: str | None = None) -> Any:
        command = [str(BIN / "aws"), "--output", "json", "stepfunctions", *arguments]
        done = completed(command, env=environment)
        if fails_with is not None:
            assert done.returncode != 0
            assert fails_with in done.stderr
            return None
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else None

    return run


@pytest.mark.slow
def test_the_walk(aws, sfn, tmp_path):
    activity = aws("create-activity", "--name", f"cli-{uuid4()}")["activityArn"]
    each = {
        "Type": "Map",
        "ItemProcessor": {
            "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
            "StartAt": "One",
            "States": {"One": {"Type": "Pass", "End": True}},
        },
        "ResultPath": "$.done",
        "ItemsPath": "$.items",
        "Next": "Approve",
    }
    approve = {"Type": "Task", "Resource": activity, "End": True}
    definition = tmp_path / "order.asl.json"
    definition.write_text(json.dumps({"StartAt": "Each", "States": {"Each": each, "Approve": approve}}))
    arn = aws(
        "create-state-machine", "--name", f"cli-{uuid4()}", "--definition", f"file://{definition}",
        "--role-arn", ROLE, "--publish", "--version-description", "one",
    )  # fmt: skip
    machine, version = arn["stateMachineArn"], arn["stateMachineVersionArn"]
    alias = aws(
        "create-state-machine-alias", "--name", "prod",
        "--routing-configuration", f"stateMachineVersionArn={version},weight=100",
    )["stateMachineAliasArn"]  # fmt: skip
    execution = aws("start-execution", "--state-machine-arn", alias, "--input", '{"items": [1, 2]}')["executionArn"]
    token = aws("get-activity-task", "--activity-arn", activity)["taskToken"]
    aws("send-task-failure", f"--task-token={token}", "--error", "Declined", "--cause", "no money")
    ended(sfn, execution)
    shown = aws("describe-execution", "--execution-arn", execution)
    assert (shown["status"], shown["error"], shown["stateMachineAliasArn"]) == ("FAILED", "Declined", alias)
    aws("redrive-execution", "--execution-arn", execution)
    token = aws("get-activity-task", "--activity-arn", activity)["taskToken"]
    aws("send-task-success", f"--task-token={token}", "--task-output", '{"ok": true}')
    ended(sfn, execution)
    history = aws("get-execution-history", "--execution-arn", execution, "--page-size", "5")["events"]
    assert json.loads(history[-1]["executionSucceededEventDetails"]["output"]) == {"ok": True}
    (run,) = aws("list-map-runs", "--execution-arn", execution)["mapRuns"]
    assert aws("describe-map-run", "--map-run-arn", run["mapRunArn"])["itemCounts"]["succeeded"] == 2
    second = aws("start-execution", "--state-machine-arn", machine, "--name", "second", "--input", '{"items": []}')
    aws("stop-execution", "--execution-arn", second["executionArn"], "--error", "Wrong")
    listed = aws("list-executions", "--state-machine-arn", machine, "--status-filter", "ABORTED")["executions"]
    assert [one["name"] for one in listed] == ["second"]
    aws("describe-execution", "--execution-arn", f"{execution}x", fails_with="ExecutionDoesNotExist")


def test_operations_with_a_host_prefix(aws, sfn):
    """StartSyncExecution and TestState go to `sync-` hosts, unless the variables of `statewright env` hold."""
    quick = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})
    made = sfn.create_state_machine(name=f"cli-{uuid4()}", definition=quick, roleArn=ROLE, type="EXPRESS")
    done = aws("start-sync-execution", "--state-machine-arn", made["stateMachineArn"], "--input", '{"n": 1}')
    assert (done["status"], json.loads(done["output"])) == ("SUCCEEDED", {"n": 1})
    state = '{"Type": "Pass", "Result": 7, "End": true}'
    tested = aws("test-state", "--definition", state, "--role-arn", ROLE, "--inspection-level", "DEBUG")
    assert (tested["status"], tested["output"]) == ("SUCCEEDED", "7")
    assert tested["inspectionData"]["input"] == "{}"
