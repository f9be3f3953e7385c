"""Services that are not ours, played by moto in a process that outlives a killed server."""

from __future__ import annotations

import json
import os
import signal
import urllib.request
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]
import psutil  # type: ignore[import-untyped]
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.e2e.conftest import ROLE, Server, ended


def client(server: Server, service: str):
    return boto3.client(
        service, endpoint_url=server.url, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x",
        config=Config(retries={"total_max_attempts": 1}),
    )  # fmt: skip


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

        # What it plays is said; what it cannot do is an error of the called service, in its own protocol.
        assert server.log.read_text().count("moto plays the service 'kinesis': results of jobs") == 2
        health = json.loads(urllib.request.urlopen(f"{server.url}/health").read())
        assert health["invented"] == ["kinesis"]
        for service, call, members, status, reason in (
            ("glue", "create_blueprint", {"Name": "b", "BlueprintLocation": "s3://b/b"}, 501, "(glue CreateBlueprint)"),
            ("rds", "describe_account_attributes", {}, 501, "(rds POST)"),
            ("translate", "list_languages", {}, 501, "(translate ListLanguages)"),
        ):
            with pytest.raises(ClientError) as refused:
                getattr(client(server, service), call)(**members)
            answer = refused.value.response
            assert answer["ResponseMetadata"]["HTTPStatusCode"] == status
            assert answer["Error"]["Code"] == {500: "InternalFailure", 501: "NotImplemented"}[status]
            assert answer["Error"]["Message"].startswith("moto, which emulates other services here, ")
            assert reason in answer["Error"]["Message"]

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
        lost = {
            "Type": "Task", "Resource": "arn:aws:states:::aws-sdk:glue:createBlueprint",
            "Parameters": {"Name": "b", "BlueprintLocation": "s3://b/b"}, "End": True,
        }  # fmt: skip
        failing = json.dumps({"StartAt": "Lost", "States": {"Lost": lost}})
        machine = states.create_state_machine(name="lost", definition=failing, roleArn=ROLE)
        run = states.start_execution(stateMachineArn=machine["stateMachineArn"])
        seen = ended(states, run["executionArn"])
        assert seen["error"] == "Glue.GlueException"
        assert seen["cause"].startswith("moto, which emulates other services here, does not have this operation")
    finally:
        server.kill()
        for one in children(0):
            if one.pid not in before:
                os.kill(one.pid, signal.SIGKILL)


def test_services_whose_resources_are_the_servers_own_are_refused(server: Server) -> None:
    """Also where moto is: what it would make, this server would not run."""
    cases: list[tuple[str, str, dict[str, Any], str]] = [
        ("resourcegroupstaggingapi", "get_resources", {}, "Ask each service"),
        ("serverlessrepo", "list_applications", {}, "statewright deploy FILE"),
        ("config", "describe_config_rules", {}, "Ask each service"),
    ]
    for name, call, members, instead in cases:
        with pytest.raises(ClientError, match="knows nothing of this server's resources") as refused:
            getattr(client(server, name), call)(**members)
        error = refused.value.response["Error"]
        assert (error["Code"], instead in error["Message"]) == ("UnknownService", True), error
    states = client(server, "stepfunctions")
    task = {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:servicecatalog:listPortfolios", "End": True}
    definition = json.dumps({"StartAt": "T", "States": {"T": {**task, "Parameters": {}}}})
    machine = states.create_state_machine(name="refused", definition=definition, roleArn=ROLE)
    run = states.start_execution(stateMachineArn=machine["stateMachineArn"])
    assert "statewright deploy FILE" in ended(states, run["executionArn"])["cause"]


def test_a_service_that_nobody_plays(tmp_path: Path) -> None:
    (tmp_path / "statewright.toml").write_text("volatile = false\n")
    server = Server(tmp_path / "data", "--config", str(tmp_path / "statewright.toml"))
    try:
        with pytest.raises(ClientError, match=r"no kinesis of its own and no endpoint is configured") as refused:
            client(server, "kinesis").list_streams()
        assert refused.value.response["Error"]["Code"] == "UnknownService"
    finally:
        server.kill()
