"""What deployment tools rely on: consents, answers and texts that they look for."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from tests.unit.stacks.systems import clouds, created, status, template

SERVERLESS = template(
    {"Orders": {"Type": "AWS::Serverless::SimpleTable"}}, Transform="AWS::Serverless-2016-10-31"
)  # fmt: skip


def test_a_change_set_needs_no_consent_to_transforms() -> None:
    with clouds() as (_, cloud):
        with pytest.raises(ClientError, match=r"Requires capabilities : \[CAPABILITY_AUTO_EXPAND\]"):
            created(cloud, "shop", SERVERLESS)
        cloud.create_change_set(
            StackName="shop", ChangeSetName="first", ChangeSetType="CREATE", TemplateBody=SERVERLESS
        )  # fmt: skip
        cloud.execute_change_set(StackName="shop", ChangeSetName="first")
        assert status(cloud, "shop") == "CREATE_COMPLETE"
