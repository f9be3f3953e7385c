"""Credentials that functions and jobs get: those of their role for some hours, never a key of the server."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deadlines import until
from tests.e2e.conftest import Server
from tests.unit.functions.running import RUNTIME, zipped

KEY, SECRET = "AKIDOFTHESERVER", "the secret of the server"
ROLES = "arn:aws:iam::000000000000:role/"
IDENTITY = """
    import json, os
    import boto3
    def seen():
        arn = boto3.client("sts").get_caller_identity()["Arn"]
        buckets = boto3.client("s3").list_buckets()["Buckets"]
        return {"arn": arn, "buckets": len(buckets), "environment": dict(os.environ)}
    def handler(event, context):
        return seen()
    """


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that verifies every signature."""
    folder = tmp_path_factory.mktemp("closed")
    settings = folder / "statewright.toml"
    settings.write_text(f'[credentials]\n{KEY} = "{SECRET}"\n')
    server = Server(folder / "data", "--config", str(settings))
    yield server
    assert server.stop() == 0


def client(server: Server, service: str) -> Any:
    return server.client(service, key=KEY, secret=SECRET)


def check(found: dict[str, Any], arn: str) -> None:
    assert found["arn"].startswith(arn)
    assert found["buckets"] == 0
    assert KEY not in str(found)
    assert SECRET not in str(found)
    assert found["environment"]["AWS_ACCESS_KEY_ID"].startswith("ASIA")
    assert found["environment"]["AWS_SESSION_TOKEN"]


def test_a_function_calls_as_its_role(closed: Server) -> None:
    functions = client(closed, "lambda")
    functions.create_function(
        FunctionName="who", Runtime=RUNTIME, Handler="app.handler", Role=f"{ROLES}path/of/prices", Timeout=120,
        Code={"ZipFile": zipped(app__py=IDENTITY)},
    )  # fmt: skip
    answer = functions.invoke(FunctionName="who", Payload=b"{}")
    check(json.loads(answer["Payload"].read()), "arn:aws:sts::000000000000:assumed-role/prices/who")


@pytest.mark.parametrize(("role", "name"), [({"taskRoleArn": f"{ROLES}loader"}, "loader"), ({}, "ecsInstanceRole")])
@pytest.mark.slow
def test_a_task_of_ecs_calls_as_its_role(closed: Server, tmp_path: Path, role: dict[str, str], name: str) -> None:
    ecs = client(closed, "ecs")
    out = tmp_path / "out"
    script = textwrap.dedent(IDENTITY) + f"json.dump(seen(), open({str(out)!r}, 'w'))"
    containers = [{"name": "c", "image": "i", "command": [sys.executable, "-c", script]}]
    definition = ecs.register_task_definition(family="who", containerDefinitions=containers, **role)
    arn = ecs.run_task(taskDefinition=definition["taskDefinition"]["taskDefinitionArn"])["tasks"][0]["taskArn"]
    until(lambda: ecs.describe_tasks(tasks=[arn])["tasks"][0]["lastStatus"] == "STOPPED", "the task's end")
    check(json.loads(out.read_text()), f"arn:aws:sts::000000000000:assumed-role/{name}/{arn.rpartition('/')[2]}")
