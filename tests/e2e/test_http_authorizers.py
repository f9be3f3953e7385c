"""Lambda authorizers of HTTP APIs through boto3 and plain HTTP, against a real server."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import Server
from tests.e2e.test_http_apis import SHOWN, called, integrated, new_api
from tests.e2e.test_lambda import ARN, made

BY_TOKEN = """
calls = 0

def handler(event, context):
    global calls
    calls += 1
    token = event["headers"].get("authorization", "")
    if token == "unauthorized":
        raise Exception("Unauthorized")
    if token == "broken":
        return {"isAuthorized": "yes"}
    if token == "raised":
        raise Exception("no")
    return {"isAuthorized": token.startswith("let-in"), "context": {"calls": calls, "event": event}}
"""


@pytest.fixture
def gateway(server: Server) -> Any:
    return server.client("apigatewayv2")


def guarded(server: Server, gateway: Any, code: str = BY_TOKEN, *keys: str, **settings: Any) -> str:
    """An API whose routes ask a function."""
    compute = server.client("lambda")
    api = new_api(gateway)
    integrated(gateway, api, made(compute, SHOWN), *(keys or ("GET /orders/{id}",)))
    authorizer = gateway.create_authorizer(
        ApiId=api,
        **{
            "Name": "door", "AuthorizerType": "REQUEST", "AuthorizerUri": invocation(made(compute, code)),
            "IdentitySource": ["$request.header.Authorization"], "AuthorizerPayloadFormatVersion": "2.0",
            "EnableSimpleResponses": True, **settings,
        },
    )["AuthorizerId"]  # fmt: skip
    for route in gateway.get_routes(ApiId=api)["Items"]:
        gateway.update_route(ApiId=api, RouteId=route["RouteId"], AuthorizationType="CUSTOM", AuthorizerId=authorizer)
    gateway.create_stage(ApiId=api, StageName="$default", AutoDeploy=True)
    return api


def invocation(function: str) -> str:
    return f"arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/{ARN}{function}/invocations"


def ask(server: Server, api: str, token: str | None, path: str = "/orders/7") -> Any:
    return called(server, api, "GET", path, {} if token is None else {"Authorization": token})


def test_a_simple_response_lets_a_caller_in(server, gateway):
    api = guarded(server, gateway)
    event = ask(server, api, "let-in").json["event"]
    context = event["requestContext"]["authorizer"]["lambda"]
    asked = context["event"]
    assert context["calls"] == 1
    assert asked["version"] == "2.0"
    assert asked["type"] == "REQUEST"
    assert asked["routeArn"] == f"arn:aws:execute-api:us-east-1:000000000000:{api}/$default/GET/orders/7"
    assert asked["identitySource"] == ["let-in"]
    assert asked["routeKey"] == "GET /orders/{id}"
    assert asked["pathParameters"] == {"id": "7"}
    assert not {"body", "isBase64Encoded"} & asked.keys()
    assert "authorizer" not in asked["requestContext"]


@pytest.mark.parametrize(
    ("token", "status", "text"),
    [
        (None, 401, "Unauthorized"), ("", 401, "Unauthorized"), ("unauthorized", 401, "Unauthorized"),
        ("other", 403, "Forbidden"), ("broken", 500, "Internal Server Error"), ("raised", 500, "Internal Server Error"),
    ],
)  # fmt: skip
def test_refusals(server, gateway, token, status, text):
    answer = ask(server, guarded(server, gateway), token)
    assert answer.status == status
    assert answer.json == {"message": text}


def test_results_are_remembered_for_their_time_by_identity(server, gateway):
    api = guarded(server, gateway, BY_TOKEN, "GET /a", "GET /b", AuthorizerResultTtlInSeconds=300)
    seen = []
    for token, path in (("let-in", "/a"), ("let-in", "/b"), ("let-in-too", "/a"), ("let-in", "/a")):
        event = ask(server, api, token, path).json["event"]
        seen.append(event["requestContext"]["authorizer"]["lambda"]["calls"])
    assert seen == [1, 1, 2, 1]
    assert ask(server, api, "other", "/a").status == 403
    assert ask(server, api, None, "/a").status == 401
    gateway.reset_authorizers_cache(ApiId=api, StageName="$default")
    again = ask(server, api, "let-in", "/a").json["event"]
    assert again["requestContext"]["authorizer"]["lambda"]["calls"] == 4
    with pytest.raises(ClientError, match="Unable to find Stage with name other"):
        gateway.reset_authorizers_cache(ApiId=api, StageName="other")


POLICY = """
def handler(event, context):
    arn = event["methodArn"]
    effect, _, resource = event["identitySource"].partition(" ")
    statement = {"Effect": effect, "Action": "execute-api:Invoke", "Resource": arn.rsplit("/", 1)[0] + "/" + resource}
    return {"principalId": "ada", "policyDocument": {"Version": "2012-10-17", "Statement": [statement]},
            "context": {"event": event, "n": 2**70}}
