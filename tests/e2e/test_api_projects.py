"""Projects with APIs: deployed from a template, called over HTTP, changed and deployed again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Command, Server
from tests.e2e.test_http_apis import called

RUNTIME = "python{}.{}".format(*sys.version_info)
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
    again = statewright("deploy")
    assert again.code == 0
    _, changed = deployed(statewright, "post")
    assert changed["Old"] == old
    assert called(server, old, "GET", "/Prod/old/7").status == 403
    assert called(server, old, "POST", "/Prod/old/7").json == [None, "/old/{id}"]
