"""What frameworks for Node.js produce is deployed and runs: a CDK application, and a service with state machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
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


SERVICE = """
service: NAME
frameworkVersion: "3"
provider:
  name: aws
  runtime: nodejs20.x
  stage: ${opt:stage, 'dev'}
  memorySize: 512
  timeout: 20
plugins: [serverless-step-functions]
package: {patterns: ["!node_modules/**"]}
functions:
  price: {handler: handlers/price.handler}
stepFunctions:
  validate: true
  stateMachines:
    order:
      name: ${self:service}-order-${sls:stage}
      events: [{schedule: rate(1 hour)}]
      tags: {team: shop}
      definition:
        StartAt: Price
        States:
          Price: {Type: Task, Resource: !GetAtt price.Arn, Next: Keep}
          Keep:
            Type: Task
            Resource: arn:aws:states:::dynamodb:putItem
            Parameters: {TableName: !Ref Orders, Item: {id: {S.$: $.id}}}
            ResultPath: $.kept
            End: true
    quick:
      name: ${self:service}-quick-${sls:stage}
      type: EXPRESS
      definition: {StartAt: P, States: {P: {Type: Pass, Result: done, End: true}}}
resources:
  Resources:
    Orders:
      Type: AWS::DynamoDB::Table
      Properties:
        TableName: ${self:service}-orders
        BillingMode: PAY_PER_REQUEST
        AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
        KeySchema: [{AttributeName: id, KeyType: HASH}]
"""
DEFAULT_LANGUAGE = ("QueryLanguage", "JSONPath")
PRICE = "exports.handler = async ({ id }) => ({ id, price: 7 })"


@slow
def test_a_service_with_state_machines_as_written_and_as_the_framework_packages_it(
    node_folder: Path, environment: Mapping[str, str], server: Server
) -> None:
    """The plugin resolves its part of a `serverless.yml` to CloudFormation: both must come to the same machines."""
    found = []
    for name in ("written", "packaged"):
        folder = node_folder / name
        (folder / "handlers").mkdir(parents=True)
        (folder / "handlers" / "price.js").write_text(PRICE)
        (folder / "serverless.yml").write_text(SERVICE.replace("NAME", name))
        (folder / "node_modules").symlink_to(node_folder / "node_modules")
        place = folder
        if name == "packaged":
            quiet = {"SLS_TELEMETRY_DISABLED": "1", "SLS_NOTIFICATIONS_MODE": "off"}
            command = ["node", "node_modules/serverless/bin/serverless.js", "package"]
            done = completed(command, cwd=folder, env={**environment, **quiet})
            assert done.returncode == 0, done.stdout + done.stderr
            place = folder / ".serverless" / "cloudformation-template-update-stack.json"
        assert deployed(server, place) <= {"created", "noted"}
        ended_run = run(server, f"{name}-order", {"id": name})
        assert ended_run["status"] == "SUCCEEDED", ended_run
        key = {"id": {"S": name}}
        assert server.client("dynamodb").get_item(TableName=f"{name}-orders", Key=key)["Item"] == key
        found.append([one.replace(name, "NAME") for one in machines_of(server, name)])
    assert found[0] == found[1]


def machines_of(server: Server, name: str) -> list[str]:
    """The machines of a service, with their types, definitions and tags."""
    sfn = server.client()
    shown = []
    for one in sfn.list_state_machines()["stateMachines"]:
        if one["name"].startswith(f"{name}-"):
            arn = one["stateMachineArn"]
            definition = json.loads(
                sfn.describe_state_machine(stateMachineArn=arn)["definition"],
                # The plugin's validation writes the default into each state.
                object_hook=lambda one: {key: value for key, value in one.items() if (key, value) != DEFAULT_LANGUAGE},
            )
            shown.append(json.dumps([one["name"], one["type"], definition], sort_keys=True))
    return sorted(shown)
