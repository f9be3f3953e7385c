"""Projects whose APIs have authorizers: deployed by each framework's template, and called."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Command, Server
from tests.e2e.test_http_apis import called

RUNTIME = "python{}.{}".format(*sys.version_info)
HANDLERS = """\
import json

def work(event, context):
    return {"statusCode": 200, "body": json.dumps(event["requestContext"].get("authorizer"))}

def simple(event, context):
    return {"isAuthorized": event["identitySource"] == ["open"], "context": {"who": "ada"}}

def policy(event, context):
    token = event.get("authorizationToken") or event["headers"]["X-Token"]
    effect = "Allow" if token == "open" else "Deny"
    statement = {"Effect": effect, "Action": "execute-api:Invoke", "Resource": event["methodArn"]}
    return {"principalId": event["type"], "policyDocument": {"Version": "2012-10-17", "Statement": [statement]}}
"""
SAM = """\
Transform: AWS::Serverless-2016-10-31
Globals: {{Function: {{Runtime: {runtime}, CodeUri: src}}}}
Resources:
  Web:
    Type: AWS::Serverless::HttpApi
    Properties:
      Auth:
        DefaultAuthorizer: Door
        Authorizers:
          Door:
            FunctionArn: !GetAtt Simple.Arn
            AuthorizerPayloadFormatVersion: "2.0"
            EnableSimpleResponses: true
            Identity: {{Headers: [X-Token], ReauthorizeEvery: {seconds}}}
  Old:
    Type: AWS::Serverless::Api
    Properties:
      StageName: dev
      Cors: "'*'"
      Auth:
        DefaultAuthorizer: Token
        Authorizers:
          Token: {{FunctionArn: !GetAtt Policy.Arn, Identity: {{Header: X-Token, ReauthorizeEvery: {seconds}}}}}
          Asked: {{FunctionPayloadType: REQUEST, FunctionArn: !GetAtt Policy.Arn, Identity: {{Headers: [x-token]}}}}
  Simple: {{Type: AWS::Serverless::Function, Properties: {{Handler: index.simple}}}}
  Policy: {{Type: AWS::Serverless::Function, Properties: {{Handler: index.policy}}}}
  Work:
    Type: AWS::Serverless::Function
    Properties:
      Handler: index.work
      Events:
        A: {{Type: HttpApi, Properties: {{ApiId: !Ref Web, Path: /guarded, Method: get}}}}
        B: {{Type: HttpApi, Properties: {{ApiId: !Ref Web, Path: /open, Method: get, Auth: {{Authorizer: NONE}}}}}}
        C: {{Type: HttpApi, Properties: {{ApiId: !Ref Web, Path: /iam, Method: get, Auth: {{Authorizer: AWS_IAM}}}}}}
        D: {{Type: Api, Properties: {{RestApiId: !Ref Old, Path: /guarded, Method: get}}}}
        E: {{Type: Api, Properties: {{RestApiId: !Ref Old, Path: /asked, Method: get, Auth: {{Authorizer: Asked}}}}}}
        F: {{Type: Api, Properties: {{RestApiId: !Ref Old, Path: /open, Method: get, Auth: {{Authorizer: NONE}}}}}}
Outputs:
  Web: {{Value: !Ref Web}}
  Old: {{Value: !Ref Old}}
"""
SLS = """\
service: shop
provider:
  name: aws
  runtime: {runtime}
  httpApi:
    authorizers:
      door:
        {{type: request, functionName: simple, identitySource: $request.header.X-Token, enableSimpleResponses: true}}
functions:
  simple: {{handler: index.simple}}
  work:
    handler: index.work
    events:
      - httpApi: {{method: get, path: /guarded, authorizer: {{name: door}}}}
      - httpApi: {{method: get, path: /iam, authorizer: {{type: aws_iam}}}}
      - httpApi: {{method: get, path: /lost, authorizer: {{name: none}}}}
      - httpApi: GET /open
resources: {{Outputs: {{Web: {{Value: !Ref HttpApi}}}}}}
"""


def deployed(statewright: Command) -> dict[str, str]:
    done = statewright("deploy")
    assert done.code == 0, done.out + done.err
    return {one[0].rstrip(":"): one[-1] for line in done.out.splitlines() if (one := line.split())}


def ask(server: Server, api: str, path: str, token: str = "") -> Any:
    answer = called(server, api, "GET", path, {"X-Token": token} if token else {})
    return json.loads(answer.body) if answer.status == 200 else answer.status


@pytest.mark.slow
def test_a_serverless_application(server: Server, statewright: Any) -> None:
    Path("src").mkdir()
    Path("src/index.py").write_text(HANDLERS)
    for seconds in (0, 60):
        Path("template.yaml").write_text(SAM.format(runtime=RUNTIME, seconds=seconds))
        outputs = deployed(statewright)
        web, old = outputs["Web"], outputs["Old"]
        assert ask(server, web, "/guarded", "open") == {"lambda": {"who": "ada"}}
        assert [ask(server, web, "/guarded", "x"), ask(server, web, "/guarded")] == [403, 401]
        assert [ask(server, web, "/open"), ask(server, web, "/iam")] == [None, 403]
        assert ask(server, old, "/dev/guarded", "open")["principalId"] == "TOKEN"
        assert [ask(server, old, "/dev/guarded", "x"), ask(server, old, "/dev/guarded")] == [403, 401]
        assert ask(server, old, "/dev/asked", "open")["principalId"] == "REQUEST"
        assert [ask(server, old, "/dev/asked"), ask(server, old, "/dev/open")] == [401, None]
        preflight = called(server, old, "OPTIONS", "/dev/guarded", {"Origin": "http://localhost:3000"})
        assert preflight.status == 200, "a preflight needs no authorization"
    [door] = server.client("apigatewayv2").get_authorizers(ApiId=web)["Items"]
    assert door["AuthorizerResultTtlInSeconds"] == 60


@pytest.mark.slow
def test_a_service_of_the_serverless_framework(server: Server, statewright: Any) -> None:
    Path("index.py").write_text(HANDLERS)
    Path("serverless.yml").write_text(SLS.format(runtime=RUNTIME))
    web = deployed(statewright)["Web"]
    assert ask(server, web, "/guarded", "open") == {"lambda": {"who": "ada"}}
    assert [ask(server, web, "/guarded", "x"), ask(server, web, "/iam"), ask(server, web, "/lost")] == [403, 403, 404]
    assert ask(server, web, "/open") is None
