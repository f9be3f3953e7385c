"""Stacks on a real server as deployment tools make them: the template in a bucket, addresses in the outputs."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

from tests.deadlines import until
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


def test_nested_stacks_with_siblings_of_several_stacks_are_made_and_deleted_at_once(server: Server) -> None:
    store, cloud, sqs = server.client("s3"), server.client("cloudformation"), server.client("sqs")
    store.create_bucket(Bucket="siblings")
    for depth in range(1, 4):
        below = {
            f"{name}{depth}": {
                "Type": "AWS::CloudFormation::Stack",
                "Properties": {"TemplateURL": f"{server.url}/siblings/{depth + 1}"},
            }
            for name in "AB"
        }
        last = {"Work": {"Type": "AWS::SQS::Queue"}}
        body = json.dumps({"Resources": below if depth < 3 else last})
        store.put_object(Bucket="siblings", Key=str(depth), Body=body)

    def all_are(status: str) -> bool:
        return {cloud.describe_stacks(StackName=one)["Stacks"][0]["StackStatus"] for one in made} == {status}

    with ThreadPoolExecutor(4) as callers:
        url = f"{server.url}/siblings/1"
        names = [f"kin-{number}" for number in range(4)]
        made = list(callers.map(lambda one: cloud.create_stack(StackName=one, TemplateURL=url)["StackId"], names))
        until(lambda: all_are("CREATE_COMPLETE"), "the stacks to be made")
        assert len(sqs.list_queues(QueueNamePrefix="kin-")["QueueUrls"]) == 16
        list(callers.map(lambda one: cloud.delete_stack(StackName=one), made))
        until(lambda: all_are("DELETE_COMPLETE"), "the stacks to be deleted")
    assert not sqs.list_queues(QueueNamePrefix="kin-").get("QueueUrls")
