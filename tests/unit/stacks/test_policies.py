"""Stack policies: what an update may do to the resources of a stack."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from statewright.stacks.policies import denial
from tests.unit.stacks.systems import clouds, created, queue, status, template, told


def policy(*statements: dict[str, Any]) -> str:
    return json.dumps({"Statement": [{"Principal": "*", "Resource": "*", **one} for one in statements]})


ALLOW = {"Effect": "Allow", "Action": "Update:*"}
GUARD = policy(ALLOW, {"Effect": "Deny", "Action": "Update:*", "Resource": "LogicalResourceId/Work"})
DENIED = "Action denied by stack policy: Statement [#2] does not allow [Update:*] for resource [LogicalResourceId/Work]"
UNNAMED = "Action not allowed by stack policy"
QUEUE = "AWS::SQS::Queue"


@pytest.mark.parametrize(
    ("text", "verb", "id_", "reason"),
    [
        ("", "Modify", "Work", ""),
        (policy(ALLOW), "Modify", "Work", ""),
        (GUARD, "Replace", "Work", DENIED),
        (GUARD, "Replace", "Other", ""),
        (policy({**ALLOW, "Resource": "LogicalResourceId/Other"}), "Modify", "Work", UNNAMED),
        (policy({"Effect": "Allow", "NotAction": "Update:Delete"}), "Delete", "Work", UNNAMED),
        (policy({"Effect": "Allow", "NotAction": ["Update:Delete"]}), "Modify", "Work", ""),
        (policy({**ALLOW, "Condition": {"StringLike": {"ResourceType": ["AWS::SQS::*"]}}}), "Modify", "Work", ""),
        (
            policy({**ALLOW, "Condition": {"StringEquals": {"ResourceType": "AWS::SNS::Topic"}}}), "Modify", "Work",
            UNNAMED,
        ),
    ],
)  # fmt: skip
def test_a_policy_decides(text: str, verb: Any, id_: str, reason: str) -> None:
    assert denial(text, verb, id_, QUEUE) == reason


@pytest.mark.parametrize(
    "after", [{"Work": queue(DelaySeconds=9)}, {"Other": queue()}, {"Work": queue(FifoQueue=True)}]
)
def test_an_update_that_a_policy_denies_is_rolled_back(after: Any) -> None:
    with clouds() as (system, cloud):
        created(cloud, "shop", template({"Work": queue()}), StackPolicyBody=GUARD)
        before = system.client("sqs").list_queues()["QueueUrls"]
        cloud.update_stack(StackName="shop", TemplateBody=template(after))
        assert status(cloud, "shop") == "UPDATE_ROLLBACK_COMPLETE"
        assert ("Work", "UPDATE_FAILED", DENIED) in told(cloud, "shop")
        assert system.client("sqs").list_queues()["QueueUrls"] == before


def test_a_policy_for_one_update_takes_the_place_of_the_other() -> None:
    with clouds() as (_, cloud):
        created(cloud, "shop", template({"Work": queue()}))
        cloud.set_stack_policy(StackName="shop", StackPolicyBody=GUARD)
        assert cloud.get_stack_policy(StackName="shop")["StackPolicyBody"] == GUARD
        cloud.update_stack(
            StackName="shop", TemplateBody=template({"Work": queue(DelaySeconds=9)}),
            StackPolicyDuringUpdateBody=policy(ALLOW),
        )  # fmt: skip
        assert status(cloud, "shop") == "UPDATE_COMPLETE"
        cloud.update_stack(StackName="shop", TemplateBody=template({"Work": queue(DelaySeconds=8)}))
        assert status(cloud, "shop") == "UPDATE_ROLLBACK_COMPLETE"


@pytest.mark.parametrize(
    "body",
    ["{", "[]", '{"Statement": []}', policy({"Effect": "Maybe", "Action": "Update:*"}), policy({"Effect": "Deny"}),
     policy({**ALLOW, "Action": "Create:*"}), policy({**ALLOW, "Principal": "me"}),
     policy({**ALLOW, "Condition": {"Bool": {"ResourceType": "x"}}})],
)  # fmt: skip
def test_a_policy_of_another_form_is_refused(body: str) -> None:
    with clouds() as (_, cloud):
        with pytest.raises(ClientError, match="Error validating stack policy"):
            created(cloud, "shop", template({"Work": queue()}), StackPolicyBody=body)
        assert cloud.list_stacks()["StackSummaries"] == []
