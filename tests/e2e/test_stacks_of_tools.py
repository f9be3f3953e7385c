"""Stacks on a real server as deployment tools make them: the template in a bucket, addresses in the outputs."""

from __future__ import annotations

import json

from tests.e2e.conftest import Server

TEMPLATE = json.dumps({
    "Resources": {"Work": {"Type": "AWS::SQS::Queue"}},
    "Outputs": {"Url": {"Value": {"Ref": "Work"}}},
})  # fmt: skip


def test_a_template_in_a_bucket_and_a_queue_that_is_reached_at_its_address(server: Server) -> None:
    store, cloud = server.client("s3"), server.client("cloudformation")
    store.create_bucket(Bucket="tool-assets")
    store.put_object(Bucket="tool-assets", Key="one/template.json", Body=TEMPLATE)
    for number, start in enumerate((
        "https://tool-assets.s3.us-east-1.amazonaws.com/", "https://s3.amazonaws.com/tool-assets/",
        f"{server.url}/tool-assets/",
    )):  # fmt: skip
        cloud.create_stack(StackName=f"tool-{number}", TemplateURL=f"{start}one/template.json")
        cloud.get_waiter("stack_create_complete").wait(StackName=f"tool-{number}", WaiterConfig={"Delay": 1})
        (output,) = cloud.describe_stacks(StackName=f"tool-{number}")["Stacks"][0]["Outputs"]
        assert output["OutputValue"].startswith(f"{server.url}/")
        cloud.delete_stack(StackName=f"tool-{number}")
