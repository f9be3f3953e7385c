"""Events `http` of functions and state machines: the REST API that the framework makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

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


def test_requests_are_checked_against_models_and_parameters(tmp_path: Path) -> None:
    project = sls(
        tmp_path,
        """\
- http:
    path: a
    method: post
    request:
      schemas: {application/json: order, text/csv: {name: Row, schema: {type: string}}, text/plain: {type: string}}
      parameters: {querystrings: {q: true}, headers: {h: false, i: {required: true, mappedValue: "'x'"}}}
- http: {path: b, method: get, request: {parameters: {paths: {id: false}}}}""",
        ", apiGateway: {request: {schemas: {order: {name: Order, schema: {type: object}}}}}",
    )
    assert texts(project) == []
    made = method(project, "ApiGatewayMethodAPost")
    assert made["RequestParameters"] == {
        "method.request.querystring.q": True, "method.request.header.h": False, "method.request.header.i": True,
    }  # fmt: skip
    assert made["RequestModels"] == {
        "application/json": "<ApiGatewayOrderModel>", "text/csv": "<ApiGatewayMethodAPostTextCsvModel>",
        "text/plain": "<ApiGatewayMethodAPostTextPlainModel>",
    }  # fmt: skip
    assert made["RequestValidatorId"] == "<ApiGatewayShopRequestValidator>"
    order = method(project, "ApiGatewayOrderModel")
    assert (order["Name"], order["Schema"]) == ("Order", {"type": "object"})
    assert method(project, "ApiGatewayMethodAPostTextPlainModel")["Schema"] == {"type": "string"}
    assert "RequestValidatorId" not in method(project, "ApiGatewayMethodBGet")


def test_keys_and_plans_of_the_provider(tmp_path: Path) -> None:
    keys = ", apiGateway: {apiKeys: [one, {name: two, value: secret}], usagePlan: {quota: {limit: 5, period: DAY}}}"
    project = sls(tmp_path, "- http: {path: a, method: get, private: true}", keys)
    assert method(project, "ApiGatewayMethodAGet")["ApiKeyRequired"] is True
    assert set(of_type(project, "ApiKey")) == {"ApiGatewayApiKey1", "ApiGatewayApiKey2"}
    assert set(of_type(project, "UsagePlanKey")) == {"ApiGatewayUsagePlanKey1", "ApiGatewayUsagePlanKey2"}
    assert "ApiGatewayUsagePlan" in project.resources


def test_keys_and_plans_by_the_name_of_a_plan(tmp_path: Path) -> None:
    plans = "usagePlan: [{free: {throttle: {rateLimit: 1}}}, {paid: {}}], apiKeys: [{free: [a, b]}, {paid: [c]}]"
    project = sls(tmp_path, "- http: {path: a, method: get}", f", apiGateway: {{{plans}}}")
    assert set(of_type(project, "ApiKey")) == {
        "ApiGatewayApiKeyFree1",
        "ApiGatewayApiKeyFree2",
        "ApiGatewayApiKeyPaid1",
    }
    assert set(of_type(project, "UsagePlan")) == {"ApiGatewayUsagePlanFree", "ApiGatewayUsagePlanPaid"}
    assert "ApiGatewayUsagePlanKeyFree2" in of_type(project, "UsagePlanKey")


def test_an_imported_api_gets_methods_only(tmp_path: Path) -> None:
    imported = "restApiId: abc, restApiRootResourceId: root, restApiResources: {/a: of-a}"
    project = sls(tmp_path, "- http: GET a/b\n- http: GET c", f", apiGateway: {{{imported}}}")
    assert of_type(project, "RestApi") == {}
    assert method(project, "ApiGatewayResourceAB")["ParentId"] == "of-a"
    assert method(project, "ApiGatewayResourceC")["ParentId"] == "root"
    assert method(project, "ApiGatewayMethodCGet")["RestApiId"] == "abc"
    project = sls(tmp_path, "- http: GET a", ", apiGateway: {restApiId: abc}")
    assert "restApiId needs a restApiRootResourceId" in texts(project)[0]


def test_authorizers_are_made_once(tmp_path: Path) -> None:
    project = sls(
        tmp_path,
        """\
- http: {path: a, method: get, authorizer: one}
- http: {path: b, method: get, authorizer: {name: one, type: request}}
- http: {path: c, method: get, authorizer: aws_iam}
- http: {path: d, method: get, authorizer: {type: TOKEN, authorizerId: x}}
- http:
    {path: e, method: get, authorizer: {arn: "arn:aws:cognito-idp:us-east-1:1:userpool/u", name: pool, scopes: [s]}}""",
    )
    asked = {one: method(project, f"ApiGatewayMethod{one}Get") for one in "ABCDE"}
    assert [one["AuthorizationType"] for one in asked.values()] == [
        "CUSTOM", "CUSTOM", "AWS_IAM", "CUSTOM", "COGNITO_USER_POOLS",
    ]  # fmt: skip
    assert asked["A"]["AuthorizerId"] == asked["B"]["AuthorizerId"] == "<OneApiGatewayAuthorizer>"
    assert (asked["D"]["AuthorizerId"], asked["E"]["AuthorizationScopes"]) == ("x", ["s"])
    own = method(project, "OneApiGatewayAuthorizer")
    assert (own["Type"], own["IdentitySource"]) == ("TOKEN", "method.request.header.Authorization")
    assert own["AuthorizerUri"].endswith(":lambda:path/2015-03-31/functions/<OneLambdaFunction.Arn>/invocations")
    assert method(project, "PoolApiGatewayAuthorizer")["ProviderARNs"] == ["arn:aws:cognito-idp:us-east-1:1:userpool/u"]


def test_the_resources_of_a_service_add_to_those_of_the_framework(tmp_path: Path) -> None:
    more = """\
        resources:
          Resources:
            ApiGatewayRestApi: {Properties: {Description: ours}}
        """
    project = sls(tmp_path, "- http: GET a", more=more)
    assert texts(project, "ERROR") == []
    api = project.resources["ApiGatewayRestApi"]
    assert (api.type, api.properties["Name"], api.properties["Description"]) == (
        "AWS::ApiGateway::RestApi", "dev-shop", "ours",
    )  # fmt: skip


@pytest.mark.parametrize(
    "options",
    ["apiKeys: [{}]", "apiKeys: 5", "usagePlan: [a]", "restApiId: a, restApiRootResourceId: b, restApiResources: [a]"],
)
def test_settings_of_an_api_that_have_another_form_change_nothing(tmp_path: Path, options: str) -> None:
    project = sls(tmp_path, "- http: {path: a, method: get, cors: {methods: get}}", f", apiGateway: {{{options}}}")
    assert "ApiGatewayMethodAGet" in project.resources
