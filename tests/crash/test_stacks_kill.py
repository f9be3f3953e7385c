"""`kill -9` in the midst of an operation of a stack: the next start continues it, and it ends as undisturbed.

Each operation is killed at every passing of the points before and after a resource is made, changed or deleted.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from statewright.stores.fail_points import AFTER_RESOURCE, BEFORE_RESOURCE
from tests.crash.servers import Servers
from tests.deadlines import until

ROLE = "arn:aws:iam::000000000000:role/any"
Story = tuple[list[tuple[str, list[tuple[str, str]], list[tuple[str, str]]]], list[str]]


def queue(**properties: Any) -> Any:
    return {"Type": "AWS::SQS::Queue", "Properties": properties}


def machine(start: str, *needs: str) -> Any:
    definition = json.dumps({"StartAt": start, "States": {"A": {"Type": "Succeed"}}})
    properties = {"RoleArn": ROLE, "DefinitionString": definition}
    return {"Type": "AWS::StepFunctions::StateMachine", "Properties": properties, "DependsOn": [*needs]}


FIRST = {"Work": queue(DelaySeconds=1), "Old": queue(), "News": {"Type": "AWS::SNS::Topic"}, "M": machine("A", "Work")}
NEXT = {"Work": queue(DelaySeconds=2), "News": {"Type": "AWS::SNS::Topic", "Properties": {"FifoTopic": True}},
        "New": queue(), "M": machine("A", "New")}  # fmt: skip
PLACE = {"RestApiId": {"Ref": "Rest"}}
APIS = {
    "Rest": {"Type": "AWS::ApiGateway::RestApi", "Properties": {"Name": "rest"}},
    "Path": {
        "Type": "AWS::ApiGateway::Resource",
        "Properties": {**PLACE, "ParentId": {"Fn::GetAtt": ["Rest", "RootResourceId"]}, "PathPart": "orders"},
    },
    "Get": {
        "Type": "AWS::ApiGateway::Method",
        "Properties": {**PLACE, "ResourceId": {"Ref": "Path"}, "HttpMethod": "GET", "Integration": {"Type": "MOCK"}},
    },
    "Order": {"Type": "AWS::ApiGateway::Model", "Properties": {**PLACE, "Name": "Order", "Schema": {"type": "object"}}},
    "Key": {"Type": "AWS::ApiGateway::ApiKey", "Properties": {"Value": "a" * 20}},
    "Plan": {"Type": "AWS::ApiGateway::UsagePlan", "Properties": {"UsagePlanName": "plan"}},
    "Link": {
        "Type": "AWS::ApiGateway::UsagePlanKey",
        "Properties": {"KeyId": {"Ref": "Key"}, "KeyType": "API_KEY", "UsagePlanId": {"Ref": "Plan"}},
    },
    "Http": {"Type": "AWS::ApiGatewayV2::Api", "Properties": {"Name": "http", "ProtocolType": "HTTP"}},
    "Route": {"Type": "AWS::ApiGatewayV2::Route", "Properties": {"ApiId": {"Ref": "Http"}, "RouteKey": "GET /"}},
}
WRONG = {**NEXT, "M": machine("Nowhere", "New", "News")}


def create(cloud: Any, resources: Any) -> None:
    cloud.create_stack(StackName="shop", TemplateBody=json.dumps({"Resources": resources}))


def update(cloud: Any, resources: Any) -> None:
    cloud.update_stack(StackName="shop", TemplateBody=json.dumps({"Resources": resources}))


NESTED = "https://s3.us-east-1.amazonaws.com/templates/"


def nested(key: str, after: Any = None) -> Any:
    """A stack with a nested one, and what comes after it."""
    inner = {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": f"{NESTED}{key}"}}
    return {"Inner": inner, **({"After": after} if after else {})}


def keep_templates(servers: Servers) -> None:
    """Put the templates of nested stacks into a bucket."""
    s3 = client(servers, "s3")
    s3.create_bucket(Bucket="templates")
    for key, resources in (("first", FIRST), ("next", NEXT), ("wrong", WRONG)):
        s3.put_object(Bucket="templates", Key=key, Body=json.dumps({"Resources": resources}).encode())


OPERATIONS: dict[str, tuple[bool, Callable[[Any], Any]]] = {
    "create": (False, lambda cloud: create(cloud, FIRST)),
    "create and undo": (False, lambda cloud: create(cloud, {**FIRST, "Bad": machine("Nowhere", "M", "Old", "News")})),
    "update": (True, lambda cloud: update(cloud, NEXT)),
    "update and undo": (True, lambda cloud: update(cloud, WRONG)),
    "delete": (True, lambda cloud: cloud.delete_stack(StackName="shop")),
    "create apis": (False, lambda cloud: create(cloud, APIS)),
    "create nested": (False, lambda cloud: create(cloud, nested("first"))),
    "create nested and undo": (False, lambda cloud: create(cloud, nested("first", machine("Nowhere", "Inner")))),
    "update nested": (True, lambda cloud: update(cloud, nested("next"))),
    "update nested and undo": (True, lambda cloud: update(cloud, nested("wrong"))),
    "undo nested with its parent": (True, lambda cloud: update(cloud, nested("next", machine("Nowhere", "Inner")))),
    "delete nested": (True, lambda cloud: cloud.delete_stack(StackName="shop")),
}
"""Operations, and whether a stack is there before: one with a nested stack if the name says so."""


def client(servers: Servers, service: str) -> Any:
    return boto3.client(
        service, endpoint_url=f"http://127.0.0.1:{servers.port}", region_name="us-east-1", aws_access_key_id="x",
        aws_secret_access_key="x", config=Config(retries={"total_max_attempts": 1}),
    )  # fmt: skip


def story(servers: Servers) -> Story:
    """The end of the stacks: status, events and resources of each, and the queues, topics and APIs that exist."""
    cloud = client(servers, "cloudformation")

    def ended() -> bool:
        return not any(one["StackStatus"].endswith("_IN_PROGRESS") for one in cloud.list_stacks()["StackSummaries"])

    until(ended, "the operation to end")
    stacks = [told(cloud, one) for one in cloud.list_stacks()["StackSummaries"]]
    names = [one.rpartition("/")[2] for one in client(servers, "sqs").list_queues().get("QueueUrls", [])]
    names += [one["TopicArn"].rpartition(":")[2] for one in client(servers, "sns").list_topics()["Topics"]]
    rest = client(servers, "apigateway")
    names += [one["name"] for one in (*rest.get_rest_apis()["items"], *rest.get_usage_plans()["items"])]
    names += [one["value"] for one in rest.get_api_keys(includeValues=True)["items"]]
    names += [one["Name"] for one in client(servers, "apigatewayv2").get_apis()["Items"]]
    return stacks, sorted(re.sub(r"-[A-Za-z0-9]{12}(?=-|[.]|$)", "", one) for one in names)


def told(cloud: Any, stack: Any) -> tuple[str, list[tuple[str, str]], list[tuple[str, str]]]:
    """What happened to a stack, without what differs from run to run."""
    arn, name = stack["StackId"], stack["StackName"]
    events = [
        ("" if one["LogicalResourceId"] == name else one["LogicalResourceId"], one["ResourceStatus"])
        for one in cloud.describe_stack_events(StackName=arn)["StackEvents"][::-1]
    ]
    rows = cloud.describe_stack_resources(StackName=arn)["StackResources"]
    return stack["StackStatus"], events, [(one["LogicalResourceId"], one["ResourceStatus"]) for one in rows]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with Servers(tmp_path_factory.mktemp("servers")) as found:
        yield found


@pytest.fixture(scope="module")
def beginning(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path | None]:
    """Gives the data folder with which an operation begins, made once for those alike; `None` for an empty one."""
    made: dict[tuple[bool, bool], Path] = {}

    def of(name: str) -> Path | None:
        kind = has_stack, is_nested = OPERATIONS[name][0], "nested" in name
        if not has_stack and not is_nested:
            return None
        if kind not in made:
            servers.begin_anew()
            servers.up()
            keep_templates(servers)
            if has_stack:
                create(client(servers, "cloudformation"), nested("first") if is_nested else FIRST)
                story(servers)
            servers.stop()
            made[kind] = Path(shutil.copytree(servers.data, tmp_path_factory.mktemp("beginning") / "data"))
        return made[kind]

    return of


@pytest.fixture(scope="module")
def undisturbed() -> dict[str, Story]:
    """The stories of the operations that nothing disturbs, once they are known."""
    return {}


def run(servers: Servers, data: Path | None, name: str, point: str = "") -> tuple[Story, bool]:
    """Run an operation, killed at a point if one is given; its story, and whether it was killed."""
    servers.begin_anew(data)
    servers.start(point)
    assert servers.wait_ready()
    try:
        OPERATIONS[name][1](client(servers, "cloudformation"))
        return story(servers), False
    except BotoCoreError:
        assert servers.wait_dead() is not None
    servers.up()
    return story(servers), True


@pytest.mark.slow
@pytest.mark.parametrize("point", [BEFORE_RESOURCE, AFTER_RESOURCE])
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_goes_on_after_a_kill(
    name: str,
    point: str,
    servers: Servers,
    beginning: Callable[[str], Path | None],
    undisturbed: dict[str, Story],
) -> None:
    data = beginning(name)
    if name not in undisturbed:
        undisturbed[name], _ = run(servers, data, name)
    passing = 0
    while True:
        passing += 1
        found, killed = run(servers, data, name, f"{point}:{passing}")
        assert found == undisturbed[name], f"killed at {point}:{passing}"
        if not killed:
            break
    assert passing > 3
