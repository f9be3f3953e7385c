"""Pages of CloudFormation's lists."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from statewright.pages import write_token
from tests.unit.stacks.systems import clouds, created, queue, template


def test_a_token_of_another_list_is_refused() -> None:
    with clouds() as (_, cloud):
        created(cloud, "shop", template({"Q": queue()}))
        for call in (cloud.describe_stack_events, cloud.list_stack_resources):
            with pytest.raises(ClientError, match="The specified NextToken is not valid"):
                call(StackName="shop", NextToken=write_token("cloudformation", "Elsewhere"))
