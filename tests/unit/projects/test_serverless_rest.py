"""Events `http` of functions and state machines: the REST API that the framework makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from statewright.apis.templates.rendering import Inputs
from statewright.apis.templates.template import compile_template
from statewright.payload import Json, parse_json
from statewright.projects.resources import Project
from tests.unit.projects.reading import read, resolved, texts, write

HEAD = """\
        service: shop
        provider: {name: aws, runtime: python3.12%s}
        functions:
          one:
            handler: app.one
            events:
"""


def sls(folder: Path, events: str, provider: str = "", more: str = "") -> Project:
    write(folder, {"app.py": ""})
    indented = "\n".join(f"              {line}" for line in events.splitlines())
    return read(folder, HEAD % provider + indented + "\n" + more, name="serverless.yml")


def of_type(project: Project, kind: str) -> dict[str, Any]:
    return {one.id: resolved(one.properties) for one in project.resources.values() if one.type.endswith(f"::{kind}")}


def method(project: Project, id: str) -> Any:
    return resolved(project.resources[id].properties)


def test_methods_have_resources_and_a_deployment_with_the_stage(tmp_path: Path) -> None:
    project = sls(
        tmp_path,
        """\
- http: GET orders/{orderId}
- http: {path: "/orders/{orderId}/pay-now/", method: post, private: true, operationId: pay}
- http: {path: "{proxy+}", method: any}
- http: {path: /, method: "*", pivate: true}""",
    )
    assert texts(project) == ['10: an event http has no pivate; did you mean "private"?']
    resources = of_type(project, "Resource")
    assert resources["ApiGatewayResourceOrders"] == {
        "ParentId": "<ApiGatewayRestApi.RootResourceId>", "PathPart": "orders", "RestApiId": "<ApiGatewayRestApi>",
    }  # fmt: skip
    assert (
        resources["ApiGatewayResourceOrdersOrderidVarPayDashnow"]["ParentId"] == "<ApiGatewayResourceOrdersOrderidVar>"
    )
    assert set(of_type(project, "Method")) == {
        "ApiGatewayMethodOrdersOrderidVarGet", "ApiGatewayMethodOrdersOrderidVarPayDashnowPost",
        "ApiGatewayMethodProxyVarAny", "ApiGatewayMethodAny",
    }  # fmt: skip
    pay = method(project, "ApiGatewayMethodOrdersOrderidVarPayDashnowPost")
    assert (pay["ApiKeyRequired"], pay["OperationName"], pay["AuthorizationType"]) == (True, "pay", "NONE")
    uri = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/<OneLambdaFunction.Arn>/invocations"
    assert pay["Integration"] == {"Type": "AWS_PROXY", "IntegrationHttpMethod": "POST", "Uri": uri}
    assert method(project, "ApiGatewayMethodAny")["ResourceId"] == "<ApiGatewayRestApi.RootResourceId>"
    [(own, deployment)] = of_type(project, "Deployment").items()
    assert deployment == {"RestApiId": "<ApiGatewayRestApi>", "StageName": "dev"}
    assert set(of_type(project, "Method")) <= set(project.resources[own].depends_on)
    assert method(project, "ApiGatewayRestApi") == {"Name": "dev-shop", "EndpointConfiguration": {"Types": ["EDGE"]}}
    changed = sls(tmp_path, "- http: GET orders")
    assert own not in changed.resources


def test_a_preflight_adds_up_the_events_of_a_path(tmp_path: Path) -> None:
    project = sls(
        tmp_path,
        """\
- http: {path: a, method: get, cors: true}
- http:
    path: a
    method: any
    cors: {origins: ["https://*.a.example", "https://b.example"], maxAge: 60, headers: [X-A], allowCredentials: true}
