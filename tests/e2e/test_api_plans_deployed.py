"""Keys, plans, throttles and access logs of templates: deployed, called, changed, and removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.deadlines import until
from tests.e2e.conftest import Command, Server
from tests.e2e.test_http_apis import called

TEMPLATE = """\
Parameters:
  Burst: {{Type: String, Default: "{burst}"}}
Resources:
  Lines: {{Type: AWS::Logs::LogGroup, Properties: {{LogGroupName: /apis/deployed}}}}
  Waiting: {{Type: AWS::SQS::Queue}}
  Role: {{Type: AWS::ApiGateway::Account, Properties: {{CloudWatchRoleArn: "arn:aws:iam::000000000000:role/logs"}}}}
  Shop: {{Type: AWS::ApiGateway::RestApi, Properties: {{Name: plans-shop}}}}
  Pets:
    Type: AWS::ApiGateway::Resource
    Properties: {{RestApiId: !Ref Shop, ParentId: !GetAtt Shop.RootResourceId, PathPart: pets}}
  Get:
    Type: AWS::ApiGateway::Method
    Properties:
      RestApiId: !Ref Shop
      ResourceId: !Ref Pets
      HttpMethod: GET
      ApiKeyRequired: true
      MethodResponses: [{{StatusCode: 200}}]
      Integration:
        Type: MOCK
        RequestTemplates: {{application/json: "{{statusCode: 200}}"}}
        IntegrationResponses: [{{StatusCode: 200}}]
  Deployed: {{Type: AWS::ApiGateway::Deployment, DependsOn: Get, Properties: {{RestApiId: !Ref Shop}}}}
  Prod:
    Type: AWS::ApiGateway::Stage
    Properties:
      RestApiId: !Ref Shop
      StageName: prod
      DeploymentId: !Ref Deployed
      MethodSettings:
        - {{ResourcePath: "/*", HttpMethod: "*", LoggingLevel: INFO, ThrottlingRateLimit: 5.5}}
        - {{ResourcePath: /~1pets, HttpMethod: GET, ThrottlingRateLimit: 0.001, ThrottlingBurstLimit: !Ref Burst}}
      AccessLogSetting: {{DestinationArn: !GetAtt Lines.Arn, Format: "$context.requestId $context.status"}}
  Client: {{Type: AWS::ApiGateway::ApiKey, Properties: {{Enabled: true, Value: a-value-of-twenty-letters}}}}
  Basic:
    Type: AWS::ApiGateway::UsagePlan
    Properties:
      UsagePlanName: basic
      ApiStages: [{{ApiId: !Ref Shop, Stage: !Ref Prod{throttle}}}]
      Quota: {{Limit: "{limit}", Period: MONTH}}
  Link:
    Type: AWS::ApiGateway::UsagePlanKey
    Properties: {{KeyId: !Ref Client, KeyType: API_KEY, UsagePlanId: !Ref Basic}}
  Web: {{Type: AWS::ApiGatewayV2::Api, Properties: {{Name: plans-web, ProtocolType: HTTP}}}}
  ToQueue:
    Type: AWS::ApiGatewayV2::Integration
    Properties:
      ApiId: !Ref Web
      IntegrationType: AWS_PROXY
      IntegrationSubtype: SQS-ReceiveMessage
      PayloadFormatVersion: "1.0"
      CredentialsArn: arn:aws:iam::000000000000:role/r
      RequestParameters: {{QueueUrl: !Ref Waiting}}
  Read:
    Type: AWS::ApiGatewayV2::Route
    Properties: {{ApiId: !Ref Web, RouteKey: GET /a, Target: !Sub "integrations/${{ToQueue}}"}}
  Default:
    Type: AWS::ApiGatewayV2::Stage
    Properties: {{ApiId: !Ref Web, StageName: $default, AutoDeploy: true{stage}}}
Outputs:
  Shop: {{Value: !Ref Shop}}
  Web: {{Value: !Ref Web}}
  Plan: {{Value: !Ref Basic}}
"""
LIMITS = """,
      AccessLogSettings: {DestinationArn: !GetAtt Lines.Arn, Format: "$context.routeKey"},
      DefaultRouteSettings: {ThrottlingRateLimit: 0.001, ThrottlingBurstLimit: 1}"""


def deployed(statewright: Command, **values: str) -> dict[str, str]:
    """Deploy the template; returns the outcome of each resource."""
    given = {"burst": "2", "limit": "50", "throttle": "", "stage": "", **values}
    Path("template.yaml").write_text(TEMPLATE.format(**given))
    done = statewright("deploy", "-o", "json")
    assert done.code == 0, done.out + done.err
    return {one["id"]: one["outcome"] for one in json.loads(done.out)["resources"]}


def test_keys_plans_and_settings_of_a_template(server: Server, statewright: Any) -> None:
    rest = server.client("apigateway")
    key = {"x-api-key": "a-value-of-twenty-letters"}

    def statuses(api: str, path: str, times: int) -> list[int]:
        return [called(server, api, "GET", path, key).status for _ in range(times)]

    deployed(statewright, stage=LIMITS)
    shop = next(one["id"] for one in rest.get_rest_apis()["items"] if one["name"] == "plans-shop")
    web = next(one["ApiId"] for one in server.client("apigatewayv2").get_apis()["Items"] if one["Name"] == "plans-web")
    assert called(server, shop, "GET", "/prod/pets").status == 403
    # The first one above took a token, as throttles come before keys.
    assert statuses(shop, "/prod/pets", 2) == [200, 429]
    assert statuses(web, "/a", 2) == [200, 429]
    stage = rest.get_stage(restApiId=shop, stageName="prod")
    assert sorted(stage["methodSettings"]) == ["*/*", "~1pets/GET"]
    assert rest.get_account()["cloudwatchRoleArn"] == "arn:aws:iam::000000000000:role/logs"
    logs = server.client("logs")
    until(lambda: len(logs.filter_log_events(logGroupName="/apis/deployed")["events"]) >= 5, "five lines")

    assert set(deployed(statewright, stage=LIMITS).values()) == {"unchanged"}
    deployed(statewright, burst="90", limit="3", throttle=", Throttle: {/pets/GET: {RateLimit: 0.001, BurstLimit: 2}}")
    # One of the quota was used before.
    assert statuses(shop, "/prod/pets", 3) == [200, 200, 429]
    assert statuses(web, "/a", 3) == [200, 200, 200]
    plan = next(one for one in rest.get_usage_plans()["items"] if one["name"] == "basic")
    assert plan["apiStages"][0]["throttle"] == {"/pets/GET": {"rateLimit": 0.001, "burstLimit": 2}}
    assert plan["quota"] == {"limit": 3, "period": "MONTH"}
    Path("template.yaml").write_text("Resources: {Waiting: {Type: AWS::SQS::Queue}}")
    assert statewright("deploy", "--prune").code == 0
    assert [one["name"] for one in rest.get_usage_plans()["items"] if one["name"] == "basic"] == []
    assert [one for one in rest.get_api_keys(includeValues=True)["items"] if one["value"] == key["x-api-key"]] == []
