"""A second server as standby: waits for the store of the first, and continues its executions."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.deadlines import completed, running
from tests.e2e.conftest import ROLE, Server, ended

WAITS = {
    "StartAt": "Wait",
    "States": {"Wait": {"Type": "Wait", "Seconds": 1, "Next": "End"}, "End": {"Type": "Succeed"}},
}


def serving(data: Path, *options: str) -> list[Any]:
    return [sys.executable, "-m", "statewright.cli.main", "serve", "--port", "0", "--data", data, *options]


def check_standby(data: Path, ending: Callable[[Server], object], *options: str) -> None:
    """Start two servers on one data folder, end the first, and find its execution and object at the second."""
    first = Server(data, *options)
    s3 = first.client("s3")
    s3.create_bucket(Bucket="kept")
    s3.put_object(Bucket="kept", Key="large", Body=b"x" * 100_000)
    client = first.client()
    machine = client.create_state_machine(name="m", definition=json.dumps(WAITS), roleArn=ROLE)["stateMachineArn"]
    variables = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    command = serving(data, "--standby", *options)
    with running(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables) as second:
        assert second.stderr is not None
        assert second.stdout is not None
        waiting = next(line for line in second.stderr if "standby" in line)
        assert "in use by pid" in waiting
        assert "takes over when that one ends" in waiting
        started = client.start_execution(stateMachineArn=machine, name="one")["executionArn"]
        ending(first)
        first.url = second.stdout.readline().split()[4]
        assert ended(first.client(), started)["status"] == "SUCCEEDED"
        body = first.client("s3").get_object(Bucket="kept", Key="large")["Body"].read()
        assert len(body) == 100_000
        second.terminate()
        assert second.wait() == 0


@pytest.mark.slow
@pytest.mark.parametrize("ending", [Server.kill, Server.stop])
def test_a_standby_of_a_data_folder_takes_over(tmp_path, ending):
    check_standby(tmp_path / "data", ending)


def test_mistakes_of_a_standby_end_it_at_once(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = completed([*serving(tmp_path), "--port", str(taken.getsockname()[1]), "--standby"])
    assert done.returncode == 1
    assert "is in use by" in done.stderr