- http: {path: b, method: post, cors: {origin: "https://b.example", cacheControl: no-cache}}""",
    )
    assert texts(project) == []
    answer = method(project, "ApiGatewayMethodAOptions")["Integration"]["IntegrationResponses"][0]
    parameters = answer["ResponseParameters"]
    assert parameters["method.response.header.Access-Control-Allow-Methods"] == (
        "'OPTIONS,DELETE,GET,HEAD,PATCH,POST,PUT,GET'"
    )
    assert parameters["method.response.header.Access-Control-Allow-Headers"].startswith("'X-A,Content-Type,")
    assert parameters["method.response.header.Access-Control-Allow-Credentials"] == "'true'"
    assert parameters["method.response.header.Access-Control-Max-Age"] == "'60'"
    template = compile_template(answer["ResponseTemplates"]["application/json"])
    for origin, allowed in (("https://x.a.example", True), ("https://xaaexample", False), ("https://b.example", True)):
        override = template.render(Inputs(parameters={"header": {"Origin": origin}})).response_override
        assert override["header"] == ({"Access-Control-Allow-Origin": origin} if allowed else {})
    other = method(project, "ApiGatewayMethodBOptions")["Integration"]["IntegrationResponses"][0]["ResponseParameters"]
    assert other["method.response.header.Access-Control-Allow-Origin"] == "'https://b.example'"
    assert other["method.response.header.Cache-Control"] == "'no-cache'"


def test_a_function_without_a_proxy_gets_an_event_made_by_a_template(tmp_path: Path) -> None:
    project = sls(
        tmp_path,
        """\
- http:
    {path: a, method: post, integration: lambda, cors: true,
     authorizer: {arn: "arn:aws:cognito-idp:us-east-1:1:userpool/u", claims: [email, "custom:tier"], name: pool}}
- http:
    path: b
    method: post
    async: true
    request: {template: {application/json: "$input.body", application/x-www-form-urlencoded: null}}
    response:
      headers: {X-A: "'1'"}
      template: $input.path('$')
      statusCodes: {404: {pattern: "no.*", template: none}}""",
    )
    made = method(project, "ApiGatewayMethodAPost")
    integration = made["Integration"]
    assert (integration["Type"], integration["PassthroughBehavior"]) == ("AWS", "NEVER")
    assert [one["StatusCode"] for one in integration["IntegrationResponses"]] == [
        "200", "400", "401", "403", "404", "422", "500", "502", "504",
    ]  # fmt: skip
    assert made["MethodResponses"][0]["ResponseParameters"] == {
        "method.response.header.Access-Control-Allow-Origin": True
    }
    templates = integration["RequestTemplates"]
    event = rendered(templates["application/json"], '{"n": 1}')
    assert event["body"] == {"n": 1}
    assert event["headers"] == {"X-A": 'it\'s "quoted"'}
    assert event["query"] == {}
    assert event["cognitoPoolClaims"] == {"email": "a@b.example", "tier": "gold", "sub": "me"}
    assert event["enhancedAuthContext"] == {"claims": "{email=a@b.example, custom:tier=gold, sub=me}"}
    assert (event["method"], event["requestPath"], event["identity"]) == ("POST", "/a", {"sourceIp": "::1"})
    form = rendered(templates["application/x-www-form-urlencoded"], "a=1+2&b=it%27s&c")
    assert form["body"] == {"a": "1 2", "b": "it's", "c": ""}

    given = method(project, "ApiGatewayMethodBPost")["Integration"]
    assert given["RequestTemplates"] == {"application/json": "$input.body"}
    assert given["RequestParameters"] == {"integration.request.header.X-Amz-Invocation-Type": "'Event'"}
    missing, found = given["IntegrationResponses"]
    assert (missing["StatusCode"], missing["SelectionPattern"]) == ("404", "no.*")
    assert missing["ResponseTemplates"] == {"application/json": "none"}
    assert (found["StatusCode"], found["SelectionPattern"]) == ("200", "")
    assert found["ResponseTemplates"] == {"application/json": "$input.path('$')"}
    assert found["ResponseParameters"] == {"method.response.header.X-A": "'1'"}


CONTEXT: dict[str, Json] = {
    "httpMethod": "POST", "stage": "dev", "resourcePath": "/a", "path": "/dev/a", "identity": {"sourceIp": "::1"},
    "requestTimeEpoch": 7, "requestId": "r", "apiId": "i",
    "authorizer": {"claims": {"email": "a@b.example", "custom:tier": "gold", "sub": "me"}},
}  # fmt: skip


def rendered(template: str, body: str) -> Any:
    context = {**CONTEXT, "authorizer": {"claims": CONTEXT["authorizer"]["claims"]}}
    inputs = Inputs(body, {"header": {"X-A": 'it\'s "quoted"'}, "querystring": {}, "path": {}}, context, {})
    return parse_json(compile_template(template).render(inputs).text)
