"""Authorizers of REST APIs through boto3 and plain HTTP, against a real server."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import Server
from tests.e2e.test_http_apis import called
from tests.e2e.test_http_authorizers import invocation
from tests.e2e.test_lambda import made

TOKENS = """
import json
calls = 0

def handler(event, context):
    global calls
    calls += 1
    word, _, resource = event["authorizationToken"].partition(" ")
    if word == "unauthorized":
        raise Exception("Unauthorized")
    if word == "raise":
        raise Exception("no")
    arn = event["methodArn"]
    statement = {"Action": "execute-api:Invoke", "Effect": word, "Resource": resource or arn}
    answer = {"principalId": "ada", "policyDocument": {"Version": "2012-10-17", "Statement": [statement]},
              "context": {"calls": calls, "yes": True, "event": json.dumps(event)}}
    if word == "nested":
        answer["context"]["n"] = {}
    if word == "nobody":
        del answer["principalId"]
    return answer
"""
COUNTED = """
import json
invocations = 0

def handler(event, context):
    global invocations
    invocations += 1
    return {"body": json.dumps({**event, "invocations": invocations})}
"""
FROM_REQUEST = """
def handler(event, context):
    statement = {"Action": "execute-api:Invoke", "Effect": "Allow", "Resource": event["methodArn"]}
    return {"principalId": event["queryStringParameters"].get("who", "none"), "usageIdentifierKey": "k" * 20,
            "policyDocument": {"Version": "2012-10-17", "Statement": statement},
            "context": {"kind": event["type"], "stage": event["stageVariables"].get("colour", "")}}
