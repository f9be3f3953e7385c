"""Attacks on the authorization of APIs: forged tokens and signatures, confused caches, policies that reach too far."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.attack.conftest import KEY, SECRET
from tests.deadlines import PATIENCE_SECONDS
from tests.e2e.conftest import Server
from tests.e2e.test_http_authorizers import invocation
from tests.e2e.test_lambda import ARN, made
from tests.unit.apis.authorizers.signing import ISSUER, Signer, key_set

SIGNER = Signer("one")
POOL = "https://cognito-idp.us-east-1.amazonaws.com/us-east-1_Pool"
SHOWN = """
import json

def handler(event, context):
    return {"statusCode": 200, "body": json.dumps(event["requestContext"])}
"""
ECHO_POLICY = """
calls = 0

def handler(event, context):
    global calls
    calls += 1
    token = event.get("authorizationToken") or event["headers"]["x-token"]
    effect, _, resource = token.partition(" ")
    statement = {"Action": "execute-api:Invoke", "Effect": effect, "Resource": resource or event["methodArn"]}
    return {"principalId": token, "policyDocument": {"Version": "2012-10-17", "Statement": [statement]},
            "context": {"calls": calls}}
"""
SCOPE = f"Credential={KEY}/20261123/us-east-1/execute-api/aws4_request"
Headers = list[tuple[str, str]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that verifies signatures, with the keys of two issuers."""
    folder: Path = tmp_path_factory.mktemp("authorizers")
    (folder / "keys.json").write_text(json.dumps(key_set(SIGNER)))
    settings = folder / "statewright.toml"
    settings.write_text(
        f'[credentials]\n{KEY} = "{SECRET}"\n[issuers]\n"{ISSUER}" = "keys.json"\n"{POOL}" = "keys.json"\n'
    )
    running = Server(folder / "data", "--store", "memory", "--config", str(settings))
    yield running
    assert running.stop() == 0, running.log.read_text()
    assert "Traceback" not in running.log.read_text()


def client(server: Server, service: str) -> Any:
    return server.client(service, key=KEY, secret=SECRET)


@pytest.fixture(scope="module")
def http_api(server: Server) -> str:
    """An HTTP API with routes of each kind."""
    gateway = client(server, "apigatewayv2")
    api: str = gateway.create_api(Name="attacked", ProtocolType="HTTP")["ApiId"]
    target = gateway.create_integration(
        ApiId=api, IntegrationType="AWS_PROXY", IntegrationUri=ARN + made(client(server, "lambda"), SHOWN),
        PayloadFormatVersion="2.0",
    )["IntegrationId"]  # fmt: skip
    jwt = gateway.create_authorizer(
        ApiId=api, Name="jwt", AuthorizerType="JWT", IdentitySource=["$request.header.Authorization"],
        JwtConfiguration={"Issuer": ISSUER, "Audience": ["shop"]},
    )["AuthorizerId"]  # fmt: skip
    settings: list[dict[str, Any]] = [
        {"RouteKey": "GET /jwt", "AuthorizationType": "JWT", "AuthorizerId": jwt},
        {"RouteKey": "GET /scoped", "AuthorizationType": "JWT", "AuthorizerId": jwt, "AuthorizationScopes": ["read"]},
        {"RouteKey": "ANY /iam", "AuthorizationType": "AWS_IAM"},
    ]
    for one in settings:
        gateway.create_route(ApiId=api, Target=f"integrations/{target}", **one)
    gateway.create_stage(ApiId=api, StageName="$default", AutoDeploy=True)
    return api


