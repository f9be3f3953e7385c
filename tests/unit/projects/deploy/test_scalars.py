from __future__ import annotations

import pytest

from statewright.payload import JsonObject
from statewright.projects.deploy.scalars import converted


@pytest.mark.parametrize(
    ("service", "operation", "given", "sent"),
    [
        ("sns", "CreateTopic", {"Name": 200, "Tags": [{"Key": 1, "Value": True}]},
         {"Name": "200", "Tags": [{"Key": "1", "Value": "true"}]}),
        ("sns", "CreateTopic", {"Attributes": {"a": False, "b": 1.5}}, {"Attributes": {"a": "false", "b": "1.5"}}),
        ("lambda", "CreateFunction", {"Timeout": "30", "Publish": "True", "Description": 5},
         {"Timeout": 30, "Publish": True, "Description": "5"}),
        ("lambda", "UpdateAlias", {"RoutingConfig": {"AdditionalVersionWeights": {"1": "0.5"}}},
         {"RoutingConfig": {"AdditionalVersionWeights": {"1": 0.5}}}),
        ("stepfunctions", "CreateStateMachine", {"name": 7, "loggingConfiguration": {"includeExecutionData": "true"}},
         {"name": "7", "loggingConfiguration": {"includeExecutionData": True}}),
        ("lambda", "CreateFunction", {"Timeout": "soon", "Unknown": 1}, {"Timeout": "soon", "Unknown": 1}),
        ("lambda", "CreateFunction", {"Code": {"ZipFile": b"x"}}, {"Code": {"ZipFile": b"x"}}),
        ("nowhere", "Nothing", {"a": 1}, {"a": 1}),
    ],
)  # fmt: skip
def test_scalars_get_the_types_of_the_api(service: str, operation: str, given: JsonObject, sent: JsonObject) -> None:
    assert converted(service, operation, given) == sent
