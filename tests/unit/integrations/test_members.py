"""Parameters as botocore takes them."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.asl.resources import parse_resource
from statewright.integrations.members import to_api
from statewright.integrations.service_names import api_of


def converted(resource: str, parameters: dict[str, Any]) -> Any:
    api = api_of(parse_resource(f"arn:aws:states:::{resource}"))
    return to_api(api.operation.input_shape, parameters, api.dialect)


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("a", {"S": "a"}),
        ({"S": "a"}, {"S": "a"}),
        ({"N": 5}, {"N": "5"}),
        ({"M": {"x": "a"}}, {"M": {"x": {"S": "a"}}}),
        ({"L": ["a", {"BOOL": True}]}, {"L": [{"S": "a"}, {"BOOL": True}]}),
        (5, 5),
    ],
)
def test_the_optimised_integration_of_dynamodb_takes_texts_for_values(given: Any, sent: Any) -> None:
    assert converted("dynamodb:putItem", {"TableName": "t", "Item": {"id": given}})["Item"] == {"id": sent}
    assert converted("dynamodb:getItem", {"Key": {"id": given}}) == {"Key": {"id": sent}}
    update = {"ExpressionAttributeValues": {":v": given}}
    assert converted("dynamodb:updateItem", update) == {"ExpressionAttributeValues": {":v": sent}}


def test_the_sdk_integration_takes_typed_values_only() -> None:
    assert converted("aws-sdk:dynamodb:putItem", {"Item": {"id": "a"}}) == {"Item": {"id": "a"}}
