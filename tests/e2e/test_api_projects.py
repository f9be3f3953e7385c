"""Projects with APIs: deployed from a template, called over HTTP, changed and deployed again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.deadlines import until
from tests.e2e.conftest import Command, Server
from tests.e2e.test_http_apis import called

RUNTIME = "python{}.{}".format(*sys.version_info)
JSON = {"Content-Type": "application/json"}
TEMPLATE = """\
Transform: AWS::Serverless-2016-10-31
Resources:
  Web:
    Type: AWS::Serverless::HttpApi
    Properties: {{CorsConfiguration: {{AllowOrigins: ["https://shop.example"]}}}}
  Shop:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: {runtime}
      Handler: index.handler
      InlineCode: |
        import json
        def handler(event, context):
            return {{"statusCode": 200, "body": json.dumps([event.get("routeKey"), event.get("resource")])}}
      Events:
        Order: {{Type: HttpApi, Properties: {{ApiId: !Ref Web, Path: "/orders/{{id}}", Method: get}}}}
        Plain: {{Type: HttpApi, Properties: {{Path: /plain, Method: post}}}}
        Old: {{Type: Api, Properties: {{Path: "/old/{{id}}", Method: {method}}}}}
        Other: {{Type: Api, Properties: {{Path: "/old/other", Method: any}}}}
  Flow:
    Type: AWS::Serverless::StateMachine
    Properties:
      Definition: {{StartAt: Keep, States: {{Keep: {{Type: Pass, End: true}}}}}}
      Events: {{Started: {{Type: Api, Properties: {{Path: /flow, Method: post}}}}}}
Outputs:
  Web: {{Value: !Ref Web}}
  Address: {{Value: !GetAtt Web.ApiEndpoint}}
  Plain: {{Value: !Ref ServerlessHttpApi}}
  Old: {{Value: !Ref ServerlessRestApi}}
"""


def deployed(statewright: Command, method: str) -> tuple[str, dict[str, str]]:
    Path("template.yaml").write_text(TEMPLATE.format(runtime=RUNTIME, method=method))
    done = statewright("deploy")
    assert done.code == 0, done.out + done.err
    words = [line.split() for line in done.out.splitlines()]
    return done.out, {one[0].rstrip(":"): one[-1] for one in words if one}


def test_the_apis_of_a_serverless_project(server: Server, statewright: Any) -> None:
    text, outputs = deployed(statewright, "get")
    web, plain, old = outputs["Web"], outputs["Plain"], outputs["Old"]
    assert outputs["Address"] == f"http://{web}.execute-api.localhost:{server.port}"
    assert outputs["Address"] in text
    assert called(server, web, "GET", "/orders/7").json == ["GET /orders/{id}", None]
    assert called(server, plain, "POST", "/plain").json == ["POST /plain", None]
    assert called(server, old, "GET", "/Prod/old/7").json == [None, "/old/{id}"]
    assert called(server, old, "PUT", "/Prod/old/other").json == [None, "/old/other"]
    assert called(server, web, "GET", "/plain").status == 404
    begun = called(server, old, "POST", "/Prod/flow", JSON, b'{"a": 1}').json["executionArn"]
    assert server.client().describe_execution(executionArn=begun)["input"] == '{"a":1}'
    again = statewright("deploy")
    assert again.code == 0
    _, changed = deployed(statewright, "post")
    assert changed["Old"] == old
    assert called(server, old, "GET", "/Prod/old/7").status == 403
    assert called(server, old, "POST", "/Prod/old/7").json == [None, "/old/{id}"]


SERVICE = """\
service: shop
provider:
  name: aws
  runtime: {runtime}
  apiGateway: {{shouldStartNameWithService: true, binaryMediaTypes: [image/png]}}
functions:
  order:
    handler: index.proxy
    events:
      - http: {{path: "orders/{{id}}", method: {method}, cors: true}}
      - http: GET /
  price:
    handler: index.plain
    events: [{{http: {{path: prices, method: post, integration: lambda, response: {{statusCodes: {statuses}}}}}}}]
plugins: [serverless-step-functions]
stepFunctions:
  stateMachines:
    flow:
      name: flow
      definition: {{StartAt: Keep, States: {{Keep: {{Type: Pass, End: true}}}}}}
      events:
        - http: {{path: flow, method: post}}
        - http: {{path: "proxy/{{id}}", method: post, request: {{template: lambda_proxy}}}}
"""
STATUSES = r"""{200: {pattern: ""}, 404: {pattern: ".*\\[404\\].*", template: "$input.path('$.errorMessage')"}}"""
HANDLERS = """\
import json