"""


def test_a_policy_of_format_1_decides_by_the_path(server, gateway):
    api = guarded(
        server, gateway, POLICY, "GET /orders/{id}", AuthorizerPayloadFormatVersion="1.0", EnableSimpleResponses=False,
        AuthorizerResultTtlInSeconds=60,
    )  # fmt: skip
    answer = ask(server, api, "Allow 7")
    shown = answer.json["event"]["requestContext"]["authorizer"]["lambda"]
    assert shown["n"] == 2**70
    assert shown["event"]["type"] == "REQUEST"
    assert shown["event"]["version"] == "1.0"
    assert shown["event"]["authorizationToken"] == "Allow 7"
    assert shown["event"]["queryStringParameters"] == {}
    assert ask(server, api, "Allow 7", "/orders/8").status == 403, "the remembered policy names another path"
    assert ask(server, api, "Allow *", "/orders/8").status == 200
    assert ask(server, api, "Deny *").status == 403
    assert ask(server, api, "Allow nothing").status == 403


def test_a_route_that_is_opened_forgets_its_authorizer(server, gateway):
    api = guarded(server, gateway)
    [route] = gateway.get_routes(ApiId=api)["Items"]
    opened = gateway.update_route(ApiId=api, RouteId=route["RouteId"], AuthorizationType="NONE")
    assert "AuthorizerId" not in opened
    assert ask(server, api, None).status == 200


def test_operations(server, gateway):
    api = guarded(server, gateway)
    [shown] = gateway.get_authorizers(ApiId=api)["Items"]
    where = {"ApiId": api, "AuthorizerId": shown["AuthorizerId"]}
    assert shown["Name"] == "door"
    assert gateway.update_authorizer(**where, Name="gate")["IdentitySource"] == ["$request.header.Authorization"]
    assert gateway.get_authorizer(**where)["Name"] == "gate"
    with pytest.raises(ClientError, match=r"ConflictException.*referenced by a Route"):
        gateway.delete_authorizer(**where)
    [route] = gateway.get_routes(ApiId=api)["Items"]
    gateway.delete_route(ApiId=api, RouteId=route["RouteId"])
    gateway.delete_authorizer(**where)
    with pytest.raises(ClientError, match=f"Unable to find Authorizer with ID {shown['AuthorizerId']}"):
        gateway.get_authorizer(**where)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"AuthorizerUri": ""}, "AuthorizerUri is required"),
        ({"AuthorizerUri": "http://example.com"}, "Invalid Authorizer URI"),
        ({"AuthorizerPayloadFormatVersion": "3.0"}, "AuthorizerPayloadFormatVersion"),
        ({"AuthorizerPayloadFormatVersion": "1.0"}, "EnableSimpleResponses"),
        ({"AuthorizerResultTtlInSeconds": 1, "IdentitySource": []}, "IdentitySource is required"),
        ({"IdentitySource": ["Authorization"]}, "Invalid identity source"),
        ({"AuthorizerType": "JWT"}, "only supported for authorizers of type REQUEST"),
        ({"JwtConfiguration": {"Issuer": "https://example.com"}}, "only supported for authorizers of type JWT"),
    ],
)
def test_authorizers_that_are_refused(gateway, changes, message):
    given = {
        "Name": "door", "AuthorizerType": "REQUEST", "AuthorizerUri": invocation("f"), "EnableSimpleResponses": True,
        "IdentitySource": ["$request.header.Authorization"], "AuthorizerPayloadFormatVersion": "2.0", **changes,
    }  # fmt: skip
    with pytest.raises(ClientError, match=message) as refused:
        gateway.create_authorizer(ApiId=new_api(gateway), **given)
    assert refused.value.response["Error"]["Code"] == "BadRequestException"