def rest_api(server: Server, kind: str = "TOKEN", **settings: Any) -> str:
    """A REST API whose method `GET /{p+}` is guarded, with stages `a` and `b`."""
    gateway = client(server, "apigateway")
    api = gateway.create_rest_api(name="attacked")
    given: dict[str, Any] = {"authorizationType": "AWS_IAM"}
    if kind != "AWS_IAM":
        door = gateway.create_authorizer(
            restApiId=api["id"], name="door", type=kind, identitySource="method.request.header.X-Token", **settings
        )
        pool = kind == "COGNITO_USER_POOLS"
        given = {"authorizationType": kind if pool else "CUSTOM", "authorizerId": door["id"]}
    resource = gateway.create_resource(restApiId=api["id"], parentId=api["rootResourceId"], pathPart="{p+}")
    function = invocation(made(client(server, "lambda"), SHOWN))
    for method in ("GET", "POST"):
        where = {"restApiId": api["id"], "resourceId": resource["id"], "httpMethod": method}
        gateway.put_method(**where, **given)
        gateway.put_integration(**where, type="AWS_PROXY", integrationHttpMethod="POST", uri=function)
    for stage in ("a", "b"):
        gateway.create_deployment(restApiId=api["id"], stageName=stage)
    found: str = api["id"]
    return found


def policy_api(server: Server, ttl_seconds: int = 300) -> str:
    function = made(client(server, "lambda"), ECHO_POLICY)
    return rest_api(server, authorizerUri=invocation(function), authorizerResultTtlInSeconds=ttl_seconds)


