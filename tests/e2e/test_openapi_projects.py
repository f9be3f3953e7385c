"""APIs of OpenAPI documents in templates: stacks, and SAM projects with a file beside the template."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import Server
from tests.e2e.test_http_apis import called

RUNTIME = "python{}.{}".format(*sys.version_info)
CODE = """
import json
def handler(event, context):
    return {"statusCode": 200, "body": json.dumps([event.get("routeKey"), event.get("resource")])}
"""
MACHINE = """
  Orders:
    Type: AWS::StepFunctions::StateMachine
    Properties:
      RoleArn: arn:aws:iam::000000000000:role/orders
      Definition: {StartAt: End, States: {End: {Type: Pass, End: true}}}
"""
STACK = """\
Resources:
  Web:
    Type: AWS::ApiGateway::RestApi
    Properties:
      Description: of the template
      Body:
        openapi: 3.0.1
        info: {title: orders}
        paths:
          /orders:
            post:
              responses: {200: {description: started}}
              x-amazon-apigateway-integration:
                type: aws
                httpMethod: POST
                uri: !Sub arn:aws:apigateway:${AWS::Region}:states:action/StartExecution
                requestTemplates:
                  application/json: !Sub '{"stateMachineArn": "${Orders}", "input": "{}"}'
                responses: {default: {statusCode: 200}}
  Deployment:
    Type: AWS::ApiGateway::Deployment
    Properties: {RestApiId: !Ref Web, StageName: prod}
""" + MACHINE + """
Outputs:
  Web: {Value: !Ref Web}
"""  # fmt: skip
SAM = """\
Transform: AWS::Serverless-2016-10-31
Resources:
  Web:
    Type: AWS::Serverless::Api
    Properties: {StageName: prod, Name: shop, DefinitionUri: openapi.yaml}
  Front:
    Type: AWS::Serverless::HttpApi
    Properties:
      DefinitionBody:
        openapi: 3.0.1
        info: {title: front}
        paths:
          /plain:
            get:
              x-amazon-apigateway-integration:
                {type: aws_proxy, httpMethod: POST, uri: !GetAtt Shop.Arn, payloadFormatVersion: "2.0"}
  Merged:
    Type: AWS::Serverless::Api
    Properties:
      StageName: prod
      MergeDefinitions: true
      GatewayResponses: {MISSING_AUTHENTICATION_TOKEN: {StatusCode: 404}}
      DefinitionBody: {openapi: 3.0.1, info: {title: merged}, paths: {}}
  Shop:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: RUNTIME
      Handler: index.handler
      InlineCode: |
        CODE
      Events:
        More: {Type: HttpApi, Properties: {ApiId: !Ref Front, Path: "/more/{id}", Method: get}}
        Old: {Type: Api, Properties: {RestApiId: !Ref Merged, Path: /old, Method: any}}
Outputs:
  Web: {Value: !Ref Web}
  Front: {Value: !Ref Front}
  Merged: {Value: !Ref Merged}
""".replace("RUNTIME", RUNTIME).replace("CODE", CODE.strip().replace("\n", "\n        "))  # fmt: skip
FILE = """\
openapi: 3.0.1
info: {{title: shop}}
components: {{securitySchemes: {{basic: {{type: http, scheme: basic}}}}}}
paths:
  /closed:
    get:
      security: [{{basic: []}}]
      x-amazon-apigateway-integration: {{type: mock, requestTemplates: {{application/json: '{{"statusCode": 200}}'}}}}
  {path}:
    get:
      responses: {{200: {{description: seen}}}}
      x-amazon-apigateway-integration:
        type: mock
        requestTemplates: {{application/json: '{{"statusCode": 200}}'}}
        responses: {{default: {{statusCode: 200, responseTemplates: {{application/json: '{{"seen": true}}'}}}}}}
