"""URLs of functions in projects and stacks: deployed from templates, called, changed and taken away."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.e2e.conftest import Server
from tests.e2e.test_function_urls import called

RUNTIME = "python{}.{}".format(*sys.version_info)
CODE = "def handler(event, context):\n    return {answer!r}\n"
SAM = """\
Transform: AWS::Serverless-2016-10-31
Globals: {{Function: {{Runtime: {runtime}, Handler: index.handler}}}}
Resources:
  Shop:
    Type: AWS::Serverless::Function
    Properties:
      InlineCode: "handler = lambda event, context: '{answer}'"
      AutoPublishAlias: live
      FunctionUrlConfig: {{AuthType: NONE, Cors: {{AllowOrigins: ["*"], MaxAge: "{age}"}}}}
Outputs:
  Address: {{Value: !GetAtt ShopUrl.FunctionUrl}}
  Function: {{Value: !Ref ShopUrl}}
"""


def plain(answer: str, **url: Any) -> dict[str, Any]:
    """A template with a function, its URL and permissions: one that opens the URL, one without an effect."""
    code = {"ZipFile": CODE.format(answer=answer)}
    role = "arn:aws:iam::000000000000:role/any"
    opening = {"Action": "lambda:InvokeFunctionUrl", "Principal": "*", "FunctionUrlAuthType": "NONE"}
    fn = {"Fn::GetAtt": ["Fn", "Arn"]}
    return {
        "Resources": {
            "Fn": {"Type": "AWS::Lambda::Function", "Properties": {
                "Runtime": RUNTIME, "Handler": "index.handler", "Code": code, "Role": role,
            }},
            "Url": {"Type": "AWS::Lambda::Url", "Properties": {"AuthType": "NONE", "TargetFunctionArn": fn, **url}},
            "Open": {"Type": "AWS::Lambda::Permission", "Properties": {**opening, "FunctionName": fn}},
            "Idle": {"Type": "AWS::Lambda::Permission", "Properties": {
                "Action": "lambda:InvokeFunction", "Principal": "s3.amazonaws.com", "FunctionName": fn,
            }},
        },
        "Outputs": {
            "Address": {"Value": {"Fn::GetAtt": ["Url", "FunctionUrl"]}}, "Ref": {"Value": {"Ref": "Url"}},
            "Arn": {"Value": {"Fn::GetAtt": ["Url", "FunctionArn"]}},
        },
    }  # fmt: skip


def test_a_url_of_a_serverless_project_keeps_its_address(server: Server, statewright: Any) -> None:
    def deployed(answer: str, age: int) -> dict[str, str]:
        Path("template.yaml").write_text(SAM.format(runtime=RUNTIME, answer=answer, age=age))
        done = statewright("deploy")
        assert done.code == 0, done.out + done.err
        words = [line.split() for line in done.out.splitlines()]
        found = {one[0].rstrip(":"): one[-1] for one in words if one}
        assert f"its address is {found['Address']}" in done.out
        return found

    first = deployed("one", 1)
    host = urlsplit(first["Address"]).netloc
    assert called(server, host).body == b"one"
    assert first["Function"].endswith(":live")
    again = statewright("deploy")
    assert (again.code, "created" in again.out) == (0, False), again.out
    assert deployed("two", 60)["Address"] == first["Address"]
    assert called(server, host).body == b"two"
    functions = server.client("lambda")
    shown = functions.get_function_url_config(FunctionName=first["Function"])
    assert shown["Cors"] == {"AllowOrigins": ["*"], "MaxAge": 60}
    text = Path("template.yaml").read_text().replace("      AutoPublishAlias: live\n", "")
    Path("template.yaml").write_text(text)
    assert statewright("deploy").code == 0
    name = first["Function"].removesuffix(":live")
    left = functions.list_function_url_configs(FunctionName=name)["FunctionUrlConfigs"]
    assert [one["FunctionArn"] for one in left] == [name], "the URL of the alias is gone"


def test_urls_in_a_stack(server: Server) -> None:
    stacks, functions = server.client("cloudformation"), server.client("lambda")
    name = "urls"

    def outputs() -> dict[str, str]:
        shown = stacks.describe_stacks(StackName=name)["Stacks"][0]
        return {one["OutputKey"]: one["OutputValue"] for one in shown["Outputs"]}

    stacks.create_stack(StackName=name, TemplateBody=json.dumps(plain("one")))
    stacks.get_waiter("stack_create_complete").wait(StackName=name, WaiterConfig={"Delay": 0.1})
    made = outputs()
    host = urlsplit(made["Address"]).netloc
    assert called(server, host).body == b"one"
    assert made["Ref"] == made["Arn"]
    physical = {
        one["LogicalResourceId"]: one["PhysicalResourceId"]
        for one in stacks.describe_stack_resources(StackName=name)["StackResources"]
    }
    assert physical["Url"] == made["Arn"]
    policy = json.loads(functions.get_policy(FunctionName=physical["Fn"])["Policy"])
    assert [one["Sid"] for one in policy["Statement"]] == [physical["Open"]]

    closed = plain("two", AuthType="AWS_IAM")
    del closed["Resources"]["Open"]
    stacks.update_stack(StackName=name, TemplateBody=json.dumps(closed))
    stacks.get_waiter("stack_update_complete").wait(StackName=name, WaiterConfig={"Delay": 0.1})
    assert outputs()["Address"] == made["Address"]
    assert called(server, host).status == 403
    shown = functions.get_function_url_config(FunctionName=physical["Fn"])
    assert shown["AuthType"] == "AWS_IAM"

    del closed["Resources"]["Url"], closed["Outputs"]
    stacks.update_stack(StackName=name, TemplateBody=json.dumps(closed))
    stacks.get_waiter("stack_update_complete").wait(StackName=name, WaiterConfig={"Delay": 0.1})
    assert functions.list_function_url_configs(FunctionName=physical["Fn"])["FunctionUrlConfigs"] == []
    stacks.delete_stack(StackName=name)