def sent(server: Server, api: str, path: str, headers: Headers, method: str = "GET") -> Any:
    """The status, headers and JSON of an answer; headers may repeat."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    try:
        connection.putrequest(method, path, skip_host=True)
        for name, value in [("Host", f"{api}.execute-api.localhost:{server.port}"), *headers]:
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.headers, json.loads(answer.read())
    finally:
        connection.close()


def claims(**changes: Any) -> dict[str, Any]:
    now = int(time.time())
    return {"iss": ISSUER, "aud": "shop", "exp": now + 3600, "iat": now, "sub": "ada", **changes}


def bearer(token: str) -> Headers:
    return [("Authorization", f"Bearer {token}")]


# ------------------------------------------------------------------ tokens


def test_a_genuine_token_shows_its_claims(server, http_api):
    status, _, shown = sent(server, http_api, "/jwt", bearer(SIGNER.sign(claims(scope="read write", n=[1, "a"]))))
    assert status == 200
    assert shown["authorizer"]["jwt"]["claims"]["sub"] == "ada"
    assert shown["authorizer"]["jwt"]["claims"]["n"] == "[1 a]"
    assert shown["authorizer"]["jwt"]["scopes"] is None
    status, _, shown = sent(server, http_api, "/scoped", bearer(SIGNER.sign(claims(scope="read write"))))
    assert (status, shown["authorizer"]["jwt"]["scopes"]) == (200, ["read"])


@pytest.mark.parametrize(
    ("changes", "header", "why"),
    [
        ({"exp": 1}, {}, "the token has expired"),
        ({"iss": "https://evil.example"}, {}, "the token does not have a valid issuer"),
        ({"aud": "other"}, {}, "the token does not have a valid audience"),
        ({}, {"kid": "../../keys"}, "the issuer has no key of the token's kid"),
        ({}, {"kid": "one", "jku": "https://evil.example/keys"}, None),
    ],
)
def test_forged_tokens_are_refused(server, http_api, changes, header, why):
    signer = SIGNER if why else Signer("one")
    status, headers, body = sent(server, http_api, "/jwt", bearer(signer.sign(claims(**changes), **header)))
    assert (status, body) == (401, {"message": "Unauthorized"})
    text = why or "the token has an invalid signature"
    assert headers["www-authenticate"] == f'Bearer scope="" error="invalid_token" error_description="{text}"'


def test_a_key_in_the_token_itself_is_not_used(server, http_api):
    forger = Signer("one")
    assert sent(server, http_api, "/jwt", bearer(forger.sign(claims(), jwk=forger.jwk)))[0] == 401


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("Authorization", "")],
        [("Authorization", "Basic abc")],
        [("Authorization", "Bearer")],
        [("Authorization", "Bearer a b")],
        [("Authorization", "Bearer " + "A" * 30_000)],
        [("authorization", "Bearer eyJhbGciOiJub25lIn0.e30.")],
    ],
)
def test_requests_without_a_token(server, http_api, headers):
    status, _, body = sent(server, http_api, "/jwt", headers)
    assert (status, body) == (401, {"message": "Unauthorized"})


def test_two_authorization_headers_are_refused(server, http_api):
    good = bearer(SIGNER.sign(claims()))
    assert sent(server, http_api, "/jwt", good)[0] == 200
    assert sent(server, http_api, "/jwt", good * 2)[0] == 401
    assert sent(server, http_api, "/jwt", [("authorization", "x"), *good])[0] == 401


def test_a_token_without_the_scope_of_its_route(server, http_api):
    status, headers, body = sent(server, http_api, "/scoped", bearer(SIGNER.sign(claims(scope="readonly write"))))
    assert (status, body) == (403, {"message": "Forbidden"})
    assert 'scope="read" error="insufficient_scope"' in headers["www-authenticate"]


def test_tokens_of_a_user_pool(server):
    arn = "arn:aws:cognito-idp:us-east-1:000000000000:userpool/us-east-1_Pool"
    api = rest_api(server, "COGNITO_USER_POOLS", providerARNs=[arn])
    token = SIGNER.sign(claims(iss=POOL, token_use="id"))
    status, _, shown = sent(server, api, "/a/x", [("x-token", token)])
    assert (status, shown["authorizer"]["claims"]["sub"]) == (200, "ada")
    for wrong in (
        claims(iss=POOL, token_use="access"),
        claims(token_use="id"),
        claims(iss=POOL, token_use="id", exp=1),
    ):
        assert sent(server, api, "/a/x", [("x-token", SIGNER.sign(wrong))])[0] == 401


def test_a_user_pool_without_keys_is_closed(server):
    arn = "arn:aws:cognito-idp:us-east-1:000000000000:userpool/us-east-1_Other"
    api = rest_api(server, "COGNITO_USER_POOLS", providerARNs=[arn])
    token = SIGNER.sign(claims(iss=POOL.replace("_Pool", "_Other"), token_use="id"))
    assert sent(server, api, "/a/x", [("x-token", token)])[0] == 500
    assert "name the keys of its user pool in [issuers]" in server.log.read_text()


# ------------------------------------------------------------------ policies and what is remembered


def arn_of(api: str, rest: str) -> str:
    return f"arn:aws:execute-api:us-east-1:000000000000:{api}/{rest}"


def test_a_remembered_policy_lets_nothing_else_in(server):
    api, other = policy_api(server), policy_api(server)
    token = [("x-token", f"Allow {arn_of(api, 'a/GET/open/*')}")]
    assert sent(server, api, "/a/open/x", token)[0] == 200
    for path in ("/a/closed", "/b/open/x", "/a/open", "/a/%6fpen", "/a//closed/open/x", "/a/closed%2Fopen%2Fx"):
        assert sent(server, api, path, token)[0] == 403, path
    assert sent(server, api, "/a/open/x", token, "POST")[0] == 403
    assert sent(server, other, "/a/open/x", token)[0] == 403


def test_a_denied_path_is_denied_in_every_spelling(server):
    api = policy_api(server)
    for path in ("/a/secret", "/a/%73ecret", "/a/secre%74", "/a/secret/", "/a/secret//"):
        status, _, body = sent(server, api, path, [("x-token", f"Deny {arn_of(api, 'a/GET/secret')}")])
        assert status == 403, path
        assert body["message"].endswith("explicit deny"), path


def test_a_policy_for_another_api_does_not_reach_into_paths(server):
    api = policy_api(server)
    token = [("x-token", "Allow arn:aws:execute-api:us-east-1:*:other/*")]
    assert sent(server, api, "/a/x:other/y", token)[0] == 403


def test_wildcards_in_a_path_are_no_wildcards_of_the_policy(server):
    api = policy_api(server)
    for path in ("/a/*", "/a/%2A", "/a/%3F"):
        assert sent(server, api, path, [("x-token", "Allow")])[0] == 200
        assert sent(server, api, "/a/x", [("x-token", "Allow")])[0] == 403, path
        client(server, "apigateway").flush_stage_authorizers_cache(restApiId=api, stageName="a")


def test_identities_are_not_confused(server):
    api = policy_api(server)
    everything = f"Allow {arn_of(api, '*')}"
    first = sent(server, api, "/a/x", [("X-TOKEN", everything)])[2]["authorizer"]
    assert sent(server, api, "/a/y", [("x-Token", everything)])[2]["authorizer"]["calls"] == first["calls"]
    assert sent(server, api, "/b/y", [("x-token", everything)])[2]["authorizer"]["calls"] != first["calls"]
    twice = [("x-token", "Deny"), ("x-token", everything)]
    shown = sent(server, api, "/a/x", twice)[2]["authorizer"]
    assert shown["calls"] != first["calls"], "another list of values is another identity"
    assert sent(server, api, "/a/x", [("x-token", "Deny")])[0] == 403


def test_a_refusal_reaches_no_integration(server):
    api = policy_api(server, ttl_seconds=0)
    for token in (None, "Deny", "Perhaps", "Allow arn:aws:s3:::x"):
        status, _, body = sent(server, api, "/a/x", [] if token is None else [("x-token", token)])
        assert status in (401, 403, 500)
        assert body.keys() == {"message"}


# ------------------------------------------------------------------ signatures


def signed(server: Server, api: str, path: str, service: str = "execute-api", secret: str = SECRET) -> Headers:
    request = AWSRequest("GET", f"http://{api}.execute-api.localhost:{server.port}{path}")
    SigV4Auth(Credentials(KEY, secret), service, "us-east-1").add_auth(request)
    return list(request.headers.items())


def test_a_signed_request_shows_its_caller(server, http_api):
    status, _, shown = sent(server, http_api, "/iam", signed(server, http_api, "/iam"))
    assert status == 200
    assert shown["authorizer"]["iam"]["accessKey"] == KEY
    assert shown["authorizer"]["iam"]["userArn"] == "arn:aws:iam::000000000000:root"
    api = rest_api(server, "AWS_IAM")
    shown = sent(server, api, "/a/x?b=1&a=%20", signed(server, api, "/a/x?b=1&a=%20"))[2]
    assert shown["identity"]["accessKey"] == KEY
    assert shown["identity"]["accountId"] == "000000000000"


def test_a_signed_address_is_taken(server, http_api):
    request = AWSRequest("GET", f"http://{http_api}.execute-api.localhost:{server.port}/iam")
    SigV4QueryAuth(Credentials(KEY, SECRET), "execute-api", "us-east-1").add_auth(request)
    path = request.url[request.url.index("/iam") :]
    assert sent(server, http_api, path, [])[0] == 200
    assert sent(server, http_api, path.replace("/iam?", "/iam?x=1&"), [])[0] == 403


def test_the_path_address_is_signed_whole(server, http_api):
    where = f"/_apis/{http_api}/iam"
    request = AWSRequest("GET", f"http://127.0.0.1:{server.port}{where}")
    SigV4Auth(Credentials(KEY, SECRET), "execute-api", "us-east-1").add_auth(request)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    connection.request("GET", where, headers=dict(request.headers.items()))
    assert connection.getresponse().status == 200
    connection.close()


def test_forged_signatures_are_refused(server, http_api):
    api = rest_api(server, "AWS_IAM")
    good = signed(server, api, "/a/x")
    assert sent(server, api, "/a/x", good)[0] == 200
    cases: dict[str, tuple[str, Headers]] = {
        "InvalidSignatureException": ("/a/y", good),
        "MissingAuthenticationTokenException": ("/a/x", []),
        "IncompleteSignatureException": ("/a/x", [("Authorization", "AWS4-HMAC-SHA256 Credential=a")]),
    }
    for code, (path, headers) in cases.items():
        status, found, _ = sent(server, api, path, headers)
        assert (status, found["x-amzn-errortype"]) == (403, code)
    for headers in (
        signed(server, api, "/a/x", secret="wrong"), signed(server, api, "/a/x", service="s3"),
        signed(server, api, "/a/x", service="states"), [*good, *[one for one in good if one[0] == "Authorization"]],
        [("Authorization", "Bearer x")],
        [(name, value.replace("Credential=", f"{SCOPE}, Credential="))
         for name, value in signed(server, api, "/a/x", "s3")],
    ):  # fmt: skip
        assert sent(server, api, "/a/x", headers)[0] == 403
        assert sent(server, http_api, "/iam", headers)[0] == 403
    assert sent(server, http_api, "/iam", good)[0] == 403, "it is signed for another host and path"
