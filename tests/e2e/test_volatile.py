"""Services that are not ours, played by moto in a process that outlives a killed server."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import boto3  # type: ignore[import-untyped]
import psutil  # type: ignore[import-untyped]
import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import ROLE, Server, ended


def client(server: Server, service: str):
    return boto3.client(
        service, endpoint_url=server.url, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x"
    )


def children(pid: int) -> list[psutil.Process]:
    found = psutil.process_iter(["cmdline"])
    return [one for one in found if "statewright.integrations.endpoints.volatile_server" in (one.info["cmdline"] or [])]


@pytest.mark.slow
def test_another_service_answers_and_outlives_the_server(tmp_path: Path) -> None:
    data = tmp_path / "data"
    server = Server(data)
    before = {one.pid for one in children(0)}
    try:
        client(server, "kinesis").create_stream(StreamName="kept", ShardCount=1)
        (child,) = [one for one in children(0) if one.pid not in before]
        server.kill()
        server = Server(data)
        assert client(server, "kinesis").list_streams()["StreamNames"] == ["kept"]
        assert child.is_running()

        # Tasks have the same services.
        states = client(server, "stepfunctions")
        definition = {
            "StartAt": "Get",
            "States": {
                "Get": {
                    "Type": "Task", "Resource": "arn:aws:states:::aws-sdk:kinesis:listStreams",
                    "Parameters": {}, "ResultSelector": {"found.$": "$.StreamNames[0]"}, "End": True,
                }
            },
        }  # fmt: skip
        machine = states.create_state_machine(name="m", definition=json.dumps(definition), roleArn=ROLE)
        run = states.start_execution(stateMachineArn=machine["stateMachineArn"])
        seen = ended(states, run["executionArn"])
        assert json.loads(seen["output"]) == {"found": "kept"}
    finally:
        server.kill()
        for one in children(0):
            if one.pid not in before:
                os.kill(one.pid, signal.SIGKILL)


def test_a_service_that_nobody_plays(tmp_path: Path) -> None:
    (tmp_path / "statewright.toml").write_text("volatile = false\n")
    server = Server(tmp_path / "data", "--config", str(tmp_path / "statewright.toml"))
    try:
        with pytest.raises(ClientError, match=r"no kinesis of its own and no endpoint is configured") as refused:
            client(server, "kinesis").list_streams()
        assert refused.value.response["Error"]["Code"] == "UnknownService"
    finally:
        server.kill()
