"""What frameworks for Node.js produce is deployed and runs: a CDK application, and a service with state machines."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.clients.node.conftest import NodeProgram
from tests.deadlines import completed
from tests.e2e.conftest import Server, ended
from tests.thoroughness import slow


def deployed(server: Server, place: Path, *arguments: str) -> set[str]:
    """Deploy a project; returns the outcomes of its resources."""
    command = [
        sys.executable,
        "-m",
        "statewright.cli.main",
        "deploy",
        str(place),
        "--endpoint",
        server.url,
        "-o",
        "json",
    ]
    done = completed([*command, *arguments])
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert [one for one in report["findings"] if one["severity"] != "INFO"] == []
    return {one["outcome"] for one in report["resources"]}


def run(server: Server, name: str, given: object) -> dict[str, Any]:
    """An execution of the machine whose name begins so, when it has ended."""
    sfn = server.client()
    machines = sfn.list_state_machines()["stateMachines"]
    (arn,) = (one["stateMachineArn"] for one in machines if one["name"].startswith(name))
    return ended(sfn, sfn.start_execution(stateMachineArn=arn, input=json.dumps(given))["executionArn"])


@slow
def test_a_cdk_application_with_a_table_of_version_2(node: NodeProgram, server: Server, tmp_path: Path) -> None:
    assert node("cdk_app.mjs") == "synthesised"
    template = json.loads((tmp_path / "cdk.out" / "Shop.template.json").read_text())
    kinds = [one["Type"] for one in template["Resources"].values()]
    assert "AWS::DynamoDB::GlobalTable" in kinds
    assert deployed(server, tmp_path / "cdk.out") == {"created"}
    assert deployed(server, tmp_path / "cdk.out") == {"unchanged"}
    done = run(server, "Shop-Machine", {"id": "a"})
    assert done["status"] == "SUCCEEDED", done
    tables = server.client("dynamodb")
    (name,) = (one for one in tables.list_tables()["TableNames"] if one.startswith("Shop-Orders"))
    price = str(len(name))
    found = tables.query(
        TableName=name, IndexName="byPrice", KeyConditionExpression="price = :price",
        ExpressionAttributeValues={":price": {"N": price}},
    )["Items"]  # fmt: skip
    assert found == [{"id": {"S": "a"}, "price": {"N": price}}]
    ttl = tables.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    assert (ttl["TimeToLiveStatus"], ttl["AttributeName"]) == ("ENABLED", "ttl")
