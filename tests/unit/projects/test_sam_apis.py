"""APIs of the Serverless Application Model: what their properties, Globals and events become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from statewright.projects.resources import Project
from tests.unit.projects.reading import read, resolved, texts

HEAD = """\
        Transform: AWS::Serverless-2016-10-31
"""
FLOW = """\
          Flow:
            Type: AWS::Serverless::StateMachine
            Properties:
              Definition: {StartAt: A, States: {A: {Type: Pass, End: true}}}
              Events:
"""


def made(project: Project, id: str) -> Any:
    return resolved(project.resources[id].properties)


def test_an_event_of_a_machine_starts_an_execution(tmp_path: Path) -> None:
    project = read(
        tmp_path,
        f"""\
{HEAD}
        Resources:
{FLOW}
                One: {{Type: Api, Properties: {{Path: /start, Method: post}}}}
                Two:
                  Type: Api
                  Properties:
                    {{Path: /start, Method: get, UnescapeMappingTemplate: true, Auth: {{ApiKeyRequired: true}}}}
        """,
    )
    assert texts(project, "WARNING") == []
    one, two = made(project, "FlowOneMethod"), made(project, "FlowTwoMethod")
    assert one["ResourceId"] == two["ResourceId"]
    assert (one.get("ApiKeyRequired"), two["ApiKeyRequired"]) == (None, True)
    integration = one["Integration"]
    assert integration["Uri"] == "arn:aws:apigateway:eu-central-1:states:action/StartExecution"
    assert integration["RequestTemplates"]["application/json"] == (
        """{"input": "$util.escapeJavaScript($input.json('$'))", "stateMachineArn": "<Flow>"}"""
    )
    assert [one["SelectionPattern"] for one in integration["IntegrationResponses"]] == ["200", "400"]
    assert """).replaceAll("\\\\'","'")", """ in two["Integration"]["RequestTemplates"]["application/json"]
    assert made(project, "ServerlessRestApiProdStage")["StageName"] == "Prod"


def test_cors_of_a_rest_api_answers_preflights(tmp_path: Path) -> None:
    project = read(
        tmp_path,
        f"""\
{HEAD}
        Globals: {{Api: {{Cors: "'*'", Name: unused}}}}
        Resources:
          Web:
            Type: AWS::Serverless::Api
            Properties:
              StageName: v1
              Cors: {{AllowOrigin: "'https://a.example'", AllowHeaders: "'x'", AllowCredentials: true, MaxAge: "'60'"}}
{FLOW}
                One: {{Type: Api, Properties: {{Path: /start, Method: post}}}}
                Two: {{Type: Api, Properties: {{Path: "/start/{{id}}", Method: any, RestApiId: !Ref Web}}}}
                Three: {{Type: Api, Properties: {{Path: /own, Method: options, RestApiId: !Ref Web}}}}
        """,
    )
    assert texts(project, "WARNING") == []
    answers = {
        one: made(project, one)["Integration"]["IntegrationResponses"][0]["ResponseParameters"]
        for one in project.resources
        if one.endswith("Options")
    }
    assert sorted(answers.values(), key=len) == [
        {
            "method.response.header.Access-Control-Allow-Methods": "'OPTIONS,POST'",
            "method.response.header.Access-Control-Allow-Origin": "'*'",
        },
        {
            "method.response.header.Access-Control-Allow-Credentials": "'true'",
            "method.response.header.Access-Control-Allow-Headers": "'x'",
            "method.response.header.Access-Control-Allow-Methods": "'DELETE,GET,HEAD,OPTIONS,PATCH,POST,PUT'",
            "method.response.header.Access-Control-Allow-Origin": "'https://a.example'",
            "method.response.header.Access-Control-Max-Age": "'60'",
        },
    ]
    assert "Name" not in made(project, "ServerlessRestApi")