def proxy(event, context):
    return {"statusCode": 200, "body": json.dumps([event["resource"], event["pathParameters"]])}

def plain(event, context):
    if event["body"]["item"] == "none":
        raise ValueError("[404] not for sale")
    return {"item": event["body"]["item"], "query": event["query"], "method": event["method"]}
"""


def test_the_rest_api_of_a_framework_service(server: Server, statewright: Any) -> None:
    def deployed(method: str) -> str:
        text = SERVICE.format(runtime=RUNTIME, method=method, statuses=STATUSES)
        Path("serverless.yml").write_text(text)
        done = statewright("deploy")
        assert done.code == 0, done.out + done.err
        assert "left out" not in done.out + done.err
        assert f"its address is http://{api_id()}.execute-api.localhost:{server.port}/dev" in done.out
        return api_id()

    def api_id() -> str:
        [found] = [one for one in server.client("apigateway").get_rest_apis()["items"] if one["name"] == "shop-dev"]
        return str(found["id"])

    Path("index.py").write_text(HANDLERS)
    api = deployed("get")
    assert called(server, api, "GET", "/dev/orders/7").json == ["/orders/{id}", {"id": "7"}]
    assert called(server, api, "GET", "/dev/").json == ["/", None]
    preflight = called(server, api, "OPTIONS", "/dev/orders/7")
    assert preflight.headers["access-control-allow-methods"] == ["OPTIONS,GET"]
    sold = called(server, api, "POST", "/dev/prices?a=1", JSON, b'{"item": "desk"}')
    assert sold.json == {"item": "desk", "query": {"a": "1"}, "method": "POST"}
    missing = called(server, api, "POST", "/dev/prices", JSON, b'{"item": "none"}')
    assert (missing.status, missing.body) == (404, b"[404] not for sale")

    begun = called(server, api, "POST", "/dev/flow", JSON, b'{"a": "it\'s"}')
    assert begun.status == 200, begun.body
    states = server.client()
    assert states.describe_execution(executionArn=begun.json["executionArn"])["input"] == '{"a":"it\'s"}'
    begun = called(server, api, "POST", "/dev/proxy/7?b=2", JSON, b'{"a": 1}')
    event = json.loads(states.describe_execution(executionArn=begun.json["executionArn"])["input"])
    assert (event["body"], event["resource"]) == ('{"a": 1}', "/proxy/{id}")
    assert (event["queryStringParameters"], event["pathParameters"]) == ({"b": "2"}, {"id": "7"})
    assert (event["stageVariables"], event["requestContext"]["stage"]) == (None, "dev")

    assert deployed("put") == api
    assert called(server, api, "PUT", "/dev/orders/7").json == ["/orders/{id}", {"id": "7"}]


STACK = """\
Resources:
  Api: {{Type: AWS::ApiGateway::RestApi, Properties: {{Name: staged, Policy: ""}}}}
  Get:
    Type: AWS::ApiGateway::Method
    Properties:
      RestApiId: !Ref Api
      ResourceId: !GetAtt Api.RootResourceId
      HttpMethod: GET
      AuthorizationType: NONE
      MethodResponses: [{{StatusCode: 200}}]
      Integration:
        Type: MOCK
        RequestTemplates: {{application/json: '{{statusCode: 200}}'}}
        IntegrationResponses: [{{StatusCode: 200, ResponseTemplates: {{application/json: "{answer}"}}}}]
  Deployment{answer}:
    Type: AWS::ApiGateway::Deployment
    DependsOn: [Get]
    Properties: {{RestApiId: !Ref Api, StageName: dev}}
Outputs:
  Api: {{Value: !Ref Api}}
"""


def test_a_deployment_with_the_name_of_its_stage(server: Server) -> None:
    stacks = server.client("cloudformation")

    def settled(status: str) -> None:
        until(lambda: status in [one["StackStatus"] for one in stacks.list_stacks()["StackSummaries"]], status)

    stacks.create_stack(StackName="staged", TemplateBody=STACK.format(answer="one"))
    settled("CREATE_COMPLETE")
    [output] = stacks.describe_stacks(StackName="staged")["Stacks"][0]["Outputs"]
    assert called(server, output["OutputValue"], "GET", "/dev").body == b"one"
    stacks.update_stack(StackName="staged", TemplateBody=STACK.format(answer="two"))
    settled("UPDATE_COMPLETE")
    assert called(server, output["OutputValue"], "GET", "/dev").body == b"two"
    assert len(server.client("apigateway").get_deployments(restApiId=output["OutputValue"])["items"]) == 1
    stacks.delete_stack(StackName="staged")
    settled("DELETE_COMPLETE")
    assert called(server, output["OutputValue"], "GET", "/dev").status == 404
