"""Custom resources: their function is asked, its answer awaited."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.deadlines import until
from tests.e2e.conftest import Server
from tests.unit.stacks.systems import created, status, template, told

CODE = """
import json, os, urllib.request

def handler(event, context):
    asked = event["ResourceProperties"]
    answer = {
        "Status": asked.get("Says", "SUCCESS"), "Reason": "because", "PhysicalResourceId": "id-" + asked["Name"],
        "StackId": event["StackId"], "RequestId": event["RequestId"], "LogicalResourceId": event["LogicalResourceId"],
        "Data": {"Echo": event["RequestType"] + " " + asked["Count"]},
    }
    if asked["Name"] != "silent":
        body = json.dumps(answer).encode()
        request = urllib.request.Request(event["ResponseURL"], body, {"Content-Type": ""}, method="PUT")
        urllib.request.urlopen(request)
"""


NODE_CODE = """
const https = require("https");
const url = require("url");

exports.handler = (event) => new Promise((resolve, reject) => {
  const body = JSON.stringify({
    Status: "SUCCESS", PhysicalResourceId: "node", StackId: event.StackId, RequestId: event.RequestId,
    LogicalResourceId: event.LogicalResourceId, Data: { Echo: event.RequestType },
  });
  const place = url.parse(event.ResponseURL);
  const asked = https.request({
    hostname: place.hostname, port: 443, path: place.path, method: "PUT",
    headers: { "content-type": "", "content-length": body.length },
  }, resolve);
  asked.on("error", reject);
  asked.end(body);
});
"""


def stack(code: str = CODE, runtime: str = "python3.12", **properties: Any) -> str:
    function = {
        "Type": "AWS::Lambda::Function",
        "Properties": {
            "Runtime": runtime, "Handler": "index.handler", "Code": {"ZipFile": code}, "Timeout": 30,
            "Role": "arn:aws:iam::000000000000:role/any",
        },
    }  # fmt: skip
    given = {"ServiceToken": {"Fn::GetAtt": ["F", "Arn"]}, "Count": 3, **properties}
    return template(
        {"F": function, "C": {"Type": "Custom::Thing", "Properties": given}},
        Outputs={"Echo": {"Value": {"Fn::GetAtt": ["C", "Echo"]}}, "Id": {"Value": {"Ref": "C"}}},
    )


def ended(cloud: Any, name: str) -> str:
    """The status at the end of an operation."""
    until(lambda: not status(cloud, name).endswith("_IN_PROGRESS"), "the operation to end")
    return status(cloud, name)


def outputs(cloud: Any) -> dict[str, str]:
    (found,) = cloud.describe_stacks(StackName="provided")["Stacks"]
    return {one["OutputKey"]: one["OutputValue"] for one in found["Outputs"]}


def test_a_custom_resource_is_what_its_function_says(server: Server) -> None:
    cloud = server.client("cloudformation")
    arn = created(cloud, "provided", stack(Name="a"))
    assert ended(cloud, "provided") == "CREATE_COMPLETE"
    assert outputs(cloud) == {"Echo": "Create 3", "Id": "id-a"}
    cloud.update_stack(StackName="provided", TemplateBody=stack(Name="b"))
    assert (ended(cloud, "provided"), outputs(cloud)["Id"]) == ("UPDATE_COMPLETE", "id-b")
    assert ("C", "DELETE_COMPLETE", "") in told(cloud, "provided")
    cloud.delete_stack(StackName="provided")
    assert ended(cloud, arn) == "DELETE_COMPLETE"


@pytest.mark.slow
def test_a_function_that_fails_or_never_answers_fails_the_stack(server: Server) -> None:
    cloud = server.client("cloudformation")
    failed = created(cloud, "failing", stack(Name="a", Says="FAILED"))
    silent = created(cloud, "silent", stack(Name="silent", ServiceTimeout=4))
    with pytest.raises(ClientError, match="is in CREATE_IN_PROGRESS state and can not be updated"):
        cloud.update_stack(StackName="silent", TemplateBody=stack(Name="b"))
    assert (ended(cloud, failed), ended(cloud, silent)) == ("ROLLBACK_COMPLETE", "ROLLBACK_COMPLETE")
    words = "Received response status [FAILED] from custom resource. Message returned: because"
    assert ("C", "CREATE_FAILED", words) in told(cloud, failed)
    words = "CloudFormation did not receive a response from your Custom Resource."
    assert ("C", "CREATE_FAILED", words) in told(cloud, silent)


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node.js")
def test_a_function_that_insists_on_https_is_heard(server: Server) -> None:
    cloud = server.client("cloudformation")
    arn = created(cloud, "secure", stack(NODE_CODE, "nodejs22.x", ServiceTimeout=20))
    assert ended(cloud, "secure") == "CREATE_COMPLETE", told(cloud, "secure")
    cloud.delete_stack(StackName="secure")
    assert ended(cloud, arn) == "DELETE_COMPLETE"