"""


def test_a_stack_makes_and_changes_an_api_of_a_body(server: Server) -> None:
    client, gateway = server.client("cloudformation"), server.client("apigateway")

    def outputs() -> dict[str, str]:
        [stack] = client.describe_stacks(StackName="documents")["Stacks"]
        return {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]}

    client.create_stack(StackName="documents", TemplateBody=STACK)
    client.get_waiter("stack_create_complete").wait(StackName="documents", WaiterConfig={"Delay": 0.05})
    api = outputs()["Web"]
    shown = gateway.get_rest_api(restApiId=api)
    assert (shown["name"], shown["description"]) == ("orders", "of the template")
    started = called(server, api, "POST", "/prod/orders")
    assert started.status == 200, started.body
    assert ":execution:" in started.json["executionArn"]
    client.update_stack(StackName="documents", TemplateBody=STACK.replace("/orders:", "/others:"))
    client.get_waiter("stack_update_complete").wait(StackName="documents", WaiterConfig={"Delay": 0.05})
    assert outputs()["Web"] == api
    assert [one["path"] for one in gateway.get_resources(restApiId=api)["items"] if "resourceMethods" in one] == [
        "/others"
    ]
    broken = STACK.replace("/orders:", "orders:")
    client.update_stack(StackName="documents", TemplateBody=broken)
    client.get_waiter("stack_rollback_complete").wait(StackName="documents", WaiterConfig={"Delay": 0.05})
    events = client.describe_stack_events(StackName="documents")["StackEvents"]
    assert any("must begin with a slash" in one.get("ResourceStatusReason", "") for one in events)
    assert {one["path"] for one in gateway.get_resources(restApiId=api)["items"]} == {"/", "/others"}
    client.delete_stack(StackName="documents")
    client.get_waiter("stack_delete_complete").wait(StackName="documents", WaiterConfig={"Delay": 0.05})


def test_a_serverless_project_with_a_document_beside_its_template(server: Server, statewright: Any) -> None:
    def deployed(path: str) -> dict[str, str]:
        Path("template.yaml").write_text(SAM)
        Path("openapi.yaml").write_text(FILE.format(path=path))
        done = statewright("deploy")
        assert done.code == 0, done.out + done.err
        assert "The security scheme basic has no authorizer" in done.out + done.err
        words = [line.split() for line in done.out.splitlines()]
        return {one[0].rstrip(":"): one[-1] for one in words if one}

    made = deployed("/seen")
    assert called(server, made["Web"], "GET", "/prod/seen").json == {"seen": True}
    assert called(server, made["Front"], "GET", "/plain").json == ["GET /plain", None]
    assert called(server, made["Front"], "GET", "/more/7").json == ["GET /more/{id}", None]
    assert called(server, made["Merged"], "PUT", "/prod/old").json == [None, "/old"]
    assert called(server, made["Merged"], "GET", "/prod/none").status == 404
    assert called(server, made["Web"], "GET", "/prod/closed").status == 403
    again = deployed("/other")
    assert again["Web"] == made["Web"]
    assert called(server, made["Web"], "GET", "/prod/seen").status == 403
    assert called(server, made["Web"], "GET", "/prod/other").json == {"seen": True}
    assert server.client("apigateway").get_rest_api(restApiId=made["Web"])["name"] == "shop"


INCLUDED = """\
Parameters:
  Bucket: {Type: String}
Resources:
  Web:
    Type: AWS::ApiGateway::RestApi
    Properties:
      Body:
        Fn::Transform: {Name: AWS::Include, Parameters: {Location: !Sub "s3://${Bucket}/openapi.yaml"}}
Outputs:
  Web: {Value: !Ref Web}
"""


def test_a_stack_includes_a_document_from_a_bucket(server: Server) -> None:
    client, storage = server.client("cloudformation"), server.client("s3")
    given = {
        "StackName": "included", "ChangeSetName": "first", "ChangeSetType": "CREATE", "TemplateBody": INCLUDED,
        "Parameters": [{"ParameterKey": "Bucket", "ParameterValue": "parts-of-templates"}],
    }  # fmt: skip
    client.create_change_set(**given)
    failed = client.describe_change_set(StackName="included", ChangeSetName="first")
    assert (failed["Status"], failed["StatusReason"]) == (
        "FAILED", "Transform AWS::Include failed with: S3 bucket [parts-of-templates] does not exist."
    )  # fmt: skip
    storage.create_bucket(Bucket="parts-of-templates")
    itself = "Fn::Transform: {Name: AWS::Include, Parameters: {Location: s3://parts-of-templates/itself.yaml}}"
    twice = f"a: {{{itself}}}\nb: {{{itself}}}\n"
    storage.put_object(Bucket="parts-of-templates", Key="itself.yaml", Body=twice.encode())
    with pytest.raises(ClientError, match="nested too deeply"):
        client.create_change_set(**{
            **given, "ChangeSetName": "deep", "TemplateBody": INCLUDED.replace("/openapi.yaml", "/itself.yaml"),
        })  # fmt: skip
    text = "swagger: '2.0'\ninfo: {title: {'Fn::Sub': '${AWS::StackName}-web'}}\npaths: {/a: {}, /b: {}}\n"
    storage.put_object(Bucket="parts-of-templates", Key="openapi.yaml", Body=text.encode())
    client.create_change_set(**{**given, "ChangeSetName": "second"})
    client.execute_change_set(StackName="included", ChangeSetName="second")
    client.get_waiter("stack_create_complete").wait(StackName="included", WaiterConfig={"Delay": 0.05})
    [stack] = client.describe_stacks(StackName="included")["Stacks"]
    gateway, api = server.client("apigateway"), stack["Outputs"][0]["OutputValue"]
    assert gateway.get_rest_api(restApiId=api)["name"] == "included-web"
    assert sorted(one["path"] for one in gateway.get_resources(restApiId=api)["items"]) == ["/", "/a", "/b"]
    client.delete_stack(StackName="included")
