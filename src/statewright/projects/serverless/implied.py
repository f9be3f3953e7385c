"""Resources that the framework adds to a service's template, where the service refers to them.

Owns their ids and types. What the framework makes of the service's own sections is `sections.py`'s.

Source: Serverless Framework guide, "AWS CloudFormation resource reference".
"""

from __future__ import annotations

from typing import Final

from statewright.payload import Json
from statewright.projects.cloudformation import Stack
from statewright.projects.resources import Resource

_ROLE: Final[Json] = {
    "AssumeRolePolicyDocument": {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Principal": {"Service": ["lambda.amazonaws.com"]}, "Action": ["sts:AssumeRole"]}
        ],
    }
}
_TYPES: Final[dict[str, tuple[str, Json]]] = {
    "ApiGatewayRestApi": ("AWS::ApiGateway::RestApi", {}),
    "ApiGatewayStage": ("AWS::ApiGateway::Stage", {}),
    "ApiGatewayUsagePlan": ("AWS::ApiGateway::UsagePlan", {}),
    "CloudFrontDistribution": ("AWS::CloudFront::Distribution", {}),
    "HttpApi": ("AWS::ApiGatewayV2::Api", {}),
    "HttpApiStage": ("AWS::ApiGatewayV2::Stage", {}),
    "IamRoleLambdaExecution": ("AWS::IAM::Role", _ROLE),
    "ServerlessDeploymentBucket": ("AWS::S3::Bucket", {}),
    "WebsocketsApi": ("AWS::ApiGatewayV2::Api", {}),
    "WebsocketsDeploymentStage": ("AWS::ApiGatewayV2::Stage", {}),
}
_PREFIXES: Final = {
    "ApiGatewayAuthorizer": "AWS::ApiGateway::Authorizer",
    "ApiGatewayDeployment": "AWS::ApiGateway::Deployment",
    "ApiGatewayMethod": "AWS::ApiGateway::Method",
    "ApiGatewayResource": "AWS::ApiGateway::Resource",
    "HttpApiAuthorizer": "AWS::ApiGatewayV2::Authorizer",
    "HttpApiIntegration": "AWS::ApiGatewayV2::Integration",
    "HttpApiRoute": "AWS::ApiGatewayV2::Route",
}
_LOGS: Final = "LogGroup"


def add_implied(stack: Stack) -> None:
    """Add what the framework would have added, where resources or outputs refer to it."""
    for name in sorted(stack.names_used() - set(stack.resources)):
        made = _made(stack, name)
        if made is not None:
            kind, properties = made
            place = stack.place_of_use(name, name) or stack.template.place()
            stack.resources[name] = Resource(name, kind, properties, (), place)


def _made(stack: Stack, name: str) -> tuple[str, Json] | None:
    if name in _TYPES:
        return _TYPES[name]
    function = stack.resources.get(f"{name.removesuffix(_LOGS)}LambdaFunction") if name.endswith(_LOGS) else None
    if function is not None:
        return "AWS::Logs::LogGroup", {"LogGroupName": f"/aws/lambda/{function.properties.get('FunctionName', '')}"}
    return next(((kind, {}) for start, kind in _PREFIXES.items() if name.startswith(start)), None)