"""


@pytest.fixture
def gateway(server: Server) -> Any:
    return server.client("apigateway")


def guarded(server: Server, gateway: Any, code: str = TOKENS, method: Any = None, **settings: Any) -> str:
    """An API whose methods ask a function."""
    compute = server.client("lambda")
    api = gateway.create_rest_api(name="shop")
    door = gateway.create_authorizer(
        restApiId=api["id"],
        **{
            "name": "door", "type": "TOKEN", "authorizerUri": invocation(made(compute, code)),
            "identitySource": "method.request.header.X-Token", "authorizerResultTtlInSeconds": 0, **settings,
        },
    )  # fmt: skip
    function = made(compute, COUNTED)
    for part in ("a", "b"):
        resource = gateway.create_resource(restApiId=api["id"], parentId=api["rootResourceId"], pathPart=part)
        where = {"restApiId": api["id"], "resourceId": resource["id"], "httpMethod": "GET"}
        gateway.put_method(**where, authorizationType="CUSTOM", authorizerId=door["id"], **(method or {}))
        gateway.put_integration(**where, type="AWS_PROXY", integrationHttpMethod="POST", uri=invocation(function))
    gateway.create_deployment(restApiId=api["id"], stageName="dev", variables={"colour": "red"})
    found: str = api["id"]
    return found


def ask(server: Server, api: str, token: str | None, path: str = "/dev/a") -> Any:
    return called(server, api, "GET", path, {} if token is None else {"x-tOKEN": token})


def test_a_token_lets_a_caller_in(server, gateway):
    api = guarded(server, gateway)
    answer = ask(server, api, "Allow")
    assert answer.status == 200, answer.body
    shown = answer.json["requestContext"]["authorizer"]
    assert shown["principalId"] == "ada"
    assert (shown["calls"], shown["yes"]) == ("1", "true")
    assert isinstance(shown["integrationLatency"], int)
    arn = f"arn:aws:execute-api:us-east-1:000000000000:{api}/dev/GET/a"
    assert shown["event"] == (f'{{"type": "TOKEN", "methodArn": "{arn}", "authorizationToken": "Allow"}}')


@pytest.mark.parametrize(
    ("token", "status", "error", "body"),
    [
        (None, 401, "UnauthorizedException", b'{"message":"Unauthorized"}'),
        ("unauthorized", 401, "UnauthorizedException", b'{"message":"Unauthorized"}'),
        ("Deny", 403, "AccessDeniedException",
         b'{"message":"User is not authorized to access this resource with an explicit deny"}'),
        ("Allow arn:aws:execute-api:us-east-1:000000000000:other/*", 403, "AccessDeniedException",
         b'{"message":"User is not authorized to access this resource"}'),
        ("raise", 500, "AuthorizerFailureException", b'{"message":null}'),
        ("nested", 500, "AuthorizerConfigurationException", b'{"message":null}'),
        ("Perhaps", 500, "AuthorizerConfigurationException", b'{"message":null}'),
    ],
)  # fmt: skip
def test_refusals(server, gateway, token, status, error, body):
    answer = ask(server, guarded(server, gateway), token)
    assert (answer.status, answer.headers["x-amzn-errortype"], answer.body) == (status, [error], body)


def test_a_customised_gateway_response_applies(server, gateway):
    api = guarded(server, gateway)
    gateway.put_gateway_response(
        restApiId=api, responseType="ACCESS_DENIED", statusCode="404",
        responseTemplates={"application/json": '{"kind": "$context.error.responseType"}'},
    )  # fmt: skip
    gateway.create_deployment(restApiId=api, stageName="dev")
    answer = ask(server, api, "Deny")
    assert (answer.status, answer.json) == (404, {"kind": "ACCESS_DENIED"})


def test_remembered_policies_decide_by_the_method_until_they_are_flushed(server, gateway):
    api = guarded(server, gateway, authorizerResultTtlInSeconds=300)
    assert ask(server, api, "Allow").json["requestContext"]["authorizer"]["calls"] == "1"
    assert ask(server, api, "Allow").json["requestContext"]["authorizer"]["calls"] == "1"
    assert ask(server, api, "Allow", "/dev/b").status == 403, "the policy names another method"
    everything = f"Allow arn:aws:execute-api:us-east-1:000000000000:{api}/*"
    assert ask(server, api, everything, "/dev/b").json["requestContext"]["authorizer"]["calls"] == "2"
    assert ask(server, api, everything).json["requestContext"]["authorizer"]["calls"] == "2"
    gateway.flush_stage_authorizers_cache(restApiId=api, stageName="dev")
    assert ask(server, api, "Allow").json["requestContext"]["authorizer"]["calls"] == "3"


def test_a_token_that_does_not_fit_the_expression_calls_no_function(server, gateway):
    api = guarded(server, gateway, identityValidationExpression="^Allow[a-z ]*$")
    assert ask(server, api, "Deny").status == 401
    assert ask(server, api, "Allow").json["requestContext"]["authorizer"]["calls"] == "1"


def test_a_request_authorizer_names_the_callers_key(server, gateway):
    api = guarded(
        server, gateway, FROM_REQUEST, {"apiKeyRequired": True}, type="REQUEST", authorizerResultTtlInSeconds=300,
        identitySource="method.request.querystring.who, stageVariables.colour",
    )  # fmt: skip
    gateway.update_rest_api(
        restApiId=api, patchOperations=[{"op": "replace", "path": "/apiKeySource", "value": "AUTHORIZER"}]
    )
    assert called(server, api, "GET", "/dev/a").status == 401
    assert called(server, api, "GET", "/dev/a?who=eve", {"x-api-key": "k" * 20}).status == 403
    key = gateway.create_api_key(name="k", value="k" * 20, enabled=True)["id"]
    plan = gateway.create_usage_plan(name="p", apiStages=[{"apiId": api, "stage": "dev"}])["id"]
    gateway.create_usage_plan_key(usagePlanId=plan, keyId=key, keyType="API_KEY")
    shown = called(server, api, "GET", "/dev/a?who=bob").json["requestContext"]
    assert shown["authorizer"]["principalId"] == "bob"
    assert shown["authorizer"]["kind"] == "REQUEST"
    assert shown["authorizer"]["stage"] == "red"


def test_a_deployment_holds_its_authorizers(server, gateway):
    api = guarded(server, gateway)
    [door] = gateway.get_authorizers(restApiId=api)["items"]
    where = {"restApiId": api, "authorizerId": door["id"]}
    changed = gateway.update_authorizer(
        **where,
        patchOperations=[
            {"op": "replace", "path": "/identitySource", "value": "method.request.header.X-Other"},
            {"op": "replace", "path": "/authorizerResultTtlInSeconds", "value": "60"},
        ],
    )
    assert changed["identitySource"] == "method.request.header.X-Other"
    assert changed["authorizerResultTtlInSeconds"] == 60
    assert ask(server, api, "Allow").status == 200, "it is not deployed yet"
    gateway.create_deployment(restApiId=api, stageName="dev")
    assert ask(server, api, "Allow").status == 401


def test_operations(server, gateway):
    api = guarded(server, gateway)
    [door] = gateway.get_authorizers(restApiId=api)["items"]
    where = {"restApiId": api, "authorizerId": door["id"]}
    shown = gateway.get_authorizer(**where)
    assert (shown["name"], shown["type"], shown["authType"]) == ("door", "TOKEN", "custom")
    with pytest.raises(ClientError, match=r"is referenced in method: /[ab]/GET"):
        gateway.delete_authorizer(**where)
    with pytest.raises(ClientError, match="Invalid Authorizer identifier specified"):
        gateway.get_authorizer(restApiId=api, authorizerId="none")
    with pytest.raises(ClientError, match="Authorizer name must be unique"):
        gateway.create_authorizer(restApiId=api, name="door", type="REQUEST", authorizerUri=invocation("f"),
                                  identitySource="method.request.header.A")  # fmt: skip
    spare = gateway.create_authorizer(
        restApiId=api, name="spare", type="REQUEST", authorizerUri=invocation("f"), authorizerResultTtlInSeconds=0
    )
    gateway.delete_authorizer(restApiId=api, authorizerId=spare["id"])


def test_an_authorizer_is_tried_without_a_request(server, gateway):
    api = guarded(server, gateway, authorizerResultTtlInSeconds=300)
    [door] = gateway.get_authorizers(restApiId=api)["items"]
    where = {"restApiId": api, "authorizerId": door["id"]}
    shown = gateway.test_invoke_authorizer(**where, headers={"X-Token": "Allow"}, pathWithQueryString="/a?b=1")
    assert (shown["clientStatus"], shown["principalId"]) == (200, "ada")
    [statement] = json.loads(shown["policy"])["Statement"]
    assert statement["Resource"].endswith(f":{api}/ESTestInvoke-stage/GET/a")
    assert gateway.test_invoke_authorizer(**where, headers={"X-Token": "Deny"})["clientStatus"] == 200
    for token, status in (("unauthorized", 401), ("raise", 500), ("Perhaps", 500)):
        assert gateway.test_invoke_authorizer(**where, headers={"X-Token": token})["clientStatus"] == status
    assert gateway.test_invoke_authorizer(**where)["clientStatus"] == 401
    assert ask(server, api, "Allow").json["requestContext"]["authorizer"]["calls"] == "6", "nothing is remembered"


@pytest.mark.slow
def test_authorizers_survive_a_crash(tmp_path):
    first = Server(tmp_path / "data")
    api = guarded(first, first.client("apigateway"))
    assert ask(first, api, "Allow").status == 200
    first.kill()
    second = Server(tmp_path / "data")
    try:
        [door] = second.client("apigateway").get_authorizers(restApiId=api)["items"]
        assert door["identitySource"] == "method.request.header.X-Token"
        assert [ask(second, api, "Allow").status, ask(second, api, "Deny").status] == [200, 403]
    finally:
        assert second.stop() == 0


def test_mapping_templates_see_the_caller(server, gateway):
    api = guarded(server, gateway, authorizerResultTtlInSeconds=60)
    resources = gateway.get_resources(restApiId=api)["items"]
    where = {"restApiId": api, "resourceId": next(one["id"] for one in resources if one["path"] == "/a"),
             "httpMethod": "GET"}  # fmt: skip
    gateway.put_integration(**where, type="MOCK", requestTemplates={"application/json": '{"statusCode": 200}'})
    gateway.put_method_response(**where, statusCode="200")
    text = '{"who": "$context.authorizer.principalId", "yes": "$context.authorizer.yes"}'
    gateway.put_integration_response(**where, statusCode="200", responseTemplates={"application/json": text})
    gateway.create_deployment(restApiId=api, stageName="dev")
    assert ask(server, api, "Allow").json == {"who": "ada", "yes": "true"}


def test_a_refusal_does_not_reach_the_integration(server, gateway):
    api = guarded(server, gateway)
    assert [ask(server, api, token).status for token in (None, "Deny", "raise", "nested")] == [401, 403, 500, 500]
    assert ask(server, api, "Allow").json["invocations"] == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"type": "JWT"}, "has no authorizers of type JWT"),
        ({"identitySource": "method.request.querystring.a"}, "needs one header"),
        ({"identitySource": "Authorization"}, "Invalid identity source"),
        ({"authorizerUri": "https://example.com"}, "Invalid Authorizer URI"),
        ({"type": "COGNITO_USER_POOLS"}, "needs the ARN of a user pool"),
        ({"type": "REQUEST", "identitySource": ""}, "identitySource is required where results are cached"),
        ({"authorizerResultTtlInSeconds": 3601}, "between 0 and 3600"),
        ({"identityValidationExpression": "(?=a)"}, "Invalid identity validation expression"),
    ],
)
def test_authorizers_that_are_refused(gateway, changes, message):
    given = {
        "name": "door", "type": "TOKEN", "authorizerUri": invocation("f"),
        "identitySource": "method.request.header.Authorization", **changes,
    }  # fmt: skip
    with pytest.raises(ClientError, match=message) as refused:
        gateway.create_authorizer(restApiId=gateway.create_rest_api(name="shop")["id"], **given)
    assert refused.value.response["Error"]["Code"] == "BadRequestException"


def test_a_method_needs_an_authorizer_of_its_kind(gateway):
    api = gateway.create_rest_api(name="shop")
    where = {"restApiId": api["id"], "resourceId": api["rootResourceId"], "httpMethod": "GET"}
    for kind in ("CUSTOM", "COGNITO_USER_POOLS"):
        with pytest.raises(ClientError, match="requires a valid authorizer"):
            gateway.put_method(**where, authorizationType=kind)
    with pytest.raises(ClientError, match="Invalid authorization type"):
        gateway.put_method(**where, authorizationType="OTHER")