def test_properties_of_apis_and_events_that_become_others(tmp_path: Path) -> None:
    project = read(
        tmp_path,
        f"""\
{HEAD}
        Globals:
          HttpApi: {{StageVariables: {{a: b}}, DefaultRouteSettings: {{ThrottlingBurstLimit: 5}}}}
        Resources:
          Web:
            Type: AWS::Serverless::Api
            Properties:
              StageName: v1
              Variables: {{table: orders}}
              MinimumCompressionSize: 100
              MethodSettings: [{{HttpMethod: "*", ResourcePath: "/*", ThrottlingRateLimit: 5}}]
              Models: {{Order: {{type: object, required: [id]}}}}
              GatewayResponses:
                DEFAULT_4XX: {{StatusCode: 400, ResponseParameters: {{Headers: {{X-A: "'1'"}}}}}}
              CacheClusterEnabled: true
          Shop:
            Type: AWS::Serverless::Function
            Properties:
              InlineCode: "x = 1"
              Handler: index.x
              Runtime: python3.12
              Events:
                Buy:
                  Type: Api
                  Properties:
                    Path: /buy
                    Method: post
                    RestApiId: !Ref Web
                    TimeoutInMillis: 1000
                    RequestModel: {{Model: Order, Required: true, ValidateBody: true}}
                    RequestParameters: [method.request.header.a, method.request.querystring.b: {{Required: true}}]
                Ask:
                  Type: HttpApi
                  Properties:
                    {{Path: /ask, Method: get, TimeoutInMillis: 2000, PayloadFormatVersion: "1.0",
                     RouteSettings: {{ThrottlingRateLimit: 9}}}}
        """,
    )
    assert texts(project, "WARNING") == ["16: Web: CacheClusterEnabled changes nothing here: it is not supported yet"]
    assert made(project, "Web") == {"MinimumCompressionSize": 100}
    assert made(project, "WebOrderModel")["Schema"] == {"type": "object", "required": ["id"]}
    response = made(project, "WebDefault4XxResponse")
    assert (response["ResponseType"], response["ResponseParameters"]) == (
        "DEFAULT_4XX", {"gatewayresponse.header.X-A": "'1'"},
    )  # fmt: skip
    buy = made(project, "ShopBuyMethod")
    assert buy["RequestModels"] == {"application/json": "<WebOrderModel>"}
    assert buy["RequestParameters"] == {"method.request.header.a": False, "method.request.querystring.b": True}
    assert buy["Integration"]["TimeoutInMillis"] == 1000
    assert made(project, "WebBodyValidator")["ValidateRequestParameters"] is False
    stage = made(project, "WebStage")
    assert (stage["Variables"], stage["MethodSettings"][0]["ThrottlingRateLimit"]) == ({"table": "orders"}, 5)
    served = made(project, "ServerlessHttpApiApiGatewayDefaultStage")
    assert (served["StageVariables"], served["DefaultRouteSettings"]) == ({"a": "b"}, {"ThrottlingBurstLimit": 5})
    assert served["RouteSettings"] == {"GET /ask": {"ThrottlingRateLimit": 9}}
    assert made(project, "ShopAskIntegration")["TimeoutInMillis"] == 2000


@pytest.mark.parametrize(
    ("kind", "event", "member"),
    [("AWS::ApiGateway::RestApi", "Api", "RestApiId"), ("AWS::ApiGatewayV2::Api", "HttpApi", "ApiId")],
)
def test_events_open_nothing_in_an_api_that_is_not_serverless(
    tmp_path: Path, kind: str, event: str, member: str
) -> None:
    project = read(
        tmp_path,
        f"""\
{HEAD}
        Resources:
          Plain: {{Type: {kind}, Properties: {{Name: plain, ProtocolType: HTTP}}}}
          Work:
            Type: AWS::Serverless::Function
            Properties:
              Runtime: python3.12
              Handler: index.handler
              InlineCode: x
              Events:
                One: {{Type: {event}, Properties: {{Path: /a, Method: get, {member}: !Ref Plain}}}}
                Two: {{Type: {event}, Properties: {{Path: /b, Method: get, {member}: elsewhere}}}}
        """,
    )
    lost = [text for text in texts(project, "WARNING") if f"{member} must be a Ref of an AWS::Serverless::" in text]
    assert len(lost) == 2
    made = {one.type for one in project.resources.values() if one.type.startswith("AWS::ApiGateway")}
    assert made == {kind}


def test_the_usage_plan_of_an_api_is_left_out_with_a_warning(tmp_path: Path) -> None:
    project = read(
        tmp_path,
        f"""\
{HEAD}
        Resources:
          Web:
            Type: AWS::Serverless::Api
            Properties: {{StageName: v1, Auth: {{ApiKeyRequired: true, UsagePlan: {{CreateUsagePlan: PER_API}}}}}}
          Quiet:
            Type: AWS::Serverless::Api
            Properties: {{StageName: v1, Auth: {{UsagePlan: {{CreateUsagePlan: NONE}}}}}}
        """,
    )
    assert texts(project, "WARNING") == [
        "6: Web: its UsagePlan is not created: write the plan and its keys as resources"
    ]


def test_settings_of_apis_that_have_another_form_change_nothing(tmp_path: Path) -> None:
    project = read(
        tmp_path,
        f"""\
{HEAD}
        Resources:
          Web:
            Type: AWS::Serverless::Api
            Properties:
              StageName: v1
              GatewayResponses:
                DEFAULT_4XX: {{ResponseParameters: [1]}}
                DEFAULT_5XX: {{ResponseParameters: {{Headers: a}}}}
          Front: {{Type: AWS::Serverless::HttpApi, Properties: {{RouteSettings: [1]}}}}
          Work:
            Type: AWS::Serverless::Function
            Properties:
              Runtime: python3.12
              Handler: index.handler
              InlineCode: x
              Events:
                One:
                  Type: HttpApi
                  Properties: {{ApiId: !Ref Front, Path: /a, Method: get, RouteSettings: {{ThrottlingRateLimit: 1}}}}
        """,
    )
    assert made(project, "FrontStage")["RouteSettings"] == {"GET /a": {"ThrottlingRateLimit": 1}}
